"""The paper's figure: what is unusual in a texture, by a one-class SVM on patches of that very picture.

Run: python benchmarks/textures.py [--out FILE] [--all]

Each picture is reduced to a width of 256 pixels. The model is trained on 10,000 of its own 7 x 7 patches with
ν = 0.1, q = 2 and σ the 0.1 quantile of the distances to the nearest other patch; beside its relevance are
Sobel's edges. With --all every texture, parking lot and hidden circle gets a picture of its own, and FILE is
the folder for them.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from PIL import Image
from scipy.stats import spearmanr

from realdata import data_dir
from sidebyside import print_table
from whyodd import OneClassSVM, PatchModel
from whyodd.experiments.circle import WIDTH, hidden_circle
from whyodd.io.atomic import replacing
from whyodd.patches import sobel
from whyodd.patches.colours import displayed, per_pixel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whyodd.patches import PatchExplanation

    Maker = Callable[[], np.ndarray]

# What tells most: edges inside the circle are no stronger than all others, repeated ones are usual to the
# model; and gravel, where nothing stands out.
TOLD = (
    "grid, circle shifted",
    "grid, circle blurred",
    "chequered_0048",
    "chequered_0088",
    "brick",
    "braided_0064",
    "parkinglot07",
    "gravel",
)
# Pixels beyond this quantile have the darkest colour: a few of them would leave nothing to see of the others.
QUANTILE = 0.995
COLUMNS = ("picture", "relevance", "Sobel")


def reduced(picture: Image.Image, width: int = WIDTH) -> np.ndarray:
    """Grey (H, width) or colour (H, width, 3) as the picture is, with anti-aliasing."""
    height = round(picture.height * width / picture.width)
    return np.asarray(picture.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=3.0))


def self_explained(image: np.ndarray, max_patches: int = 10_000) -> PatchExplanation:
    """What is unusual in an image, by a model of its own patches."""
    model = PatchModel(OneClassSVM(nu=0.1), patch=(7, 7), max_patches=max_patches, random_state=0)
    return model.fit(image).explain(image)


def pictures() -> dict[str, Maker]:
    """Name -> how to get it: hidden circles, scikit-image's textures, and those of the data folder."""
    found: dict[str, Maker] = {}
    for kind in ("shifted", "blurred"):
        found[f"grid, circle {kind}"] = partial(
            lambda kind: hidden_circle(kind, np.random.default_rng(0))[0], kind
        )
    for name in ("brick", "grass", "gravel"):
        found[name] = partial(lambda name: reduced(Image.fromarray(getattr(skimage.data, name)())), name)
    folder = data_dir()
    if folder is None:
        print("Textures and parking lots: left out, no data folder (set WHYODD_DATA).")
        return found
    files = [*folder.glob("dtd_textures/*.jpg"), *folder.glob("ucmerced/parkinglot*.png")]
    return found | {file.stem: partial(_read, file) for file in sorted(files)}


def _read(file: Path) -> np.ndarray:
    with Image.open(file) as picture:
        return reduced(picture)


def describe(name: str, e: PatchExplanation) -> tuple[str, ...]:
    """A line of the table for an explained picture."""
    image, relevance = e.data[0], per_pixel(e.heatmap(0))
    return (
        name,
        " x ".join(map(str, image.shape)),
        str(e.model.scales_[0].network.n_centers),
        f"{e.unexplained[0] / e.outlierness[0]:.0%}",
        f"{spearmanr(relevance.ravel(), sobel(image).ravel()).statistic:+.2f}",
    )


def draw(axes: Sequence[Any], name: str, e: PatchExplanation) -> None:
    """Picture, relevance and edges side by side, each on the scale of its own."""
    image = e.data[0]
    axes[0].imshow(displayed(image), cmap="gray", vmin=0, vmax=255)
    axes[0].set_ylabel(name, fontsize=8)
    for ax, heat in zip(axes[1:], (per_pixel(e.heatmap(0)), sobel(image)), strict=True):
        ax.imshow(heat, cmap="Reds", vmin=0.0, vmax=np.quantile(heat, QUANTILE))
    for ax in axes:
        ax.set(xticks=[], yticks=[])


def write_figure(explained: Mapping[str, PatchExplanation], out: Path, blocks: int) -> None:
    """One row of three panels for each picture, in so many blocks side by side."""
    rows = -(-len(explained) // blocks)
    figure, grid = plt.subplots(
        rows, 3 * blocks, figsize=(5.1 * blocks, 1.75 * rows + 0.2), squeeze=False, layout="constrained"
    )
    panels = [grid[row, 3 * block : 3 * block + 3] for block in range(blocks) for row in range(rows)]
    for axes, (name, e) in zip(panels, explained.items(), strict=False):
        draw(axes, name, e)
    for ax, title in zip(grid[0], COLUMNS * blocks, strict=True):
        ax.set_title(title, fontsize=9)
    figure.text(0.5, -0.01, _scales_told(), ha="center", va="top", fontsize=8)
    _save(figure, out)
    plt.close(figure)


def _scales_told() -> str:
    return (
        "Textures differ: each panel has its own colour scale, from 0 (white) to its "
        f"{QUANTILE:.1%} quantile (darkest), and is not to be compared with the others."
    )


def _save(figure: Any, out: Path) -> None:
    """As a PNG with few colours: a third of the size, and the eye sees no difference."""
    figure.canvas.draw()
    with replacing(out) as draft:
        figure.savefig(draft, format="png", dpi=110, bbox_inches="tight")
        with Image.open(draft) as full:
            few = full.convert("RGB").quantize(128, dither=Image.Dither.NONE)
        few.save(draft, format="png", optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--all", action="store_true", dest="every")
    options = parser.parse_args()
    mpl.use("Agg")
    makers = pictures()
    lines = []
    if options.every:
        folder = options.out or Path("textures")
        folder.mkdir(parents=True, exist_ok=True)
        for name, make in makers.items():
            e = self_explained(make())
            write_figure({name: e}, folder / f"{name.replace(', ', '_').replace(' ', '_')}.png", blocks=1)
            lines.append(describe(name, e))
    else:
        explained = {name: self_explained(makers[name]()) for name in TOLD if name in makers}
        write_figure(explained, options.out or Path("docs") / "textures.png", blocks=2)
        lines = [describe(name, e) for name, e in explained.items()]
    columns = ("", "size", "centers", "unexplained", "rank correlation with Sobel")
    print_table("Relevance in self-image mode", columns, lines)


if __name__ == "__main__":
    main()
