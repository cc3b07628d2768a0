"""Rows through the steps before the model, with errors that name the column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whyodd.adapters.tracing.raw_frame import listed, raw_values
from whyodd.words import is_missing, is_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.adapters.tracing.raw_variables import Closed
    from whyodd.adapters.tracing.traced import Trace


# What scikit-learn's encoders say; the column in it is that of the encoder, not that of the table.
_UNSEEN = re.compile(r"unknown categories \[(.*)\] in column", re.DOTALL)


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
    try:
        for _, step in transformers:
            Z = Z if step is None or isinstance(step, str) else step.transform(Z)
    except ValueError as error:
        unseen = _UNSEEN.search(str(error))
        sentence = _find_unseen(X, traced, unseen.group(1)) if unseen else None
        if sentence is None:
            raise
        raise ValueError(sentence) from error
    return Z


def _find_unseen(X: Any, traced: Trace, refused: str) -> str | None:
    """Sentence on the first value of ``X`` that is among those that an encoder has refused."""
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
    """Whether a list of values, as an error shows it, has this one in it."""
    if is_missing(value):
        return any(word in values for word in ("nan", "None", "NA", "NaT"))
    return _shown(value) in values


def _shown(value: Any) -> str:
    if is_number(value):
        return f"{value:.15g}"
    return "a missing value" if is_missing(value) else repr(value)


def _sentence(name: str, row: int, value: Any, closed: Closed) -> str:
    return (
        f"Column {name!r} has {_shown(value)} in row {row}, a category that was not there in training: "
        f"expected one of {listed(closed.values)}. Leave such rows out, or fit again with {closed.remedy}."
    )
