"""The cheapest way to turn one sample into another, and what it costs: per variable, per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Coupling:
    """Pairs of rows from two samples with the smallest mean squared distance W².

    W² = Σ_i E (x_i - y_i)², and the part of each variable is W_i², which its own distribution explains (no
    coupling of it alone is cheaper), plus a rest that only its relations with other variables explain.

    Attributes
    ----------
    partner : ndarray of int of shape (m,)
        Row of the second sample for each row of the first.
    cost : ndarray of shape (m,)
        Squared distance of each pair; the mean of them is W².
    parts : ndarray of shape (p,)
        Part of each variable; their sum is W².
    own : ndarray of shape (p,)
        W_i², the squared Wasserstein distance between the distributions of each variable.
    """

    partner: Indices
    cost: Floats
    parts: Floats
    own: Floats

    @property
    def distance(self) -> float:
        """W²."""
        return float(self.cost.mean())

    @property
    def rest(self) -> Floats:
        """(p,) the part that only relations between variables explain; negative only by rounding."""
        return self.parts - self.own


def couple(X: Floats, Y: Floats, variable_of: Indices) -> Coupling:
    """Couple two samples (m, k) of the same size; ``variable_of`` (k,): the variable of each coordinate.

    A variable has one coordinate, a number, or several, the corners of a simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.changes.coupling import couple
    >>> found = couple(np.array([[0.0], [1.0]]), np.array([[3.0], [2.0]]), np.array([0]))
    >>> found.partner.tolist(), found.distance
    ([1, 0], 4.0)
    """
    first, partner = linear_sum_assignment(cdist(X, Y, "sqeuclidean"))
    squares = (X[first] - Y[partner]) ** 2
    starts = np.searchsorted(variable_of, np.arange(variable_of.max() + 1))
    per_variable = np.add.reduceat(squares, starts, axis=1)
    return Coupling(partner, squares.sum(axis=1), per_variable.mean(axis=0), own_distances(X, Y, starts))


def own_distances(X: Floats, Y: Floats, starts: Indices) -> Floats:
    """W_i² (p,) of samples (m, k) whose variables begin at ``starts``.

    Sorted numbers are coupled best. Corners of a simplex are all √2 apart: what must move is half of the
    differences of their shares, and costs 2.
    """
    sizes = np.diff(np.append(starts, X.shape[1]))
    is_number = np.repeat(sizes == 1, sizes)
    per_coordinate = np.abs(X.mean(axis=0) - Y.mean(axis=0))
    moved = np.sort(X[:, is_number], axis=0) - np.sort(Y[:, is_number], axis=0)
    per_coordinate[is_number] = np.mean(moved**2, axis=0)
    return np.asarray(np.add.reduceat(per_coordinate, starts))
