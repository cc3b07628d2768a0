"""Gaussian mixture, fitted by scikit-learn, as a detector with a distance network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.models.density import DensityDetector
from whyodd.models.fitting.columns_that_vary import never_varied
from whyodd.models.fitting.merging import merge_equal_rows
from whyodd.models.fitting.mixture_parts import gaussian_components
from whyodd.models.fitting.repetition import repeated_rows
from whyodd.models.fitting.thresholds import usual_threshold
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.maths.metrics import Metric


class GaussianMixture(DensityDetector):
    """Gaussian mixture: p(x) = Σ_k π_k N(x; μ_k, Σ_k), o(x) = -log p(x) + a constant that makes it ≥ 0.

    Parameters
    ----------
    n_components : int, default 1
        Number of components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default "full"
        Each component has a covariance of its own; all share one; only variances; one variance per component.
    reg_covar : float, default 1e-6
        Added to the variances, so that no component collapses.
    tol : float, default 1e-3
        Iterations end when the mean log-likelihood gains less than this.
    max_iter : int, default 100
        Largest number of iterations.
    n_init : int, default 1
        Number of starts; the best result is kept.
    random_state : int, RandomState or None, default None
        Seed for the starts.
    contamination : float, optional
        Share of training rows to call outliers; None means a tenth.

    Attributes
    ----------
    mixture_ : sklearn.mixture.GaussianMixture
        The mixture, fitted to the columns that vary.
    constant_ : ndarray of bool of shape (d,)
        Columns that never varied in training. They are not part of the density: o does not depend on them.
    network_ : DistanceNetwork
        The means as centers, distances under Σ_k⁻¹, weights α_k ∝ π_k |2πΣ_k|^(-1/2). Its offset is the
        constant: the log-density is offset - o (see ``log_density``).
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    Bishop, "Novelty detection and neural network validation", 1994. With covariances other than spherical and
    diagonal ones, single relevances may be negative: a variable that fits makes another one, which does not
    fit, stand out less. ``sample_weight`` must be whole numbers: rows count that often.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = whyodd.GaussianMixture().fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 0.0]])
    array([ 1, -1])
    """

    _takes_sparse: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: str = "full",
        *,
        reg_covar: float = 1e-6,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        random_state: Any = None,
        contamination: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.contamination = contamination

    def _fit(
        self,
        X: Points,
        sample_weight: NDArray[np.float64] | None,
        previous: DistanceNetwork | None,  # noqa: ARG002
    ) -> tuple[DistanceNetwork, float]:
        # Merged rows come in an order of their own: repetition gives the same start as weights.
        merged = merge_equal_rows(X.astype(np.float64), sample_weight)
        self.constant_ = never_varied(merged.rows)
        again = repeated_rows(merged.weights, len(merged.rows), type(self).__name__)
        self.mixture_ = self._unfitted().fit(merged.rows[again][:, ~self.constant_])
        self.n_iter_ = self.mixture_.n_iter_
        network = self._network(merged.rows)
        return network, usual_threshold(network.outlierness(merged.rows), merged.weights)

    def _unfitted(self) -> Any:
        from sklearn import mixture

        return mixture.GaussianMixture(
            n_components=self.n_components,
            covariance_type=self.covariance_type,
            reg_covar=self.reg_covar,
            tol=self.tol,
            max_iter=self.max_iter,
            n_init=self.n_init,
            random_state=self.random_state,
        )

    def _network(self, rows: NDArray[np.float64]) -> DistanceNetwork:
        fitted = self.mixture_
        parts = gaussian_components(
            fitted.means_, np.log(fitted.weights_), fitted.precisions_cholesky_, fitted.covariance_type
        )
        varies = np.flatnonzero(~self.constant_)
        centers = np.tile(rows[0], (len(fitted.means_), 1))  # where a column is constant, its value
        centers[:, varies] = parts["centers"]
        metric = _widened(parts["metric"], varies, rows.shape[1])
        return DistanceNetwork(**{**parts, "centers": centers, "metric": metric})


def _widened(metric: Metric, columns: NDArray[np.intp], d: int) -> Metric:
    """The same metric over d columns; those not among ``columns`` do not count."""
    narrow = metric.matrix if isinstance(metric, LinearMetric) else metric.factors
    wide = np.zeros((*narrow.shape[:-1], d))
    wide[..., columns] = narrow
    return LinearMetric(wide) if isinstance(metric, LinearMetric) else ComponentMetric(wide)
