"""Right causes: relevance compared with the variables known to be to blame."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.localisation import hit_rate, roc_auc
from whyodd.evaluation.relevances import names_of, values_of
from whyodd.inputs.frames import build_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Causes:
    """How well an explanation finds the variables to blame, for each outlier or segment.

    Attributes
    ----------
    roc_auc : ndarray of shape (n,)
        How often a variable to blame has more relevance than another one; NaN where all or none is to blame.
    hit_rate_100, hit_rate_150 : ndarray of shape (n,)
        Of the k variables to blame, the share among the k (or ⌊1.5 k⌋) with the most relevance.
    """

    roc_auc: Floats
    hit_rate_100: Floats
    hit_rate_150: Floats

    def __len__(self) -> int:
        return len(self.roc_auc)

    def mean(self) -> dict[str, float]:
        """Mean of each measure over the outliers or segments where it is defined."""
        return {name: mean_and_error(values)[0] for name, values in asdict(self).items()}

    def standard_error(self) -> dict[str, float]:
        """Standard error of each mean; NaN for fewer than two."""
        return {name: mean_and_error(values)[1] for name, values in asdict(self).items()}

    def to_frame(self) -> Any:
        """Data frame with a line for each outlier or segment (pandas, or another installed package)."""
        return build_frame(asdict(self), None)


def causes(relevance: Any, truth: Any, segments: Any = None) -> Causes:
    """Judge relevance against the known variables to blame.

    Parameters
    ----------
    relevance : Explanation or array of shape (n, d)
        Relevance of the outliers; with ``segments``, of consecutive rows of a series.
    truth : array of bool of shape (n, d), or (k, d) with segments
        The variables to blame of each outlier or segment.
    segments : array of int of shape (k, 2), optional
        First row and the row after the last of each segment. The relevance of its rows is summed up, and
        judged once: people say of a segment, not of a row, what caused it.

    Returns
    -------
    Causes
        Measures for each outlier or segment, their means and standard errors.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = whyodd.KernelDensity().fit(X)
    >>> e = whyodd.explain(model, [[0.0, 5.0, 0.0], [4.0, 0.0, 4.0]])
    >>> causes(e, [[0, 1, 0], [1, 0, 1]]).mean()
    {'roc_auc': 1.0, 'hit_rate_100': 1.0, 'hit_rate_150': 1.0}
    """
    order = names_of(relevance, truth)
    values, truth = values_of(relevance, "relevance", order), values_of(truth, "truth", order)
    if not isinstance(values, np.ndarray) or values.ndim != 2:
        raise ValueError(
            "Expected relevance as a table of shape (rows, variables). Pass an Explanation or an array."
        )
    judged = values if segments is None else sum_segments(values, segments)
    return Causes(
        roc_auc=roc_auc(judged, truth),
        hit_rate_100=hit_rate(judged, truth, 1.0),
        hit_rate_150=hit_rate(judged, truth, 1.5),
    )


def causes_of_found(relevance: Any, is_found: Any, truth: Any, segments: Any) -> Causes:
    """Judge relevance where a detector found something, as Li et al. do (InterFusion, KDD 2021).

    Segments without a found row are left out. Each other one has the relevance max_t R_ti of its found rows,
    and is judged as often as it has such rows: ``mean()`` weighs segments by their number.

    Parameters
    ----------
    relevance : array of shape (n, d)
        Relevance of consecutive rows of a series.
    is_found : array of bool of shape (n,)
        Which rows are above the detector's threshold, see :func:`best_threshold`.
    truth : array of bool of shape (k, d)
        The variables to blame of each segment.
    segments : array of int of shape (k, 2)
        First row and the row after the last of each segment.

    Returns
    -------
    Causes
        With an entry for each found row of each segment.

    Examples
    --------
    >>> relevance = [[5.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 0.0]]
    >>> found = causes_of_found(relevance, [0, 1, 1, 0], [[0, 1], [0, 1]], [[0, 3], [3, 4]])
    >>> found.hit_rate_100
    array([1., 1.])
    """
    values, found = np.asarray(relevance, dtype=np.float64), np.asarray(is_found, dtype=bool)
    limits = _as_limits(segments, len(values))
    counts = np.array([found[start:stop].sum() for start, stop in limits], dtype=np.intp)
    kept = counts > 0
    highest = [values[start:stop][found[start:stop]].max(axis=0) for start, stop in limits[kept]]
    judged = np.array(highest).reshape(-1, values.shape[1])
    return causes(
        np.repeat(judged, counts[kept], axis=0), np.repeat(np.asarray(truth)[kept], counts[kept], axis=0)
    )


def best_threshold(outlierness: Any, is_anomalous: Any) -> float:
    """Threshold on the outlierness with the best F1, segment by segment.

    A stretch of anomalous rows of which one is called odd counts as found as a whole (point adjustment). The
    threshold is chosen by the truth: it shows what could be found at best, not what would be.

    Parameters
    ----------
    outlierness : array of shape (n,)
    is_anomalous : array of bool of shape (n,)

    Examples
    --------
    >>> best_threshold([0.1, 0.9, 0.2, 0.3, 0.8, 0.1], [0, 1, 1, 0, 0, 0])
    0.9
    """
    o, truth = np.asarray(outlierness, dtype=np.float64), np.asarray(is_anomalous, dtype=bool)
    if not truth.any():
        raise ValueError(
            "is_anomalous is false everywhere: expected at least one true value. Pass the labels of the "
            "anomalies."
        )
    edges = np.flatnonzero(np.diff(truth, prepend=False, append=False)).reshape(-1, 2)
    heights = np.concatenate([[o[start:stop].max() for start, stop in edges], o[~truth]])
    sizes = np.concatenate([edges[:, 1] - edges[:, 0], np.ones(np.count_nonzero(~truth))])
    order = np.argsort(-heights, kind="stable")
    called = np.cumsum(sizes[order])
    hits = np.cumsum(np.where(order < len(edges), sizes[order], 0.0))
    f1 = 2.0 * hits / (called + truth.sum())
    # Rows with equal scores can only be called odd together.
    is_cut = np.append(np.diff(heights[order]) != 0.0, True)
    return float(heights[order][np.where(is_cut, f1, -1.0).argmax()])


def sum_segments(relevance: Floats, segments: Any) -> Floats:
    """Relevance (k, d) of segments [start, stop) of rows: the sum over each."""
    limits = _as_limits(segments, len(relevance))
    return np.array([relevance[start:stop].sum(axis=0) for start, stop in limits])


def _as_limits(segments: Any, n: int) -> NDArray[np.intp]:
    """Segments (k, 2) of n rows."""
    limits = np.asarray(segments)
    if limits.ndim != 2 or limits.shape[1] != 2 or limits.dtype.kind not in "iu":
        raise ValueError(
            f"Expected segments as whole numbers of shape (k, 2), got {limits.dtype} {limits.shape}."
        )
    for start, stop in limits:
        if not 0 <= start < stop <= n:
            raise ValueError(
                f"segment [{start}, {stop}) is empty or reaches beyond the {n} rows of the relevance. Pass "
                "the first row and the one after the last."
            )
    return limits.astype(np.intp)


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean of the values that are not NaN, and its standard error s/√n; NaN for none, or fewer than two."""
    defined = values[~np.isnan(values)]
    mean = float(defined.mean()) if defined.size else np.nan
    error = float(defined.std(ddof=1) / np.sqrt(defined.size)) if defined.size > 1 else np.nan
    return mean, error
