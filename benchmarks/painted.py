"""Defects painted into good tiles: what settings are chosen by where no real defect may be looked at.

Four kinds, drawn at random in place, size, strength and direction: dark dots, thin dark lines, rough chips of
another brightness (often at the border), and large worn areas whose streaks are faded, turned or re-lit.
They are painted into ten of the 50 good tiles that models may see, three times each; the model is fitted to
the other forty. This prints how well relevance finds the painted pixels, for some degrees q of the kernel and
widths of the smoothing.

Run: python benchmarks/painted.py [--quick]
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import binary_dilation, gaussian_filter

from realdata import data_dir
from sidebyside import print_table
from tiles import FEW_PATCHES, N_TRAIN, PATCHES, areas_inside, average, fit_tiles, read_tiles, smoothed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Painted = tuple[np.ndarray, np.ndarray]
    Painter = Callable[[np.ndarray, np.random.Generator], Painted]

DEGREES, WIDTHS, PAINTINGS = (4.0, 6.0, 8.0), (0.0, 2.0, 3.0, 4.0, 6.0, 8.0), 3

# Pixels that a painted defect has at least, and its largest share of the tile.
LEAST_PIXELS, LARGEST_SHARE = 10, 0.6


def painted_tiles(tiles: Sequence[np.ndarray], seed: int = 0) -> dict[str, list[Painted]]:
    """For each kind every tile with one defect painted into it, and the mask of the defect."""
    return {
        kind: [_painted(tile, paint, np.random.default_rng([seed, k, i])) for i, tile in enumerate(tiles)]
        for k, (kind, paint) in enumerate(PAINTERS.items())
    }


def _painted(tile: np.ndarray, paint: Painter, rng: np.random.Generator) -> Painted:
    while True:
        image, mask = paint(tile.astype(np.float64), rng)
        if LEAST_PIXELS < mask.sum() < LARGEST_SHARE * mask.size:
            return np.clip(np.round(image), 0, 255).astype(np.uint8), mask


def dots(tile: np.ndarray, rng: np.random.Generator) -> Painted:
    mask = np.zeros(tile.shape, dtype=bool)
    for _ in range(rng.integers(1, 4)):
        radius = rng.uniform(2, 6)
        mask |= _blob(tile.shape, _place(tile, rng), (radius * rng.uniform(0.6, 1), radius), 0.2, rng)
    return tile * (1 - _faded(mask, 0.8) * rng.uniform(0.3, 0.6)), mask


def line(tile: np.ndarray, rng: np.random.Generator) -> Painted:
    n = rng.integers(40, 150)
    angles = rng.uniform(0, 2 * np.pi) + np.cumsum(0.12 * rng.standard_normal(n))
    steps = np.cumsum([np.sin(angles), np.cos(angles)], axis=1) + np.array(_place(tile, rng))[:, None]
    rows, columns = np.clip(steps, 2, np.array(tile.shape)[:, None] - 3).astype(int)
    mask = np.zeros(tile.shape, dtype=bool)
    mask[rows, columns] = True
    mask = binary_dilation(mask, iterations=int(rng.integers(1, 3)))
    return tile * (1 - _faded(mask, 0.7) * rng.uniform(0.25, 0.55)), mask


def chip(tile: np.ndarray, rng: np.random.Generator) -> Painted:
    (height, width), (row, column) = tile.shape, _place(tile, rng)
    if rng.random() < 0.5:
        sides = [(0, column), (height - 1, column), (row, 0), (row, width - 1)]
        row, column = sides[rng.integers(4)]
    radius = rng.uniform(12, 40)
    mask = _blob(tile.shape, (row, column), (radius * rng.uniform(0.4, 1), radius), 0.6, rng)
    rough = gaussian_filter(rng.standard_normal(tile.shape), rng.uniform(1, 3))
    light = rng.choice([rng.uniform(0.5, 0.9), rng.uniform(1.1, 1.4)])
    inside = light * gaussian_filter(tile, 6) * (1 + rng.uniform(0.1, 0.25) * rough / rough.std())
    return _blended(tile, inside, _faded(mask, 0.8)), mask


def worn(tile: np.ndarray, rng: np.random.Generator) -> Painted:
    radius = rng.uniform(0.15, 0.3) * np.sqrt(tile.size)
    mask = _blob(tile.shape, _place(tile, rng), (radius * rng.uniform(0.5, 1), radius), 0.6, rng)
    slow = gaussian_filter(tile, 6)
    faded, turned = slow + 0.3 * (tile - slow), slow + _turned(tile - slow)
    relit = tile * rng.choice([rng.uniform(0.6, 0.8), rng.uniform(1.2, 1.5)])
    light = rng.uniform(0.85, 1.15)
    inside = [faded * light, turned * light, relit][rng.integers(3)]
    return _blended(tile, inside, _faded(mask, 2)), mask


PAINTERS = {"dots": dots, "line": line, "chip": chip, "worn": worn}


def _place(tile: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    return rng.uniform(0.1, 0.9) * tile.shape[0], rng.uniform(0.1, 0.9) * tile.shape[1]


def _blob(shape, place, radii, roughness: float, rng: np.random.Generator) -> np.ndarray:
    """Mask of an ellipse in any direction, its outline wobbled by smooth noise."""
    rows, columns = np.indices(shape)
    angle = rng.uniform(0, np.pi)
    down, right = rows - place[0], columns - place[1]
    along, across = right * np.cos(angle) + down * np.sin(angle), down * np.cos(angle) - right * np.sin(angle)
    noise = gaussian_filter(rng.standard_normal(shape), max(1.0, min(radii) / 2))
    return np.hypot(across / radii[0], along / radii[1]) + 0.5 * roughness * noise / noise.std() < 1


def _faded(mask: np.ndarray, width: float) -> np.ndarray:
    return gaussian_filter(mask.astype(np.float64), width)


def _blended(outside: np.ndarray, inside: np.ndarray, share: np.ndarray) -> np.ndarray:
    return outside * (1 - share) + inside * share


def _turned(texture: np.ndarray) -> np.ndarray:
    """Texture turned by a right angle, repeated where the tile is longer than wide."""
    side = min(texture.shape)
    square = texture[:side, :side].T
    repeats = [-(-length // side) for length in texture.shape]
    return np.tile(square, repeats)[: texture.shape[0], : texture.shape[1]]


def table_row(
    heat: dict[str, list[np.ndarray]], painted: dict[str, list[Painted]], width: float
) -> list[str]:
    """Area of each kind and their average, with a smoothing of some width."""
    areas = {
        kind: areas_inside([smoothed(one, width) for one in heat[kind]], [mask for _, mask in pairs])
        for kind, pairs in painted.items()
    }
    return [*(f"{one.mean():.3f}" for one in areas.values()), f"{average(areas):.4f}"]


def main() -> None:
    data = data_dir()
    if data is None:
        sys.exit("no data folder: set WHYODD_DATA to the folder that holds magnetic_tile")
    good = read_tiles(data / "magnetic_tile", "free")[:N_TRAIN]
    train = [tile for i, tile in enumerate(good) if i % 5 != 2]
    rounds = [painted_tiles(good[2::5], seed) for seed in range(PAINTINGS)]
    painted = {kind: [pair for one in rounds for pair in one[kind]] for kind in PAINTERS}
    rows = []
    for degree in DEGREES:
        model = fit_tiles(train, FEW_PATCHES if "--quick" in sys.argv else PATCHES, degree)
        heat = {kind: model.explain([tile for tile, _ in pairs]).relevance for kind, pairs in painted.items()}
        rows += [(f"q = {degree:g}, smoothing {w:g}", *table_row(heat, painted, w)) for w in WIDTHS]
    title = "Pixel ROC AUC of relevance, defects painted into good tiles"
    print_table(title, ("", *PAINTERS, "average"), rows)


if __name__ == "__main__":
    main()
