"""A number for each row, the same for equal rows: a fast way to see that no two rows are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points

_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)


def row_hashes(X: Points) -> NDArray[np.uint64]:
    """Hashes (n,) of the rows of X (n, d): equal for equal rows, and hardly ever equal for others."""
    if is_sparse(X):
        pairs = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        keys = [hash((X.indices[a:b].tobytes(), X.data[a:b].tobytes())) for a, b in pairs]
        return np.array(keys, dtype=np.int64).astype(np.uint64)
    out = np.full(X.shape[0], _BASIS)
    for column in X.T:
        # Adding 0 makes -0 and 0 the same.
        bits = (column.astype(np.float64) + 0.0).view(np.uint64)
        out = (out ^ bits) * _PRIME
        out ^= out >> np.uint64(29)
    return out
