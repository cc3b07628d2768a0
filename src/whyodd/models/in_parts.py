"""Detectors that learn part by part, from more rows than memory holds or from a stream."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from whyodd.models.base import DistanceDetector
from whyodd.models.fitting.repetition import repeated_rows
from whyodd.models.fitting.seen_rows import SeenRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.network.distance_network import DistanceNetwork

    Floats = NDArray[np.float64]

# Rows of the sample: those that a bandwidth is chosen by, and that a row is scored against in milliseconds.
_MOST_KEPT = 10_000


class InParts(DistanceDetector):
    """Detector with ``partial_fit``: it keeps a sample of all rows so far, and is fitted to the sample.

    Attributes
    ----------
    seen_ : SeenRows
        The sample, and what is known about all rows; after ``fit`` only if the network does not hold it.
    """

    # Whether means and covariances of all rows are kept.
    _keeps_moments: ClassVar[bool] = False

    def partial_fit(
        self,
        X: Any,
        y: None = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        forget: float | None = None,
    ) -> Self:
        """Learn from further rows, from nothing or after ``fit``; ``fit`` itself starts over.

        The result does not depend on how the rows are cut into parts. As long as all rows fit into the sample
        (10,000; for a :class:`whyodd.Committee` twice ``max_rows``), and none is forgotten, it is the result
        of ``fit`` on all of them. Every call fits the model to the sample, so pass many rows at a time. If a
        call fails, the model stays as it was. Feedback stays.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            Finite numbers. One row will do, but there is no model before the second one.
        y : None
            Ignored; part of scikit-learn's interface.
        sample_weight : array of shape (n,), optional
            How much each row counts.
        forget : float, optional
            Half-life in rows: a row this many rows ago counts half. Pass the same in all calls, or in all
            from some call on: rows learned before that age from then on.

        Returns
        -------
        self
        """
        before = dict(self.__dict__)
        try:
            self._learn(X, sample_weight, forget)
        except BaseException:  # also if interrupted
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    @property
    def _repeats(self) -> bool:
        """Whether rows count as whole rows, so that weights repeat them."""
        return False

    @property
    def _most_kept(self) -> int:
        """Rows of the sample."""
        return _MOST_KEPT

    def _learn(self, X: Any, sample_weight: Any, forget: float | None) -> None:
        known: SeenRows | None = self.__dict__.get("seen_")
        if known is None and hasattr(self, "network_"):
            known = self._seen_in_fit()
        if forget is not None and not (isinstance(forget, Real) and 0.0 < forget < math.inf):
            raise ValueError(f"forget={forget!r}: expected a half-life in rows, above 0, or None.")
        values, weights = self._checked_rows(X, sample_weight, reset=known is None)
        if forget is not None and known is not None and math.isinf(known.sample.half_life):
            known = known.forgetting(forget, by_weight=not self._repeats)
        seen = self._seen(values, weights, forget, known)
        said = self.feedback_ if hasattr(self, "network_") else ()
        self.__dict__.pop("network_", None)
        if self._suffices(seen):
            self._settle(*self._fit_seen(seen), seen.rows, seen.weights)
            self._take(said)
        self.seen_ = seen

    def _seen(
        self, X: Points, weights: Floats | None, forget: float | None = None, known: SeenRows | None = None
    ) -> SeenRows:
        """Rows after those that are ``known``."""
        if self._repeats:
            X, weights = X[repeated_rows(weights, X.shape[0], type(self).__name__)], None
        elif weights is None and forget is not None:
            weights = np.ones(X.shape[0])  # older rows will have smaller weights
        seen = SeenRows.of(
            X,
            weights,
            self._most_kept,
            forget,
            first_row=0 if known is None else known.n_rows,
            origin=0.0 if known is None else known.sample.origin,
            with_moments=self._keeps_moments,
        )
        return seen if known is None else known.then(seen)

    def _seen_in_fit(self) -> SeenRows:
        """The rows given to ``fit``, for a model that did not keep them for this."""
        raise ValueError(
            f"This {type(self).__name__} keeps nothing for partial_fit to continue from: it comes from "
            "whyodd.auto or an earlier version. Fit a new one, or learn tables in parts with TableSummary."
        )

    def _suffices(self, seen: SeenRows) -> bool:
        """Whether there are enough rows for a model."""
        return int(seen.rows.shape[0]) >= 2

    def _fit_seen(self, seen: SeenRows) -> tuple[DistanceNetwork, float]:
        """Network and threshold, as ``_fit`` gives them."""
        network, threshold = self._fit(seen.rows, seen.weights, None)
        return network.with_rows_of(seen.sample.row, seen.n_rows), threshold
