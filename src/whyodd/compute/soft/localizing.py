"""Dense rows seen from the origin of a group of centers, with their norms: all in one pass over memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.compiling import compiled_as_written
from whyodd.compute.vector_math import added

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Wide = NDArray[np.float64]


@compiled_as_written
def fill_local(raw: Floats, origin: Wide, per_scale: float, local: Floats, norms: Wide) -> None:
    """Fill ``local`` with (x - origin) / scale, the difference in float64, and ``norms`` with its ‖·‖²."""
    kind = local.dtype.type
    for i in range(raw.shape[0]):
        norm = 0.0
        for k in range(raw.shape[1]):
            z = kind((np.float64(raw[i, k]) - origin[k]) * per_scale)
            local[i, k] = z
            norm = added(norm, np.float64(z) * np.float64(z))
        norms[i] = norm
