"""PyOD's detectors that are sums: over variables, over random projections, over distances to points.

PyOD itself is never imported. Its ``decision_function`` is high for outliers; each function says how it
follows from o.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_fitted
from whyodd.network.sums.empirical_tails import BothTails, LongerTail
from whyodd.network.sums.projected_terms import ProjectedTerms
from whyodd.network.sums.terms import HistogramTerms, RobustDeviations, TermsScore
from whyodd.network.sums.weighted_distances import WeightedDistances
from whyodd.network.verdict import AffineScale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# PyOD's factor of a median absolute deviation, which makes it a standard deviation of normal values.
_MAD_FACTOR = 0.6745
# Projections reveal a variable if they determine it up to this part.
_TOLD = 1e-6


def row_by_row(model: Any, X: Any) -> Floats:
    """``decision_function`` of each row by itself (n,): PyOD's score depends on the other rows."""
    rows = np.asarray(X)
    return np.concatenate([model.decision_function(row[None]) for row in rows])


def from_pyod_ecod(model: Any) -> TermsScore:
    """Sum over variables of a fitted ``pyod.models.ecod.ECOD``: ``decision_function`` of a row alone = o.

    The term of a variable is -log of the share of values that are at least as low, or as high, whichever is
    rarer. PyOD counts among the training rows and *all* rows that it is given, so that the score of a row
    depends on the others in the batch. Here each row is counted among the training rows and itself, which is
    what PyOD gives for ``model.decision_function(X[[i]])``. For training rows without themselves o is
    ``decision_scores_``.
    """
    _require_fitted(model)
    return TermsScore(BothTails(model.X_train))


def from_pyod_copod(model: Any) -> TermsScore:
    """Sum over variables of a fitted ``pyod.models.copod.COPOD``: ``decision_function`` of a row alone = o.

    As that of ECOD, but the tail on the side to which the values are skewed counts, or the mean of both tails
    if that is more. Here too each row is counted among the training rows and itself. For training rows
    without themselves o is ``decision_scores_``.
    """
    _require_fitted(model)
    return TermsScore(LongerTail(model.X_train))


def from_pyod_hbos(model: Any) -> TermsScore:
    """Sum over variables of a fitted ``pyod.models.hbos.HBOS``: ``decision_function`` = o - Σ_i max_b h_ib.

    With h = log2(density + ``alpha``) of the bins of each variable, the term is what the bin of the row's
    value falls short of the fullest one. Histograms are those of ``fit``: PyOD 2.0 counts the bins of
    ``n_bins="auto"`` again for the rows to score, and may then take a wrong bin beyond the last edge.
    """
    _require_fitted(model)
    densities = model.hist_ if isinstance(model.hist_, list) else list(np.transpose(model.hist_))
    edges = model.bin_edges_ if isinstance(model.bin_edges_, list) else list(np.transpose(model.bin_edges_))
    heights = tuple(np.log2(density + model.alpha) for density in densities)
    return TermsScore(HistogramTerms(tuple(edges), heights, model.tol))


def scale_of_pyod_hbos(model: Any, member: TermsScore) -> AffineScale:
    """``decision_function`` = o - Σ_i max_b h_ib."""
    del model
    return AffineScale(shift=-float(sum(heights.max() for heights in member.terms.heights)))


def from_pyod_mad(model: Any) -> TermsScore:
    """Score of the one variable of a fitted ``pyod.models.mad.MAD``: ``decision_function`` = o.

    o = 0.6745 |x - median| / median absolute deviation.
    """
    _require_fitted(model)
    if not model.median_diff_ > 0.0:
        raise UnsupportedModelError(
            "MAD was fitted on values of which at least half are equal, so it divides by a median deviation "
            "of 0: expected one above 0. Fit it on values that vary, or use ECOD."
        )
    spread = float(model.median_diff_) / _MAD_FACTOR
    return TermsScore(RobustDeviations(np.array([float(model.median_)]), np.array([spread])))


def from_pyod_loda(model: Any) -> ProjectedTerms:
    """Steps along projections of a fitted ``pyod.models.loda.LODA``: ``decision_function`` = o + Σ_k min t_k.

    The term of a projection is -log of the share of training rows in the cell of the row, weighted, and less
    its smallest value. Cells are as PyOD looks them up, one bin above those of its histogram.

    Relevance is relative to the mean of the training rows, of which the means of the histograms are the
    projections. (The paper on LODA explains a row by comparing, variable by variable, the terms of
    projections with and without it by a t-test: that ranks variables, but does not add up.)
    """
    _require_fitted(model)
    weights = np.array(model.projections_, dtype=np.float64)
    costs = _costs(model)
    edges = tuple(limits[: cost.size - 1] for limits, cost in zip(model.limits_, costs, strict=True))
    mean, is_told = _training_mean(weights, model)
    return ProjectedTerms(weights, edges, tuple(cost - cost.min() for cost in costs), mean, is_told)


def scale_of_pyod_loda(model: Any, member: ProjectedTerms) -> AffineScale:
    """``decision_function`` = o + Σ_k min t_k."""
    del member
    return AffineScale(shift=float(sum(cost.min() for cost in _costs(model))))


def from_pyod_pca(model: Any) -> WeightedDistances:
    """Sum of distances of a fitted ``pyod.models.pca.PCA``: ``decision_function`` = o.

    o = Σ_k ‖z - v_k‖ / w_k: distances of the standardised row to the selected principal axes, taken as
    points, over the share of the variance that each explains (1 with ``weighted=False``).
    """
    _require_fitted(model)
    shares = np.asarray(model.selected_w_components_, dtype=np.float64)
    with np.errstate(divide="ignore"):
        weights = 1.0 / shares
    if not np.isfinite(weights).all():
        raise UnsupportedModelError(
            f"PCA divides by the variance of {int(np.sum(~np.isfinite(weights)))} selected component(s) "
            "whose variance is 0: expected a finite score. Fit it again with fewer n_components, or "
            "weighted=False."
        )
    d = np.shape(model.selected_components_)[1]
    mean, scale = np.zeros(d), np.ones(d)
    if model.standardization:
        mean, scale = model.scaler_.mean_, model.scaler_.scale_
    return WeightedDistances(model.selected_components_, weights, mean, scale)


def _require_fitted(model: Any) -> None:
    # The last attribute that every fit sets; missing, or None, before.
    require_fitted(model, "decision_scores_")


def _costs(model: Any) -> list[Floats]:
    """-w_k log p_k of each cell of each projection; PyOD divides by the number of projections twice."""
    parts = np.asarray(model.weights, dtype=np.float64) / model.n_random_cuts
    return [-part * np.log(shares) for part, shares in zip(parts, model.histograms_, strict=True)]


def _training_mean(weights: Floats, model: Any) -> tuple[Floats, bool]:
    """The mean row (d,) by the means of histograms, and whether they determine all of it.

    A histogram knows its mean to a part of the width of its bins: narrow ones count more. Where projections
    leave it open, it is the shortest solution.
    """
    bins = list(zip(model.limits_, model.histograms_, strict=True))
    means = np.array([(limits[1:] + limits[:-1]) @ shares / 2.0 for limits, shares in bins])
    widths = np.array([limits[1] - limits[0] for limits, _ in bins])
    inverse = np.linalg.pinv(weights / widths[:, None])
    told = np.einsum("ij,ji->i", inverse, weights / widths[:, None])
    return inverse @ (means / widths), bool(told.min() > 1.0 - _TOLD)
