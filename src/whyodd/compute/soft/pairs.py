"""One point against one center, exactly: differences are taken in float64 before anything is squared.

Points and centers are either dense (a 2-D array) or CSR (the tuple ``(data, indices, indptr)`` with sorted
indices). numba picks the fitting implementation from the type, so the loops above are written once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit, types
from numba.extending import overload

from whyodd.compute.vector_math import ORDERED, VECTOR

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_SUMS: Any = {"fastmath": VECTOR, "error_model": "numpy"}


def squared_distance(X: Any, i: int, U: Any, j: int, per_scale: float) -> float:
    """Squared distance d² = Σ_k ((x_ik - u_jk) / scale)² of point i to center j."""
    implementation = _sparse_distance if isinstance(U, tuple) else _dense_distance
    return implementation(X, i, U, j, per_scale)


def add_squares(
    X: Any, i: int, U: Any, j: int, per_scale: float, weight: float, out: NDArray[np.float64]
) -> None:
    """Add w ((x_ik - u_jk) / scale)² to ``out[k]`` for every variable k."""
    implementation = _sparse_squares if isinstance(U, tuple) else _dense_squares
    implementation(X, i, U, j, per_scale, weight, out)


@njit(cache=True, nogil=True)
def fill_squares(X: Any, U: Any, per_scale: float, out: NDArray[np.float64]) -> None:
    """Fill ``out`` (n, m) with the squared distances of all points to all centers."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = squared_distance(X, i, U, j, per_scale)


@overload(squared_distance, jit_options=_SUMS)
def _squared_distance(X: Any, i: int, U: Any, j: int, per_scale: float) -> Callable[..., float]:
    return _sparse_distance if isinstance(U, types.BaseTuple) else _dense_distance


@overload(add_squares, jit_options=ORDERED)
def _add_squares(
    X: Any, i: int, U: Any, j: int, per_scale: float, weight: float, out: NDArray[np.float64]
) -> Callable[..., None]:
    return _sparse_squares if isinstance(U, types.BaseTuple) else _dense_squares


def _dense_distance(X: Any, i: int, U: Any, j: int, per_scale: float) -> float:
    total = 0.0
    for k in range(X.shape[1]):
        z = (np.float64(X[i, k]) - np.float64(U[j, k])) * per_scale
        total += z * z
    return total


def _dense_squares(
    X: Any, i: int, U: Any, j: int, per_scale: float, weight: float, out: NDArray[np.float64]
) -> None:
    for k in range(X.shape[1]):
        z = (np.float64(X[i, k]) - np.float64(U[j, k])) * per_scale
        # Weight times z first: near a center the weight is huge and z² alone would underflow.
        out[k] += (weight * z) * z


def _sparse_distance(X: Any, i: int, U: Any, j: int, per_scale: float) -> float:
    total = 0.0
    s, s_end = X[2][i], X[2][i + 1]
    t, t_end = U[2][j], U[2][j + 1]
    while s < s_end or t < t_end:
        z = 0.0
        take_x = t == t_end or (s < s_end and X[1][s] <= U[1][t])
        take_u = s == s_end or (t < t_end and U[1][t] <= X[1][s])
        if take_x:
            z += np.float64(X[0][s])
            s += 1
        if take_u:
            z -= np.float64(U[0][t])
            t += 1
        z *= per_scale
        total += z * z
    return total


def _sparse_squares(
    X: Any, i: int, U: Any, j: int, per_scale: float, weight: float, out: NDArray[np.float64]
) -> None:
    s, s_end = X[2][i], X[2][i + 1]
    t, t_end = U[2][j], U[2][j + 1]
    while s < s_end or t < t_end:
        z = 0.0
        take_x = t == t_end or (s < s_end and X[1][s] <= U[1][t])
        take_u = s == s_end or (t < t_end and U[1][t] <= X[1][s])
        k = X[1][s] if take_x else U[1][t]
        if take_x:
            z += np.float64(X[0][s])
            s += 1
        if take_u:
            z -= np.float64(U[0][t])
            t += 1
        z *= per_scale
        out[k] += (weight * z) * z
