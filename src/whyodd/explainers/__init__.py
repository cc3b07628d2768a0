"""Ways to explain outlierness, one file each, and ``explain``, the way in."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol

import numpy as np

from whyodd.explainers.columns import warn_of_dominating_column
from whyodd.explainers.dtd import deep_taylor
from whyodd.explainers.groups import sum_columns, with_groups
from whyodd.explainers.own_centers import own_centers
from whyodd.explainers.reading import read
from whyodd.explanation import Explanation
from whyodd.inputs import as_matrix
from whyodd.network import DistanceNetwork
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

    from whyodd.compute.points import Points
    from whyodd.explainers.groups import Groups
    from whyodd.explainers.own_centers import ExcludeSelf
    from whyodd.explainers.reading import Reading
    from whyodd.linear_maps import LinearMap
    from whyodd.network import Decomposition

__all__ = ["EXPLAINERS", "explain"]


class Explainer(Protocol):
    """A function that decomposes the outlierness of the rows of X onto their variables."""

    def __call__(
        self,
        network: DistanceNetwork,
        X: Points,
        *,
        own: NDArray[np.intp] | None = None,
        through: LinearMap | None = None,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Decomposition: ...


EXPLAINERS: dict[str, Explainer] = {
    "dtd": deep_taylor,
}


def explain(
    model: object,
    X: object,
    *,
    method: str = "dtd",
    exclude_self: ExcludeSelf = "auto",
    groups: Groups | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
    dtype: DTypeLike | None = None,
) -> Explanation:
    """Explain why each row of X is odd: o(x) = Σ_i R_i + unexplained.

    Parameters
    ----------
    model : fitted model, Pipeline or DistanceNetwork
        What :func:`whyodd.neuralize` accepts, a scikit-learn pipeline that ends in it, a search over the
        parameters of either (its best one is explained), or a linear one-class SVM (whose decomposition is
        signed, R_i = -w_i x_i, and relative to x = 0).
    X : array, CSR matrix or data frame of shape (n, d)
        pandas, Polars and Arrow frames are matched to the model's columns by name. For a pipeline, what it
        was fitted on: the reasons are then given in these columns, with their units and categories.
    method : str, default "dtd"
        One of ``whyodd.explainers.EXPLAINERS``.
    exclude_self : {"auto", True, False}, default "auto"
        A training row may be a center of the model, at distance 0, and would explain itself away. "auto"
        leaves that center out, row by row, if X demonstrably holds the training rows; True insists (and also
        finds rows by equal values); False never does.
    groups : dict of str to list of str, optional
        Columns to sum up: ``{"address": ["street", "city"]}``. All others stand for themselves.
    progress : bool, default False
        Show a progress bar with the time left, on standard error.
    n_jobs : int, optional
        Threads; all cores if None.
    dtype : float32 or float64, optional
        Precision of the computation; that of X if None.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import pandas as pd, whyodd
    >>> from sklearn.svm import OneClassSVM
    >>> normal = pd.DataFrame({"speed": [48.0, 50, 52, 51], "load": [48.5, 50, 51.5, 50]})
    >>> model = OneClassSVM(gamma=0.1).fit(normal)
    >>> e = whyodd.explain(model, pd.DataFrame({"speed": [50.0], "load": [90.0]}))
    >>> print(e.why(k=1))
    load is too high (90, expected about 51.5): 99 % of the outlierness; 1 % belongs to no single variable
    """
    explainer = _explainer(method)
    reading = read(model, X)
    own = _own_centers(reading, exclude_self)
    inputs = reading.inputs if dtype is None else as_matrix(reading.inputs, dtype=dtype).values
    n_rows = inputs.shape[0]
    with progress_bar(n_rows, "Explaining rows") if progress else nullcontext() as report:
        parts = explainer(
            reading.network, inputs, own=own, through=reading.through, n_jobs=n_jobs, progress=report
        )
    relevance = reading.in_variables(parts.relevance)
    variables, names = reading.variables, reading.variables.names
    if groups is not None:
        variables, names, place = with_groups(variables, groups)
        relevance = sum_columns(relevance, place, len(names))
    data = inputs if reading.data is reading.inputs else reading.data
    return Explanation(
        relevance=relevance,
        outlierness=parts.outlierness,
        unexplained=parts.unexplained,
        inlierness=np.exp(parts.log_inlierness),
        feature_names=names,
        data=variables.grouped(data),
        rows=np.arange(n_rows),
        excluded=np.full(n_rows, -1) if own is None else own,
        network=reading.network,
        frame_kind=reading.frame_kind,
        inputs=inputs,
        variables=variables,
    )


def _own_centers(reading: Reading, exclude_self: ExcludeSelf) -> NDArray[np.intp] | None:
    if not isinstance(reading.network, DistanceNetwork):
        return None  # nothing to leave out
    # Of a pipeline people scale the columns themselves, and its columns go by other names.
    if reading.origin is None:
        warn_of_dominating_column(reading.network.centers, reading.variables.names)
    is_transformed = reading.origin is not None
    return own_centers(reading.network, reading.inputs, exclude_self, transformed=is_transformed)


def _explainer(method: str) -> Explainer:
    if method not in EXPLAINERS:
        raise ValueError(f"method={method!r} is unknown. Choose one of: {', '.join(map(repr, EXPLAINERS))}.")
    return EXPLAINERS[method]
