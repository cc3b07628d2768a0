"""Linear maps between the variables people know and those a distance is measured in: ζ = B δ."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Directions that differ by no more than rounding are the same.
_SAME_DIRECTION = 1e-12


class LinearMap:
    """Map z = B y + b between variables y (d_y) and z (d_z), and the way back of differences: δ = B⁺ ζ.

    The shortest difference δ = B⁺ζ in y that makes the difference ζ in z, and the gradient Bᵀζ, give variable
    i the share δ_i [Bᵀζ]_i / ‖ζ‖² of a squared distance: closed-form integrated gradients, which sum to 1. If
    B does not reach all of z, they sum to less for a ζ that no y makes: the rest is ``outside``.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (d_z, d_y)
        B, finite. The constant b falls out of differences.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = _checked(matrix)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that the way back is recomputed.
        return LinearMap, (self.matrix,)

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
        """A B: this map first, then another one."""
        return LinearMap(sparse.csr_array(matrix) @ self.matrix)

    @cached_property
    def shortest(self) -> Any:
        """(B⁺)ᵀ (d_z, d_y): ``Z @ shortest`` are the shortest differences δ that make the rows ζ of Z."""
        return _compact(self._inverse.shortest)

    @cached_property
    def gradient(self) -> Any:
        """B (d_z, d_y): ``Z @ gradient`` are the gradients Bᵀζ of ½‖ζ‖² for the rows ζ of Z."""
        return _compact(self.matrix)

    @property
    def outside(self) -> sparse.csr_array:
        """(d_z, r): orthonormal directions that no y reaches; ``Z @ outside`` is the part of no variable."""
        return self._inverse.outside

    @cached_property
    def squares(self) -> NDArray[np.bool_]:
        """(d_y,): variables whose share is a square, where δ_i and [Bᵀζ]_i are the same up to a factor.

        So it is for variables that are only scaled, and for orthonormal rows (PCA). No share of theirs is
        negative.
        """
        unit, other = _unit_columns(self._inverse.shortest), _unit_columns(self.matrix)
        difference = abs(unit - other).max(axis=0)
        return np.asarray(difference.toarray()).ravel() <= _SAME_DIRECTION

    @cached_property
    def _inverse(self) -> _Inverse:
        return _invert_by_blocks(self.matrix)


class _Inverse(NamedTuple):
    shortest: sparse.csr_array
    outside: sparse.csr_array


class _Entries:
    """Entries of a sparse matrix, collected block by block."""

    def __init__(self) -> None:
        self.rows: list[Indices] = []
        self.columns: list[Indices] = []
        self.values: list[Floats] = []

    def add(self, rows: Indices, columns: Indices, values: Floats) -> None:
        """Single entries."""
        self.rows.append(rows)
        self.columns.append(columns)
        self.values.append(values)

    def add_block(self, rows: Indices, columns: Indices, block: Floats) -> None:
        """Entries at the crossings of some rows and columns."""
        self.add(np.repeat(rows, columns.size), np.tile(columns, rows.size), block.ravel())

    def matrix(self, shape: tuple[int, int]) -> sparse.csr_array:
        """All of them in a matrix of a shape."""
        places = np.concatenate(self.rows), np.concatenate(self.columns)
        return sparse.csr_array((np.concatenate(self.values), places), shape=shape)


def _checked(matrix: Any) -> sparse.csr_array:
    shape = matrix.shape if sparse.issparse(matrix) else np.shape(matrix)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"Expected a matrix of shape (d_z, d_y) for a linear map, got {shape}.")
    own = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    if not np.isfinite(own.data).all():
        raise ValueError("A linear map must be finite.")
    own.sum_duplicates()
    own.eliminate_zeros()
    return own


def _invert_by_blocks(matrix: sparse.csr_array) -> _Inverse:
    """Pseudo-inverse block by block, so that columns that are only scaled do not mix with others."""
    n_out, n_in = matrix.shape
    alone, rest = _split_lone_entries(matrix)
    shortest, outside = _Entries(), _Entries()
    shortest.add(alone.row, alone.col, 1.0 / alone.data)
    unreached = np.flatnonzero(np.diff(matrix.indptr) == 0)
    outside.add(unreached, np.arange(unreached.size), np.ones(unreached.size))
    n_outside = unreached.size
    for out, into in _connected_blocks(rest):
        inverse, beyond = _pseudo_inverse(rest[out][:, into].toarray())
        shortest.add_block(out, into, inverse.T)
        outside.add_block(out, n_outside + np.arange(beyond.shape[1]), beyond)
        n_outside += beyond.shape[1]
    return _Inverse(shortest.matrix((n_out, n_in)), outside.matrix((n_out, n_outside)))


def _split_lone_entries(matrix: sparse.csr_array) -> tuple[sparse.coo_array, sparse.csr_array]:
    """Entries alone in their row and in their column, and a matrix of all others."""
    entries = matrix.tocoo()
    in_row = np.diff(matrix.indptr)[entries.row]
    in_column = np.bincount(entries.col, minlength=matrix.shape[1])[entries.col]
    alone = (in_row == 1) & (in_column == 1)
    parts = [
        sparse.coo_array((entries.data[which], (entries.row[which], entries.col[which])), shape=matrix.shape)
        for which in (alone, ~alone)
    ]
    return parts[0], parts[1].tocsr()


def _connected_blocks(matrix: sparse.csr_array) -> Iterator[tuple[Indices, Indices]]:
    """Rows and columns connected through entries, block by block."""
    n_out = matrix.shape[0]
    both = sparse.block_array([[None, matrix], [matrix.T, None]], format="csr")
    count, label = connected_components(both, directed=False)
    order = np.argsort(label, kind="stable")
    for block in np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1]):
        if block.size > 1:
            yield block[block < n_out], block[block >= n_out] - n_out


def _pseudo_inverse(block: Floats) -> tuple[Floats, Floats]:
    """Pseudo-inverse (i, o) of a block (o, i), and orthonormal columns (o, r) for what it does not reach.

    Rows of a block of full row rank and columns of one of full column rank may be scaled and scaled back. So
    variables in very different units do not pass for rounding.
    """
    n_out, n_in = block.shape
    rows = np.abs(block).max(axis=1) if n_out <= n_in else np.ones(n_out)
    scaled = block / rows[:, None]
    columns = np.abs(scaled).max(axis=0) if n_out >= n_in else np.ones(n_in)
    inverse, beyond = _by_singular_values(scaled / columns)
    if beyond.shape[1] > max(n_out - n_in, 0):  # not of full rank: scaling would change the shortest cause
        return _by_singular_values(block)
    return inverse / columns[:, None] / rows, beyond


def _by_singular_values(block: Floats) -> tuple[Floats, Floats]:
    n_out, n_in = block.shape
    u, values, v = np.linalg.svd(block, full_matrices=n_out > n_in)
    rank = int(np.sum(values > max(block.shape) * np.finfo(np.float64).eps * values[0]))
    return (v[:rank].T / values[:rank]) @ u[:, :rank].T, u[:, rank:]


def _unit_columns(matrix: sparse.csr_array) -> sparse.csr_array:
    largest = abs(matrix).max(axis=0).toarray().ravel()
    scaled = matrix @ sparse.diags_array(1.0 / np.where(largest > 0.0, largest, 1.0))
    lengths = np.sqrt(scaled.multiply(scaled).sum(axis=0)).ravel()
    return scaled @ sparse.diags_array(1.0 / np.where(lengths > 0.0, lengths, 1.0))


def _compact(matrix: Any) -> Any:
    """Dense where at least a quarter is filled: dense products are faster there."""
    filled = matrix.nnz / (matrix.shape[0] * matrix.shape[1])
    return matrix.toarray() if filled >= 0.25 else sparse.csr_array(matrix)
