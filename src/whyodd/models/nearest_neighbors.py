"""Distances to the nearest training rows as outlierness."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING

from whyodd.maths.hard_poolings import MeanVector, Nearest
from whyodd.models.fitting.neighborhood import fewer_than_rows
from whyodd.models.fitting.repetition import repeated_rows
from whyodd.models.fitting.thresholds import neighbor_threshold
from whyodd.models.in_parts import InParts
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.maths.hard_poolings import Pooling
    from whyodd.models.fitting.seen_rows import SeenRows

MEASURES: dict[str, Callable[[int], Pooling]] = {
    "kth": Nearest.kth,
    "mean": Nearest.mean,
    "mean_vector": MeanVector,
    "median": Nearest.median,
}


class KNearestNeighbors(InParts):
    """k nearest neighbours: o(x) is the mean γ of the k smallest distances, the k-th one κ, or δ = ‖x - ū‖.

    Parameters
    ----------
    n_neighbors : int or float, default 5
        k, less than the number of rows; or a share s of the n rows in (0, 1), for k = ⌊s n⌋ + 1.
    measure : {"mean", "kth", "median", "mean_vector"}, default "mean"
        Which distance: Harmeling's γ, the mean of the k smallest; κ, the largest of these; their median; or
        Harmeling's δ, the distance to the mean ū of the k nearest rows, which is large for a row outside
        of its neighbours and small for one in their midst.
    threshold : float, optional
        Distance above which a row is an outlier. None puts it where a tenth of the training rows, each judged
        by the others, would be outliers; so will be about a tenth of new normal rows.
    contamination : float, optional
        Share of training rows that ``predict`` calls outliers, instead of a threshold. They are scored with
        themselves among their neighbours, unlike new rows.

    Attributes
    ----------
    n_neighbors_ : int
        k.

    Notes
    -----
    Harmeling et al., "From outliers to prototypes: ordering data", 2006. :meth:`distance_based` gives Knorr's
    distance-based outliers. ``sample_weight`` must be whole numbers: rows count that often.

    ``partial_fit`` keeps m = 10,000 of the rows, and k counts among these. As a share of the rows, k means
    the same neighbourhood however many rows there were: the distance of the k-th neighbour then has a
    relative error of 1/(d' √k) on average, where d' is the number of dimensions in which the rows vary around
    there.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = whyodd.KNearestNeighbors().fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 0.0]])
    array([ 1, -1])
    >>> whyodd.explain(model, [[6.0, 0.0]]).reasons(0)[0].feature
    'x0'
    """

    def __init__(
        self,
        n_neighbors: float = 5,
        measure: str = "mean",
        *,
        threshold: float | None = None,
        contamination: float | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.measure = measure
        self.threshold = threshold
        self.contamination = contamination

    @classmethod
    def distance_based(cls, fraction: float, distance: float) -> KNearestNeighbors:
        """Knorr's DB(p, D): an outlier has at least a fraction p of the n rows farther away than D.

        That is κ > D with k = ⌊n(1 - p)⌋ + 1. Training rows are themselves among the n rows, as in Knorr's
        definition: ``model.fit(X).predict(X)`` are his outliers of X.

        Parameters
        ----------
        fraction : float
            p, in (0, 1).
        distance : float
            D > 0.

        Returns
        -------
        KNearestNeighbors
            Not fitted yet.

        Notes
        -----
        Knorr, Ng and Tucakov, "Distance-based outliers: algorithms and applications", 2000.

        Examples
        --------
        >>> from whyodd import KNearestNeighbors
        >>> X = [[0.0], [1.0], [2.0], [9.0]]
        >>> KNearestNeighbors.distance_based(0.75, 3.0).fit(X).predict(X)
        array([ 1,  1,  1, -1])
        """
        # 1 - 0.9 is not exactly 0.1: written shares have few digits.
        return cls(round(1.0 - fraction, 12), "kth", threshold=distance)

    def _fit(
        self,
        X: Points,
        sample_weight: NDArray[np.float64] | None,
        previous: DistanceNetwork | None,  # noqa: ARG002
    ) -> tuple[DistanceNetwork, float]:
        self._check_parameters()
        rows = repeated_rows(sample_weight, X.shape[0], type(self).__name__)
        self.n_neighbors_ = self._count(len(rows))
        pooling = MEASURES[self.measure](self.n_neighbors_)
        network = DistanceNetwork(X[rows], pooling=pooling, rows=rows, n_rows=X.shape[0])
        return network, neighbor_threshold(network) if self.threshold is None else float(self.threshold)

    @property
    def _repeats(self) -> bool:
        return True

    def _seen_in_fit(self) -> SeenRows:
        return self._seen(self.network_.centers, None)

    def _count(self, n: int) -> int:
        if isinstance(self.n_neighbors, Integral):
            return fewer_than_rows(int(self.n_neighbors), n)
        # A product that is a whole number up to rounding counts as one.
        return math.floor(round(self.n_neighbors * n, 9)) + 1

    def _check_parameters(self) -> None:
        k = self.n_neighbors
        is_count = isinstance(k, Integral) and not isinstance(k, bool) and k >= 1
        is_share = isinstance(k, Real) and not isinstance(k, Integral) and 0.0 < k < 1.0
        if not (is_count or is_share):
            raise ValueError(
                f"n_neighbors={k!r}: expected a whole number of at least 1, or a share of the rows in (0, 1)."
            )
        if self.measure not in MEASURES:
            names = ", ".join(map(repr, MEASURES))
            raise ValueError(f"measure={self.measure!r}: expected one of {names}.")
        self._check_threshold()

    def _check_threshold(self) -> None:
        if self.threshold is None:
            return
        if not (isinstance(self.threshold, Real) and 0.0 < self.threshold < math.inf):
            raise ValueError(f"threshold={self.threshold!r}: expected a distance above 0, or None.")
        if self.contamination is not None:
            raise ValueError(
                f"Expected threshold or contamination, got both: {self.threshold!r} and "
                f"{self.contamination!r}. Pass one."
            )
