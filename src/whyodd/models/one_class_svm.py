"""One-class SVM and support vector data description for every radial kernel of the package."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from whyodd.models.bandwidth.kernel_choice import choose_kernel
from whyodd.models.bandwidth.rules import bandwidth
from whyodd.models.bandwidth.sklearn_words import own_kernel, sigma_of_gamma
from whyodd.models.base import DistanceDetector
from whyodd.models.fitting.merging import merge_equal_rows
from whyodd.models.fitting.row_network import network_of_rows
from whyodd.models.fitting.sample import Sample, boundary, gap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.training.one_class import OneClassSolution
    from whyodd.kernels import Kernel
    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.network.distance_network import DistanceNetwork

# Rounding error of an inlierness, in training (float32 similarities) and in scoring.
_ROUNDING = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-5}


class OneClassSVM(DistanceDetector):
    """One-class SVM: min ½ αᵀKα over 0 ≤ α_i ≤ 1/(νn), Σα = 1; g(x) = Σ_j α_j k(‖x - x_j‖).

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "exponential", "student", "cauchy"} or Kernel, default "gaussian"
        A name, or an object of ``whyodd.kernels``, which brings its own q, a and bandwidth. scikit-learn's
        "rbf" is "gaussian".
    nu : float, default 0.1
        In (0, 1]: at most this share of the training rows are outliers, at least this share support vectors.
    sigma : float, {"nn", "median", "scale"} or callable, default "nn"
        Bandwidth, or the rule for it: "nn" is the 0.1 quantile of the distances to the nearest other row (the
        paper's rule), "median" the median of all distances, "scale" scikit-learn's gamma. Rules count equal
        rows once. A function receives the training rows.
    gamma : float or {"scale", "auto"}, optional
        Replaces sigma for the Gaussian kernel, as in scikit-learn: k = exp(-gamma d²), σ = 1/√(2 gamma).
    q : float, optional
        Degree of the kernels "exponential" and "student"; 2 by default.
    a : float, default 1.0
        Constant of the kernels "student" and "cauchy".
    tol : float, default 1e-3
        Largest violation of the optimality conditions, on libsvm's scale.
    memory_mb : float, default 2000
        Bound on the memory for training beyond the data.
    max_iter : int, default 10,000,000
        Largest number of steps.
    max_samples : int, optional
        Learn from at most this many training rows, drawn at random. The boundary is still placed by all of
        them, so time grows in proportion to their number. Rules for ``sigma`` look at the sample.
    random_state : int, default 0
        Seed for drawing that sample.
    contamination : float, optional
        Share of training rows to call outliers; None uses the boundary that ν gives.
    warm_start : bool, default False
        Start from the support vectors of the previous fit, if the number of rows is the same.
    verbose : bool, default False
        Show progress on standard error.

    Attributes
    ----------
    support_ : ndarray of shape (m,)
        Rows that are support vectors.
    weights_ : ndarray of shape (m,)
        Their weights α_j; they sum to 1.
    kernel_ : Kernel
        The kernel with the bandwidth that was chosen.
    threshold_ : float
        Outlierness on the model's own boundary, or the threshold that ``contamination`` sets.
    dual_objective_ : float
        ½ αᵀKα.
    violation_ : float
        Remaining violation of the optimality conditions, on libsvm's scale.
    n_iter_ : int
        Number of steps.
    gap_ : float
        With ``max_samples``: how far ½ αᵀKα may be from the best for all rows, relative to it, with 95 %
        confidence. 0 if all rows were learned from.

    See Also
    --------
    whyodd.explain : Which variables make a row an outlier.

    Notes
    -----
    Equal rows form one center of the network, which has the sum of their weights. For Student's kernels, o
    counts it once: repeating all rows changes nothing.

    The inlierness of a model of a sample (``max_samples``) differs from that of a model of all rows by at
    most √(2 δ k(0)) anywhere, where δ is ``gap_`` times ½ αᵀKα: ½ ‖w‖² makes the objective strongly convex.

    Schölkopf et al., "Estimating the support of a high-dimensional distribution", 2001. Exponential kernels
    with q > 2 are indefinite: training ends in a stationary point, or warns that it did not.

    With the same number as gamma and the same nu this is scikit-learn's model: its ``score_samples``, over
    ν n, is ``inlierness`` here. ``score_samples`` here is -o, for a Gaussian kernel the logarithm of that.
    gamma="scale" is the same number if no two rows are equal.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = whyodd.OneClassSVM(sigma="median").fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 0.0]])
    array([ 1, -1])
    >>> whyodd.explain(model, [[6.0, 0.0]]).reasons(0)[0].feature
    'x0'
    """

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        nu: float = 0.1,
        sigma: SigmaRule = "nn",
        *,
        gamma: float | str | None = None,
        q: float | None = None,
        a: float = 1.0,
        tol: float = 1e-3,
        memory_mb: float = 2000.0,
        max_iter: int = 10_000_000,
        max_samples: int | None = None,
        random_state: int = 0,
        contamination: float | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.sigma = sigma
        self.gamma = gamma
        self.q = q
        self.a = a
        self.tol = tol
        self.memory_mb = memory_mb
        self.max_iter = max_iter
        self.max_samples = max_samples
        self.random_state = random_state
        self.contamination = contamination
        self.warm_start = warm_start
        self.verbose = verbose

    def _fit(
        self, X: Points, sample_weight: NDArray[np.float64] | None, previous: DistanceNetwork | None
    ) -> tuple[DistanceNetwork, float]:
        self._check_parameters()
        sample = Sample.draw(X.shape[0], sample_weight, self.max_samples, self.random_state)
        rows = X[sample.rows] if sample.is_part else X
        merged = merge_equal_rows(rows, sample.weights)
        sigma = sigma_of_gamma(self.gamma, self.sigma, self.kernel)
        # A sample of equal rows has no scale of its own.
        known = (merged.rows,) if merged.rows.shape[0] > 1 else (X, sample_weight)
        kernel = choose_kernel(
            own_kernel(self.kernel), q=self.q, a=self.a, sigma=lambda: bandwidth(sigma, *known)
        )
        start = _start(previous, X.shape[0]) if self.warm_start else None
        with _progress(self.tol) if self.verbose else nullcontext() as report:
            solution = solve_one_class(
                merged.rows,
                kernel,
                self.nu,
                sample_weight=merged.weights,
                alpha=None if start is None else merged.gather(start[sample.rows]),
                tol=self.tol,
                max_iter=self.max_iter,
                memory_mb=self.memory_mb,
                progress=report,
            )
        if not solution.converged:
            _warn(type(self).__name__, solution, kernel, self.tol)
        network = network_of_rows(rows, merged, solution.alpha, kernel)
        log_rho, self.gap_ = math.log(solution.rho), 0.0
        if sample.is_part:
            network = network.with_rows_of(sample.rows, sample.n)
            log_g = network.assign(X).log_inlierness  # g of rows far from the sample may underflow
            log_rho = boundary(log_g, sample_weight, self.nu)
            solution = replace(solution, rho=math.exp(log_rho))
            self.gap_ = gap(
                np.exp(log_g), sample_weight, solution.rho, self.nu, solution.objective, sample.drawn
            )
        self._describe(solution, sample.of_all(merged.spread(solution.alpha)), kernel)
        # Rounding must not make a row on the boundary an outlier.
        lowest = log_rho + math.log1p(-_ROUNDING[np.dtype(X.dtype)])
        return network, float(kernel.outlierness(lowest, network.n_centers))

    def _check_parameters(self) -> None:
        if not (isinstance(self.nu, Real) and 0.0 < self.nu <= 1.0):
            raise ValueError(
                f"nu={self.nu!r}: expected a share in (0, 1], the largest share of training outliers."
            )
        for name in ("tol", "memory_mb"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and value > 0.0):
                raise ValueError(f"{name}={value!r}: expected a number above 0.")
        if not (isinstance(self.max_iter, Integral) and self.max_iter >= 1):
            raise ValueError(f"max_iter={self.max_iter!r}: expected a number of steps of at least 1.")
        most = self.max_samples
        if most is not None and not (isinstance(most, Integral) and most >= 2):
            raise ValueError(f"max_samples={most!r}: expected at least 2 rows, or None for all rows.")

    def _describe(self, solution: OneClassSolution, alpha: NDArray[np.float64], kernel: Kernel) -> None:
        self.kernel_ = kernel
        self.support_ = np.flatnonzero(alpha)
        self.weights_ = alpha[self.support_]
        self.dual_objective_ = solution.objective
        self.violation_ = solution.violation
        self.n_iter_ = solution.n_iter


class SVDD(OneClassSVM):
    """Support vector data description: max Σ_i α_i k(0) - αᵀKα, the smallest ball around φ(x_1), ..., φ(x_n).

    For a radial kernel, where k(x, x) = k(0) everywhere, the solution is that of the one-class SVM, described
    as a center c = Σ_j α_j φ(x_j) and a radius. Parameters are those of :class:`OneClassSVM`.

    Attributes
    ----------
    radius_ : float
        R with R² = k(0) - 2ρ + αᵀKα, the distance of the boundary from the center.
    dual_objective_ : float
        Σ_i α_i k(0) - αᵀKα, which Tax and Duin maximise.

    Notes
    -----
    Tax and Duin, "Support vector data description", 2004, with C = 1/(νn).

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = whyodd.SVDD(sigma="median").fit(X)
    >>> (model.distance(X) <= model.radius_ + 1e-3).mean() >= 0.85
    np.True_
    """

    def distance(self, X: Any) -> NDArray[np.float64]:
        """Distance ‖φ(x) - c‖ from the center in feature space (n,)."""
        inlierness = self.inlierness(X)
        squared = self._height - 2.0 * inlierness + self._center_norm
        return np.sqrt(np.maximum(squared, 0.0))

    def _describe(self, solution: OneClassSolution, alpha: NDArray[np.float64], kernel: Kernel) -> None:
        super()._describe(solution, alpha, kernel)
        self._height = math.exp(kernel.log_height)
        self._center_norm = 2.0 * solution.objective
        self.dual_objective_ = self._height - self._center_norm
        self.radius_ = math.sqrt(max(self._height - 2.0 * solution.rho + self._center_norm, 0.0))


@contextmanager
def _progress(tol: float) -> Iterator[Callable[[int, float], None]]:
    """Yield a function of the number of steps and the violation: a line on standard error while it lasts."""
    with Console(stderr=True).status("Training ...") as status:
        yield lambda steps, violation: status.update(
            f"Training: {steps:,} steps, violation {violation:.1e} (done at {tol:.0e})"
        )


def solve_one_class(*arguments: Any, **keywords: Any) -> OneClassSolution:
    """The solver of ``compute/training``, which loads compiled code."""
    from whyodd.compute.training import one_class

    return one_class.solve_one_class(*arguments, **keywords)


def _start(previous: DistanceNetwork | None, n: int) -> NDArray[np.float64] | None:
    if previous is None or previous.n_rows != n:
        return None
    alpha = np.zeros(n)
    alpha[previous.rows] = previous.weights
    return alpha


def _warn(name: str, solution: OneClassSolution, kernel: Kernel, tol: float) -> None:
    indefinite = " The kernel is indefinite for q > 2: a smaller q converges." if kernel.q > 2.0 else ""
    warnings.warn(
        f"{name} stopped after {solution.n_iter} steps with a violation of {solution.violation:.1e}, above "
        f"tol={tol:g}. Raise max_iter or tol.{indefinite}",
        ConvergenceWarning,
        stacklevel=4,  # the line that called fit
    )
