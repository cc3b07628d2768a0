"""Steps before a model as formulas: scalers and principal components, as scikit-learn computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Value = Any  # values.Value, whose arithmetic NumPy's types do not know
    Write = Callable[[Any, Value], Value]


def _standard_scaler(step: Any, x: Value) -> Value:
    return _rescaled(x, step.mean_ if step.with_mean else None, step.scale_)


def _robust_scaler(step: Any, x: Value) -> Value:
    return _rescaled(x, step.center_, step.scale_)


def _min_max_scaler(step: Any, x: Value) -> Value:
    scaled = x * step.scale_ + step.min_
    return _clipped(scaled, *step.feature_range) if step.clip else scaled


def _max_abs_scaler(step: Any, x: Value) -> Value:
    scaled = x / step.scale_
    return _clipped(scaled, -1.0, 1.0) if getattr(step, "clip", False) else scaled


def _pca(step: Any, x: Value) -> Value:
    matrix = step.components_.T
    if step.whiten:
        spread = np.sqrt(step.explained_variance_)
        matrix = matrix / np.maximum(spread, np.finfo(spread.dtype).eps)
    return (x - step.mean_) @ matrix


def _rescaled(x: Value, center: Any, scale: Any) -> Value:
    moved = x if center is None else x - center
    return moved if scale is None else moved / scale


def _clipped(x: Value, least: float, most: float) -> Value:
    return np.minimum(np.maximum(x, least), most)


# Keyed by class path, and found through the ancestors of a step, like ``whyodd.adapters.tracing.TRACERS``.
STEPS: dict[str, Write] = {
    "sklearn.decomposition._base._BasePCA": _pca,
    "sklearn.preprocessing._data.MaxAbsScaler": _max_abs_scaler,
    "sklearn.preprocessing._data.MinMaxScaler": _min_max_scaler,
    "sklearn.preprocessing._data.RobustScaler": _robust_scaler,
    "sklearn.preprocessing._data.StandardScaler": _standard_scaler,
}
