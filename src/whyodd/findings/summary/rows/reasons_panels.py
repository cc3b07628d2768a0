"""Whether a few reasons explain most of it, and whether they come from a comparison with normal rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import percent
from whyodd.findings.summary.panels import panel
from whyodd.findings.summary.rows.known_rows import nearest_centers, outlierness_of_centers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation

_NAMED = 3  # reasons of a sentence
# At a half, the reasons have as much as all others together; below a quarter they are three of many.
_MOST, _SOME = 0.5, 0.25
# A tenth of normal rows is called odd, too; beyond a third, "too high" often means "than another odd row".
_FEW, _MANY = 0.1, 1 / 3
_ALIKE = 0.5  # of the row's outlierness


def few_reasons_panel(e: Explanation) -> dict[str, Any]:
    """How much of a typical row's outlierness its three main reasons explain."""
    shares = named_shares(e)
    share = float(np.median(shares)) if shares.size else np.nan
    if not np.isfinite(share):
        return panel(_FEW_TITLE, "not measured", "unknown", "Nothing was explained.")
    verdict = "good" if share >= _MOST else "fair" if share >= _SOME else "poor"
    whole = "outlierness" if e.is_additive else "relevance"
    sentence = f"The three main reasons of a typical row hold {percent(share)} of its {whole}."
    return panel(_FEW_TITLE, percent(share), verdict, f"{sentence} {_FEW_ADVICE[verdict]}")


def named_shares(e: Explanation) -> NDArray[np.float64]:
    """(n,) share of the three most relevant variables."""
    whole = e.outlierness if e.is_additive else np.abs(e.relevance).sum(axis=1)
    named = np.sort(e.relevance, axis=1)[:, -_NAMED:].sum(axis=1, dtype=np.float64)
    return np.asarray(np.divide(named, whole, out=np.zeros(len(e)), where=whole > 0.0))


def normal_rows_panel(e: Explanation, threshold: float | None) -> dict[str, Any]:
    """How many rows are mainly compared with a row that is about as odd."""
    nearest = nearest_centers(e)
    if threshold is None or len(e) == 0 or (nearest < 0).any():
        return panel(_NORMAL_TITLE, "not measured", "unknown", _NOT_KNOWN)
    known = outlierness_of_centers(e, nearest)
    # The nearest row of a far row is at the edge, and perhaps just above the threshold: that is harmless.
    share = float(((known > threshold) & (known > _ALIKE * e.outlierness)).mean())
    verdict = "good" if share <= _FEW else "fair" if share <= _MANY else "poor"
    told = "None" if share == 0.0 else percent(share)
    sentence = f"{told} of the rows are compared mainly with a known row that is about as odd."
    return panel(_NORMAL_TITLE, percent(1.0 - share), verdict, f"{sentence} {_NORMAL_ADVICE[verdict]}")


_FEW_TITLE, _NORMAL_TITLE = "Few reasons", "Compared with normal rows"
_FEW_ADVICE = {
    "good": "They cover most of it.",
    "fair": "Look at the other reasons as well.",
    "poor": "Many small reasons make rows odd: the first three alone are not the cause.",
}
_NOT_KNOWN = "The model has no threshold or no rows, so the rows it compares with cannot be checked."
_NORMAL_ADVICE = {
    "good": "The expected values come from normal rows.",
    "fair": "Where a note beside a nearest row says so, the expected value is not a usual one.",
    "poor": (
        "Expected values often come from other odd rows, so a value may be called too low although it is "
        "far above usual. Check the usual ranges. Training on rows known to be normal helps."
    ),
}
