"""The columns of X: those the model was fitted on, in its order, under their names."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.inputs.frames import as_frame
from whyodd.inputs.matrices import as_matrix
from whyodd.network.waist import once_per_member

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.inputs.matrices import Matrix

_DOMINATING_RATIO = 1e3
_NAMES_IN_A_MESSAGE = 10


def read_columns(
    X: object, n_features: int | None, fitted_names: Sequence[str] | None
) -> tuple[Matrix, tuple[str, ...]]:
    """Read the values of ``X`` in the order of the fit, and the names of their columns.

    Parameters
    ----------
    X : array, CSR matrix or data frame of shape (n, d)
    n_features : int or None
        Number of columns the model was fitted on, if it knows.
    fitted_names : sequence of str or None
        The model's ``feature_names_in_``, if it has them: columns of a frame are matched by name.
    """
    frame = as_frame(X)
    if frame is not None and fitted_names is not None:
        _check_names(frame.columns, fitted_names)
        X = frame.select(list(fitted_names)).to_native()
    matrix = as_matrix(X)
    count = matrix.values.shape[1]
    if n_features is not None and count != n_features:
        raise ValueError(_wrong_number(count, n_features, fitted_names))
    names = matrix.names or fitted_names or [f"x{i}" for i in range(count)]
    return matrix, tuple(map(str, names))


def warn_of_dominating_column(network: Any, names: Sequence[str]) -> None:
    """Warn when one column varies so much more than another that it alone decides the distances."""
    spread = _spreads(network)
    varying = np.flatnonzero(spread > 0)
    if varying.size < 2:
        return
    largest, smallest = varying[np.argmax(spread[varying])], varying[np.argmin(spread[varying])]
    with np.errstate(over="ignore"):
        ratio = np.square(spread[largest] / spread[smallest])
    if ratio > _DOMINATING_RATIO:
        warnings.warn(
            f"The variance of {names[largest]!r} is {ratio:.0e} times that of {names[smallest]!r}: "
            "it will dominate the distances and the explanation. "
            "Scale the columns before fitting, e.g. with StandardScaler.",
            UserWarning,
            stacklevel=4,  # the line that called explain()
        )


def _check_names(given: Sequence[str], fitted: Sequence[str]) -> None:
    missing = [name for name in fitted if name not in set(given)]
    extra = [name for name in given if name not in set(fitted)]
    if not missing and not extra:
        return
    kinds = {"missing": missing, "unknown": extra}
    found = [f"{kind} {_listed(names)}" for kind, names in kinds.items() if names]
    raise ValueError(
        f"X has {len(given)} columns, the model was fitted on {len(fitted)}: {'; '.join(found)}. "
        "Pass the columns used in fit."
    )


def _wrong_number(given: int, fitted: int, fitted_names: Sequence[str] | None) -> str:
    names = "" if fitted_names is None else f": {_listed(fitted_names)}"
    return f"X has {given} columns, the model was fitted on {fitted}. Pass the columns used in fit{names}."


def _listed(names: Iterable[str]) -> str:
    quoted = [repr(str(name)) for name in names]
    shown = ", ".join(quoted[:_NAMES_IN_A_MESSAGE])
    more = len(quoted) - _NAMES_IN_A_MESSAGE
    return f"{shown} and {more} more" if more > 0 else shown


@once_per_member
def _spreads(network: Any) -> NDArray[np.float64]:
    """(d,) standard deviations over the centers, exactly 0 for columns constant to within rounding."""
    centers = network.centers
    rounding = 64 * np.finfo(np.float64).eps
    # In units of each column's largest value: squares of very large or small numbers leave the range.
    unit = _largest(centers)
    if sparse.issparse(centers):
        scaled = centers.multiply(1.0 / unit).tocsr()
        square = np.asarray(scaled.multiply(scaled).mean(axis=0)).ravel()
        variance = square - np.asarray(scaled.mean(axis=0)).ravel() ** 2
        floor = rounding * square
    else:
        variance = (centers / unit).var(axis=0)
        floor = np.full(unit.shape, rounding**2)
    return np.where(variance > floor, unit * np.sqrt(np.maximum(variance, 0.0)), 0.0)


def _largest(centers: Points) -> NDArray[np.float64]:
    """(d,) largest absolute value of each column, 1 where all are 0."""
    sizes = abs(centers).max(axis=0)
    sizes = np.ravel(sizes.toarray() if sparse.issparse(sizes) else sizes).astype(np.float64)
    return np.where(sizes > 0, sizes, 1.0)
