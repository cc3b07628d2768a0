"""The dual of the one-class SVM in plain float64 on a dense K: slow, obvious, and independent of the solver.

min ½ αᵀKα over 0 ≤ α_i ≤ C_i, Σα = s. Here, as in libsvm, C_i is the weight of row i and s = ν Σ C; the
solver gives α with Σα = 1, which is s times smaller. For a positive definite K everything here is certified:
the gap bounds how far the objective is above its optimum, whatever found α (Frank and Wolfe, 1956).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# α that left the solver's scale and came back is at its bound within rounding.
_AT_BOUND = 1e-9


class Dual(NamedTuple):
    """One problem: K (n, n), bounds C (n,) and the sum s."""

    K: Floats
    upper: Floats
    total: float

    @classmethod
    def of(cls, X: Any, kernel: Any, nu: float, sample_weight: ArrayLike | None = None) -> Dual:
        """Problem of the rows of X, with kernel.log_similarity of all differences."""
        upper = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return cls(gram(X, kernel), upper, nu * float(upper.sum()))

    def values(self, alpha: Floats) -> Floats:
        """g = Kα, for Σα = 1."""
        return self.K @ alpha

    def objective(self, alpha: Floats) -> float:
        """½ αᵀKα, for Σα = 1."""
        return 0.5 * float(alpha @ self.K @ alpha)

    def violation(self, alpha: Floats) -> float:
        """max {g_i : α_i > 0} - min {g_i : α_i < C_i} on libsvm's scale, for Σα = 1."""
        ours = self.total * alpha
        return violation(self.K @ ours, ours, self.upper)

    def gap(self, alpha: Floats) -> float:
        """Bound on ½ αᵀKα above its optimum, for Σα = 1: gᵀα - min gᵀβ over all feasible β."""
        g = self.K @ alpha
        order = np.argsort(g, kind="stable")
        bounds = self.upper[order] / self.total
        best = np.clip(1.0 - (np.cumsum(bounds) - bounds), 0.0, bounds)
        return float(g @ alpha - g[order] @ best)

    def value_bound(self, *alphas: Floats) -> float:
        """Bound on how far g of these α can differ, for Σα = 1 and a positive definite K.

        ½ ‖α - α*‖_K² is at most the gap, and |g_i - g*_i| at most sqrt(k(0)) ‖α - α*‖_K.
        """
        height = float(self.K.max())
        distances = sum(np.sqrt(2.0 * height * max(self.gap(alpha), 0.0)) for alpha in alphas)
        return distances + 1e-9 * height  # and the rounding of float64, generously

    def assert_feasible(self, alpha: Floats) -> None:
        assert alpha.shape == self.upper.shape
        assert abs(alpha.sum() - 1.0) <= 1e-12
        assert np.all(alpha >= 0.0)
        assert np.all(self.total * alpha <= self.upper * (1.0 + _AT_BOUND))

    def solve(self, tol: float = 1e-9, max_steps: int = 200_000) -> Floats:
        """α with Σα = 1 by steps on the pair that violates the conditions most, in float64."""
        alpha = np.clip(self.total - (np.cumsum(self.upper) - self.upper), 0.0, self.upper)
        g = self.K @ alpha
        for step in range(max_steps):
            if step % 1000 == 0:
                g = self.K @ alpha
            i = int(np.argmin(np.where(alpha < self.upper, g, np.inf)))
            j = int(np.argmax(np.where(alpha > 0.0, g, -np.inf)))
            if violation(g, alpha, self.upper) <= tol * self.K.max():
                return alpha / self.total
            curvature = max(self.K[i, i] + self.K[j, j] - 2.0 * self.K[i, j], 1e-14)
            move = min((g[j] - g[i]) / curvature, self.upper[i] - alpha[i], alpha[j])
            alpha[i], alpha[j] = min(alpha[i] + move, self.upper[i]), max(alpha[j] - move, 0.0)
            g = g + move * (self.K[:, i] - self.K[:, j])
        raise AssertionError("the reference itself did not converge")


def gram(X: Any, kernel: Any) -> Floats:
    """K (n, n) of all differences."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    K = np.empty((len(X), len(X)))
    for i, x in enumerate(X):
        K[i] = np.exp(kernel.log_similarity(np.sum((X - x) ** 2, axis=1)))
    return K


def violation(g: Floats, alpha: Floats, upper: Floats) -> float:
    """max {g_i : α_i > 0} - min {g_i : α_i < C_i}, or 0; all on one scale."""
    may_grow = alpha < upper * (1.0 - _AT_BOUND)
    if not may_grow.any():
        return 0.0
    return max(float(g[alpha > 0.0].max() - g[may_grow].min()), 0.0)
