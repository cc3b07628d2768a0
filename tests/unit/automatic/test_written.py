"""Tables as people write them: an odd value ranks first, and is told as the file has it."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import whyodd
from whyodd.automatic.written import WrittenValues, with_values

N, ODD = 300, 17
RNG = np.random.default_rng(0)
HOURS, MINUTES, DAYS = RNG.integers(8, 17, N), RNG.integers(0, 60, N), RNG.integers(1, 29, N)
AMOUNTS = RNG.uniform(1200.0, 1800.0, N)
# Nothing is odd about these.
ITEMS = RNG.integers(2, 9, N).tolist()
WEIGHTS = RNG.uniform(8.0, 12.0, N).round(2).tolist()


def german(x):
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


# Column -> usual cells, the odd one, what is said of it, and of the column.
PLANTED = {
    "discount": (
        [f"{x:.1f}%" for x in RNG.uniform(3.0, 22.0, N)],
        *("95%", r"discount is too high \(95%, usually [34]\.?\d*% to 2\d\.?\d*%\)", "percent"),
    ),
    "rate": (
        [f"{x:.1f} %".replace(".", ",") for x in RNG.uniform(3.0, 22.0, N)],
        *(
            "95,5 %",
            r"rate is too high \(95,5 %, usually \d,?\d* % to 2\d,?\d* %\)",
            "percent, decimal comma",
        ),
    ),
    "price": (
        [f"{german(x)} €" for x in AMOUNTS],
        *("9.999,00 €", r"price is too high \(9\.999,00 €, usually 1\.\d{3} € to 1\.\d{3} €\)"),
        "€, decimal comma, thousands as in 1.000",
    ),
    "cost": (
        [f"${x:,.2f}" for x in AMOUNTS],
        *("$9,999.00", r"cost is too high \(\$9,999\.00, usually \$1,\d{3} to \$1,\d{3}\)", "$, thousands"),
    ),
    "balance": (
        [f"({x:,.2f})" if i % 2 else f"{x:,.2f}" for i, x in enumerate(AMOUNTS / 10.0)],
        *(
            "(9,999.00)",
            r"balance is too low \(\(9,999\.00\), usually \(\d+\) to \d+\)",
            "negative in brackets",
        ),
    ),
    "load": (
        [f"{x:.0f} kg" for x in AMOUNTS],
        *("9000 kg", r"load is too high \(9000 kg, usually \d+ kg to \d+ kg\)", "kg"),
    ),
    "age": (
        [str(x) for x in RNG.integers(20, 60, N)],
        *(
            "unknown",
            r"age is 'unknown', which is not a number",
            r"1 cell is not a number .* 'unknown' \(row 17\)",
        ),
    ),
    "reading": (
        [f"{x:.3f}" for x in AMOUNTS],
        *(
            "error",
            r"reading is 'error', which is not a number",
            r"1 cell is not a number .* 'error' \(row 17\)",
        ),
    ),
    "opens": (
        [f"{h:02d}:{m:02d}" for h, m in zip(HOURS, MINUTES, strict=True)],
        *("03:12", r"opens is at an unusual hour \(03:12[;)]", "time of day"),
    ),
    "calls": (
        [
            f"{(h - 1) % 12 + 1}:{m:02d} {'PM' if h > 11 else 'AM'}"
            for h, m in zip(HOURS, MINUTES, strict=True)
        ],
        *("2:35 AM", r"calls is at an unusual hour \(2:35 AM[;)]", "time of day"),
    ),
    "took": (
        [f"{h + 12}:{m:02d}:00" for h, m in zip(HOURS, MINUTES, strict=True)],
        *("90:00:00", r"took is too high \(90:00:00, usually 2\d:\d\d:\d\d to 2\d:\d\d:\d\d\)", "duration"),
    ),
    "due": (
        [f"{m:02d}/{d:02d}/2026" for m, d in zip(RNG.integers(1, 7, N), DAYS, strict=True)],
        *("12/24/2026", r"due is unusually late \(12/24/2026[;)]", "date MM/DD/YYYY"),
    ),
    "am": (
        [f"{d:02d}.{m:02d}.2026" for m, d in zip(RNG.integers(1, 7, N), DAYS, strict=True)],
        *("24.12.2026", r"am is unusually late \(24\.12\.2026[;)]", "date DD.MM.YYYY"),
    ),
    "stamp": (
        [f"2026-03-{d:02d}T{h:02d}:15:00+02:00" for d, h in zip(DAYS, HOURS, strict=True)],
        *(
            "2026-03-04T02:15:00+02:00",
            r"stamp is at an unusual hour \(2026-03-04T02:15:00\+02:00[;)]",
            r"time zone \+02:00",
        ),
    ),
    "created_at": (
        (1456790400 + 3600 * HOURS + 86400 * DAYS).tolist(),
        *(
            1456790400 + 3600 * 2,
            r"created_at is at an unusual hour \(2016-03-01 02:00:00[;)]",
            "seconds since 1970",
        ),
    ),
}


def table(name):
    cells, odd, *_ = PLANTED[name]
    cells = list(cells)
    cells[ODD] = odd
    return {"items": ITEMS, "weight": WEIGHTS, name: cells}


def read_from_csv(columns, folder):
    path = folder / "table.csv"
    pl.DataFrame(columns).write_csv(path)
    from whyodd.io.tables import read_table

    return read_table(path)


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv"])
@pytest.mark.parametrize("name", PLANTED)
def test_the_odd_value_ranks_first_and_is_told_as_it_is_written(name, kind, tmp_path):
    columns = table(name)
    frame = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "csv": lambda columns: read_from_csv(columns, tmp_path),
    }[kind](columns)
    found = whyodd.find(frame)
    *_, sentence, words = PLANTED[name]
    assert found.order[0] == ODD
    assert found.is_odd[ODD]
    reason = found.why(0, k=1).split(": ")[0] if "which" in sentence else found.why(0, k=1)
    assert pd.Series([reason]).str.match(sentence).all(), reason
    (column,) = [column for column in found.auto_report.columns if column.name == name]
    assert pd.Series([column.note]).str.contains(words).all() or words in column.note, column.note


def test_expected_values_ranges_and_changes_are_in_the_same_form():
    found = whyodd.find(pd.DataFrame(table("price")))
    card = found.to_dict(3)["anomalies"][0]
    reason = card["reasons"][0]
    assert reason["value"] == "9.999,00 €"
    assert reason["expected"].endswith(" €")
    assert reason["usual"]["low"].endswith(" €")
    assert card["change"]["steps"][0]["to"].endswith(" €")
    assert card["change"]["steps"][0]["from"] == "9.999 €"
    assert all(value["value"].endswith(" €") for row in card["neighbors"] for value in row["values"][:1])
    assert found.explanation.data[0, 2] == 9999.0


def test_a_model_that_was_saved_reads_new_rows_by_the_same_convention(tmp_path):
    model = whyodd.auto(pl.DataFrame(table("due")))
    whyodd.save(model, tmp_path / "model.whyodd")
    loaded = whyodd.load(tmp_path / "model.whyodd")
    new = pl.DataFrame(
        {"items": [5, 5, 5], "weight": [10.0] * 3, "due": ["03/04/2026", "someday", "12/24/2026"]}
    )
    found = whyodd.find(new, model=loaded)
    np.testing.assert_array_equal(found.outlierness, whyodd.find(new, model=model).outlierness)
    assert found.explanation.data[list(found.explanation.rows).index(0), 2] == dt.datetime(2026, 3, 4)
    assert any(
        note == "due: 1 cell is not a date and counts as missing: 'someday' (row 1)." for note in found.notes
    )
    # Missing where none was missing in training is odd, and a reason of its own.
    assert found.is_odd[1]
    place = list(found.explanation.rows).index(1)
    assert found.why(place, k=1).startswith("due is 'someday', which is not a date")


def test_explanations_are_saved_with_their_forms(tmp_path):
    found = whyodd.find(pd.DataFrame(table("discount")))
    whyodd.save(found.explanation, tmp_path / "e.whyodd")
    assert whyodd.load(tmp_path / "e.whyodd").why(0) == found.why(0)


def test_new_rows_may_hold_plain_numbers_already():
    model = whyodd.auto(pl.DataFrame(table("age")))
    new = pl.DataFrame({"items": [5, 5], "weight": [10.0, 10.0], "age": [35, 90]})
    scores = whyodd.find(new, model=model).outlierness
    as_texts = whyodd.find(new.with_columns(pl.col("age").cast(pl.String)), model=model).outlierness
    np.testing.assert_array_equal(scores, as_texts)


def test_plain_tables_have_no_such_step():
    frame = pd.DataFrame({"a": WEIGHTS, "b": ["x", "y", "z"] * (N // 3), "c": ITEMS})
    assert list(whyodd.auto(frame).named_steps) == ["columns", "model"]
    assert with_values(frame) is frame


def test_dates_in_doubt_are_told_in_a_note():
    days = [f"{1 + i % 9:02d}/{1 + i % 7:02d}/2026" for i in range(N)]
    found = whyodd.find(pd.DataFrame({"a": WEIGHTS, "day": days}))
    (note,) = [note for note in found.notes if note.startswith("day")]
    assert "the day or the month first" in note
    assert "read as 2026-01-08" in note


def test_mixed_cells_and_arrays_are_read_too():
    ages = RNG.integers(20, 60, N).astype(object)
    ages[ODD] = "unknown"
    for frame in (
        pd.DataFrame({"a": WEIGHTS, "age": ages}),
        np.column_stack([np.array(WEIGHTS, dtype=object), ages]),
    ):
        found = whyodd.find(frame)
        assert found.order[0] == ODD
        assert "is 'unknown', which is not a number" in found.why(0)


def test_groups_show_the_same_form():
    frame = pd.DataFrame(table("discount"))
    grouped = whyodd.find(frame, groups={"both": ["items", "weight"]})
    assert grouped.why(0).startswith("discount is too high (95%, expected about ")
    assert grouped.to_dict(2)["anomalies"][0]["reasons"][0]["usual"]["high"].endswith("%")


def test_tables_of_reasons_have_dates_as_written_and_numbers_as_numbers():
    clock = whyodd.find(pl.DataFrame(table("opens"))).explanation
    assert clock.to_frame().filter(pl.col("feature") == "opens")["value"][0] == "03:12"
    assert clock.to_dict()["rows"][0]["value"][2] == "03:12"
    assert whyodd.find(pl.DataFrame(table("price"))).explanation.to_dict()["rows"][0]["value"][2] == 9999.0


def test_pandas_frames_with_any_index_are_read_by_position():
    frame = pd.DataFrame(table("discount"), index=range(N, 0, -1))
    step = whyodd.auto(frame).named_steps["written"]
    assert isinstance(step, WrittenValues)
    assert step.transform(frame)["discount"].iloc[ODD] == 95.0
    assert frame["discount"].iloc[ODD] == "95%"


# ---- gaps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_a_row_of_gaps_is_not_normal(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 12))
    X[rng.random(X.shape) < share] = np.nan
    X[5] = np.nan
    X[5, 0] = 0.0
    found = whyodd.find(pd.DataFrame(X).add_prefix("c"))
    assert found.order[0] == 5
    assert "is missing" in found.why(0)


def test_missing_where_it_never_was_missing_is_odd_and_told():
    frame = pd.DataFrame({"a": WEIGHTS, "b": AMOUNTS, "c": ["x", "y", "z"] * (N // 3)})
    model = whyodd.auto(frame)
    new = frame.iloc[:4].copy()
    new.loc[1, "a"], new.loc[2, "c"] = np.nan, None
    found = whyodd.find(new, model=model)
    assert found.is_odd[1]
    places = {int(row): place for place, row in enumerate(found.explanation.rows)}
    assert found.why(places[1], k=1).startswith("a is missing")
    assert "c is missing" in found.why(places[2], k=1)
