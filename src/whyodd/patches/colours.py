"""Relevance as colour over an image, on one scale for a whole set of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Image = NDArray[Any]
    Bytes = NDArray[np.uint8]
    Doubles = NDArray[np.float64]

# Brighter pixels than this share are rare enough to saturate.
_QUANTILE = 0.999
# Times the mean above which a pixel stands out.
_OUTSTANDING = 4.0
# If nothing is relevant at all, there is still a scale.
_TINY = 1e-12
# Brightness of black and white below the colours: between them every colour of the ramp stands out.
_DIMMED = (0.12, 0.78)
# Purple, red, orange, yellow: brighter and brighter, which the colour-blind see too.
_STOPS = (0.0, 0.35, 0.7, 1.0)
_COLOURS = np.array([(0.42, 0.10, 0.50), (0.80, 0.15, 0.33), (0.98, 0.52, 0.08), (1.0, 0.95, 0.45)])
# Rec. 601, as most programs turn colour into grey.
_LUMINANCE = np.array([0.299, 0.587, 0.114])


def per_pixel(heat: Image) -> Doubles:
    """Relevance (H, W) of pixels, summed over the channels of (H, W, C); negative sums count as 0."""
    summed = np.asarray(heat, dtype=np.float64)
    summed = summed.sum(axis=-1) if summed.ndim == 3 else summed
    return np.asarray(np.maximum(summed, 0.0))


def common_limit(heatmaps: Iterable[Image]) -> float:
    """Relevance shown in the brightest colour: the 99.9 % quantile over all pixels of a set of heatmaps.

    But at least four times the mean: where relevance is the same nearly everywhere, nothing stands out.

    Parameters
    ----------
    heatmaps : iterable of ndarray of shape (H, W) or (H, W, C)

    Returns
    -------
    float
        Above 0, also where nothing is relevant.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.patches.colours import common_limit
    >>> calm, odd = np.full((40, 40), 0.25), np.full((40, 40), 0.25)
    >>> odd[3, 5:15] = 5.0
    >>> common_limit([calm, odd]), common_limit([calm])
    (5.0, 1.0)
    """
    parts = [per_pixel(heat).ravel() for heat in heatmaps]
    if not parts:
        return _TINY
    pixels = np.concatenate(parts)
    return max(float(np.quantile(pixels, _QUANTILE)), _OUTSTANDING * float(pixels.mean()), _TINY)


def overlay(image: Image, heat: Image, limit: float) -> Bytes:
    """Image in dimmed grey with its relevance laid over it: the more relevant, the brighter and more opaque.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, C)
    heat : ndarray of shape (H, W) or (H, W, C)
        Relevance of each pixel; summed over channels.
    limit : float
        Relevance that has the brightest colour, the same for all images that are compared.

    Returns
    -------
    ndarray of uint8 of shape (H, W, 3)
    """
    share = np.clip(per_pixel(heat) / limit, 0.0, 1.0)
    dark, bright = _DIMMED
    grey = dark + (bright - dark) * _grey(image)[..., None]
    opacity = _opacity(share)[..., None]
    return _as_bytes((1.0 - opacity) * grey + opacity * _ramp(share))


def legend(count: int = 256) -> Doubles:
    """Colours (count, 3) from no relevance to the limit, as they look on medium grey."""
    steps = np.linspace(0.0, 1.0, count)
    strip = overlay(np.full((1, count), 128, dtype=np.uint8), steps[None], 1.0)
    return np.asarray(strip[0] / 255.0)


def displayed(image: Image) -> Bytes:
    """Image as a screen shows it: (H, W) if grey, else (H, W, 3).

    Numbers of 8 bits are shown as they are, floats between 0 and 1 too, all others from their least to their
    largest. Of four channels the first three are shown (the last is opacity, or beyond sight); of two, or of
    five and more, the mean.
    """
    return _as_bytes(_visible(image))


def _opacity(share: Doubles) -> Doubles:
    """Smooth step 3 s² - 2 s³, so that relevance far below the limit does not tint the image."""
    return share * share * (3.0 - 2.0 * share)


def _ramp(share: Doubles) -> Doubles:
    return np.stack([np.interp(share, _STOPS, _COLOURS[:, c]) for c in range(3)], axis=-1)


def _grey(image: Image) -> Doubles:
    visible = _visible(image)
    return visible if visible.ndim == 2 else np.asarray(visible @ _LUMINANCE)


def _visible(image: Image) -> Doubles:
    """Channels that are shown, (H, W) or (H, W, 3), between 0 and 1."""
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[-1] in (3, 4):
        pixels = pixels[..., :3]
    elif pixels.ndim == 3:
        pixels = pixels[..., 0] if pixels.shape[-1] == 1 else pixels.mean(axis=-1)
    return _between_0_and_1(pixels, np.asarray(image).dtype)


def _between_0_and_1(pixels: Image, dtype: np.dtype[Any]) -> Doubles:
    values = pixels.astype(np.float64)
    if dtype == np.uint8:
        return values / 255.0
    low, high = float(values.min()), float(values.max())
    if low >= 0.0 and high <= 1.0 and dtype.kind in "fb":
        return values
    if low == high:
        return np.full_like(values, 0.5)
    return (values - low) / (high - low)


def _as_bytes(values: Doubles) -> Bytes:
    return np.asarray(np.round(255.0 * np.clip(values, 0.0, 1.0)), dtype=np.uint8)
