"""Bandwidths: a number, a rule applied to the training rows, or a function of them."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import is_sparse, to_dense
from whyodd.models.fitting.merging import merge_equal_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from whyodd.compute.points import Points

    SigmaRule = float | str | Callable[[Points], float]

_NN_QUANTILE = 0.1
# Two million distances put the median within a permille or so.
_MEDIAN_ROWS = 2000


def nn_bandwidth(X: Points) -> float:
    """σ = 0.1 quantile of the distances of rows to their nearest other row, equal rows counted once."""
    rows = merge_equal_rows(X).rows
    if rows.shape[0] < 2:
        return 0.0
    from whyodd.compute.hard.nearest_distances import nearest_neighbor_distances

    return float(np.quantile(nearest_neighbor_distances(rows), _NN_QUANTILE))


def median_bandwidth(X: Points) -> float:
    """σ = median of the pairwise distances; of 2,000 random rows (fixed seed) where there are more."""
    if X.shape[0] > _MEDIAN_ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], _MEDIAN_ROWS, replace=False))]
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(to_dense(X).astype(np.float64)))) if X.shape[0] > 1 else 0.0


def scale_bandwidth(X: Points) -> float:
    """σ = sqrt(d var(X) / 2): scikit-learn's gamma="scale", 1 / (2σ²) = 1 / (d var(X))."""
    if X.max() == X.min():  # rounding of a mean would leave a tiny variance
        return 0.0
    if is_sparse(X):
        wide = X.astype(np.float64)
        variance = float(wide.multiply(wide).mean() - wide.mean() ** 2)
    else:
        variance = float(np.var(X, dtype=np.float64))
    return float(np.sqrt(0.5 * X.shape[1] * max(variance, 0.0)))


BANDWIDTHS: dict[str, Callable[[Points], float]] = {
    "median": median_bandwidth,
    "nn": nn_bandwidth,
    "scale": scale_bandwidth,
}


def bandwidth(
    rule: SigmaRule,
    X: Points,
    sample_weight: NDArray[np.float64] | None = None,
    *,
    rules: Mapping[str, Callable[[Points], float]] = BANDWIDTHS,
) -> float:
    """Positive bandwidth by a rule for rows ``X`` (n, d); rows without weight do not count.

    ``rules`` are those that have a name: a model may know more of them.
    """
    if isinstance(rule, Real) and not isinstance(rule, bool):
        return _positive(float(rule), f"sigma={rule!r}", "Pass a positive bandwidth.")
    rows = X if sample_weight is None else X[sample_weight > 0.0]
    if callable(rule):
        return _positive(float(rule(rows)), "sigma as a function", "Let it return a positive bandwidth.")
    if not isinstance(rule, str) or rule not in rules:
        names = ", ".join(map(repr, rules))
        raise ValueError(f"sigma={rule!r}: expected a positive number, one of {names}, or a function of X.")
    remedy = "Its rows are (nearly) all equal: pass a number as sigma, or data that varies."
    return _positive(rules[rule](rows), f"sigma={rule!r} on this data", remedy)


def _positive(value: float, what: str, remedy: str) -> float:
    if not (np.isfinite(value) and value > 0.0):
        raise ValueError(f"{what} gives a bandwidth of {value:g}, expected a finite number above 0. {remedy}")
    return value
