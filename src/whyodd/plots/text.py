"""A message as it is, its words shaded by relevance."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any
from unicodedata import bidirectional

from whyodd.explanations.base import TEXTS
from whyodd.explanations.sentences import number, percent
from whyodd.plots.figures import UNKNOWN, check_kind, drawable, lay_out, pyplot, title_of
from whyodd.plots.reasons import BLACK, SMALL, check_rows, head
from whyodd.texts.notebook import pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whyodd.texts.explanation import TextExplanation, Word

    Measure = Callable[[str], float]
    Line = list[tuple[float, "Piece"]]

_SHADE = (217 / 255, 98 / 255, 43 / 255)
_OPACITY, _VISIBLE = (
    0.75,
    0.02,
)  # of the most relevant word; share of its relevance below which nothing is seen
_LONGEST = 2000  # characters of a message
_TERMS, _TERM = 8, 30  # missing terms, and letters of one
_WIDTH, _MARGIN, _HEAD = 8.5, 0.25, 0.7  # inches
_SIZE, _LINE = SMALL + 2, 19.0  # points: letters of the message, and from line to line
_BASE = 0.9  # part of a line that is above the baseline
_MOST_LINES, _MOST_LETTERS = 40, 200  # of a message, of a line
_ATOMS = re.compile(r"\s+|\S+")
_GREY = "#555555"


@dataclass(frozen=True)
class Piece:
    """Letters drawn together; ``strength`` (0 to 1) sets how dark; a new word is underlined."""

    text: str
    strength: float = 0.0
    is_new: bool = False


def text(e: TextExplanation, i: int = 0, ax: Any = None) -> Any:
    """Message ``i`` with its words shaded by relevance, and its missing terms below.

    The darkest word is the most relevant one of this message. Letters that matplotlib's font does not have
    are rectangles: name a font that has them in ``matplotlib.rcParams["font.family"]``.

    Parameters
    ----------
    e : TextExplanation
    i : int, default 0
        Message of ``e``.
    ax : matplotlib Axes, optional
        Where to draw, leaving out lines that have no room; a new figure with room for 40 by default.

    Returns
    -------
    matplotlib Axes
    """
    check_kind(e, (TEXTS,), "Draw rows of tables with bars or waterfall.")
    check_rows(e)
    words = e.tokens(i)
    limit = max((word.relevance for word in words), default=0.0)
    is_own, ax = ax is None, _own_axes() if ax is None else ax
    ax.set_axis_off()
    title = f"Message {e.rows[i]}: outlierness {number(float(e.outlierness[i]))}"
    head(ax, title, _legend(words, limit, float(e.outlierness[i])))
    width, height = _size(ax)
    measure = _measure(ax, _SIZE)
    message = wrapped(_shaded(e, i, limit), width, measure)
    told = [line for part in _told(e, i) for line in wrapped([Piece(part)], width, _measure(ax, SMALL))]
    room = _MOST_LINES if is_own else max(int(height / _LINE - 0.7) - len(told), 1)
    message = message if len(message) <= room else [*message[: room - 1], [(0.0, Piece("…"))]]
    if is_own:
        height = _make_room(ax, len(message) + 0.7 + len(told))
    ax.set(xlim=(0.0, width), ylim=(height, 0.0))
    _draw_message(ax, message, measure, width if _reads_from_right(e.messages[i]) else None)
    for place, line in enumerate(told, start=len(message)):
        _write(ax, 0.0, place + 0.5, " ".join(piece.text for _, piece in line), SMALL, _GREY)
    return ax


def wrapped(parts: Iterable[Piece], width: float, measure: Measure) -> list[Line]:
    """Lines of pieces with their positions, broken at spaces, and elsewhere only if necessary.

    Examples
    --------
    >>> from whyodd.plots.text import Piece, wrapped
    >>> lines = wrapped([Piece("to be or not "), Piece("tobetobetobe")], width=8, measure=len)
    >>> [[(x, piece.text) for x, piece in line] for line in lines]
    [[(0.0, 'to'), (3.0, 'be'), (6.0, 'or')], [(0.0, 'not')], [(0.0, 'tobetobe')], [(0.0, 'tobe')]]
    """
    lines = _Lines(width, measure)
    atoms = (replace(part, text=atom) for part in parts for atom in _ATOMS.findall(part.text))
    for is_space, together in groupby(atoms, key=lambda atom: atom.text.isspace()):
        if is_space:
            lines.skip("".join(atom.text for atom in together))
        else:
            lines.add([replace(atom, text=drawable(atom.text)) for atom in together])
    return lines.done


class _Lines:
    """Lines that are filled from left to right."""

    def __init__(self, width: float, measure: Measure) -> None:
        self.width, self.measure = width, measure
        self.done: list[Line] = [[]]
        self.x = 0.0

    def skip(self, space: str) -> None:
        """Leave a space, or end the line."""
        for _ in range(min(space.count("\n"), 2)):  # at most one line stays empty
            self._end()
        if self.x > 0.0:
            self.x += len(space) * self.measure(" ")

    def add(self, run: list[Piece]) -> None:
        """Pieces without a space between them: on this line if they fit, else on the next one."""
        if self.x > 0.0 and self.x + sum(self.measure(piece.text) for piece in run) > self.width:
            self._end()
        for piece in run:
            self._place(piece)

    def _place(self, piece: Piece) -> None:
        rest = piece.text
        while rest:
            fitting = self._fitting(rest)
            if fitting > 0:
                self.done[-1].append((self.x, replace(piece, text=rest[:fitting])))
                self.x += self.measure(rest[:fitting])
            rest = rest[fitting:]
            if rest:
                self._end()

    def _fitting(self, letters: str) -> int:
        """How many letters fit on the rest of the line; at least one on an empty line."""
        room, letters = self.width - self.x, letters[:_MOST_LETTERS]
        if self.measure(letters) <= room:
            return len(letters)
        fit = bisect_right(range(len(letters)), room, key=lambda n: self.measure(letters[:n])) - 1
        return max(fit, 0 if self.x > 0.0 else 1)

    def _end(self) -> None:
        self.done.append([])
        self.x = 0.0


def _shaded(e: TextExplanation, i: int, limit: float) -> list[Piece]:
    found = []
    for part, word in pieces(e, i, _LONGEST):
        strength = 0.0 if word is None or limit <= 0.0 else max(word.relevance, 0.0) / limit
        is_told = word is not None and (e.usage is None or strength > 0.0)
        found.append(Piece(part, strength, word is not None and is_told and word.is_new))
    return found


def _legend(words: Sequence[Word], limit: float, outlierness: float) -> list[tuple[Any, str]]:
    """Meaning of the darkest shade and of half of it, and of underlining if there is any."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[Any, str]] = []
    if limit > 0.0 and outlierness > 0.0:
        shares = [
            (1.0, f"{percent(limit / outlierness)} of the outlierness"),
            (0.5, percent(limit / outlierness / 2)),
        ]
        entries += [(Patch(facecolor=_shade(strength)), told) for strength, told in shares]
    if any(word.is_new for word in words):
        entries.append((Line2D([], [], color=BLACK, linewidth=1.0), "never seen in training"))
    return entries


def _shade(strength: float) -> tuple[float, float, float, float]:
    return (*_SHADE, _OPACITY * strength)


def _told(e: TextExplanation, i: int) -> list[str]:
    """In words whatever the message itself does not show."""
    whole = float(e.outlierness[i]) or 1.0
    lacking = e.absent(i, _TERMS) if e.usage is None else e.lacking(i)[:_TERMS]
    missing = [f"{title_of(t.term, _TERM)} {percent(t.relevance / whole)}" for t in lacking]
    shares = f"{percent(float(e.unexplained[i]) / whole)} belongs to no single word"
    message = e.messages[i][:_LONGEST]
    notes = [] if message.strip() else ["the message is empty"]
    if drawable(message).count(UNKNOWN) > message.count(UNKNOWN):
        notes.append(f"{UNKNOWN} stands for letters that the font lacks")
    return [f"missing: {', '.join(missing) or 'nothing'}", shares, *notes]


def _reads_from_right(message: str) -> bool:
    """Whether the first letter with a direction is read from the right."""
    kinds = (bidirectional(letter) for letter in message)
    return next((kind != "L" for kind in kinds if kind in ("L", "R", "AL")), False)


def _own_axes() -> Any:
    figure = pyplot().figure(figsize=(_WIDTH, 3.0))
    return figure.add_axes((_MARGIN / _WIDTH, 0.1, 1.0 - 2.0 * _MARGIN / _WIDTH, 0.5))


def _make_room(ax: Any, n_lines: float) -> float:
    """Make the figure as high as the lines need; return the height of the axes in points."""
    height = n_lines * _LINE / 72
    total = _HEAD + height + _MARGIN
    left, _, across, _ = ax.get_position().bounds
    ax.figure.set_size_inches(_WIDTH, total)
    ax.set_position((left, _MARGIN / total, across, height / total))
    return 72 * height


def _size(ax: Any) -> tuple[float, float]:
    """Width and height of the axes in points, after the title has taken its space."""
    lay_out(ax)
    box = ax.get_window_extent()
    return 72 * box.width / ax.figure.dpi, 72 * box.height / ax.figure.dpi


def _measure(ax: Any, size: float) -> Measure:
    """Width of text in points, with the space around its letters, on this figure and on a coarse one."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    rulers = [Text(fontsize=size, parse_math=False) for _ in range(2)]
    # Letters are fitted to pixels: where those are large, words are wider, and would touch each other.
    for ruler, figure in zip(rulers, (ax.figure, Figure(dpi=72)), strict=True):
        ruler.set_figure(figure)

    @cache
    def measure(letters: str) -> float:
        return max(_drawn_width(ruler, f"|{letters}|") - _drawn_width(ruler, "||") for ruler in rulers)

    return measure


def _drawn_width(ruler: Any, letters: str) -> float:
    ruler.set_text(letters)
    return 72 * float(ruler.get_window_extent().width) / float(ruler.get_figure().dpi)


def _draw_message(ax: Any, lines: Sequence[Line], measure: Measure, right: float | None) -> None:
    """Draw the lines of a message, from the right end where they are read from there."""
    for place, line in enumerate(lines):
        for x, piece in line if right is None else _mirrored(line, measure, right):
            drawn = _write(ax, x, place, piece.text, _SIZE, BLACK)
            if piece.strength > _VISIBLE:
                drawn.set_bbox({"facecolor": _shade(piece.strength), "edgecolor": "none", "pad": 1.0})
            if piece.is_new:
                y = (place + _BASE) * _LINE + 2.5
                ax.plot([x, x + measure(piece.text)], [y, y], color=BLACK, linewidth=1.0)


def _mirrored(line: Line, measure: Measure, right: float) -> Iterator[tuple[float, Piece]]:
    """Pieces from the right end on; adjacent pieces that are read from the left keep their order."""
    for is_from_right, group in groupby(line, key=lambda entry: _reads_from_right(entry[1].text)):
        together = list(group)
        first, end = together[0][0], together[-1][0] + measure(together[-1][1].text)
        for x, piece in together:
            yield (right - x - measure(piece.text) if is_from_right else right - end + x - first), piece


def _write(ax: Any, x: float, line: float, letters: str, size: float, colour: str) -> Any:
    y = (line + _BASE) * _LINE
    return ax.text(x, y, letters, va="baseline", fontsize=size, color=colour, parse_math=False)
