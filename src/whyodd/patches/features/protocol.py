"""The interface that turns an image into a map of features, and relevance back onto its pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]


@runtime_checkable
class Features(Protocol):
    """A map of features for each image.

    Attributes
    ----------
    told : str
        How relevance comes onto pixels, to follow "Relevance came onto pixels": "by receptive fields".
    is_even : bool, optional
        Whether an image turned by half has the same features, turned. False if it is not there.
    """

    @property
    def told(self) -> str: ...  # noqa: D102

    def __call__(self, image: Floats) -> NDArray[np.float32]:
        """Features (h, w, F) of an image (H, W, C) whose pixels go from 0 to 255."""
        ...

    def spread(self, relevance: NDArray[np.float64], image: Floats) -> NDArray[np.float64]:
        """Relevance of features (h, w, F) on the pixels (H, W) of the image; its sum stays the same."""
        ...


def as_colours(image: Floats) -> Floats:
    """An image (H, W, C) in red, green and blue: grey repeated three times, opacity dropped."""
    channels = image.shape[-1]
    if image.ndim != 3 or channels not in (1, 2, 3, 4):
        raise ValueError(f"Expected a grey or colour image, (H, W, 1) or (H, W, 3), got shape {image.shape}.")
    # Two channels are grey with opacity, four are colours with opacity.
    return np.repeat(image[..., :1], 3, axis=-1) if channels < 3 else image[..., :3]


def checked_map(features: Any, what: str) -> NDArray[np.float32]:
    """A map of features (h, w, F) in single precision, or one sentence on what is wrong with it."""
    found = np.asarray(features)
    if found.ndim != 3 or found.size == 0 or found.dtype.kind not in "fiub":
        raise ValueError(
            f"{what} must return a map of numbers (h, w, F) with at least one place and feature, got "
            f"{found.dtype} of shape {found.shape}."
        )
    numbers = np.ascontiguousarray(found, dtype=np.float32)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{what} returned features that are not finite numbers. Check the network and its input."
        )
    return numbers
