"""Relevance through a linear map: R = Σ_j W_j (B⁺ζ_j) ⊙ (Bᵀζ_j) by matrix products, checked.

With P = z B⁺ᵀ and Q = z B of rows and centers the sum over centers is
P_x ⊙ Q_x ΣW - P_x ⊙ (W Q_U) - Q_x ⊙ (W P_U) + W (P_U ⊙ Q_U). Single terms may be negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.centers import rounding
from whyodd.compute.points import to_dense

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.centers import Centers
    from whyodd.compute.points import Points
    from whyodd.linear_maps import LinearMap

    Floats = NDArray[np.floating]


def shares(zeta: Floats, through: LinearMap | None) -> Floats:
    """(n, d) B⁺ζ ⊙ Bᵀζ for differences ζ (n, k): what each variable has of ‖ζ‖²; ζ² without a map."""
    if through is None:
        return zeta * zeta
    return to_dense(zeta @ through.shortest) * to_dense(zeta @ through.gradient)


@dataclass(frozen=True)
class MixedContraction:
    """Centers seen through a map, ready to contract the weights of block after block."""

    centers: Centers
    through: LinearMap
    stacked: tuple[Floats, ...]  # per group [P_U, Q_U, P_U ⊙ Q_U] (m, 3d)

    @classmethod
    def of(cls, centers: Centers, through: LinearMap) -> MixedContraction:
        """Prepare the centers of every group."""
        stacked = []
        for group in centers.groups:
            p, q = _both(group.centers, through)
            stacked.append(np.hstack([p, q, p * q]))
        return cls(centers, through, tuple(stacked))

    def contract(self, W: Floats, raw: Points, local: list[Points]) -> Floats:
        """R (n, d) of the weights W (n, m); rows whose rounding could be seen are done pair by pair."""
        d = self.through.n_inputs
        out, size = np.zeros((W.shape[0], d)), np.zeros((W.shape[0], d))
        for x, group, stacked in zip(local, self.centers.groups, self.stacked, strict=True):
            weights = W[:, group.columns]
            products = weights @ stacked
            p, q = _both(x, self.through)
            square = p * q * weights.sum(axis=1, keepdims=True)
            crossed = p * products[:, d : 2 * d] + q * products[:, :d]
            out += square - crossed + products[:, 2 * d :]
            size += np.abs(square) + np.abs(crossed) + np.abs(products[:, 2 * d :])
        noise = rounding(np.float64, self.centers.shape[0])
        blurred = noise * size.max(axis=1) > self.centers.pool.tolerance * np.abs(out).max(axis=1)
        for i in np.flatnonzero(blurred):
            out[i] = self._exactly(W[i], raw[i : i + 1])
        return out

    def _exactly(self, weights: Floats, x: Points) -> Floats:
        used = np.flatnonzero(weights)
        zeta = (to_dense(x) - to_dense(self.centers.points[used])) / self.centers.scale
        return np.asarray(weights[used] @ shares(zeta, self.through))


def _both(z: Any, through: LinearMap) -> tuple[Floats, Floats]:
    return to_dense(z @ through.shortest), to_dense(z @ through.gradient)
