"""The way in: ``explain`` for any model and what it judges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.explainers.checks import generator, keywords
from whyodd.explainers.columns import warn_of_dominating_column
from whyodd.explainers.explained import explained
from whyodd.explainers.groups import grouped_relevance
from whyodd.explainers.own_centers import own_centers
from whyodd.explainers.patchwise import explain_patches
from whyodd.explainers.reading import read, read_normal, reading_of
from whyodd.explainers.registry import find_method
from whyodd.network.distance_network import DistanceNetwork
from whyodd.patches import PatchModel
from whyodd.texts import TextModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from whyodd.explainers.groups import Groups
    from whyodd.explainers.own_centers import ExcludeSelf
    from whyodd.explainers.reading import Reading
    from whyodd.explanations.table import Explanation


def explain(
    model: Any,
    X: Any,
    *,
    method: str = "dtd",
    exclude_self: ExcludeSelf = "auto",
    groups: Groups | None = None,
    options: Mapping[str, Any] | None = None,
    random_state: int | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """Explain why each row of X is odd: o(x) = Σ_i R_i + unexplained.

    Parameters
    ----------
    model : fitted model, Pipeline or DistanceNetwork
        What :func:`whyodd.neuralize` accepts, a scikit-learn pipeline that ends in it, a search over the
        parameters of either (its best one is explained), or a linear one-class SVM (whose decomposition is
        signed, R_i = -w_i x_i, and relative to x = 0). Also a PatchModel or a TextModel, X being its items.
    X : array, CSR matrix or data frame of shape (n, d)
        pandas, Polars and Arrow frames are matched to the model's columns by name. For a pipeline, what it
        was fitted on: the reasons are then given in these columns, with their units and categories.
    method : str, default "dtd"
        One of ``whyodd.explainers.EXPLAINERS``. The others are there to compare with: only some of them sum
        to the outlierness; where they do not, ``unexplained`` is NaN and shares are of the sum of relevance.
    exclude_self : {"auto", True, False}, default "auto"
        A training row may be a center of the model, at distance 0, and would explain itself away. "auto"
        leaves that center out, row by row, if X demonstrably holds the training rows; True insists (and also
        finds rows by equal values); False never does.
    groups : dict of str to list of str, optional
        Columns to sum up: ``{"address": ["street", "city"]}``. All others stand for themselves.
    options : dict, optional
        Keywords of the method. Every method but "dtd" takes ``normal``: normal rows, like X, to compare with
        (default: the centers of the model).
    random_state : int, optional
        Seed of what a method draws at random.
    progress : bool, default False
        Show a progress bar with the time left, on standard error.
    n_jobs : int, optional
        Threads; all cores if None.
    dtype : float32 or float64, optional
        Precision of the computation; that of X if None.

    Returns
    -------
    Explanation
        A PatchExplanation or TextExplanation for a PatchModel or TextModel.

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
    chosen = find_method(method)
    settings, drawing = keywords(options), generator(random_state)
    chosen.check_options(method, settings)
    if isinstance(model, (PatchModel, TextModel)):
        _check_unused(model, groups=groups, dtype=dtype, normal=settings.get("normal"))
    if isinstance(model, PatchModel):
        shared: dict[str, Any] = {"exclude_self": exclude_self, "progress": progress, "n_jobs": n_jobs}
        return explain_patches(model, X, method, chosen, settings, drawing, shared)
    if isinstance(model, TextModel):
        _check_is_dtd(method, model)
        return model.explain(X, exclude_self=exclude_self, progress=progress, n_jobs=n_jobs)
    reading = read(model, X)
    own = _own_centers(reading, exclude_self)
    if dtype is not None:
        reading = reading.in_precision(dtype)
    check_is_network(reading.network, method, model)
    normal = settings.pop("normal", None)
    return explained(
        reading,
        own,
        method,
        chosen,
        settings,
        groups=groups,
        normal=None if normal is None else read_normal(model, normal),
        random=drawing,
        progress=progress,
        n_jobs=n_jobs,
    )


def again(e: Explanation, method: str, *, random_state: int | None = None) -> Explanation:
    """Explain the rows of an explanation by another method, without need of the model.

    Parameters
    ----------
    e : Explanation
        Its groups of variables, and the centers it left out, stay as they are.
    method : str
        One of ``whyodd.explainers.EXPLAINERS``, with its default options.
    random_state : int, optional
        Seed of what a method draws at random.
    """
    chosen, reading = find_method(method), reading_of(e)
    check_is_network(e.network, method, e.network)
    own = None if (e.excluded < 0).all() else e.excluded
    other = explained(reading, own, method, chosen, {}, random=generator(random_state))
    relevance = grouped_relevance(other.relevance, e.variables)
    kept = {name: getattr(e, name) for name in ("feature_names", "data", "rows", "excluded", "variables")}
    return replace(other, relevance=relevance, **kept)


def _own_centers(reading: Reading, exclude_self: ExcludeSelf) -> NDArray[np.intp] | None:
    if not isinstance(reading.network, DistanceNetwork):
        return None  # nothing to leave out
    # Of a pipeline people scale the columns themselves, and its columns go by other names. A learned metric
    # scales them itself.
    if reading.origin is None and reading.network.metric is None:
        warn_of_dominating_column(reading.network.centers, reading.variables.names)
    is_transformed = reading.origin is not None
    return own_centers(reading.network, reading.inputs, exclude_self, transformed=is_transformed)


def _check_unused(model: object, **arguments: object) -> None:
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        raise ValueError(f"{given[0]} is for tables, not for a {type(model).__name__}. Leave it out.")


def check_is_network(network: object, method: str, model: object) -> None:
    """A linear model has one way to be explained."""
    if not isinstance(network, DistanceNetwork):
        _check_is_dtd(method, model)


def _check_is_dtd(method: str, model: object) -> None:
    if method != "dtd":
        raise UnsupportedModelError(
            f"method={method!r} is not for a {type(model).__name__}, which has a way of its own. "
            "Leave method out, or choose 'dtd'."
        )
