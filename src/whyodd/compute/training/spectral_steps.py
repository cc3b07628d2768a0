"""Spectral projected gradient on the whole dual: min ½ αᵀKα + pᵀα, 0 ≤ α ≤ C, Σα = s.

Moves all coefficients at once at the price of one product with K per step. It brings the violation down by
two or three orders of magnitude within some twenty steps, whatever the number of support vectors, and then
slows down: pairwise steps on the few violators left are the better end game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whyodd.compute.training.gram import Float64Array


def project(y: Float64Array, upper: Float64Array, total: float) -> Float64Array:
    """Project y onto {0 ≤ α ≤ C, Σα = s}: clip(y - λ, 0, C), λ where the sum, piecewise linear in λ, is s.

    Parameters
    ----------
    y, upper : ndarray (n,)
    total : float
        s, at most Σ C.
    """
    capacity = float(upper.sum())
    if total >= capacity * (1.0 - 1e-14):  # nothing can move
        return upper.copy()
    # The sum falls with λ once y_i - λ is below C_i and no more once it is below 0.
    corners = np.concatenate([y - upper, y])
    order = np.argsort(corners, kind="stable")
    corners = corners[order]
    slopes = np.cumsum(np.where(order < y.size, -1.0, 1.0))
    sums = capacity + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(corners))])
    last = max(int(np.searchsorted(-sums, -total, side="right")) - 1, 0)
    shift = float(corners[last] + (sums[last] - total) / max(float(-slopes[last]), 1.0))
    # Sums over many corners are rounded: one more step on the coefficients that are free there.
    alpha = np.clip(y - shift, 0.0, upper)
    free = np.count_nonzero((alpha > 0.0) & (alpha < upper))
    return np.asarray(np.clip(y - (shift + (float(alpha.sum()) - total) / max(int(free), 1)), 0.0, upper))


def spectral_steps(
    product: Callable[[Float64Array], Float64Array],
    alpha: Float64Array,
    upper: Float64Array,
    gradient: Float64Array,
) -> Iterator[None]:
    """Projected gradient steps with the lengths of Barzilai and Borwein, in place, one per iteration.

    The length is that of a quasi-Newton method whose Hessian is a multiple of the identity; an exact line
    search on the way to the projected point makes the objective fall at every step, also for indefinite K.

    Parameters
    ----------
    product : callable
        v ↦ K v.
    alpha, upper, gradient : ndarray (n,)
        Feasible point, bounds C and Kα + p; ``alpha`` and ``gradient`` are updated.
    """
    total, length, short = float(alpha.sum()), 1.0, False
    while True:
        direction = project(alpha - length * gradient, upper, total) - alpha
        image = product(direction)
        slope, curvature = float(gradient @ direction), float(direction @ image)
        step = min(1.0, -slope / curvature) if curvature > 0 else 1.0
        if slope >= 0:  # nothing to gain beyond rounding
            return
        np.clip(alpha + step * direction, 0.0, upper, out=alpha)
        gradient += step * image
        # The long and the short of their two lengths in turn: long ones alone zigzag.
        if curvature > 0:
            length = curvature / float(image @ image) if short else float(direction @ direction) / curvature
        short = not short
        yield
