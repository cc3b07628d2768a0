"""Convex exemplar mixture: a kernel density with weights that maximise the likelihood."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from whyodd.models.bandwidth.kernel_choice import density_kernel
from whyodd.models.bandwidth.sklearn_words import own_kernel
from whyodd.models.density import DensityDetector, log_normaliser
from whyodd.models.fitting.exemplar_weights import exemplar_weights
from whyodd.models.fitting.merging import merge_equal_rows
from whyodd.models.fitting.row_network import network_of_rows
from whyodd.models.fitting.thresholds import soft_threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel
    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.models.fitting.exemplar_weights import ExemplarSolution
    from whyodd.network.distance_network import DistanceNetwork


class ExemplarMixture(DensityDetector):
    """Convex exemplar mixture: max Σ_i w_i log Σ_j α_j k(‖x_i - x_j‖) over the weights α of all rows.

    Every row may be an exemplar, the center of a component; most end with weight 0. The problem is concave:
    the solution does not depend on a start, and how far it is from the best one is known.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "exponential", "student", "cauchy"} or Kernel, default "gaussian"
        A name, or an object of ``whyodd.kernels``, which brings its own q, a and bandwidth. scikit-learn's
        "rbf" is "gaussian".
    sigma : float, {"likelihood", "nn", "median", "scale"} or callable, default "likelihood"
        Bandwidth, or the rule for it, as in :class:`whyodd.KernelDensity`. A larger one leaves fewer
        exemplars.
    q : float, optional
        Degree of the kernels "exponential" and "student"; 2 by default.
    a : float, default 1.0
        Constant of the kernels "student" and "cauchy".
    tol : float, default 1e-3
        The mean log-likelihood is at most this much below the best possible. Similarities in float32 do not
        reach less than about 1e-5.
    max_iter : int, default 10,000
        Largest number of iterations.
    memory_mb : float, default 2000
        Bound on the similarities that are kept; beyond it they are recomputed in each iteration.
    contamination : float, optional
        Share of training rows that ``predict`` calls outliers. None puts the threshold where a tenth of the
        training rows, each without its own part in the weights, would be outliers; so will be about a tenth
        of new normal rows.

    Attributes
    ----------
    exemplars_ : ndarray of shape (m,)
        Rows with a weight.
    weights_ : ndarray of shape (m,)
        Their weights α_j; they sum to 1.
    kernel_ : Kernel
        The kernel with the bandwidth that was chosen.
    log_likelihood_ : float
        Mean of log g over the training rows.
    gap_ : float
        How much the best weights could add to it at most.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    Yang, Latecki and Pokrajac, "Outlier detection with globally optimal exemplar-based GMM", 2009; Lashkari
    and Golland, "Convex clustering with exemplar-based models", 2007. As in these papers, a row's similarity
    to itself, the largest there is, counts: at a given bandwidth k(0) is a number like any other. The
    bandwidth itself is chosen beforehand, by the likelihood of rows under *other* rows: if rows counted
    themselves, there would be no best bandwidth.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = whyodd.ExemplarMixture(sigma=1.0).fit(X)
    >>> len(model.exemplars_) < 100
    True
    >>> model.predict([[0.0, 0.0], [6.0, 0.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        sigma: SigmaRule = "likelihood",
        *,
        q: float | None = None,
        a: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        memory_mb: float = 2000.0,
        contamination: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.sigma = sigma
        self.q = q
        self.a = a
        self.tol = tol
        self.max_iter = max_iter
        self.memory_mb = memory_mb
        self.contamination = contamination

    def _fit(
        self,
        X: Points,
        sample_weight: NDArray[np.float64] | None,
        previous: DistanceNetwork | None,  # noqa: ARG002
    ) -> tuple[DistanceNetwork, float]:
        self._check_parameters()
        merged = merge_equal_rows(X, sample_weight)
        kernel = density_kernel(own_kernel(self.kernel), self.sigma, merged, q=self.q, a=self.a)
        counts = np.ones(merged.rows.shape[0]) if merged.weights is None else merged.weights
        solution = exemplar_weights(
            merged.rows, counts, kernel, tol=self.tol, max_iter=self.max_iter, memory_mb=self.memory_mb
        )
        if solution.gap > self.tol:
            _warn(solution, self.tol)
        offset = log_normaliser(kernel, X.shape[1])
        network = network_of_rows(X, merged, solution.alpha, kernel, offset)
        log_g = network.assign(merged.rows).log_inlierness
        self._describe(merged.spread(solution.alpha), kernel, solution)
        self.log_likelihood_ = float(np.average(log_g, weights=counts))
        shares = _own_shares(solution.alpha, log_g, counts, kernel)
        return network, soft_threshold(merged, solution.alpha, shares, kernel, network.n_centers)

    def _check_parameters(self) -> None:
        for name in ("tol", "memory_mb"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and float(value) > 0.0):
                raise ValueError(f"{name}={value!r}: expected a number above 0.")
        if not (isinstance(self.max_iter, Integral) and self.max_iter >= 1):
            raise ValueError(f"max_iter={self.max_iter!r}: expected a number of iterations of at least 1.")

    def _describe(self, alpha: NDArray[np.float64], kernel: Kernel, solution: ExemplarSolution) -> None:
        self.kernel_ = kernel
        self.exemplars_ = np.flatnonzero(alpha)
        self.weights_ = alpha[self.exemplars_]
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter


def _own_shares(
    alpha: NDArray[np.float64], log_g: NDArray[np.float64], counts: NDArray[np.float64], kernel: Kernel
) -> NDArray[np.float64]:
    """The contribution of a row to the weight α_i = Σ_r w_r p_ri of the exemplar it is: w_i p_ii."""
    own_assignment = alpha * np.exp(kernel.log_height - log_g)
    return np.asarray(np.minimum(np.minimum(counts, 1.0) / counts.sum() * own_assignment, alpha))


def _warn(solution: ExemplarSolution, tol: float) -> None:
    warnings.warn(
        f"ExemplarMixture stopped after {solution.n_iter} iterations. Its mean log-likelihood may be "
        f"{solution.gap:.1e} below the best, above tol={tol:g}. Raise max_iter or tol.",
        ConvergenceWarning,
        stacklevel=4,  # the line that called fit
    )
