"""Feature flipping as plain loops: Ψ in full, variables set to 0 one after the other, o(Ψ) computed again.

Written from the paper's appendix ("Pixel flipping procedure") and the formulas of the design, section 2. Of a
network, a metric, a pooling and a fitted scale only parameters are read.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from reference import patched
from reference.committee import explain_committee
from reference.kernel_subspace import explain_subspace
from reference.kernels import formulas_of
from reference.oracle import FLOATS

if TYPE_CHECKING:
    from collections.abc import Sequence


def flip(
    X: Any,
    network: Any,
    relevance: Any,
    *,
    own: Sequence[int] | None = None,
    members: Sequence[Sequence[int]] | None = None,
    checkpoints: int | None = None,
) -> Any:
    """Curves (n, steps + 1); ``members``: the columns of the network that each variable has, its own if None.

    Columns that no variable has go last.
    """
    X, centers = _dense(X), _dense(network.centers)
    relevance = np.asarray(relevance, dtype=float)
    members = [[i] for i in range(X.shape[1])] if members is None else members
    if hasattr(network, "views"):
        return _flip_to_expected(X, _committee(network), relevance, own, members, checkpoints)
    if hasattr(network, "similarities"):
        return _flip_to_expected(X, _subspace(network), relevance, own, members, checkpoints)
    curves = []
    for number, x in enumerate(X):
        psi = [[float(xi) - float(ui) for xi, ui in zip(x, u, strict=True)] for u in centers]
        left_out = -1 if own is None else int(own[number])
        curve = [outlierness(psi, network, left_out)]
        steps = in_steps(by_relevance(relevance[number]), checkpoints)
        for step, variables in enumerate(steps):
            columns = [i for variable in variables for i in members[variable]]
            if step == len(steps) - 1:
                columns = range(X.shape[1])
            for row in psi:
                for i in columns:
                    row[i] = 0.0
            curve.append(outlierness(psi, network, left_out))
        curves.append(curve)
    return np.array(curves)


def _committee(network: Any) -> Any:
    def explained(x: Any, left_out: Any) -> tuple[float, Any]:
        _, (o,), (expected,) = explain_committee([x], network, left_out)
        return float(o), expected

    return explained


def _subspace(network: Any) -> Any:
    def explained(x: Any, left_out: Any) -> tuple[float, Any]:
        assert left_out is None  # all components depend on all rows
        parts = explain_subspace([x], network)
        return float(parts.outlierness[0]), parts.expected[0]

    return explained


def _flip_to_expected(
    X: Any, explained: Any, relevance: Any, own: Any, members: Any, checkpoints: int | None
) -> Any:
    """What is removed has the value that is expected of the row as it was."""
    curves = []
    for number, x in enumerate(X):
        left_out = None if own is None else own[number : number + 1]
        first, expected = explained(x, left_out)
        row, curve = [float(value) for value in x], [first]
        steps = in_steps(by_relevance(relevance[number]), checkpoints)
        for step, variables in enumerate(steps):
            columns = [i for variable in variables for i in members[variable]]
            for i in range(len(row)) if step == len(steps) - 1 else columns:
                row[i] = float(expected[i])
            curve.append(explained(row, left_out)[0])
        curves.append(curve)
    return np.array(curves)


def by_relevance(relevance: Any) -> list[int]:
    """Variables, the most relevant first; of equally relevant ones the first."""
    return sorted(range(len(relevance)), key=lambda i: -float(relevance[i]))


def in_steps(order: list[int], checkpoints: int | None) -> list[list[int]]:
    """The order cut into steps: one for each variable, or as many as there are checkpoints."""
    if checkpoints is None:
        return [[variable] for variable in order]
    ends = [
        math.floor(Fraction(step * len(order), checkpoints) + Fraction(1, 2))
        for step in range(checkpoints + 1)
    ]
    return [order[start:stop] for start, stop in itertools.pairwise(ends)]


def outlierness(psi: list[list[float]], network: Any, left_out: int = -1) -> float:
    """o(Ψ) of the differences to every center, one of which may be left out."""
    kept = [j for j in range(len(psi)) if j != left_out]
    zeta = {j: _mapped(psi[j], network.metric, j) for j in kept}
    distance = {j: _length(zeta[j]) for j in kept}
    if network.pooling is None:
        return _soft(distance, network)
    return _HARD[type(network.pooling).__name__](distance, zeta, network.pooling)


def _mapped(difference: list[float], metric: Any, j: int) -> list[float]:
    """A_j Ψ_j."""
    if metric is None:
        return difference
    A = metric.matrix if hasattr(metric, "matrix") else metric.factors[j]
    if A.ndim == 1:
        return [float(a) * value for a, value in zip(A, difference, strict=True)]
    return [sum(float(a) * value for a, value in zip(row, difference, strict=True)) for row in A]


def _length(vector: list[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in vector))


def _soft(distance: dict[int, float], network: Any) -> float:
    kernel, formulas = network.kernel, formulas_of(network.kernel)
    logs = {j: float(network.log_weights[j]) for j in distance}
    total = _log_sum(list(logs.values()))
    height = formulas.log_similarity(0.0, kernel, FLOATS)
    falls = {j: formulas.log_similarity(d, kernel, FLOATS) - height for j, d in distance.items()}
    # 1 - g/k(0), which keeps all digits where g is close to k(0).
    missing = math.fsum(-math.exp(logs[j] - total) * math.expm1(falls[j]) for j in distance)
    if missing < 0.5:
        log_g = math.log1p(-missing)
    else:
        log_g = _log_sum([logs[j] - total + falls[j] for j in distance])
    return float(formulas.outlierness(height + log_g, len(distance), kernel, FLOATS))


def _log_sum(values: list[float]) -> float:
    highest = max(values)
    return highest + math.log(math.fsum(math.exp(value - highest) for value in values))


def _nearest(distance: dict[int, float], zeta: Any, pooling: Any) -> float:
    del zeta
    return sum(w * d for w, d in zip(pooling.rank_weights, sorted(distance.values()), strict=False))


def _mean_vector(distance: dict[int, float], zeta: Any, pooling: Any) -> float:
    chosen = _first(distance, pooling.neighbors)
    width = len(zeta[chosen[0]])
    return _length([sum(zeta[j][i] for j in chosen) / len(chosen) for i in range(width)])


def _local_reach(distance: dict[int, float], zeta: Any, pooling: Any) -> float:
    del zeta
    chosen = _first(distance, pooling.neighbors)
    density = sum(pooling.densities[j] for j in chosen) / len(chosen)
    reach = sum(max(pooling.reaches[j], distance[j]) for j in chosen) / len(chosen)
    return float(density * (reach + pooling.floor))


_HARD = {"Nearest": _nearest, "MeanVector": _mean_vector, "LocalReach": _local_reach}


def _first(distance: dict[int, float], k: int) -> list[int]:
    """The k nearest centers; of equally near ones those that come first."""
    return sorted(distance, key=lambda j: (distance[j], j))[:k]


def flip_item(
    item: Any, scales: Any, relevance: Any, checkpoints: int, twin: int | None = None, *, single: bool = False
) -> list[float]:
    """Curve of O for an item (*shape, C): pixels go with their channels, or each value for itself."""
    item, relevance = np.asarray(item), np.asarray(relevance, dtype=float)
    pixels = list(np.ndindex(item.shape[:-1]))
    if single:
        things = [[(*pixel, c)] for pixel in pixels for c in range(item.shape[-1])]
    else:
        things = [[(*pixel, c) for c in range(item.shape[-1])] for pixel in pixels]
    sums = [sum(relevance[value] for value in thing) for thing in things]
    gone: set[Any] = set()
    curve = [_outlierness_without(gone, item, scales, twin, is_end=False)]
    for step, chosen in enumerate(in_steps(by_relevance(sums), checkpoints)):
        gone |= {value for thing in chosen for value in things[thing]}
        curve.append(_outlierness_without(gone, item, scales, twin, is_end=step == checkpoints - 1))
    return curve


def _outlierness_without(gone: set[Any], item: Any, scales: Any, twin: int | None, *, is_end: bool) -> float:
    """O when the differences of some values of the item are 0."""
    total = 0.0
    for scale in scales:
        view = scale.view
        left = np.ones(item.shape)
        for value in gone:
            left[value] = 0.0
        # Of a mean of pixels the share that is left; of padding that copies none all, until the end.
        seen, share = patched.reduce(item, view.size), patched.reduce(left, view.size)
        places = patched.windows(seen.shape[:-1], view.patch, view.stride, view.border)
        for number, window in enumerate(places):
            patch = patched.contents(seen, window)
            if any(math.isnan(value) for value in patch):
                continue
            factors = [
                float(not is_end) if pixel is None else float(share[(*pixel, c)])
                for pixel in window
                for c in range(item.shape[-1])
            ]
            psi = [
                [f * (x - float(ui)) for f, x, ui in zip(factors, patch, u, strict=True)]
                for u in _dense(scale.network.centers)
            ]
            own = -1 if twin is None else patched.own_center(scale, twin, number)
            total += scale.weight * outlierness(psi, scale.network, own)
    return total


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)
