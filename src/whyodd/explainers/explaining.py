"""The entry point: ``explain`` for any model and data."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.class_paths import find_entry
from whyodd.explainers.black_box.functions import is_function, learned, prepare
from whyodd.explainers.calibrating import over_usual
from whyodd.explainers.checks import generator, keywords
from whyodd.explainers.columns import warn_of_dominating_column
from whyodd.explainers.groups import grouped_relevance, sum_columns, with_groups
from whyodd.explainers.method import Task
from whyodd.explainers.own_centers import own_centers
from whyodd.explainers.preparing import PreparedRows
from whyodd.explainers.registry import find_method
from whyodd.explanations.base import TABLE, checked_ids
from whyodd.explanations.comparisons import loudest
from whyodd.explanations.table import Explanation
from whyodd.network.neural.torch_module import MODULE, module_score
from whyodd.network.waist import offers
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

    from whyodd.explainers.groups import Groups
    from whyodd.explainers.own_centers import ExcludeSelf
    from whyodd.explainers.preparing import PreparedModel
    from whyodd.network.waist import Decomposition

    Indices = NDArray[np.intp]

# Relevance by an integral that misses no more than this share of o counts as exact.
_SMALL_GAP = 1e-3


def explain(
    model: Any,
    X: Any,
    *,
    method: str = "dtd",
    normal: Any = None,
    exclude_self: ExcludeSelf = "auto",
    groups: Groups | None = None,
    options: Mapping[str, Any] | None = None,
    random_state: int | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
    dtype: DTypeLike | None = None,
    names: Sequence[Any] | None = None,
    time: str | None = None,
) -> Any:
    """Explain why each row of X is odd: o(x) = Σ_i R_i + unexplained.

    Parameters
    ----------
    model : fitted model, Pipeline, DistanceNetwork or function
        A model that :func:`whyodd.neuralize` accepts, a scikit-learn pipeline that ends in one, or a search
        over the parameters of either (its best model is explained). Also a PatchModel or a TextModel, with
        its items as X.

        Any other model that scores rows, and any function ``f(X)`` that returns (n,), high for outliers, is
        explained by its scores alone, and needs ``normal`` rows. A student is fitted to the scores
        ("distilled"; ``fidelity`` says how well it fits); if none fits, Shapley values are sampled. The
        logger ``whyodd`` reports the cost. A torch module that scores or reconstructs rows needs ``normal``
        rows, too.

        The decomposition of a linear one-class SVM is signed, R_i = -w_i x_i, and relative to x = 0.
    X : array, CSR matrix or data frame of shape (n, d)
        pandas, Polars and Arrow frames are matched to the model's columns by name. For a pipeline, pass the
        raw table that it was fitted on: reasons are then given in its columns, units and categories.
    method : str, default "dtd"
        One of ``whyodd.explainers.EXPLAINERS``. Methods other than "dtd" are for comparison. If a method does
        not sum to the outlierness, ``unexplained`` is NaN and shares are parts of the sum of relevance.
    normal : array, CSR matrix or data frame of shape (N, d), or "training", optional
        Normal rows, like X, ideally ones that the model has not learned. They calibrate relevance: each
        variable's relevance is divided by its mean over these rows, and outlierness is the sum, 1 for a
        usual row and 3 for one three times as odd. The unexplained part is in the same units, and keeps its
        usual share of the outlierness. If a model mixes variables (a full covariance), all relevance is
        divided by the mean outlierness instead. The model's threshold refers to its own outlierness, so the
        explanation has none.

        Training rows among them are explained without themselves, whatever ``exclude_self`` says.
        "training" stands for all training rows, if the model keeps them. None gives the plain
        decomposition, as the paper defines it. Methods other than "dtd" compare with these rows, as with
        ``options={"normal": rows}``. For a function they define what is normal, and nothing is calibrated;
        models of PyOD that keep their training rows need none. A torch module is compared with the nearest
        of them.
    exclude_self : {"auto", True, False}, default "auto"
        A training row may be a center of the model, at distance 0, and would explain itself away. "auto"
        leaves that center out if X clearly holds the training rows. True always does, and also recognises
        rows by equal values. False never does.
    groups : dict of str to list of str, optional
        Columns to sum up: ``{"address": ["street", "city"]}``.
    options : dict, optional
        Keywords of the method. Every method but "dtd" takes ``normal``: normal rows, like X, to compare with
        (default: the centers of the model). For a function, ``budget`` is the number of rows it is called
        with, besides those to explain.
    random_state : int, optional
        Seed of the method's random numbers.
    progress : bool, default False
        Show a progress bar with the time left, on standard error.
    n_jobs : int, optional
        Threads; all cores if None.
    dtype : float32 or float64, optional
        Precision of the computation; that of X if None.
    names : sequence, optional
        Names of the rows, images, series or messages.
    time : str, optional
        For series in data frames: the column that holds the time.

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

    How many times as odd as usual that is, by other normal rows:

    >>> others = pd.DataFrame({"speed": [47.0, 49, 53], "load": [48.0, 49.5, 51]})
    >>> e = whyodd.explain(model, pd.DataFrame({"speed": [50.0], "load": [90.0]}), normal=others)
    >>> round(float(e.outlierness[0]))
    354

    A function of your own:

    >>> import numpy as np
    >>> def far(X):
    ...     return np.abs(X - 50.0).max(axis=1)
    >>> normal = 50.0 + np.random.default_rng(0).normal(size=(100, 2))
    >>> e = whyodd.explain(far, [[50.0, 90.0]], normal=normal, random_state=0)
    >>> e.exactness, bool(e.relevance[0, 1] > 0.9 * e.outlierness[0])
    ('distilled', True)
    """
    if find_entry({MODULE: True}, model):
        if normal is None:
            raise ValueError(
                "A torch module keeps no normal rows, expected normal=rows to compare its scores with. Pass "
                "some, for example its training rows."
            )
        model, normal = module_score(model, normal), None
    if explains_items(model):
        given = {"normal": normal, "groups": groups, "dtype": dtype, "time": time}
        asked = {name: value for name, value in given.items() if value is not None}
        _check_taken(model, asked)
        return model.explain(
            X,
            method=method,
            exclude_self=exclude_self,
            options=options,
            random_state=random_state,
            names=names,
            progress=progress,
            n_jobs=n_jobs,
            **asked,
        )
    if time is not None:
        raise ValueError("time is only for series, got a table. Leave it out.")
    chosen, settings = find_method(method), keywords(options)
    prepared = prepare(model, X, normal)
    of_function = is_function(prepared.network)
    budget = settings.pop("budget", None) if of_function else None
    chosen.check_options(method, settings)
    rows = prepared.rows(X)
    own = own_centers_of(rows, exclude_self)
    if of_function:
        rows = rows if dtype is None else rows.in_precision(dtype)
        explains = not chosen.compares_with_normal
        random = generator(random_state)
        rows = learned(rows, prepared, explains=explains, budget=budget, random=random, progress=progress)
    elif normal is not None:
        if chosen.compares_with_normal:
            settings = _with_normal(method, settings, normal)
        else:
            rows = over_usual(rows, prepared, normal, n_jobs)
    return explain_prepared(
        rows if dtype is None else rows.in_precision(dtype),
        own=own,
        method=method,
        groups=groups,
        options=settings,
        normal_of=prepared,
        random_state=random_state,
        progress=progress,
        n_jobs=n_jobs,
        ids=checked_ids(names, len(rows), TABLE),
    )


def explain_prepared(
    prepared: PreparedRows,
    *,
    own: Indices | None = None,
    method: str = "dtd",
    groups: Groups | None = None,
    options: Mapping[str, Any] | None = None,
    normal_of: PreparedModel | None = None,
    random_state: int | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
    rows: Indices | None = None,
    ids: tuple[Any, ...] | None = None,
) -> Explanation:
    """Explain prepared rows by any method; otherwise like :func:`explain`.

    Whoever scores a large table in blocks keeps what is worth it of each, ``rows.take(odd)``, and hands it on
    here, all as one (``PreparedRows.joined``): nothing is transformed twice.

    Parameters
    ----------
    prepared : PreparedRows
        Of ``PreparedModel.of(model).rows(X)``.
    own : ndarray of int of shape (n,), optional
        The center to leave out for each row, or -1.
    method, groups, options, random_state, progress, n_jobs
        As for :func:`explain`.
    normal_of : PreparedModel, optional
        The model, which makes of ``options["normal"]`` what reaches the network; without it they are that
        already.
    rows : ndarray of int of shape (n,), optional
        Where each row stood in what was given; by default they are all of it.
    ids : tuple, optional
        What people call the rows.
    """
    chosen, settings = find_method(method), keywords(options)
    chosen.check_options(method, settings)
    normal = settings.pop("normal", None)
    chosen.check_model(method, prepared.network, has_normal=normal is not None)
    with progress_bar(len(prepared), "Explaining rows") if progress else nullcontext(_unheard) as report:
        task = Task(
            prepared.network,
            prepared.inputs,
            own=own,
            through=prepared.through,
            given=normal if normal is None or normal_of is None else normal_of.normal(normal),
            random=generator(random_state),
            n_jobs=n_jobs,
            report=report,
        )
        parts = chosen.decompose(task, settings)
    e = explanation_of(prepared, parts, own=own, groups=groups, method=method, rows=rows, ids=ids)
    is_sampled = _misses(parts) > _SMALL_GAP
    return replace(
        e,
        exactness="sampled" if is_sampled else chosen.exactness_of(prepared.network),
        fidelity=_fidelity(prepared.network, parts) if method == "dtd" else None,
    )


def explanation_of(
    prepared: PreparedRows,
    parts: Decomposition,
    *,
    own: Indices | None = None,
    groups: Groups | None = None,
    method: str = "dtd",
    rows: Indices | None = None,
    ids: tuple[Any, ...] | None = None,
) -> Explanation:
    """Explanation of rows that were decomposed; parameters as of :func:`explain_prepared`."""
    relevance = prepared.in_variables(parts.relevance)
    variables, names = prepared.variables, prepared.variables.names
    if groups is not None:
        variables, names, place = with_groups(variables, groups)
        relevance = sum_columns(relevance, place, len(names))
        spoken = None  # several variables together need no words on the way in which they are odd
    else:
        spoken = loudest(parts.by_kind, prepared.in_variables)
    return Explanation(
        relevance=relevance,
        outlierness=parts.outlierness,
        unexplained=parts.unexplained,
        inlierness=np.exp(parts.log_inlierness),
        feature_names=names,
        data=variables.grouped(prepared.data),
        rows=np.arange(len(prepared)) if rows is None else rows,
        excluded=np.full(len(prepared), -1) if own is None else own,
        network=prepared.network,
        frame_kind=prepared.frame_kind,
        inputs=prepared.inputs,
        variables=variables,
        method=method,
        threshold=prepared.threshold,
        ids=ids,
        spoken=spoken,
        texts=None if prepared.texts is None else variables.grouped(prepared.texts),
        given=prepared.given,
    )


def explained_by(e: Explanation, method: str, *, random_state: int | None = None) -> Explanation:
    """Explain the rows of an explanation by another method; the model is not needed.

    Parameters
    ----------
    e : Explanation
        Its groups of variables, and the centers it left out, stay as they are.
    method : str
        One of ``whyodd.explainers.EXPLAINERS``, with its default options.
    random_state : int, optional
        Seed of the method's random numbers.
    """
    own = None if (e.excluded < 0).all() else e.excluded
    rows = PreparedRows.of_explanation(e)
    other = explain_prepared(rows, own=own, method=method, random_state=random_state)
    relevance = grouped_relevance(other.relevance, e.variables)
    kept = ("feature_names", "data", "rows", "excluded", "variables", "ids", "texts", "given")
    return replace(other, relevance=relevance, **{name: getattr(e, name) for name in kept})


def explains_items(model: object) -> bool:
    """Whether it is a model of images, series or messages, which explains them itself."""
    return hasattr(model, "explain") and not isinstance(model, type)


def _misses(parts: Decomposition) -> float:
    """Largest share of o that an integral missed."""
    return 0.0 if parts.gap is None else float(parts.gap.max(initial=0.0))


def _fidelity(network: Any, parts: Decomposition) -> Mapping[str, float] | None:
    """The member's own fidelity, or the gap of its integrals."""
    return getattr(network, "fidelity", None) if parts.gap is None else {"gap": _misses(parts)}


def _check_taken(model: Any, asked: Mapping[str, Any]) -> None:
    taken = inspect.signature(model.explain).parameters
    for name in asked:
        if name not in taken:
            raise ValueError(f"{name} does not work with a {type(model).__name__}. Leave it out.")


def _with_normal(method: str, options: dict[str, Any], normal: Any) -> dict[str, Any]:
    if "normal" in options:
        raise ValueError("normal is given twice, as a parameter and in options. Pass it once.")
    if isinstance(normal, str):
        message = (
            f"normal={normal!r}: method={method!r} expected rows, like X. Leave it out to compare "
            "with the model's centers."
        )
        raise ValueError(message)  # noqa: TRY004 - fine for another method
    return {**options, "normal": normal}


def own_centers_of(rows: PreparedRows, exclude_self: ExcludeSelf) -> Indices | None:
    """(n,) the center that each row is and that it leaves out, or -1; None if there are none.

    Warns of a column that dominates the distances.
    """
    # In a pipeline, people scale the columns themselves, and columns have other names. A learned metric
    # scales them itself.
    is_transformed = rows.origin is not None
    if not is_transformed and offers(rows.network, "distances") and rows.network.metric is None:
        warn_of_dominating_column(rows.network, rows.variables.names)
    if not offers(rows.network, "leave_out"):
        return None
    return own_centers(rows.network, rows.inputs, exclude_self, transformed=is_transformed)


def _unheard(done: int) -> None:
    """Report no progress."""
