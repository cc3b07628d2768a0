"""Feature flipping: how fast outlierness falls as variables are removed, the most relevant first."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.compute.flipping.removals import Removals, stages_of
from whyodd.evaluation.patch_flipping import flip_items, has_windows
from whyodd.evaluation.relevances import numbers, values_of
from whyodd.explainers.explaining import explains_items
from whyodd.explainers.method import Task
from whyodd.explainers.own_centers import own_centers
from whyodd.explainers.preparing import PreparedModel, PreparedRows
from whyodd.network.waist import offers
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.explainers.own_centers import ExcludeSelf
    from whyodd.explanations.table import Explanation

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]


def flip(
    model: Any,
    X: Any,
    relevance: Any,
    *,
    checkpoints: int | None = None,
    exclude_self: ExcludeSelf = "auto",
    single_values: bool = False,
    progress: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Outlierness o(Ψ) while differences Ψ_ij = x_i - u_ji are set to 0, the most relevant variables first.

    A good explanation lets it fall fast: :func:`area` sums that up.

    Parameters
    ----------
    model : DistanceNetwork, fitted model, Pipeline or PatchModel
        What :func:`whyodd.explain` takes, except a linear SVM, which measures no distances.
    X : array, CSR matrix or data frame of shape (n, d), or items
        The rows that were explained, or the images or series of a ``PatchModel``.
    relevance : array of shape (n, d), Explanation, or mapping of names to them
        Relevance of the variables that people know. All columns that a pipeline makes from a variable are
        removed at once, and so are the members of a group of an explanation. An array has them in the order
        of ``explain(model, X).feature_names``; the columns of a data frame are matched by name. For a
        ``PatchModel``: a PatchExplanation, or a list of arrays in the shape of the items, or with one number
        for each pixel.
    checkpoints : int, optional
        How often o is recorded after the first time; variables are removed in as many equal steps. By default
        after each variable, and 32 times for a ``PatchModel``.
    exclude_self : {"auto", True, False}, default "auto"
        Whether rows that are centers themselves leave their own center out, as in :func:`whyodd.explain`. For
        an explanation, "auto" repeats what was done there.
    single_values : bool, default False
        For a ``PatchModel``: remove each channel of a pixel by itself, instead of all channels with the
        pixel.
    progress : bool, default False
        Show a progress bar with the time left, on standard error.
    n_jobs : int, optional
        Threads; all cores if None.

    Returns
    -------
    ndarray of shape (n, d + 1) or (n, checkpoints + 1), or dict of str to ndarray
        Column 0 is o(x), the last is o at distance 0 from all centers. A dict if ``relevance`` is a mapping.

    Notes
    -----
    Appendix "Pixel flipping procedure" of Kauffmann, Müller and Montavon. Equally relevant variables are
    removed in their order. Before a linear map (PCA), the differences are the shortest ones that lead to
    those of the model; what no variable can lead to is removed last.

    A pixel is removed from all windows of a ``PatchModel`` that hold it, and from padding that copies it;
    padding that copies no pixel is removed last. If windows see the mean of a block of pixels (``scale`` >
    1), the part of the difference that stays is the part of the pixels that are left.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> from whyodd.evaluation.flipping import area, flip
    >>> network = whyodd.DistanceNetwork(np.zeros((1, 3)))
    >>> curves = flip(network, [[1.0, 2.0, 0.0]], [[0.5, 2.0, 0.0]])
    >>> curves, area(curves)
    (array([[2.5, 0.5, 0. , 0. ]]), array([0.23333333]))
    """
    if explains_items(model) and not has_windows(model):
        raise UnsupportedModelError(
            f"flip() expected a model of tables, images or series, got {type(model).__name__}. Pass "
            "one of these."
        )
    methods = dict(relevance) if isinstance(relevance, Mapping) else {"": relevance}
    if not methods:
        raise ValueError("relevance is an empty mapping: expected at least one method.")
    _check_checkpoints(checkpoints)
    if has_windows(model):
        curves = flip_items(
            model,
            X,
            methods,
            checkpoints=checkpoints,
            exclude_self=exclude_self,
            single_values=single_values,
            progress=progress,
            n_jobs=n_jobs,
        )
    else:
        if single_values:
            raise ValueError(
                "single_values is only for a PatchModel: a table's variables are single already. Leave "
                "it out."
            )
        curves = _flip_rows(model, X, methods, checkpoints, exclude_self, progress, n_jobs)
    return curves if isinstance(relevance, Mapping) else curves[""]


def area(curves: Any) -> Wide:
    """Area under flipping curves (..., s + 1), over their first value and with an axis from 0 to 1: (...).

    1 for a curve that stays as it is, 0.5 for one that falls evenly to 0; lower is better. Where o(x) is 0
    nothing is odd and nothing can fall: the area is 0.

    Examples
    --------
    >>> from whyodd.evaluation.flipping import area
    >>> area([[4.0, 4.0, 4.0], [4.0, 2.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    array([1.  , 0.5 , 0.25, 0.  ])
    """
    if isinstance(curves, Mapping):
        raise TypeError("curves is a dictionary: pass the curves of one method, area(curves['dtd']).")
    values = numbers(curves, "curves").astype(np.float64)
    if values.ndim == 0 or values.shape[-1] < 2:
        raise ValueError(
            f"curves has shape {values.shape}, expected (..., s + 1): o before and after at least one step."
        )
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError(
            "Expected curves of outlierness, finite numbers of at least 0. Pass what flip() returned."
        )
    first = values[..., 0]
    falls = np.divide(values, first[..., None], out=np.zeros_like(values), where=first[..., None] > 0.0)
    return np.asarray(np.trapezoid(falls, dx=1.0 / (values.shape[-1] - 1), axis=-1))


def _flip_rows(
    model: Any,
    X: Any,
    methods: Mapping[str, Any],
    checkpoints: int | None,
    exclude_self: ExcludeSelf,
    progress: bool,
    n_jobs: int | None,
) -> dict[str, Wide]:
    rows = PreparedModel.of(model).rows(X)
    return _flip_prepared(rows, methods, checkpoints, exclude_self, progress, n_jobs)


def flip_explanation(
    e: Explanation, relevances: Mapping[str, Any], *, checkpoints: int | None = None
) -> dict[str, Wide]:
    """Flipping curves of an explanation's rows; the model is not needed.

    Parameters
    ----------
    e : Explanation
    relevances : mapping of str to Explanation or array of shape (n, d)
        Explanations of the same rows in the same variables, such as those of
        :func:`whyodd.explainers.explaining.explained_by`.
    checkpoints : int, optional
        As for :func:`flip`.

    Returns
    -------
    dict of str to ndarray of shape (n, d + 1) or (n, checkpoints + 1)
    """
    _check_checkpoints(checkpoints)
    same = {
        name: replace(e, relevance=getattr(given, "relevance", given)) for name, given in relevances.items()
    }
    rows = PreparedRows.of_explanation(e)
    return _flip_prepared(rows, same, checkpoints, "auto", progress=False, n_jobs=None)


def _flip_prepared(
    rows: PreparedRows,
    methods: Mapping[str, Any],
    checkpoints: int | None,
    exclude_self: ExcludeSelf,
    progress: bool,
    n_jobs: int | None,
) -> dict[str, Wide]:
    if not offers(rows.network, "flip"):
        raise UnsupportedModelError(
            f"A {type(rows.network).__name__} measures no distances that flipping could set to 0. Use a "
            "model with a kernel."
        )
    task = Task(rows.network, rows.inputs)
    if rows.through is not None:
        task = Task(rows.network, rows.inputs, through=rows.through).in_variables()
    n, curves = task.X.shape[0], {}
    with progress_bar(n * len(methods), "Flipping rows") if progress else nullcontext() as told:
        for position, (name, relevance) in enumerate(methods.items()):
            stages, steps = _stages(relevance, rows, checkpoints, task.X.shape[1])
            own = _own(relevance, rows, exclude_self)
            curves[name] = task.network.flip(
                task.X,
                Removals.of(stages, steps),
                own,
                n_jobs=n_jobs,
                progress=_after(told, position * n),
            )
    return curves


def _stages(relevance: Any, rows: PreparedRows, checkpoints: int | None, n_columns: int) -> tuple[Any, int]:
    """(n, columns) the step in which each column of the network goes, and how many steps there are."""
    entries = _entries(relevance, rows)
    n_entries = len(set(entries.tolist()))
    values = _checked_relevance(relevance, rows, n_entries)
    steps = n_entries if checkpoints is None else int(checkpoints)
    by_entry = stages_of(values, steps)
    columns = by_entry[:, entries if rows.origin is None else entries[rows.origin]]
    # Columns that no variable produces stand last, and are removed last.
    beyond = np.full((len(columns), n_columns - columns.shape[1]), steps, dtype=np.int32)
    return np.hstack([columns, beyond]), steps


def _entries(relevance: Any, rows: PreparedRows) -> Indices:
    """The entry of ``relevance`` that each variable belongs to: its own, or that of its group."""
    count = len(rows.variables.names)
    variables = getattr(relevance, "variables", None)
    groups = None if variables is None else variables.groups
    entries = np.arange(count)
    for place, members in enumerate(groups or ()):
        entries[list(members)] = place
    return entries


def _checked_relevance(relevance: Any, rows: PreparedRows, count: int) -> Wide:
    n = rows.inputs.shape[0]
    is_array = isinstance(relevance, (list, tuple, np.ndarray))
    given = relevance if is_array else values_of(relevance, "relevance", rows.variables.names)
    values = numbers(given, "relevance").astype(np.float64)
    if values.shape != (n, count):
        raise ValueError(
            f"relevance has shape {values.shape}, expected ({n}, {count}): a number for each row of X and "
            "each variable. Pass the rows that were explained, and the relevance of all variables."
        )
    if np.isnan(values).any():
        raise ValueError("relevance has NaN in it, expected numbers to sort variables by.")
    if _is_explanation(relevance):
        _check_same_rows(relevance, rows)
    return values


def _check_same_rows(explanation: Explanation, rows: PreparedRows) -> None:
    """Refuse relevance whose rows differ from those explained: its curves would only look valid."""
    one, two = explanation.data, rows.data
    if any(sparse.issparse(data) or data.dtype.kind not in "iuf" for data in (one, two)):
        return  # comparing them would take more effort than it is worth
    # For an explanation in float32, the rows are in float32, too.
    if not np.allclose(one, two, rtol=1e-6, atol=0.0, equal_nan=True):
        raise ValueError(
            "relevance belongs to other rows than X, or to the same rows in another order. Pass the rows "
            "that were explained: X[e.rows] for a part of them."
        )


def _is_explanation(relevance: Any) -> bool:
    """Whether relevance comes with the rows it explains."""
    return hasattr(relevance, "excluded")


def _own(relevance: Any, rows: PreparedRows, exclude_self: ExcludeSelf) -> Indices | None:
    if _is_explanation(relevance) and exclude_self == "auto":
        return relevance.excluded  # type: ignore[no-any-return]
    is_transformed = rows.origin is not None
    return own_centers(rows.network, rows.inputs, exclude_self, transformed=is_transformed)


def _after(told: Callable[[int], None] | None, before: int) -> Callable[[int], None] | None:
    """A report of the total progress, from a report of the progress after a start."""
    return None if told is None else lambda done: told(before + done)


def _check_checkpoints(checkpoints: Any) -> None:
    is_count = isinstance(checkpoints, Integral) and not isinstance(checkpoints, bool)
    if checkpoints is not None and not (is_count and checkpoints >= 1):
        raise ValueError(f"checkpoints={checkpoints!r}: expected a whole number of at least 1, or None.")
