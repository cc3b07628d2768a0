"""Relevance through the steps of a pipeline as plain loops, from the definitions alone."""

import numpy as np


def column_squares(z, center, owners, names):
    """Squared distance ‖z - u‖², each column's part given to its owner."""
    parts = dict.fromkeys(names, 0.0)
    for value, mean, owner in zip(z, center, owners, strict=True):
        parts[owner] += (value - mean) ** 2
    return np.array([parts[name] for name in names])


def linear_squares(A, z, center, owners, names):
    """Squared distance ‖ζ‖² after z = A y: y_i gets δ_i [Aᵀζ]_i with δ = A⁺ζ, and gives it to its owner."""
    A = np.asarray(A)
    zeta = [value - mean for value, mean in zip(z, center, strict=True)]
    inverse = np.linalg.pinv(A)
    parts = dict.fromkeys(names, 0.0)
    for i, owner in enumerate(owners):
        delta = sum(inverse[i, j] * zeta[j] for j in range(len(zeta)))
        gradient = sum(A[j, i] * zeta[j] for j in range(len(zeta)))
        parts[owner] += delta * gradient
    return np.array([parts[name] for name in names])


def matrix_of(transform, x):
    """Matrix of an affine map by what it makes of a step along each axis, starting from a row x."""
    moved = [np.array(x, dtype=float)]
    for i in range(len(x)):
        moved.append(moved[0].copy())
        moved[-1][i] += 1.0
    made = np.asarray(transform(np.array(moved)))
    return np.column_stack([row - made[0] for row in made[1:]])
