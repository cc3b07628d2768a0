"""Members that a file stores as constructor arguments, so that loading checks them again."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.inputs.matrices import as_matrix


class Rebuilt:
    """Base of frozen dataclasses that are restored from a file through their constructor.

    So nothing that was computed is stored, what was tampered with is refused where it is read, and a field
    that an older file does not have gets its default.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def _freeze(self, name: str, *shape: int | None, low: float = -np.inf) -> np.ndarray[Any, Any]:
        """Make a field a read-only copy in float64, or say what is wrong with it; None: any length."""
        array = np.array(getattr(self, name), dtype=np.float64)
        fits = array.ndim == len(shape) and all(
            wanted in (None, there) for wanted, there in zip(shape, array.shape, strict=True)
        )
        if not fits or array.size == 0 or not np.isfinite(array).all() or array.min() < low:
            wanted_shape = ", ".join("any" if n is None else str(n) for n in shape) + "," * (len(shape) == 1)
            least = "" if low == -np.inf else f" of at least {low:g}"
            is_shape = not fits or array.size == 0
            raise ValueError(
                f"Expected {type(self).__name__}.{name} as finite numbers{least} of shape ({wanted_shape}), "
                f"got {f'shape {array.shape}' if is_shape else f'values down to {array.min():g}'}."
            )
        array.flags.writeable = False
        object.__setattr__(self, name, array)
        return array


def rows_in_doubles(X: Any, n_features: int) -> tuple[np.ndarray[Any, Any], np.dtype[Any]]:
    """Rows (n, d) as an array in float64, and their original precision."""
    values = as_matrix(X).values
    if values.shape[1] != n_features:
        raise ValueError(
            f"X has {values.shape[1]} column(s), the model was fitted on {n_features}. "
            "Pass the columns used in fit."
        )
    return np.asarray(to_dense(values), dtype=np.float64), values.dtype
