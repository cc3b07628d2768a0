"""Feature flipping: how fast outlierness falls when variables are taken away, the most relevant first."""

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
from whyodd.evaluation.network_flipping import NetworkFlipping
from whyodd.evaluation.patch_flipping import flip_items
from whyodd.evaluation.relevances import numbers, values_of
from whyodd.explainers.method import Task
from whyodd.explainers.own_centers import own_centers
from whyodd.explainers.reading import read, reading_of
from whyodd.explanations.table import Explanation
from whyodd.network.distance_network import DistanceNetwork
from whyodd.patches import PatchModel
from whyodd.progress import progress_bar
from whyodd.texts import TextModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.explainers.own_centers import ExcludeSelf
    from whyodd.explainers.reading import Reading

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
        What :func:`whyodd.explain` takes; no linear SVM, which measures no distances.
    X : array, CSR matrix or data frame of shape (n, d), or items
        The rows that were explained, or the images or series of a ``PatchModel``.
    relevance : array of shape (n, d), Explanation, or mapping of names to them
        Relevance of the variables that people know. All columns that a variable has become in a pipeline go
        at once, and so do the members of a group of an explanation. An array has them in the order of
        ``explain(model, X).feature_names``; the columns of a data frame are matched by name. For a
        ``PatchModel``: a PatchExplanation, or a list of arrays in the shape of the items, or with one number
        for each pixel.
    checkpoints : int, optional
        How often o is recorded after the first time; variables go in as many equal steps. By default after
        each variable, and 32 times for a ``PatchModel``.
    exclude_self : {"auto", True, False}, default "auto"
        Whether rows that are centers themselves leave that one out, as in :func:`whyodd.explain`. "auto" does
        with an explanation what was done there.
    single_values : bool, default False
        For a ``PatchModel``: take away each channel of a pixel for itself, not all of them with the pixel.
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
    Appendix "Pixel flipping procedure" of Kauffmann, Müller and Montavon. Equally relevant variables go in
    their order. Before a linear map (PCA) the differences are the shortest ones that make those of the model;
    what no variable can make goes last.

    In the windows of a ``PatchModel`` a pixel goes from all that hold it, and from padding that copies it;
    padding that copies none goes last. Of the mean of a block of pixels (``scale`` > 1) as much of the
    difference stays as pixels are left.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> from whyodd.evaluation.flipping import area, flip
    >>> network = whyodd.DistanceNetwork(np.zeros((1, 3)))
    >>> curves = flip(network, [[1.0, 2.0, 0.0]], [[0.5, 2.0, 0.0]])
    >>> curves, area(curves)
    (array([[2.5, 0.5, 0. , 0. ]]), array([0.23333333]))
    """
    if isinstance(model, TextModel):
        raise UnsupportedModelError("flip() is for tables, images and series, but a TextModel came.")
    methods = dict(relevance) if isinstance(relevance, Mapping) else {"": relevance}
    if not methods:
        raise ValueError("relevance is an empty mapping: expected at least one method.")
    _check_checkpoints(checkpoints)
    if isinstance(model, PatchModel):
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
            raise ValueError("single_values is for a PatchModel: variables of a table are single already.")
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
        raise ValueError("curves must be outlierness: finite numbers of at least 0.")
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
    return _flip_reading(read(model, X), methods, checkpoints, exclude_self, progress, n_jobs)


def flip_explanation(
    e: Explanation, relevances: Mapping[str, Any], *, checkpoints: int | None = None
) -> dict[str, Wide]:
    """Flipping curves of the rows of an explanation, without need of the model.

    Parameters
    ----------
    e : Explanation
    relevances : mapping of str to Explanation or array of shape (n, d)
        Explanations of the same rows in the same variables, such as those of :func:`whyodd.explainers.again`.
    checkpoints : int, optional
        As for :func:`flip`.

    Returns
    -------
    dict of str to ndarray of shape (n, d + 1) or (n, checkpoints + 1)
    """
    _check_checkpoints(checkpoints)
    same = {name: replace(e, relevance=_relevance_of(given)) for name, given in relevances.items()}
    return _flip_reading(reading_of(e), same, checkpoints, "auto", progress=False, n_jobs=None)


def _relevance_of(given: Any) -> Any:
    return given.relevance if isinstance(given, Explanation) else given


def _flip_reading(
    reading: Reading,
    methods: Mapping[str, Any],
    checkpoints: int | None,
    exclude_self: ExcludeSelf,
    progress: bool,
    n_jobs: int | None,
) -> dict[str, Wide]:
    if not isinstance(reading.network, DistanceNetwork):
        raise UnsupportedModelError(
            "A linear one-class SVM measures no distances that could be set to 0. "
            "Flip the variables of a model with a kernel."
        )
    task = Task(reading.network, reading.inputs)
    if reading.through is not None:
        task = Task(reading.network, reading.inputs, through=reading.through).in_variables()
    flipping = NetworkFlipping(task.network)
    n, curves = task.X.shape[0], {}
    with progress_bar(n * len(methods), "Flipping rows") if progress else nullcontext() as told:
        for position, (name, relevance) in enumerate(methods.items()):
            stages, steps = _stages(relevance, reading, checkpoints, task.network.n_features)
            own = _own(relevance, reading, exclude_self)
            curves[name] = flipping.curves(
                task.X,
                Removals.of(stages, steps),
                own,
                n_jobs=n_jobs,
                progress=_after(told, position * n),
            )
    return curves


def _stages(relevance: Any, reading: Reading, checkpoints: int | None, n_columns: int) -> tuple[Any, int]:
    """(n, columns) the step in which each column of the network goes, and how many steps there are."""
    entries = _entries(relevance, reading)
    n_entries = len(set(entries.tolist()))
    values = _checked_relevance(relevance, reading, n_entries)
    steps = n_entries if checkpoints is None else int(checkpoints)
    by_entry = stages_of(values, steps)
    columns = by_entry[:, entries if reading.origin is None else entries[reading.origin]]
    # What no variable can make stands last, and goes last.
    beyond = np.full((len(columns), n_columns - columns.shape[1]), steps, dtype=np.int32)
    return np.hstack([columns, beyond]), steps


def _entries(relevance: Any, reading: Reading) -> Indices:
    """The entry of ``relevance`` that each variable belongs to: its own, or that of its group."""
    count = len(reading.variables.names)
    is_grouped = isinstance(relevance, Explanation) and relevance.variables is not None
    groups = relevance.variables.groups if is_grouped else None
    entries = np.arange(count)
    for place, members in enumerate(groups or ()):
        entries[list(members)] = place
    return entries


def _checked_relevance(relevance: Any, reading: Reading, count: int) -> Wide:
    n = reading.inputs.shape[0]
    is_array = isinstance(relevance, (list, tuple, np.ndarray))
    given = relevance if is_array else values_of(relevance, "relevance", reading.variables.names)
    values = numbers(given, "relevance").astype(np.float64)
    if values.shape != (n, count):
        raise ValueError(
            f"relevance has shape {values.shape}, expected ({n}, {count}): a number for each row of X and "
            "each variable. Pass the rows that were explained, and the relevance of all variables."
        )
    if np.isnan(values).any():
        raise ValueError("relevance has NaN in it, expected numbers to sort variables by.")
    if isinstance(relevance, Explanation):
        _check_same_rows(relevance, reading)
    return values


def _check_same_rows(explanation: Explanation, reading: Reading) -> None:
    """Variables of a row in the order of another row's would be nonsense that looks like a result."""
    one, two = explanation.data, reading.data
    if any(sparse.issparse(data) or data.dtype.kind not in "iuf" for data in (one, two)):
        return  # told apart with more effort than it is worth
    # Of an explanation in float32 the rows are, too.
    if not np.allclose(one, two, rtol=1e-6, atol=0.0, equal_nan=True):
        raise ValueError(
            "relevance explains other rows than X, or the same in another order. Pass the rows that were "
            "explained: X[e.rows] for a part of them."
        )


def _own(relevance: Any, reading: Reading, exclude_self: ExcludeSelf) -> Indices | None:
    if isinstance(relevance, Explanation) and exclude_self == "auto":
        return relevance.excluded
    is_transformed = reading.origin is not None
    return own_centers(reading.network, reading.inputs, exclude_self, transformed=is_transformed)


def _after(told: Callable[[int], None] | None, before: int) -> Callable[[int], None] | None:
    """Report of what is done in all, by what is done after a start."""
    return None if told is None else lambda done: told(before + done)


def _check_checkpoints(checkpoints: Any) -> None:
    is_count = isinstance(checkpoints, Integral) and not isinstance(checkpoints, bool)
    if checkpoints is not None and not (is_count and checkpoints >= 1):
        raise ValueError(f"checkpoints={checkpoints!r}: expected a whole number of at least 1, or None.")
