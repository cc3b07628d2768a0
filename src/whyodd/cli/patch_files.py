"""Results on pictures, as files: heatmaps, strangest windows and a table."""

from __future__ import annotations

import csv
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from whyodd.cli.image_files import check_folder
from whyodd.io.atomic import make_folder, replacing, save_figure
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from whyodd.findings.patch_pictures import OddPictures

_STRANGEST = 3  # pictures whose strangest window is drawn
_DOTS_PER_INCH = (120, 400)  # least and most
# File systems allow 255 bytes; drafts and endings need some.
_MOST_BYTES = 160
_TAKEN = ("contact-sheet",)  # used for the picture of all pictures


def prepare_folder(out: Path, sources: Sequence[Path]) -> None:
    """Make sure that results can be written to ``out``, and that they do not replace the pictures."""
    from whyodd.plots.figures import blank_figure

    blank_figure((1.0, 1.0))  # a missing matplotlib is reported now, not after the work
    check_folder(out, sources)


def write_results(
    result: OddPictures, out: Path, *, top: int | None = None, progress: bool = False
) -> dict[Path, Path]:
    """Write scores.csv, heatmaps of the ``top`` oddest pictures (all by default), and strangest windows.

    Returns
    -------
    dict of Path
        For each picture that has a heatmap, that.
    """
    make_folder(out)
    drawn = result.files[:top]
    stems = unique_stems(drawn)
    written = {file: out / f"{stem}.png" for file, stem in zip(drawn, stems, strict=True)}
    with progress_bar(len(drawn), "Drawing pictures") if progress else nullcontext() as report:
        for i, path in enumerate(written.values()):
            _draw_heatmap(result, i, path)
            if i < _STRANGEST:
                _draw_strangest(result, i, out / f"strangest-{path.name}")
            if report is not None:
                report(i + 1)
    write_csv(result, written, out / "scores.csv")
    return written


def _draw_heatmap(result: OddPictures, i: int, path: Path) -> None:
    from whyodd.plots.figures import blank_figure
    from whyodd.plots.heatmap import PANEL, figure_size, heatmaps

    one = result.explanation[i]
    least, most = _DOTS_PER_INCH
    figure = heatmaps(one, result.limit, figure=blank_figure(figure_size(one)))
    # As many dots as the picture has pixels, if sensible, so that a single odd pixel stays visible.
    save_figure(figure, path, min(max(round(one.data[0].shape[1] / PANEL), least), most))


def _draw_strangest(result: OddPictures, i: int, path: Path) -> None:
    from whyodd.plots.figures import blank_figure
    from whyodd.plots.strangest import SIZE, strangest

    save_figure(strangest(result.explanation, i, figure=blank_figure(SIZE)), path, _DOTS_PER_INCH[0])


def table_lines(result: OddPictures, written: dict[Path, Path]) -> Iterator[dict[str, Any]]:
    """The table by row: the columns of ``explanation.table()``, the file, and its heatmap."""
    table = result.explanation.table()
    for file, *cells in zip(result.files, *table.values(), strict=True):
        heatmap = written.get(file)
        yield {
            **dict(zip(table, cells, strict=True)),
            "file": str(file),
            "heatmap": None if heatmap is None else str(heatmap),
        }


def write_csv(result: OddPictures, written: dict[Path, Path], path: Path) -> None:
    """Write a line for each picture, the oddest first."""
    lines = list(table_lines(result, written))
    with (
        replacing(path) as draft,
        # Names of files may hold bytes that are no letters.
        draft.open("x", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def unique_stems(files: Sequence[Path]) -> list[str]:
    """For each file a unique name without ending, made of harmless letters, for everything written about it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from whyodd.cli.patch_files import unique_stems
    >>> unique_stems([Path("scan.png"), Path("scan.jpg"), Path("Scan.bmp"), Path("<b>.png")])
    ['scan', 'scan-2', 'Scan-3', '_b_']
    """
    taken = set(_TAKEN)
    stems = []
    for file in files:
        stem = _first_free(_harmless(file.stem), taken)
        taken |= _names(stem)
        stems.append(stem)
    return stems


def _first_free(stem: str, taken: set[str]) -> str:
    count, name = 1, stem
    while taken & _names(name):
        count += 1
        name = f"{stem}-{count}"
    return name


def _names(stem: str) -> set[str]:
    # Some file systems do not distinguish upper and lower case.
    return {name.casefold() for name in (stem, f"strangest-{stem}", f"{stem}-mask")}


def _harmless(stem: str) -> str:
    letters = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in stem)
    short = letters.encode("utf-8")[:_MOST_BYTES].decode("utf-8", errors="ignore")
    return short.lstrip(".") or "picture"  # a leading dot would hide it
