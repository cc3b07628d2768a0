"""Where the relevance of each item lies, in one form for columns of tables and places in pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whyodd.explanations.base import IMAGES, TABLE
from whyodd.explanations.groups import readable_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Mask = NDArray[np.bool_]

GRID = 16  # cells along each side of a picture, whatever its size
_HALF, _QUARTER = 0.5, 0.25
_MOST, _LEAST = 3, 0.1  # columns in a name, at most, and the least share of each
# Places within this many standard deviations of most places are usual; normal noise exceeds that once in 700
# places.
_DEVIATIONS, _PER_MAD = 3.0, 1.4826
# If half of the relevance needs more of the picture than this, there is no place to point at.
_LARGE = 1 / 8
_RING = np.ones((GRID, GRID), dtype=bool)
_RING[1:-1, 1:-1] = False
BORDER, ALL_OVER, SAME_PLACES = "the border", "spread all over", "the same places"
DIFFERENT_PLACES = "different places"
MANY_COLUMNS, DIFFERENT_COLUMNS = "many columns", "different columns"
_THIRDS = (
    ("the upper left corner", "the upper middle", "the upper right corner"),
    ("the middle left", "the middle", "the middle right"),
    ("the lower left corner", "the lower middle", "the lower right corner"),
)


@dataclass(frozen=True, eq=False)
class Named:
    """The name of a profile, and the parts that this name refers to.

    Attributes
    ----------
    name : str
    parts : ndarray of bool of shape (p,)
        None of them where the name points at nothing that could be checked.
    position : str
        Where that is in pixels, to be put behind the name; empty if there is nothing to say.
    """

    name: str
    parts: Mask
    position: str = ""


class Profiles(Protocol):
    """Shares of the relevance of n items on p parts, and the names of such profiles."""

    @property
    def shares(self) -> Doubles:
        """(n, p) each line sums to 1, or is 0 where nothing stands out."""
        ...

    @property
    def weights(self) -> Doubles:
        """(n,) the part of the outlierness above the usual one."""
        ...

    def alike(self, some: Doubles, others: Doubles) -> Doubles:
        """Share of their relevance (n, m) that two profiles have in common."""
        ...

    def named(self, profile: Doubles, *, shared: bool) -> Named:
        """The name of a profile that several items share, or of a single item's profile."""
        ...

    def other(self) -> str:
        """The name for items that share nothing."""
        ...

    def concentration(self, named: Named, shares: Doubles) -> float:
        """Share of all relevance on the parts that the name refers to."""
        ...

    def strongest_by_chance(self, named: Named, shares: Doubles, rng: np.random.Generator) -> float:
        """The same for randomly placed relevance, under the name that suits it best."""
        ...


@dataclass(frozen=True, eq=False)
class RowProfiles:
    """Shares of the columns of a table."""

    shares: Doubles
    weights: Doubles
    columns: tuple[str, ...]

    @classmethod
    def of(cls, e: Any, usual: float) -> RowProfiles:
        """Shares of positive relevance; negative relevance has none."""
        return cls(
            shares=_normalized(_positive(e.relevance)),
            weights=np.maximum(np.asarray(e.outlierness, dtype=np.float64) - usual, 0.0),
            columns=tuple(e.feature_names),
        )

    def alike(self, some: Doubles, others: Doubles) -> Doubles:
        """Σ_k min(s_k, t_k) = 1 − Σ_k |s_k − t_k| / 2."""
        return _overlap(some, others)

    def named(self, profile: Doubles, *, shared: bool) -> Named:  # noqa: ARG002 - both are named alike
        """The fewest columns that hold half, and others with at least half of the first; at most three."""
        order = np.argsort(-profile, kind="stable")[:_MOST]
        held = profile[order]
        is_needed = (np.cumsum(held) - held < _HALF) | (held >= _HALF * held[0])
        leading = order[is_needed & (held >= _LEAST)]
        parts = np.zeros(profile.size, dtype=bool)
        if profile[leading].sum() < _HALF:
            return Named(MANY_COLUMNS, parts)
        parts[leading] = True
        names = [readable_name(self.columns[c]) for c in leading]
        if len(names) == 1:
            return Named(f"{names[0]} alone", parts)
        return Named(f"{names[0]} together with {' and '.join(names[1:])}", parts)

    def other(self) -> str:
        """The name for rows that share nothing."""
        return DIFFERENT_COLUMNS

    def concentration(self, named: Named, shares: Doubles) -> float:
        """Mean share of the named columns."""
        return float(shares[:, named.parts].sum(axis=1).mean())

    def strongest_by_chance(self, named: Named, shares: Doubles, rng: np.random.Generator) -> float:
        """Mean share of equally many columns, the best ones, after the shares of each row are shuffled."""
        means = rng.permuted(shares, axis=1).mean(axis=0)
        return float(np.sort(means)[::-1][: np.count_nonzero(named.parts)].sum())


@dataclass(frozen=True, eq=False)
class PictureProfiles:
    """Shares of the cells of a grid over pictures of any size; only what exceeds the usual level counts.

    Attributes
    ----------
    size : (int, int) or None
        Height and width of all pictures; None if they differ.
    """

    shares: Doubles
    weights: Doubles
    size: tuple[int, int] | None

    @classmethod
    def of(cls, e: Any, everyone: Any) -> PictureProfiles:
        """Relevance above the usual level of the cells of all pictures in ``everyone``."""
        usual = usual_level(np.array([_density(heat) for heat in everyone.relevance]))
        above = np.array([np.maximum(_density(heat) - usual, 0.0) for heat in e.relevance])
        sizes = {heat.shape[:2] for heat in e.relevance}
        pixels = np.array([heat.shape[0] * heat.shape[1] for heat in e.relevance])
        return cls(
            shares=_normalized(above.reshape(len(above), -1)),
            weights=above.mean(axis=(1, 2)) * pixels,
            size=sizes.pop() if len(sizes) == 1 else None,
        )

    def alike(self, some: Doubles, others: Doubles) -> Doubles:
        """The relevance at the same place, up to a cell, or anywhere at the border."""
        at_border = np.minimum.outer(some[:, _RING.ravel()].sum(axis=1), others[:, _RING.ravel()].sum(axis=1))
        return np.asarray(np.maximum(_overlap(_blurred(some), _blurred(others)), at_border))

    def named(self, profile: Doubles, *, shared: bool) -> Named:
        """The border, a place, or neither."""
        cells = profile.reshape(GRID, GRID)
        core = _core(cells)
        nothing = np.zeros(profile.size, dtype=bool)
        from scipy.ndimage import binary_dilation

        around = binary_dilation(core, np.ones((3, 3)))
        if cells[_RING].sum() >= _HALF and (not shared or _is_all_around(cells, around)):
            return Named(BORDER, _RING.ravel())
        if np.count_nonzero(core) > _LARGE * core.size:
            return Named(ALL_OVER, nothing)
        if not shared:
            return Named(DIFFERENT_PLACES, nothing)
        middle = _middle(np.where(core, cells, 0.0))
        name = _part_of_picture(around, core, middle)
        return Named(name, around.ravel(), "" if name == SAME_PLACES else self._position(middle))

    def other(self) -> str:
        """The name for pictures that share nothing."""
        return DIFFERENT_PLACES

    def concentration(self, named: Named, shares: Doubles) -> float:
        """Mean share of the border; of a place that of the strongest cell with its neighbours."""
        if named.name == BORDER:
            return float(shares[:, _RING.ravel()].sum(axis=1).mean())
        return float(_blurred(shares.mean(axis=0, keepdims=True)).max())

    def strongest_by_chance(self, named: Named, shares: Doubles, rng: np.random.Generator) -> float:
        """The same after each picture's relevance is shifted as a whole, wrapping around the edges."""
        rows, columns = (rng.integers(GRID, size=(len(shares), 1)) for _ in range(2))
        steps = np.arange(GRID)
        where = ((rows + steps) % GRID)[:, :, None] * GRID + ((columns + steps) % GRID)[:, None, :]
        return self.concentration(named, np.take_along_axis(shares, where.reshape(len(shares), -1), axis=1))

    def _position(self, middle: tuple[float, float]) -> str:
        """In pixels, where that is the same in all pictures."""
        if self.size is None:
            return ""
        row, column = (int(part * length) for part, length in zip(middle, self.size, strict=True))
        return f" (about row {row}, column {column})"


def profiles_of(e: Any, everyone: Any, usual: float) -> Profiles:
    """Profiles of the items of ``e``, some of those of ``everyone``; ``usual``: outlierness of most items."""
    if e.kind is TABLE:
        return RowProfiles.of(e, usual)
    if e.kind is IMAGES:
        return PictureProfiles.of(e, everyone)
    raise TypeError(
        f"Expected an explanation of table rows or images to audit, got one of {e.kind.nouns}, whose places "
        "do not correspond to each other. Audit rows or images."
    )


def pooled(heat: Doubles) -> Doubles:
    """Sums (16, 16) of relevance (H, W) on a grid over the picture; pixels between two cells are divided."""
    down, across = (_cover(length) for length in heat.shape)
    return np.asarray(down @ heat @ across.T)


def usual_level(density: Doubles) -> float:
    """Level that most cells of all pictures stay below: the median and three robust standard deviations."""
    middle = float(np.median(density))
    return middle + _DEVIATIONS * _PER_MAD * float(np.median(np.abs(density - middle)))


def _cover(length: int) -> Doubles:
    """(16, length) share of each pixel that lies in each of 16 cells."""
    edges, pixels = np.linspace(0.0, length, GRID + 1), np.arange(length)
    ends = np.minimum(edges[1:, None], pixels + 1.0)
    return np.asarray(np.maximum(ends - np.maximum(edges[:-1, None], pixels), 0.0))


def _density(heat: Any) -> Doubles:
    """Mean positive relevance of a pixel in each cell, all channels together."""
    flat = _positive(heat)
    flat = flat.sum(axis=2) if flat.ndim == 3 else flat
    return pooled(flat) * GRID**2 / flat.size


def _positive(relevance: Any) -> Doubles:
    """Positive relevance; a value that is not finite (a new value in a constant column) has no share."""
    values = np.asarray(relevance, dtype=np.float64)
    return np.where(np.isfinite(values), np.maximum(values, 0.0), 0.0)


def _normalized(parts: Doubles) -> Doubles:
    parts = parts / np.maximum(parts.max(axis=1, keepdims=True, initial=0.0), np.finfo(np.float64).tiny)
    whole = parts.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0.0))


def _overlap(some: Doubles, others: Doubles) -> Doubles:
    from scipy.spatial.distance import cdist

    return np.asarray(np.maximum(1.0 - cdist(some, others, "cityblock") / 2.0, 0.0))


def _blurred(shares: Doubles) -> Doubles:
    """Each cell's relevance divided among it and its neighbours, so that no cell edge splits it."""
    cells = shares.reshape(len(shares), GRID, GRID)
    from scipy.ndimage import uniform_filter

    return np.asarray(uniform_filter(cells, (0, 3, 3), mode="reflect").reshape(len(shares), -1))


def _core(cells: Doubles) -> Mask:
    """The smallest set of cells that holds half."""
    order = np.argsort(-cells, axis=None, kind="stable")
    held = np.cumsum(cells.ravel()[order])
    core = np.zeros(cells.size, dtype=bool)
    core[order[: int(np.searchsorted(held, _HALF * held[-1] * (1 - 1e-12))) + 1]] = True
    return core.reshape(cells.shape)


def _is_all_around(cells: Doubles, around: Mask) -> bool:
    """Whether relevance at the border is spread along it, rather than in one corner or at one edge."""
    from scipy.ndimage import label

    blobs, count = label(around, np.ones((3, 3)))
    held = np.bincount(blobs.ravel(), cells.ravel(), minlength=count + 1)[1:]
    strongest = blobs == 1 + int(held.argmax())
    if all(_are_long(strongest)):
        return True
    elsewhere = np.where(strongest, 0.0, cells)
    at_border = float(elsewhere[_RING].sum())
    return at_border >= max(_HALF * float(elsewhere.sum()), _QUARTER * float(cells.sum()))


def _are_long(core: Mask) -> tuple[bool, bool]:
    """Whether cells extend over more than half of the height and of the width."""
    down, across = (int(np.ptp(places)) + 1 > GRID / 2 for places in np.nonzero(core))
    return down, across


def _middle(cells: Doubles) -> tuple[float, float]:
    """The mean position of their relevance, as shares of the height and of the width."""
    centers = (np.arange(GRID) + 0.5) / GRID
    down, across = (float(cells.sum(axis=axis) @ centers / cells.sum()) for axis in (1, 0))
    return down, across


def _part_of_picture(around: Mask, core: Mask, middle: tuple[float, float]) -> str:
    """In words: a corner, an edge, or a ninth of the picture; "the same places" if there are several."""
    is_tall, is_wide = _are_long(core)
    down, across = (min(int(part * 3), 2) for part in middle)
    if (is_tall and is_wide) or not around[tuple(int(part * GRID) for part in middle)]:
        return SAME_PLACES
    if is_wide and down != 1:
        return ("the upper edge", "", "the lower edge")[down]
    if is_tall and across != 1:
        return ("the left edge", "", "the right edge")[across]
    return _THIRDS[down][across]
