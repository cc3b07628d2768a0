"""Requirements of a loaded model, each with its error sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def expect(what: str, is_right: bool) -> None:
    """Raise a ``ValueError`` that names what is wrong."""
    if not is_right:
        raise ValueError(f"{what} does not fit the rest of it")


def expect_shape(model: BaseEstimator, name: str, shape: tuple[int, ...]) -> None:
    """Raise a ``ValueError`` if an array of a model has another shape."""
    found = np.shape(getattr(model, name))
    if found != shape:
        raise ValueError(f"{name} of a {type(model).__name__} has the shape {found}, expected {shape}")


def expect_whole(model: BaseEstimator, name: str, least: int, most: int) -> None:
    """Raise a ``ValueError`` unless a number of a model is a whole one in a range."""
    value = getattr(model, name)
    expect(f"{name} of a {type(model).__name__}", is_whole(value) and least <= value <= most)


def columns_of(model: BaseEstimator) -> int:
    """Number of columns that a fitted model learned and expects; an error if it does not know."""
    expect_whole(model, "n_features_in_", 0, np.iinfo(np.int64).max)
    return int(model.n_features_in_)


def is_whole(value: Any) -> bool:
    """Whether a value is one whole number."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_places(values: Any, n: int) -> bool:
    """Whether all values of an array of whole numbers are valid places among n."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        return False
    return bool(np.all(values >= 0) and np.all(values < n))
