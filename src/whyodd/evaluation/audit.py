"""What a detection rests on: the few patterns of relevance that recur over many items."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.relevance_profiles import BORDER, GRID, SAME_PLACES, Named, profiles_of
from whyodd.explanations.base import TABLE
from whyodd.explanations.notebook import html_view
from whyodd.explanations.sentences import percent
from whyodd.inputs.frames import build_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.evaluation.relevance_profiles import Profiles
    from whyodd.explanations.base import Kind

    Doubles = NDArray[np.float64]
    Indices = NDArray[np.intp]

_HALF = 0.5
_MOST_PATTERNS, _EXAMPLES = 8, 3
_MOST_COLUMNS = 2  # of a note: three that only together hold half are a model's view, not a shortcut
# Items compared with all others; further ones are compared with the patterns of these.
_COMPARED = 500
# Significance level: how often randomly placed relevance is as concentrated as a noted pattern.
_LEVEL, _DRAWS = 0.01, 199
# Numbers that a draw shuffles at most, unless the fewest items have more: a second for all draws.
_SHUFFLED, _FEWEST = 100_000, 50


@dataclass(frozen=True, eq=False, repr=False)
class Pattern:
    """Items whose relevance lies in the same columns, or at the same place.

    Attributes
    ----------
    name : str
        Where it lies, in plain words: "amount alone", "the border", "different places".
    share : float
        Part of all outlierness above usual that belongs to its items.
    held : float
        Mean share of their relevance that lies where the name says; NaN if it names no place or column.
    members : ndarray of int
        Positions in the explanation, the most typical item first.
    profile : ndarray of shape (d,) or (16, 16)
        Mean shares of the columns, or of the cells of a grid over the picture, whatever its size.
    columns : tuple of str
        The columns that the name mentions; empty for images.
    examples : tuple of str
        Names of its most typical items.
    """

    name: str
    share: float
    held: float
    members: Indices
    profile: Doubles
    columns: tuple[str, ...]
    examples: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self)} with {percent(self.share)} of the outlierness above usual>"


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The patterns of relevance that recur, and whether most of the detection rests on one of them.

    Made by :func:`whyodd.audit`.

    Attributes
    ----------
    patterns : tuple of Pattern
        The patterns, first those that carry most of the outlierness above usual. Each item in which something
        stands out belongs to one of them.
    note : str or None
        What to check, if most items and most of the outlierness rest on one column or place, more than chance
        would bring about.
    n_items : int
        How many items were looked at: the odd ones.
    explanation : Explanation or PatchExplanation
        Of all items.
    """

    patterns: tuple[Pattern, ...]
    note: str | None
    n_items: int
    explanation: Any

    @property
    def kind(self) -> Kind:
        """Rows or images, in words."""
        kind: Kind = self.explanation.kind
        return kind

    @property
    def n_calm(self) -> int:
        """Items in which nothing stands out."""
        return self.n_items - sum(map(len, self.patterns))

    def to_frame(self) -> Any:
        """Data frame with a line for each pattern: pattern, share, items, held and examples."""
        return build_frame(
            {
                "pattern": [pattern.name for pattern in self.patterns],
                "share": [pattern.share for pattern in self.patterns],
                "items": [len(pattern) for pattern in self.patterns],
                "held": [pattern.held for pattern in self.patterns],
                "examples": [", ".join(pattern.examples) for pattern in self.patterns],
            },
            getattr(self.explanation, "frame_kind", None),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary of numbers, texts and lists, ready for JSON."""
        return {
            "kind": self.kind.name,
            "items": self.n_items,
            "calm": self.n_calm,
            "note": self.note,
            "patterns": [
                {
                    "name": pattern.name,
                    "share": pattern.share,
                    "held": None if np.isnan(pattern.held) else pattern.held,
                    "items": len(pattern),
                    "members": pattern.members.tolist(),
                    "columns": list(pattern.columns),
                    "profile": pattern.profile.tolist(),
                    "examples": list(pattern.examples),
                }
                for pattern in self.patterns
            ],
        }

    def __repr__(self) -> str:
        lines = [
            f"{pattern.name}: {self.kind.count(len(pattern))}, {percent(pattern.share)} of the outlierness "
            f"above usual; such as {', '.join(pattern.examples)}"
            for pattern in self.patterns
        ]
        return "<" + "\n ".join([self._title(), *lines, *([self.note] if self.note else [])]) + ">"

    def _repr_html_(self) -> str:
        lines = "".join(
            f"<tr><td>{escape(pattern.name)}</td><td>{len(pattern)}</td><td>{percent(pattern.share)}</td>"
            f"<td>{escape(', '.join(pattern.examples))}</td></tr>"
            for pattern in self.patterns
        )
        head = f"<tr><th>pattern</th><th>{self.kind.nouns}</th><th>outlierness</th><th>such as</th></tr>"
        return html_view(self._title(), f"<table>{head}{lines}</table>", [self.note] if self.note else [])

    def _title(self) -> str:
        return f"What the detection of {self.kind.count(self.n_items)} rests on"


def audit(e: Any) -> Audit:
    """Find the few patterns of relevance that recur, and whether most of the detection rests on one of them.

    A model may be right for the wrong reason, as Clever Hans was: it looks at the frame of pictures, at a
    stamp, at a column that gives the answer away. One explanation does not show that; many together do [1]_.

    Parameters
    ----------
    e : Findings, Explanation or PatchExplanation
        For rows of a table, or for images. The odd items are examined, or all if there is no threshold.

    Returns
    -------
    Audit

    Notes
    -----
    The relevance of each item is brought to shares: of the columns, or of the cells of a 16 × 16 grid over
    the picture, of which only what exceeds the usual level of all cells counts. Two items are as alike as the
    share of relevance that they have in common, Σ_k min(s_k, t_k). For pictures, what both have at the border
    is in common, too. Groups are merged, those most alike on average first, as long as they have half of
    their relevance in common: beyond that, they differ in most of it. The number of patterns follows from
    this; nobody chooses it.

    A note needs a pattern of one or two columns, of a place or of the border, with most of the items and most
    of the outlierness above usual (a single item may have much of it), and more relevance there than 99 % of
    shuffled relevance have at their best columns or place. It is shuffled among the columns of each row, or
    moved as a whole over each picture.

    References
    ----------
    .. [1] Lapuschkin et al. (2019): Unmasking Clever Hans predictors and assessing what machines really
       learn. Nature Communications 10, 1096.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> rows = np.random.default_rng(0).normal(size=(40, 6)) * 0.3
    >>> rows[:30, 2] += 5.0
    >>> found = whyodd.audit(whyodd.explain(whyodd.DistanceNetwork(np.zeros((1, 6))), rows))
    >>> found.patterns[0].name, len(found.patterns[0])
    ('x2 alone', 30)
    """
    everyone, chosen, usual = _audited(e)
    profiles = profiles_of(everyone[chosen], everyone, usual)
    standing_out = np.flatnonzero(profiles.shares.any(axis=1))
    # Sorted by content, not by position: another order of the items gives the same patterns.
    order = np.array(
        sorted(standing_out, key=lambda i: (-profiles.weights[i], profiles.shares[i].tobytes())),
        dtype=np.intp,
    )
    found = _Standing(profiles, profiles.shares[order], profiles.weights[order], chosen[order], everyone)
    patterns = [found.pattern(name, members) for name, members in _by_name(profiles, found.shares).items()]
    patterns.sort(key=lambda pattern: (-pattern.share, pattern.name))
    return Audit(tuple(patterns), found.note(patterns, len(chosen)), len(chosen), everyone)


def _audited(e: Any) -> tuple[Any, Indices, float]:
    """Explanation of all items, the positions of the odd ones in it, and the usual outlierness."""
    if hasattr(e, "odd") and hasattr(e, "explanation"):
        # For findings, the odd items are the first of those explained.
        return e.explanation, np.arange(len(e.odd)), _usual(e.outlierness, e.is_odd)
    if not hasattr(e, "kind"):
        raise TypeError(
            f"Expected findings or an explanation to audit, got {type(e).__name__}. Call whyodd.find or "
            "whyodd.explain first."
        )
    is_odd = np.zeros(len(e), dtype=bool) if e.threshold is None else np.asarray(e.is_odd)
    if not is_odd.any():
        return e, np.arange(len(e)), 0.0
    return e, np.flatnonzero(is_odd), _usual(e.outlierness, is_odd)


def _usual(outlierness: NDArray[np.floating], is_odd: NDArray[np.bool_]) -> float:
    """Median of the items that are not odd."""
    return 0.0 if is_odd.all() else float(np.median(outlierness[~is_odd]))


@dataclass(frozen=True, eq=False)
class _Standing:
    """Items in which something stands out, those with the most outlierness first."""

    profiles: Profiles
    shares: Doubles
    weights: Doubles
    positions: Indices
    explanation: Any

    def pattern(self, name: str, members: Indices) -> Pattern:
        """The pattern that these items have in common."""
        shares = self.shares[members]
        profile = shares.mean(axis=0)
        likeness = self.profiles.alike(shares, profile[None]).ravel()
        typical = self.positions[members[np.argsort(-likeness, kind="stable")]]
        named = self._named(name, profile)
        parts = named.parts
        is_table, whole = self.explanation.kind is TABLE, float(self.weights.sum())
        names = self.explanation.feature_names if is_table else ()
        return Pattern(
            name=name + named.position,
            share=float(self.weights[members].sum()) / whole if whole > 0.0 else 0.0,
            held=float(shares[:, parts].sum(axis=1).mean()) if parts.any() else np.nan,
            members=typical,
            profile=profile if is_table else profile.reshape(GRID, GRID),
            columns=tuple(names[c] for c in np.flatnonzero(parts)) if is_table else (),
            examples=tuple(self.explanation.name(int(i)) for i in typical[:_EXAMPLES]),
        )

    def note(self, patterns: list[Pattern], n_items: int) -> str | None:
        """What to check, if most of the detection rests on one pattern that can be pointed at."""
        main = next((p for p in patterns if p.share > _HALF and len(p) > _HALF * n_items), None)
        if main is None or np.isnan(main.held) or main.held <= _HALF or len(main.columns) > _MOST_COLUMNS:
            return None
        named = self.profiles.named(main.profile.ravel(), shared=True)
        if self._chance(named) > _LEVEL:
            return None
        return _words(main, n_items, self.explanation.kind)

    def _named(self, name: str, profile: Doubles) -> Named:
        """The parts that the name refers to; a group that shares nothing has no name for its mean."""
        named = self.profiles.named(profile, shared=True)
        return named if named.name == name else Named(name, np.zeros(profile.size, dtype=bool))

    def _chance(self, named: Named) -> float:
        """p-value for the concentration of all relevance on the parts that the name refers to."""
        rng = np.random.default_rng(0)
        some = self.shares[_evenly(len(self.shares), max(_SHUFFLED // self.shares.shape[1], _FEWEST))]
        measured = self.profiles.concentration(named, some) * (1 - 1e-12)
        draws = (self.profiles.strongest_by_chance(named, some, rng) for _ in range(_DRAWS))
        return (1 + sum(draw >= measured for draw in draws)) / (1 + _DRAWS)


def _words(main: Pattern, n_items: int, kind: Kind) -> str:
    if kind is TABLE:
        it, column = ("it", "this column") if len(main.columns) == 1 else ("them", "these columns")
        return (
            f"{len(main):,} of {n_items:,} odd rows, with {percent(main.share)} of the outlierness above "
            f"usual, are odd by {main.name}: check that {column} should matter, or leave {it} out (--drop)."
        )
    looked, remedy = ("the frame", "Crop it") if main.name == BORDER else ("a mark there", "Cover it")
    where = "at the border" if main.name == BORDER else f"at one place, {main.name}"
    return (
        f"In {len(main):,} of {n_items:,} images most of the relevance above usual ({percent(main.held)}) "
        f"lies {where}: the model may respond to {looked}, not to the content. {remedy}, or check these "
        f"examples: {', '.join(main.examples)}."
    )


def _by_name(profiles: Profiles, shares: Doubles) -> dict[str, Indices]:
    """Items by the name of their group, at most eight groups; items that share nothing form one."""
    if len(shares) == 0:
        return {}
    labels = _grouped(profiles, shares)
    names = np.empty(len(shares), dtype=object)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        is_shared = len(members) > 1 or len(shares) == 1
        names[members] = profiles.named(shares[members].mean(axis=0), shared=is_shared).name
    _tell_apart(names, labels, profiles.other())
    groups = {name: np.flatnonzero(names == name) for name in sorted(set(names))}
    other = groups.pop(profiles.other(), np.empty(0, dtype=np.intp))
    ranked = sorted(groups, key=lambda name: (-len(groups[name]), name))
    recurring = [name for name in ranked if len(groups[name]) > 1 or len(shares) == 1][: _MOST_PATTERNS - 1]
    rest = np.sort(np.concatenate([other, *(groups[name] for name in ranked if name not in recurring)]))
    kept = {name: groups[name] for name in recurring}
    return {**kept, profiles.other(): rest.astype(np.intp)} if rest.size else kept


def _tell_apart(names: NDArray[Any], labels: Indices, other: str) -> None:
    """Only the largest group keeps the name "the same places"; each such group has its own places."""
    same = labels[names == SAME_PLACES]
    if same.size:
        groups, sizes = np.unique(same, return_counts=True)
        names[(names == SAME_PLACES) & (labels != groups[sizes.argmax()])] = other


def _grouped(profiles: Profiles, shares: Doubles) -> Indices:
    """Group number of each item (n,); if there are many items, some form the groups and others join them."""
    some = _evenly(len(shares), _COMPARED)
    groups = average_linkage(profiles.alike(shares[some], shares[some]))
    labels = np.arange(len(shares)) + len(shares)  # a group of its own for each
    labels[some] = groups
    rest = np.setdiff1d(np.arange(len(shares)), some)
    if rest.size:
        means = np.array([shares[some[groups == group]].mean(axis=0) for group in range(groups.max() + 1)])
        alike = profiles.alike(shares[rest], means)
        joins = alike.max(axis=1) >= _HALF
        labels[rest[joins]] = alike[joins].argmax(axis=1)
    return labels


def _evenly(n: int, most: int) -> Indices:
    """Positions of all n items, or of ``most`` of them, evenly from the first to the last."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.intp)


def average_linkage(alike: Doubles) -> Indices:
    """Groups (n,) of items that have half in common on average; the most similar are merged first.

    Parameters
    ----------
    alike : ndarray of shape (n, n)
        What two items have in common, 0 to 1.
    """
    if len(alike) == 1:
        return np.zeros(1, dtype=np.intp)
    apart = np.maximum(1.0 - (alike + alike.T) / 2.0, 0.0)  # rounded shares may have more than all in common
    np.fill_diagonal(apart, 0.0)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(apart, checks=False), method="average")
    # Means of many numbers round; equal halves count as halves in any order.
    return np.asarray(fcluster(tree, _HALF * (1 + 1e-12), criterion="distance") - 1, dtype=np.intp)
