"""Kernel PCA for novelty detection, after Hoffmann."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from whyodd.compute.gaussian_centers import GaussianCenters
from whyodd.models.bandwidth.rules import bandwidth
from whyodd.models.base import DistanceDetector
from whyodd.models.fitting.merging import merge_equal_rows
from whyodd.models.fitting.thresholds import usual_threshold
from whyodd.network.kernel_subspace import KernelSubspace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.network.distance_network import DistanceNetwork

    Floats = NDArray[np.float64]

# Parts of the rows, each scored by a model of the others; and rows scored if some were not drawn.
_PARTS, _SCORED_ROWS = 5, 2000
# Variance below this part of the largest is rounding.
_NO_VARIANCE = 1e-12


class KernelPCA(DistanceDetector):
    """Kernel PCA: o(x) = ‖φ(x) - φ̂(x)‖², the error of reconstructing a row from principal components.

    φ is the feature map of the Gaussian kernel, in which rows are centered, and φ̂(x) the nearest point of
    the subspace that their first principal components span. It finds what is off a curved sheet of normal
    rows, such as a point inside a ring. o is between 0 and about 1.

    Parameters
    ----------
    n_components : int or float, default 0.9
        Number of components, at most as many as have any variance; or, below 1, the share of the variance in
        feature space that they hold together. On labelled tables, shares from 0.8 to 0.99 find nearly the
        same rows.
    sigma : float, {"median", "nn", "scale"} or callable, default "median"
        Bandwidth, or the rule for it: "median" is the median of all distances, "nn" the 0.1 quantile of those
        to the nearest other row (so narrow that hardly any two rows share a component), "scale"
        scikit-learn's gamma. A function receives the training rows. Rows on thin curved sheets need a
        bandwidth as narrow as the sheets are curved.
    max_rows : int, default 2000
        Largest number of distinct rows, drawn at random, that components are computed from. Their cost grows
        with the cube of this number; the cost of a score grows with this number times the number of
        components.
    contamination : float, optional
        Share of training rows that ``predict`` calls outliers. None puts the threshold where a tenth of the
        rows would be outliers for a model of other rows; so will be about a tenth of new normal rows.
    random_state : int, default 0
        Seed for drawing rows, and for which rows are scored by a model of which others.

    Attributes
    ----------
    network_ : KernelSubspace
        The rows as centers, and the components.
    n_components_ : int
        How many components are used.
    sigma_ : float
        The bandwidth.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space that each component holds.

    See Also
    --------
    whyodd.neuralize : Does the same for a fitted ``KernelPCA`` of scikit-learn and ``KPCA`` of PyOD.

    Notes
    -----
    Hoffmann, "Kernel PCA for novelty detection", Pattern Recognition 40, 2007. Training rows are scored by
    components that were computed from them, too: no row can be left out afterwards.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 200)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = whyodd.KernelPCA(sigma=0.5).fit(ring)
    >>> model.predict([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    array([ 1, -1, -1])
    """

    _takes_sparse: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int | float = 0.9,
        sigma: SigmaRule = "median",
        *,
        max_rows: int = 2000,
        contamination: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.sigma = sigma
        self.max_rows = max_rows
        self.contamination = contamination
        self.random_state = random_state

    def _fit(
        self,
        X: Points,
        sample_weight: Floats | None,
        previous: DistanceNetwork | None,  # noqa: ARG002
    ) -> tuple[Any, float]:
        self._check_parameters()
        merged = merge_equal_rows(X, sample_weight)
        rows = np.asarray(merged.rows, dtype=np.float64)
        weights = np.ones(len(rows)) if merged.weights is None else merged.weights
        # Sorted by value, so that their order does not matter.
        order = np.lexsort(rows.T[::-1])
        order = np.random.default_rng(self.random_state).permutation(order)
        rows, weights = rows[order], weights[order]
        self.sigma_ = bandwidth(self.sigma, rows)
        most = int(self.max_rows)
        network, self.explained_variance_ratio_ = self._subspace(rows[:most], weights[:most])
        self.n_components_ = network.n_components
        others = slice(most, most + _SCORED_ROWS)
        if len(rows) > most:
            return network, usual_threshold(network.outlierness(rows[others]), weights[others])
        return network, network.far_away * usual_threshold(self._scores_by_others(rows, weights), weights)

    def _subspace(self, rows: Floats, weights: Floats) -> tuple[KernelSubspace, Floats]:
        """Components of rows (m, d) with weights, and the share of the variance that each holds (q,)."""
        w = weights / weights.sum()
        placed = GaussianCenters(rows, w @ rows, self.sigma_)
        K = np.exp(-placed.exponents(placed.local_centers))
        similarities = K @ w
        K -= similarities[:, None] + similarities - w @ similarities
        root = np.sqrt(w)
        K *= root[:, None] * root
        variances, vectors = eigh(K, overwrite_a=True, check_finite=False)
        variances, vectors = np.maximum(variances[::-1], 0.0), vectors[:, ::-1]
        q = self._count(variances)
        scaled = root[:, None] * vectors[:, :q] / np.sqrt(variances[:q])
        # Exact vectors sum to 0; what rounding left of their sums is the part of the mean.
        components = scaled - w[:, None] * scaled.sum(axis=0)
        network = KernelSubspace(rows, components, w, similarities, self.sigma_)
        return network, variances[:q] / max(variances.sum(), np.finfo(np.float64).tiny)

    def _count(self, variances: Floats) -> int:
        """How many components there are to be, of those with variance."""
        rounding = max(_NO_VARIANCE * float(variances[0]), len(variances) * np.finfo(np.float64).eps)
        there = int(np.count_nonzero(variances > rounding))
        if isinstance(self.n_components, Integral):
            return min(int(self.n_components), there)
        reached = np.cumsum(variances) / max(variances.sum(), np.finfo(np.float64).tiny)
        return min(int(np.searchsorted(reached, self.n_components)) + 1, there)

    def _scores_by_others(self, rows: Floats, weights: Floats) -> Floats:
        """Errors (m,) of rows, each by components of the rows in other parts, over those of rows far away.

        The mean of fewer rows is longer in feature space, and so are all distances from it.
        """
        if len(rows) < 2:
            return np.zeros(len(rows))
        part = np.arange(len(rows)) % _PARTS
        scores = np.empty(len(rows))
        for number in range(min(_PARTS, len(rows))):
            network, _ = self._subspace(rows[part != number], weights[part != number])
            scores[part == number] = network.outlierness(rows[part == number]) / network.far_away
        return scores

    def _check_parameters(self) -> None:
        q = self.n_components
        if isinstance(q, bool) or not (
            (isinstance(q, Integral) and q >= 1) or (isinstance(q, Real) and 0.0 < q < 1.0)
        ):
            raise ValueError(
                f"n_components={q!r}: expected a whole number of components, at least 1, or a share of the "
                "variance between 0 and 1."
            )
        if not isinstance(self.max_rows, Integral) or isinstance(self.max_rows, bool) or self.max_rows < 2:
            raise ValueError(f"max_rows={self.max_rows!r}: expected a whole number of rows, at least 2.")
