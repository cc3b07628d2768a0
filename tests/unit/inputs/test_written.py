"""Values as people write them: read by one convention per column, alike by Python and by Polars."""

import datetime as dt
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyodd.inputs.written import (
    WrittenDuration,
    WrittenEpoch,
    WrittenMoment,
    WrittenNumber,
    epoch_convention,
    recognize,
    strays_of,
)


def both(texts, name=""):
    """What is recognized in an array and in a series, which must be the same."""
    array, series = np.array(texts, dtype=object), pl.Series("x", texts, dtype=pl.String)
    found = recognize(array, name)
    assert recognize(series, name) == found
    return found


def parsed(written, texts):
    """Values of an array and of a series, which must be the same."""
    slow = written.parse(np.array(texts, dtype=object))
    fast = written.parse(pl.Series("x", texts, dtype=pl.String)).to_numpy()
    np.testing.assert_array_equal(slow, fast)
    return slow


NUMBERS = {
    "percent": (["20.6%", "3 %", "95%"], [20.6, 3, 95], "percent"),
    "percent, decimal comma": (["20,6 %", "3,25 %", "9 %"], [20.6, 3.25, 9], "percent, decimal comma"),
    "dollars": (["$ 12", "$1,234.50", "-$3.00", "$-4"], [12, 1234.5, -3, -4], "$, thousands as in 1,000"),
    "euros": (["12 €", "1.234,50 €", "-3 €"], [12, 1234.5, -3], "€, decimal comma, thousands as in 1.000"),
    "a code": (["USD 1,234.50", "USD 12.00"], [1234.5, 12], "USD, thousands as in 1,000"),
    "brackets": (["(12.00)", "13.50", "1,200.00"], [-12, 13.5, 1200], None),
    "dollars in brackets": (["($12.00)", "$13.50"], [-12, 13.5], None),
    "blanks": (["1 234,50", "12,75", "1\u00a0000,25"], [1234.5, 12.75, 1000.25], None),
    "apostrophes": (["1'234.50", "12.25", "1\u2019000.5"], [1234.5, 12.25, 1000.5], None),
    "a unit": (["12 kg", "13.5kg", "-2 kg"], [12, 13.5, -2], "kg"),
    "degrees": (["12.5 °C", "\u22123 °C"], [12.5, -3], "°C"),
    "floats as texts": (["1.5", "2", "-3e-2"], [1.5, 2, -0.03], "numbers"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    texts, numbers, words = NUMBERS[name]
    found = both(texts)
    np.testing.assert_array_equal(parsed(found.written, texts), numbers)
    assert words in (None, found.written.words)
    assert found.doubt is None
    assert found.strays == ()


DATES = {
    "%d.%m.%Y": ("02.03.2026", "13.03.2026"),
    "%d/%m/%Y": ("02/03/2026", "13/03/2026"),
    "%m/%d/%Y": ("03/02/2026", "03/13/2026"),
    "%d-%m-%Y": ("2-3-2026", "13-03-2026"),
    "%d.%m.%y": ("02.03.26", "13.03.26"),
    "%Y/%m/%d": ("2026/03/02", "2026/03/13"),
    "%d %b %Y": ("2 Mar 2026", "13 mar 2026"),
    "%d %B %Y": ("2 March 2026", "13 March 2026"),
    "%b %d, %Y": ("Mar 2, 2026", "Mar 13, 2026"),
    "%d.%m.%Y %H:%M": ("02.03.2026 00:00", "13.03.2026 0:00"),
    "%m/%d/%Y %I:%M %p": ("03/02/2026 12:00 AM", "03/13/2026 12:00am"),
}


@pytest.mark.parametrize("form", DATES)
def test_dates(form):
    found = both(DATES[form])
    assert found.written.formats == (form,)
    expected = np.array(["2026-03-02", "2026-03-13"], dtype="datetime64[us]")
    np.testing.assert_array_equal(parsed(found.written, DATES[form]), expected)
    assert found.doubt is None


def test_clocks_and_zones_count_as_written():
    stamps = ["2026-03-02T14:35:00+02:00", "2026-03-02T15:35:00.5+02:00"]
    found = both(stamps)
    assert found.written.words == "date YYYY-MM-DD, time zone +02:00"
    assert parsed(found.written, stamps)[0] == np.datetime64("2026-03-02T14:35")
    assert found.written.show(np.datetime64("2026-03-02T14:35")) == "2026-03-02T14:35:00+02:00"
    mixed = both(["2026-03-02 14:35+02:00", "2026-03-02 14:35Z"]).written
    assert (mixed.zone, mixed.has_zone) == ("", True)
    clock = both(["2:35 PM", "11:00 am"])
    assert parsed(clock.written, ["2:35 PM", "12:01 am", "13:00 PM"]).astype(str).tolist() == [
        "1970-01-01T14:35:00.000000",
        "1970-01-01T00:01:00.000000",
        "NaT",
    ]
    assert clock.written.noun == "time of day"


def test_durations_are_what_no_clock_shows_or_what_is_called_so():
    assert both(["1:02:03", "30:00:00"]).written == WrittenDuration(with_seconds=True)
    assert both(["1:02", "2:30"], "lap duration").written == WrittenDuration(with_seconds=False)
    assert both(["1:02", "2:30"], "opens").written.noun == "time of day"
    np.testing.assert_array_equal(parsed(WrittenDuration(), ["-1:02:03.5", "1:60:00"]), [-3723.5, np.nan])
    assert WrittenDuration(with_seconds=False).show(3720.0) == "1:02"


def test_seconds_since_1970_if_the_name_says_so():
    seconds = np.array([1456876800.0, 1456963200.0])
    assert epoch_convention(seconds, "created_at") == WrittenEpoch("seconds")
    assert epoch_convention(seconds * 1e3, "timestamp") == WrittenEpoch("milliseconds")
    assert epoch_convention(seconds, "phone") is None
    assert epoch_convention(seconds + 0.5, "timestamp") is None
    assert epoch_convention(seconds / 1e3, "timestamp") is None
    (moment, _) = WrittenEpoch().parse(seconds)
    assert WrittenEpoch().show(moment) == "2016-03-02 00:00:00"
    assert WrittenEpoch().parse(pl.Series([1456876800]))[0] == dt.datetime(2016, 3, 2)


AMBIGUOUS = {
    "thousands or decimals": (["1,234", "2,345"], 1234.0),
    "thousands of euros": (["1.234 €", "2.345 €"], 1234.0),
    "the day first": (["02/03/2026", "04/05/2026"], np.datetime64("2026-03-02")),
    "the month first, with AM": (
        ["02/03/2026 1:00 AM", "04/05/2026 1:00 AM"],
        np.datetime64("2026-02-03T01"),
    ),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_in_doubt(name):
    texts, value = AMBIGUOUS[name]
    found = both(texts)
    assert found.doubt == texts[0]
    assert parsed(found.written, texts)[0] == value


def test_one_value_of_all_decides():
    many = ["02/03/2026"] * 5000 + ["04/05/2026"] * 5000
    assert both(many).doubt is not None
    many[3333] = "02/13/2026"  # not among the texts that are looked at first
    found = both(many)
    assert (found.doubt, found.written.formats) == (None, ("%m/%d/%Y",))
    prices = ["1,234"] * 4999 + ["1,2"] + ["2,345"] * 5000
    assert both(prices).written.decimal == ","


NOT_READ = {
    "codes": ["007", "123", "045"],
    "whole numbers kept as texts": ["1", "2", "3"],
    "names": ["Anna", "Ben"],
    "several units": ["12 kg", "500 g"],
    "ranges": ["18-25", "26-35"],
    "addresses": ["10.0.0.1", "192.168.1.1"],
    "letters first": ["A12", "B13"],
    "other digits": ["٣٤", "٥٦"],
    "one value": ["20%", "20%"],
    "ISO dates": ["2026-03-02", "2026-03-03"],
    "nothing": ["", "n/a", "-"],
    "half of it": ["12%", "x", "13%", "y"],
    "impossible dates": ["32.01.2026", "33.01.2026"],
}


@pytest.mark.parametrize("name", NOT_READ)
def test_texts_that_stay_texts(name):
    assert both(NOT_READ[name]) is None


def test_a_few_cells_that_do_not_fit_are_named():
    ages = [str(20 + i % 40) for i in range(99)]
    ages[17], ages[50] = "unknown", "n/a"
    found = both(ages)
    assert [(stray.text, stray.count, stray.row) for stray in found.strays] == [("unknown", 1, 17)]
    ages[:10] = ["unknown"] * 10
    assert both(ages) is None
    assert strays_of(WrittenNumber(), np.array(["5", "x", "x", None], dtype=object))[0].count == 2


# ---- round trips ------------------------------------------------------------------------------------------

FORMS = st.builds(
    WrittenNumber,
    prefix=st.sampled_from(["", "$", "$ ", "USD "]),
    decimal=st.sampled_from([".", ","]),
    thousands=st.sampled_from(["", " ", "'"]),
    in_brackets=st.booleans(),
) | st.builds(
    WrittenNumber,
    suffix=st.sampled_from(["%", " %", " €", " kg", "°C", " EUR"]),
    decimal=st.sampled_from([".", ","]),
    thousands=st.sampled_from(["", " ", "'"]),
)
CENTS = st.integers(-(10**9), 10**9)


@settings(deadline=None, max_examples=100)
@given(form=FORMS, cents=st.lists(CENTS, min_size=1, max_size=20))
def test_numbers_come_back(form, cents):
    numbers = [cent / 100 + 0.0 for cent in cents]
    texts = [form.show(number, lambda value: f"{value:.2f}") for number in numbers]
    np.testing.assert_array_equal(parsed(form, texts), numbers)
    # Some more make clear what is written how.
    more = [form.show(number, lambda value: f"{value:.2f}") for number in (0.25, 1234567.25, -1.5)]
    found = both([*texts, *more])
    np.testing.assert_array_equal(parsed(found.written, texts), numbers)
    assert found.doubt is None


@settings(deadline=None, max_examples=100)
@given(
    form=st.sampled_from(
        ["%d.%m.%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M %p", "%d %b %Y", "%Y/%m/%d %H:%M:%S%.f", "%B %d, %Y"]
    ),
    moments=st.lists(
        st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2060, 1, 1)).map(
            lambda moment: moment.replace(second=0, microsecond=0)
        ),
        min_size=1,
        max_size=20,
    ),
    zone=st.sampled_from(["", "+02:00", "Z", " -0530"]),
)
def test_dates_come_back(form, moments, zone):
    zone = zone if "%M" in form else ""
    moments = moments if "%M" in form else [moment.replace(hour=0, minute=0) for moment in moments]
    written = WrittenMoment((form,), zone, bool(zone))
    texts = [
        written.show(moment) for moment in [*moments, dt.datetime(2026, 3, 13), dt.datetime(2026, 4, 25)]
    ]
    found = both(texts)
    np.testing.assert_array_equal(
        parsed(found.written, texts[:-2]), np.array(moments, dtype="datetime64[us]")
    )
    assert found.written.zone == zone
    assert found.doubt is None


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.text(st.sampled_from("0123456789.,'- +%€$:/TZ()eE\u0663\u202e\u00a0kg"), max_size=12), max_size=8
    )
)
def test_python_and_polars_agree_on_anything(texts):
    for written in (
        *(WrittenNumber(), WrittenNumber(suffix="%"), WrittenNumber("$ ", "", ",", "."), WrittenDuration()),
        *(WrittenNumber("", " €", ".", " ", True), WrittenMoment(("%H:%M", "%H:%M:%S%.f"), "", True)),
        WrittenMoment(("%d.%m.%Y", "%d.%m.%Y %H:%M")),
    ):
        parsed(written, texts)
    both(texts)


HOSTILE = {
    "very long": ["1" * 1_000_000, "2" * 1_000_000],
    "long blanks": [" " * 200_000 + "1%", "\u00a0" * 200_000],
    "many groups": ["1,234" * 40_000, "1,234," * 40_000],
    "brackets": ["(" * 100_000, "((((12))))"],
    "other directions": ["\u202e12%\u202c", "\u206612 €\u2069"],
    "many zones": ["2026-03-02 14:35" + "+02:00" * 50_000] * 2,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_no_time(name):
    start = time.process_time()  # what else the machine does does not count
    texts = HOSTILE[name] * 50
    assert both(texts) is None
    for written in (WrittenNumber("", "%", ".", ","), WrittenMoment(("%Y-%m-%d %H:%M",), "", True)):
        parsed(written, texts)
    assert time.process_time() - start < 5.0
