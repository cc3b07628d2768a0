"""Reads pictures from files, as arrays of numbers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Image = NDArray[Any]

_ENDINGS = frozenset(
    (".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp")
)
# White of 8 bits is white of 16 bits: 255 · 257 = 65535.
_TO_16_BITS = 257
# Rec. 601, as most programs turn colour into grey.
_LUMINANCE = np.array([0.299, 0.587, 0.114])


def image_files(path: str | Path) -> list[Path]:
    """The picture at ``path``, or all pictures of the folder, by name; subfolders are ignored.

    Raises
    ------
    OSError
        If there is nothing at ``path``, or no picture in the folder.
    """
    path = Path(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"{path} does not exist: expected a picture or a folder of pictures.")
    found = sorted(file for file in path.iterdir() if _is_picture(file))
    if not found:
        endings = ", ".join(sorted(_ENDINGS))
        raise FileNotFoundError(f"{path} holds no pictures: expected files that end in {endings}.")
    return found


def _is_picture(file: Path) -> bool:
    """Whether the name is that of a picture; a name that begins with a dot belongs to another program."""
    return file.suffix.lower() in _ENDINGS and not file.name.startswith(".") and file.is_file()


def read_image(path: str | Path) -> Image:
    """Picture in a file, as (H, W) if grey and (H, W, 3) if in colour.

    Turned as its EXIF notes say. Palettes become what they look like (grey if all colours are), one bit and
    8 bits become uint8, 16 bits of grey stay uint16, floats stay floats; CMYK and the like become RGB, and so
    do colours of 16 bits, in 8 bits. Transparent pixels are laid on white, and the opacity is dropped. Of an
    animation or a file of several pages it is the first.

    Raises
    ------
    OSError
        If the file cannot be read: it is missing, broken, no picture, or too large.
    """
    pillow = pillow_image()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd metadata in a readable file do not matter
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            return _checked(_read(path))
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        most = f"{pillow.MAX_IMAGE_PIXELS:,}"
        raise OSError(
            f"cannot read {path}: it has more than {most} pixels. Make it smaller, or cut it into parts."
        ) from None
    except Exception as error:  # a broken file can make a decoder raise anything
        raise OSError(f"cannot read {path}: {_reason(error)}.") from error


def pillow_image() -> Any:
    """Pillow's module ``Image``, or one sentence on how to get it."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading pictures needs pillow, which is not installed. Run: pip install 'whyodd[plots]'"
        ) from None
    return Image


def _read(path: str | Path) -> Image:
    from PIL import Image, ImageOps

    with Image.open(path) as opened:
        picture = ImageOps.exif_transpose(opened)
        if picture.mode.startswith("I"):  # 16 bits, or 32
            return _whole_numbers(np.asarray(picture))
        if picture.mode == "F":
            return np.array(picture)
        return np.array(_plain(picture))


def _plain(picture: Any) -> Any:
    """Picture in grey ("L") or colour ("RGB"), on white where it was transparent."""
    if picture.has_transparency_data:
        picture = _on_white(picture)
    elif picture.mode not in ("1", "L", "RGB"):
        is_palette = picture.mode == "P"
        picture = picture.convert("RGB")
        return picture.convert("L") if is_palette and _is_grey(np.asarray(picture)) else picture
    return picture.convert("L") if picture.mode == "1" else picture


def _on_white(picture: Any) -> Any:
    """Picture without its opacity; grey stays grey."""
    from PIL import Image

    was_grey = picture.mode in ("1", "L", "LA", "La")
    layer = picture.convert("RGBA")
    white = Image.new("RGBA", layer.size, "white")
    merged = Image.alpha_composite(white, layer).convert("RGB")
    is_grey = was_grey or (picture.mode in ("P", "PA") and _is_grey(np.asarray(merged)))
    return merged.convert("L") if is_grey else merged


def _is_grey(colours: Image) -> bool:
    return bool((colours == colours[..., :1]).all())


def _whole_numbers(values: Image) -> Image:
    """16 bits as uint16, whatever their order in the file; 32 bits as they are if they need more."""
    fits = values.min() >= 0 and values.max() <= np.iinfo(np.uint16).max
    return values.astype(np.uint16 if fits else np.int32)


def _checked(image: Image) -> Image:
    if not np.isfinite(image).all():
        raise ValueError("it holds missing or infinite numbers")
    return image


def _reason(error: Exception) -> str:
    """The problem in short; pillow's message repeats the file name, or describes pillow's internals."""
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "it is not a picture, or its beginning is damaged"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, ValueError) and str(error).startswith("it holds"):
        return str(error)
    return f"the file is damaged or incomplete ({str(error).rstrip('.') or type(error).__name__})"


def read_images(paths: Iterable[str | Path]) -> list[Image]:
    """Pictures in files, converted to one form: see :func:`read_image` and :func:`alike`."""
    return alike([read_image(path) for path in paths])


class PictureFiles:
    """A sequence of pictures in files, read on request, all in grey or all in colour.

    Attributes
    ----------
    files : list of path
    in_colour : bool
    width : int, optional
        Make all pictures this wide.
    """

    def __init__(self, files: Sequence[Path], *, in_colour: bool, width: int | None = None) -> None:
        self.files, self.in_colour, self.width = list(files), in_colour, width

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> Image:
        image = read_image(self.files[i])
        if self.width is not None:
            image = resized(image, self.width)
        if self.in_colour and image.ndim == 2:
            return np.repeat(image[..., None], 3, axis=-1)
        if not self.in_colour and image.ndim == 3:
            return _of_kind((image @ _LUMINANCE).astype(np.float32), image.dtype)
        return image


def alike(images: Sequence[Image]) -> list[Image]:
    """Images with the same number of channels and the same value for white.

    If some are in colour, (H, W, 3), the grey ones, (H, W), become so too. If some have 16 bits, those of 8
    bits are stretched to them.
    """
    dtypes = {image.dtype for image in images}
    if {np.dtype(np.uint8), np.dtype(np.uint16)} == dtypes:
        images = [_in_16_bits(image) for image in images]
    elif len(dtypes) > 1:
        told = " and ".join(sorted(map(str, dtypes)))
        raise ValueError(
            f"The pictures use different number types, {told}, with different values for white. Convert "
            "them to one type."
        )
    if len({image.ndim for image in images}) == 1:
        return list(images)
    return [np.repeat(image[..., None], 3, axis=-1) if image.ndim == 2 else image for image in images]


def _in_16_bits(image: Image) -> Image:
    return image.astype(np.uint16) * _TO_16_BITS if image.dtype == np.uint8 else image


def resized(image: Image, width: int) -> Image:
    """Image at another width, its height in proportion, without aliasing; the number type is kept."""
    pillow = pillow_image()
    height = max(round(image.shape[0] * width / image.shape[1]), 1)
    channels = image[..., None] if image.ndim == 2 else image
    parts = [
        # Bicubic over all pixels that fall into a new one: pillow's filters widen when they shrink.
        np.asarray(
            pillow.fromarray(part.astype(np.float32)).resize((width, height), pillow.Resampling.BICUBIC)
        )
        for part in np.moveaxis(channels, -1, 0)
    ]
    return _of_kind(np.stack(parts, axis=-1).reshape(height, width, *image.shape[2:]), image.dtype)


def _of_kind(values: NDArray[np.float32], dtype: np.dtype[Any]) -> Image:
    if dtype.kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.round(values.astype(np.float64)), limits.min, limits.max).astype(dtype)
