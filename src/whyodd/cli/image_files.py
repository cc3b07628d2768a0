"""Results on judged pictures, written one by one so that an interrupted run can continue."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.io.atomic import replacing
from whyodd.io.journal import Journal as LineJournal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whyodd.images import ImageExplanation

COLUMNS = (
    "file",
    "outlierness",
    "p_value",
    "is_odd",
    "regions",
    "odd_pixels",
    "largest_place",
    "where",
    "heatmap",
)
_JOURNAL = ".unfinished.jsonl"


class Journal(LineJournal):
    """The finished part of a run: a line for each finished picture, kept until the run is complete.

    Parameters
    ----------
    out : path
        Folder of the results.
    key : str
        What the run depends on: another key starts over.
    """

    def __init__(self, out: Path, key: str) -> None:
        super().__init__(out / _JOURNAL, key, ("file", "stamp", *COLUMNS))

    def finished(self) -> dict[str, dict[str, Any]]:
        """Lines of an earlier run with the same key, by file."""
        return {line["file"]: line for line in self.lines()}


def check_folder(out: Path, sources: Sequence[Path]) -> None:
    """Make sure that results can be written to ``out``, and that they do not replace the pictures."""
    for source in sources:
        if out.resolve() == (source if source.is_dir() else source.parent).resolve():
            raise ValueError(
                f"{out} holds the pictures themselves, which the results might replace. Choose another --out."
            )
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file: expected a folder to write to. Choose another --out.")


def write_picture(e: ImageExplanation, file: Path, heatmap: Path, *, arrays: bool) -> dict[str, Any]:
    """Write the heatmap of one picture, and its relevance and mask if wanted; its line of the table."""
    from PIL import Image

    from whyodd.plots.regions import side_by_side

    with replacing(heatmap) as draft:
        Image.fromarray(side_by_side(e, 0)).save(draft, format="PNG")
    if arrays:
        _save_array(heatmap.with_suffix(".npy"), e.relevance[0])
        _save_array(heatmap.with_name(f"{heatmap.stem}-mask.npy"), e.mask(0))
    table = {name: values[0] for name, values in e.table().items() if name != "item"}
    return {"file": str(file), **table, "heatmap": str(heatmap)}


def _save_array(path: Path, values: Any) -> None:
    with replacing(path) as draft, draft.open("xb") as file:
        np.save(file, values, allow_pickle=False)


def write_scores(lines: Sequence[dict[str, Any]], path: Path) -> None:
    """Write a line for each picture, the oddest first."""
    with (
        replacing(path) as draft,
        # Names of files may hold bytes that are no letters.
        draft.open("x", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(sorted(lines, key=lambda line: -line["outlierness"]))
