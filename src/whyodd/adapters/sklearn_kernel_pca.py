"""scikit-learn's kernel PCA, scored by its reconstruction error: Hoffmann's measure of novelty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import null_space

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_fitted
from whyodd.compute.points import squared_norms, to_dense
from whyodd.kernels import Exponential
from whyodd.maths.metrics import LinearMetric
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.kernel_subspace import KernelSubspace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def from_kernel_pca(model: Any) -> KernelSubspace | DistanceNetwork:
    """Reconstruction error of a fitted ``sklearn.decomposition.KernelPCA``, of a Gaussian or linear kernel.

    The model has no score of its own. o is the squared distance of a row from the subspace of the components
    in feature space, k(x, x) - 2 mean_j k(x, u_j) + mean_ij k(u_i, u_j) - ‖``transform``(x)‖². With
    ``kernel="linear"`` it is what PCA cannot reconstruct, the squared distance from a plane.

    Parameters
    ----------
    model : sklearn.decomposition.KernelPCA
        Fitted with kernel "rbf" or "linear".

    Returns
    -------
    KernelSubspace, or DistanceNetwork for a linear kernel

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import KernelPCA
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> plane = neuralize(KernelPCA(1, kernel="linear").fit(X))
    >>> plane.outlierness([[1.0, 3.0]]).round(6)
    array([2.])
    """
    require_fitted(model, "X_fit_")
    return subspace(model, model.eigenvalues_.size, type(model).__name__)


def subspace(model: Any, selected: int, name: str) -> KernelSubspace | DistanceNetwork:
    """What the first ``selected`` components of a fitted kernel PCA leave over; ``name`` is the model's."""
    rows = np.asarray(to_dense(model.X_fit_), dtype=np.float64)
    components = _components(model)[:, :selected]
    if model.kernel == "rbf":
        weights = np.full(len(rows), 1.0 / len(rows))
        similarities = np.ravel(model._centerer.K_fit_rows_)
        gamma = 1.0 / rows.shape[1] if model.gamma is None else float(model.gamma)
        return KernelSubspace(rows, components, weights, similarities, math.sqrt(0.5 / gamma))
    if model.kernel == "linear":
        return _plane(rows, components, name)
    raise UnsupportedModelError(
        f"{name}(kernel={model.kernel!r}) compares rows by more than their distance, expected kernel='rbf' "
        f"or 'linear'. Fit it again with {name}(kernel='rbf')."
    )


def _components(model: Any) -> Floats:
    """Columns (m, q) that combine the training rows to unit vectors, and sum to 0."""
    variances = np.asarray(model.eigenvalues_, dtype=np.float64)
    vectors = np.asarray(model.eigenvectors_, dtype=np.float64)
    # As in its ``transform``: a direction without variance has no component.
    scaled = np.divide(vectors, np.sqrt(variances), out=np.zeros_like(vectors), where=variances > 0.0)
    return np.asarray(scaled - scaled.mean(axis=0))


def _plane(rows: Floats, components: Floats, name: str) -> DistanceNetwork:
    """Squared distance from the plane through the mean of the rows that the components span."""
    mean = rows.mean(axis=0)
    spanned = (rows - mean).T @ components
    left = null_space(spanned.T) if spanned.any() else np.eye(len(mean))
    if left.shape[1] == 0:
        raise UnsupportedModelError(
            f"{name}(kernel='linear') keeps all {len(mean)} directions of the data and reconstructs every "
            f"row, expected fewer components. Fit it again with n_components below {len(mean)}."
        )
    # exp(-d²) has o = d².
    return DistanceNetwork(
        mean[None, :], kernel=Exponential(q=2.0, sigma=math.sqrt(0.5)), metric=LinearMetric(left.T)
    )


def error_in_feature_space(model: Any, X: Any) -> Floats:
    """What kernel PCA cannot reconstruct of rows (n,), from ``transform`` and the means it keeps."""
    similarities = model._get_kernel(X, model.X_fit_)
    own = 1.0 if model.kernel == "rbf" else squared_norms(np.asarray(X, dtype=np.float64))
    distance = own - 2.0 * similarities.mean(axis=1) + model._centerer.K_fit_all_
    return np.asarray(distance - squared_norms(model.transform(X)))
