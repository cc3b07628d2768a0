"""Terms of linear combinations of variables, divided among the variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.float64]


def spread(
    terms: Floats, differences: Floats, weights: Any = None, through: LinearMap | None = None
) -> tuple[Floats, Floats]:
    """Relevance of variables for terms of their combinations w_k·x: R_i = Σ_k t_k c_ki⁺ / Σ_j c_kj⁺.

    c_ki = w_ki (x_i - m_i) is what variable i has moved combination k away from its usual value w_k·m, and
    c⁺ what of it goes the way the combination went: 0 for a variable that pulls it back. That is the z⁺-rule
    of deep Taylor decomposition with the usual row m as the reference. It does not depend on the units of the
    variables, other than the share w_ki²/‖w_k‖² of the shortest way back to normal. All is conserved: the
    terms of combinations that nothing has moved belong to no variable.

    Parameters
    ----------
    terms : ndarray of shape (n, K)
        t_k ≥ 0 of each row.
    differences : ndarray of shape (n, d)
        x - m.
    weights : array or sparse matrix of shape (K, d), optional
        w_k; each variable by itself by default.
    through : LinearMap, optional
        A map x = B y + b: relevance is then that of y, of which the shortest B⁺(x - m) has made x - m. What
        no y makes of it belongs to no variable.

    Returns
    -------
    relevance : ndarray of shape (n, d), or (n, through.n_inputs)
    unexplained : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.sums.spreading import spread
    >>> relevance, _ = spread(np.array([[6.0]]), np.array([[1.0, 4.0, -3.0]]), np.array([[2.0, 1.0, 1.0]]))
    >>> relevance
    array([[2., 4., 0.]])
    """
    matrix = sparse.csr_array(np.eye(terms.shape[1]) if weights is None else weights)
    outside = np.zeros(terms.shape)
    if through is not None:
        made = np.asarray(differences @ through.shortest)
        outside = np.asarray(matrix @ (differences - made @ through.matrix.T).T).T
        matrix, differences = sparse.csr_array(matrix @ through.matrix), made
    relevance, unexplained = np.zeros(differences.shape), np.zeros(len(terms))
    for k, (start, stop) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)):
        columns = matrix.indices[start:stop]
        moves = np.column_stack([differences[:, columns] * matrix.data[start:stop], outside[:, k]])
        shares = _shares(moves)
        # The part that no variable moves: beyond the reach of the map, or a term at the usual value itself.
        unexplained += terms[:, k] * np.where(shares.any(axis=1), shares[:, -1], 1.0)
        relevance[:, columns] += terms[:, [k]] * shares[:, :-1]
    return relevance, unexplained


def _shares(moves: Floats) -> Floats:
    """Parts (n, k) of the moves in the direction of their sum; all 0 where the sum is."""
    way = np.sign(moves.sum(axis=1, keepdims=True))
    along = np.maximum(way * moves, 0.0)
    total = along.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(along, total, out=np.zeros_like(along), where=total > 0.0))
