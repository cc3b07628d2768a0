"""Relevance through linear maps: each variable's part of ‖ζ‖², for single pairs or by matrix products.

A variable has (B⁺ζ)_i (Bᵀζ)_i of it (``LinearMap``). With P = z B⁺ᵀ and Q = z B of rows and centers the sum
over centers is P_x ⊙ Q_x ΣW - P_x ⊙ (W Q_U) - Q_x ⊙ (W P_U) + W (P_U ⊙ Q_U). Single terms may be negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.compute.points import squared_norms, to_dense
from whyodd.compute.soft.centers import rounding
from whyodd.maths.linear_maps import LinearMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.soft.centers import Centers, Group

    Floats = NDArray[np.floating]
    Wide = NDArray[np.float64]

# Numbers at a time where pairs are summed one by one.
_EXACT_ELEMENTS = 1 << 18


def shares(zeta: Floats, through: LinearMap | None) -> Floats:
    """(n, d) B⁺ζ ⊙ Bᵀζ for differences ζ (n, k): each variable's part of ‖ζ‖²; ζ² without a map."""
    if through is None:
        return zeta * zeta
    return _without_rounding_below_0(
        to_dense(zeta @ through.shortest) * to_dense(zeta @ through.gradient), through
    )


@dataclass(frozen=True)
class WayBack:
    """From ζ = A (x - u) to each variable's part of ‖ζ‖², where x = B y + b.

    Attributes
    ----------
    matrix : ndarray or None
        A, or the diagonal of it, if it loses nothing: the shortest difference in x that makes ζ is x - u
        itself then, which no inverse need find. None: ``through`` is the map from y to ζ.
    through : LinearMap or None
        B; or A B if ``matrix`` is None.
    """

    matrix: Wide | None
    through: LinearMap | None

    def shares(self, difference: Floats, zeta: Floats) -> Floats:
        """(n, d_y) parts of ‖ζ‖² for differences x - u (n, d) and ζ (n, k)."""
        if self.matrix is None:
            return shares(zeta, self.through)
        gradient = zeta * self.matrix if self.matrix.ndim == 1 else zeta @ self.matrix
        if self.through is None:
            return difference * gradient
        return to_dense(difference @ self.through.shortest) * to_dense(gradient @ self.through.gradient)

    def outside(self, zeta: Floats) -> Wide:
        """(n,) the part of ‖ζ‖² that belongs to no variable."""
        if self.matrix is not None or self.through is None or self.through.outside.shape[1] == 0:
            return np.zeros(len(zeta))
        return squared_norms(to_dense(zeta @ self.through.outside))


def way_back(matrix: Wide | None, through: LinearMap | None = None) -> WayBack:
    """The way back through a metric A (k, d), or the diagonal (d,) of one, and then through a map B."""
    if matrix is None:
        return WayBack(None, through)
    if through is None:
        # Where only the variables that do not count at all are lost, x - u is as good as the shortest: they
        # have no gradient.
        if matrix.ndim == 1:
            return WayBack(None, None)
        if _is_injective(matrix[:, matrix.any(axis=0)]):
            return WayBack(matrix, None)
        return WayBack(None, LinearMap(matrix))
    if through.outside.shape[1] == 0 and _is_injective(matrix):
        return WayBack(matrix, through)
    return WayBack(None, through.then(matrix if matrix.ndim == 2 else sparse.diags_array(matrix)))


def _is_injective(matrix: Wide) -> bool:
    """Whether A x = 0 for x = 0 only; columns may be in very different units."""
    if matrix.ndim == 1:
        return bool(matrix.all())
    if matrix.shape[1] == 0:
        return True
    largest = np.abs(matrix).max(axis=0)
    return bool(largest.all() and np.linalg.matrix_rank(matrix / largest) == matrix.shape[1])


@dataclass(frozen=True)
class MixedContraction:
    """Centers seen through a map, ready to contract the weights of block after block.

    Attributes
    ----------
    centers : Centers
    through : LinearMap
    pieces : tuple of slice
        Variables taken at a time: what centers look like to all of them may not fit into memory.
    stacked : tuple of ndarray
        What they look like to the only piece, for each group; empty if there are several pieces.
    """

    centers: Centers
    through: LinearMap
    pieces: tuple[slice, ...]
    stacked: tuple[Floats, ...]

    @classmethod
    def of(cls, centers: Centers, through: LinearMap, memory_mb: float) -> MixedContraction:
        """Prepare the centers: for all variables at once if that takes little, also beside the centers."""
        (m, k), d = centers.shape, through.n_inputs
        at_once = 8 * 3 * m * d <= max(memory_mb * 2**19, 64 * m * k)
        width = d if at_once else max(1, int(min(memory_mb * 2**17 / (8 * 3 * m), d)))
        pieces = tuple(slice(start, min(start + width, d)) for start in range(0, d, width))
        stacked = [_stacked(group, through, pieces[0]) for group in centers.groups if len(pieces) == 1]
        return cls(centers, through, pieces, tuple(stacked))

    def contract(self, W: Floats, raw: Points, local: list[Points]) -> tuple[Floats, Wide]:
        """R (n, d) for the weights W (n, m), and the part of no variable (n,).

        Rows whose rounding could be seen are done pair by pair.
        """
        out, bound = np.zeros((W.shape[0], self.through.n_inputs)), np.zeros(W.shape[0])
        for piece in self.pieces:
            out[:, piece], size = self._contract_piece(W, local, piece)
            bound = np.maximum(bound, size)
        outside, size = self._outside(W, local)
        noise = rounding(np.float64, self.centers.shape[0])
        largest = np.abs(out).max(axis=1)
        blurred = noise * np.maximum(bound, size) > self.centers.pool.tolerance * largest
        for i in np.flatnonzero(blurred):
            out[i], outside[i] = self._exactly(W[i], raw[i : i + 1])
        return _without_rounding_below_0(out, self.through), np.maximum(outside, 0.0)

    def _contract_piece(self, W: Floats, local: list[Points], piece: slice) -> tuple[Floats, Wide]:
        """R of some variables, and the largest size of its terms in each row."""
        d = piece.stop - piece.start
        out, size = np.zeros((W.shape[0], d)), np.zeros((W.shape[0], d))
        for x, group, stacked in zip(local, self.centers.groups, self._stacks(piece), strict=True):
            weights = W[:, group.columns]
            products = weights @ stacked
            p, q = _both(x, self.through, piece)
            square = p * q * weights.sum(axis=1, keepdims=True)
            crossed = p * products[:, d : 2 * d] + q * products[:, :d]
            out += square - crossed + products[:, 2 * d :]
            size += np.abs(square) + np.abs(crossed) + np.abs(products[:, 2 * d :])
        return out, size.max(axis=1)

    def _stacks(self, piece: slice) -> Iterator[Floats]:
        if self.stacked:
            return iter(self.stacked)
        return (_stacked(group, self.through, piece) for group in self.centers.groups)

    def _outside(self, W: Floats, local: list[Points]) -> tuple[Wide, Wide]:
        """Σ_j W_j ‖t_x - t_j‖² (n,), t the part of z that no variable reaches, and the size of its terms."""
        out, size = np.zeros(W.shape[0]), np.zeros(W.shape[0])
        if self.through.outside.shape[1] == 0:
            return out, size
        for x, group in zip(local, self.centers.groups, strict=True):
            weights = W[:, group.columns]
            t, centers = to_dense(x @ self.through.outside), to_dense(group.centers @ self.through.outside)
            squares = squared_norms(t) * weights.sum(axis=1) + weights @ squared_norms(centers)
            out += squares - 2.0 * np.einsum("ij,ij->i", t, weights @ centers)
            size += squares
        return out, size

    def _exactly(self, weights: Floats, x: Points) -> tuple[Floats, float]:
        used = np.flatnonzero(weights)
        out, outside = np.zeros(self.through.n_inputs), 0.0
        way, step = way_back(None, self.through), max(1, _EXACT_ELEMENTS // self.through.n_inputs)
        for start in range(0, used.size, step):
            part = used[start : start + step]
            # A row too far away for this scale is done again at another one.
            with np.errstate(over="ignore", invalid="ignore"):
                zeta = (to_dense(x) - to_dense(self.centers.points[part])) / self.centers.scale
                out += weights[part] @ way.shares(zeta, zeta)
                outside += float(weights[part] @ way.outside(zeta))
        return out, outside


def _stacked(group: Group, through: LinearMap, piece: slice) -> Floats:
    """[P_U, Q_U, P_U ⊙ Q_U] (m, 3d) of some variables."""
    p, q = _both(group.centers, through, piece)
    return np.hstack([p, q, p * q])


def _both(z: Any, through: LinearMap, piece: slice) -> tuple[Floats, Floats]:
    return to_dense(z @ through.shortest[:, piece]), to_dense(z @ through.gradient[:, piece])


def _without_rounding_below_0(parts: Floats, through: LinearMap) -> Floats:
    """The same parts, with negative rounding errors removed where a share is a square."""
    return np.where(through.squares & (parts < 0.0), 0.0, parts)
