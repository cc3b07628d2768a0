"""scikit-learn's kernel density estimate as a distance network."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_euclidean, require_fitted
from whyodd.kernels import Exponential
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray


def from_kernel_density(model: Any) -> DistanceNetwork:
    """Network of a fitted ``sklearn.neighbors.KernelDensity`` with a Gaussian or exponential kernel.

    The density is Z Σ_j α_j k(d_j/h) with α_j = w_j / Σw and k = exp(-d²/(2h²)) or exp(-d/h). With the offset
    log Z, Z the kernel's normaliser, the log-density is recovered: ``score_samples`` = offset - o (within
    the model's own ``atol`` and ``rtol``, 0 by default).

    Parameters
    ----------
    model : sklearn.neighbors.KernelDensity
        Fitted with ``kernel="gaussian"`` or ``"exponential"`` and a Euclidean metric; with or without
        ``sample_weight``.

    Returns
    -------
    DistanceNetwork
        The training rows as centers.

    Notes
    -----
    scikit-learn adds and subtracts bounds while it descends its tree, and loses the digits of small densities
    (its issue 25799); far from the data its ``score_samples`` may be wrong by more than 1. The network
    has the exact sum, and so has scikit-learn with a ``leaf_size`` above the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KernelDensity
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [4.0, 4.0]])
    >>> model = KernelDensity(kernel="exponential", bandwidth=0.7).fit(X)
    >>> network = neuralize(model)
    >>> np.allclose(network.offset - network.outlierness(X), model.score_samples(X))
    True
    """
    if model.kernel not in _DEGREES:
        raise UnsupportedModelError(
            f"KernelDensity(kernel={model.kernel!r}) uses a kernel that is 0 far away, where no row is "
            "odder than another: expected kernel='gaussian' or 'exponential'. Fit it again with one of "
            "these."
        )
    require_euclidean(model, model.metric, model.metric_params)
    require_fitted(model, "tree_")
    centers = np.asarray(model.tree_.data)
    n, d = centers.shape
    kernel = Exponential(q=_DEGREES[model.kernel], sigma=float(model.bandwidth_))
    return DistanceNetwork(
        centers,
        kernel=kernel,
        log_weights=_log_weights(model.tree_, n),
        offset=-kernel.log_volume(d),
        rows=np.arange(n),
        n_rows=n,
    )


_DEGREES = {"gaussian": 2.0, "exponential": 1.0}


def _log_weights(tree: Any, n: int) -> NDArray[np.float64]:
    if tree.sample_weight is None:
        return np.full(n, -math.log(n))
    with np.errstate(divide="ignore"):  # a row without weight has no part in the density
        return np.asarray(np.log(np.asarray(tree.sample_weight)) - math.log(tree.sum_weight))
