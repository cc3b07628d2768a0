"""Radial kernels on tiles of inner products: k(‖x - u‖)/k(0) from ⟨x, u⟩, ‖x‖²/2 and ‖u‖²/2.

Points are in units of σ, so that (d/σ)² = 2 (‖x‖²/2 + ‖u‖²/2 - ⟨x, u⟩), and the energy is a power of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from whyodd.compute.compiling import Radial, compiled
from whyodd.compute.vector_math import VECTOR

Array = npt.NDArray[Any]

# Numbers of a row that go through all loops before the next ones do: they stay in the nearest cache.
_CHUNK = 512


@compiled
def _similarities(s: Array, radial: Radial) -> None:
    """In place, s = (d/σ)² ← e = s^(q/2) ← k(d)/k(0)."""
    if radial.q == 1.0:
        for j in range(s.size):
            s[j] = np.sqrt(s[j])
    elif radial.q == 4.0:
        for j in range(s.size):
            s[j] = s[j] * s[j]
    elif radial.q != 2.0:
        half = s.dtype.type(0.5 * radial.q)
        for j in range(s.size):
            s[j] = s[j] ** half
    for j in range(s.size):
        s[j] = radial.numbers.profile(s[j])


@njit(cache=True, nogil=True)
def _squared_distances(
    products: Array, half_norm: float, half_norms: Array, rounding: float, out: Array
) -> None:
    """Squared distances 2 (‖x‖²/2 + ‖u_j‖²/2 - ⟨x, u_j⟩), or 0 where that is below its own rounding error.

    So a point is at distance 0 of itself and of its duplicates, whatever the order in which BLAS sums.
    """
    for j in range(out.size):
        norms = half_norm + half_norms[j]
        s = norms - products[j]
        out[j] = out.dtype.type(s + s) if s > rounding * norms else out.dtype.type(0.0)


@compiled
def similarity_tile(
    products: Array, half_norms_x: Array, half_norms_u: Array, rounding: float, radial: Radial, out: Array
) -> None:
    """Similarities k(‖x_i - u_j‖) from ⟨x_i, u_j⟩; ``out`` may be ``products`` itself.

    Parameters
    ----------
    products : ndarray (b, m) of float32 or float64
    half_norms_x, half_norms_u : ndarray (b,) and (m,)
    rounding : float
        Relative error of the inner products, in their precision.
    radial : Radial
        The kernel, in the precision of ``out``.
    out : ndarray (b, m) of float32 or float64
    """
    m = products.shape[1]
    for i in range(len(products)):
        for start in range(0, m, _CHUNK):
            some = slice(start, min(start + _CHUNK, m))
            part = out[i][some]
            _squared_distances(products[i][some], half_norms_x[i], half_norms_u[some], rounding, part)
            _similarities(part, radial)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_squares(x: Array, coordinates: Array, start: int, out: Array) -> None:
    """Add Σ_k (x_k - u_jk)² for the points u_j that ``out`` stands for; four variables at a time."""
    d, stop = x.size, start + out.size
    for k in range(0, d - d % 4, 4):
        u0, u1 = coordinates[k][start:stop], coordinates[k + 1][start:stop]
        u2, u3 = coordinates[k + 2][start:stop], coordinates[k + 3][start:stop]
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        for j in range(out.size):
            a, b, c, e = x0 - u0[j], x1 - u1[j], x2 - u2[j], x3 - u3[j]
            out[j] += (a * a + b * b) + (c * c + e * e)
    for k in range(d - d % 4, d):
        u0, x0 = coordinates[k][start:stop], x[k]
        for j in range(out.size):
            a = x0 - u0[j]
            out[j] += a * a


@compiled
def similarities_of_differences(x: Array, coordinates: Array, radial: Radial, out: Array) -> None:
    """Similarities k(‖x_i - u_j‖) from the differences themselves: exact, and fast for few rows.

    Parameters
    ----------
    x : ndarray (b, d) of float64
    coordinates : ndarray (d, m) of float64
        The points u_j, a row per variable.
    radial : Radial
        The kernel, in float64.
    out : ndarray (b, m) of float64
    """
    m = out.shape[1]
    for start in range(0, m, _CHUNK):
        for i in range(len(x)):
            part = out[i][start : min(start + _CHUNK, m)]
            part[:] = 0.0
            _add_squares(x[i], coordinates, start, part)
            _similarities(part, radial)


@njit(cache=True, nogil=True, fastmath=VECTOR)
def add_product(tile: Array, v: Array, out: Array) -> None:
    """Product T v, summed in float64 and added to ``out``."""
    for i in range(len(tile)):
        row, total = tile[i], 0.0
        for j in range(row.size):
            total += np.float64(row[j]) * v[j]
        out[i] += total


@njit(cache=True, nogil=True, fastmath=VECTOR)
def add_transposed_product(tile: Array, v: Array, out: Array) -> None:
    """Product Tᵀ v, summed in float64 and added to ``out``."""
    for i in range(len(tile)):
        row, weight = tile[i], v[i]
        for j in range(row.size):
            out[j] += np.float64(row[j]) * weight


@njit(cache=True, nogil=True)
def to_fixed_point(tile: Array, scale: np.float32, out: Array, start: int) -> None:
    """Numbers T · scale rounded to 16 bits, written into ``out[:, start:]``.

    Views are taken inside: compiled code does not know that the rows of a view of ``out`` are contiguous, and
    would not vectorise.
    """
    for i in range(len(tile)):
        row, target = tile[i], out[i][start : start + tile.shape[1]]
        for j in range(row.size):
            target[j] = np.uint16(row[j] * scale + np.float32(0.5))


@njit(cache=True, nogil=True, fastmath=VECTOR)
def add_fixed_point_product(rows: Array, first: int, v: Array, out: Array) -> None:
    """Product T v + Lᵀ v of the rows T = K[first:first+b, :first+b] in 16 bits, L = T[:, :first].

    Each element is read once for both sums. By tiles of 512 columns, summed in float32 inside and in float64
    across; four rows at a time, so that the sums over columns are loaded and stored a quarter as often.
    """
    b = len(rows)
    left = np.empty(512, np.float32)
    for start in range(0, first, 512):
        width = min(512, first - start)
        v_left, sums = v[start : start + width], left[:width]
        sums[:] = np.float32(0.0)
        for i in range(0, b - b % 4, 4):
            t0, t1 = rows[i][start : start + width], rows[i + 1][start : start + width]
            t2, t3 = rows[i + 2][start : start + width], rows[i + 3][start : start + width]
            v0, v1, v2, v3 = v[first + i], v[first + i + 1], v[first + i + 2], v[first + i + 3]
            s0 = s1 = s2 = s3 = np.float32(0.0)
            for j in range(width):
                k0, k1 = np.float32(np.int32(t0[j])), np.float32(np.int32(t1[j]))
                k2, k3 = np.float32(np.int32(t2[j])), np.float32(np.int32(t3[j]))
                s0 += k0 * v_left[j]
                s1 += k1 * v_left[j]
                s2 += k2 * v_left[j]
                s3 += k3 * v_left[j]
                sums[j] += (k0 * v0 + k1 * v1) + (k2 * v2 + k3 * v3)
            out[first + i] += s0
            out[first + i + 1] += s1
            out[first + i + 2] += s2
            out[first + i + 3] += s3
        for i in range(b - b % 4, b):
            row, s, v_i = rows[i][start : start + width], np.float32(0.0), v[first + i]
            for j in range(width):
                k = np.float32(np.int32(row[j]))
                s += k * v_left[j]
                sums[j] += k * v_i
            out[first + i] += s
        for j in range(width):
            out[start + j] += sums[j]
    for i in range(b):
        row, total = rows[i], 0.0
        for j in range(first, first + b):
            total += np.float64(row[j]) * v[j]
        out[first + i] += total
