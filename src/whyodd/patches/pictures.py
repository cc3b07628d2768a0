"""Pictures embedded in a page, without separate files."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


NO_PICTURES = "Pictures need pillow. Run: pip install 'whyodd[plots]'"


def sized(pixels: NDArray[np.uint8], longest: int) -> Any:
    """Pillow image with at most ``longest`` pixels a side.

    Large pictures get smaller without aliasing; small ones are enlarged by a whole number, so that pixels
    show.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(NO_PICTURES) from error
    image = Image.fromarray(pixels)
    side = max(image.size)
    if side > longest:
        sides = [max(round(length * longest / side), 1) for length in image.size]
        return image.resize(sides, Image.Resampling.BOX)
    times = longest // side
    return image.resize([times * length for length in image.size], Image.Resampling.NEAREST)


def data_uri(image: Any) -> str:
    """A Pillow image as a data URI of a PNG."""
    file = BytesIO()
    image.save(file, format="PNG", optimize=True)
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode('ascii')}"
