"""The argument ``features`` as people give it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.patches.features.contrast import ContrastFeatures
from whyodd.patches.features.deep import DeepFeatures
from whyodd.patches.features.function import FunctionFeatures
from whyodd.patches.features.protocol import Features

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

# Names that people may pass.
FEATURES: dict[str, Callable[[], Features]] = {"contrast": ContrastFeatures, "deep": DeepFeatures}
_SIXTEEN_BITS = 257.0  # of eight bits


def as_features(given: Any) -> Features | None:
    """Features by name, of an ONNX file, a torch module or a function; None for plain pixels."""
    if given is None:
        return None
    if isinstance(given, str) and given in FEATURES:
        return FEATURES[given]()
    if isinstance(given, (str, Path)) and Path(given).suffix.lower() == ".onnx":
        from whyodd.patches.features.onnx_file import OnnxFeatures

        return OnnxFeatures(str(given))
    if isinstance(given, Features):
        return given
    if _is_torch_module(given):
        from whyodd.patches.features.torch_module import TorchFeatures

        return TorchFeatures(given)
    if callable(given) and not isinstance(given, type):
        return FunctionFeatures(given)
    names = ", ".join(map(repr, FEATURES))
    raise ValueError(
        f"features={given!r}: expected {names}, a path to an .onnx file, a torch module, or a function that "
        "maps an image (H, W, C) to features (h, w, F)."
    )


def _is_torch_module(given: Any) -> bool:
    return any(kind.__module__ == "torch.nn.modules.module" for kind in type(given).__mro__)


def pixel_unit(images: Sequence[NDArray[Any]]) -> float:
    """Factor that brings pixels to the range 0 to 255: from their type, or for floats from their range."""
    kinds = {image.dtype for image in images}
    if kinds == {np.dtype(bool)}:
        return 255.0
    if kinds == {np.dtype(np.uint16)}:
        return 1.0 / _SIXTEEN_BITS
    if all(kind.kind == "f" for kind in kinds):
        low, high = min(image.min() for image in images), max(image.max() for image in images)
        return 255.0 if low >= 0.0 and high <= 1.0 else 1.0
    return 1.0
