"""scikit-learn's linear decompositions: their reconstruction error, or how unlikely a row is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_fitted
from whyodd.adapters.sklearn_covariance import precision_root
from whyodd.compute.points import to_dense
from whyodd.inputs.matrices import as_matrix
from whyodd.kernels import Exponential
from whyodd.maths.metrics import LinearMetric
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.sums.reconstruction import ReconstructionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def reconstruction_error(model: Any, X: Any) -> Floats:
    """‖x - ``inverse_transform(transform(x))``‖² (n,)."""
    back = np.asarray(model.inverse_transform(model.transform(X)))
    return np.asarray(((to_dense(as_matrix(X).values) - back) ** 2).sum(axis=1))


def from_pca(model: Any) -> ReconstructionError:
    """Reconstruction error of a fitted ``PCA`` or ``IncrementalPCA``, whitened or not.

    o = ‖x - ``inverse_transform(transform(x))``‖²: what of the row lies outside of the principal axes. (Not
    ``score_samples``, which is the likelihood of a normal distribution.)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.5]])
    >>> model = PCA(1).fit(X)
    >>> rebuilt = model.inverse_transform(model.transform(X))
    >>> np.allclose(neuralize(model).outlierness(X), ((X - rebuilt) ** 2).sum(axis=1))
    True
    """
    require_fitted(model, "components_")
    _require_loss(model, model.components_)
    axes = np.asarray(model.components_, dtype=np.float64)
    encoder, decoder = axes, axes
    if model.whiten:
        spread = np.sqrt(np.asarray(model.explained_variance_, dtype=np.float64))[:, None]
        # As the model itself does it, axes without spread are not divided by 0.
        encoder, decoder = axes / np.maximum(spread, np.finfo(np.float64).eps), axes * spread
    return ReconstructionError(model.mean_, encoder, decoder)


def from_truncated_svd(model: Any) -> ReconstructionError:
    """Reconstruction error of a fitted ``TruncatedSVD``: o = ‖x - ``inverse_transform(transform(x))``‖².

    Without a mean: rows are compared with 0.
    """
    require_fitted(model, "components_")
    _require_loss(model, model.components_)
    return ReconstructionError(np.zeros(model.components_.shape[1]), model.components_, model.components_)


def from_fast_ica(model: Any) -> ReconstructionError:
    """Reconstruction error of a fitted ``FastICA``: o = ‖x - ``inverse_transform(transform(x))``‖².

    With fewer components than variables it projects on the principal axes, and mixes within them.
    """
    require_fitted(model, "components_")
    _require_loss(model, model.components_)
    mean = model.mean_ if model.whiten else np.zeros(model.components_.shape[1])
    return ReconstructionError(mean, model.components_, model.mixing_.T)


def from_sparse_pca(model: Any) -> ReconstructionError:
    """Reconstruction error of a fitted ``SparsePCA`` or ``MiniBatchSparsePCA``.

    o = ‖x - ``inverse_transform(transform(x))``‖², where ``transform`` is a ridge regression on the
    components: E = (C Cᵀ + λ 1)⁻¹ C.
    """
    require_fitted(model, "components_")
    components = np.asarray(model.components_, dtype=np.float64)
    ridge = components @ components.T + model.ridge_alpha * np.eye(len(components))
    return ReconstructionError(model.mean_, np.linalg.solve(ridge, components), components)


def from_factor_analysis(model: Any) -> DistanceNetwork:
    """Network of a fitted ``FactorAnalysis``: o = ½ (x - m)ᵀ Σ⁻¹ (x - m), ``score_samples`` = offset - o.

    One center, the mean, with Mahalanobis' distance by the covariance of factors and noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import FactorAnalysis
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [4.0, 4.0]])
    >>> model = FactorAnalysis(1).fit(X)
    >>> network = neuralize(model)
    >>> np.allclose(network.offset - network.outlierness(X), model.score_samples(X))
    True
    """
    require_fitted(model, "components_")
    precision = model.get_precision()
    log_determinant = float(np.linalg.slogdet(precision)[1])
    return DistanceNetwork(
        model.mean_[None, :],
        kernel=Exponential(q=2.0, sigma=1.0),
        metric=LinearMetric(precision_root(precision)),
        offset=0.5 * (log_determinant - len(precision) * np.log(2.0 * np.pi)),
    )


def _require_loss(model: Any, components: Floats) -> None:
    k, d = components.shape
    if k >= d:
        raise UnsupportedModelError(
            f"{type(model).__name__} keeps {k} component(s) of {d} variable(s) and reconstructs every row "
            f"perfectly: expected fewer components. Fit it again with n_components below {d}."
        )
