"""Columns that never varied in training: they have no scale by which to measure a deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def never_varied(X: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which columns of X (n, d) hold one value only, (d,); an error if all do."""
    constant = X.max(axis=0) == X.min(axis=0)
    if constant.all():
        raise ValueError(
            f"Every column of X is constant over its {len(X)} row(s) with a weight: there is no variance to "
            "measure distances with. Pass data that varies."
        )
    return np.asarray(constant)
