"""Kernel density estimate for every radial kernel of the package."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.models.bandwidth.kernel_choice import density_kernel
from whyodd.models.bandwidth.sklearn_words import own_kernel, sigma_of_bandwidth
from whyodd.models.density import DensityDetector, log_normaliser
from whyodd.models.fitting.merging import merge_equal_rows
from whyodd.models.fitting.thresholds import soft_threshold
from whyodd.models.in_parts import InParts
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.judged import learned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.work import Scores
    from whyodd.kernels import Kernel
    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.models.fitting.seen_rows import SeenRows


# Many times the rounding error of log g at a threshold.
_ROUNDING = 1e-12


class KernelDensity(InParts, DensityDetector):
    """Kernel density estimate: g(x) = Σ_j α_j k(‖x - x_j‖) over all training rows, α_j = w_j / Σw.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "exponential", "student", "cauchy"} or Kernel, default "gaussian"
        A name, or an object of ``whyodd.kernels``, which brings its own q, a and bandwidth. scikit-learn's
        kernel "exponential", exp(-d/h), is "laplacian" here, and "rbf" is "gaussian".
    sigma : float, {"likelihood", "nn", "median", "scale"} or callable, default "likelihood"
        Bandwidth, or the rule for it: "likelihood" maximises the likelihood of each row under the others
        (rows equal to it left out as well; see Notes), "nn" is the 0.1 quantile of the distances to the
        nearest other row, "median" the median of all distances, "scale" scikit-learn's gamma. A function
        receives the training rows.
    bandwidth : float or {"scott", "silverman"}, optional
        scikit-learn's name for sigma; pass one of the two.
    q : float, optional
        Degree of the kernels "exponential" and "student"; 2 by default.
    a : float, default 1.0
        Constant of the kernels "student" and "cauchy".
    contamination : float, optional
        Share of training rows that ``predict`` calls outliers. They are scored with themselves among the
        centers, unlike new rows. None puts the threshold where a tenth of the training rows, each judged by
        the others, would be outliers; so will be about a tenth of new normal rows. :func:`whyodd.calibrate`
        gives any other share.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with the bandwidth that was chosen.
    weight_ : float
        Weight of all rows together, Σw.
    network_ : DistanceNetwork
        All rows with a weight as centers. Its offset is -log ∫ k(‖x‖) dx: the log-density is offset - o for
        the exponential kernels (see ``log_density``), and -infinity where Student's has no density, for q ≤
        d.
    offset_ : float
        ``score_samples`` of a row whose outlierness is ``threshold_``.

    See Also
    --------
    whyodd.ExemplarMixture : Keeps few of the rows, with weights of their own.

    Notes
    -----
    Among equal rows, each would be explained by its copies at any bandwidth, however small, and the
    likelihood of a row under the others would grow without bound: copies are left out with the row. Above
    10,000 rows a sample decides. Duin, "On the choice of smoothing parameters for Parzen estimators", 1976.

    ``score_samples`` is the log-density, as in scikit-learn; explanations are of ``outlierness``.

    ``partial_fit`` keeps m = 10,000 of the rows as centers. That adds an error to o = -log g whose standard
    deviation is √((E k²/g² - 1)/m), where E k² and g are the means of k² and k over all rows, as long as it
    is well below 1. Where few centers are near, o is about the squared distance to the nearest one instead,
    and errors are larger: ``benchmarks/parts.py`` measures both.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = whyodd.KernelDensity().fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 0.0]])
    array([ 1, -1])
    >>> model.score_samples([[0.0, 0.0]]).round(1)
    array([-2.1])
    """

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        sigma: SigmaRule = "likelihood",
        *,
        bandwidth: float | str | None = None,
        q: float | None = None,
        a: float = 1.0,
        contamination: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.sigma = sigma
        self.bandwidth = bandwidth
        self.q = q
        self.a = a
        self.contamination = contamination

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log-density log p(x) (n,), as in scikit-learn: high for normal rows.

        Where there is no density, since the integral of the kernel is infinite (Student's with q ≤ d), it is
        log g(x), the logarithm of the sum of kernels as it is; ``log_density`` and ``score`` raise an error.
        It is the density that was learned, without feedback.
        """
        values = self._checked(X)
        scores: Scores = learned(self.network_).assign(values)
        return self._log_normaliser + scores.log_inlierness

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """``score_samples`` - ``offset_`` (n,), with feedback threshold - o: negative for outliers."""
        if self.feedback_:
            return super().decision_function(X)
        return self.score_samples(X) - self.offset_

    @property
    def offset_(self) -> float:
        """``score_samples`` of a row on the threshold."""
        network = self.network_
        return self._log_normaliser + _log_inlierness_at(self.threshold_, network.kernel, network.n_centers)

    @property
    def _log_normaliser(self) -> float:
        return self.network_.offset if math.isfinite(self.network_.offset) else 0.0

    def _fit(
        self,
        X: Points,
        sample_weight: NDArray[np.float64] | None,
        previous: DistanceNetwork | None,  # noqa: ARG002
    ) -> tuple[DistanceNetwork, float]:
        merged = merge_equal_rows(X, sample_weight)
        sigma = sigma_of_bandwidth(self.bandwidth, self.sigma, self.kernel, self.q, merged)
        self.kernel_ = density_kernel(own_kernel(self.kernel), sigma, merged, q=self.q, a=self.a)
        counts = np.ones(merged.rows.shape[0]) if merged.weights is None else merged.weights
        self.weight_ = float(counts.sum())
        alpha = counts / counts.sum()
        # A row's own share is that of one row, even if it has copies, which stay.
        shares = np.minimum(counts, 1.0) / counts.sum()
        network = _network(X, merged.spread(alpha), self.kernel_)
        return network, soft_threshold(merged, alpha, shares, self.kernel_, network.n_centers)

    def _seen_in_fit(self) -> SeenRows:
        if not hasattr(self, "weight_"):
            return super()._seen_in_fit()
        weights = np.exp(self.network_.log_weights) * self.weight_
        return self._seen(self.network_.centers, None if np.allclose(weights, 1.0) else weights)


def _log_inlierness_at(o: float, kernel: Kernel, m: int) -> float:
    """Log g where the outlierness is ``o``: the inverse of ``kernel.outlierness``, which falls with log g."""

    def excess(log_g: float) -> float:
        return float(kernel.outlierness(np.asarray(log_g), m)) - o

    from scipy.optimize import brentq

    with np.errstate(over="ignore"):
        if excess(-o) == 0.0:  # o = -log g, as for most kernels, to the last bit
            return -o
        high, width = float(kernel.log_similarity(np.zeros(1))[0]), 1.0
        while excess(high - width) < 0.0:
            width *= 2.0
        found = brentq(excess, high - width, high, xtol=1e-14) if excess(high) < 0.0 else high
    # Rounding must not make a row on the threshold an outlier.
    return float(found) - _ROUNDING


def _network(X: Points, alpha: NDArray[np.float64], kernel: Kernel) -> DistanceNetwork:
    used = np.flatnonzero(alpha)
    return DistanceNetwork(
        X[used],
        kernel=kernel,
        log_weights=np.log(alpha[used]),
        offset=log_normaliser(kernel, X.shape[1]),
        rows=used,
        n_rows=X.shape[0],
    )
