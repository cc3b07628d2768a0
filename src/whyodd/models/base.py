"""What every detector of the package shares: a fitted network, a threshold, and scikit-learn's contract."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from whyodd.compute.points import canonical, is_sparse
from whyodd.io.defaults import with_defaults
from whyodd.models.feedback import TakesFeedback
from whyodd.network.judged import learned

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.network.distance_network import DistanceNetwork

# Squared distances of larger numbers overflow, and of all smaller than its inverse underflow.
_LARGEST = 1e150
_DTYPES = [np.float64, np.float32]


class DistanceDetector(TakesFeedback, OutlierMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Outlier detector that owns a distance network: o(x) is its score, high for anomalies.

    A subclass implements ``_fit``, which returns the network and the threshold; everything else is here.

    Attributes
    ----------
    network_ : DistanceNetwork
        The fitted model; what is explained. With feedback a ``JudgedScore`` of it.
    feedback_ : tuple of Judgement
        Judgements that people made about single rows.
    threshold_ : float
        Outlierness above which a point is an outlier.
    offset_ : float
        The same in scikit-learn's sign: ``decision_function`` = ``score_samples`` - ``offset_``.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, if ``fit`` was given a data frame.
    """

    contamination: float | None
    network_: DistanceNetwork

    # Whether CSR rows are taken; a model that needs all columns at once says no.
    _takes_sparse: ClassVar[bool] = True

    @abstractmethod
    def _fit(
        self, X: Points, sample_weight: NDArray[np.float64] | None, previous: DistanceNetwork | None
    ) -> tuple[DistanceNetwork, float]:
        """Network of the training rows, and the model's own threshold on the outlierness.

        ``previous`` is the network of an earlier fit, for a warm start.
        """

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Fit to (mostly) normal rows; earlier feedback is dropped.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            Finite numbers, at least two rows. float32 stays float32.
        y : None
            Ignored; part of scikit-learn's interface.
        sample_weight : array of shape (n,), optional
            How much each row counts; a row with weight 2 counts like two equal rows.

        Returns
        -------
        self
        """
        # An interrupted fit must not leave a model that looks fitted.
        previous = learned(self.__dict__.pop("network_", None))
        self.__dict__.pop("seen_", None)  # what partial_fit keeps
        values, weights = self._checked_rows(X, sample_weight, ensure_min_samples=2)
        self._settle(*self._fit(values, weights, previous), values, weights)
        self._remember(values, weights)
        return self

    def _remember(self, X: Points, weights: NDArray[np.float64] | None) -> None:
        """Keep what ``partial_fit`` needs to continue; by default nothing."""

    def _checked_rows(
        self, X: Any, sample_weight: Any, **keywords: Any
    ) -> tuple[Points, NDArray[np.float64] | None]:
        """Rows to learn from, and their weights."""
        self._check_contamination()
        values = self._validated(X, **keywords)
        _check_scale(values)
        return values, _checked_weights(sample_weight, values.shape[0])

    def _settle(
        self, network: DistanceNetwork, threshold: float, X: Points, weights: NDArray[np.float64] | None
    ) -> None:
        """Become the model with this network, and this threshold unless a share of the rows decides."""
        if self.contamination is not None:
            threshold = _cut(network.outlierness(X), weights, self.contamination)
        self.threshold_ = threshold
        self.network_ = network

    @property
    def offset_(self) -> float:
        """The threshold in scikit-learn's sign."""
        return -self.threshold_

    def outlierness(self, X: Any) -> NDArray[np.float64]:
        """Outlierness o(x) (n,), at least 0 and high for anomalies."""
        values = self._checked(X)
        return self.network_.outlierness(values)

    def inlierness(self, X: Any) -> NDArray[np.float64]:
        """Inlierness g(x) (n,), high for normal points."""
        values = self._checked(X)
        return self.network_.inlierness(values)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """-o(x) (n,): high for normal points, as in scikit-learn."""
        return -self.outlierness(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Threshold minus o(x) (n,): negative for outliers."""
        outlierness = self.outlierness(X)
        return self.threshold_ - outlierness

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for outliers, +1 for all others (n,)."""
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def _checked(self, X: Any) -> Points:
        check_is_fitted(self)
        return self._validated(X, reset=False)

    def _validated(self, X: Any, *, reset: bool = True, **keywords: Any) -> Points:
        # A search for frames and names takes as long as all else that is done with a small array.
        least = keywords.get("ensure_min_samples", 1)
        if not hasattr(self, "feature_names_in_") and _is_ready(X, least):
            if reset:
                self.n_features_in_ = X.shape[1]
            if X.shape[1] == getattr(self, "n_features_in_", -1):
                return X
        layout = "csr" if self._takes_sparse else False
        return canonical(
            validate_data(self, X, reset=reset, accept_sparse=layout, dtype=_DTYPES, order="C", **keywords)
        )

    def _check_contamination(self) -> None:
        share = self.contamination
        if share is not None and not (isinstance(share, Real) and 0.0 < share <= 0.5):
            raise ValueError(f"contamination={share!r}: expected a share of outliers in (0, 0.5], or None.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(with_defaults(type(self), state))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags


def _is_ready(X: Any, least: int) -> bool:
    """Whether X is an array of finite floats that needs neither conversion nor a message."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _DTYPES or not X.flags.c_contiguous:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return X.shape[0] >= least and X.shape[1] > 0 and bool(np.isfinite(X.sum()))


def _check_scale(values: Points) -> None:
    entries = values.data if is_sparse(values) else values
    largest = max(abs(float(entries.max())), abs(float(entries.min()))) if entries.size else 0.0
    if largest > _LARGEST or 0.0 < largest < 1.0 / _LARGEST:
        raise ValueError(
            f"The largest value of X is {largest:.3g}: its square does not fit into a float. Scale the "
            "columns first, e.g. with StandardScaler."
        )


def _checked_weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"Expected sample_weight with one number per row, ({n},), got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError(
            f"sample_weight must be finite and not negative, but the smallest is {weights.min()}."
        )
    if not (weights > 0.0).any():
        raise ValueError(
            "sample_weight is zero for every row: at least one sample must have a weight above 0."
        )
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not np.finfo(np.float64).tiny <= total < np.inf:
        raise ValueError(
            f"The sum of sample_weight is {total:.3g}, beyond what a float holds with all digits. Divide the "
            "weights by the largest of them."
        )
    return weights


def _cut(outlierness: NDArray[np.float64], weights: NDArray[np.float64] | None, share: float) -> float:
    """Outlierness above which a ``share`` of the rows (by weight) lies."""
    if weights is None:
        return float(np.quantile(outlierness, 1.0 - share))
    order = np.argsort(outlierness)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(outlierness[order][np.searchsorted(reached, 1.0 - share)])
