"""Ways to explain outlierness, one file each, and ``explain``, the way in."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol

import numpy as np

from whyodd.adapters import neuralize
from whyodd.explainers.columns import read_columns, warn_of_dominating_column
from whyodd.explainers.dtd import deep_taylor
from whyodd.explainers.own_centers import own_centers
from whyodd.explainers.progress import progress_bar
from whyodd.explanation import Explanation
from whyodd.frames import as_frame
from whyodd.inputs import as_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

    from whyodd.compute.points import Points
    from whyodd.explainers.own_centers import ExcludeSelf
    from whyodd.network import Decomposition, DistanceNetwork

__all__ = ["EXPLAINERS", "explain"]


class Explainer(Protocol):
    """A function that decomposes the outlierness of the rows of X onto their variables."""

    def __call__(
        self,
        network: DistanceNetwork,
        X: Points,
        *,
        own: NDArray[np.intp] | None = None,
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
    progress: bool = False,
    n_jobs: int | None = None,
    dtype: DTypeLike | None = None,
) -> Explanation:
    """Explain why each row of X is odd: o(x) = Σ_i R_i + unexplained.

    Parameters
    ----------
    model : fitted model or DistanceNetwork
        What :func:`whyodd.neuralize` accepts.
    X : array, CSR matrix or data frame of shape (n, d)
        pandas, Polars and Arrow frames are matched to the model's columns by name.
    method : str, default "dtd"
        One of ``whyodd.explainers.EXPLAINERS``.
    exclude_self : {"auto", True, False}, default "auto"
        A training row may be a center of the model, at distance 0, and would explain itself away. "auto"
        leaves that center out, row by row, if X demonstrably holds the training rows; True insists (and also
        finds rows by equal values); False never does.
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
    network = neuralize(model)
    given, names = read_columns(X, network.n_features, _fitted_names(model))
    warn_of_dominating_column(network.centers, names)
    own = own_centers(network, given.values, exclude_self)
    data = given.values if dtype is None else as_matrix(given.values, dtype=dtype).values
    n_rows = data.shape[0]
    with progress_bar(n_rows) if progress else nullcontext() as report:
        parts = explainer(network, data, own=own, n_jobs=n_jobs, progress=report)
    frame = as_frame(X)
    return Explanation(
        relevance=parts.relevance,
        outlierness=parts.outlierness,
        unexplained=parts.unexplained,
        inlierness=np.exp(parts.log_inlierness),
        feature_names=names,
        data=data,
        rows=np.arange(n_rows),
        excluded=np.full(n_rows, -1) if own is None else own,
        network=network,
        frame_kind=None if frame is None else frame.implementation,
    )


def _fitted_names(model: object) -> tuple[str, ...] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def _explainer(method: str) -> Explainer:
    if method not in EXPLAINERS:
        raise ValueError(f"method={method!r} is unknown. Choose one of: {', '.join(map(repr, EXPLAINERS))}.")
    return EXPLAINERS[method]
