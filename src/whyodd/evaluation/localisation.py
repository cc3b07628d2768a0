"""Relevance against the truth: whether it points at the variables, pixels or time steps to blame."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.relevances import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

# 1.1 · 10 is a little more than 11 and 0.29 · 100 a little less than 29: neither may change a count.
_ROUNDING = 1e-9


def roc_auc(scores: Any, mask: Any) -> Floats:
    """Area under the ROC curve: how often a variable to blame scores higher than another one, ties half.

    Parameters
    ----------
    scores : Explanation, PatchExplanation, array of shape (n, d) or list of arrays
        Relevance, high for what is to blame. A list has an image (H, W[, C]) or a series (T[, C]) for each
        item: pass a single heatmap as ``[heatmap], [mask]``. Channels that the mask does not have are summed
        up.
    mask : array of bool of shape (n, d), or list of arrays
        What is to blame.

    Returns
    -------
    ndarray of shape (n,)
        1 is perfect, ½ is chance; NaN where all or nothing is to blame.

    Examples
    --------
    >>> roc_auc([[0.1, 0.9, 0.3, 0.1]], [[False, True, True, False]])
    array([1.])
    """
    return _per_item(_areas, scores, mask)


def average_precision(scores: Any, mask: Any) -> Floats:
    """Average precision: Σ_t (recall_t - recall_{t-1}) precision_t over thresholds t, from high to low.

    Parameters
    ----------
    scores, mask
        As for :func:`roc_auc`.

    Returns
    -------
    ndarray of shape (n,)
        1 is perfect, chance is about the share that is to blame; NaN where all or nothing is. Equal scores
        are one threshold, as in scikit-learn.
    """
    return _per_item(_precisions, scores, mask)


def hit_rate(scores: Any, mask: Any, share: float = 1.0) -> Floats:
    """HitRate@P%: the share of the k variables to blame that is among the ⌊P k⌋ highest scores.

    Parameters
    ----------
    scores, mask
        As for :func:`roc_auc`.
    share : float, default 1.0
        P, how many places are looked at for each variable to blame: 1.0 (100 %) and 1.5 (150 %) are usual.

    Returns
    -------
    ndarray of shape (n,)
        1 is perfect; NaN where all or nothing is to blame. Equal scores at the last place have equal
        chances to be counted: the value is the mean over all their orders.

    Notes
    -----
    Su et al., "Robust anomaly detection for multivariate time series through stochastic recurrent neural
    network", KDD 2019, section 5.5.
    """
    if not isinstance(share, Real) or isinstance(share, bool) or not 0.0 < share < np.inf:
        raise ValueError(f"share={share!r}: expected a positive number, 1.5 for 150 %.")
    return _per_item(lambda s, m: _hits(s, m, float(share)), scores, mask)


def top_places(scores: Floats, places: NDArray[np.intp]) -> Floats:
    """Chance (n, d) of each score to be among the ``places`` (n,) highest of its row, ties drawn by lot."""
    from scipy.stats import rankdata

    above = rankdata(-scores, method="min", axis=1) - 1
    tied = rankdata(-scores, method="max", axis=1) - above
    return np.asarray(np.clip((places[:, None] - above) / tied, 0.0, 1.0))


def _per_item(judge: Callable[[Floats, Mask], Floats], scores: Any, mask: Any) -> Floats:
    found = [_judged(judge, *block) for block in side_by_side(scores, mask)]
    return np.concatenate(found) if found else np.empty(0)


def _judged(judge: Callable[[Floats, Mask], Floats], scores: NDArray[Any], mask: NDArray[Any]) -> Floats:
    """Judgement of each row, NaN for a row without both kinds of variables."""
    truth = _as_mask(mask)
    has_both = truth.any(axis=1) & ~truth.all(axis=1)
    found = np.full(len(truth), np.nan)
    if has_both.any():
        found[has_both] = judge(scores[has_both].astype(np.float64), truth[has_both])
    return found


def _as_mask(mask: NDArray[Any]) -> Mask:
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ValueError("Expected a mask of true and false (1 and 0) only. Pass for example mask > 0.")
    return mask.astype(bool)


def _areas(scores: Floats, mask: Mask) -> Floats:
    """Mann and Whitney's U over the number of pairs, from midranks."""
    from scipy.stats import rankdata

    n, others = mask.sum(axis=1), (~mask).sum(axis=1)
    ranks = np.where(mask, rankdata(scores, axis=1), 0.0).sum(axis=1)
    return np.asarray((ranks - n * (n + 1) / 2) / (n * others))


def _precisions(scores: Floats, mask: Mask) -> Floats:
    """Mean over the variables to blame of the precision at their own thresholds."""
    order = np.argsort(-scores, axis=1)
    ordered, truth = np.take_along_axis(scores, order, axis=1), np.take_along_axis(mask, order, axis=1)
    size = scores.shape[1]
    is_last = np.ones(scores.shape, dtype=bool)
    is_last[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
    # Where the scores equal to each one end: the nearest last place at or after it.
    ends = np.where(is_last, np.arange(size), size)[:, ::-1]
    ends = np.minimum.accumulate(ends, axis=1)[:, ::-1]
    precision = np.take_along_axis(np.cumsum(truth, axis=1), ends, axis=1) / (ends + 1)
    return np.asarray(np.where(truth, precision, 0.0).sum(axis=1) / truth.sum(axis=1))


def _hits(scores: Floats, mask: Mask, share: float) -> Floats:
    n = mask.sum(axis=1)
    places = np.floor(np.minimum(share * n + _ROUNDING, mask.shape[1])).astype(np.intp)
    return np.asarray(np.where(mask, top_places(scores, places), 0.0).sum(axis=1) / n)
