"""Weights of a convex exemplar mixture: max Σ_i w_i log Σ_j α_j k_ij over α ≥ 0, Σα = 1, by EM."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.blocks import single_threaded_blas

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.training.gram import RadialPoints
    from whyodd.kernels import Kernel

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Largest rounding of a similarity.
_ROUNDING = 1e-6
# A point is dropped when its weight is this share of an even one, and falling.
_VANISHED = 1e-4
# How much farther each step goes than the last one, as long as it helps.
_STRETCH = 1.2
# Smaller products are not worth a second thread.
_SMALL = 1 << 22


@dataclass(frozen=True)
class ExemplarSolution:
    """Weights of the exemplars, and their quality.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
        Weights; most are exactly 0.
    gap : float
        Bound on what the best weights would add to the objective.
    log_likelihoods : list of float
        Objective Σ_i w_i log Σ_j α_j k_ij / k(0) after each iteration that was accepted, ascending but for
        the little that given-up points take with them.
    n_iter : int
        Number of iterations.
    """

    alpha: Floats
    gap: float
    log_likelihoods: list[float]
    n_iter: int


def exemplar_weights(
    rows: Points, weights: Floats, kernel: Kernel, *, tol: float, max_iter: int, memory_mb: float
) -> ExemplarSolution:
    """Maximise L(α) = Σ_i w_i log g_i, g = K α, by EM: α_j ← α_j c_j with c_j = Σ_i w_i k_ij / g_i.

    L is concave, c its gradient. For every other α' the gain L(α') - L(α) is at most log max_j c_j, by
    Jensen's inequality: that is the gap, taken over all points, and iterations end when it is at most
    ``tol``. A step is α c^η with an η that grows as long as L does (Salakhutdinov and Roweis, 2003); where L
    would fall, EM itself (η = 1), which cannot lower it, takes over.

    Parameters
    ----------
    rows : ndarray or CSR array of shape (n, d)
        Distinct points.
    weights : ndarray of shape (n,)
        w_i > 0; their sum does not matter.
    kernel : Kernel
    tol : float
        Largest gap.
    max_iter : int
    memory_mb : float
        Bound on the similarities that are kept.

    Returns
    -------
    ExemplarSolution
    """
    from whyodd.compute.training.gram import RadialPoints

    points = RadialPoints.of(rows, kernel, rounding=_ROUNDING)
    w = weights / weights.sum()
    climb = _Climb(points, w, np.arange(len(points)), w.copy(), memory_mb)
    # Half of it for the remaining points; dropped ones and rounding seldom use up the rest.
    gap, target = np.inf, 0.5 * tol
    while climb.n_iter < max_iter:
        with climb.threads():
            climb.until(target, max_iter)
        alpha = climb.full_weights()
        # Dropped points are checked again: one that would help after all returns.
        gradient = points.gram_product(w / points.gram_product(alpha))
        gap = float(np.log(gradient.max()))
        if gap <= tol:
            break
        target *= 0.5
        climb = climb.joined_by(np.flatnonzero((alpha == 0.0) & (np.log(gradient) > tol)), share=0.1 * tol)
    return ExemplarSolution(alpha, gap, climb.log_likelihoods, climb.n_iter)


class SimilarityMatrix:
    """Similarities k_ij / k(0) of all n points to m of them, kept in float32 if they fit, else recomputed.

    Parameters
    ----------
    points : RadialPoints
        All n points.
    columns : ndarray of int of shape (m,)
        Which of them may be exemplars.
    memory_mb : float
        Bound on the matrix, and a copy of half of it.
    """

    def __init__(self, points: RadialPoints, columns: Indices, memory_mb: float) -> None:
        self._points, self._exemplars = points, points.take(columns)
        fits = 6.0 * len(points) * len(columns) <= memory_mb * 2**20
        self._matrix = points.block(self._exemplars) if fits else None

    def forward(self, alpha: Floats) -> Floats:
        """Σ_j k_ij α_j (n,)."""
        if self._matrix is None:
            return self._points.product(self._exemplars, alpha)
        return np.asarray(self._matrix @ alpha.astype(np.float32), dtype=np.float64)

    def backward(self, v: Floats) -> Floats:
        """Σ_i k_ij v_i (m,)."""
        if self._matrix is None:
            return self._exemplars.product(self._points, v)
        return np.asarray(v.astype(np.float32) @ self._matrix, dtype=np.float64)


@dataclass
class _Climb:
    """EM over the points that are still exemplars."""

    points: RadialPoints
    w: Floats
    active: Indices
    alpha: Floats
    memory_mb: float
    gives_up: bool = True
    n_iter: int = 0
    log_likelihoods: list[float] = field(default_factory=list)

    def until(self, tol: float, max_iter: int) -> None:
        """Iterate until the gap over the active points is at most ``tol``; give up points on the way."""
        matrix = SimilarityMatrix(self.points, self.active, self.memory_mb)
        reached, eta = -np.inf, 1.0
        careful = self.alpha  # the result of EM itself from the last accepted weights
        while self.n_iter < max_iter:
            self.n_iter += 1
            g = matrix.forward(self.alpha)
            value = _mean_log(self.w, g)
            if value < reached and self.alpha is not careful:
                self.alpha, eta = careful, 1.0
                continue
            reached = value
            self.log_likelihoods.append(value)
            gradient = matrix.backward(self.w / g)
            vanished = self._vanished(gradient)
            if np.log(gradient.max()) <= tol:
                self._keep(~vanished)
                return
            careful = _normalised(self.alpha * gradient)
            self.alpha = careful if eta == 1.0 else _normalised(self.alpha * gradient**eta)
            eta *= _STRETCH
            if 2 * np.count_nonzero(vanished) > vanished.size:
                self.alpha, eta = careful, 1.0
                self._keep(~vanished)
                matrix = SimilarityMatrix(self.points, self.active, self.memory_mb)
                reached, careful = -np.inf, self.alpha

    def threads(self) -> AbstractContextManager[None]:
        """One thread of BLAS for small matrices, all of them for large ones."""
        return single_threaded_blas() if len(self.w) * len(self.active) < _SMALL else nullcontext()

    def full_weights(self) -> Floats:
        """Weights of all points (n,)."""
        alpha = np.zeros(len(self.w))
        alpha[self.active] = self.alpha
        return alpha

    def joined_by(self, others: Indices, share: float) -> _Climb:
        """Add other points, with a ``share`` of the weight in all; from now on none is dropped."""
        alpha = self.full_weights()
        if others.size:
            alpha *= 1.0 - share
            alpha[others] = share / others.size
        active = np.flatnonzero(alpha)
        return replace(self, active=active, alpha=alpha[active], gives_up=False)

    def _vanished(self, gradient: Floats) -> NDArray[np.bool_]:
        falling = (self.alpha < _VANISHED / len(self.w)) & (gradient < 1.0)
        return np.asarray(falling & self.gives_up)

    def _keep(self, which: NDArray[np.bool_]) -> None:
        self.active, self.alpha = self.active[which], _normalised(self.alpha[which])


def _mean_log(w: Floats, g: Floats) -> float:
    with np.errstate(divide="ignore"):  # a step that leaves a point without any similarity is not accepted
        return float(w @ np.log(g))


def _normalised(alpha: Floats) -> Floats:
    return np.asarray(alpha / alpha.sum())
