"""What explanations of rows, images, series and messages have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from whyodd.explanations.notebook import html_view
from whyodd.explanations.sentences import is_missing, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.explanations.sentences import Reason

    Floats = NDArray[np.floating]
    Doubles = NDArray[np.float64]
    Index = int | slice | NDArray[Any] | list[int] | list[bool]

_SHOWN = 5  # items in a notebook


@dataclass(frozen=True)
class Kind:
    """The words for a kind of items and for the parts of their outlierness.

    Attributes
    ----------
    name : str
        "table", "images", "series", "events" (of one series) or "texts".
    noun, nouns : str
        One item, and several.
    part, parts : str
        What has relevance: one, and several.
    """

    name: str
    noun: str
    nouns: str
    part: str
    parts: str

    def count(self, n: int) -> str:
        """Say how many items.

        Examples
        --------
        >>> from whyodd.explanations.base import TABLE
        >>> TABLE.count(1), TABLE.count(2000)
        ('1 row', '2000 rows')
        """
        return f"{n} {self.noun if n == 1 else self.nouns}"


TABLE = Kind("table", "row", "rows", "variable", "variables")
IMAGES = Kind("images", "image", "images", "pixel", "pixels")
SERIES = Kind("series", "series", "series", "time step", "time steps")
EVENTS = Kind("events", "event", "events", "channel", "channels")
TEXTS = Kind("texts", "message", "messages", "word", "words")


class BaseExplanation:
    """Outlierness of n items and its parts: Σ R + unexplained = o.

    A subclass is a frozen dataclass. It has ``rows``, ``outlierness``, ``unexplained``, ``relevance``,
    ``threshold``, ``method`` and ``ids``, says in ``_per_item`` which of its fields have an entry for each
    item, and implements ``kind``, ``summed_relevance``, ``reasons``, ``why``, ``to_frame`` and ``_plain``.
    """

    _per_item: ClassVar[tuple[str, ...]]
    _told: ClassVar[int] = 3  # items in a repr

    if TYPE_CHECKING:  # fields, or properties of fields

        @property
        def relevance(self) -> Any:
            """The relevance of each part of each item; its form depends on the kind."""

        @property
        def outlierness(self) -> Floats:
            """(n,) high for anomalies."""

        @property
        def unexplained(self) -> Floats:
            """(n,) part of the outlierness that belongs to no single part; NaN in other units."""

        @property
        def rows(self) -> NDArray[np.intp]:
            """(n,) position of each item among those that were given."""

        @property
        def threshold(self) -> float | None:
            """Outlierness above which the model calls an item an outlier, if it does."""

        @property
        def method(self) -> str:
            """How it was explained."""

        @property
        def ids(self) -> tuple[Any, ...] | None:
            """The items' names, if given; None for one without a name."""

    @property
    def kind(self) -> Kind:
        """The kind of the items, in words."""
        raise NotImplementedError

    @property
    def summed_relevance(self) -> Doubles:
        """(n,) relevance of all parts of each item together."""
        raise NotImplementedError

    def reasons(self, i: int, k: int | None = None) -> list[Reason]:
        """What makes item ``i`` odd, the largest part first; at most ``k``."""
        raise NotImplementedError

    def why(self, i: int = 0, k: int = 3) -> str:
        """Why item ``i`` is odd, in one sentence with its ``k`` main reasons."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Data frame of the explanation."""
        raise NotImplementedError

    def _plain(self) -> dict[str, Any]:
        """What :meth:`to_dict` adds to the parts common to all kinds."""
        raise NotImplementedError

    def _html(self, shown: Any) -> str:
        """HTML of the items of ``shown``, which are some of these."""
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        """The items' names: the given ones, or their numbers."""
        return tuple(map(self.name, range(len(self))))

    def name(self, i: int) -> str:
        """Name of item ``i``."""
        own = None if self.ids is None else self.ids[i]
        return f"{self.kind.noun} {self.rows[i]}" if is_missing(own) else str(own)

    @property
    def is_additive(self) -> bool:
        """Whether relevance is in units of the outlierness: Σ R + unexplained = o."""
        return not bool(np.isnan(self.unexplained).any())

    @property
    def exactness(self) -> str:
        """Kind of relevance: "exact" if it adds up to the outlierness, "ranking" if it only ranks."""
        return "exact" if self.is_additive else "ranking"

    @property
    def fidelity(self) -> Mapping[str, float] | None:
        """How well relevance that is not exact agrees with the model, by the name of a measure."""
        return None

    @property
    def label(self) -> str:
        """A short warning if relevance is not exact; empty if it is."""
        return exactness_label(self.exactness, self.fidelity)

    @property
    def is_odd(self) -> NDArray[np.bool_] | None:
        """(n,) whether the model calls each item an outlier; None if it does not say."""
        return None if self.threshold is None else np.asarray(self.outlierness > self.threshold)

    @property
    def absent_relevance(self) -> Doubles:
        """(n,) part of the outlierness that belongs to missing parts; only messages have any."""
        return np.zeros(len(self))

    @property
    def whole(self) -> Floats:
        """(n,) the whole that shares refer to: the outlierness, or the sum of all |R| in other units."""
        return self.outlierness if self.is_additive else self._absolute_relevance

    @property
    def _absolute_relevance(self) -> Doubles:
        """(n,) Σ |R|."""
        return np.array([np.abs(each).sum(dtype=np.float64) for each in self.relevance])

    def share(self, i: int, part: float) -> float:
        """Share of a part of the relevance of item ``i``."""
        in_units = not np.isnan(self.unexplained[i])  # of this item alone: there may be many
        whole = self.outlierness[i] if in_units else self[i].whole[0]
        return float(shares(np.asarray(part, dtype=np.float64), np.asarray(whole)))

    def unexplained_share(self, i: int) -> float:
        """Share of item ``i`` that belongs to no single part; NaN in other units."""
        return self.share(i, float(self.unexplained[i]))

    def __len__(self) -> int:
        return len(self.outlierness)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Index) -> Self:
        return self._picked(np.atleast_1d(np.arange(len(self))[index]))

    def _picked(self, picked: NDArray[np.intp]) -> Self:
        parts = {name: _taken(getattr(self, name), picked) for name in self._per_item}
        return replace(self, **parts)  # type: ignore[type-var]

    def top(self, k: int) -> Self:
        """Explanation of the ``k`` oddest items, the oddest first."""
        return self[np.argsort(-self.outlierness, kind="stable")[: at_least_one(k, self.kind.nouns)]]

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary of numbers, strings and lists, ready for JSON."""
        threshold = self.threshold
        return {
            "kind": self.kind.name,
            "method": self.method,
            "exactness": self.exactness,
            "fidelity": None if self.fidelity is None else dict(self.fidelity),
            "threshold": None if threshold is None else float(threshold),
            **self._plain(),
        }

    def __repr__(self) -> str:
        lead = "oddest is " if self._told == 1 else ""
        told = [f"{lead}{one.name(0)}: {one.why()}" for one in self.top(self._told)] if len(self) else []
        return "<" + "\n ".join([self._title(), *told, *self._notes()]) + ">"

    def _repr_html_(self) -> str:
        shown = self.top(_SHOWN) if len(self) else self
        rest = f"; the {_SHOWN} oddest are shown" if len(self) > _SHOWN else ""
        return html_view(self._title() + rest, self._html(shown), [*self._notes(), *self._legend()])

    def _title(self) -> str:
        by = "" if self.method == "dtd" else f" by {self.method}"
        title = f"Explanation of {self.kind.count(len(self))}{self._size()}{by}"
        if len(self) == 0:
            return title
        low, high = number(float(self.outlierness.min())), number(float(self.outlierness.max()))
        return f"{title}; outlierness {low}" if low == high else f"{title}; outlierness {low} to {high}"

    def _size(self) -> str:
        """How large each item is, after how many there are."""
        return ""

    def _notes(self) -> list[str]:
        """What a reader should know."""
        if self.is_additive:
            return [f"relevance is {self.label}"] if self.label else []
        return [f"{self.method} does not add up to the outlierness: shares refer to the sum of the relevance"]

    def _legend(self) -> list[str]:
        """How to read what a notebook shows."""
        return []

    def _position(self, i: int) -> int:
        if not isinstance(i, Integral) or not -len(self) <= i < len(self):
            raise IndexError(
                f"{i!r}: expected one of the {self.kind.count(len(self))} explained, counted from 0."
            )
        return int(i) % len(self)


def _taken(values: Any, picked: NDArray[np.intp]) -> Any:
    """Some entries of a field, or None if it has none."""
    if isinstance(values, tuple):
        return tuple(values[i] for i in picked)
    return None if values is None else values[picked]


def shares(parts: Floats, whole: Floats) -> Floats:
    """Parts over their whole, with as many axes; 0 where nothing is odd, NaN where a part is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.explanations.base import shares
    >>> shares(np.array([[1.0, 3.0], [1.0, np.nan]]), np.array([[4.0], [0.0]]))
    array([[0.25, 0.75],
           [0.  ,  nan]])
    """
    nothing = np.where(np.isnan(parts), parts, np.zeros_like(parts))
    return np.divide(parts, whole, out=nothing, where=whole > 0)


# Words for each measure of fidelity.
_FIDELITY = {
    "rank_correlation": "rank correlation {:.2f} with the model's own scores",
    "r2": "R² {:.2f}",
    "error": "standard error {:.1%} of the outlierness",
    "gap": "up to {:.1%} of the outlierness not found",
}


def exactness_label(exactness: str, fidelity: Mapping[str, float] | None) -> str:
    """A short warning on sampled or distilled relevance; empty for any other.

    Examples
    --------
    >>> from whyodd.explanations.base import exactness_label
    >>> exactness_label("distilled", {"rank_correlation": 0.961, "r2": 0.912})
    "distilled (rank correlation 0.96 with the model's own scores, R² 0.91)"
    >>> exactness_label("exact", None)
    ''
    """
    if exactness not in ("sampled", "distilled"):
        return ""
    measured = fidelity or {}
    told = [words.format(measured[name]) for name, words in _FIDELITY.items() if name in measured]
    return f"{exactness} ({', '.join(told)})" if told else exactness


def checked_ids(ids: Sequence[Any] | None, n: int, kind: Kind) -> tuple[Any, ...] | None:
    """The items' names, one for each, or an error."""
    if ids is None:
        return None
    if isinstance(ids, str) or len(ids) != n:
        raise ValueError(
            f"Expected one name for each of {kind.count(n)}, got {len(ids)}. Pass one per {kind.noun}."
        )
    return tuple(ids)


def at_least_one(k: int, what: str) -> int:
    """``k`` as a number of results, or an error."""
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k={k!r}: expected a number of {what}, a whole number of at least 1.")
    return int(k)
