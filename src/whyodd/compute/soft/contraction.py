"""From weights of pairs to relevance of variables: R = Σ_j W_j (x - u_j)² by matrix products, checked."""

from __future__ import annotations

import numpy as np

from whyodd.compute.compiling import compiled
from whyodd.compute.soft.pairs import add_squares
from whyodd.compute.soft.row import row_sum


@compiled
def add_contraction(W, start, stop, x, products, relevance, bound):
    """Add R = x² Σ_j W_j - 2 x (W U) + W U² of one group of centers, and its terms' size (``bound``)."""
    n, d = x.shape
    for i in range(n):
        weight = row_sum(W[i, start:stop])
        for k in range(d):
            a = np.float64(x[i, k])
            b = a * a * weight + np.float64(products[i, d + k])
            relevance[i, k] += b - 2.0 * a * np.float64(products[i, k])
            bound[i, k] += b


@compiled
def finish_block(W, rows, pool, pooled, direct, contracted, bound, noise, out):
    """Sum both parts and clip rounding below 0; rows whose rounding could be seen are contracted exactly."""
    n, d = contracted.shape
    for i in range(n):
        largest, blur = 0.0, 0.0
        for k in range(d):
            largest = max(largest, direct[i, k] + contracted[i, k])
            blur = max(blur, bound[i, k])
        if noise * blur > pool.tolerance * largest:
            _contract_exactly(W, rows, i, pool, pooled, contracted[i])
        for k in range(d):
            out[i, k] = max(direct[i, k] + contracted[i, k], 0.0)


@compiled
def _contract_exactly(W, rows, i, pool, pooled, out):
    """R = Σ_j W_j (x_i - u_j)² pair by pair, without the pairs that cannot be seen."""
    explained = pooled.outlierness[i] - pooled.unexplained[i]
    least = pool.tolerance * explained / (W.shape[1] * out.size)
    for k in range(out.size):
        out[k] = 0.0
    for g in range(pool.starts.size - 1):
        for j in range(pool.starts[g], pool.starts[g + 1]):
            # d² ≤ 2 (‖x‖² + ‖u‖²), so this bounds what the pair explains.
            if 2.0 * W[i, j] * (rows.norms[i, g] + pool.norms[j]) > least:
                add_squares(rows.points, i, pool.points, j, pool.per_scale, np.float64(W[i, j]), out)
