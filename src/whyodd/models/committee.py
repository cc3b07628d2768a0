"""A committee of views that finds odd rows, even in tables that contain outliers."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.covariance import ledoit_wolf

from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.robust_scales import FAR, center_and_scale, soften
from whyodd.models.fitting.repetition import repeated_rows
from whyodd.models.in_parts import InParts
from whyodd.models.tail import ScoreDistribution
from whyodd.network.committee import DOES_NOT_GO_WITH, FOR_ROWS_LIKE_IT, IN_ITSELF, CommitteeScore, View
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.pairs import Pairs
from whyodd.network.residuals import Residuals
from whyodd.network.waist import decompose_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.models.fitting.seen_rows import SeenRows

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Bools = NDArray[np.bool_]

# Wide neighbourhoods hold a tenth of the rows, and enough that no single row decides.
_WIDE_SHARE, _FEWEST_NEIGHBORS, _LOCAL_NEIGHBORS = 0.1, 10, 5
# Neighbourhoods have three quarters of the weight; for trusted rows, the nearest few have most of that.
_WEIGHTS = {"neighbours": 9.0, "columns": 1.0, "residuals": 1.0, "pairs": 1.0}
_TRUSTED_WEIGHTS = {**_WEIGHTS, "neighbours": 6.0, "nearest rows": 12.0}
# Rounds of leaving out the oddest fifth, and the number of rows below which nothing is left out.
_ROUNDS, _SUSPECTS, _FEW_ROWS = 2, 0.2, 10
# Rows that are learned from, and those that are trusted.
_MOST_ROWS = {False: 1_000, True: 4_000}
# A usual value is worth half a nat. Pairs surprise so seldom that their usual surprise is no measure, unless
# all rows are trusted: otherwise one row that breaks a rule would be odder than a gross value.
_NATS = 0.5
# The oddest rows, which do not count as usual; and the most relevant values of each column.
_ODD, _EXTREME = 0.05, 0.01
# Rows per column that correlations need.
_ROWS_PER_COLUMN = 10
# Added to the usual relevance of a variable. For a number a thousandth of the mean, since some are never
# relevant; for a group the median, so that a rare category is no more than surprising.
_FLOOR_OF_NUMBERS, _FLOOR_OF_GROUPS = 1e-3, 1.0


class Committee(InParts):
    """Committee of distance networks and other views of a row: o(x) is 1 for a row as odd as usual.

    Its views are wide neighbourhoods (the mean distance to the nearest tenth of the rows), each column by
    itself, each column given all others (if there are enough rows), and pairs of columns that depend on each
    other; for trusted rows also the nearest few. Each view's relevance of a variable is divided by its usual
    size on normal rows that the view has not learned. The results are summed with weights; neighbourhoods
    have three quarters of the weight.

    The committee resists gross values: columns are centered by medians and scaled by the range of their
    middle, the oddest fifth of the rows is left out twice before the last fit, and far distances grow only
    like a root.

    ``partial_fit`` keeps twice ``max_rows`` of the rows: those to learn from, and those to compare them with.
    A committee draws its rows at random anyway, so learning in parts adds no error.

    Parameters
    ----------
    trusted : bool, default False
        Whether all rows given to ``fit`` are known to be normal. If so, none is left out, and small
        neighbourhoods count, too.
    groups : sequence of sequences of int, optional
        Columns that are one variable together, such as those of an encoded category. They are not scaled.
    variables : sequence of int of length d, optional
        The variable that each column belongs to, if groups do not say it all: people see a number and the
        mark of its gaps as one variable, so they do not form a pair. By default each group, and each other
        column, is a variable.
    max_rows : int, optional
        Largest number of rows that the committee learns from, drawn at random; by default 1,000, or 4,000 if
        they are trusted, since small neighbourhoods need many rows.
    false_alarms : float, default 0.01
        Share of normal rows that exceed the threshold.
    contamination : float, optional
        Share of training rows that ``predict`` calls outliers, instead of ``false_alarms``.
    random_state : int, default 0
        The same number gives the same committee.

    Attributes
    ----------
    distribution_ : ScoreDistribution
        The outlierness of rows that were not learned.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> X[7] = [0.0, 12.0, 0.0]
    >>> model = whyodd.Committee().fit(X)
    >>> int(model.outlierness(X).argmax()), whyodd.explain(model, X).reasons(7)[0].name
    (7, 'x1')
    """

    _takes_sparse: ClassVar[bool] = False

    def __init__(
        self,
        trusted: bool = False,
        *,
        groups: Sequence[Sequence[int]] | None = None,
        variables: Sequence[int] | None = None,
        max_rows: int | None = None,
        false_alarms: float = 0.01,
        contamination: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.trusted = trusted
        self.groups = groups
        self.variables = variables
        self.max_rows = max_rows
        self.false_alarms = false_alarms
        self.contamination = contamination
        self.random_state = random_state

    def p_values(self, X: Any) -> Floats:
        """Share of normal rows (n,) that are at least as odd as each of these."""
        return self.distribution_.p_values(self.outlierness(X))

    def _fit(
        self,
        X: Points,
        sample_weight: Floats | None,
        previous: DistanceNetwork | None,  # noqa: ARG002
    ) -> tuple[Any, float]:
        self._check_parameters()
        values = np.asarray(X, dtype=np.float64)
        owner, is_group = self._owners(values.shape[1])
        rows = repeated_rows(sample_weight, len(values), type(self).__name__)
        rows = np.random.default_rng(self.random_state).permutation(rows)
        most = self._most_learned
        drawn, others = np.sort(rows[:most]), rows[most:][:most]
        distinct = _distinct(values[drawn])
        center, scale = center_and_scale(values[drawn][distinct[0]])
        extent = np.stack([values[rows].min(axis=0), values[rows].max(axis=0)])
        grouped = is_group[owner]
        center, scale = np.where(grouped, 0.0, center), np.where(grouped, 1.0, scale)
        learning = _Learning(
            values[drawn],
            drawn,
            distinct,
            center,
            scale,
            owner,
            is_group,
            self._variables(owner),
            self.trusted,
        )
        learned, own_scores = learning.learned()
        copies = _copies(values, learned.centers, learned.rows)
        score = replace(learned, n_rows=len(values), extent=extent, copies=copies)
        new_scores = score.outlierness(values[others]) if others.size else np.empty(0)
        self.distribution_ = ScoreDistribution(np.concatenate([own_scores, new_scores]))
        return score, self.distribution_.threshold(self.false_alarms)

    @property
    def _most_learned(self) -> int:
        return _MOST_ROWS[bool(self.trusted)] if self.max_rows is None else int(self.max_rows)

    @property
    def _most_kept(self) -> int:
        """For ``partial_fit``: twice ``max_rows``, to learn from and to compare with."""
        self._check_parameters()
        return 2 * self._most_learned

    @property
    def _repeats(self) -> bool:
        return True

    def _remember(self, X: Points, weights: Floats | None) -> None:
        self.seen_ = self._seen(X, weights)

    def _fit_seen(self, seen: SeenRows) -> tuple[Any, float]:
        network: Any
        network, threshold = super()._fit_seen(seen)
        return replace(network, extent=seen.extent), threshold

    def _owners(self, d: int) -> tuple[Indices, Bools]:
        """The variable that each column belongs to (d,), and whether each variable is a group."""
        owner, groups = np.full(d, -1, dtype=np.intp), list(self.groups or ())
        for number, columns in enumerate(groups):
            wrong = [c for c in columns if not (isinstance(c, Integral) and 0 <= c < d)]
            if wrong or not len(columns):
                raise ValueError(f"groups[{number}]={columns!r}: expected columns of X, from 0 to {d - 1}.")
            owner[list(columns)] = number
        single = owner < 0
        owner[single] = len(groups) + np.arange(np.count_nonzero(single))
        return owner, np.arange(owner.max() + 1) < len(groups)

    def _variables(self, owner: Indices) -> Indices:
        """The kind of each column (d,)."""
        if self.variables is None:
            return owner
        found = np.asarray(self.variables)
        if found.shape != owner.shape or found.dtype.kind not in "iu":
            raise ValueError(f"variables={self.variables!r}: expected a whole number for each column of X.")
        return found

    def _check_parameters(self) -> None:
        most = 2 if self.max_rows is None else self.max_rows
        if not isinstance(most, Integral) or isinstance(most, bool) or most < 2:
            raise ValueError(f"max_rows={self.max_rows!r}: expected a whole number of rows, at least 2.")
        if not (isinstance(self.false_alarms, Real) and 0.0 < self.false_alarms < 1.0):
            raise ValueError(
                f"false_alarms={self.false_alarms!r}: expected a share of normal rows between 0 and 1."
            )


class _Learning:
    """The rows that train a committee, in rounds."""

    def __init__(
        self,
        X: Floats,
        rows: Indices,
        distinct: tuple[Indices, Indices],
        center: Floats,
        scale: Floats,
        owner: Indices,
        is_group: Bools,
        variables: Indices,
        trusted: bool,
    ) -> None:
        self.X, self.rows, self.center, self.scale = X, rows, center, scale
        gaps = (X - center) / scale
        self.Z, self.is_gross = soften(gaps), np.abs(gaps) > FAR
        self.owner, self.is_group, self.trusted = owner, is_group, trusted
        self.variables = variables
        self.first, self.same = distinct

    def learned(self) -> tuple[CommitteeScore, Floats]:
        """The committee, and the outlierness (m,) of the rows, each without itself and its copies."""
        kept = np.ones(len(self.first), dtype=bool)
        score, outlierness = self._round(kept)
        if not self.trusted and len(kept) >= _FEW_ROWS:
            for _ in range(_ROUNDS):
                kept = outlierness[self.first] <= np.quantile(outlierness, 1.0 - _SUSPECTS)
                score, outlierness = self._round(kept)
        return score, outlierness

    def _round(self, kept: Bools) -> tuple[CommitteeScore, Floats]:
        """The committee of some of the different rows, and the outlierness of all rows."""
        own = np.where(kept, np.cumsum(kept) - 1, -1)[self.same]
        weights = _TRUSTED_WEIGHTS if self.trusted else _WEIGHTS
        views, total = [], np.zeros(len(self.Z))
        chosen = self.first[kept]
        scores = {name: view for name, view in self._scores(self.Z[chosen]).items() if view is not None}
        whole = sum(weights[name] for name in scores)
        for name, (kind, score) in scores.items():
            relevance = np.asarray(decompose_rows(score, self.Z, own=own).relevance, dtype=np.float64)
            usual = self._usual(relevance)
            is_absolute = name == "pairs" and not self.trusted
            usual = np.maximum(usual, _NATS) if is_absolute else usual
            ratios = (relevance / usual).sum(axis=1)
            mean = self.Z.shape[1] if is_absolute else float(ratios[chosen].mean())
            weight = weights[name] / whole / mean if mean > 0.0 else 0.0
            views.append(View(name, kind, score, usual, weight))
            total += weight * ratios
        mean = float(total[chosen].mean()) or 1.0
        views, total = [replace(view, weight=view.weight / mean) for view in views], total / mean
        usual = self.X[total <= np.quantile(total, 1.0 - _ODD)]
        committee = CommitteeScore(
            tuple(views), self.center, self.scale, self.X[chosen], self.rows[chosen], usual=usual
        )
        return committee, total

    def _scores(self, Z: Floats) -> dict[str, tuple[str, Any] | None]:
        """Views of the kept rows, by name; None where there are too few rows."""
        m = len(Z)
        wide = min(max(round(_WIDE_SHARE * m), _FEWEST_NEIGHBORS), m - 1)
        # Columns of a group depend on each other, and a column that never varies cannot be predicted.
        numbers = np.flatnonzero(~self.is_group[self.owner] & (Z.std(axis=0) > 0.0))
        suffice = m >= _ROWS_PER_COLUMN * numbers.size and numbers.size > 1
        return {
            "neighbours": (FOR_ROWS_LIKE_IT, DistanceNetwork(Z, pooling=Nearest.mean(wide))),
            "nearest rows": (FOR_ROWS_LIKE_IT, _nearest(Z)) if self.trusted else None,
            "columns": (IN_ITSELF, _columns(Z)),
            "residuals": (FOR_ROWS_LIKE_IT, _residuals(Z, numbers)) if suffice else None,
            "pairs": (DOES_NOT_GO_WITH, self._pairs) if self._pairs is not None else None,
        }

    @cached_property
    def _pairs(self) -> Pairs | None:
        """Pairs of all rows: without the suspects, a value rare in both columns would seem impossible."""
        if len(self.first) < 4 * _FEW_ROWS:
            return None
        pairs = Pairs.of(self.Z[self.first], self.variables)
        return pairs if len(pairs.pairs) else None

    def _usual(self, relevance: Floats) -> Floats:
        """Usual relevance of each column (d,): that of its variable, plus a small amount.

        It is the root mean square, so that far values are less of a surprise in columns with heavy tails.
        Rows left out as suspects count: they are too many to be all odd. Gross values do not. Unless rows are
        trusted, the most relevant hundredth of each column counts as one scale at most: it would make itself
        usual.
        """
        known = np.where(self.is_gross, 0.0, relevance)[self.first]
        if not self.trusted:
            known.sort(axis=0)
            extreme = known[-math.ceil(_EXTREME * len(known)) :]
            np.minimum(extreme, 1.0, out=extreme)
        usual = np.sqrt(np.mean(known**2, axis=0))
        of_variable = np.bincount(self.owner, usual)
        floor = np.where(
            self.is_group,
            _FLOOR_OF_GROUPS * np.median(of_variable),
            _FLOOR_OF_NUMBERS * of_variable.mean(),
        )
        usual = (of_variable + floor)[self.owner]
        return np.where(usual > 0.0, usual, 1.0)


def _distinct(X: Floats) -> tuple[Indices, Indices]:
    """Distinct rows (m,), and the place of each row among them (n,).

    Equal rows are one: copies are no evidence for each other. But those that are more than a tenth of all
    are a neighbourhood of their own, and all of them count.
    """
    _, same, sizes = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    same = same.ravel()
    is_common = sizes[same] > _WIDE_SHARE * len(X)
    same = np.where(is_common, sizes.size + np.arange(len(X)), same)
    _, first, place = np.unique(same, return_index=True, return_inverse=True)
    return first, place


def _copies(X: Floats, centers: Floats, rows: Indices) -> Indices:
    """Rows equal to a center that are not centers themselves (c, 2): the row, and the center.

    Centers that are equal to each other have no copies: see ``_distinct``.
    """
    # Equal rows have equal sums of products; chance matches are removed below.
    factors = np.random.default_rng(0).random(X.shape[1])
    keys = np.einsum("ij,j->i", X, factors)
    of_centers, first, counts = np.unique(keys[rows], return_index=True, return_counts=True)
    place = np.minimum(np.searchsorted(of_centers, keys), of_centers.size - 1)
    center = first[place]
    is_copy = (of_centers[place] == keys) & (counts[place] == 1)
    is_copy[rows] = False
    found = np.flatnonzero(is_copy)
    found = found[(X[found] == centers[center[found]]).all(axis=1)]
    return np.column_stack([found, center[found]])


def _nearest(Z: Floats) -> DistanceNetwork:
    return DistanceNetwork(Z, pooling=Nearest.mean(min(_LOCAL_NEIGHBORS, len(Z) - 1)))


def _columns(Z: Floats) -> Residuals:
    """Squared distance from the median in each column."""
    return Residuals(np.median(Z, axis=0), np.ones(Z.shape[1]))


def _residuals(Z: Floats, columns: Indices) -> Residuals:
    covariance, _ = ledoit_wolf(Z[:, columns])
    return Residuals(Z[:, columns].mean(axis=0), np.linalg.inv(covariance), columns)
