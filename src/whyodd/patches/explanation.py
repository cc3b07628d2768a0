"""The frozen result for images and series: which pixels or time steps make each item odd."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.explanations.table import at_least_one
from whyodd.inputs.frames import build_frame
from whyodd.patches.notebook import html_view
from whyodd.patches.strangest import strangest_window
from whyodd.patches.words import place_text, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from whyodd.patches.items import Item
    from whyodd.patches.model import PatchModel
    from whyodd.patches.scale import Folded
    from whyodd.patches.strangest import StrangePatch

_PER_ITEM = (
    "items",
    "relevance",
    "outlierness",
    "unexplained",
    "discarded",
    "score_maps",
    "names",
    "rows",
    "twins",
)


@dataclass(frozen=True, eq=False, repr=False)
class PatchExplanation:
    """Outlierness of n images or series, decomposed onto their pixels or time steps: Σ R + unexplained = O.

    Made by :meth:`whyodd.PatchModel.explain`. ``e[i]`` takes an item, a slice, a mask or an array of
    positions and gives a ``PatchExplanation`` again.

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
    names : tuple of str
        What the items are called.
    rows : ndarray of shape (n,)
        Position of each item among those that were given.
    twins : tuple of int or None
        The training item that an item is, whose patches were left out for it; None for a new one.
    items : tuple of Item
        What was explained, with its channels and times.
    model : PatchModel
    method : str
        How it was explained. Where relevance is not in units of the outlierness, ``unexplained`` is NaN.
    """

    items: tuple[Item, ...]
    relevance: tuple[NDArray[np.float64], ...]
    outlierness: NDArray[np.float64]
    unexplained: NDArray[np.float64]
    discarded: NDArray[np.float64]
    score_maps: tuple[tuple[NDArray[np.float64], ...], ...]
    names: tuple[str, ...]
    rows: NDArray[np.intp]
    twins: tuple[int | None, ...]
    model: PatchModel
    method: str = "dtd"

    @classmethod
    def of(
        cls,
        items: Sequence[Item],
        folded: Sequence[Sequence[Folded]],
        model: PatchModel,
        names: Sequence[str] | None,
        twins: Sequence[int | None],
    ) -> PatchExplanation:
        """Sum up what each scale says of each item."""
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
            names=tuple(names) if names is not None else tuple(f"item {i}" for i in range(len(items))),
            rows=np.arange(len(items)),
            twins=tuple(twins),
            model=model,
        )

    @property
    def is_additive(self) -> bool:
        """Whether relevance is in units of the outlierness: Σ R + unexplained = O."""
        return not bool(np.isnan(self.unexplained).any())

    threshold: ClassVar[None] = None
    network: ClassVar[Any] = None
    has_columns: ClassVar[bool] = False

    @property
    def noun(self) -> str:
        """What an item is."""
        return "series" if self.is_series else "image"

    @property
    def nouns(self) -> str:
        """What several are."""
        return "series" if self.is_series else "images"

    @property
    def data(self) -> tuple[NDArray[Any], ...]:
        """The items as they were given."""
        return tuple(item.given for item in self.items)

    @property
    def n_windows(self) -> NDArray[np.intp]:
        """How many windows of each item (n,) hold no gap."""
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
        """The window of item ``i`` with the most relevance in it, beside the normal patch most like it.

        Of several scales the one tells whose windows stand out most from their usual outlierness.
        """
        i = self._position(i)
        scales, maps, item = self.model.scales_, self.score_maps[i], self.items[i]
        told = [
            np.nanmax(scores, initial=0.0) / (s.weight * s.usual or 1.0)
            for s, scores in zip(scales, maps, strict=True)
        ]
        if not np.isfinite(np.concatenate([scores.ravel() for scores in maps])).any():
            raise ValueError(f"{self.names[i]}: every window holds a gap, so that none is the strangest.")
        which = int(np.argmax(told))
        values, heat = self.model.prepared(item), item.as_values(self.relevance[i])
        window = strangest_window(scales[which], values, heat, maps[which], self.twins[i])
        return item.placed(self.model.in_raw_units(window))

    def why(self, i: int = 0) -> str:
        """Where item ``i`` is odd, in one sentence."""
        return sentence(self, self._position(i))

    def __len__(self) -> int:
        return len(self.outlierness)

    def __iter__(self) -> Iterator[PatchExplanation]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int | slice | NDArray[Any] | list[int] | list[bool]) -> PatchExplanation:
        picked = np.atleast_1d(np.arange(len(self))[index])
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in _PER_ITEM:
            value = parts[name]
            parts[name] = value[picked] if isinstance(value, np.ndarray) else tuple(value[i] for i in picked)
        return PatchExplanation(**parts)

    def top(self, k: int) -> PatchExplanation:
        """Explanation of the ``k`` oddest items, the oddest first."""
        return self[np.argsort(-self.outlierness, kind="stable")[: at_least_one(k, "items")]]

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
        """Data frame with a line for each item (pandas, or what else is installed)."""
        return build_frame(self.table(), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary of numbers, strings and lists, ready for JSON; relevance as nested lists."""
        table = self.table()
        lines = [dict(zip(table, line, strict=True)) for line in zip(*table.values(), strict=True)]
        for line, relevance in zip(lines, self.relevance, strict=True):
            line["relevance"] = relevance.tolist()
            line["unexplained"] = line["unexplained"] if self.is_additive else None  # JSON has no NaN
        return {"method": self.method, "channels": list(self.channels), "items": lines}

    def __repr__(self) -> str:
        kind = "series" if self.is_series else ("image" if len(self) == 1 else "images")
        by = "" if self.method == "dtd" else f" by {self.method}"
        lines = [f"Explanation of {len(self)} {kind}{by}"]
        lines += [f"{one.names[0]}: {one.why(0)}" for one in self.top(5)] if len(self) else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_view(self)

    def _position(self, i: int) -> int:
        if not isinstance(i, Integral) or not -len(self) <= i < len(self):
            raise IndexError(f"{i!r} is no item of an explanation of {len(self)}.")
        return int(i) % len(self)
