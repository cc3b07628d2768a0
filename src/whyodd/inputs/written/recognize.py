"""How a text column writes its values: one convention for the whole column, decided from all of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.inputs.written.base import is_nothing
from whyodd.inputs.written.durations import duration_convention
from whyodd.inputs.written.moments import WrittenMoment, moment_convention
from whyodd.inputs.written.numbers import WrittenNumber, number_convention

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.inputs.written.base import Written

# Texts examined one by one; the convention they show is then used for all.
_SAMPLE = 1_000
# Share of the cells that must fit; the others are strays, few of them distinct.
_SHARE, _MOST_STRAYS = 0.95, 20


@dataclass(frozen=True)
class Stray:
    """A text that is not a value of its column, how often it occurs, and the first row that has it."""

    text: str
    count: int
    row: int


@dataclass(frozen=True)
class Recognized:
    """The result of examining a text column.

    Attributes
    ----------
    written : Written
        How its values are written.
    strays : tuple of Stray
        Texts that are no such value; the most frequent first.
    doubt : str or None
        A text that can be read in another way, if all texts can.
    values : Polars series or array (n,)
        What was read.
    """

    written: Written
    strays: tuple[Stray, ...] = ()
    doubt: str | None = None
    values: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Proposal:
    """A first guess from some texts of a column: the convention, and those texts."""

    written: Written
    doubt: str | None
    sample: list[str]


def propose(texts: Any, name: str = "") -> Proposal | None:
    """How some texts from all over a column are written; None if they are just text."""
    sample = _some(texts)
    found = _convention(sample, name)
    return None if found is None else Proposal(*found, sample)


def recognize(texts: Any, name: str = "") -> Recognized | None:
    """How a column writes its values; None if they are just text, or need no reading.

    Parameters
    ----------
    texts : Polars series of texts, or array (n,) of texts and None
    name : str
        Of the column: a duration may be called so.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.inputs.written import recognize
    >>> found = recognize(np.array(["20.6%", "3 %", "11.25%"], dtype=object))
    >>> found.written.words, found.written.parse(np.array(["95%"], dtype=object))
    ('percent', array([95.]))
    """
    proposal = propose(texts, name)
    return None if proposal is None else settle(texts, name, proposal, proposal.written.parse(texts))


def settle(texts: Any, name: str, proposal: Proposal, values: Any) -> Recognized | None:
    """The convention for all texts of a column, given the result of a guess; otherwise like ``recognize``."""
    written, doubt, sample = proposal.written, proposal.doubt, proposal.sample
    strays = _strays(texts, values)
    if unseen := {stray.text for stray in strays} - set(sample):
        # Texts outside of the sample may show another convention.
        sample = [*sample, *sorted(unseen)[:_SAMPLE]]
        other, doubt = _convention(sample, name) or (written, doubt)
        if other != written:
            written, values = other, other.parse(texts)
            strays = _strays(texts, values)
    if sum(stray.count for stray in strays) > max(1.0, (1.0 - _SHARE) * _count(texts)):
        return None
    if len(strays) > _MOST_STRAYS or not _needs_reading(written, strays, sample):
        return None
    return Recognized(written, tuple(strays), doubt, values)


def strays_of(written: Written, texts: Any) -> list[Stray]:
    """Texts that are neither values nor words for a missing one; the most frequent first."""
    return _strays(texts, written.parse(texts))


def _strays(texts: Any, values: Any) -> list[Stray]:
    if isinstance(texts, np.ndarray):
        return _strays_of_array(texts, np.isnan(values) if values.dtype.kind == "f" else np.isnat(values))
    import polars as pl

    if values.null_count() == texts.null_count():
        return []
    wrong = values.is_null() & texts.is_not_null()
    rows = wrong.arg_true()
    found = pl.DataFrame({"text": texts.gather(rows), "row": rows})
    counted = found.group_by("text", maintain_order=True).agg(pl.len().alias("count"), pl.col("row").min())
    told = [Stray(text, count, row) for text, count, row in counted.iter_rows() if not is_nothing(text)]
    return sorted(told, key=lambda stray: -stray.count)


def _strays_of_array(texts: NDArray[np.object_], is_wrong: NDArray[np.bool_]) -> list[Stray]:
    first: dict[str, int] = {}
    counts: dict[str, int] = {}
    for row in np.flatnonzero(is_wrong).tolist():
        text = texts[row]
        if isinstance(text, str) and not is_nothing(text):
            first.setdefault(text, row)
            counts[text] = counts.get(text, 0) + 1
    return sorted((Stray(text, counts[text], row) for text, row in first.items()), key=lambda s: -s.count)


def _convention(sample: list[str], name: str) -> tuple[Written, str | None] | None:
    """The first kind of value that most of some texts have."""
    if len(set(sample)) < 2:
        return None
    # With few texts one stray is more than a twentieth.
    share = min(_SHARE, 1.0 - 1.5 / len(sample)) if len(sample) >= 10 else 1.0
    duration = duration_convention(sample, share, name)
    if duration is not None:
        return duration, None
    return number_convention(sample, share) or moment_convention(sample, share)


def _needs_reading(written: Written, strays: list[Stray], sample: list[str]) -> bool:
    """Whether other code would misread the column without this convention.

    Whole numbers that somebody keeps as texts are codes, and dates as ISO 8601 has them are read as they are.
    """
    if isinstance(written, WrittenNumber) and written.is_plain:
        return bool(strays) or any("." in text for text in sample)
    if isinstance(written, WrittenMoment):
        is_iso = all(form.startswith("%Y-%m-%d") for form in written.formats)
        return not is_iso or written.has_zone or bool(strays)
    return True


def _some(texts: Any) -> list[str]:
    """Texts from all over the column."""
    present = _present(texts)
    if len(present) == 0:
        return []
    places = np.unique(np.linspace(0, len(present) - 1, _SAMPLE).astype(np.intp))
    chosen = present[places].tolist() if isinstance(present, np.ndarray) else present.gather(places).to_list()
    return [text for text in chosen if not is_nothing(text)]


def _present(texts: Any) -> Any:
    if not isinstance(texts, np.ndarray):
        return texts.drop_nulls()
    return texts[np.fromiter((isinstance(text, str) for text in texts), dtype=bool, count=texts.size)]


def _count(texts: Any) -> int:
    return len(_present(texts))
