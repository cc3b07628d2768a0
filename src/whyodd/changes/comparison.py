"""What changed between two tables: the frozen result."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyodd.explanations.sentences import number, percent
from whyodd.inputs.frames import build_frame
from whyodd.io.atomic import replacing
from whyodd.report.comparison import render_comparison
from whyodd.report.render import check_installed
from whyodd.version import __version__

if TYPE_CHECKING:
    import os

# The parts of other columns may be negative by chance; then the whole is smaller than this one.
_NEARLY_ALL = 0.95
_SHOWN = 8  # changes in a notebook or a terminal


@dataclass(frozen=True)
class Change:
    """One thing that changed.

    Attributes
    ----------
    kind : {"type", "column", "gaps", "group", "relation", "new kind", "vanished kind"}
        What it is that changed.
    columns : tuple of str
        The columns it is about, the one that changed first.
    words : str
        What changed, as a sentence without its full stop.
    p_value : float
        How often chance alone would put anything as striking on the page; 0 if chance plays no part in it.
    share : float or None
        Part of the change beyond chance, if that is known.
    before, after : object
        Medians, shares or correlations, as ``words`` give them.
    group : str or None
        The rows it is about, if not about all.
    where : dict or None
        The same as a filter: its "column", and the value for "above", "up_to", "is" or "is_not".
    rows : tuple of int
        For a new or vanished kind: its rows, by their positions in the table that has them.
    """

    kind: str
    columns: tuple[str, ...]
    words: str
    p_value: float
    share: float | None = None
    before: Any = None
    after: Any = None
    group: str | None = None
    where: dict[str, Any] | None = None
    rows: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """What changed, and its share of the whole change."""
        if self.share is None or self.share <= 0.0:
            return f"{self.words}."
        share = percent(self.share) if self.share < _NEARLY_ALL else "nearly all"
        return f"{self.words}; that is {share} of the change."


@dataclass(frozen=True)
class ColumnPart:
    """A column's part of the distance between the tables.

    Attributes
    ----------
    name, kind : str
    part : float
        Of W²; the parts of all columns add up to it.
    own : float
        What of it the column's own distribution explains. The rest is in its relations with others.
    chance, own_chance : float
        Their averages for two tables made of the same rows at random.
    share : float or None
        Of the change beyond chance, (part - chance) / (W² - chance of W²).
    p_value : float
        Of its own distribution; how often chance would put anything as striking on the page.
    """

    name: str
    kind: str
    part: float
    own: float
    chance: float
    own_chance: float
    share: float | None
    p_value: float

    @property
    def rest(self) -> float:
        """The part that only relations with other columns explain."""
        return self.part - self.own


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What changed between two tables.

    Made by :func:`whyodd.compare`.

    Attributes
    ----------
    changes : tuple of Change
        What changed beyond chance, the main change first; empty if nothing did.
    columns : tuple of ColumnPart
        Each column's part of the distance.
    distance : float
        W², the mean squared distance between rows of the two tables in the best coupling, in scales.
    chance : float
        The average distance between two tables made of the same rows at random.
    p_value : float
        How often chance would put anything as striking on the page as the most striking thing on it.
    distance_p_value : float
        The same for the distance.
    false_alarms : float
        Anything with a larger ``p_value`` is not called a change.
    n_old, n_new : int
        Rows of the tables.
    n_compared, n_coupled : int
        Rows of each table that were compared, and that were coupled.
    names : tuple of str
        Names of the two tables.
    notes : tuple of str
        Further facts to know, in sentences.
    pictures : tuple of dict
        Distributions and scatters of what changed most, to draw.
    made_by : str or None
        The command that made it.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> rng = np.random.default_rng(0)
    >>> old, new = ({"amount": rng.normal(size=80), "age": rng.normal(size=80)} for _ in range(2))
    >>> new["amount"] = new["amount"] + 2.0
    >>> found = whyodd.compare(old, new)
    >>> found.changes[0].columns, found.has_changed
    (('amount',), True)
    """

    changes: tuple[Change, ...]
    columns: tuple[ColumnPart, ...]
    distance: float
    chance: float
    p_value: float
    distance_p_value: float
    false_alarms: float
    n_old: int
    n_new: int
    n_compared: int
    n_coupled: int
    names: tuple[str, str] = ("old", "new")
    notes: tuple[str, ...] = ()
    pictures: tuple[dict[str, Any], ...] = ()
    made_by: str | None = None

    @property
    def has_changed(self) -> bool:
        """Whether anything changed beyond chance."""
        return bool(self.changes) or self.p_value <= self.false_alarms

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        rows = f"{self.n_old:,} old and {self.n_new:,} new rows"
        if not self.has_changed:
            return f"Nothing changed beyond chance between {rows}."
        if not self.changes:
            return f"Something changed between {rows}, but in no single column, pair or group of rows."
        first = self.changes[0].sentence
        more = len(self.changes) - 1
        others = "" if not more else f" {more} more change{'s' if more > 1 else ''} below."
        return f"{first}{others}"

    @property
    def distance_words(self) -> str:
        """The distance, the distance expected by chance, and whether it is larger."""
        if math.isclose(self.distance, 0.0, abs_tol=1e-12):
            return "The tables hold the same rows."
        verdict = "more than chance" if self.distance_p_value <= self.false_alarms else "no more than chance"
        return (
            f"Distance W² = {number(self.distance)}; two tables made up at random from the same rows have "
            f"{number(self.chance)} on average: {verdict} (p = {number(self.distance_p_value, 2)})."
        )

    def to_frame(self) -> Any:
        """Data frame with a line per change, the main one first."""
        rows = self.changes
        return build_frame(
            {
                "rank": list(range(1, len(rows) + 1)),
                "kind": [row.kind for row in rows],
                "columns": [", ".join(row.columns) for row in rows],
                "group": [row.group or "" for row in rows],
                "change": [row.words for row in rows],
                "share": [math.nan if row.share is None else row.share for row in rows],
                "p_value": [float(row.p_value) for row in rows],
                "rows": [" ".join(map(str, row.rows)) for row in rows],
            },
            None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole comparison as numbers, texts, lists and dictionaries, ready for JSON."""
        plain = {
            name: getattr(self, name)
            for name in (
                *("headline", "has_changed", "distance", "chance", "p_value", "distance_p_value"),
                *("distance_words", "false_alarms", "n_old", "n_new", "n_compared", "n_coupled", "made_by"),
            )
        }
        return {
            "version": __version__,
            "title": f"{self.names[0]} → {self.names[1]}",
            "names": list(self.names),
            **plain,
            "changes": [_plain(asdict(change)) | {"sentence": change.sentence} for change in self.changes],
            "columns": [_plain(asdict(column)) | {"rest": column.rest} for column in self.columns],
            "pictures": [_plain(picture) for picture in self.pictures],
            "notes": list(self.notes),
        }

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML page."""
        check_installed()
        page = render_comparison(self.to_dict())
        with replacing(Path(path)) as draft:
            draft.write_text(page, encoding="utf-8", newline="\n")

    def __repr__(self) -> str:
        lines = [change.sentence for change in self.changes[:_SHOWN]] or [self.headline]
        return "<" + "\n ".join([*lines, self.distance_words, *self.notes]) + ">"


def _plain(value: Any) -> Any:
    """Tuples as lists, and None for a number that is not finite."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
