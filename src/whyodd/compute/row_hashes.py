"""A number for each row that equal rows share: a quick way to see that no two rows are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from whyodd.compute.points import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points

_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)


def row_hashes(X: Points) -> NDArray[np.uint64]:
    """Hashes (n,) of the rows of X (n, d): equal rows have equal ones, others hardly ever."""
    if is_sparse(X):
        pairs = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        keys = [hash((X.indices[a:b].tobytes(), X.data[a:b].tobytes())) for a, b in pairs]
        return np.array(keys, dtype=np.int64).astype(np.uint64)
    return np.asarray(_dense_hashes(np.ascontiguousarray(X)))


@njit(cache=True, nogil=True)
def _dense_hashes(X: Any) -> Any:
    out = np.empty(X.shape[0], np.uint64)
    for i in range(X.shape[0]):
        value = _BASIS
        for k in range(X.shape[1]):
            # Adding 0 makes -0 and 0 the same.
            bits = np.float64(np.float64(X[i, k]) + 0.0).view(np.uint64)
            value = (value ^ bits) * _PRIME
            value ^= value >> np.uint64(29)
        out[i] = value
    return out
