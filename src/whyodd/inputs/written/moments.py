"""Dates and times of day as people write them."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.inputs.written.base import LONGEST, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Formats are those of strptime; "%.f" is a fraction of a second, or nothing.
_TOKENS = {
    "%Y": "(?P<Y>[0-9]{4})",
    "%y": "(?P<y>[0-9]{2})",
    "%m": "(?P<m>[0-9]{1,2})",
    "%d": "(?P<d>[0-9]{1,2})",
    "%b": "(?P<b>[A-Za-z]{3})",
    "%B": "(?P<B>[A-Za-z]{3,9})",
    "%H": "(?P<H>[0-9]{1,2})",
    "%I": "(?P<I>[0-9]{1,2})",
    "%M": "(?P<M>[0-9]{2})",
    "%S": "(?P<S>[0-9]{2})",
    "%.f": r"(?P<f>\.[0-9]{1,6})?",
    "%p": "(?P<p>[AaPp][Mm])",
}
_TOKEN = re.compile(r"%\.f|%.|.", re.DOTALL)
_ZONE = r"(?P<zone> ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?"
_ZONE_AT_THE_END = r" ?(?:Z|[+-][0-9]{2}:?[0-9]{2})$"
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
# Order of a date -> its name. If several fit, the first is used.
_DATES = {
    "%Y-%m-%d": "YYYY-MM-DD",
    "%Y/%m/%d": "YYYY/MM/DD",
    "%Y.%m.%d": "YYYY.MM.DD",
    "%d.%m.%Y": "DD.MM.YYYY",
    "%d/%m/%Y": "DD/MM/YYYY",
    "%m/%d/%Y": "MM/DD/YYYY",
    "%d-%m-%Y": "DD-MM-YYYY",
    "%m-%d-%Y": "MM-DD-YYYY",
    "%d.%m.%y": "DD.MM.YY",
    "%d/%m/%y": "DD/MM/YY",
    "%m/%d/%y": "MM/DD/YY",
    "%d %b %Y": "as in 2 Mar 2026",
    "%d-%b-%Y": "as in 2-Mar-2026",
    "%d %B %Y": "as in 2 March 2026",
    "%b %d, %Y": "as in Mar 2, 2026",
    "%B %d, %Y": "as in March 2, 2026",
}
_CLOCKS = ("%H:%M", "%H:%M:%S%.f", "%I:%M %p", "%I:%M:%S %p")
_JOINTS = (" ", "T", ", ")
_FIRST_DAY = "1970-01-01"


@dataclass(frozen=True)
class WrittenMoment(Written):
    """A date, a date and a time, or a time of day, which is stored as one on 1 January 1970.

    The clock as it is written counts: 14:35+02:00 is 14:35.

    Attributes
    ----------
    formats : tuple of str
        Formats of strptime, of which one fits.
    zone : str
        The time zone that all have, as it is written; "" if there is none, or more than one.
    has_zone : bool
        Whether values have one.
    """

    formats: tuple[str, ...] = ("%Y-%m-%d",)
    zone: str = ""
    has_zone: bool = False

    dtype = "datetime64[us]"

    @property
    def is_time_of_day(self) -> bool:
        """Whether it is a time of day, without a date."""
        return not any(token in self.formats[0] for token in ("%Y", "%y"))

    @property
    def noun(self) -> str:  # type: ignore[override]  # of the value, not of the class
        """The kind of a value."""
        return "time of day" if self.is_time_of_day else "date"

    @property
    def words(self) -> str:
        """The convention in a few words."""
        zone = f", time zone {self.zone.strip()}" if self.zone else ", time zones as written"
        zone = zone if self.has_zone else ""
        if self.is_time_of_day:
            return f"time of day{zone}"
        date = next(words for order, words in _DATES.items() if self.formats[0].startswith(order))
        return f"date {date}{zone}"

    def value(self, text: str) -> np.datetime64 | None:
        """The moment of one text, to the microsecond; None if it does not fit."""
        if len(text) > LONGEST:
            return None
        for pattern in self._patterns:
            found = pattern.fullmatch(text.strip())
            if found is not None:
                return _moment({name: part for name, part in found.groupdict().items() if part})
        return None

    def expression(self, texts: Any) -> Any:
        """Polars expression of the moments; null where texts do not fit."""
        import polars as pl

        body = texts.str.strip_chars()
        either = "|".join(re.sub(r"\?P<\w+>", "", pattern.pattern) for pattern in self._patterns)
        fits = (texts.str.len_chars() <= LONGEST) & body.str.contains(f"^(?:{either})$")
        body = body.str.replace(_ZONE_AT_THE_END, "") if self.has_zone else body
        is_clock = self.is_time_of_day
        body = pl.concat_str(pl.lit(f"{_FIRST_DAY} "), body) if is_clock else body
        formats = [f"%Y-%m-%d {form}" if is_clock else form for form in self.formats]
        read = [body.str.strptime(pl.Datetime("us"), form, strict=False) for form in formats]
        return pl.when(fits).then(pl.coalesce(read))

    def quick(self, texts: Any) -> Any:
        """Polars expression of the moments in the first format and the usual zone; null of all others."""
        import polars as pl

        form = self.formats[0]
        if self.is_time_of_day or (self.has_zone and not self.zone):
            return self.expression(texts)
        pattern = re.sub(r"\?P<\w+>", "", _pattern(form))
        fits = texts.str.contains(f"^{pattern}{re.escape(self.zone)}$") & (texts.str.len_bytes() <= LONGEST)
        body = texts.str.strip_suffix(self.zone) if self.zone else texts
        return pl.when(fits).then(body.str.strptime(pl.Datetime("us"), form, strict=False))

    def show(self, value: Any, write: Callable[[float], str] | None = None) -> str:  # noqa: ARG002
        """A moment in the form of the column.

        Examples
        --------
        >>> import numpy as np
        >>> from whyodd.inputs.written.moments import WrittenMoment
        >>> WrittenMoment(("%H:%M",), "+02:00", True).show(np.datetime64("1970-01-01T14:35"))
        '14:35+02:00'
        """
        if isinstance(value, (float, int)):  # seconds since 1970
            value = np.datetime64(round(value * 1e6), "us")
        moment = value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else value
        fraction = f"{moment:.%f}".rstrip("0").rstrip(".") if moment.microsecond else ""
        return str(moment.strftime(self.formats[0].replace("%.f", fraction))) + self.zone

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        zone = _ZONE if self.has_zone else ""
        return [re.compile(_pattern(form) + (zone if "%M" in form else "")) for form in self.formats]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("formats", "zone", "has_zone")}


def moment_convention(texts: Sequence[str], share: float) -> tuple[WrittenMoment, str | None] | None:
    """How at least a share of some texts write dates or times of day; None if they do not.

    Where the day and the month could each come first, the day does, unless there is AM or PM.

    Returns
    -------
    written : WrittenMoment
    doubt : str or None
        A text that is another date in another order, if all texts could be.
    """
    found = {order: fits for order in _orders(texts) if (fits := _fits(texts, order))}
    counts = {order: sum(fits.values()) for order, fits in found.items()}
    most = max(counts.values(), default=0)
    if most < share * len(texts):
        return None
    best = [order for order, count in counts.items() if count == most]
    has_noon = any("%p" in form for form in found[best[0]])
    best.sort(key=lambda order: has_noon and order.startswith("%d"))
    candidates = [_with_zone(texts, found[order]) for order in best]
    return candidates[0], _doubt(texts, candidates)


def _orders(texts: Sequence[str]) -> list[str]:
    """Orders of dates that fit any of the first texts, "" for times of day."""
    few = [text.strip() for text in texts[:20] if len(text) <= LONGEST]
    starts = {order: re.compile(_pattern(order)) for order in _DATES}
    orders = [order for order, pattern in starts.items() if any(map(pattern.match, few))]
    return orders or [""]


def _fits(texts: Sequence[str], order: str) -> Counter[str]:
    """How many texts fit each format with a date in this order."""
    patterns = [
        (form, re.compile(_pattern(form) + (_ZONE if "%M" in form else ""))) for form in _forms(order)
    ]
    counts: Counter[str] = Counter()
    for text in texts:
        body = text.strip() if len(text) <= LONGEST else ""
        for form, pattern in patterns:
            found = pattern.fullmatch(body)
            if found is not None and _moment({n: part for n, part in found.groupdict().items() if part}):
                counts[form] += 1
                break
    return counts


def _forms(order: str) -> Iterator[str]:
    """Formats with a date in this order, with and without a time."""
    if not order:
        yield from _CLOCKS
        return
    yield order
    yield from (f"{order}{joint}{clock}" for joint in _JOINTS for clock in _CLOCKS)


def _with_zone(texts: Sequence[str], fits: Counter[str]) -> WrittenMoment:
    forms = tuple(form for form, _ in fits.most_common())
    ends = [re.search(_ZONE_AT_THE_END, text.strip()) for text in texts if len(text) <= LONGEST]
    has_clock = any("%M" in form for form in forms)
    zones = {end[0] for end in ends if end is not None} if has_clock else set()
    return WrittenMoment(forms, min(zones) if len(zones) == 1 else "", bool(zones))


def _pattern(form: str) -> str:
    """Regular expression of a format, understood alike by Python and by Polars."""
    parts = [_TOKENS.get(token, re.escape(token)) for token in _TOKEN.findall(form)]
    return "".join(parts).replace(r"\ (?P<p>", " ?(?P<p>").replace(r"\ ", " ")


def _moment(parts: dict[str, str]) -> np.datetime64 | None:
    """The moment that the parts of a text make; None if there is no such date or time."""
    hour = int(parts.get("H", parts.get("I", "0")))
    if "I" in parts and not 1 <= hour <= 12:
        return None
    if "p" in parts:
        hour = hour % 12 + (12 if parts["p"].lower() == "pm" else 0)
    year = int(parts.get("Y", "1970"))
    if "y" in parts:
        year = int(parts["y"]) + (2000 if int(parts["y"]) < 69 else 1900)
    month, day = _month(parts), int(parts.get("d", "1"))
    micro = int(parts["f"][1:].ljust(6, "0")) if "f" in parts else 0
    try:
        found = dt.datetime(year, month, day, hour, int(parts.get("M", "0")), int(parts.get("S", "0")), micro)
    except ValueError:
        return None
    return np.datetime64(found, "us")


def _month(parts: dict[str, str]) -> int:
    """Number of the month, 0 for an unknown name."""
    name = parts.get("b", parts.get("B", "")).lower()
    if name:
        return next((i for i, month in enumerate(_MONTHS, 1) if name in (month, month[:3])), 0)
    return int(parts.get("m", "1"))


def _doubt(texts: Sequence[str], candidates: Sequence[WrittenMoment]) -> str | None:
    """The first text that two orders of day, month and year read as different dates."""
    first, *others = candidates
    for text in texts if others else ():
        value = first.value(text)
        if value is not None and any(other.value(text) not in (value, None) for other in others):
            return text
    return None
