"""One Gaussian: diagonal, full (Mahalanobis) or robust (minimum covariance determinant)."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.kernels import Exponential
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.models.density import DensityDetector
from whyodd.models.fitting.columns_that_vary import never_varied
from whyodd.models.fitting.merging import merge_equal_rows
from whyodd.models.fitting.repetition import repeated_rows
from whyodd.models.fitting.thresholds import usual_threshold
from whyodd.models.in_parts import InParts
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.maths.metrics import Metric
    from whyodd.models.fitting.seen_rows import SeenRows

    Floats = NDArray[np.float64]

# Kept rows needed to set a threshold anew; with fewer, the earlier threshold stays.
_FEW_ROWS = 100
COVARIANCES = ("diagonal", "full", "robust")


class Gaussian(InParts, DensityDetector):
    """One Gaussian: o(x) = ½ (x - μ)ᵀ Σ⁻¹ (x - μ), half of Mahalanobis' squared distance.

    Parameters
    ----------
    covariance : {"full", "diagonal", "robust"}, default "full"
        "full" has all covariances, "diagonal" variances alone (the paper's baseline "MVN"). "robust" takes
        all covariances from the most compact part of the rows (minimum covariance determinant, by
        scikit-learn), for training rows with outliers.
    regularization : float, default 0.0
        λ, added to the variances.
    support_fraction : float, optional
        Share of the rows that "robust" relies on; None is as few as possible, a little more than half.
    random_state : int, RandomState or None, default None
        Seed for "robust".
    contamination : float, optional
        Share of training rows to call outliers; None means a tenth.

    Attributes
    ----------
    location_ : ndarray of shape (d,)
        Mean μ.
    covariance_ : ndarray of shape (d, d)
        Σ, with λ.
    constant_ : ndarray of bool of shape (d,)
        Columns that never varied in training. Without λ they do not count in the distance, as there is no
        scale to measure a deviation by; nor do directions in which the rows do not vary.
    network_ : DistanceNetwork
        The mean as its only center. Its offset is -½ log |2πΣ|: the log-density is offset - o (see
        ``log_density``).

    Notes
    -----
    The full Gaussian is the paper's example of a score that is not a measure of outlierness: its metric is
    learned. Single relevances may be negative with it: of two correlated variables, one that behaves as
    expected makes another one, which does not, stand out less. ``sample_weight`` must be whole numbers for
    "robust".

    ``partial_fit`` knows the mean and covariance of all rows exactly. The threshold comes from a sample of
    10,000 rows, and so does everything that "robust" needs.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 100.0]
    >>> model = whyodd.Gaussian("diagonal").fit(X)
    >>> model.predict([[0.0, 30.0], [6.0, 0.0]])
    array([ 1, -1])
    """

    _takes_sparse: ClassVar[bool] = False
    _keeps_moments: ClassVar[bool] = True

    def __init__(
        self,
        covariance: str = "full",
        *,
        regularization: float = 0.0,
        support_fraction: float | None = None,
        random_state: Any = None,
        contamination: float | None = None,
    ) -> None:
        self.covariance = covariance
        self.regularization = regularization
        self.support_fraction = support_fraction
        self.random_state = random_state
        self.contamination = contamination

    def _fit(
        self,
        X: Points,
        sample_weight: Floats | None,
        previous: DistanceNetwork | None,  # noqa: ARG002
    ) -> tuple[DistanceNetwork, float]:
        self._check_parameters()
        merged = merge_equal_rows(X.astype(np.float64), sample_weight)
        self.constant_ = never_varied(merged.rows)
        rows = merged.rows[:, ~self.constant_]
        if self.covariance == "robust":
            estimate = self._robust(rows[repeated_rows(merged.weights, len(rows), type(self).__name__)])
        else:
            estimate = _moments(rows, merged.weights)
        network = self._network(*estimate, merged.rows[0])
        return network, usual_threshold(network.outlierness(merged.rows), merged.weights)

    @property
    def _repeats(self) -> bool:
        return self.covariance == "robust"

    def _remember(self, X: Points, weights: Floats | None) -> None:
        seen = self._seen(X, weights)
        # If moments suffice, a model that is passed on holds no rows.
        needs_rows = self.covariance == "robust" or self.contamination is not None
        self.seen_ = seen if needs_rows else seen.without_rows()

    def _suffices(self, seen: SeenRows) -> bool:
        return seen.n_rows >= 2

    def _fit_seen(self, seen: SeenRows) -> tuple[DistanceNetwork, float]:
        if self.covariance == "robust" or seen.moments is None or seen.extent is None:
            return super()._fit_seen(seen)
        self._check_parameters()
        self.constant_ = never_varied(seen.extent)
        varies = ~self.constant_
        covariance = seen.moments.covariance[np.ix_(varies, varies)]
        network = self._network(seen.moments.mean[varies], covariance, seen.extent[0])
        if seen.rows.shape[0] < min(_FEW_ROWS, seen.n_rows) and hasattr(self, "threshold_"):
            return network, self.threshold_  # o has no unit
        return network, usual_threshold(network.outlierness(seen.rows), seen.weights)

    def _network(self, mean: Floats, covariance: Floats, row: Floats) -> DistanceNetwork:
        """Network of the columns that vary; the others are as in a ``row``, with exact zeros in Σ."""
        varies = np.flatnonzero(~self.constant_)
        self.location_, spread = row.copy(), np.zeros((len(self.constant_),) * 2)
        self.location_[varies] = mean
        is_diagonal = self.covariance == "diagonal"
        spread[np.ix_(varies, varies)] = np.diag(np.diag(covariance)) if is_diagonal else covariance
        self.covariance_ = spread + self.regularization * np.eye(len(spread))
        metric, offset = _metric(self.covariance_, is_diagonal=is_diagonal)
        return DistanceNetwork(
            self.location_[None, :], kernel=Exponential(q=2.0, sigma=1.0), metric=metric, offset=offset
        )

    def _robust(self, rows: Floats) -> tuple[Floats, Floats]:
        from sklearn.covariance import MinCovDet

        # Powers of two do not round; determinants of columns in very different units would mislead.
        unit = np.exp2(np.rint(np.log2(rows.std(axis=0))))
        estimator = MinCovDet(support_fraction=self.support_fraction, random_state=self.random_state)
        fitted = estimator.fit(rows / unit)
        return fitted.location_ * unit, unit[:, None] * fitted.covariance_ * unit

    def _check_parameters(self) -> None:
        if self.covariance not in COVARIANCES:
            names = ", ".join(map(repr, COVARIANCES))
            raise ValueError(f"covariance={self.covariance!r}: expected one of {names}.")
        if not (isinstance(self.regularization, Real) and 0.0 <= self.regularization < math.inf):
            raise ValueError(
                f"regularization={self.regularization!r}: expected a variance of at least 0 to add."
            )


def _moments(rows: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Mean and covariance of maximum likelihood, rows counted by weight."""
    mean = np.average(rows, axis=0, weights=weights)
    return mean, np.atleast_2d(np.cov(rows, rowvar=False, ddof=0, aweights=weights))


def _metric(covariance: Floats, *, is_diagonal: bool) -> tuple[Metric, float]:
    """Map A with AᵀA = Σ⁻¹ where the rows vary, 0 elsewhere, and -½ log |2πΣ| over these directions.

    Variances are made 1 first: columns of very different spread keep their digits. Eigenvalues of the
    correlations below rounding belong to directions without variance.
    """
    spread = np.sqrt(np.diag(covariance))
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0.0)
    if is_diagonal:
        return ComponentMetric(scale[None, :]), _log_height(spread[spread > 0.0])
    values, vectors = np.linalg.eigh(scale[:, None] * covariance * scale)
    kept = values > 10.0 * len(values) * np.finfo(np.float64).eps * values.max()
    roots = np.sqrt(values[kept])
    # The stretch of the map from unit space onto the directions kept, also if these are fewer than columns.
    stretch = np.linalg.qr(spread[:, None] * vectors[:, kept] * roots, mode="r")
    return LinearMetric(vectors[:, kept].T / roots[:, None] * scale), _log_height(np.abs(np.diag(stretch)))


def _log_height(spreads: Floats) -> float:
    """Log-density of a Gaussian at its mean, from its standard deviations along some axes."""
    return float(-0.5 * len(spreads) * math.log(2.0 * math.pi) - np.log(spreads).sum())
