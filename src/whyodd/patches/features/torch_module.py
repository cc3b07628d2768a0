"""Features of a torch module, whose gradients show which pixels matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.patches.features.axes import along_both, smooth_cells
from whyodd.patches.features.protocol import as_colours, checked_map

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]

_MEAN, _SCALE = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


@dataclass(frozen=True)
class TorchFeatures:
    """Features of a torch module that maps an image (1, 3, H, W) to a map (1, F, h, w).

    Parameters
    ----------
    module : torch.nn.Module
        Used as in evaluation, without changing its mode for others.
    mean, scale : tuple of float
        The module sees (pixel - mean) / scale for each colour, with pixels from 0 to 255; ImageNet's by
        default.
    """

    module: Any
    mean: tuple[float, float, float] = _MEAN
    scale: tuple[float, float, float] = _SCALE
    told: ClassVar[str] = "by the gradients of the network"

    def __call__(self, image: Floats) -> NDArray[np.float32]:
        """Features (h, w, F) of an image (H, W, C) whose pixels go from 0 to 255."""
        import torch

        with torch.no_grad(), _in_evaluation(self.module):
            found = self.module(self._tensor(image))
        return checked_map(_places_first(found).cpu().numpy(), "The torch module")

    def spread(self, relevance: NDArray[np.float64], image: Floats) -> NDArray[np.float64]:
        """Relevance of features (h, w, F) on the pixels (H, W) of the image; its sum stays the same.

        That of a place goes to the pixels around it, by how strongly the features that have the relevance
        answer to them.
        """
        import torch

        with torch.enable_grad(), _in_evaluation(self.module):
            x = self._tensor(image).requires_grad_(True)
            found = _places_first(self.module(x))
            weights = torch.as_tensor(relevance, dtype=found.dtype, device=found.device)
            (gradient,) = torch.autograd.grad((weights * found).sum(), x)
        return spread_by_weights(relevance.sum(axis=-1), gradient[0].abs().sum(dim=0).cpu().numpy())

    def _tensor(self, image: Floats) -> Any:
        import torch

        normed = (as_colours(image) - np.array(self.mean)) / np.array(self.scale)
        kind = next(self.module.parameters(), torch.zeros(1))
        return torch.as_tensor(normed.transpose(2, 0, 1)[None].copy(), dtype=kind.dtype, device=kind.device)


def spread_by_weights(relevance: NDArray[np.float64], weights: Floats) -> NDArray[np.float64]:
    """Relevance of places (h, w) on pixels (H, W) around them, in proportion to their ``weights``.

    A place reaches as far as its neighbours. Without any weight around it, its relevance is shared alike.
    """
    rows, columns = (
        smooth_cells(length, size, length / size)
        for length, size in zip(weights.shape, relevance.shape, strict=True)
    )
    # A little for all, so that no place is left without a pixel to give to.
    shares = weights.astype(np.float64) + max(float(weights.max()), 1e-300) * 1e-6
    reached = along_both(rows.T, shares, columns.T)
    return np.asarray(shares * along_both(rows, relevance / reached, columns))


def _places_first(found: Any) -> Any:
    """A map (1, F, h, w) as (h, w, F)."""
    if getattr(found, "ndim", 0) != 4 or found.shape[0] != 1:
        shape = tuple(getattr(found, "shape", ()))
        raise ValueError(f"The torch module must return a feature map (1, F, h, w), got {shape}.")
    return found[0].permute(1, 2, 0)


class _in_evaluation:  # noqa: N801, as a context it reads as words
    """Puts a module into evaluation mode, and restores its mode afterwards."""

    def __init__(self, module: Any) -> None:
        self.modes = {each: each.training for each in module.modules()}

    def __enter__(self) -> None:
        for each in self.modes:
            each.training = False

    def __exit__(self, *_: object) -> None:
        for each, mode in self.modes.items():
            each.training = mode
