"""The waist of the hourglass: the interface between models and explanations, and its capabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.floating]
    Doubles = NDArray[np.float64]
    Indices = NDArray[np.intp]


Result = TypeVar("Result")


@dataclass(frozen=True)
class Decomposition:
    """The parts of the outlierness: Σ_i R_i + unexplained = o.

    Attributes
    ----------
    relevance : ndarray of shape (n, d)
        Relevance R_i of each input variable: at least 0, unless a metric or a map mixes variables.
    unexplained : ndarray of shape (n,)
        The part of the outlierness that belongs to no variable.
    outlierness : ndarray of shape (n,)
        Outlierness o.
    log_inlierness : ndarray of shape (n,), optional
        log g, -o by default; the inlierness itself is its exponential and may underflow.
    discarded : ndarray of shape (n,), optional
        0, or the ``tolerance`` t that was allowed, where it was made use of: centers with less than that of
        the soft assignment together were left out, which makes o larger by at most -log(1 - t).
    by_kind : ndarray of shape (n, d, kinds), optional
        Relevance by the way in which a variable is odd, of a member with the capability "kinds".
    gap : ndarray of shape (n,), optional
        Share of o that an integral has missed, which is in ``unexplained``; None where nothing is integrated.
    """

    relevance: Floats
    unexplained: Doubles
    outlierness: Doubles
    log_inlierness: Doubles = None  # type: ignore[assignment]
    discarded: Doubles = None  # type: ignore[assignment]
    by_kind: Floats | None = None
    gap: Doubles | None = None

    def __post_init__(self) -> None:
        if self.log_inlierness is None:
            object.__setattr__(self, "log_inlierness", -self.outlierness)
        if self.discarded is None:
            object.__setattr__(self, "discarded", np.zeros(len(self.outlierness)))


class Score(Protocol):
    """A member of the waist: a score of rows that decomposes into their variables.

    That is all it must have. A set ``capabilities`` names what else it can do. A member never changes, so
    results computed from it are kept.
    """

    def outlierness(self, X: Any) -> Doubles:
        """Outlierness o (n,) of rows (n, d), high for anomalies."""

    def decompose(self, X: Any) -> Decomposition:
        """The parts of the outlierness of rows (n, d)."""


# Capabilities of members, by name, and the attributes that each one promises.
CAPABILITIES: dict[str, str] = {
    "centers": "points it compares rows with: centers (m, d), weights (m,), n_centers; assign(X, consume)",
    "consume": "the keyword consume of decompose: assignments to its centers, as assign yields them",
    "copies": "copies (c, 2) or None: other training rows that are equal to a center, and the center",
    "cuts": "cuts(X): where each value is cut off from others, and in how many of n_trees",
    "distances": "it measures distances to its centers: metric, pooling, kernel",
    "expected": "expected(X): what a normal row like each looks like (n, d)",
    "flip": "flip(X, removals): outlierness while variables are taken away",
    "kinds": "decompose also returns relevance by kind, one of whyodd.network.committee.KINDS",
    "leave_out": "the keyword own: the center to leave out for each row; rows, n_rows of training",
    "neighbors": "nearest(X, k): the centers that count most for each row; rows of training, or None",
    "save": "whyodd.save and whyodd.load take it",
    "splits": "splits(X): relevance by the splits of trees that isolate each row (n, d)",
    "through": "the keyword through of decompose: relevance before a linear map",
    "work": "the keywords n_jobs and progress",
}


def is_score(model: object) -> TypeGuard[Score]:
    """Whether something is a member of the waist itself, not a model to make one of."""
    wanted = ("outlierness", "decompose")
    return not isinstance(model, type) and all(callable(getattr(model, name, None)) for name in wanted)


def offers(score: object, *names: str) -> bool:
    """Whether a member of the waist offers all of these capabilities.

    Examples
    --------
    >>> import whyodd
    >>> from whyodd.network.waist import offers
    >>> offers(whyodd.DistanceNetwork([[0.0], [1.0]]), "centers", "flip")
    True
    """
    unknown = set(names) - CAPABILITIES.keys()
    if unknown:
        raise KeyError(f"There is no capability {min(unknown)!r}. Choose among: {', '.join(CAPABILITIES)}.")
    return set(names) <= set(getattr(score, "capabilities", ()))


def once_per_member(compute: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """``compute(member)``, cached as long as the member lives."""
    known: WeakKeyDictionary[Any, Result] = WeakKeyDictionary()

    @wraps(compute)
    def kept(member: Any) -> Result:
        if member not in known:
            known[member] = compute(member)
        return known[member]

    return kept


def center_of_rows(score: Any) -> Indices:
    """(n_rows,) the center that each row of training is, or -1; of a member that offers ``leave_out``."""
    center = np.full(score.n_rows, -1, dtype=np.intp)
    center[score.rows] = np.arange(len(score.rows))
    copies = score.copies if offers(score, "copies") else None
    if copies is not None:
        center[copies[:, 0]] = copies[:, 1]
    return center


def score_rows(score: Any, X: Points, *, own: Indices | None = None, n_jobs: int | None = None) -> Doubles:
    """Outlierness (n,) of rows, with the keywords that this member accepts."""
    work = {"n_jobs": n_jobs} if offers(score, "work") else {}
    return np.asarray(score.outlierness(X, **_left_out(own), **work), dtype=np.float64)


def decompose_rows(
    score: Any,
    X: Points,
    *,
    own: Indices | None = None,
    through: LinearMap | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    consume: Callable[[Any, Any], None] | None = None,
) -> Decomposition:
    """Decomposition of rows, with the keywords that this member accepts.

    ``consume``: for a member with centers, handed the assignments to them.
    """
    keywords: dict[str, Any] = _left_out(own) | ({} if through is None else {"through": through})
    if consume is not None and offers(score, "consume"):
        keywords["consume"] = consume
    elif consume is not None:
        score.assign(X, consume, **_left_out(own))
    if offers(score, "work"):
        return score.decompose(X, **keywords, n_jobs=n_jobs, progress=progress)  # type: ignore[no-any-return]
    parts: Decomposition = score.decompose(X, **keywords)
    if progress is not None:
        progress(X.shape[0])
    return parts


def _left_out(own: Indices | None) -> dict[str, Any]:
    return {} if own is None else {"own": own}
