"""Integrated gradients: the contribution of each variable along the straight line between two points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Pieces of the path at first, and how often a piece is halved at most.
_PIECES = 8
_HALVINGS = 12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_NODES, _WEIGHTS = (_NODES + 1.0) / 2.0, _WEIGHTS / 2.0


def integrated_gradients(
    value: Callable[[Floats], Floats],
    gradient: Callable[[Floats], Floats],
    start: Floats,
    end: Floats,
    tolerance: Floats,
) -> Floats:
    """R_i = (x_i - r_i) ∫₀¹ ∂f/∂x_i (r + t (x - r)) dt, so that Σ_i R_i = f(x) - f(r) up to a small gap.

    What the integral over a piece of the way must give is known, the difference of f between its ends: pieces
    that miss it by more than their share of the tolerance are halved. Kinks, as rectifiers make them, are so
    found and closed in on.

    Parameters
    ----------
    value, gradient : callable
        f (n,) and its gradient (n, d) of points (n, d).
    start, end : array of shape (n, d)
        r and x.
    tolerance : array of shape (n,)
        By how much a piece may miss what f changes by on it.

    Returns
    -------
    ndarray of shape (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.maths.path_integrals import integrated_gradients
    >>> X = np.array([[1.0, 2.0]])
    >>> integrated_gradients(
    ...     lambda x: x[:, 0] * x[:, 1], lambda x: x[:, ::-1], np.zeros((1, 2)), X, np.array([1e-9])
    ... ).round(9)
    array([[1., 1.]])
    """
    way, out = end - start, np.zeros(end.shape)
    row = np.repeat(np.arange(len(end)), _PIECES)
    begin = np.tile(np.arange(_PIECES) / _PIECES, len(end))
    length = 1.0 / _PIECES
    for halving in range(_HALVINGS + 1):
        found = np.zeros((len(row), end.shape[1]))
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            found += weight * gradient(start[row] + (begin + node * length)[:, None] * way[row])
        found *= length * way[row]
        before, after = (value(start[row] + at[:, None] * way[row]) for at in (begin, begin + length))
        is_far = np.abs(found.sum(axis=1) - (after - before)) > tolerance[row]
        if halving == _HALVINGS:
            is_far[:] = False
        np.add.at(out, row[~is_far], found[~is_far])
        row, begin, length = row[is_far], begin[is_far], length / 2.0
        row, begin = np.repeat(row, 2), (begin[:, None] + [0.0, length]).ravel()
        if not row.size:
            break
    return out
