"""A run of ``whyodd image``: pictures are read, judged and written one by one."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from whyodd.cli.image import load_detector
from whyodd.cli.image_files import Journal, check_folder, write_picture, write_scores
from whyodd.cli.patch_files import unique_stems
from whyodd.explanations.sentences import number
from whyodd.findings.images import find_in_images
from whyodd.images import ImageDetector
from whyodd.io.atomic import make_folder, replacing
from whyodd.io.images import PictureFiles, image_files, read_image
from whyodd.io.journal import run_key, stamp
from whyodd.io.terminal import printable
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.findings.findings import Findings

# Pictures examined for training: more than the detector uses, since some may be broken.
_MOST_LEARNED = 250
_SHEET = 40
_ODD = ("", "ODD  ")  # before what is said of a picture


@dataclass(frozen=True)
class ImageRun:
    """The inputs of a run, its model, and its outputs."""

    normal: Path
    test: Path | None
    model: Path | None
    out: Path
    features: str
    false_alarms: float | None
    width: int | None
    seed: int
    arrays: bool = False
    quiet: bool = False

    def found(self, top: int | None) -> tuple[Findings, list[dict[str, Any]]]:
        """Judge all pictures; return the findings, and a line for each, the oddest first."""
        files = image_files(self.normal if self.test is None else self.test)
        learned = [self.model] if self.model is not None else image_files(self.normal)
        check_folder(self.out, [path for path in (self.normal, self.test) if path is not None])
        make_folder(self.out)
        detector, key = self._detector(learned), run_key(learned, self._settings)
        lines = self._judged(detector, files, key)
        if not lines:
            raise ValueError(f"No picture in {self.test or self.normal} can be used: see the warnings above.")
        kept = [file for file in files if str(file) in lines]
        found = find_in_images(
            self._pictures(kept, detector),
            model=detector,
            false_alarms=self.false_alarms,
            names=[printable(file.name) for file in kept],
            scores=np.array([lines[str(file)]["outlierness"] for file in kept]),
            top=top,
            title=(self.test or self.normal).name,
            made_by="whyodd image",
        )
        ranked = [lines[str(kept[row])] for row in found.order]
        for line, odd in zip(ranked, found.is_odd[found.order], strict=True):
            line["is_odd"] = None if found.threshold is None else bool(odd)
            line.pop("stamp", None)
        write_scores(ranked, self.out / "scores.csv")
        self._write_sheet(ranked)
        Journal(self.out, key).done()
        return found, ranked

    def _detector(self, files: Sequence[Path]) -> ImageDetector:
        if self.model is not None:
            return load_detector(self.model)
        self._say(f"Reading {len(files):,} normal pictures in {self.normal} ...")
        usable, in_colour = self._usable(files)
        detector = ImageDetector(self.features, random_state=self.seed)
        if self.false_alarms is not None:
            detector.set_params(false_alarms=self.false_alarms)
        pictures = PictureFiles(usable, in_colour=in_colour, width=self.width)
        return detector.fit(pictures, progress=not self.quiet)

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            name: getattr(self, name) for name in ("features", "false_alarms", "width", "seed", "arrays")
        } | {"out": str(self.out)}

    def _usable(self, files: Sequence[Path]) -> tuple[list[Path], bool]:
        """Readable pictures, evenly chosen if there are many; and whether some are in colour."""
        steps = np.unique(np.linspace(0, len(files) - 1, min(len(files), _MOST_LEARNED)).astype(int))
        found, trouble, in_colour = [], "", False
        for i in steps:
            try:
                in_colour |= read_image(files[i]).ndim == 3
                found.append(files[i])
            except OSError as error:
                trouble = str(error)
                self._warn(trouble)
        if not found:
            raise ValueError(
                trouble if len(files) == 1 else f"No picture in {self.normal} can be used: {trouble}"
            )
        return found, in_colour

    def _pictures(self, files: Sequence[Path], detector: ImageDetector) -> PictureFiles:
        return PictureFiles(files, in_colour=detector.n_channels_ >= 3, width=self.width)

    def _judged(self, detector: ImageDetector, files: Sequence[Path], key: str) -> dict[str, dict[str, Any]]:
        """A line for each readable picture, by its file; finished pictures are not judged again."""
        journal = Journal(self.out, key)
        heatmaps = [self.out / f"{stem}.png" for stem in unique_stems(files)]
        now = {str(file): (stamp(file), str(path)) for file, path in zip(files, heatmaps, strict=True)}
        earlier = {
            file: line
            for file, line in journal.finished().items()
            if (line["stamp"], line["heatmap"]) == now.get(file) and Path(line["heatmap"]).exists()
        }
        if earlier:
            self._say(f"{len(earlier):,} pictures were already done by an interrupted run.")
        lines = dict(earlier)
        pictures = self._pictures(files, detector)
        try:
            with journal.writing(list(earlier.values())) as add, self._bar(len(files)) as report:
                for i, file in enumerate(files):
                    if str(file) not in lines:
                        line = self._one(detector, pictures, i, heatmaps[i])
                        if line is not None:
                            lines[str(file)] = line
                            add(line)
                    report(i + 1)
        finally:  # also the results of an interrupted run can be read
            write_scores(list(lines.values()), self.out / "scores.csv")
        return lines

    def _one(
        self, detector: ImageDetector, pictures: PictureFiles, i: int, heatmap: Path
    ) -> dict[str, Any] | None:
        file = pictures.files[i]
        try:
            e = detector.explain([pictures[i]])
        except (OSError, ValueError) as error:
            told = str(error).replace("Image 0", str(file))
            self._warn(told if str(file) in told else f"{file}: {told}")
            return None
        return {**write_picture(e, file, heatmap, arrays=self.arrays), "stamp": stamp(file)}

    def _bar(self, total: int) -> Any:
        return nullcontext(_unheard) if self.quiet else progress_bar(total, "Judging pictures")

    def _write_sheet(self, lines: Sequence[dict[str, Any]]) -> None:
        """The oddest pictures on one sheet, from what was recorded about each."""
        from PIL import Image

        from whyodd.plots.regions import contact_sheet

        shown = (
            (f"{_ODD[bool(line['is_odd'])]}{number(line['outlierness'], 2)}  {Path(line['file']).name}",
             bool(line["is_odd"]), Image.open(line["heatmap"]))
            for line in lines[:_SHEET]
        )  # fmt: skip
        with replacing(self.out / "contact-sheet.png") as draft:
            contact_sheet(shown).save(draft, format="PNG")

    def _say(self, text: str) -> None:
        if not self.quiet:
            typer.echo(text, err=True)

    def _warn(self, text: str) -> None:
        print(f"Warning: left out: {printable(text)}", file=sys.stderr)


def _unheard(done: int) -> None:
    """Report no progress."""
