"""Images as people pass them: read one by one, as numbers, and recognised later."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.patches.items import as_items, is_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def as_sequence(images: Any) -> Sequence[Any]:
    """Images one by one: a batch in an array, one image, or a sequence, which may read them on request."""
    if not hasattr(images, "__len__") or isinstance(images, (str, bytes)):
        raise TypeError(
            f"Expected a list or an array of images, got {type(images).__name__}. Pass [image] for one image."
        )
    if isinstance(images, np.ndarray) and images.ndim > 0 and len(images) > 0:
        return list(images) if is_batch(images, 2) else [images]
    if len(images) == 0:
        raise ValueError("There are no images: pass at least one.")
    return images if not np.isscalar(images[0]) else [np.asarray(images)]


def values_of(image: Any, what: str) -> NDArray[Any]:
    """Pixels (H, W, C) of an image; errors call it ``what``."""
    given = np.asarray(image)
    if given.ndim not in (2, 3) or given.size == 0:
        raise ValueError(
            f"{what} has shape {given.shape}, expected an image (H, W) or (H, W, C) with at least one pixel."
        )
    try:
        return as_items([given], 2)[0].values
    except ValueError as error:
        raise ValueError(str(error).replace("Item 0", what)) from None


def fingerprint(image: Any) -> str:
    """A fingerprint that recognises an image: its numbers, type and shape."""
    numbers = np.ascontiguousarray(image)
    digest = hashlib.blake2b(f"{numbers.shape} {numbers.dtype.str}".encode(), digest_size=16)
    digest.update(numbers.data)
    return digest.hexdigest()
