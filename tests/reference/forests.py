"""An isolation forest as plain recursion, from the formulas alone: Shapley values by all sets of variables.

Of the forest only the parameters are read.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from statistics import fmean, median
from typing import Any

import numpy as np

# Beyond what factor one side is told, and the other is not.
CLEARLY = 2.0


def expected_path(x: Any, forest: Any, node: int, known: frozenset[int]) -> float:
    """Mean path below a node of a row of which only some variables are known."""
    variable = int(forest.feature[node])
    if variable < 0:
        return float(forest.path[node])
    left, right = int(forest.left[node]), int(forest.right[node])
    if variable in known:
        child = left if x[variable] <= forest.threshold[node] else right
        return expected_path(x, forest, child, known)
    parts = [(float(forest.cover[child]), child) for child in (left, right)]
    whole = sum(cover for cover, _ in parts)
    return sum(cover / whole * expected_path(x, forest, child, known) for cover, child in parts)


def shapley_values(x: Any, forest: Any) -> list[float]:
    """Of minus the mean path."""
    variables = range(forest.n_features)

    def worth(known: frozenset[int]) -> float:
        return -fmean(expected_path(x, forest, int(root), known) for root in forest.roots)

    d = forest.n_features
    sets = [frozenset(known) for k in range(d + 1) for known in combinations(variables, k)]
    worths = {known: worth(known) for known in sets}
    out = []
    for i in variables:
        terms = []
        for known, value in worths.items():
            if i not in known:
                k = len(known)
                weight = math.factorial(k) * math.factorial(d - k - 1) / math.factorial(d)
                terms.append(weight * (worths[known | {i}] - value))
        out.append(math.fsum(terms))
    return out


def explain_forest(X: Any, forest: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relevance (n, d), unexplained (n,) and outlierness (n,)."""
    rows = np.asarray(X, dtype=np.float32 if forest.is_single else np.float64).astype(np.float64)
    everything, nothing = frozenset(range(forest.n_features)), frozenset()
    starts = [*map(int, forest.roots), len(forest.feature)]
    longest = fmean(
        max(forest.path[node] for node in range(a, b) if forest.feature[node] < 0)
        for a, b in pairwise(starts)
    )
    average = fmean(expected_path(rows[0], forest, root, nothing) for root in starts[:-1])
    paths = [fmean(expected_path(x, forest, root, everything) for root in starts[:-1]) for x in rows]
    relevance = np.array([shapley_values(x, forest) for x in rows])
    return relevance, np.full(len(rows), longest - average), np.array([longest - path for path in paths])


def _steps(x: Any, forest: Any, root: int) -> list[tuple[int, bool, float, float]]:
    """The splits on the way of a row: the variable, whether it is above, the threshold, what it takes off."""
    steps, node, nothing = [], int(root), frozenset()
    while forest.feature[node] >= 0:
        variable, threshold = int(forest.feature[node]), float(forest.threshold[node])
        is_above = bool(x[variable] > threshold)
        child = int(forest.right[node] if is_above else forest.left[node])
        taken = expected_path(x, forest, node, nothing) - expected_path(x, forest, child, nothing)
        steps.append((variable, is_above, threshold, taken))
        node = child
    return steps


def splits_of(x: Any, forest: Any) -> list[float]:
    """What the splits of each variable take off the mean path of a row."""
    out = [0.0] * forest.n_features
    for root in forest.roots:
        for variable, _, _, taken in _steps(x, forest, root):
            out[variable] += taken / len(forest.roots)
    return out


def cuts_of(x: Any, forest: Any, variable: int) -> tuple[float, float, int]:
    """The cut below and above a value, NaN without, and the number of trees."""
    taken, cuts, trees = {True: 0.0, False: 0.0}, {True: {}, False: {}}, range(len(forest.roots))
    for t in trees:
        for which, is_above, threshold, much in _steps(x, forest, forest.roots[t]):
            if which == variable and much > 0:
                taken[is_above] += much
                cuts[is_above][t] = threshold
    told = {side for side in cuts if taken[side] > 0 and CLEARLY * taken[side] >= taken[not side]}
    low, high = (median(cuts[side].values()) if side in told else math.nan for side in (True, False))
    return low, high, len({t for side in told for t in cuts[side]})
