"""Features of the pretrained network: what they cost, how wide places see, and whether torch has the same.

Run: python benchmarks/deep.py

The graph that ``whyodd.patches.features`` builds is compared with torch's convolutions on the same weights if
torch is installed (tests compare it with plain NumPy). A changed spot tells how wide the places of each block
see: the standard deviation of the energy of the answers, beside what the weights alone say.
"""

from __future__ import annotations

import resource
import time
from importlib.util import find_spec

import numpy as np

from sidebyside import print_table
from whyodd.patches.features import DeepFeatures
from whyodd.patches.features.efficientnet import (
    BLOCKS,
    STEM,
    effective_width,
    graph_bytes,
    load_weights,
    step,
)
from whyodd.patches.features.running import open_session

SHAPES = ((300, 400), (512, 512), (1024, 1024), (3000, 4000))
SIZE, SPOTS = 384, 24


def print_cost() -> None:
    rows = []
    deep, rng = DeepFeatures(), np.random.default_rng(0)
    deep(np.zeros((64, 64, 1)))
    for shape in SHAPES:
        image = rng.uniform(0.0, 255.0, size=(*shape, 1)).astype(np.float32)
        turns = []
        for _ in range(3):
            start = time.perf_counter()
            features = deep(image)
            turns.append(time.perf_counter() - start)
        start = time.perf_counter()
        deep.spread(features.astype(np.float64), image)
        back = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size, places = (" × ".join(map(str, each)) for each in (shape, features.shape[:2]))
        rows.append((size, places, f"{1000 * min(turns):.0f} ms", f"{1000 * back:.0f} ms", f"{peak:.0f} MB"))
    print_table("One image", ("pixels", "places", "features", "back onto pixels", "peak memory so far"), rows)


def natural_image(rng: np.random.Generator) -> np.ndarray:
    """Noise (1, 3, SIZE, SIZE) whose amplitudes fall with the frequency, as those of photographs do."""
    waves = np.hypot(*np.meshgrid(np.fft.fftfreq(SIZE), np.fft.fftfreq(SIZE)))
    waves[0, 0] = 1.0
    grain = np.fft.ifft2(np.fft.fft2(rng.normal(size=(3, SIZE, SIZE))) / waves).real
    return (0.4 * grain / grain.std())[None].astype(np.float32)


def print_widths() -> None:
    weights = load_weights()
    session = open_session(graph_bytes(weights, tuple(range(len(BLOCKS)))))
    squares = np.zeros((SPOTS, len(BLOCKS)))
    for turn in range(SPOTS):
        rng = np.random.default_rng(turn)
        image = natural_image(rng)
        spot, changed = int(rng.integers(160, 224)), image.copy()
        changed[..., spot : spot + 2, spot : spot + 2] += 0.5
        pairs = zip(session.run(None, {"image": image}), session.run(None, {"image": changed}), strict=True)
        for place, (before, after) in enumerate(pairs):
            energy = ((after - before)[0] ** 2).sum(axis=(0, 1))
            middles = (np.arange(len(energy)) + 0.5) * step(place) - 0.5
            squares[turn, place] = energy @ (middles - spot - 0.5) ** 2 / energy.sum()
    measured = np.sqrt(squares.mean(axis=0))
    rows = [
        (str(place), str(step(place)), f"{measured[place]:.1f}", f"{effective_width(weights, place):.1f}")
        for place in range(len(BLOCKS))
    ]
    print_table("How wide places see, in pixels", ("block", "step", "measured", "by the weights"), rows)


def print_difference_from_torch() -> None:
    import torch

    weights = {name: torch.tensor(values) for name, values in load_weights().items()}
    image = natural_image(np.random.default_rng(0))

    def layer(x, one, bends):
        kernel, pads = weights[f"{one.convolution}.weight"], []
        for length in reversed(x.shape[2:]):
            total = max((-(-length // one.stride) - 1) * one.stride + kernel.shape[-1] - length, 0)
            pads += [total // 2, total - total // 2]
        y = torch.nn.functional.conv2d(
            torch.nn.functional.pad(x, pads), kernel, stride=one.stride, groups=one.groups
        )
        moments = (
            weights[f"{one.norm}.{name}"] for name in ("running_mean", "running_var", "weight", "bias")
        )
        y = torch.nn.functional.batch_norm(y, *moments, eps=1e-3)
        return y.clamp(0.0, 6.0) if bends else y

    x = layer(torch.tensor(image), STEM, True)
    found = open_session(graph_bytes(load_weights(), tuple(range(len(BLOCKS))))).run(None, {"image": image})
    rows = []
    for place, block in enumerate(BLOCKS):
        *inner, last = block.layers(place)
        y = x
        for one in inner:
            y = layer(y, one, True)
        y = layer(y, last, False)
        x = y + x if block.is_residual else y
        off = np.abs(found[place] - x.numpy()).max() / np.abs(x.numpy()).max()
        rows.append((str(place), f"{off:.1e}"))
    print_table("Largest difference from torch, relative", ("block", "difference"), rows)


def main() -> None:
    print_cost()
    print_widths()
    if find_spec("torch") is None:
        print("torch is not installed: tests compare the network with plain NumPy instead.")
    else:
        print_difference_from_torch()


if __name__ == "__main__":
    main()
