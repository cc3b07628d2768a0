"""The search for the smallest change of each row: which goal, which variables, how far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyodd.findings.summary.changes.ground import Ground
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import ComponentMetric
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation
    from whyodd.findings.summary.changes.ground import Pairs

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Indices = NDArray[np.intp]

# People would not call a change of more variables small.
MOST_VARIABLES = 30
# Times the requested centers that are examined, because many of them may be odd themselves.
_POOL = 4
_SAMPLE, _FAR = 1000, 64  # centers among which normal ones are looked for, and how many are tried
_DRAWN = 10  # steps towards the expected point; each raises the density
_GRID, _HALVINGS = 16, 20  # the first part of the way that suffices, to 1/16 and then to 1e-7 of it
_SAME_WAY = 1e-4
_TOO_MANY = f"more than {MOST_VARIABLES} variables would have to change"
_NOWHERE = "none of the nearby points that were tried is normal"
_NUMBERS_ONLY = "no change to numbers alone was found that makes it normal"
_MIXED = "a step mixes columns, and no change to the columns that can still be separated makes it normal"


@dataclass(frozen=True)
class Found:
    """A change of one row: its position in the explanation, the center it moves towards, part of the way."""

    row: int
    target: int
    t: float


@dataclass(frozen=True, eq=False)
class Search:
    """The changes found, and why there are none for other rows.

    Attributes
    ----------
    ground : Ground
        The odd rows.
    all_numbers : ndarray of shape (n, V)
        Numbers of all rows that were explained; NaN for what is none.
    threshold : float
    pairs : Pairs
        The best pair of each row that can be changed.
    chosen : ndarray of bool of shape (q, V)
        The variables that move.
    t : ndarray of shape (q,)
        Part of the way that those go that can go parts of it.
    found : list of Found
    failed : dict of int to str
        Position of a row in the explanation, and why it has no change.
    """

    ground: Ground
    all_numbers: Floats
    threshold: float
    pairs: Pairs
    chosen: Bools
    t: Floats
    found: list[Found]
    failed: dict[int, str]


def find_changes(e: Explanation, threshold: float, n_targets: int) -> Search:
    """Search the smallest change of every row above the threshold; see :func:`smallest_change`."""
    everyone = Ground.of(e)
    odd = np.flatnonzero(everyone.lifted.scores.outlierness > threshold)
    ground = everyone if odd.size == len(e) else Ground.of(e[odd])
    places = _normal_places(ground, threshold, n_targets)
    pairs, chosen = _choose_variables(ground, places, threshold)
    nowhere = _nowhere(ground)
    reasons = {row: _TOO_MANY if row in places.rows else nowhere for row in range(odd.size)}
    failed = {int(odd[row]): why for row, why in reasons.items() if row not in pairs.rows}
    pairs, chosen, t = _choose_pairs(ground, pairs, chosen, threshold)
    found = [
        Found(int(odd[row]), int(target), float(part))
        for row, target, part in zip(pairs.rows, pairs.targets, t, strict=True)
    ]
    return Search(ground, everyone.raw_numbers, threshold, pairs, chosen, t, found, failed)


def _nowhere(ground: Ground) -> str:
    if ground.variables.through is not None:
        return _MIXED
    is_limited = ground.variables.decode is not None and ground.task.network.rows is None
    return _NUMBERS_ONLY if is_limited else _NOWHERE


def fractions_of(pairs: Pairs, chosen: Bools, t: Floats) -> Floats:
    """(q, V) how far each variable goes if those that can move partly go ``t`` (q,)."""
    return np.where(chosen & pairs.scalable, t[:, None], chosen.astype(np.float64))


def _normal_places(ground: Ground, threshold: float, n_targets: int) -> Pairs:
    """Pairs of rows and places that make them normal if all variables go there."""
    if len(ground.raw) == 0:
        none = np.zeros(0, dtype=np.intp)
        return ground.pairs(none, none)
    candidates = _near_centers(ground, _POOL * n_targets)
    pairs = _normal_centers(ground, candidates, threshold, n_targets)
    pairs += _drawn_in(ground, candidates)
    pairs = _those_that_hold(ground, pairs, threshold)
    lost = np.setdiff1d(np.arange(len(ground.raw)), pairs.rows)
    return pairs + _far_places(ground, lost, threshold, n_targets) if lost.size else pairs


def _far_places(ground: Ground, rows: Indices, threshold: float, n_targets: int) -> Pairs:
    """Pairs of rows and the nearest of a spread-out choice of normal centers."""
    normal = _normal_sample(ground, threshold)
    pairs = ground.pairs(np.repeat(rows, normal.size), np.tile(normal, rows.size))
    pairs = _those_that_hold(ground, pairs, threshold)
    order = np.lexsort((ground.squared_ways(pairs).sum(axis=1), pairs.rows))
    places = np.arange(len(order)) - np.searchsorted(pairs.rows[order], pairs.rows[order])
    return pairs[order[places < n_targets]]


def _normal_sample(ground: Ground, threshold: float) -> Indices:
    """Some of the normal centers, out of a thousand."""
    network = ground.task.network
    some = _spread_out(np.arange(network.n_centers), _SAMPLE)
    return _spread_out(some[network.outlierness(network.centers[some]) <= threshold], _FAR)


def _spread_out(values: Indices, count: int) -> Indices:
    """Up to a number of the values, evenly from the first to the last."""
    if values.size <= count:
        return values
    return values[np.linspace(0, values.size - 1, count).astype(np.intp)]


def _near_centers(ground: Ground, count: int) -> list[Indices]:
    """For each row the centers that count most for it, in this order, without the row's own."""
    task, network = ground.task, ground.task.network
    index, p, _ = network.nearest(task.X, min(count, network.n_centers), own=task.own)
    is_other = np.ones(index.shape, dtype=bool) if task.own is None else index != task.own[:, None]
    is_soft = offers(network, "distances") and network.pooling is None
    if is_soft and not isinstance(network.metric, ComponentMetric):
        # If an exponential p is too small for a float, distances decide.
        small = np.flatnonzero((is_other & (p == 0.0)).any(axis=1))
        if small.size:
            index[small], is_other[small] = _by_distance(ground, small, index.shape[1])
    return [row[kept] for row, kept in zip(index, is_other, strict=True)]


def _by_distance(ground: Ground, rows: Indices, count: int) -> tuple[Indices, Bools]:
    task, network = ground.task, ground.task.network
    search = DistanceNetwork(network.centers, pooling=Nearest.kth(1), metric=network.metric)
    index = search.nearest(np.asarray(task.X)[rows], count)[0]
    own = np.full(rows.size, -1) if task.own is None else task.own[rows]
    return index, (index != own[:, None]) & np.isfinite(network.log_weights[index])


def _normal_centers(ground: Ground, candidates: list[Indices], threshold: float, n_targets: int) -> Pairs:
    """Pairs of rows and the first of their centers that are normal."""
    network = ground.task.network
    every = np.unique(np.concatenate(candidates))
    normal = every[network.outlierness(network.centers[every]) <= threshold] if every.size else every
    near = [row[np.isin(row, normal)][:n_targets] for row in candidates]
    rows = np.repeat(np.arange(len(near)), [len(row) for row in near])
    return ground.pairs(rows, np.concatenate(near))


def _drawn_in(ground: Ground, candidates: list[Indices]) -> Pairs:
    """Pairs of rows and the place to which the density leads from their first center, for numbers."""
    rows = np.flatnonzero([len(row) > 0 for row in candidates])
    starts = ground.pairs(rows, np.array([candidates[row][0] for row in rows], dtype=np.intp))
    free = _free_columns(ground, starts)
    some = np.flatnonzero(free.any(axis=1))
    starts, free, places = starts[some], free[some], starts.places[some]
    own = None if ground.task.own is None else ground.task.own[starts.rows]
    for _ in range(_DRAWN if some.size else 0):
        likely = ground.task.network.expected(places, **({} if own is None else {"own": own}))
        places = np.where(free, likely, places)
    return ground.pairs(starts.rows, starts.targets, places)


def _free_columns(ground: Ground, pairs: Pairs) -> Bools:
    """(q, k) columns of the network whose values may lie between those of rows."""
    if ground.variables.through is None:
        is_lead = np.isin(np.arange(ground.owner.size), ground.lead)
        return np.asarray(pairs.scalable[:, ground.owner] & is_lead)
    ways = np.abs(pairs.goals - ground.points(pairs.rows))
    is_free = (pairs.scalable | (ground.by_variable(ways) == 0.0)).all(axis=1)
    return np.repeat(is_free[:, None], ground.task.network.n_features, axis=1)


def _those_that_hold(ground: Ground, pairs: Pairs, threshold: float) -> Pairs:
    if len(pairs) == 0:
        return pairs
    whole = np.ones((len(pairs), ground.n_variables))
    return pairs[ground.outlierness(pairs, whole) <= threshold]


def _choose_variables(ground: Ground, pairs: Pairs, threshold: float) -> tuple[Pairs, Bools]:
    """Pairs that take few enough variables, and which (q, V): none of them can be left out."""
    if len(pairs) == 0:
        return pairs, np.zeros((0, ground.n_variables), dtype=bool)
    ways = ground.squared_ways(pairs)
    moves = ground.by_entry(ground.moving(pairs).astype(np.float64)) > 0
    parts = np.where(moves, ground.by_entry(ways), -np.inf)
    ranks = np.argsort(np.argsort(-parts, axis=1, kind="stable"), axis=1)
    hold = _Trial(ground, threshold)
    counts = _prefixes(hold, pairs, ranks, moves.sum(axis=1))
    few = np.flatnonzero(counts > 0)
    pairs, ranks = pairs[few], ranks[few]
    chosen = _without_needless(hold, pairs, ranks, ranks < counts[few, None])
    return pairs, chosen[:, ground.entry]


@dataclass(frozen=True, eq=False)
class _Trial:
    """Whether a change makes the row normal."""

    ground: Ground
    threshold: float

    def of(self, pairs: Pairs, entries: Bools) -> Bools:
        """(q,) whether it suffices to move these entries (q, entries) all the way."""
        fractions = entries[:, self.ground.entry].astype(np.float64)
        return self.ground.outlierness(pairs, fractions) <= self.threshold


def _prefixes(hold: _Trial, pairs: Pairs, ranks: Indices, n_moving: Indices) -> Indices:
    """(q,) how many entries, the most contributing first, have to move; 0 if too many."""
    counts = np.zeros(len(pairs), dtype=np.intp)
    for count in range(1, min(MOST_VARIABLES, ranks.shape[1]) + 1):
        still = np.flatnonzero((counts == 0) & (n_moving >= count))
        if still.size == 0:
            break
        counts[still[hold.of(pairs[still], ranks[still] < count)]] = count
    return counts


def _without_needless(hold: _Trial, pairs: Pairs, ranks: Indices, chosen: Bools) -> Bools:
    """(q, entries) the entries that must move, after the least contributing ones are put back."""
    chosen, changed = chosen.copy(), np.ones(len(pairs), dtype=bool)
    while changed.any():
        again = changed.copy()
        changed[:] = False
        for rank in range(int(ranks[chosen].max()), -1, -1):
            tried = chosen & (ranks == rank)
            which = np.flatnonzero(again & tried.any(axis=1) & (chosen.sum(axis=1) > 1))
            if which.size:
                needless = which[hold.of(pairs[which], (chosen & ~tried)[which])]
                chosen[needless] &= ~tried[needless]
                changed[needless] = True
    return chosen


def _choose_pairs(
    ground: Ground, pairs: Pairs, chosen: Bools, threshold: float
) -> tuple[Pairs, Bools, Floats]:
    """For each row the pair with the fewest entries to move, then the shortest way, then the first."""
    if len(pairs) == 0:
        return pairs, chosen, np.zeros(0)
    counts = (ground.by_entry(chosen.astype(np.float64)) > 0).sum(axis=1)
    fewest = np.full(len(ground.raw), np.iinfo(np.intp).max)
    np.minimum.at(fewest, pairs.rows, counts)
    tied = np.flatnonzero(counts == fewest[pairs.rows])
    pairs, chosen = pairs[tied], chosen[tied]
    t = _smallest_parts(ground, pairs, chosen, threshold)
    ways = ground.squared_ways(pairs, fractions_of(pairs, chosen, t)).sum(axis=1)
    shortest = np.full(len(ground.raw), np.inf)
    np.minimum.at(shortest, pairs.rows, ways)
    # Ways that end at the threshold in the same variable end at the same place, to the precision of t.
    short = np.flatnonzero(ways <= (1.0 + _SAME_WAY) * shortest[pairs.rows])
    best = short[np.unique(pairs.rows[short], return_index=True)[1]]
    return pairs[best], chosen[best], t[best]


def _smallest_parts(ground: Ground, pairs: Pairs, chosen: Bools, threshold: float) -> Floats:
    """(q,) the smallest part t of the way that suffices for variables that can move partly; 1 without any."""
    t = np.ones(len(pairs))
    some = np.flatnonzero((chosen & pairs.scalable).any(axis=1))
    if some.size == 0:
        return t
    pairs, chosen = pairs[some], chosen[some]
    parts = np.linspace(0.0, 1.0, _GRID + 1)[1:]
    which = np.repeat(np.arange(some.size), _GRID)
    grid = fractions_of(pairs[which], chosen[which], np.tile(parts, some.size))
    enough = (ground.outlierness(pairs[which], grid) <= threshold).reshape(-1, _GRID)
    enough[:, -1] = True  # the effect of going all the way is known
    high = parts[enough.argmax(axis=1)]
    low = high - 1.0 / _GRID
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        is_enough = ground.outlierness(pairs, fractions_of(pairs, chosen, middle)) <= threshold
        high, low = np.where(is_enough, middle, high), np.where(is_enough, low, middle)
    t[some] = high
    return t
