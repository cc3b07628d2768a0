"""Functions of one column each: monotone transformers, and functions declared to be one-to-one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from whyodd.adapters.tracing.errors import Untraceable
from whyodd.adapters.tracing.readings import Readings, dense, undo_unknown
from whyodd.adapters.tracing.scaling import varies_only_by_rounding

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.adapters.tracing.columns import Columns

    Floats = NDArray[np.float64]
    Inverse = Callable[[Floats], Any]

# Inverses of functions that people pass without one. Those that forget the sign (square, abs) have none.
_INVERSES: dict[Any, Inverse] = {
    np.log: np.exp,
    np.exp: np.log,
    np.log1p: np.expm1,
    np.expm1: np.log1p,
    np.log2: np.exp2,
    np.exp2: np.log2,
    np.log10: lambda values: 10.0**values,
    np.sqrt: np.square,
    np.cbrt: lambda values: values**3,
    np.arcsinh: np.sinh,
    np.sinh: np.arcsinh,
    np.tanh: np.arctanh,
    np.arctan: np.tan,
    np.negative: np.negative,
    np.reciprocal: np.reciprocal,
}


def trace_power_transformer(step: Any, columns: Columns) -> Columns:
    """``PowerTransformer``: a power of each column, standardised."""
    scaler = getattr(step, "_scaler", None)
    if scaler is not None:
        center = step.inverse_transform(np.zeros((1, columns.count)))[0]
        columns.note_constants(varies_only_by_rounding(scaler), center)
    return columns.one_to_one(_undo_by(step.inverse_transform))


def trace_quantile_transformer(step: Any, columns: Columns) -> Columns:
    """``QuantileTransformer``: the rank of each value among those of training."""
    lowest, highest = step.quantiles_[0], step.quantiles_[-1]
    columns.note_constants(lowest == highest, lowest)
    return columns.one_to_one(_undo_by(step.inverse_transform))


def trace_function_transformer(step: Any, columns: Columns) -> Columns:
    """``FunctionTransformer`` of a NumPy function, or with ``feature_names_out="one-to-one"``."""
    if step.func is None:
        return columns
    elementwise = isinstance(step.func, np.ufunc) and step.func.nin == 1
    if not elementwise and step.feature_names_out != "one-to-one":
        raise Untraceable(
            "its function may mix columns; if each output depends on one column only, set "
            "feature_names_out='one-to-one'"
        )
    inverse = _inverse_of(step)
    undo = _undo_by(inverse) if inverse is not None else undo_unknown(columns.count)
    return columns.one_to_one(undo, faithful=inverse is not None)


def trace_declared_one_to_one(step: Any, columns: Columns) -> Columns:
    """A transformer that declares one-to-one columns by ``sklearn.base.OneToOneFeatureMixin``."""
    inverse = getattr(step, "inverse_transform", None)
    undo = undo_unknown(columns.count) if inverse is None else _undo_by(inverse)
    return columns.one_to_one(undo, faithful=inverse is not None)


def _inverse_of(step: Any) -> Inverse | None:
    keywords = step.kw_args or {}
    if step.inverse_func is not None:
        given = step.inv_kw_args or {}
        return lambda values: step.inverse_func(values, **given)
    if keywords or not isinstance(step.func, np.ufunc):
        return None
    inverses = _INVERSES | {special.expit: special.logit, special.logit: special.expit}
    return inverses.get(step.func)


def _undo_by(inverse: Inverse) -> Callable[[Readings], Readings]:
    def undo(readings: Readings) -> Readings:
        numbers = readings.as_numbers()
        values = _tried(inverse, dense(numbers.numbers))
        if values is None:
            return undo_unknown(numbers.known.size)(readings)
        return readings.mapped(lambda _: values)

    return undo


def _tried(inverse: Inverse, values: Floats) -> Floats | None:
    """Inverse of the values, NaN where they have none; None if it does not take an array of numbers."""
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(inverse(values), dtype=np.float64)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError):
        return None  # people's own functions may be written for data frames
    if found.shape != values.shape:
        return None
    return np.where(np.isfinite(found), found, np.nan)
