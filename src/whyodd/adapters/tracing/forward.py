"""Rows through the steps before the model, with errors that name the column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.raw_frame import listed, raw_values
from whyodd.explanations.sentences import is_missing, is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whyodd.adapters.tracing.raw_variables import Closed
    from whyodd.adapters.tracing.traced import Trace


# Messages of scikit-learn's encoders; the column number in them is the encoder's, not the table's.
_UNSEEN = re.compile(r"unknown categories \[(.*)\] in column", re.DOTALL)
_NAMED = re.compile(r"Column ")
_NO_NUMBER = re.compile(r"could not convert string to float: (.*)", re.DOTALL)
_INFINITE = re.compile(r"contains infinity")
_MISSING = re.compile(r"contains NaN")


def transform(transformers: Sequence[tuple[str, Any]], X: Any, traced: Trace) -> Any:
    """``X`` as the model sees it, after the fitted steps before it.

    Parameters
    ----------
    transformers : sequence of (name, transformer)
        The steps that were traced.
    X : array or data frame of shape (n, d)
        With the columns named in :func:`~whyodd.adapters.tracing.trace`, in that order.
    traced : Trace
        Knows which columns take no new categories.
    """
    Z = X
    for name, step in transformers:
        try:
            Z = Z if step is None or isinstance(step, str) else step.transform(Z)
        except (ValueError, TypeError) as error:
            if _NAMED.match(str(error)):
                raise
            refused = f"Step {name!r} ({type(step).__name__}) cannot transform X"
            raise ValueError(_what_is_wrong(str(error), X, traced) or _in_short(refused, error)) from error
    return Z


def _what_is_wrong(said: str, X: Any, traced: Trace) -> str | None:
    """Sentence on the first value of ``X`` that a step refused with this message; None if not found."""
    if unseen := _UNSEEN.search(said):
        return _find_unseen(X, traced, unseen.group(1))
    if no_number := _NO_NUMBER.search(said):
        return _find_value(
            X,
            lambda value: isinstance(value, str) and repr(value) == no_number.group(1),
            "expected a number, as in training. Convert it, or leave such rows out.",
        )
    if _INFINITE.search(said):
        remedy = "expected finite numbers. Replace it by a missing value, or leave such rows out."
        return _find_value(X, lambda value: is_number(value) and bool(np.isinf(value)), remedy)
    if _MISSING.search(said):
        remedy = (
            "which a step does not accept. Leave such rows out, or fit again with an imputer before "
            "that step."
        )
        return _find_value(X, is_missing, remedy)
    return None


def _in_short(refused: str, error: Exception) -> str:
    reason = re.split(r"\n|\. ", str(error).strip())[0].rstrip(".:")
    return f"{refused}: {reason}. Pass columns that hold the same kinds of values as in fit."


def _find_value(X: Any, is_wrong: Callable[[Any], bool], expected: str) -> str | None:
    """Sentence on the first wrong value; None if several columns could be meant."""
    names, values = raw_values(X)
    if not isinstance(values, np.ndarray):  # sparse
        return None
    wrong = np.frompyfunc(lambda value: bool(is_wrong(value)), 1, 1)(values).astype(bool)
    columns = np.flatnonzero(wrong.any(axis=0))
    if columns.size != 1:  # another step may accept such values in one of them
        return None
    row = int(np.argmax(wrong[:, columns[0]]))
    return f"Column {names[columns[0]]!r} has {_shown(values[row, columns[0]])} in row {row}, {expected}"


def _find_unseen(X: Any, traced: Trace, refused: str) -> str | None:
    """Sentence on the first value of ``X`` that an encoder refused."""
    names, values = raw_values(X)
    for closed in traced.closed:
        column = values[:, closed.variable] if 0 <= closed.variable < values.shape[1] else []
        for row, value in enumerate(column):
            if _is_new(value, closed) and _is_among(value, refused):
                return _sentence(names[closed.variable], row, value, closed)
    return None


def _is_new(value: Any, closed: Closed) -> bool:
    return (None if is_missing(value) else value) not in closed.values


def _is_among(value: Any, values: str) -> bool:
    """Whether a list of values, as an error message shows it, contains this value."""
    if is_missing(value):
        return any(word in values for word in ("nan", "None", "NA", "NaT"))
    return _shown(value) in values


def _shown(value: Any) -> str:
    if is_number(value):
        return f"{value:.15g}"
    return "a missing value" if is_missing(value) else repr(value)


def _sentence(name: str, row: int, value: Any, closed: Closed) -> str:
    return (
        f"Column {name!r} has {_shown(value)} in row {row}, a category not seen in training: expected one "
        f"of {listed(closed.values)}. Leave such rows out, or fit again with {closed.remedy}."
    )
