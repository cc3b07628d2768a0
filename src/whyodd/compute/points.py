"""Points (n, d), dense or CSR: the few operations that differ between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

# An array of floats or a scipy.sparse.csr_array; SciPy ships no types to say so.
Points: TypeAlias = Any


def is_sparse(points: Points) -> bool:
    """Whether points are in CSR form."""
    return not isinstance(points, np.ndarray) and bool(sparse.issparse(points))


def heaviest(p: Any) -> NDArray[np.intp]:
    """(n,) column of the largest entry of each row, an array or CSR array without empty rows."""
    if not sparse.issparse(p):
        return np.asarray(p.argmax(axis=1))
    # SciPy's own argmax goes row by row.
    starts, sizes = p.indptr[:-1], np.diff(p.indptr)
    is_largest = p.data == np.repeat(np.maximum.reduceat(p.data, starts), sizes)
    columns = np.where(is_largest, p.indices, p.shape[1])
    return np.asarray(np.minimum.reduceat(columns, starts), dtype=np.intp)


def to_dense(points: Any) -> NDArray[np.floating]:
    """Points as a C-contiguous array."""
    return np.ascontiguousarray(points.toarray() if sparse.issparse(points) else points)


def canonical(points: Points) -> Points:
    """CSR rows with sorted indices, no duplicates and no stored zeros; arrays as they are."""
    if not is_sparse(points):
        return points
    rows = sparse.csr_array(points, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def localize(points: Points, origin: NDArray[np.float64], scale: float, dtype: np.dtype[Any]) -> Points:
    """Scaled coordinates (x - origin) / scale; the subtraction is done in float64. CSR stays where it is.

    Points too far away for this scale come out infinite.
    """
    with np.errstate(over="ignore"):
        if is_sparse(points):
            return sparse.csr_array(points * (1.0 / scale)).astype(dtype)
        local = points - origin
        local *= 1.0 / scale
        return np.ascontiguousarray(local, dtype=dtype)


def are_whole(points: Points) -> bool:
    """Whether all numbers are whole ones, such as pixels and counts."""
    numbers = points.data if is_sparse(points) else points
    return numbers.size > 0 and bool(
        (numbers.ravel()[0] % 1.0 == 0.0) and (np.rint(numbers) == numbers).all()
    )


def squared_norms(points: Points) -> NDArray[np.float64]:
    """Squared norms of rows, accumulated in float64."""
    if is_sparse(points):
        wide = points.astype(np.float64)
        return np.asarray(wide.multiply(wide).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", points, points, dtype=np.float64))


def largest_coordinates(points: Points) -> NDArray[np.float64]:
    """Largest absolute coordinate of each row."""
    if is_sparse(points):
        return np.asarray(abs(points).max(axis=1).toarray(), dtype=np.float64).ravel()
    return np.asarray(np.maximum(points.max(axis=1), -points.min(axis=1)), dtype=np.float64)


def blanked(points: Points, rows: NDArray[np.bool_]) -> Points:
    """The same points with zeros in some rows."""
    if is_sparse(points):
        return sparse.csr_array(sparse.diags_array((~rows).astype(points.dtype)) @ points)
    return np.where(rows[:, None], points.dtype.type(0), points)


def as_compiled(points: Points) -> Any:
    """Array, or tuple of CSR arrays; read-only and of one type, so that one compiled version serves all."""
    if is_sparse(points):
        wide = (part.astype(np.int64, copy=False) for part in (points.indices, points.indptr))
        return (_view_read_only(points.data), *map(_view_read_only, wide))
    return _view_read_only(points)


def _view_read_only(array: Any) -> NDArray[Any]:
    view: NDArray[Any] = array.view()
    view.flags.writeable = False
    return view
