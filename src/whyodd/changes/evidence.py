"""How two tables differ, measured for any split of the rows into two tables, and what chance allows.

Everything is measured again for tables that the same rows make up at random (permutations). Each family
of things that can change (all of it, columns, relations, groups, kinds) has its largest statistic; of these
the least probable one decides. So a page on two tables that do not differ raises any alarm at all as often
as promised (Westfall and Young, 1993, in two steps).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from sklearn.neighbors import NearestNeighbors

from whyodd.changes.coupling import couple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whyodd.changes.tables import Element, TwoTables

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Mask = NDArray[np.bool_]

# Columns whose relations and groups are examined: the work grows with the square of their number.
MOST_RELATED = 200
# Rows that a group, or a category in it, must have: a mean of fewer says little.
_LEAST_SHARE = 0.05
_CATEGORIES = 6  # of a column, for groups and relations
_QUANTILES = (0.2, 0.35, 0.5, 0.65, 0.8)
# Neighbours, all from its own table, of a row of a new kind: by chance one row in 2^10 has that.
NEIGHBORS = 10


@dataclass(frozen=True, eq=False)
class Group:
    """Rows with something in common, and all other rows.

    Attributes
    ----------
    element : int
        What they share a value of.
    members : ndarray of bool of shape (n,)
    code : int or None
        The category they have.
    most : float or None
        Or what their number is at most.
    is_turned : bool
        Whether the group is that of the other rows.
    """

    element: int
    members: Mask
    code: int | None = None
    most: float | None = None
    is_turned: bool = False

    def turned(self) -> Group:
        """The group of the other rows."""
        return replace(self, members=~self.members, is_turned=not self.is_turned)


class Columns:
    """How far apart the distributions of each element are: W_i², and for numbers by their ranks as well.

    Ranks (the mean square of the differences of shares up to a value; Cramér, von Mises) see what far
    values drown in W_i².
    """

    def __init__(self, both: TwoTables) -> None:
        self._numbers = [i for i, element in enumerate(both.elements) if element.kind == "number"]
        places = np.isin(both.element_of, self._numbers)
        numbers = both.coordinates[:, places].T.copy()
        for line, i in zip(numbers, self._numbers, strict=True):
            _fill(line, np.isnan(both.elements[i].values))
        self._order = np.argsort(numbers, axis=1)
        self._sorted = np.take_along_axis(numbers, self._order, axis=1)
        # Shares differ at the last of equal values.
        self._is_last = np.diff(self._sorted, axis=1, append=np.inf) > 0.0
        self._categories = both.coordinates[:, ~places]
        self._element_of = both.element_of[~places]
        self._size = len(both.elements)

    def __call__(self, is_new: Mask) -> Floats:
        """(2 p,): W_i² of all elements, then what their ranks say, 0 of categories."""
        found, ranked = np.zeros(self._size), np.zeros(self._size)
        n = is_new.size // 2
        labels = is_new[self._order]
        apart = self._sorted[labels].reshape(-1, n) - self._sorted[~labels].reshape(-1, n)
        found[self._numbers] = np.mean(apart**2, axis=1)
        ahead = np.cumsum(np.where(labels, 1, -1), axis=1) * self._is_last
        ranked[self._numbers] = np.einsum("ij,ij->i", ahead / n, ahead / n) / n
        sign = np.where(is_new, 1.0, -1.0) / n
        np.add.at(found, self._element_of, np.abs(sign @ self._categories))
        return np.append(found, ranked)


def _fill(numbers: Floats, gaps: Mask) -> None:
    """Fill gaps with values drawn from the other rows, whichever table they are in.

    That a column is missing more often is another change than that its values are others.
    """
    if gaps.any() and not gaps.all():
        numbers[gaps] = np.random.default_rng(0).choice(numbers[~gaps], int(gaps.sum()))


class Relations:
    """How much the dependence of two columns changed, apart from the changes of each alone.

    Numbers count by their ranks within their own table, as normal scores and the squares of these, so that
    more than rising and falling is seen; categories by which it is. A pair has the sum of the squared
    changes of the correlations between them.
    """

    def __init__(self, both: TwoTables, elements: list[int]) -> None:
        self.elements = elements
        # For each element: the ranks of its numbers, or whether rows have one of its categories.
        self._numbers: dict[int, Indices] = {}
        self._labels: dict[int, Floats] = {}
        sizes = []
        for place, i in enumerate(self.elements):
            element = both.elements[i]
            if element.kind == "number":
                self._numbers[place] = _places(element.values)
                sizes.append(2)
            else:
                self._labels[place] = (element.values[:, np.newaxis] == _frequent(element)).astype(np.float64)
                sizes.append(self._labels[place].shape[1])
        self._ends = np.cumsum(sizes, dtype=np.intp)
        columns = both.column_of[self.elements]
        first, second = np.triu_indices(len(self.elements), 1)
        apart = columns[first] != columns[second]
        self.pairs = np.column_stack([first[apart], second[apart]])
        steps = 2 * both.is_new.size
        self._scores = ndtri((np.arange(steps + 1) + 1.0) / (steps + 2.0))

    def __call__(self, is_new: Mask) -> Floats:
        """(pairs,)."""
        old, new = self.correlations(~is_new), self.correlations(is_new)
        # A column that never varies in one of the tables has no relation there to compare.
        known = (np.diag(old) > 0.5) & (np.diag(new) > 0.5)
        sums = np.zeros((self._ends[-1] + 1, self._ends[-1] + 1))
        sums[1:, 1:] = np.where(np.outer(known, known), new - old, 0.0) ** 2
        sums = sums.cumsum(axis=0).cumsum(axis=1)
        ends = np.append(0, self._ends)
        blocks = np.diff(np.diff(sums[np.ix_(ends, ends)], axis=0), axis=1)
        found = blocks[self.pairs[:, 0], self.pairs[:, 1]]
        return np.asarray(np.maximum(found, 0.0))  # rounding of sums

    def correlations(self, chosen: Mask) -> Floats:
        """(q, q) dependence of everything examined, in the rows of one table; 0 for a constant."""
        parts = []
        for place in range(len(self.elements)):
            if place in self._numbers:
                scores = self._normal_scores(self._numbers[place][chosen])
                parts.append(np.column_stack([scores, scores**2]))
            else:
                parts.append(self._labels[place][chosen])
        H = np.concatenate(parts, axis=1)
        H -= H.mean(axis=0)
        sizes = np.sqrt(np.einsum("ij,ij->j", H, H))
        H /= np.where(sizes > 1e-9, sizes, np.inf)
        return H.T @ H

    def _normal_scores(self, places: Indices) -> Floats:
        """Normal scores of the ranks of numbers given by their places, ties in the middle; 0 for gaps."""
        counts = np.bincount(places[places >= 0], minlength=1)
        below = np.cumsum(counts)
        middle = (below - counts / 2.0) / max(int(below[-1]), 1)
        of_place = self._scores[np.rint(middle * (self._scores.size - 1)).astype(np.intp)]
        return np.where(places >= 0, of_place[places], 0.0)

    def correlation(self, pair: int, is_new: Mask) -> tuple[float, float] | None:
        """Correlation of the scores of two numbers before and after; None if one is no number."""
        first, second = (int(place) for place in self.pairs[pair])
        if first not in self._numbers or second not in self._numbers:
            return None
        at = self._ends[first] - 2, self._ends[second] - 2
        return float(self.correlations(~is_new)[at]), float(self.correlations(is_new)[at])


class Groups:
    """Whether something changed in the rows that share a value, more or less than in all others.

    Of each group and each function of another column: the change of its mean in the group, less that in the
    other rows, in standard errors.
    """

    def __init__(self, both: TwoTables, related: list[int]) -> None:
        gaps = [i for i, element in enumerate(both.elements) if element.kind == "gap"][:MOST_RELATED]
        chosen = sorted({*related, *gaps})
        self.groups = [group for i in chosen for group in _groups_of(i, both.elements[i])]
        functions: list[Floats] = []
        self.functions: list[tuple[int, int | None]] = []
        for i in chosen:
            element = both.elements[i]
            if element.kind == "number":
                functions.append(both.coordinates[:, both.element_of == i][:, 0])
                self.functions.append((i, None))
            else:
                for code in _frequent(element):
                    functions.append((element.values == code).astype(np.float64))
                    self.functions.append((i, code))
        n = both.is_new.size
        self.members = np.array([group.members for group in self.groups], dtype=np.float64).reshape(-1, n).T
        self._values = np.array(functions, dtype=np.float64).reshape(-1, n).T
        columns = both.column_of
        of_group = np.array([columns[group.element] for group in self.groups], dtype=np.intp)
        of_function = np.array([columns[i] for i, _ in self.functions], dtype=np.intp)
        self._apart = of_group[:, np.newaxis] != of_function
        self._sums = self.members.T @ self._values
        self._counts = self.members.sum(axis=0)[:, np.newaxis]
        self._totals = self._values.sum(axis=0)
        squares, all_squares = self.members.T @ self._values**2, (self._values**2).sum(axis=0)
        self.variance = _variance(self._sums, squares, self._counts)
        self.outside_variance = _variance(self._totals - self._sums, all_squares - squares, n - self._counts)

    def __call__(self, is_new: Mask) -> Floats:
        """(groups, functions) signed, 0 where a group is one of the column itself."""
        inside, outside, n_inside, n_outside = self.changes(is_new)
        with np.errstate(invalid="ignore"):  # 0 times infinity, where a table has no row of a group
            error = self.variance * n_inside + self.outside_variance * n_outside
        known = self._apart & (error > 1e-12) & np.isfinite(error)
        return np.where(known, (inside - outside) / np.sqrt(np.where(known, error, 1.0)), 0.0)

    def changes(self, is_new: Mask) -> tuple[Floats, Floats, Floats, Floats]:
        """Change of the mean in each group, and outside; and the sum of 1/count of both tables, of each."""
        n = is_new.size // 2
        members = self.members[is_new]
        new, n_new = members.T @ self._values[is_new], members.sum(axis=0)[:, np.newaxis]
        totals = self._values[is_new].sum(axis=0)
        old, n_old = self._sums - new, self._counts - n_new
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = new / n_new - old / n_old
            outside = (totals - new) / (n - n_new) - (self._totals - totals - old) / (n - n_old)
            return (
                np.nan_to_num(inside),
                np.nan_to_num(outside),
                1.0 / n_new + 1.0 / n_old,
                1.0 / (n - n_new) + 1.0 / (n - n_old),
            )


class Kinds:
    """Rows whose neighbours all come from their own table; neighbours are joined into kinds."""

    def __init__(self, both: TwoTables) -> None:
        count = min(NEIGHBORS, both.is_new.size - 1)
        self._rows = both.coordinates
        index = NearestNeighbors(n_neighbors=count).fit(self._rows)
        self._distances, self._neighbors = index.kneighbors()

    def __call__(self, is_new: Mask) -> Floats:
        """(2,) rows of the largest kind that only the old table has, and only the new one."""
        return np.array(
            [max(map(len, self.of(which)), default=0) for which in (~is_new, is_new)], dtype=float
        )

    def of(self, chosen: Mask) -> list[Indices]:
        """Rows of each kind that only one table has, given by its rows; the largest first."""
        alone = np.flatnonzero(chosen & chosen[self._neighbors].all(axis=1))
        if not alone.size:
            return []
        place = np.full(chosen.size, -1)
        place[alone] = np.arange(alone.size)
        ends = place[self._neighbors[alone]]
        starts = np.repeat(np.arange(alone.size), ends.shape[1])[ends.ravel() >= 0]
        ends = ends.ravel()[ends.ravel() >= 0]
        graph = csr_matrix((np.ones(ends.size), (starts, ends)), shape=(alone.size, alone.size))
        _, kind = connected_components(graph, directed=False)
        kinds = [alone[kind == one] for one in range(kind.max() + 1)]
        return sorted(kinds, key=len, reverse=True)

    def how_separate(self, rows: Indices, others: Mask) -> float:
        """How many times farther the rows of a kind are from all other rows than from their neighbours."""
        near = float(np.median(self._distances[rows].mean(axis=1)))
        far = float(np.median(cdist(self._rows[rows], self._rows[others]).min(axis=1)))
        return far / near if near > 0.0 else np.inf


@dataclass(frozen=True, eq=False)
class Evidence:
    """All statistics of the two tables (first) and of random splits, and what they say.

    Attributes
    ----------
    largest : dict of str to ndarray of shape (1 + permutations,)
        The largest statistic of each family.
    statistics : dict of str to ndarray
        Those of each thing in the two tables.
    chance : dict of str to ndarray
        Means over the tables made up at random.
    scales : dict of str to tuple of ndarray
        Center and spread by which the statistics of a family were standardised.
    """

    largest: dict[str, Floats]
    statistics: dict[str, Floats]
    chance: dict[str, Floats]
    scales: dict[str, tuple[Floats, Floats]]

    @cached_property
    def _least(self) -> Floats:
        """(1 + permutations,) the smallest share of tables with a statistic as large, over all families."""
        shares = [_share_as_large(values, values) for values in self.largest.values()]
        return np.asarray(np.min(shares, axis=0))

    def p_values(self, family: str, statistics: Floats) -> Floats:
        """How often chance makes anything on the page as improbable as each of these in its family."""
        shares = _share_as_large(self.largest[family], statistics)
        return np.asarray(np.mean(self._least <= shares[..., np.newaxis] + 1e-12, axis=-1))

    @property
    def p_value(self) -> float:
        """How often chance makes anything as improbable as the least probable finding here."""
        return float(np.mean(self._least <= self._least[0] + 1e-12))


def _share_as_large(largest: Floats, statistics: Floats) -> Floats:
    """Share of splits, the real one included, whose largest statistic is at least as large."""
    above = np.sort(largest)
    ends = np.asarray(statistics, dtype=float)
    slack = 1e-9 * np.maximum(np.abs(ends), 1e-9)  # sums in another order
    return np.asarray((largest.size - np.searchsorted(above, ends - slack, side="left")) / largest.size)


def gather(
    both: TwoTables,
    coupled: Indices,
    permutations: int,
    seed: int,
    say: Callable[[int], None] = lambda done: None,  # noqa: ARG005
) -> tuple[Evidence, dict[str, Any]]:
    """Measure everything; also what measured it, by its family.

    ``coupled``: the rows that are coupled, as many of each table. Rows change tables among these, and among
    all others, so that both keep their sizes.
    """
    related = _related(both)
    measures: dict[str, Any] = {
        "columns": Columns(both),
        "relations": Relations(both, related),
        "groups": Groups(both, related),
        "kinds": Kinds(both),
    }
    X = both.coordinates[coupled]
    members = measures["groups"].members[coupled]
    is_coupled = np.zeros(both.is_new.size, dtype=bool)
    is_coupled[coupled] = True
    rng = np.random.default_rng(seed)
    found: dict[str, list[Floats]] = {name: [] for name in ("columns", "relations", "kinds", "all")}
    parts: dict[str, list[Floats]] = {name: [] for name in ("parts", "own", "in_groups")}
    strongest: list[float] = []
    labels = both.is_new
    for done in range(permutations + 1):
        if done:
            labels = _shuffled(both.is_new, is_coupled, rng)
        for name in ("columns", "relations", "kinds"):
            found[name].append(measures[name](labels))
        strongest.append(float(np.abs(measures["groups"](labels)).max(initial=0.0)))
        new = labels[coupled]
        coupling = couple(X[~new], X[new], both.element_of)
        found["all"].append(np.array([coupling.distance]))
        parts["parts"].append(coupling.parts)
        parts["own"].append(coupling.own)
        parts["in_groups"].append(cost_in_groups(coupling.cost, coupling.partner, members, new))
        say(done)
    largest, statistics = {"groups": np.array(strongest)}, {"groups": np.abs(measures["groups"](both.is_new))}
    scales = {}
    for name, values in found.items():
        table = np.array(values)
        if name != "kinds":
            roots = np.sqrt(table)
            spread = roots.std(axis=0)
            scales[name] = roots.mean(axis=0), np.where(spread > 1e-9, spread, np.inf)
            table = standardised(table, scales[name], name)
        largest[name] = table.max(axis=1, initial=0.0)
        statistics[name] = table[0]
    chance = {name: np.mean(values[1:], axis=0) for name, values in parts.items()}
    chance |= {"columns": np.mean(found["columns"][1:], axis=0)[: len(both.elements)]}
    observed = {name: values[0] for name, values in parts.items()}
    observed["measured"] = found["columns"][0][: len(both.elements)]
    return Evidence(largest, statistics, chance, scales), measures | observed


def standardised(statistics: Floats, scale: tuple[Floats, Floats], family: str) -> Floats:
    """Statistics (..., things) standardised by mean and spread of their roots, to compare within a family.

    Roots, since squares are skewed, each in its own way. Of the two statistics of a column the larger counts.
    """
    found = (np.sqrt(statistics) - scale[0]) / scale[1]
    half = found.shape[-1] // 2
    return np.maximum(found[..., :half], found[..., half:]) if family == "columns" else found


def cost_in_groups(cost: Floats, partner: Indices, members: Floats, is_new: Mask) -> Floats:
    """Part of W² (g,) of each group of rows: half of the cost of a pair belongs to each of its rows."""
    of_old, of_new = members[~is_new], members[is_new][partner]
    return np.asarray(cost @ (of_old + of_new)) / (2.0 * cost.size)


def _shuffled(is_new: Mask, is_coupled: Mask, rng: np.random.Generator) -> Mask:
    labels = is_new.copy()
    for which in (is_coupled, ~is_coupled):
        labels[which] = rng.permutation(labels[which])
    return labels


def _related(both: TwoTables) -> list[int]:
    """Elements whose relations are examined; if there are very many, those related to others most."""
    chosen = [i for i, element in enumerate(both.elements) if element.kind != "gap"]
    if len(chosen) <= MOST_RELATED:
        return chosen
    # From one coordinate of each and from both tables alike: the choice must not depend on the table.
    firsts = both.coordinates[:, [int(np.argmax(both.element_of == i)) for i in chosen]]
    firsts = firsts - firsts.mean(axis=0)
    sizes = np.linalg.norm(firsts, axis=0)
    firsts = firsts / np.where(sizes > 0.0, sizes, np.inf)
    strength = ((firsts.T @ firsts) ** 2).sum(axis=1)
    return sorted(chosen[k] for k in np.argsort(-strength, kind="stable")[:MOST_RELATED])


def _places(values: Floats) -> Indices:
    """Rank of each number among all distinct ones, -1 for gaps."""
    gaps = np.isnan(values)
    places = np.full(values.size, -1)
    places[~gaps] = np.unique(values[~gaps], return_inverse=True)[1]
    return places


def _frequent(element: Element) -> list[int]:
    """The categories that enough rows have and enough rows lack; one of two is enough."""
    shares = np.bincount(element.values, minlength=len(element.labels)) / element.values.size
    kept = np.flatnonzero((shares >= _LEAST_SHARE) & (shares <= 1.0 - _LEAST_SHARE))
    kept = kept[np.argsort(-shares[kept], kind="stable")][:_CATEGORIES]
    if len(element.labels) == 2 and kept.size == 2:
        kept = np.array([1]) if element.kind == "gap" else kept[:1]
    return [int(code) for code in kept]


def _groups_of(place: int, element: Element) -> list[Group]:
    """Groups by one element: its categories, or the lower part of its numbers; the others are the rest."""
    if element.kind != "number":
        shares = np.bincount(element.values, minlength=len(element.labels)) / element.values.size
        enough = (shares >= _LEAST_SHARE) & (shares <= 1.0 - _LEAST_SHARE)
        codes = [int(c) for c in np.argsort(-shares, kind="stable") if enough[c]][:_CATEGORIES]
        return [Group(place, element.values == code, code=code) for code in codes]
    present = element.values[~np.isnan(element.values)]
    cuts = sorted(set(np.quantile(present, _QUANTILES, method="lower").tolist()))
    groups = [Group(place, element.values <= cut, most=cut) for cut in cuts]
    return [g for g in groups if _LEAST_SHARE <= g.members.mean() <= 1.0 - _LEAST_SHARE]


def _variance(sums: Floats, squares: Floats, counts: Floats) -> Floats:
    counts = np.maximum(counts, 1.0)
    return np.maximum(squares / counts - (sums / counts) ** 2, 0.0)


def chosen_rows(is_new: Mask, most: int, seed: int) -> Indices:
    """Equally many rows of each table, drawn at random, in their order."""
    found: Sequence[Indices] = [np.flatnonzero(is_new == which) for which in (False, True)]
    count = min(most, *(rows.size for rows in found))
    drawn = [np.random.default_rng(seed).choice(rows, count, replace=False) for rows in found]
    return np.sort(np.concatenate(drawn))
