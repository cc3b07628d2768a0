"""The frozen result for images and series: which pixels or time steps make each item odd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.explanations.base import IMAGES, SERIES, BaseExplanation, Kind, at_least_one
from whyodd.explanations.sentences import Reason, percent
from whyodd.inputs.frames import build_frame
from whyodd.patches.notebook import items_table, legend
from whyodd.patches.places import place_text, window_text
from whyodd.patches.strangest import strangest_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.patches.items import Item
    from whyodd.patches.model import PatchModel
    from whyodd.patches.scale import Folded
    from whyodd.patches.strangest import StrangePatch

_PLACES = 5  # reported unless another number is given


@dataclass(frozen=True, eq=False, repr=False)
class PatchExplanation(BaseExplanation):
    """Outlierness of n images or series, decomposed onto their pixels or time steps: Σ R + unexplained = O.

    Made by :meth:`whyodd.PatchModel.explain`. ``e[i]`` takes an item, a slice, a mask or an array of
    positions and returns a ``PatchExplanation``.

    Attributes
    ----------
    relevance : tuple of ndarray
        R of each item, in the shape of the item.
    outlierness : ndarray of shape (n,)
        O = Σ_t o_t, the sum over all windows.
    unexplained : ndarray of shape (n,)
        Part of O that belongs to no pixel.
    discarded : ndarray of shape (n,)
        Largest share of a window's soft assignment that was left out, at most the model's ``tolerance``.
    score_maps : tuple of tuple of ndarray
        For each item and scale o_t of every window, (windows along each axis); NaN where it holds a gap.
    rows : ndarray of shape (n,)
        Position of each item among those that were given.
    twins : tuple of int or None
        The training item that equals each item, whose patches were left out; None for a new item.
    items : tuple of Item
        What was explained, with its channels and times.
    model : PatchModel
    method : str
        How it was explained. Where relevance is not in units of the outlierness, ``unexplained`` is NaN.
    ids : tuple of str, optional
        Names of the items.
    threshold : None
        Outlierness is a sum over windows: no threshold fits items of all sizes. ``is_odd`` compares their
        mean over windows with that of the model.
    """

    _told: ClassVar[int] = 5
    _per_item: ClassVar[tuple[str, ...]] = (
        *(
            "items",
            "relevance",
            "outlierness",
            "unexplained",
            "discarded",
            "score_maps",
            "rows",
            "twins",
            "ids",
        ),
    )

    items: tuple[Item, ...]
    relevance: tuple[NDArray[np.float64], ...]
    outlierness: NDArray[np.float64]
    unexplained: NDArray[np.float64]
    discarded: NDArray[np.float64]
    score_maps: tuple[tuple[NDArray[np.float64], ...], ...]
    rows: NDArray[np.intp]
    twins: tuple[int | None, ...]
    model: PatchModel
    method: str = "dtd"
    ids: tuple[str, ...] | None = None
    threshold: float | None = None

    @classmethod
    def of(
        cls,
        items: Sequence[Item],
        folded: Sequence[Sequence[Folded]],
        model: PatchModel,
        ids: tuple[str, ...] | None,
        twins: Sequence[int | None],
        method: str,
    ) -> PatchExplanation:
        """Sum the results of all scales for each item."""
        return cls(
            items=tuple(items),
            relevance=tuple(
                item.as_given(np.sum([part.relevance for part in parts], axis=0))
                for item, parts in zip(items, folded, strict=True)
            ),
            outlierness=np.array([sum(float(np.nansum(part.scores)) for part in parts) for parts in folded]),
            unexplained=np.array([sum(part.unexplained for part in parts) for parts in folded]),
            discarded=np.array([max(part.discarded for part in parts) for parts in folded]),
            score_maps=tuple(tuple(part.scores for part in parts) for parts in folded),
            rows=np.arange(len(items)),
            twins=tuple(twins),
            model=model,
            method=method,
            ids=ids,
        )

    @property
    def kind(self) -> Kind:
        """The words for images or series."""
        return SERIES if self.is_series else IMAGES

    @property
    def summed_relevance(self) -> NDArray[np.float64]:
        """(n,) relevance of all pixels or time steps."""
        return np.array([each.sum(dtype=np.float64) for each in self.relevance])

    @property
    def is_odd(self) -> NDArray[np.bool_]:
        """(n,) whether the mean over the windows of each item is above the model's threshold."""
        return np.asarray(self.per_window > self.model.threshold_)

    @property
    def data(self) -> tuple[NDArray[Any], ...]:
        """The items as given."""
        return tuple(item.given for item in self.items)

    @property
    def n_windows(self) -> NDArray[np.intp]:
        """Number of windows of each item (n,) without a gap."""
        return np.array(
            [sum(int(np.isfinite(s).sum()) for s in maps) for maps in self.score_maps], dtype=np.intp
        )

    @property
    def per_window(self) -> NDArray[np.float64]:
        """Mean outlierness of the windows of each item (n,): to compare items of different size."""
        return self.outlierness / np.maximum(self.n_windows, 1)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return self.model.channels_

    @property
    def is_series(self) -> bool:
        """Whether the items are series, not images."""
        return len(self.model.scales_[0].view.patch) == 1

    def heatmap(self, i: int) -> NDArray[np.float64]:
        """Relevance of item ``i``, in its shape."""
        return self.relevance[self._position(i)]

    def by_channel(self, i: int) -> dict[str, float]:
        """Relevance of each channel of item ``i``, the largest first."""
        totals = self.heatmap(i).reshape(-1, len(self.channels)).sum(axis=0)
        return {self.channels[c]: float(totals[c]) for c in np.argsort(-totals, kind="stable")}

    def strangest(self, i: int) -> StrangePatch:
        """The most relevant window of item ``i``, beside the most similar normal patch.

        With several scales, it comes from the scale whose windows exceed their usual outlierness most.
        """
        return self.strangest_windows(i, 1)[0]

    def strangest_windows(self, i: int, k: int) -> list[StrangePatch]:
        """The ``k`` most relevant windows of item ``i`` that do not overlap."""
        i = self._position(i)
        scales, maps, item = self.model.scales_, self.score_maps[i], self.items[i]
        told = [
            np.nanmax(scores, initial=0.0) / (s.weight * s.usual or 1.0)
            for s, scores in zip(scales, maps, strict=True)
        ]
        if not np.isfinite(np.concatenate([scores.ravel() for scores in maps])).any():
            raise ValueError(f"{self.name(i)}: every window contains a gap, so none is the strangest.")
        which = int(np.argmax(told))
        values, heat = self.model.prepared(item), item.as_values(self.relevance[i])
        shapes = self.model.shapes_
        windows = strangest_windows(scales[which], values, heat, maps[which], self.twins[i], k, shapes)
        return [item.placed(self.model.in_raw_units(window)) for window in windows]

    def reasons(self, i: int, k: int | None = None) -> list[Reason]:
        """The strangest places of item ``i``, the most relevant first: at most ``k``, 5 by default.

        A place is a window; those of a series also have a main channel. ``value`` is the
        outlierness of the window, ``expected`` what is usual.
        """
        i, k = self._position(i), _PLACES if k is None else at_least_one(k, "reasons")
        if self.outlierness[i] <= 0.0:
            return []
        return [self._reason(i, window) for window in self.strangest_windows(i, k)]

    def why(self, i: int = 0, k: int = 1) -> str:
        """Where item ``i`` is odd, in one sentence with its ``k`` strangest places."""
        i, k = self._position(i), at_least_one(k, "reasons")
        if self.outlierness[i] <= 0.0:
            return "nothing is odd about it: its outlierness is 0"
        first, *others = self.reasons(i, k)
        parts = [f"oddest at {first.words}", *(f"then at {reason.words}" for reason in others)]
        if self.is_additive:
            parts.append(f"{percent(self.unexplained_share(i))} belongs to no single {self.kind.part}")
        return "; ".join(parts)

    def _reason(self, i: int, window: StrangePatch) -> Reason:
        item, relevance = self.items[i], float(window.relevance.sum())
        place = place_text(window, item)
        has_channel = self.is_series and len(self.channels) > 1
        return Reason(
            name=f"{self.channels[int(window.relevance.argmax())]}, {place}" if has_channel else place,
            value=window.outlierness,
            expected=window.usual,
            direction=0,
            relevance=relevance,
            share=self.share(i, relevance),
            judged="unusual",
            told=window_text(window, item),
        )

    def table(self) -> dict[str, list[Any]]:
        """A line for each item, by column: outlierness, the strangest window and where it is."""
        n_windows = self.n_windows.tolist()
        strange = [self.strangest(i) if n_windows[i] else None for i in range(len(self))]
        return {
            "item": list(self.names),
            "outlierness": self.outlierness.tolist(),
            "windows": n_windows,
            "per_window": self.per_window.tolist(),
            "unexplained": self.unexplained.tolist(),
            "strangest_window": [None if s is None else s.outlierness for s in strange],
            "where": [
                None if s is None else place_text(s, item)
                for s, item in zip(strange, self.items, strict=True)
            ],
        }

    def to_frame(self) -> Any:
        """Data frame with a line for each item (pandas, or another installed package)."""
        return build_frame(self.table(), None)

    def _plain(self) -> dict[str, Any]:
        table = self.table()
        lines = [dict(zip(table, line, strict=True)) for line in zip(*table.values(), strict=True)]
        for line, relevance in zip(lines, self.relevance, strict=True):
            line["relevance"] = relevance.tolist()  # nested lists
            line["unexplained"] = line["unexplained"] if self.is_additive else None  # JSON has no NaN
        return {"channels": list(self.channels), "items": lines}

    def _html(self, shown: PatchExplanation) -> str:
        return items_table(shown, self.relevance)

    def _legend(self) -> list[str]:
        return legend(self.is_series)
