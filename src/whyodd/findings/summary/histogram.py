"""How odd all rows are, as the bars of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.plots.scores import bin_edges, is_far_reaching

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def histogram(scores: ArrayLike, threshold: float | None) -> dict[str, Any]:
    """Counts of the scores up to the threshold and above it, in bins of equal width.

    If some scores are far out, the bins are of equal width in their logarithms.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Outlierness of all rows; what is not finite is left out.
    threshold : float or None
        One of the edges, if it is among the scores. None: all counts are below.

    Returns
    -------
    dict
        ``edges`` (bins + 1), ``is_log`` if they are even as logarithms, ``below`` and ``above`` (bins), and
        the ``lowest``, ``median`` and ``highest`` score; of no scores at all there are empty lists and None.

    Examples
    --------
    >>> from whyodd.findings.summary.histogram import histogram
    >>> found = histogram([0.0, 1.0, 2.0, 10.0], threshold=2.0)
    >>> sum(found["below"]), sum(found["above"]), found["median"]
    (3, 1, 1.5)
    """
    values = np.asarray(scores, dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size == 0:
        nothing: dict[str, Any] = {"edges": [], "is_log": False, "below": [], "above": []}
        return nothing | {"lowest": None, "median": None, "highest": None}
    edges = bin_edges(values, threshold)
    limit = np.inf if threshold is None else threshold
    parts = {"below": values[values <= limit], "above": values[values > limit]}
    return {
        "edges": edges.tolist(),
        "is_log": is_far_reaching(values),
        **{name: np.histogram(part, edges)[0].tolist() for name, part in parts.items()},
        "lowest": float(values.min()),
        "median": float(np.median(values)),
        "highest": float(values.max()),
    }
