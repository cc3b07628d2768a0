"""The network whose centers are training rows: equal rows are one center with their weights together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel
    from whyodd.models.fitting.merging import MergedRows


def network_of_rows(
    X: Points, merged: MergedRows, alpha: NDArray[np.float64], kernel: Kernel, offset: float = 0.0
) -> DistanceNetwork:
    """Network of the rows of X (n, d) that have a weight; ``alpha`` (k,) are those of the distinct rows."""
    rows, copies = merged.rows_of(np.flatnonzero(alpha))
    return DistanceNetwork(
        X[rows],
        kernel=kernel,
        log_weights=np.log(alpha[merged.which(rows)]),
        offset=offset,
        rows=rows,
        n_rows=X.shape[0],
        copies=copies,
    )
