"""Columns relative to similar rows in context: the distance from what is usual there, in its spread."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from whyodd.automatic.alike import ENOUGH, Alike, counts, middles
from whyodd.automatic.context import NO_DAY, Place, days, listed
from whyodd.automatic.rarity import ALIKE
from whyodd.automatic.reading import plain_values, read_columns
from whyodd.automatic.steps import FilledGaps, numbers_of, remember_columns
from whyodd.explanations.given import Given
from whyodd.maths.robust_scales import center_and_scale
from whyodd.network.waist import once_per_member

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.automatic.alike import Middle
    from whyodd.automatic.reading import RawColumn
    from whyodd.inputs.written import Written

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Bools = NDArray[np.bool_]

# Rows to compare with; of more, this many are drawn at random.
_MOST_ROWS = 20_000
# Categories beyond this many form one, the rare ones.
_MOST_LABELS = 50
RARE = "(infrequent)"
# What the median of n values adds to their variance, times n.
_MEDIAN_VARIANCE = np.pi / 2.0
# Variance of the logarithm of the spread of n normal values, times n.
_SPREAD_VARIANCE = 0.79
# Candidates: how many rows the share among all rows counts as, beside the rows alike.
_STRENGTHS = tuple(float(10.0 ** (power / 2.0)) for power in range(7))
_QUIET = 0.1
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class ContextRows:
    """Rows as a context step handles them.

    Attributes
    ----------
    codes, points : ndarray of shape (n, levels), (n, c)
        Where they lie in their context.
    values : ndarray of shape (n, numbers)
        Their numbers, NaN where missing.
    labels : ndarray of int of shape (n, categories)
        Codes of their categories, -1 for those never seen.
    days : ndarray of int of shape (n,)
        The day each is of, by the first date of the context; ``NO_DAY`` if there is none.
    """

    codes: Indices
    points: Floats
    values: Floats
    labels: Indices
    days: Indices

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Indices) -> ContextRows:
        """Some of the rows."""
        return ContextRows(
            self.codes[rows], self.points[rows], self.values[rows], self.labels[rows], self.days[rows]
        )

    def in_bytes(self) -> list[bytes]:
        """Rows as bytes, equal for equal rows."""
        parts = [self.codes, self.points, self.values, self.labels, self.days]
        together = np.column_stack([np.asarray(part, dtype=np.float64) for part in parts]) + 0.0
        together[np.isnan(together)] = np.nan  # one zero (not -0), and one kind of gap
        return [row.tobytes() for row in together]


@dataclass(frozen=True, eq=False)
class _Asking:
    """Rows to be compared: their different contexts (u,), which one each has, and which rows are known.

    A known row is no evidence for itself, and neither is the rest of its day: what is special about a day is
    in all of its rows, and tomorrow is another one. ``day`` (u,) is the one that a context does without.
    """

    rows: ContextRows
    codes: Indices
    points: Floats
    day: Indices
    which: Indices
    is_known: Bools

    @classmethod
    def of(cls, rows: ContextRows, is_known: Bools) -> _Asking:
        day = np.where(is_known, rows.days, NO_DAY)
        together = np.column_stack([rows.codes, rows.points, day])
        _, first, which = np.unique(together, axis=0, return_index=True, return_inverse=True)
        return cls(rows, rows.codes[first], rows.points[first], day[first], which.ravel(), is_known)

    def alike(self, known: ContextRows, level: int) -> tuple[list[Indices], Bools]:
        """The known rows alike to each context, of other days; whether a row is among those alike to it.

        Rows of the same day stay where there are no others.
        """
        found = _alike_of(known).rows(level, self.codes, self.points)
        is_there = np.ones(len(found), dtype=bool)
        for place in np.flatnonzero(self.day != NO_DAY).tolist():
            others = found[place][known.days[found[place]] != self.day[place]]
            if others.size:
                found[place], is_there[place] = others, False
        return found, self.is_known & is_there[self.which]

    def middles(self, known: ContextRows, level: int) -> Middle:
        """What is usual of the numbers."""
        rows, is_there = self.alike(known, level)
        return middles(known.values, rows, self.which, self.rows.values, is_there)

    def counts(self, known: ContextRows, level: int, j: int, n_labels: int) -> Floats:
        """How many rows alike have each category (n, labels) of column ``j``, without the row itself."""
        rows, is_there = self.alike(known, level)
        found = counts(known.labels[:, j], n_labels, rows)[self.which]
        codes = self.rows.labels[:, j]
        itself = np.flatnonzero(is_there & (codes >= 0))
        found[itself, codes[itself]] -= 1.0
        return found


class GivenContext(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Numbers and categories compared with similar rows in context, never with the row or day itself.

    A number y becomes (y - m) / s, with m the median and s the spread (of the middle 80 %) among rows alike:
    those with equal categories, weekdays and hours, and of these the nearest in ranks and times of day.
    20 of them stand for themselves. Of fewer, n, the median counts n / (n + σ²/τ²), with σ the spread within
    such groups and τ that between them, and the rest is borrowed from the rows that agree in all but the
    last of these: groups that differ a lot borrow little, and those that do not borrow all. s² is the
    variance to expect then. Spreads are drawn towards the typical one by as much as chance makes them differ.

    A category with a share p of the rows alike has the entry √(-2 log p) in its column, and one more number
    says how rare it is there. Shares borrow as many rows as foretell others best.

    Context columns come first, then numbers, then categories.

    Parameters
    ----------
    contexts : tuple of str
        What each context column is, see ``whyodd.automatic.context.Place``.
    as_text : tuple of bool
        For each category, whether it is compared as text.

    Attributes
    ----------
    places_ : list of Place
        Where rows lie in each context column.
    labels_ : list of ndarray
        Categories of each column, the most frequent first.
    known_ : ContextRows
        The rows that others are compared with.
    within_, ratio_ : ndarray of shape (levels, numbers)
        σ, and σ²/τ², where this many first codes of the context agree.
    typical_, uneven_ : ndarray of shape (levels + 1, numbers)
        Logarithm of the typical spread, and the variance of such logarithms between contexts.
    quiet_ : ndarray of shape (numbers,)
        The spread where all rows alike have the same value: that of quiet contexts.
    extent_ : ndarray of shape (2, numbers)
        The smallest and the largest number.
    strength_ : ndarray of shape (levels + 1, categories)
        How many rows shares borrow.
    fill_ : FilledGaps
        What fills gaps of the numbers.
    """

    def __init__(self, contexts: tuple[str, ...] = ("category",), as_text: tuple[bool, ...] = ()) -> None:
        self.contexts = contexts
        self.as_text = as_text

    # ---- learning ---------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None) -> GivenContext:  # noqa: ARG002
        """Learn from a frame or array (n, k)."""
        remember_columns(self, X)
        columns = read_columns(X)
        of_contexts = zip(self.contexts, columns, strict=False)
        self.places_ = [Place.learned(kind, column) for kind, column in of_contexts]
        self.labels_ = [_labels(values) for values in self._plain(columns)]
        rows = self._rows(columns)
        self.known_ = rows.take(_drawn(len(rows)))
        self.extent_ = np.stack([np.nanmin(rows.values, axis=0), np.nanmax(rows.values, axis=0)])
        asking = _Asking.of(self.known_, np.ones(len(self.known_), dtype=bool))
        self._learn_numbers(asking)
        self._learn_shares(asking)
        self.fill_ = FilledGaps().fit(self._relative(self._asking(rows))) if self.n_numbers else None
        return self

    def _learn_numbers(self, asking: _Asking) -> None:
        """σ, σ²/τ² and the spread of quiet contexts, level by level."""
        values, shape = asking.rows.values, (self._n_levels, self.n_numbers)
        self.within_, self.ratio_ = np.ones(shape), np.full(shape, np.inf)
        self.typical_, self.uneven_ = (
            np.zeros((shape[0] + 1, shape[1])),
            np.full((shape[0] + 1, shape[1]), np.inf),
        )
        whole = asking.middles(self.known_, 0)
        self.quiet_ = _quiet(whole.spread, values)
        self.typical_[0], self.uneven_[0] = _unevenness(whole)
        for level in range(1, shape[0] + 1):
            location, _ = self._middle(asking, level - 1)
            own = asking.middles(self.known_, level)
            self.typical_[level], self.uneven_[level] = _unevenness(own)
            with np.errstate(divide="ignore", invalid="ignore"):
                apart = (values - own.median) / np.sqrt(1.0 + _MEDIAN_VARIANCE / own.size)
            within, total = _spread(apart), _spread(np.where(own.size > 0, values - location, np.nan))
            between = np.maximum(total**2 - within**2, 0.0)
            self.within_[level - 1] = within
            with np.errstate(divide="ignore"):
                self.ratio_[level - 1] = np.where(between > 0.0, within**2 / between, np.inf)
            self.quiet_ = np.where((own.spread > 0.0).any(axis=0), _quiet(own.spread, values), self.quiet_)

    def _learn_shares(self, asking: _Asking) -> None:
        """Learn how many rows shares borrow: as many as predict each row best from the others."""
        n_levels = self._n_levels
        self.strength_ = np.full((n_levels + 1, len(self.labels_)), _STRENGTHS[0])
        for j, labels in enumerate(self.labels_):
            each, codes = np.arange(len(asking.rows)), asking.rows.labels[:, j]
            shares = _equal_shares(codes.size, len(labels))
            for level in range(n_levels + 1):
                found = asking.counts(self.known_, level, j, len(labels))
                tried = [_borrowed(found, shares, strength) for strength in _STRENGTHS]
                fits = [float(np.log(one[each, codes]).sum()) for one in tried]
                best = 0 if level == 0 else int(np.argmax(fits))
                self.strength_[level, j], shares = _STRENGTHS[best], tried[best]

    # ---- what is usual in a context ---------------------------------------------------------------------

    def _middle(self, asking: _Asking, last: int | None = None) -> tuple[Floats, Floats]:
        """Location and spread (n, numbers) in the context of each row, or in its first ``last`` columns."""
        last = self._n_levels if last is None else last
        location = spread = np.empty(0)
        for level in range(last + 1):
            found = asking.middles(self.known_, level)
            median = np.nan_to_num(found.median)
            spread_here = self._steadied(
                np.where(found.spread > 0.0, found.spread, self.quiet_), found.size, level
            )
            n = found.size
            # A median of few values is inexact, too.
            unsure = 1.0 + np.divide(_MEDIAN_VARIANCE, n, out=np.zeros_like(n), where=n > 0)
            if level == 0:
                location, spread = median, spread_here * np.sqrt(unsure)
                continue
            weight = np.where(n > 0, n / (n + self.ratio_[level - 1]), 0.0)
            part = np.minimum(n / ENOUGH, 1.0)
            variance = unsure * (part * spread_here**2 + (1.0 - part) * self.within_[level - 1] ** 2)
            is_enough = n + asking.is_known[:, np.newaxis] >= ENOUGH
            location = np.where(is_enough, median, weight * median + (1.0 - weight) * location)
            borrowed = weight * variance + (1.0 - weight) * spread**2
            spread = np.sqrt(np.where(is_enough, unsure * spread_here**2, borrowed))
        return location, np.where(spread > 0.0, spread, self.quiet_)

    def _steadied(self, spread: Floats, n: Floats, level: int) -> Floats:
        """Spreads (n, numbers) of n values, moved towards the typical one as far as chance could explain."""
        uneven = self.uneven_[level]
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(np.isinf(uneven), 1.0, uneven / (uneven + _SPREAD_VARIANCE / n))
        return np.asarray(
            np.exp(np.where(n > 0, own, 0.0) * (np.log(spread) - self.typical_[level]) + self.typical_[level])
        )

    def _relative(self, asking: _Asking) -> Floats:
        location, spread = self._middle(asking)
        return np.asarray((asking.rows.values - location) / spread)

    def _shares(self, asking: _Asking, j: int) -> Floats:
        """Share (n, labels) of each category of column ``j`` in the context of each row."""
        shares = _equal_shares(len(asking.rows), len(self.labels_[j]))
        for level in range(self._n_levels + 1):
            found = asking.counts(self.known_, level, j, len(self.labels_[j]))
            shares = _borrowed(found, shares, self.strength_[level, j])
        return shares

    # ---- rows -------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Floats:
        """Relative numbers, marks of gaps, entries of categories, and how rare these are (n, outputs)."""
        check_is_fitted(self)
        asking = self._asking(self._rows(read_columns(X)))
        blocks = [] if self.fill_ is None else [self.fill_.transform(self._relative(asking))]
        rare = []
        for j, labels in enumerate(self.labels_):
            codes = asking.rows.labels[:, j]
            entries, rarity = _surprises(self._shares(asking, j), codes)
            new = np.log(len(self.known_) + 1.0)
            entries[codes < 0] = -np.sqrt(2.0 * new / len(labels))
            rarity[codes < 0] = new
            blocks.append(entries)
            rare.append(rarity)
        return np.column_stack([*blocks, *rare])

    def given(
        self, X: Any, variables: Sequence[int], names: Sequence[str], formats: Mapping[int, Written]
    ) -> Given:
        """What rows are compared with, in raw units.

        Parameters
        ----------
        X : data frame or array of shape (n, k)
        variables : sequence of int of length k
            The variable that each column is.
        names : sequence of str
            What all variables are called.
        formats : mapping of int to Written
            How people write the values of variables.
        """
        columns = read_columns(X)
        asking = self._asking(self._rows(columns))
        first, n = len(self.contexts), len(asking.rows)
        numbers = list(variables[first : first + self.n_numbers])
        location, spread, share = (np.full((n, len(names)), np.nan) for _ in range(3))
        extent = np.full((2, len(names)), np.nan)
        location[:, numbers], spread[:, numbers] = self._middle(asking)
        extent[:, numbers] = self.extent_
        common = np.full((n, len(names)), -1, dtype=np.intp)
        labels = dict(zip(variables[first + self.n_numbers :], self.labels_, strict=True))
        for j, variable in enumerate(labels):
            found, codes = self._shares(asking, j), asking.rows.labels[:, j]
            share[:, variable] = np.where(codes < 0, 0.0, found[np.arange(n), codes])
            common[:, variable] = found.argmax(axis=1)
        told = zip(self.places_, columns, variables, strict=False)
        words = [place.words(column, names[v], formats.get(v)) for place, column, v in told]
        alike, is_there = asking.alike(self.known_, self._n_levels)
        sizes = np.array([rows.size for rows in alike], dtype=np.intp)
        return Given(
            contexts=tuple(variables[:first]),
            words=tuple(map(listed, zip(*words, strict=True))),
            n_alike=sizes[asking.which] - is_there,
            is_few=sizes[asking.which] < ENOUGH,
            location=location,
            spread=spread,
            extent=extent,
            share=share,
            common=common,
            labels={variable: tuple(known.tolist()) for variable, known in labels.items()},
        )

    def _asking(self, rows: ContextRows) -> _Asking:
        known = _keys_of(self.known_)
        return _Asking.of(rows, np.array([key in known for key in rows.in_bytes()], dtype=bool))

    # ---- how outputs are arranged -----------------------------------------------------------------------

    @property
    def _n_levels(self) -> int:
        """How many codes of the context there are: at first all count, and the last is dropped first."""
        return int(self.known_.codes.shape[1])

    @property
    def n_numbers(self) -> int:
        """How many numbers there are."""
        return int(self.n_features_in_) - len(self.contexts) - len(self.as_text)

    @property
    def targets(self) -> list[int]:
        """The column (of those that come in) that each output is of."""
        first = len(self.contexts)
        marks = [] if self.fill_ is None else self.fill_.indicator_.features_.tolist()
        of = [*range(first, first + self.n_numbers), *(first + mark for mark in marks)]
        labels = range(first + self.n_numbers, int(self.n_features_in_))
        of += [column for column, known in zip(labels, self.labels_, strict=True) for _ in known]
        return [*of, *labels]

    @property
    def label_blocks(self) -> list[slice]:
        """Outputs of the entries of each category."""
        ends = np.cumsum([self._n_filled, *map(len, self.labels_)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def _n_filled(self) -> int:
        """How many outputs are numbers and marks of their gaps."""
        return self.n_numbers + (0 if self.fill_ is None else len(self.fill_.indicator_.features_))

    @property
    def groups(self) -> list[list[int]]:
        """Outputs that are in units of their own: marks, categories, and how rare these are."""
        marks = [[column] for column in range(self.n_numbers, self._n_filled)]
        entries = [list(range(block.start, block.stop)) for block in self.label_blocks]
        n_before = self._n_filled + sum(map(len, self.labels_))
        return [*marks, *entries, *([n_before + place] for place in range(len(self.labels_)))]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the outputs: those of the columns they are of."""
        given = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        names = [f"x{i}" for i in range(self.n_features_in_)] if given is None else list(given)
        return np.array(
            [f"{names[target]} given ({place})" for place, target in enumerate(self.targets)], dtype=object
        )

    # ---- columns ----------------------------------------------------------------------------------------

    def _numbers(self, columns: Sequence[RawColumn]) -> Floats:
        first, names = len(self.contexts), getattr(self, "feature_names_in_", None)
        stop = first + self.n_numbers
        where = [
            "A numeric column" if names is None else f"Column {names[place]!r}"
            for place in range(first, stop)
        ]
        found = [numbers_of(column, told) for column, told in zip(columns[first:stop], where, strict=True)]
        return np.column_stack(found) if found else np.empty((columns[0].values.size, 0))

    def _plain(self, columns: Sequence[RawColumn]) -> list[list[Any]]:
        labels = columns[len(self.contexts) + self.n_numbers :]
        return [
            plain_values(column, text).tolist() for column, text in zip(labels, self.as_text, strict=True)
        ]

    def _rows(self, columns: Sequence[RawColumn]) -> ContextRows:
        found = [place.of(column) for place, column in zip(self.places_, columns, strict=False)]
        n = columns[0].values.size
        labels = np.empty((n, len(self.labels_)), dtype=np.intp)
        for j, values in enumerate(self._plain(columns)):
            place = {label: code for code, label in enumerate(self.labels_[j].tolist())}
            other = place.get(RARE, -1) if len(place) == _MOST_LABELS else -1
            labels[:, j] = [place.get(value, other) for value in values]
        return ContextRows(
            np.column_stack([codes for codes, _ in found]),
            np.column_stack([points for _, points in found]),
            self._numbers(columns),
            labels,
            self._days(columns),
        )

    def _days(self, columns: Sequence[RawColumn]) -> Indices:
        dated = [column for place, column in zip(self.places_, columns, strict=False) if place.is_dated]
        return days(dated[0]) if dated else np.full(columns[0].values.size, NO_DAY)


@once_per_member
def _alike_of(known: Any) -> Alike:
    """Known rows by their context."""
    return Alike(known.codes, known.points)


@once_per_member
def _keys_of(known: Any) -> frozenset[bytes]:
    return frozenset(known.in_bytes())


def _drawn(n: int) -> Indices:
    """The rows to keep, in their order."""
    if n <= _MOST_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _MOST_ROWS, replace=False))


def _labels(values: Sequence[Any]) -> NDArray[np.object_]:
    """Categories, the most frequent first; beyond a limit the rare ones count as one."""
    found = Counter(values)
    labels = sorted(found, key=lambda value: (-found[value], str(value)))
    if len(labels) > _MOST_LABELS:
        labels = [*labels[: _MOST_LABELS - 1], RARE]
    return np.array([*labels, None], dtype=object)[:-1]


def _spread(residuals: Floats) -> Floats:
    """Spread (d,) of residuals (m, d), where there are any."""
    found = np.zeros(residuals.shape[1])
    for j, column in enumerate(residuals.T):
        there = column[np.isfinite(column)]
        found[j] = center_and_scale(there[:, np.newaxis])[1][0] if there.size and np.ptp(there) > 0.0 else 0.0
    return found


def _unevenness(found: Middle) -> tuple[Floats, Floats]:
    """The typical logarithm of spreads (d,), and their variance beyond chance.

    Of rows with enough others alike; if there are none, spreads stay what they are: the variance is infinite.
    """
    d = found.spread.shape[1]
    typical, uneven = np.zeros(d), np.full(d, np.inf)
    for j in range(d):
        there = (found.size[:, j] >= ENOUGH - 1) & (found.spread[:, j] > 0.0)
        if there.any():
            # Rounded, since a scale depends on which values are equal.
            logs = np.round(np.log(found.spread[there, j]), _DIGITS)
            center, scale = center_and_scale(logs[:, np.newaxis])
            differ = scale[0] ** 2 if np.ptp(logs) > 0.0 else 0.0
            typical[j] = center[0]
            uneven[j] = max(differ - _SPREAD_VARIANCE / float(np.median(found.size[there, j])), 0.0)
    return typical, uneven


def _quiet(spread: Floats, values: Floats) -> Floats:
    """Spread (d,) of the quietest tenth of the contexts, among contexts in which values vary."""
    varies = np.where(spread > 0.0, spread, np.nan)
    is_never = np.isnan(varies).all(axis=0)
    whole = _spread(values)
    varies[:, is_never] = np.where(whole > 0.0, whole, 1.0)[is_never]
    return np.asarray(np.nanquantile(varies, _QUIET, axis=0))


def _equal_shares(n: int, n_labels: int) -> Floats:
    """Equal shares (n, labels), for when nothing is known; one further share is for unseen labels."""
    return np.full((n, n_labels), 1.0 / (n_labels + 1.0))


def _borrowed(found: Floats, shares: Floats, strength: float) -> Floats:
    """Shares of the counted rows together with ``strength`` borrowed rows."""
    return np.asarray((found + strength * shares) / (found.sum(axis=1, keepdims=True) + strength))


def _surprises(shares: Floats, codes: Indices) -> tuple[Floats, Floats]:
    """Entries (n, labels) of categories that have these shares, and how rare they are (n,)."""
    each = np.arange(codes.size)
    own = shares[each, codes]
    entries = np.zeros_like(shares)
    entries[each, codes] = np.sqrt(-2.0 * np.log(own))
    as_rare = np.where(shares <= ALIKE * own[:, np.newaxis], shares, 0.0).sum(axis=1)
    return entries, -np.log(np.minimum(as_rare, 1.0))
