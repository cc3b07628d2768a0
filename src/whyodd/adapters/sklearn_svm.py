"""scikit-learn's one-class SVMs: a distance network, or a linear score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_fitted
from whyodd.compute.points import to_dense
from whyodd.kernels import Exponential
from whyodd.models.fitting.merging import merge_equal_rows
from whyodd.models.fitting.row_network import network_of_rows
from whyodd.network.linear_score import LinearScore
from whyodd.network.verdict import AffineScale, ExponentialScale

if TYPE_CHECKING:
    from whyodd.network.distance_network import DistanceNetwork
    from whyodd.network.verdict import Scale


def from_one_class_svm(model: Any) -> DistanceNetwork | LinearScore:
    """Network of a fitted ``sklearn.svm.OneClassSVM(kernel="rbf")``, or the score of a linear one.

    scikit-learn's score is s(x) = Σ_j c_j exp(-γ d_j²) with dual coefficients c_j that sum to νn. With
    α_j = c_j / Σc, σ = 1/√(2γ) and the offset log Σc it is recovered from the outlierness o = -log g:
    ``score_samples`` = exp(offset - o) and ``decision_function`` = exp(offset - o) - ``model.offset_``.
    Of ``kernel="linear"`` o = -``decision_function``, as in :func:`from_sgd_svm`.

    Parameters
    ----------
    model : sklearn.svm.OneClassSVM
        Fitted with ``kernel="rbf"`` or ``"linear"``, on dense or CSR data.

    Returns
    -------
    DistanceNetwork or LinearScore
        The support vectors as centers, with the training rows they came from; or the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import OneClassSVM
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> model = OneClassSVM(kernel="rbf", gamma=0.5).fit(X)
    >>> network = neuralize(model)
    >>> np.allclose(np.exp(network.offset - network.outlierness(X)), model.score_samples(X))
    True
    """
    if model.kernel == "linear":
        require_fitted(model, "support_vectors_")
        return _linear_score(model)
    if model.kernel != "rbf":
        raise UnsupportedModelError(
            f"OneClassSVM(kernel={model.kernel!r}) does not work on distances, expected kernel='rbf'. "
            "Fit it again with OneClassSVM(kernel='rbf') or 'linear'."
        )
    require_fitted(model, "support_vectors_")
    # libsvm's (1, m) coefficients are sparse if the model was fitted on sparse data.
    duals = sparse.csr_array(model.dual_coef_).toarray().ravel()
    total = math.fsum(duals)
    merged = merge_equal_rows(model.support_vectors_)
    kernel = Exponential(q=2.0, sigma=1.0 / math.sqrt(2.0 * model._gamma))
    # Divided by their total later, as logarithms: the share of a coefficient may underflow.
    network = network_of_rows(
        model.support_vectors_, merged, merged.gather(duals), kernel, offset=math.log(total)
    )
    return network.with_rows_of(model.support_, model.shape_fit_[0])


def from_sgd_svm(model: Any) -> LinearScore:
    """Score of a fitted ``sklearn.linear_model.SGDOneClassSVM``: o = -``decision_function``.

    With w = ``coef_`` and ρ = ``offset_``; ``score_samples`` = ρ - o.
    """
    require_fitted(model, "coef_")
    return _linear_score(model)


def _linear_score(model: Any) -> LinearScore:
    # (1, d), (d,), or sparse if the model was fitted on sparse data.
    return LinearScore(np.ravel(to_dense(model.coef_)), float(model.offset_[0]))


def scale_of_svm(model: Any, network: DistanceNetwork | LinearScore) -> Scale:
    """-``score_samples`` = -exp(offset - o); o - offset of a linear one."""
    if isinstance(network, LinearScore):
        return AffineScale(shift=-network.offset)
    del model
    return ExponentialScale(rate=-1.0, log_slope=network.offset)
