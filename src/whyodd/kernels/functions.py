"""Functions for the formulas of kernels: NumPy's here, and in compiled loops without branches or calls.

So one formula serves arrays, plain numbers and compiled code (``compute.vector_math`` has the other half).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def exp(x: Any) -> Any:
    """Exponential e^x."""
    return np.exp(x)


def log(x: Any) -> Any:
    """Natural logarithm of a positive, normal x; infinite for infinite x."""
    return np.log(x)


def log1p(x: Any) -> Any:
    """log(1 + x) for x ≥ 0, with all digits where x is small."""
    return np.log1p(x)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers."""
    return np.minimum(a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two numbers."""
    return np.maximum(a, b)
