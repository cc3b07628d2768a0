"""How far an explanation can be trusted: measured on its own rows, and stated in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from whyodd.evaluation.flipping import area, flip_explanation
from whyodd.evaluation.stability import stability_of
from whyodd.explainers.explaining import explained_by
from whyodd.explainers.registry import EXPLAINERS
from whyodd.explanations.sentences import percent
from whyodd.findings.summary.panels import conservation_panel, panel, unexplained_panel
from whyodd.findings.summary.rows.reasons_panels import few_reasons_panel, normal_rows_panel
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation

    Floats = NDArray[np.float64]

_POINTS, _STEADY = "Points to what matters", "Holds steady"
# Only comparisons of areas count: more points on the curves would change all of them alike.
_CHECKPOINTS = 20
# Neighbours and metrics are flipped for each pair of a row and a center, in NumPy: this many per second.
_PAIRS_TO_FLIP, _FEWEST_FLIPPED, _MOST_FLIPPED = 300_000, 20, 60
# How far rows are moved, in standard deviations: as much as values that people call equal may differ.
_MOVE = 0.01
# After such a move, one percent is less than the page's whole percentages show. Beyond ten percent, reasons
# change places although nobody could distinguish the rows; a random order moves 30 and more.
_UNSEEN, _REORDERED = 0.01, 0.1
# Methods that explain a row as quickly as it is scored; the others are tried on fewer rows and moves.
_QUICK = ("dtd", "mean", "nearest", "random", "sensitivity")
_MOVES, _FEW_MOVES, _FEW_ROWS = 5, 1, 10
_BEST = "dtd"  # the method to advise
_CONFIDENCE = 0.975  # in either direction
_ENOUGH_ROWS = 10  # If this many rows show no difference from a random order, there is no relevant one.
# Errors of a row or a method; a page about the others should still appear.
_KNOWN = (ValueError, TypeError, ArithmeticError, ImportError)


def trust(
    e: Explanation, *, threshold: float | None = None, max_rows: int = 200, random_state: int = 0
) -> dict[str, Any]:
    """Panels that say how far to trust an explanation: sums, reasons, flipping, stability and comparisons.

    Parameters
    ----------
    e : Explanation
    threshold : float, optional
        Outlierness above which a row is odd; by default that of the model.
    max_rows : int, default 200
        Number of rows, the oddest ones, that are measured at most.
    random_state : int, default 0
        Seed of the random order to compare with, and of the moves of rows.

    Returns
    -------
    dict
        ``panels``, a list, and ``rows``, on how many rows they were measured. A panel has a ``title``, a
        ``value_text``, a ``verdict`` ("good", "fair", "poor" or "unknown"), a ``sentence`` for people, and
        ``bars`` or None.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> from whyodd.findings.summary.rows.trust import trust
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> e = whyodd.explain(whyodd.KernelDensity().fit(X), X * 3.0)
    >>> {panel["title"]: panel["verdict"] for panel in trust(e)["panels"]}
    {'Parts add up': 'good', 'Explained by single reasons': 'good', 'Points to what matters': 'good',
     'Holds steady': 'good', 'Few reasons': 'good', 'Compared with normal rows': 'fair'}
    """
    part = e.top(max_rows) if len(e) > max_rows else e
    part = part[np.asarray(part.outlierness) > 0.0]  # the others need no explanation
    panels = [conservation_panel(part)]
    # Parts of a signed score may be negative, and then have no share.
    panels += [unexplained_panel(part)] if not (part.unexplained < 0.0).any() else []
    panels += [_flipping_panel(e, part, random_state)] if offers(e.network, "flip", "centers") else []
    panels += [_stability_panel(part, random_state)] if offers(e.network, "centers") else []
    panels += [few_reasons_panel(part)] if e.relevance.shape[1] > 1 else []
    if offers(e.network, "neighbors"):
        panels += [normal_rows_panel(part, e.threshold if threshold is None else threshold)]
    return {"panels": panels, "rows": len(part)}


def _flipping_panel(e: Explanation, part: Explanation, random_state: int) -> dict[str, Any]:
    if hindrance := _hindrance(part):
        return _unknown(_POINTS, hindrance)
    count = _rows_to_flip(part)
    some = part if count >= len(part) else part.top(count)
    which = "all rows" if len(some) == len(e) else f"the {len(some)} oddest rows"
    return _measured(_POINTS, lambda: _flipped(some, random_state, which))


def _rows_to_flip(e: Explanation) -> int:
    """How many rows can be flipped in about a second."""
    network = e.network
    is_mapped = network.metric is not None or (e.variables is not None and e.variables.through is not None)
    if offers(network, "distances") and network.pooling is None and not is_mapped:
        return len(e)  # compiled
    return int(np.clip(_PAIRS_TO_FLIP // int(network.n_centers), _FEWEST_FLIPPED, _MOST_FLIPPED))


def _flipped(e: Explanation, random_state: int, which: str) -> dict[str, Any]:
    areas = Areas.of(e, random_state)
    verdict = areas.verdict
    means = {name: float(values.mean()) for name, values in areas.by_name.items()}
    bars = [{"label": name, "value": mean, "value_text": percent(mean)} for name, mean in means.items()]
    own, nearest, order = (bar["value_text"] for bar in bars)
    sentence = _FLIPPED.format(own=own, nearest=nearest, random=order, which=which)
    advice = _advice(_FLIPPED_ADVICE, verdict, e.method)
    return panel(_POINTS, f"{own} left", verdict, f"{sentence} {advice}", bars)


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas (n,) under the flipping curves of an explanation, of the nearest neighbour and a random order."""

    own: Floats
    nearest: Floats
    random: Floats

    @classmethod
    def of(cls, e: Explanation, random_state: int) -> Areas:
        """Flip the variables of an explanation's rows."""
        others = {
            "nearest": explained_by(e, "nearest"),
            "random": explained_by(e, "random", random_state=random_state),
        }
        n_variables = e.relevance.shape[1]
        checkpoints = None if n_variables <= _CHECKPOINTS else _CHECKPOINTS
        curves = flip_explanation(e, {"own": e, **others}, checkpoints=checkpoints)
        return cls(**{name: area(curve) for name, curve in curves.items()})

    @property
    def by_name(self) -> dict[str, Floats]:
        """The areas, by what a bar is called."""
        return {"this explanation": self.own, "nearest neighbour": self.nearest, "random order": self.random}

    @property
    def verdict(self) -> str:
        """Good if clearly below both others, fair if not clearly above the nearest neighbour."""
        if len(self.own) < 2:
            return "unknown"  # a single row has no spread
        low, high = _interval(self.own - self.random)
        if high >= 0.0:  # not clearly better than a random order: or are there too few rows to tell?
            return "poor" if low >= 0.0 or len(self.own) >= _ENOUGH_ROWS else "unknown"
        low, high = _interval(self.own - self.nearest)
        return "good" if high < 0.0 else "fair" if low <= 0.0 else "poor"


def _interval(differences: Floats) -> tuple[float, float]:
    """Where the mean difference between rows lies, by its standard error."""
    mean, n = float(differences.mean()), len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    reach = error * float(stats.t.ppf(_CONFIDENCE, n - 1))
    return mean - reach, mean + reach


def _stability_panel(e: Explanation, random_state: int) -> dict[str, Any]:
    if hindrance := _hindrance(e):
        return _unknown(_STEADY, hindrance)
    if e.method not in EXPLAINERS:
        return _unknown(_STEADY, _FOREIGN.format(method=e.method))
    return _measured(_STEADY, lambda: _moved(e, random_state))


def _moved(e: Explanation, random_state: int) -> dict[str, Any]:
    rates = moved_shares(e, random_state)
    if not np.isfinite(rates).all() or not rates.any():
        return _unknown(_STEADY, _NOTHING_MOVES)
    share = float(np.median(rates))
    verdict = "good" if share <= _UNSEEN else "fair" if share <= _REORDERED else "poor"
    sentence = _MOVED.format(share=percent(share))
    advice = _advice(_MOVED_ADVICE, verdict, e.method)
    return panel(_STEADY, percent(1.0 - share), verdict, f"{sentence} {advice}")


def moved_shares(e: Explanation, random_state: int) -> Floats:
    """Share of each row's relevance that moves to other variables after the row has been moved a little."""
    is_quick = e.method in _QUICK
    some, moves = (e, _MOVES) if is_quick else (e.top(_FEW_ROWS), _FEW_MOVES)
    return _MOVE * stability_of(some, scale=_MOVE, n=moves, random_state=random_state).mean


def _advice(advice: Mapping[str, str], verdict: str, method: str) -> str:
    """What to do about a verdict; another method is advised only if it is not the one in use."""
    if verdict != "poor" or method == _BEST:
        return advice[verdict]
    return f"{advice[verdict]} It may help to explain with '{_BEST}'."


def _hindrance(e: Explanation) -> str | None:
    """Why relevance cannot be ranked; None if it can."""
    if len(e) == 0:
        return "Nothing is odd, so there is no outlierness to explain."
    if e.relevance.shape[1] < 2:
        return "There is only one variable, so it is the whole reason."
    if not np.isfinite(e.relevance).all():
        return "Some relevance values are not numbers, so the variables cannot be ranked."
    return None


def _measured(title: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return measure()
    except _KNOWN as error:
        return _unknown(title, f"This could not be measured: {error}")


def _unknown(title: str, sentence: str) -> dict[str, Any]:
    return panel(title, "not measured", "unknown", sentence)


_FOREIGN = "{method} is not a whyodd method, so it cannot explain slightly changed rows."
_NOTHING_MOVES = "No variable varies among the normal rows, so there is no scale for a small change."
_FLIPPED = (
    "Differences from normal rows were removed from each row, the most relevant variable first. On the way "
    "{own} of the outlierness was left on average. Two other orders leave {nearest} (differences from the "
    "nearest normal row) and {random} (random). Less is better; measured on {which}."
)
_FLIPPED_ADVICE = {
    "good": "The variables named first are those that matter to the model.",
    "fair": (
        "The variables named first matter to the model, about as much as those that differ most from "
        "the nearest normal row."
    ),
    "poor": (
        "The order of the reasons says little about the model: compare values with the expected ones instead."
    ),
    "unknown": "There are too few rows to distinguish the difference from chance.",
}
_MOVED = (
    "If all values of a typical row change by a hundredth of their standard deviation, {share} of the "
    "relevance moves to other variables."
)
_MOVED_ADVICE = {
    "good": "Nearly equal rows have the same reasons.",
    "fair": "The main reasons stay; do not read much into small differences between shares.",
    "poor": (
        "Nearly equal rows have different reasons: do not rely on their order. If the model has a "
        "bandwidth, a larger one makes the reasons more stable."
    ),
}
