"""Models of series in files: which columns are channels, what can be learned, and where it is odd."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.automatic.written import with_values
from whyodd.findings.findings import Findings
from whyodd.patches.items import as_items
from whyodd.patches.places import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from whyodd.patches import PatchExplanation, PatchModel
    from whyodd.patches.items import Item


@dataclass(frozen=True)
class Settings:
    """Which columns are used, and what is trained on their windows."""

    window: int = 32
    stride: int = 1
    time: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    max_patches: int = 10_000
    nu: float = 0.1
    seed: int = 0

    def model(self, *, verbose: bool = False) -> PatchModel:
        """The model, not yet fitted."""
        from whyodd.models.registry import OneClassSVM
        from whyodd.patches import PatchModel

        return PatchModel(
            OneClassSVM(nu=self.nu, verbose=verbose),
            patch=(self.window,),
            stride=self.stride,
            max_patches=self.max_patches,
            random_state=self.seed,
            standardize=True,
        )


@dataclass(frozen=True)
class OddSpan:
    """A window with much relevance.

    Attributes
    ----------
    start, stop : int
        First step of the window, and the one after its last.
    since, until : str
        When its first and its last step are.
    relevance : float
        Relevance of its steps, from all windows that look at them.
    share : float
        Part of the outlierness of the whole series that this is.
    outlierness : float
        o_t of the window itself.
    channels : dict of str to float
        Share of each channel in the relevance, the largest first.
    """

    start: int
    stop: int
    since: str
    until: str
    relevance: float
    share: float
    outlierness: float
    channels: dict[str, float]


def explain_series(
    train: Path, test: Path | None = None, settings: Settings | None = None, *, progress: bool = False
) -> Findings:
    """Train on the windows of the table of one file and explain that of another.

    Parameters
    ----------
    train : path
        Table with a row per time step, see :func:`whyodd.io.tables.read_table`.
    test : path, optional
        Table to explain; by default the same, each window compared with all others.
    settings : Settings, optional
    progress : bool, default False
        Show progress on standard error.
    """
    from whyodd.io.tables import read_table

    settings = Settings() if settings is None else settings
    notes: list[str] = []
    frame = _chosen(with_values(read_table(train, notes=notes)), train, settings, notes)
    learned = _as_item(frame, train, settings.time)
    _check_windows(learned, train, settings, notes, least=2)
    _check_variety(learned, train, notes)
    model = settings.model(verbose=progress and sys.stderr.isatty()).fit(frame, time=settings.time)
    if test is not None:
        frame = _chosen(with_values(read_table(test, notes=notes)), test, settings, notes)
        _check_channels(frame.columns, learned.channels, (train, test))
        item = _as_item(frame, test, settings.time)
        if more := [name for name in item.channels if name not in learned.channels]:
            notes.append(f"{test}: ignored since {train} has no such columns: {', '.join(more)}.")
        _check_windows(item.select(learned.channels, str(test)), test, settings, notes, least=1)
    name = (train if test is None else test).name
    e = model.explain(frame, names=[name], progress=progress)
    return Findings.of(e, model=model, title=name, notes=tuple(notes))


def odd_spans(e: PatchExplanation, i: int, top: int) -> list[OddSpan]:
    """The ``top`` windows of series ``i`` whose steps have the most relevance, a window or more apart.

    Relevance of a step adds up from all windows that look at it. What is odd in all of them stands out more
    than in the outlierness of any one window. It reaches into the next window, which is no place of its own.
    """
    item, heat, scores = e.items[i], e.heatmap(i).reshape(len(e.data[i]), -1), e.score_maps[i][0]
    view = e.model.scales_[0].view
    width = view.patch[0]
    windows = np.flatnonzero(np.isfinite(scores))
    starts = item.steps_given(view.stride * windows)
    sums = np.concatenate([[0.0], np.cumsum(heat.sum(axis=1))])
    relevance = sums[starts + width] - sums[starts]
    spans: list[OddSpan] = []
    for best in np.argsort(-relevance, kind="stable"):
        start, stop = int(starts[best]), int(starts[best]) + width
        if len(spans) == top or relevance[best] <= 0.0:
            break
        if all(stop + width <= span.start or span.stop + width <= start for span in spans):
            outlierness = float(scores[windows[best]])
            spans.append(_span(item, heat, (start, stop), outlierness, float(e.outlierness[i])))
    return spans


def is_seen(e: PatchExplanation, i: int) -> NDArray[np.bool_]:
    """(T,) whether a window without a gap looks at each step of series ``i``."""
    view, scores = e.model.scales_[0].view, e.score_maps[i][0]
    starts = e.items[i].steps_given(view.stride * np.flatnonzero(np.isfinite(scores)))
    steps = len(e.data[i])
    ends = np.bincount(starts, minlength=steps + 1) - np.bincount(starts + view.patch[0], minlength=steps + 1)
    return np.asarray(np.cumsum(ends)[:steps] > 0)


def step_text(item: Item, step: int) -> str:
    """When a step is: its time, or its number if there is none."""
    return str(step) if item.times is None else time_text(item.times[step])


def _span(
    item: Item, heat: NDArray[np.float64], ends: tuple[int, int], outlierness: float, total: float
) -> OddSpan:
    start, stop = ends
    since, until = (step_text(item, step) for step in (start, stop - 1))
    parts = heat[start:stop].sum(axis=0)
    relevance = float(parts.sum())
    order = np.argsort(-parts, kind="stable")
    channels = {item.channels[c]: float(parts[c]) / relevance for c in order}
    return OddSpan(start, stop, since, until, relevance, relevance / total, outlierness, channels)


def _chosen(frame: Any, path: Path, settings: Settings, notes: list[str]) -> Any:
    """The columns that are asked for; a note tells which others hold no numbers."""
    clock = () if settings.time is None else (settings.time,)
    _check_known(frame.columns, (*settings.columns, *settings.drop, *clock), path)
    kept = [name for name in settings.columns or frame.columns if name not in settings.drop]
    dates = frame.select(_selector("date") | _selector("datetime")).columns
    clocks = {settings.time} if settings.time else set(dates)
    numbers = set(frame.select(_selector("numeric") | _selector("boolean")).columns)
    no_numbers = [name for name in kept if name not in numbers | clocks]
    if no_numbers and settings.columns:
        raise ValueError(f"Column {no_numbers[0]!r} of {path} holds no numbers. Leave it out of --columns.")
    if no_numbers:
        notes.append(f"{path}: ignored since they hold no numbers: {', '.join(no_numbers)}.")
    if not [name for name in kept if name in numbers - clocks]:
        raise ValueError(f"{path} has no column of numbers to use. It has: {', '.join(frame.columns)}.")
    # The time need not be among the channels that are asked for.
    told = [name for name in frame.columns if name in clocks and name not in (*kept, *settings.drop)]
    return frame.select([*told, *(name for name in kept if name not in no_numbers)])


def _selector(kind: str) -> Any:
    from whyodd.io.tables import polars

    return getattr(polars().selectors, kind)()


def _check_known(columns: Sequence[str], asked: Sequence[str], path: Path) -> None:
    for name in asked:
        if name not in columns:
            raise ValueError(f"{path} has no column {name!r}. It has: {', '.join(columns)}.")


def _as_item(frame: Any, path: Path, time: str | None) -> Item:
    try:
        return as_items(frame, 1, time)[0]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _check_channels(columns: Sequence[str], needed: Sequence[str], paths: tuple[Path, Path]) -> None:
    train, test = paths
    for name in needed:
        if name not in columns:
            raise ValueError(
                f"{test} has no column {name!r} of numbers, which {train} has. Add it, or --drop it."
            )


def _check_windows(item: Item, path: Path, settings: Settings, notes: list[str], *, least: int) -> None:
    """Enough windows without gaps, or an error that says what is in their way."""
    window, gaps = settings.window, np.isnan(item.values).any(axis=1)
    if len(item.given) < window:
        raise ValueError(
            f"{path} has {len(item.given)} rows, fewer than a window of {window}. Use a smaller --window."
        )
    missing = np.concatenate([[0], np.cumsum(gaps)])
    whole = (missing[window:] == missing[:-window])[:: settings.stride]
    if whole.size < least:
        raise ValueError(
            f"{path} has room for {whole.size} window, expected at least {least}. Use a smaller --stride or "
            "--window."
        )
    if whole.sum() < least:
        raise ValueError(
            f"{path}: {whole.sum()} of {whole.size} windows of {window} rows are without gaps"
            f"{_most_gaps(item)}. Fill the gaps, --drop what has most of them, or use a smaller --window."
        )
    if not whole.all():
        notes.append(f"{path}: {(~whole).sum()} of {whole.size} windows have gaps and are left out.")


def _most_gaps(item: Item) -> str:
    shares = np.isnan(item.given).mean(axis=0)
    worst = int(shares.argmax())
    return f" ({item.channels[worst]!r} lacks {shares[worst]:.0%} of its values)" if shares[worst] else ""


def _check_variety(item: Item, path: Path, notes: list[str]) -> None:
    constant = np.nanmin(item.given, axis=0) == np.nanmax(item.given, axis=0)
    if constant.all():
        raise ValueError(f"{path}: no channel ever varies, so there is nothing to learn from.")
    if constant.any():
        names = ", ".join(np.array(item.channels, dtype=object)[constant])
        notes.append(f"{path}: never varies, so that any other value later is odd in its own unit: {names}.")
