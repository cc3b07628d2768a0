"""Rows of X that are centers themselves, and would explain themselves away."""

from __future__ import annotations

from collections import defaultdict
from itertools import cycle
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from whyodd.network.waist import center_of_rows

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.network.distance_network import DistanceNetwork

    ExcludeSelf = Literal["auto"] | bool
    Own = NDArray[np.intp]


# Steps of a pipeline round differently when they are fitted and when they transform.
_ROUNDING = 1e-9
# Rows that are compared at a time.
_AT_ONCE = 256


def own_centers(
    network: DistanceNetwork, X: Points, exclude_self: ExcludeSelf, *, transformed: bool = False
) -> Own | None:
    """(n,) index of the center to leave out per row of ``X``, -1 for none; None to leave out none at all.

    Parameters
    ----------
    network : DistanceNetwork
    X : ndarray or CSR matrix of shape (n, d)
        In the precision in which it was given.
    exclude_self : "auto" or bool
        "auto": only if ``X`` demonstrably holds the training rows; True: also by equal values, or an error;
        False: never.
    transformed : bool, default False
        Whether ``X`` went through the steps of a pipeline, and equals training rows to rounding only.
    """
    if exclude_self not in ("auto", True, False):
        raise ValueError(f"exclude_self={exclude_self!r}: expected 'auto', True or False.")
    if not exclude_self:
        return None
    own = None
    if network.rows is not None and X.shape[0] == network.n_rows:
        own = own_by_training_row(network, X, network.rows, transformed=transformed)
    if own is None and exclude_self != "auto":
        own = _by_equal_values(network, X, transformed=transformed)
        if np.all(own < 0):
            raise ValueError(
                "exclude_self=True, but no row of X equals a center of the model. "
                "Pass the rows it was trained on, or exclude_self=False for new rows."
            )
    return own


def known_rows(network: DistanceNetwork, X: Points, *, transformed: bool = False) -> Own | None:
    """(n,) the center that each row of ``X`` is, or -1; None if the centers are not training rows.

    All training rows are known by their places, others by equal values.
    """
    if network.rows is None:
        return None
    own = own_centers(network, X, "auto", transformed=transformed)
    return _by_equal_values(network, X, transformed=transformed) if own is None else own


def own_by_training_row(
    network: DistanceNetwork, X: Points, rows: NDArray[np.intp], *, transformed: bool
) -> Own | None:
    """(n_rows,) the center that each row is, or -1; None unless ``X[rows]`` are the centers."""
    if not _equal(X, rows, network.centers, _ROUNDING if transformed else 0.0):
        return None
    return center_of_rows(network)


def _by_equal_values(network: DistanceNetwork, X: Points, *, transformed: bool) -> Own:
    if transformed:
        return _by_nearly_equal_values(network, X)
    centers: dict[Hashable, list[int]] = defaultdict(list)
    for index, key in enumerate(_row_keys(network.centers)):
        centers[key].append(index)
    # Equal rows use equal centers in turn: each leaves out one.
    turns = {key: cycle(indices) for key, indices in centers.items()}
    return np.array([next(turns[key]) if key in turns else -1 for key in _row_keys(X)], dtype=np.intp)


def _by_nearly_equal_values(network: DistanceNetwork, X: Points) -> Own:
    """The nearest center of each row, if it is the row to rounding."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=1).fit(network.centers)
    nearest = search.kneighbors(X, return_distance=False)[:, 0]
    gaps = abs(X - network.centers[nearest]).max(axis=1)
    gaps = np.ravel(gaps.toarray() if sparse.issparse(gaps) else gaps)
    return np.where(gaps <= _ROUNDING * abs(network.centers).max(), nearest, -1)


def _equal(X: Points, rows: NDArray[np.intp], centers: Points, rounding: float) -> bool:
    """Whether ``X[rows]`` are the centers, to rounding."""
    if sparse.issparse(X) or sparse.issparse(centers):
        return all(a == b for a, b in zip(_row_keys(X[rows]), _row_keys(centers), strict=True))
    least = rounding * float(np.abs(centers).max()) if rounding > 0.0 else 0.0
    # The first few tell other rows.
    parts = (slice(start, start + _AT_ONCE) for start in range(0, len(centers), _AT_ONCE))
    return all(np.allclose(X[rows[part]], centers[part], rounding, least) for part in parts)


def _row_keys(X: Points) -> Iterator[Hashable]:
    """For each row its nonzero float64 values and where they are, as bytes: equal keys mean equal rows."""
    if sparse.issparse(X):
        canonical = X.astype(np.float64, copy=True)
        canonical.sum_duplicates()
        canonical.eliminate_zeros()
        for start, stop in zip(canonical.indptr[:-1], canonical.indptr[1:], strict=True):
            columns = canonical.indices[start:stop].astype(np.int64)
            yield columns.tobytes(), canonical.data[start:stop].tobytes()
        return
    for row in X:
        columns = np.flatnonzero(row)
        yield columns.astype(np.int64).tobytes(), row[columns].astype(np.float64).tobytes()
