"""Features computed by any function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from whyodd.patches.features.axes import along_both, cells
from whyodd.patches.features.protocol import checked_map

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]


@dataclass(frozen=True)
class FunctionFeatures:
    """Features that a function computes for an image (H, W, C) with pixels from 0 to 255.

    Parameters
    ----------
    function : callable
        Gives a map (h, w, F); its places are taken to lie evenly over the image.

    Examples
    --------
    >>> import numpy as np
    >>> halves = FunctionFeatures(lambda image: image[::2, ::2])
    >>> halves.spread(np.ones((2, 2, 1)), np.zeros((4, 4, 1))).sum()
    np.float64(4.0)
    """

    function: Callable[[Floats], Any]
    told: ClassVar[str] = "by equal parts of the image, one for each place of the features"

    def __call__(self, image: Floats) -> NDArray[np.float32]:
        """Features (h, w, F) of an image (H, W, C) whose pixels go from 0 to 255."""
        return checked_map(self.function(image), "features")

    def spread(self, relevance: NDArray[np.float64], image: Floats) -> NDArray[np.float64]:
        """Relevance of features (h, w, F) on the pixels (H, W): that of a place goes to its cell."""
        return spread_over_cells(relevance, image)


def spread_over_cells(relevance: NDArray[np.float64], image: Floats) -> NDArray[np.float64]:
    """Relevance of each place in equal parts on the pixels of its cell of the image."""
    rows, columns = (cells(*sizes) for sizes in zip(image.shape[:2], relevance.shape[:2], strict=True))
    return along_both(rows, relevance.sum(axis=-1), columns)
