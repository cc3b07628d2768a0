"""The possible number of neighbours."""

from __future__ import annotations

import warnings


def fewer_than_rows(n_neighbors: int, n: int) -> int:
    """k, or n - 1 with a warning, as in scikit-learn's local outlier factor: no row is its own neighbour."""
    if n < 2:
        raise ValueError(f"Expected at least two rows with a weight, but there is {n}. Pass more rows.")
    if n_neighbors < n:
        return n_neighbors
    warnings.warn(
        f"n_neighbors={n_neighbors}, but each of {n} rows has only {n - 1} other(s): {n - 1} is used "
        "instead. Pass a smaller n_neighbors, or more rows.",
        UserWarning,
        stacklevel=5,  # the line that called fit
    )
    return n - 1
