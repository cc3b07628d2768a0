"""Conservation: whether an explanation accounts for the whole outlierness, Σ_i R_i + unexplained = o."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def conservation_gap(explanation: Any) -> Floats:
    """Share of the outlierness that is lost or added, |Σ_i R_i + unexplained - o| / o.

    Parameters
    ----------
    explanation : Explanation, PatchExplanation or TextExplanation

    Returns
    -------
    ndarray of shape (n,)
        0 up to rounding for an explanation that conserves the outlierness; NaN for a method whose relevance
        is not in units of it.
    """
    o = explanation.outlierness
    return _over(np.abs(explanation.summed_relevance + explanation.unexplained - o), o)


def unexplained_share(explanation: Any) -> Floats:
    """Share of the outlierness that belongs to no variable: unexplained / o.

    Parameters
    ----------
    explanation : Explanation, PatchExplanation or TextExplanation

    Returns
    -------
    ndarray of shape (n,)
        Below 0 where the relevances sum to more than the outlierness; NaN for a method whose relevance is not
        in units of it.
    """
    return _over(explanation.unexplained, explanation.outlierness)


def _over(part: Floats, whole: Floats) -> Floats:
    """Part of the whole; where the whole is 0, a part of 0 is 0, and any other part is infinite."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    beyond = np.where((part == 0.0) | np.isnan(part), part, np.copysign(np.inf, part))
    return np.divide(part, whole, out=beyond, where=whole > 0.0)
