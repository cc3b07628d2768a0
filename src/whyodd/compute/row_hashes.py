"""A number for each row, the same for equal rows: a fast way to see that no two rows are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points

# Odd, with bits as if at random: 2⁶⁴ over the golden ratio.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# Doubles that stay in the nearest cache through all passes over them.
_BLOCK = 1 << 13


def row_hashes(X: Points) -> NDArray[np.uint64]:
    """Hashes (n,) of the rows of X (n, d): equal for equal rows, and hardly ever equal for others."""
    if is_sparse(X):
        pairs = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        keys = [hash((X.indices[a:b].tobytes(), X.data[a:b].tobytes())) for a, b in pairs]
        return np.array(keys, dtype=np.int64).astype(np.uint64)
    n, d = X.shape
    out, powers = np.empty(n, dtype=np.uint64), np.cumprod(np.full(d, _FACTOR))
    step = max(_BLOCK // d, 1)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        # Adding 0 makes -0 and 0 the same.
        bits = (X[rows].astype(np.float64) + 0.0).view(np.uint64)
        # Small whole numbers differ in their highest bits alone, which products would not carry down.
        bits ^= bits >> np.uint64(32)
        bits *= _FACTOR
        bits ^= bits >> np.uint64(29)
        np.matmul(bits, powers, out=out[rows])
    return out
