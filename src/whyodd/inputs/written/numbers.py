"""Numbers as people write them: percentages, prices, thousands apart, either decimal mark, a unit."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from whyodd.inputs.written.base import LONGEST, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BLANKS = "[ \u00a0\u2009\u202f]"
_MINUS = "\u2212"
# Thousands are set apart by -> every sign that looks like it.
_APART = {"": None, ",": ",", ".": r"\.", " ": _BLANKS, "'": "['\u2019]"}
# Decimal mark and thousands separator, the most likely first if several fit.
_MARKS = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
# The same for money, which seldom has three decimals.
_MARKS_OF_MONEY = ((",", "."), *_MARKS)
_CORE = re.compile(rf"(?:[0-9.,'\u2019]|{_BLANKS})+(?:[eE][+-]?[0-9]+)?")
_CODE = re.compile(r"[+-]?0[0-9]")  # 007 is not 7
_PERCENT = {"%": "percent", "‰": "per mille"}
_MONEY_WORDS = {"kr", "kr.", "zł", "Kč", "Ft", "lei", "Fr.", "SFr.", "Rs", "Rs."}
_CODES_OF_MONEY = {
    *(
        "AED",
        "ARS",
        "AUD",
        "BGN",
        "BRL",
        "CAD",
        "CHF",
        "CLP",
        "CNY",
        "COP",
        "CZK",
        "DKK",
        "EGP",
        "EUR",
        "GBP",
    ),
    *(
        "HKD",
        "HUF",
        "IDR",
        "ILS",
        "INR",
        "ISK",
        "JPY",
        "KRW",
        "MAD",
        "MXN",
        "MYR",
        "NOK",
        "NZD",
        "PEN",
        "PHP",
    ),
    *("PLN", "RON", "RUB", "SAR", "SEK", "SGD", "THB", "TRY", "TWD", "UAH", "USD", "VND", "ZAR"),
}
_LONGEST_UNIT = 12


@dataclass(frozen=True)
class WrittenNumber(Written):
    """A number, and the text around it.

    Attributes
    ----------
    prefix, suffix : str
        With the blank that belongs to it: "$ ", " kg".
    decimal, thousands : str
        The decimal mark, and what sets thousands apart; "" if nothing does.
    in_brackets : bool
        Whether "(12.00)" is -12.
    """

    prefix: str = ""
    suffix: str = ""
    decimal: str = "."
    thousands: str = ""
    in_brackets: bool = False

    noun: ClassVar[str] = "number"

    @property
    def is_plain(self) -> bool:
        """Whether it is written as programs write numbers."""
        return self == WrittenNumber()

    @property
    def words(self) -> str:
        """The convention in a few words."""
        around = (self.prefix + self.suffix).strip()
        marks = [] if self.decimal == "." else ["decimal comma"]
        marks += [f"thousands as in 1{self.thousands}000"] if self.thousands else []
        marks += ["negative in brackets"] if self.in_brackets else []
        return ", ".join([_PERCENT.get(around, around)] * bool(around) + marks) or "numbers"

    def value(self, text: str) -> float | None:
        """The number of one text; None if it does not fit."""
        if len(text) > LONGEST or self._pattern.fullmatch(text) is None:
            return None
        body = text.strip().removesuffix(self.suffix.strip()).replace(self.prefix.strip(), "", 1)
        is_negative = body.lstrip().startswith("(")
        body = re.sub(self._left_out, "", body).replace(_MINUS, "-")
        number = float(body.replace(self.decimal, "."))
        number = -number if is_negative else number
        return number if math.isfinite(number) else None

    def expression(self, texts: Any) -> Any:
        """Polars expression of the numbers; null where texts do not fit."""
        import polars as pl

        fits = (texts.str.len_chars() <= LONGEST) & texts.str.contains(f"^(?:{self._pattern.pattern})$")
        body = texts.str.strip_chars()
        body = body.str.strip_suffix(self.suffix.strip()) if self.suffix else body
        body = body.str.replace(self.prefix.strip(), "", literal=True) if self.prefix else body
        is_negative = body.str.strip_chars().str.starts_with("(") if self.in_brackets else pl.lit(False)
        if self.prefix or self.thousands or self.in_brackets:
            body = body.str.replace_all(self._left_out, "")
        elif self.suffix:
            body = body.str.strip_chars()
        body = body.str.replace(_MINUS, "-", literal=True)
        body = body if self.decimal == "." else body.str.replace(self.decimal, ".", literal=True)
        number = body.cast(pl.Float64, strict=False)
        number = pl.when(is_negative).then(-number).otherwise(number) if self.in_brackets else number
        return pl.when(fits & number.is_finite()).then(number)

    def quick(self, texts: Any) -> Any:
        """Polars expression for the numbers written exactly as :meth:`show` does; null for all others."""
        import polars as pl

        sign = "" if self.prefix else "[+-]?"
        mark, apart = re.escape(self.decimal), re.escape(self.thousands)
        whole = f"(?:[0-9]{{1,3}}(?:{apart}[0-9]{{3}})+|[0-9]+)" if apart else "[0-9]+"
        core = f"{sign}{whole}(?:{mark}[0-9]+)?"
        fits = texts.str.contains(f"^{re.escape(self.prefix)}{core}{re.escape(self.suffix)}$")
        body = texts.str.strip_prefix(self.prefix) if self.prefix else texts
        body = body.str.strip_suffix(self.suffix) if self.suffix else body
        body = body.str.replace_all(self.thousands, "", literal=True) if self.thousands else body
        body = body if self.decimal == "." else body.str.replace(self.decimal, ".", literal=True)
        return pl.when(fits & (texts.str.len_bytes() <= LONGEST)).then(body.cast(pl.Float64, strict=False))

    def show(self, value: Any, write: Callable[[float], str] | None = None) -> str:
        """A number in the form of the column.

        Examples
        --------
        >>> from whyodd.inputs.written.numbers import WrittenNumber
        >>> WrittenNumber(suffix=" €", decimal=",", thousands=".").show(1234.5)
        '1.234,5 €'
        """
        plain = f"{value:.15g}" if write is None else write(float(value))
        sign, digits = ("-", plain[1:]) if plain.startswith("-") else ("", plain)
        whole, point, rest = digits.partition(".")
        if self.thousands and whole.isdigit():
            whole = f"{int(whole):,}".replace(",", self.thousands)
        body = whole + (self.decimal if point else "") + rest
        if sign and self.in_brackets:
            return f"({self.prefix}{body}{self.suffix})"
        return f"{sign}{self.prefix}{body}{self.suffix}"

    @cached_property
    def _left_out(self) -> str:
        """Signs that are not part of a number as programs write it."""
        apart = {"": "", ",": ",", ".": r"\.", " ": "", "'": "'\u2019"}[self.thousands]
        return rf"[\s(){apart}]"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # Python and Polars understand it alike; no part of it can match in two ways at length.
        core = _core_pattern(self.decimal, self.thousands)
        before, after = re.escape(self.prefix.strip()), re.escape(self.suffix.strip())
        sign = f"[+{_MINUS}-]?"
        signed = rf"(?:{sign}\s*{before}|{before}\s*{sign})\s*{core}" if before else rf"{sign}{core}"
        either = rf"{signed}\s*{after}"
        if self.in_brackets:
            either = rf"(?:{either}|\(\s*{before}\s*{core}\s*{after}\s*\))"
        return re.compile(rf"\s*{either}\s*")

    def __getstate__(self) -> dict[str, Any]:
        names = ("prefix", "suffix", "decimal", "thousands", "in_brackets")
        return {name: getattr(self, name) for name in names}


class _Parts(NamedTuple):
    """A text split around its digits."""

    prefix: str
    core: str
    suffix: str
    in_brackets: bool


def number_convention(texts: Sequence[str], share: float) -> tuple[WrittenNumber, str | None] | None:
    """How at least a share of some texts write numbers; None if they do not.

    Returns
    -------
    written : WrittenNumber
    doubt : str or None
        A text that could be read in another way, if all texts could.
    """
    parts = [part for part in map(_taken_apart, texts) if part is not None]
    if len(parts) < share * len(texts) or not parts:
        return None
    around = Counter((part.prefix.strip(), part.suffix.strip()) for part in parts)
    (prefix, suffix), count = around.most_common(1)[0]
    if count < share * len(texts) or not _is_affix(prefix, suffix):
        return None
    alike = [part for part in parts if (part.prefix.strip(), part.suffix.strip()) == (prefix, suffix)]
    cores = [part.core for part in alike]
    if any(map(_CODE.match, cores)):
        return None
    is_money = _is_money(prefix) or _is_money(suffix)
    marks = _fitting_marks(cores, share * len(texts), _MARKS_OF_MONEY if is_money else _MARKS)
    if not marks:
        return None
    shown = Counter((part.prefix, part.suffix) for part in alike).most_common(1)[0][0]
    found = [
        WrittenNumber(*shown, decimal, apart, any(part.in_brackets for part in alike))
        for decimal, apart in marks
    ]
    return found[0], _doubt(texts, found)


def _taken_apart(text: str) -> _Parts | None:
    if len(text) > LONGEST:
        return None
    text = text.strip()
    digits = [place for place, sign in enumerate(text) if sign in "0123456789"]
    if not digits:
        return None
    first, last = digits[0], digits[-1] + 1
    first -= int(first > 0 and text[first - 1] in ".," and not text[: first - 1].strip("+-( "))
    before, core, after = text[:first], text[first:last], text[last:]
    if _CORE.fullmatch(core) is None:
        return None
    in_brackets = before.startswith("(") and after.endswith(")")
    if in_brackets:
        before, after = before[1:], after[:-1]
    signs = sum(before.count(sign) for sign in ("+", "-", _MINUS))
    if signs > 1 or (signs and in_brackets):
        return None
    for sign in ("+", "-", _MINUS):
        before = before.replace(sign, "")
    return _Parts(before.lstrip(), core, after.rstrip(), in_brackets)


def _is_affix(prefix: str, suffix: str) -> bool:
    """Whether this may stand around numbers: money on one side, or a percent sign or a unit after them."""
    if prefix:
        return _is_money(prefix) and not suffix
    return not suffix or suffix in _PERCENT or _is_money(suffix) or _is_unit(suffix)


def _is_money(affix: str) -> bool:
    if affix in _CODES_OF_MONEY or affix in _MONEY_WORDS:
        return True
    signs = [sign for sign in affix if unicodedata.category(sign) == "Sc"]
    return len(signs) == 1 and len(affix) <= 3 and all(sign in signs or sign.isalpha() for sign in affix)


def _is_unit(affix: str) -> bool:
    return (
        len(affix) <= _LONGEST_UNIT
        and (affix[0].isalpha() or affix[0] in "°µ")
        and all(sign.isalpha() or sign in "°µ²³/·.^" for sign in affix)
    )


def _core_pattern(decimal: str, thousands: str) -> str:
    mark, apart = re.escape(decimal), _APART[thousands]
    whole = "[0-9]+" if apart is None else rf"(?:[0-9]{{1,3}}(?:{apart}[0-9]{{3}})+|[0-9]+)"
    return rf"(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"


def _fitting_marks(
    cores: Sequence[str], needed: float, order: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Decimal and thousands marks that fit most texts, the most likely first."""
    counts = {}
    for marks in order:
        pattern = re.compile(_core_pattern(*marks))
        counts[marks] = sum(pattern.fullmatch(core) is not None for core in cores)
    most = max(counts.values())
    return [marks for marks in counts if counts[marks] == most] if most >= needed else []


def _doubt(texts: Sequence[str], found: Sequence[WrittenNumber]) -> str | None:
    """The first text that two ways read as different numbers."""
    first, *others = found
    for text in texts:
        value = first.value(text)
        if value is not None and any(other.value(text) not in (value, None) for other in others):
            return text
    return None
