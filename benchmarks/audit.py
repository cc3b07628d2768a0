"""What a detection rests on: how often the audit notes what was planted, and how often something else.

Run: python benchmarks/audit.py [--quick]

Tables
    25 of ADBench, at most 1,500 rows each. ``whyodd.find`` learns half of the normal rows and judges all
    others. "leak": a column is added that is noise, but lies 8 standard deviations higher for the anomalies:
    it gives the answer away. "clean": the same column without that.
Textures
    39 pictures of DTD, each cut into crops of 64 × 64 pixels: a PatchModel learns six and explains twelve.
    "stamp": a chequered stamp of 10 pixels near the lower right corner of these twelve. "frame": a dashed
    frame of 3 pixels. "clean": as they are.
Tiles
    Magnetic tiles of different sizes, 128 pixels wide: a PatchModel learns 20 good ones and explains the 62
    defective ones, or the other 40 good ones, by local contrast; with and without a stamp or a frame.

"named" is whether the largest pattern is the one that was planted, "noted" whether the note says so. In clean
data "noted" counts any note, and "rests" tells how much relevance of that pattern's items the note speaks of:
one column may indeed be the reason for most that is odd. Nobody has judged whether it should be. In tables
with a leak "rests" is the median share of relevance on the leaking column.
The design half, every second table or texture by name and all tiles, was looked at while the rules were made.
The other half was run when they stood, and once more after a fault in what is usual was mended, which changed
none of these counts:

========  ======  =======  ======  =====  =====  ===============
data      half    planted  audits  named  noted  leak above half
========  ======  =======  ======  =====  =====  ===============
tables    design  clean        13             0
tables    design  leak         13      6      8                6
tables    other   clean        12             3
tables    other   leak         12      2      4                3
textures  design  clean        20             0
textures  design  stamp        20     20     20
textures  design  frame        20     20     20
textures  other   clean        19             0
textures  other   stamp        19     19     19
textures  other   frame        19     19     19
tiles     design  clean         2             0
tiles     design  stamp         2      2      1
tiles     design  frame         2      2      2
========  ======  =======  ======  =====  =====  ===============

Noted without a leak: annthyroid and thyroid (x1 alone, 69 and 74 %) and shuttle (x8 together with x0, 71 %).

What was changed after results of the design half were seen:

- Notes on three columns were given up (magic.gamma without a leak had one).
- "leak above half" was added as a measure when leaks were not noted: all 25 tables are the plain denominator.
- The frame was a dark one at first, and noted as the border for 15 of 20 textures: of the others one was told
  as the left edge, in four the model hardly saw it. A dashed frame stands out in all of them.
- Rules for names of places: what is the border, when groups of one name are one, several places at a time.

Where the leak has more than half of the relevance it is always noted, but that is so in nine of 25 tables
only: in the others the model spreads relevance over many columns. On defective tiles the stamp is in the
largest pattern, but has 38 % of the outlierness: the defects have more.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from PIL import Image

import whyodd
from realdata import adbench_names, data_dir, draw, labelled_adbench
from sidebyside import print_table
from textures import reduced
from whyodd.patches import local_contrast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyodd.evaluation import Audit

MAX_ROWS, FAR = 1_500, 8.0
CROP, TRAINED, TESTED = 64, 6, 12
WIDTH = 128
PLANTED = {"leak": "leak alone", "stamp": "the lower right corner", "frame": "the border"}


def audited_table(name: str, kind: str) -> Audit:
    """Audit of a table with a column that is noise, or gives the answer away."""
    X, y = draw(*labelled_adbench(name), seed=0)
    rng = np.random.default_rng(0)
    kept = rng.permutation(len(X))[:MAX_ROWS]
    X, y = X[kept], y[kept]
    frame = pd.DataFrame(X, columns=[f"x{c}" for c in range(X.shape[1])])
    frame["leak"] = rng.normal(size=len(X)) + FAR * (y if kind == "leak" else 0.0)
    is_known = ~y & (rng.random(len(X)) < 0.5)
    return whyodd.audit(whyodd.find(frame[~is_known], train=frame[is_known]))


def planted(image: np.ndarray, kind: str) -> np.ndarray:
    """A grey picture with a stamp near its lower right corner, or a frame."""
    marked = np.array(image, dtype=np.float64)
    if kind == "stamp":
        marked[-14:-4, -14:-4] = np.indices((10, 10)).sum(axis=0) // 2 % 2 * 255.0
    if kind == "frame":
        inside, squares = marked[3:-3, 3:-3].copy(), np.indices(marked.shape[:2]).sum(axis=0) // 3 % 2 * 255.0
        marked[:] = squares
        marked[3:-3, 3:-3] = inside
    return marked


def audited_texture(file: Path, kind: str) -> Audit:
    """Audit of twelve crops of a texture by a model of six others."""
    with Image.open(file) as picture:
        image = reduced(picture.convert("L"), 6 * CROP)
    places = [(r, c) for r in range(0, image.shape[0] - CROP + 1, CROP) for c in range(0, 6 * CROP, CROP)]
    chosen = np.random.default_rng(0).permutation(len(places))[: TRAINED + TESTED]
    crops = [image[r : r + CROP, c : c + CROP].astype(np.float64) for r, c in (places[i] for i in chosen)]
    model = whyodd.PatchModel(
        whyodd.OneClassSVM(nu=0.1), patch=(5, 5), stride=2, max_patches=1_000, random_state=0
    )
    tests = [planted(crop, kind) for crop in crops[TRAINED:]]
    return whyodd.audit(model.fit(crops[:TRAINED]).explain(tests))


def audited_tiles(folder: Path, which: str, kind: str) -> Audit:
    """Audit of tiles by a model of 20 good ones."""
    files = {True: [], False: []}
    for file in sorted(folder.glob("*.jpg")):
        files[file.name.startswith("free")].append(file)
    good = [_tile(file) for file in files[True]]
    tests = good[20:] if which == "good" else [_tile(file) for file in files[False]]
    model = whyodd.PatchModel(
        whyodd.OneClassSVM(nu=0.1),
        patch=(5, 5),
        stride=2,
        scale=[2],
        max_patches=1_000,
        random_state=0,
        prepare=local_contrast,
    )
    return whyodd.audit(model.fit(good[:20]).explain([planted(tile, kind) for tile in tests]))


def _tile(file: Path) -> np.ndarray:
    with Image.open(file) as picture:
        return reduced(picture.convert("L"), WIDTH).astype(np.float64)


def line(name: str, half: str, kind: str, audit: Audit) -> list[str]:
    """What came out of one audit."""
    main = audit.patterns[0] if audit.patterns else None
    is_named = main is not None and kind in PLANTED and main.name.startswith(PLANTED[kind])
    told = "nothing" if main is None else f"{main.name} {len(main)}/{audit.n_items}, {main.share:.0%}"
    noted = audit.note is not None and (kind == "clean" or PLANTED[kind].removesuffix(" alone") in audit.note)
    return [name, half, kind, told, "yes" * is_named, "yes" * noted, rests(kind, audit)]


def rests(kind: str, audit: Audit) -> str:
    """How much relevance of a typical item lies where it should, or where a note says."""
    if kind == "leak":
        of_all = np.concatenate([pattern.members for pattern in audit.patterns])
        relevance = np.maximum(audit.explanation.relevance[of_all], 0.0)
        share = relevance[:, audit.explanation.feature_names.index("leak")] / relevance.sum(axis=1)
        return f"{np.median(share):.0%}"
    return "" if audit.note is None else f"{audit.patterns[0].held:.0%}"


def totals(lines: list[list[str]]) -> list[list[str]]:
    """How many were named and noted, by half and what was planted."""
    keys = sorted({(_collection(line[0]), line[1], line[2]) for line in lines})
    some = {key: [line for line in lines if (_collection(line[0]), line[1], line[2]) == key] for key in keys}
    return [
        [*key, str(len(of))]
        + [f"{sum(line[c] == 'yes' for line in of)}" for c in (4, 5)]
        + [str(sum(float(line[6].rstrip("%")) > 50 for line in of)) if key[2] == "leak" else ""]
        for key, of in some.items()
    ]


def _collection(name: str) -> str:
    return "tiles" if name.endswith("tiles") else "tables" if name[0].isdigit() else "textures"


def audits(folder: Path, quick: bool) -> Iterator[list[str]]:
    """Lines of all data sets."""
    tables, textures = adbench_names(), sorted((folder / "dtd_textures").glob("*.jpg"))
    for collection, kinds, run in (
        (tables, ("clean", "leak"), audited_table),
        (textures, ("clean", "stamp", "frame"), audited_texture),
    ):
        for i, one in enumerate(collection[: 2 if quick else None]):
            for kind in kinds:
                yield line(getattr(one, "stem", one), ("design", "other")[i % 2], kind, run(one, kind))
    for which in ("defective",) if quick else ("defective", "good"):
        for kind in ("clean", "stamp", "frame"):
            audit = audited_tiles(folder / "magnetic_tile", which, kind)
            yield line(f"{which} tiles", "design", kind, audit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few of each: whether it runs")
    folder = data_dir()
    if folder is None:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds adbench, dtd_textures and others.")
    lines = list(audits(folder, parser.parse_args().quick))
    heads = ("data", "half", "planted")
    print_table("each", (*heads, "largest pattern", "named", "noted", "rests"), lines)
    print_table("together", (*heads, "audits", "named", "noted", "leak above half"), totals(lines))


if __name__ == "__main__":
    main()
