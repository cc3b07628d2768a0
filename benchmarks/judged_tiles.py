"""Whether magnetic tiles are defective, and where: ``whyodd image`` as a new user runs it.

Run: python benchmarks/judged_tiles.py [--half design|rest] [--features auto|contrast] [--seeds 5] [--alone]

For each seed 40 of the 60 good tiles are drawn to learn from, stratified by exposure. The other 20 good tiles
and half of the defective ones (blowhole, break, crack, fray) are judged by the command, with nothing but
``--out`` and ``--arrays``. ``--half`` says which half of the defective tiles: things are designed on the one
and measured on the other. Good tiles have no halves, since 20 are few enough: the seeds are the same, but
nothing of a judged good tile is learned. Some tiles were photographed several times, under different light:
such twins may be on both sides.

Figures are read from the files that the command writes: scores.csv tells good tiles from defective ones
(image AUC) and which it calls odd, NAME.npy tells the pixels that people marked from the others (pixel AUC:
inside each tile, its mean over the tiles of a kind, and the mean of the four). Beside it, with the same
features: the map of distances to the nearest normal place, as PatchCore has it, ranked by its largest value
(``--alone`` leaves it out).
Peak memory and time are those of the command, in a process of its own.
"""

from __future__ import annotations

import argparse
import csv
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import zoom

from realdata import data_dir
from sidebyside import machine, print_table
from tiles import KINDS
from whyodd import ImageDetector
from whyodd.evaluation.localisation import roc_auc
from whyodd.patches.coreset import k_centers
from whyodd.patches.features import as_features

N_TRAIN, SEEDS, CENTERS = 40, 5, 3_000
GOOD = "free"


@dataclass(frozen=True)
class Tile:
    """A picture of a tile, what is wrong with it, and the exposure it was taken with."""

    path: Path
    kind: str
    exposure: str

    @property
    def mask(self) -> np.ndarray | None:
        """Where people saw the defect."""
        masked = self.path.with_suffix(".png")
        return np.asarray(Image.open(masked).convert("L")) > 127 if masked.exists() else None

    @property
    def pixels(self) -> np.ndarray:
        """The picture in grey."""
        return np.asarray(Image.open(self.path).convert("L"))


def read_tiles(folder: Path) -> list[Tile]:
    return [
        Tile(path, path.name.split("__")[0], re.search(r"exp(\d)", path.name).group(1))
        for path in sorted(folder.glob("*.jpg"))
    ]


def defective_halves(tiles: list[Tile]) -> dict[str, list[Tile]]:
    """Every second defective tile of a kind, in the order of exposures: designed on these, and the rest."""
    rng = np.random.default_rng(20261117)
    design, rest = [], []
    for kind in KINDS:
        mine = [tile for tile in tiles if tile.kind == kind]
        mine = sorted(mine, key=lambda tile: (tile.exposure, rng.random()))
        design += mine[::2]
        rest += mine[1::2]
    return {"design": design, "rest": rest}


def split(tiles: list[Tile], defective: list[Tile], seed: int) -> tuple[list[Tile], list[Tile]]:
    """40 good tiles to learn from; the 20 others and the defective ones to judge.

    In the order of exposures, every third good tile is judged, so that both parts have all of them.
    """
    rng = np.random.default_rng([seed, 7])
    good = [tile for tile in tiles if tile.kind == GOOD]
    good = sorted(good, key=lambda tile: (tile.exposure, rng.random()))
    first = int(rng.integers(3))
    learned = [tile for place, tile in enumerate(good) if place % 3 != first]
    return learned, [*good[first::3], *defective]


def by_command(learned: list[Tile], judged: list[Tile], features: str) -> tuple[dict, dict, dict, float]:
    """Scores, relevance and who is odd by the name of each tile, as the command wrote it; seconds it took."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for name, tiles in (("normal", learned), ("test", judged)):
            (root / name).mkdir()
            for tile in tiles:
                shutil.copy(tile.path, root / name)
        command = [sys.executable, "-m", "whyodd", "image", "normal", "test", "--out", "out", "--arrays"]
        more = [] if features == "auto" else ["--features", features]
        start = time.perf_counter()
        subprocess.run([*command, *more, "--quiet"], cwd=root, check=True, stdout=subprocess.DEVNULL)
        elapsed = time.perf_counter() - start
        with (root / "out" / "scores.csv").open(newline="") as file:
            rows = {Path(row["file"]).name: row for row in csv.DictReader(file)}
        scores = {name: float(row["outlierness"]) for name, row in rows.items()}
        is_odd = {name: row["is_odd"] == "True" for name, row in rows.items()}
        heat = {tile.path.name: np.load(root / "out" / f"{tile.path.stem}.npy") for tile in judged}
    return scores, heat, is_odd, elapsed


def by_nearest_place(learned: list[Tile], judged: list[Tile], features: str) -> tuple[dict, dict]:
    """The same by the distance to the nearest of 3,000 normal places (k-center), without calibration."""
    extract = as_features(features)
    random = np.random.RandomState(0)
    drawn = []
    for tile in learned:
        values = extract(tile.pixels[..., None].astype(np.float32))
        places = values.reshape(-1, values.shape[-1])
        drawn.append(places[random.permutation(len(places))[:500]])
    together = np.concatenate(drawn)
    unit = together.std(axis=0)
    centers = together[k_centers(together / unit, CENTERS, random)] / unit
    squares = (centers**2).sum(axis=1)
    scores, heat = {}, {}
    for tile in judged:
        values = extract(tile.pixels[..., None].astype(np.float32)) / unit
        rows = values.reshape(-1, values.shape[-1])
        nearest = np.sqrt(np.maximum((rows**2).sum(axis=1) + (squares - 2 * rows @ centers.T).min(axis=1), 0))
        field = nearest.reshape(values.shape[:2])
        scores[tile.path.name] = float(field.max())
        sizes = [a / b for a, b in zip(tile.pixels.shape, field.shape, strict=True)]
        heat[tile.path.name] = zoom(field, sizes, order=1)
    return scores, heat


def figures(scores: dict, heat: dict, judged: list[Tile]) -> dict[str, float]:
    """Image AUC, and pixel AUC of each kind and on average."""
    values = np.array([scores[tile.path.name] for tile in judged])
    defective = np.array([tile.kind != GOOD for tile in judged])
    found = {"image": float(roc_auc([values], [defective])[0])}
    by_kind = {
        kind: roc_auc(
            [heat[tile.path.name] for tile in judged if tile.kind == kind],
            [tile.mask for tile in judged if tile.kind == kind],
        ).mean()
        for kind in KINDS
    }
    return {**found, "pixel": float(np.mean(list(by_kind.values()))), **by_kind}


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Whether and where tiles are defective, by the plain command."
    )
    parser.add_argument("--half", choices=("design", "rest"), default="design")
    parser.add_argument("--features", choices=("auto", "contrast"), default="auto")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--alone", action="store_true", help="nothing to compare with")
    wanted = parser.parse_args()
    folder = data_dir()
    if folder is None:
        parser.error("no data folder: set WHYODD_DATA to the folder that holds magnetic_tile")
    tiles = read_tiles(folder / "magnetic_tile")
    defective = defective_halves(tiles)[wanted.half]
    rows: dict[str, list[dict[str, float]]] = {}
    seconds, called = [], []
    rivals = ("contrast",) if wanted.features == "contrast" else ("contrast", "deep")
    rivals = () if wanted.alone else rivals
    for seed in range(wanted.seeds):
        learned, judged = split(tiles, defective, seed)
        scores, heat, is_odd, elapsed = by_command(learned, judged, wanted.features)
        seconds.append(elapsed)
        called.append(
            [np.mean([is_odd[t.path.name] for t in judged if (t.kind == GOOD) == g]) for g in (True, False)]
        )
        found = figures(scores, heat, judged)
        print(f"seed {seed}: image {found['image']:.3f}, pixel {found['pixel']:.3f}", file=sys.stderr)
        rows.setdefault(f"whyodd image ({wanted.features})", []).append(found)
        for name in rivals:
            told = figures(*by_nearest_place(learned, judged, name), judged)
            rows.setdefault(f"nearest place ({name})", []).append(told)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor, peak = (used.ru_utime + used.ru_stime) / wanted.seeds, used.ru_maxrss / 1024
    views = len(ImageDetector(wanted.features)._features())
    print(
        f"{machine()}; {views} view(s); {max(seconds):.0f} s at most ({processor:.0f} s of one processor on "
        f"average), peak {peak:.0f} MB"
    )
    good, defective_found = np.mean(called, axis=0)
    print(f"Called odd: {good:.0%} of good tiles (5 % allowed), {defective_found:.0%} of defective ones\n")
    lines = [
        (name, *(_range([one[key] for one in found]) for key in ("image", "pixel", *KINDS)))
        for name, found in rows.items()
    ]
    title = f"{wanted.half} half: AUC, mean and range over {wanted.seeds} seeds"
    print_table(title, ("", "image", "pixel", *KINDS), lines)


def _range(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


if __name__ == "__main__":
    main()
