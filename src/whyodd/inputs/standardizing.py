"""Columns shifted and scaled before a model sees them: z = (x - shift) / scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.inputs.matrices import as_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Standardizing:
    """Scales each column by itself: z = (x - shift) / scale.

    Parameters
    ----------
    shift : array of shape (d,)
    scale : array of shape (d,)
        Not 0.

    Examples
    --------
    >>> from whyodd.inputs.standardizing import Standardizing
    >>> Standardizing([1.0, 0.0], [2.0, 1.0]).forward([[5.0, 7.0]])
    array([[2., 7.]])
    """

    shift: Floats
    scale: Floats

    def __post_init__(self) -> None:
        shift, scale = (np.array(values, dtype=np.float64) for values in (self.shift, self.scale))
        if shift.ndim != 1 or shift.shape != scale.shape:
            raise ValueError(
                f"Expected one shift and one scale per column, got {shift.shape} and {scale.shape}."
            )
        if not (np.isfinite(shift).all() and np.isfinite(scale).all() and (scale != 0.0).all()):
            raise ValueError("Shifts must be finite, and scales finite and not 0.")
        shift.flags.writeable = scale.flags.writeable = False
        self.__dict__.update(shift=shift, scale=scale)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: what was pickled is checked, and comes back read-only.
        return Standardizing, (self.shift, self.scale)

    @classmethod
    def none(cls, d: int) -> Standardizing:
        """The identity, for a model that uses its columns as they are."""
        return cls(np.zeros(d), np.ones(d))

    @property
    def n_features(self) -> int:
        """Number of columns d."""
        return self.shift.size

    def forward(self, X: Any) -> Floats:
        """Standardised z (n, d) of rows (n, d) of any kind, or one sentence on what is wrong with them."""
        values = as_matrix(X).values
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the model was fitted on {self.n_features}. "
                "Pass the columns used in fit."
            )
        return np.asarray((to_dense(values).astype(np.float64) - self.shift) / self.scale)

    def backward(self, z: Floats) -> Floats:
        """The rows x (n, d) of z."""
        return np.asarray(z * self.scale + self.shift)
