"""Models of pictures in files: how pictures are read, and models trained and explained."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.findings.findings import Findings
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from whyodd.patches import PatchExplanation, PatchModel

    Say = Callable[[str], None]

_CALM = 10  # normal pictures that define calm
_HEADROOM = 2.0  # usual relevance gets the lower half of the colours
_MANY_WINDOWS = 2_000_000


@dataclass(frozen=True)
class Settings:
    """How pictures are read, and the model trained on their patches."""

    patch: int = 7
    stride: int = 1
    scale: tuple[int, ...] = (1,)
    border: str = "valid"
    width: int | None = None
    contrast: bool = False
    max_patches: int = 20_000
    nu: float = 0.1
    q: float = 2.0
    seed: int = 0

    def model(self, *, verbose: bool = False) -> PatchModel:
        """The model, not yet fitted."""
        from whyodd.models.registry import OneClassSVM
        from whyodd.patches import PatchModel, local_contrast

        return PatchModel(
            OneClassSVM("exponential", q=self.q, nu=self.nu, verbose=verbose),
            patch=(self.patch, self.patch),
            stride=self.stride,
            border=self.border,
            max_patches=self.max_patches,
            random_state=self.seed,
            scale=list(self.scale),
            prepare=local_contrast if self.contrast else None,
        )

    def n_windows(self, image: NDArray[Any]) -> int:
        """Number of windows that look at an image; an error if it is too small for any."""
        from whyodd.patches.scale import View

        views = [View((self.patch,) * 2, self.stride, self.border, size) for size in self.scale]
        return sum(len(view.grid(image.shape[:2])) for view in views)


@dataclass(frozen=True)
class OddPictures:
    """The findings on pictures in files.

    Attributes
    ----------
    found : Findings
    explanation : PatchExplanation
        Of all pictures, those with the most outlierness per window first: they may differ in size.
    files : tuple of path
        Of each picture that is explained.
    limit : float
        Relevance with the strongest colour.
    n_trained : int
    usual : (float, float) or None
        Range of outlierness per window of some normal pictures, if others were explained.
    """

    found: Findings
    explanation: PatchExplanation
    files: tuple[Path, ...]
    limit: float
    n_trained: int
    usual: tuple[float, float] | None = None


def _hush(text: str) -> None:
    """Discard progress that nobody asked for."""


def _warn(text: str) -> None:
    print(f"Warning: {text}", file=sys.stderr)


def explain_pictures(
    normal: Path,
    test: Path | None = None,
    settings: Settings = Settings(),
    *,
    say: Say = _hush,
    warn: Say = _warn,
    progress: bool = False,
) -> OddPictures:
    """Train on the patches of some pictures and explain others.

    Parameters
    ----------
    normal : path
        A picture, or a folder of pictures.
    test : path, optional
        The pictures to explain. By default those of ``normal``: each patch is compared with all others.
    settings : Settings
    say : callable
        Receives the present step.
    warn : callable
        Receives notes on pictures that are left out, and why; standard error by default.
    progress : bool, default False
        Show progress on standard error.

    Returns
    -------
    OddPictures

    Notes
    -----
    The colour scale is that of the pictures explained or, if it is wider, twice that of some normal ones
    (their own patches left out): if all are normal, all look calm.
    """
    from whyodd.io.images import alike

    files, images = _read_all(normal, settings, say, warn)
    n_normal = len(images)
    if test is not None:
        more_files, more = _read_all(test, settings, say, warn)
        files, images = more_files, alike([*images, *more])
    trained, explained = images[:n_normal], images[n_normal:] if test is not None else images
    _check_variety(trained, normal)
    say(f"Training on {count(len(trained))} ...")
    model = settings.model(verbose=progress and sys.stderr.isatty()).fit(trained)
    _announce(explained, settings, say)
    e = model.explain(explained, names=[printable(file.name) for file in files], progress=progress)
    # Pictures may differ in size, and with it in the number of windows.
    ranked = e[np.argsort(-e.per_window, kind="stable")]
    calm = None if test is None else model.explain(trained[:: -(-len(trained) // _CALM)])
    title = (normal if test is None else test).name
    return OddPictures(
        found=Findings.of(e, model=model, title=title),
        explanation=ranked,
        files=tuple(files[i] for i in ranked.rows),
        limit=_limit(ranked, calm),
        n_trained=len(trained),
        usual=None if calm is None else (float(calm.per_window.min()), float(calm.per_window.max())),
    )


def _read_all(path: Path, settings: Settings, say: Say, warn: Say) -> tuple[list[Path], list[NDArray[Any]]]:
    """Pictures of a folder that can be read and are large enough; the others are reported."""
    from whyodd.io.images import alike, image_files

    files = image_files(path)
    say(f"Reading {count(len(files))} in {path} ...")
    kept, images, troubles = [], [], []
    for file in files:
        try:
            images.append(_read(file, settings))
            kept.append(file)
        except (OSError, ValueError) as error:
            troubles.append(str(error))
    if not images:
        raise ValueError(
            troubles[0] if len(files) == 1 else f"No picture in {path} can be used: {troubles[0]}"
        )
    for trouble in troubles:
        warn(f"left out: {printable(trouble)}")
    return kept, alike(images)


def _read(file: Path, settings: Settings) -> NDArray[Any]:
    from whyodd.io.images import read_image, resized

    pixels = read_image(file)
    if settings.width is not None:
        pixels = resized(pixels, settings.width)
    try:
        settings.n_windows(pixels)
    except ValueError:
        height, width = pixels.shape[:2]
        coarser = f" at scale {max(settings.scale)}" if max(settings.scale) > 1 else ""
        raise ValueError(
            f"{file} is smaller than a patch: {width}×{height} pixels, expected at least "
            f"{settings.patch}×{settings.patch}{coarser}. Use a smaller --patch."
        ) from None
    return pixels


def _check_variety(images: Sequence[NDArray[Any]], path: Path) -> None:
    if all((pixels == pixels[:1, :1]).all() for pixels in images):
        raise ValueError(f"{path} shows only one colour: there is nothing to learn from. Use other pictures.")


def _announce(images: Sequence[NDArray[Any]], settings: Settings, say: Say) -> None:
    total = sum(map(settings.n_windows, images))
    say(f"Explaining {count(len(images))}, {total:,} windows ...")
    if total > _MANY_WINDOWS:
        say("This takes a while: --width 256 or --stride 2 makes it shorter.")


def _limit(e: PatchExplanation, calm: PatchExplanation | None) -> float:
    """Colour scale of the pictures, or a wider one if some normal pictures would use all of it."""
    from whyodd.patches.colours import common_limit

    limit = common_limit(e.relevance)
    return limit if calm is None else max(limit, _HEADROOM * common_limit(calm.relevance))


def count(pictures: int) -> str:
    """A number of pictures, in words."""
    return "1 picture" if pictures == 1 else f"{pictures:,} pictures"
