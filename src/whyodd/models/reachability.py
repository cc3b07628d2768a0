"""Reach distances and local densities of training rows, for the local outlier factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.neighbors import NearestNeighbors

from whyodd.compute.points import is_sparse
from whyodd.maths.hard_poolings import LocalReach

if TYPE_CHECKING:
    from whyodd.compute.points import Points

# scikit-learn adds it to a mean reachability, so that the density of k equal rows is finite.
_FLOOR = 1e-10


def local_reach(points: Points, k: int) -> LocalReach:
    """Pooling of the local outlier factor: κ_j the distance to the k-th neighbour, L_j the local density.

    L_j = 1 / (mean_i max(κ_i, d_ij) + 1e-10) over the k neighbours i of row j, which do not include j itself.

    Parameters
    ----------
    points : ndarray or CSR array of shape (n, d)
        Training rows.
    k : int
        Number of neighbours, less than n.

    Returns
    -------
    LocalReach
    """
    wide = points.astype(np.float64)
    if not is_sparse(points):
        wide = wide - wide.mean(axis=0)  # search by matrix products loses digits far from the origin
    distances, neighbors = NearestNeighbors(n_neighbors=k).fit(wide).kneighbors()
    reaches = distances[:, -1]
    reachability = np.maximum(distances, reaches[neighbors]).mean(axis=1)
    return LocalReach(k, reaches=reaches, densities=1.0 / (reachability + _FLOOR), floor=_FLOOR)
