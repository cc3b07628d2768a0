"""Linear maps between the variables people know and those a distance is measured in: ζ = B δ."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class LinearMap:
    """Map z = B y + b between variables y (d_y) and z (d_z), and the way back of differences: δ = B⁺ ζ.

    The shortest difference δ = B⁺ζ in y that makes the difference ζ in z, and the gradient Bᵀζ, give variable
    i the share δ_i [Bᵀζ]_i / ‖ζ‖² of a squared distance: closed-form integrated gradients, which sum to 1.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (d_z, d_y)
        B, finite. The constant b falls out of differences.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = sparse.csr_array(matrix, dtype=np.float64)
        if not np.isfinite(self.matrix.data).all():
            raise ValueError("A linear map must be finite.")
        self.matrix.eliminate_zeros()

    def __repr__(self) -> str:
        return f"LinearMap({self.n_inputs} -> {self.n_outputs})"

    @property
    def n_inputs(self) -> int:
        """d_y."""
        return int(self.matrix.shape[1])

    @property
    def n_outputs(self) -> int:
        """d_z."""
        return int(self.matrix.shape[0])

    def then(self, matrix: Any) -> LinearMap:
        """A B: first this map, then another one."""
        return LinearMap(sparse.csr_array(matrix) @ self.matrix)

    @cached_property
    def shortest(self) -> Any:
        """(B⁺)ᵀ (d_z, d_y): ``Z @ shortest`` are the shortest differences δ that make the rows ζ of Z."""
        return _compact(_blockwise_pinv(self.matrix).T)

    @cached_property
    def gradient(self) -> Any:
        """B (d_z, d_y): ``Z @ gradient`` are the gradients Bᵀζ of ½‖ζ‖² for the rows ζ of Z."""
        return _compact(self.matrix)


def _blockwise_pinv(matrix: sparse.csr_array) -> sparse.csr_array:
    """Pseudo-inverse (d_y, d_z), block by block: columns only scaled keep clear of those that mix."""
    n_out, n_in = matrix.shape
    both = sparse.block_array([[None, matrix], [matrix.T, None]], format="csr")
    count, label = connected_components(both, directed=False)
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    values, rows, columns = [], [], []
    for block in members:
        out, into = block[block < n_out], block[block >= n_out] - n_out
        if out.size == 0 or into.size == 0:
            continue
        inverse = np.linalg.pinv(matrix[out][:, into].toarray())
        values.append(inverse.ravel())
        rows.append(np.repeat(into, out.size))
        columns.append(np.tile(out, into.size))
    if not values:
        return sparse.csr_array((n_in, n_out))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array(entries, shape=(n_in, n_out))


def _compact(matrix: Any) -> Any:
    """Dense where at least a quarter is filled: dense products are faster there."""
    filled = matrix.nnz / (matrix.shape[0] * matrix.shape[1])
    return matrix.toarray() if filled >= 0.25 else sparse.csr_array(matrix)
