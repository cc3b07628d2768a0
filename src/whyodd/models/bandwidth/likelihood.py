"""Bandwidth of a density estimate by the likelihood of each row under the other rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from whyodd.models.fitting.left_out import some_rows
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel
    from whyodd.models.fitting.merging import MergedRows

    Floats = NDArray[np.float64]

# Rows that make the density, and rows whose likelihood is measured, where there are more.
_CENTERS, _MEASURED = 10_000, 1_000
# The search first looks at every doubling of σ, at this many values at most.
_MOST_STEPS = 24
# Relative accuracy of σ: the likelihood is flat where it is largest.
_ACCURACY = 1e-3


def likelihood_bandwidth(merged: MergedRows, kernel_of: Callable[[float], Kernel]) -> float:
    """σ that maximises Σ_i w_i log p_σ(x_i), p_σ the kernel density of all rows that differ from x_i.

    Rows equal to x_i are left out with it: with one copy in the density, p_σ(x_i) ≥ k(0) / n over the
    kernel's volume, which grows without bound as σ goes to 0, and σ = 0 would win wherever there are enough
    copies. Of more than 10,000 distinct rows as many are drawn, and of these 1,000 are measured (fixed seed).
    A sample of n rows is best served by a somewhat larger bandwidth than all rows would be.

    Parameters
    ----------
    merged : MergedRows
        Distinct rows and their weights.
    kernel_of : callable
        The kernel of a bandwidth.

    Returns
    -------
    float
        0 if all rows are equal.
    """
    d = merged.rows.shape[1]
    _check_normalisable(kernel_of(1.0), d)
    chosen = some_rows(merged.rows.shape[0], _CENTERS)
    if chosen.size < 2:
        return 0.0
    rows = merged.rows[chosen]
    weights = np.ones(chosen.size) if merged.weights is None else merged.weights[chosen]
    measured = some_rows(chosen.size, _MEASURED)
    low, high = _bracket(rows, weights, measured, kernel_of(1.0))
    return _maximise(
        lambda sigma: left_out_log_likelihood(rows, weights, kernel_of(sigma), measured), low, high
    )


def left_out_log_likelihood(
    rows: Points, weights: Floats, kernel: Kernel, measured: NDArray[np.intp]
) -> float:
    """Weighted mean over the rows ``measured`` of log Σ_{j≠i} w_j k(‖x_i - x_j‖) / Σ_{j≠i} w_j - log ∫ k."""
    network = DistanceNetwork(rows, kernel=kernel, log_weights=np.log(weights))
    try:
        log_g = network.assign(rows[measured], own=measured).log_inlierness
    except OverflowError:  # the bandwidth is so small that a row's likelihood is not a float
        return -math.inf
    return float(np.average(log_g, weights=weights[measured])) - kernel.log_volume(rows.shape[1])


def _check_normalisable(kernel: Kernel, d: int) -> None:
    if math.isinf(kernel.log_volume(d)):
        raise ValueError(
            f"sigma='likelihood' needs a density, but {kernel} has an infinite integral over {d} "
            "dimension(s). Pass a kernel that falls off faster, or another rule, such as sigma='median'."
        )


def _bracket(rows: Points, weights: Floats, measured: NDArray[np.intp], unit: Kernel) -> tuple[float, float]:
    """Bandwidths between which every stationary point of the likelihood lies.

    Its derivative by log σ is the mean of E_p[q s(e)] - d, with the kernel's steepness s at energies e =
    (d_ij/σ)^q and p over the other rows j. Distances lie between that of the nearest row and the diameter,
    which is at most twice the distance of any row to the farthest.
    """
    from whyodd.compute.hard.nearest_distances import nearest_neighbor_distances

    nearest = np.asarray(nearest_neighbor_distances(rows)[measured], dtype=np.float64)
    diameter = np.array([2.0 * float(euclidean_distances(rows[:1], rows).max())])
    d = rows.shape[1]
    return _stationary(nearest, weights[measured], unit, d), _stationary(diameter, np.ones(1), unit, d)


def _stationary(distances: Floats, weights: Floats, unit: Kernel, d: int) -> float:
    """σ at which q s((r/σ)^q) averages d over the distances r; it falls with σ where s grows with e."""
    largest = float(distances.max())

    def excess(t: float) -> float:
        slopes = unit.q * unit.steepness((distances / largest * math.exp(-t)) ** unit.q)
        return float(np.average(slopes, weights=weights)) - d

    from scipy.optimize import brentq

    most = 600.0 / unit.q  # no power overflows or underflows
    return largest * math.exp(brentq(excess, -most, most, xtol=1e-14, rtol=1e-14))


def _maximise(objective: Callable[[float], float], low: float, high: float) -> float:
    """σ with the largest value: the best of a coarse grid, then Brent's search between its neighbours."""
    low = max(low, 1e-12 * high)  # distances that underflow do not count
    steps = min(max(math.ceil(math.log2(high / low)) + 1, 3), _MOST_STEPS)
    grid = np.geomspace(low, high, steps)
    values = [objective(float(sigma)) for sigma in grid]
    best = int(np.argmax(values))
    between = np.log(grid[[max(best - 1, 0), min(best + 1, steps - 1)]])
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda t: -objective(math.exp(t)), bounds=between, method="bounded", options={"xatol": _ACCURACY}
    )
    return float(grid[best]) if values[best] > -found.fun else math.exp(float(found.x))
