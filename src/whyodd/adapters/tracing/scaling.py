"""Scalers: each column shifted and scaled, x = z · scale + center."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.readings import dense, scale_columns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from whyodd.adapters.tracing.columns import Columns
    from whyodd.adapters.tracing.readings import Readings

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]


def trace_standard_scaler(step: Any, columns: Columns) -> Columns:
    """``StandardScaler``: center is the mean, scale the standard deviation."""
    if step.var_ is not None:
        columns.note_constants(varies_only_by_rounding(step), step.mean_)
    return rescale(columns, step.scale_, step.mean_ if step.with_mean else None)


def trace_robust_scaler(step: Any, columns: Columns) -> Columns:
    """``RobustScaler``: center is the median, scale the range between quantiles."""
    return rescale(columns, step.scale_, step.center_)


def trace_min_max_scaler(step: Any, columns: Columns) -> Columns:
    """``MinMaxScaler``: z = x · scale_ + min_."""
    columns.note_constants(step.data_range_ == 0, step.data_min_)
    return rescale(columns, 1.0 / step.scale_, -step.min_ / step.scale_, clips=step.clip)


def trace_max_abs_scaler(step: Any, columns: Columns) -> Columns:
    """``MaxAbsScaler``: scale is the largest absolute value."""
    columns.note_constants(step.max_abs_ == 0, np.zeros(columns.count))
    return rescale(columns, step.scale_, None, clips=getattr(step, "clip", False))


def rescale(
    columns: Columns, scale: ArrayLike | None, center: ArrayLike | None, *, clips: bool = False
) -> Columns:
    """Columns z = (x - center) / scale; a scaler that clips is not linear."""
    factors = np.ones(columns.count) if scale is None else np.asarray(scale, dtype=np.float64)

    def undo(readings: Readings) -> Readings:
        return readings.mapped(lambda numbers: _unscaled(numbers, factors, center))

    if clips:
        return columns.one_to_one(undo)
    return columns.scaled(1.0 / factors, undo, shift=center is not None)


def weigh(columns: Columns, weight: float) -> Columns:
    """Columns z = weight · x, as ``transformer_weights`` has it; a weight of 0 leaves nothing to read."""

    def undo(readings: Readings) -> Readings:
        if weight == 0:
            return readings.unknown(readings.n_rows, columns.count)
        return readings.mapped(lambda numbers: numbers / weight)

    return columns.scaled(np.full(columns.count, float(weight)), undo, shift=False)


def _unscaled(numbers: Any, scale: Floats, center: ArrayLike | None) -> Any:
    if center is None:
        return scale_columns(numbers, scale)
    return dense(numbers) * scale + np.asarray(center, dtype=np.float64)


def varies_only_by_rounding(step: Any) -> Bools:
    """Columns whose variance is 0 up to the rounding of its two passes, as the scaler itself decides."""
    eps = np.finfo(np.float64).eps
    n = step.n_samples_seen_
    bound = n * eps * step.var_ + (n * step.mean_ * eps) ** 2
    return np.asarray(step.var_ <= bound)
