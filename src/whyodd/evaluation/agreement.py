"""How far explanations agree: rank correlation and common top places, row by row and between methods."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.localisation import top_places
from whyodd.evaluation.relevances import side_by_side
from whyodd.explanations.base import at_least_one
from whyodd.inputs.frames import build_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NAMES = ("first", "second")


def rank_correlation(first: Any, second: Any) -> Floats:
    """Spearman's rank correlation of two explanations, item by item: the correlation of their midranks.

    Parameters
    ----------
    first, second : Explanation, PatchExplanation, array of shape (n, d) or list of arrays
        Relevance of the same rows, or of the same images or series.

    Returns
    -------
    ndarray of shape (n,)
        From -1 (the opposite order) to 1 (the same order); NaN where one of them is constant.
    """
    return _concatenated(_correlations(*block) for block in side_by_side(first, second, _NAMES))


def top_overlap(first: Any, second: Any, k: int = 3) -> Floats:
    """Share of the ``k`` highest variables that two explanations have in common, item by item.

    Parameters
    ----------
    first, second
        As for :func:`rank_correlation`.
    k : int, default 3
        How many; all if there are fewer. Variables of equal relevance share the places that are left.

    Returns
    -------
    ndarray of shape (n,)
        From 0 to 1.
    """
    k = at_least_one(k, "variables")
    return _concatenated(_overlaps(*block, k) for block in side_by_side(first, second, _NAMES))


def agreement(explanations: Mapping[str, Any], *, k: int | None = None) -> Any:
    """Data frame with the mean agreement of every method (lines) with every other one (columns).

    Parameters
    ----------
    explanations : mapping of str to Explanation, PatchExplanation, array or list of arrays
        Relevance of the same items by each method.
    k : int, optional
        Count the ``k`` highest variables in common (:func:`top_overlap`) instead of correlating ranks.

    Returns
    -------
    data frame
        pandas, or another installed package: a column "method" and one for each method. Items where the
        agreement is not defined do not count.

    Examples
    --------
    >>> agreement({"one": [[3.0, 2.0, 1.0]], "two": [[1.0, 2.0, 3.0]]})["two"].tolist()
    [-1.0, 1.0]
    """
    if not isinstance(explanations, Mapping) or not explanations or "method" in explanations:
        raise ValueError(
            "Expected a dictionary of names (other than 'method') and explanations, for example {'dtd': e, "
            "'random': other}."
        )
    measure = _correlations if k is None else partial(_overlaps, k=at_least_one(k, "variables"))
    columns = {
        name: [
            _mean(_concatenated(measure(*block) for block in side_by_side(one, two, (other, name))))
            for other, one in explanations.items()
        ]
        for name, two in explanations.items()
    }
    return build_frame({"method": list(explanations), **columns}, None)


def _correlations(first: NDArray[Any], second: NDArray[Any]) -> Floats:
    one, two = (_centred_ranks(values) for values in (first, second))
    product = np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    covariance = (one * two).sum(axis=1)
    undefined = np.full(len(one), np.nan)
    return np.asarray(np.divide(covariance, product, out=undefined, where=product > 0))


def _centred_ranks(values: NDArray[Any]) -> Floats:
    from scipy.stats import rankdata

    # Midranks are multiples of ½ and so is their mean: equal values come out as exactly 0.
    return np.asarray(rankdata(values, axis=1) - (values.shape[1] + 1) / 2)


def _overlaps(first: NDArray[Any], second: NDArray[Any], k: int) -> Floats:
    places = np.full(len(first), min(k, first.shape[1]))
    common = np.minimum(top_places(first, places), top_places(second, places))
    return np.asarray(common.sum(axis=1) / places)


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan


def _concatenated(parts: Any) -> Floats:
    found = list(parts)
    return np.concatenate(found) if found else np.empty(0)
