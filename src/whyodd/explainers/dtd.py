"""Deep Taylor decomposition: the exact way back through the distance network."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.linear_maps import LinearMap
    from whyodd.network import Decomposition, DistanceNetwork


def deep_taylor(
    network: DistanceNetwork,
    X: Points,
    *,
    own: NDArray[np.intp] | None = None,
    through: LinearMap | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Decomposition:
    """Relevance R_i = Σ_j Δ_j (x_i - u_ji)² / d_j² of the input variables, conserving o(x).

    Parameters
    ----------
    network : DistanceNetwork
    X : ndarray or CSR matrix of shape (n, d)
    own : ndarray of shape (n,), optional
        The center to leave out for each row, or -1.
    through : LinearMap, optional
        Linear map that made X of other variables; relevance is theirs.
    n_jobs : int, optional
        Threads; all cores if None.
    progress : callable, optional
        Called with the number of rows done.

    Returns
    -------
    Decomposition
        Relevance (n, d), and unexplained, outlierness and log-inlierness (n,).

    Notes
    -----
    Section "Explaining Outlierness" and appendix A of Kauffmann, Müller and Montavon.
    """
    return network.decompose(X, own=own, through=through, n_jobs=n_jobs, progress=progress)
