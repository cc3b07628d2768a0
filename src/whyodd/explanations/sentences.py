"""Reasons in words and numbers as people write them."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.inputs.written import Written

OTHERS = "all other variables"
UNEXPLAINED = "no single variable"
COMBINED = "in an unusual combination"  # for a value that is not odd by itself
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LONGEST = 80  # characters of a name or value that a sentence shows
_MEMBERS = 3  # of a group that a sentence shows
_ROUNDING = 1e-9  # of a sum of shares
VISIBLE = 0.005  # shares that do not round to 0 %
_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_MANY_DIGITS = 15  # Enough to tell any two float64 numbers of the same size apart that differ visibly.


@dataclass(frozen=True)
class Partner:
    """The value of another variable that a value does not go with.

    Attributes
    ----------
    name : str
        The other variable.
    part : str, optional
        The part of it, if it is a date.
    """

    name: str
    part: str | None = None


@dataclass(frozen=True)
class Reason:
    """One part of the outlierness of one item: a variable, a place, a stretch of time or a word.

    Attributes
    ----------
    name : str
        What it is: the name of a variable, "rows 3 to 9, columns 8 to 14", a word.
    value, expected : float, str or other value
        What the item has, and what a normal one like it would have; None or NaN where missing or unknown, a
        dictionary by name for a group of variables.
    direction : int
        +1 too high, -1 too low, 0 as expected on average, or no number.
    relevance : float
        Its part R_i of the outlierness.
    share : float
        R_i / o.
    never_varied : bool
        Whether the variable had one and the same value in training, and has another one now; ``expected`` is
        that value.
    kind : str, optional
        In what way it is odd, if the model distinguishes several.
    judged, told : str, optional
        What is odd about it in two words, and in a sentence, where values do not say it themselves.
    written : str, optional
        What stands in the cell, where values were read from texts.
    form : Written, optional
        How such values are written.
    context : str
        What ``told`` says about the context in which it is odd, if anything.
    partner : Partner, optional
        What it does not go with, if it is odd beside another variable.
    part : str, optional
        The part of a date that is odd, such as "hour of the day".
    resolution : float
        Numbers of the variable that differ by less are the same to people; 0 if that is not known.
    """

    name: str
    value: Any
    expected: Any
    direction: int
    relevance: float
    share: float
    never_varied: bool = False
    kind: str | None = None
    judged: str | None = None
    told: str | None = None
    written: str | None = None
    form: Written | None = None
    context: str = ""
    partner: Partner | None = None
    part: str | None = None
    resolution: float = 0.0

    @property
    def feature(self) -> str:
        """The name, as of a variable."""
        return self.name

    @property
    def words(self) -> str:
        """The finding in words: "amount is too high (12000, expected about 35.5)"."""
        return self.told or observation(self)

    @property
    def judgement(self) -> str:
        """What is odd about it, in two words."""
        return self.judged or judgement(self)


@dataclass(frozen=True)
class OddRow:
    """One row with its main reasons.

    Attributes
    ----------
    row : int
        Position of the row in the data that were explained.
    outlierness : float
        o(x).
    unexplained_share : float
        Part of o, between 0 and 1, that belongs to no single variable; NaN where relevance is not in units of
        o, and shares are of its sum.
    reasons : tuple of Reason
        First the variables that never varied in training, then the most relevant ones.
    name : str, optional
        Name of the row.
    """

    row: int
    outlierness: float
    unexplained_share: float
    reasons: tuple[Reason, ...]
    name: str | None = None

    @property
    def other_share(self) -> float:
        """Part of o of the variables that are not among the reasons; negative if they speak against it."""
        unexplained = self.unexplained_share if self.is_additive else 0.0
        told = unexplained + math.fsum(reason.share for reason in self.reasons)
        rest = 1.0 - told if self.outlierness > 0 else 0.0
        return rest if abs(rest) > _ROUNDING else 0.0

    @property
    def is_additive(self) -> bool:
        """Whether shares are parts of the outlierness."""
        return not math.isnan(self.unexplained_share)

    @property
    def measured_share(self) -> float:
        """Part of o without the variables that never varied in training; shares are parts of this."""
        return 1.0 - math.fsum(reason.share for reason in self.constants)

    @property
    def constants(self) -> tuple[Reason, ...]:
        """Variables that had one value in training and have another one now."""
        return tuple(reason for reason in self.reasons if reason.never_varied)


def sentence(odd: OddRow) -> str:
    """One sentence that says why the row is odd.

    A variable that never varied in training has no scale to measure its deviation by: it is reported without
    a share, and the shares of the others refer to the rest.

    Examples
    --------
    >>> from whyodd.explanations.sentences import OddRow, Reason, sentence
    >>> radius = Reason("radius_mean", 28.11, 13.18, direction=1, relevance=2.05, share=0.41)
    >>> sentence(OddRow(0, outlierness=5.0, unexplained_share=0.18, reasons=(radius,)))
    'radius_mean is too high (28.1, expected about 13.2): 41 % of the outlierness; 18 % belongs to no single
    variable'
    """
    constants = [reason.words for reason in odd.constants]
    if odd.outlierness <= 0:
        nothing = f"nothing is odd about this row: its outlierness is {number(odd.outlierness)}"
        return "; ".join(constants) or nothing
    rest = odd.measured_share
    told = [reason for reason in odd.reasons if reason.share > 0 and not reason.never_varied]
    if rest <= _ROUNDING or not told:
        alone = "no single variable makes this row odd: all of its outlierness belongs to the row as a whole"
        return "; ".join(constants) or alone
    whole = "outlierness" if odd.is_additive else "relevance"
    whole = f"of the rest of the {whole}" if constants and rest < 1.0 - _ROUNDING else f"of the {whole}"
    visible = [told[0], *(reason for reason in told[1:] if reason.share / rest >= VISIBLE)]
    shares = [percent(reason.share / rest) for reason in visible]
    first, *others = map(": ".join, zip(words_of(visible), shares, strict=True))
    parts = [*constants, f"{first} {whole}", *others]
    if not odd.is_additive:
        return "; ".join(parts)
    against = 1.0 - math.fsum([odd.unexplained_share, *(reason.share for reason in told)]) / rest
    if against < -VISIBLE:  # signed relevance: the reasons add up to more than the whole
        parts.append(f"the other variables speak against it ({percent(against)})")
    # A committee, whose reasons have kinds, leaves nothing over.
    is_whole = odd.unexplained_share == 0.0 and told[0].kind is not None
    return "; ".join(parts if is_whole else [*parts, _remainder(odd.unexplained_share / rest)])


def words_of(reasons: Sequence[Reason]) -> list[str]:
    """The reasons of one row in words; its context appears once."""
    found, context = [], ""
    for reason in reasons:
        found.append(reason.words.replace(context, "") if context else reason.words)
        context = context or reason.context
    return found


def observation(reason: Reason) -> str:
    """The finding in words: the variable, too high or too low, its value and the expected one.

    Examples
    --------
    >>> from whyodd.explanations.sentences import Reason, observation
    >>> observation(Reason("amount", 12000.0, 35.5, direction=1, relevance=1.0, share=0.5))
    'amount is too high (12000, expected about 35.5)'
    >>> observation(Reason("protocol", "icmp", "tcp", direction=0, relevance=1.0, share=0.5))
    "protocol is 'icmp', normal rows like this have 'tcp'"
    >>> observation(Reason("age", None, 35.5, direction=0, relevance=1.0, share=0.5))
    'age is missing, normal rows like this have about 35.5'
    >>> observation(Reason("country", "DE", "DE", direction=0, relevance=1.0, share=0.5))
    "country is in an unusual combination ('DE')"
    >>> observation(Reason("land", 1.0, 0.0, direction=1, relevance=1.0, share=1.0, never_varied=True))
    'land never varied in training (always 0, here 1)'
    """
    name, (value, expected) = name_text(reason), value_texts(reason)
    if reason.never_varied:
        always = "missing" if is_missing(reason.expected) else expected
        return f"{name} never varied in training (always {always}, here {value})"
    if reason.direction != 0:
        return f"{name} is {judgement(reason)} ({value}, expected about {expected})"
    if is_missing(reason.value):
        other = (
            "" if is_missing(reason.expected) else f", normal rows like this have {_about(reason, expected)}"
        )
        return f"{missing_words(reason)}{other}"
    if isinstance(reason.value, dict):
        known = "" if _are_missing(reason.expected) else f"; expected about {expected}"
        return f"{name} is unusual ({value}{known})"
    if _is_told_by(reason.value, reason.expected) and not is_as_expected(reason):
        return f"{name} is {value}, normal rows like this have {expected}"
    if isinstance(reason.value, dt.date):
        return f"{name} is unusual ({value}, a {WEEKDAYS[reason.value.weekday()]})"
    return f"{name} is {judgement(reason)} ({value})"


def missing_words(reason: Reason) -> str:
    """Words for a missing value, or for a cell that does not fit its column.

    Examples
    --------
    >>> from whyodd.explanations.sentences import Reason, missing_words
    >>> missing_words(Reason("age", None, 35.5, direction=0, relevance=1.0, share=0.5))
    'age is missing'
    """
    if reason.form is None or reason.written is None or not reason.written.strip():
        return f"{name_text(reason)} is missing"
    return f"{name_text(reason)} is {text(reason.written)}, which is not a {reason.form.noun}"


def name_text(reason: Reason) -> str:
    """Name of the variable on one line, cut if it is very long."""
    return short_name(reason.name)


def short_name(name: str) -> str:
    """A name on one line, cut if it is very long."""
    return _cut(" ".join(name.split()) or repr(name))


def _is_told_by(value: Any, expected: Any) -> bool:
    """Whether the expected value shows what is odd about the value."""
    if is_missing(expected):
        return False
    if is_number(expected) and not isinstance(value, str):
        # A date cannot be compared with the number that a scaler made of it.
        return is_number(value) and not math.isclose(value, expected, rel_tol=_ROUNDING)
    # Categories of all kinds may have been compared as texts.
    return bool(value != expected) and str(value) != expected


def _about(reason: Reason, text: str) -> str:
    return f"about {text}" if is_number(reason.expected) else text


def judgement(reason: Reason) -> str:
    """The direction in a few words: "too high", "too low", "missing", "new value" or "unusual".

    What is as expected is odd only beside its other values: "in an unusual combination".
    """
    if reason.never_varied:
        return "new value"
    if is_missing(reason.value):
        return "missing"
    if reason.direction == 0 and is_as_expected(reason):
        return COMBINED
    return {1: "too high", -1: "too low", 0: "unusual"}[reason.direction]


def value_texts(reason: Reason) -> tuple[str, str]:
    """Value and expected value as text; numbers with enough digits to distinguish them."""
    if _are_numbers(reason.value, reason.expected) and not is_as_expected(reason):
        value, expected = float(reason.value), at_resolution(float(reason.expected), reason.resolution)
        if value == expected:  # two different numbers must look different
            expected = float(reason.expected)
        # A sum over known rows, all but a trace of which have 0, is 0 to people.
        is_trace = math.isfinite(value) and abs(expected) < _ROUNDING * abs(value)
        texts = distinct_numbers(value, 0.0 if is_trace else expected, reason.form)
    else:
        texts = text(reason.value, reason.form), text(reason.expected, reason.form)
        if is_as_expected(reason):
            texts = texts[0], texts[0]
    return (as_written(reason) or texts[0]), texts[1]


def as_written(reason: Reason) -> str | None:
    """The original text of a value that was read from one; None if it was not, or is not a value."""
    if reason.written is None or is_missing(reason.value):
        return None
    return _cut(" ".join(reason.written.split()))


def _are_numbers(*values: object) -> bool:
    return all(map(is_number, values))


def is_as_expected(reason: Reason) -> bool:
    """Whether the value equals the expected one: the same category, or the same number up to rounding."""
    value, expected = reason.value, reason.expected
    if _are_numbers(value, expected):
        gap = abs(float(value) - float(expected))
        return reason.direction == 0 and gap <= max(_ROUNDING * abs(value), 0.5 * reason.resolution)
    if is_missing(value) or is_missing(expected) or isinstance(value, dict):
        return False
    return bool(value == expected) or str(value) == expected


def at_resolution(value: float, resolution: float) -> float:
    """A computed number in the form its variable can have: means of counts as counts, without noise.

    Examples
    --------
    >>> from whyodd.explanations.sentences import at_resolution
    >>> at_resolution(5.01, 1.0), at_resolution(4.44e-16, 0.01), at_resolution(0.1234, 0.0)
    (5.0, 0.0, 0.1234)
    """
    if not resolution > 0.0 or not math.isfinite(value) or abs(value) > resolution / _ROUNDING:
        return value
    return float(f"{round(value / resolution) * resolution:.{_MANY_DIGITS}g}")


def text(value: object, form: Written | None = None) -> str:
    """Any value as text: numbers as people write them, words in quotes, a dash for no value.

    ``form``: how the values of a variable are written, if not as plain numbers and dates.

    Examples
    --------
    >>> from whyodd.explanations.sentences import text
    >>> [text(value) for value in (3.14159, "tcp", None, True, {"city": "Bonn", "zip": 53111})]
    ['3.14', "'tcp'", '-', 'True', "city 'Bonn', zip 53111"]
    """
    if isinstance(value, dict):
        shown = [f"{name} {text(part)}" for name, part in islice(value.items(), _MEMBERS)]
        more = len(value) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    if is_missing(value):
        return "-"
    if form is not None:
        # The text is that of another row's cell.
        return _cut(value.strip()) if isinstance(value, str) else form.show(value, number)
    if is_number(value):
        return number(float(value))  # type: ignore[arg-type]
    if isinstance(value, dt.timedelta):
        return duration(value.total_seconds())
    if isinstance(value, dt.datetime):
        return str(value).removesuffix(" 00:00:00")  # a day
    return _cut(repr(value) if isinstance(value, str) else str(value))


def _cut(plain: str) -> str:
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def is_number(value: object) -> bool:
    """Whether a value is a number to compute with; truth values and NaN are not."""
    import numpy as np  # here, so that `whyodd --help` need not wait for it

    kinds = (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, bool) and not is_missing(value)


def is_missing(value: object) -> bool:
    """Whether there is no value: None, NaN, NaT and the like, which do not even equal themselves."""
    if value is None or isinstance(value, (str, dict)):
        return value is None
    try:
        return not bool(value == value)
    except TypeError:  # pandas' NA has no truth value
        return True


def _are_missing(values: Any) -> bool:
    """Whether there is no value, or no value in a group."""
    return all(map(is_missing, values.values())) if isinstance(values, dict) else is_missing(values)


def _remainder(share: float) -> str:
    words = f"{percent(share)} belongs to no single variable"
    return f"{words}, more than the variables explain together" if share > 0.5 else words


def percent(share: float) -> str:
    """Share as a whole percentage.

    Examples
    --------
    >>> from whyodd.explanations.sentences import percent
    >>> percent(0.414), percent(0.0), percent(0.001)
    ('41 %', '0 %', 'under 1 %')
    """
    if 0 < share < VISIBLE:
        return "under 1 %"
    if -VISIBLE < share < 0:
        return "0 %"
    return f"{100 * share:.0f} %"


def number(value: float, digits: int = 3) -> str:
    """Write with ``digits`` significant digits, without an exponent unless the number is huge or tiny.

    Examples
    --------
    >>> from whyodd.explanations.sentences import number
    >>> [number(x) for x in (28.11, 12000.0, 1234.5, 0.05321, -0.5, 0.0, 1e15, 3.2e-9)]
    ['28.1', '12000', '1234', '0.0532', '-0.5', '0', '1e+15', '3.2e-09']
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    size = math.floor(math.log10(abs(value)))
    if not -5 <= size < 9:
        return f"{value:.{digits}g}"
    decimals = 0 if value.is_integer() else max(0, digits - 1 - size)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds: float) -> str:
    """Write a length of time with its two largest units.

    Examples
    --------
    >>> from whyodd.explanations.sentences import duration
    >>> duration(0.25), duration(95), duration(3600), duration(-100_000)
    ('0.25 s', '1 min 35 s', '1 h', '-1 d 4 h')
    """
    size = abs(seconds)
    if size < _UNITS[-2][0]:
        return f"{number(seconds)} s"
    unit, name = next((length, name) for length, name in _UNITS if size >= length)
    smaller, its_name = _UNITS[[length for length, _ in _UNITS].index(unit) + 1]
    whole, rest = divmod(round(size / smaller), round(unit / smaller))
    return f"{'-' if seconds < 0 else ''}{whole} {name}" + (f" {rest} {its_name}" if rest else "")


def all_digits(value: float) -> str:
    """Write so that no digit is lost, whole numbers without a decimal point.

    Examples
    --------
    >>> from whyodd.explanations.sentences import all_digits
    >>> all_digits(0.1), all_digits(1234567.0)
    ('0.1', '1234567')
    """
    is_whole = math.isfinite(value) and value.is_integer() and abs(value) < 10**_MANY_DIGITS
    return str(int(value)) if is_whole else repr(value)


def shown(value: float, form: Written | None, digits: int = 3) -> str:
    """A number written like its variable, with the given digits.

    Examples
    --------
    >>> from whyodd.explanations.sentences import shown
    >>> from whyodd.inputs.written import WrittenNumber
    >>> shown(20.61, WrittenNumber(suffix=" %", decimal=",")), shown(20.61, None)
    ('20,6 %', '20.6')
    """
    return number(value, digits) if form is None else form.show(value, partial(number, digits=digits))


def distinct_numbers(value: float, other: float, form: Written | None = None) -> tuple[str, str]:
    """Both numbers with enough digits to distinguish them, at least three.

    Examples
    --------
    >>> from whyodd.explanations.sentences import distinct_numbers
    >>> distinct_numbers(28.11, 13.18), distinct_numbers(1000.41, 1000.38)
    (('28.1', '13.2'), ('1000.41', '1000.38'))
    """
    for digits in range(3, _MANY_DIGITS):
        texts = shown(value, form, digits), shown(other, form, digits)
        if texts[0] != texts[1]:
            return texts
    return shown(value, form, _MANY_DIGITS), shown(other, form, _MANY_DIGITS)
