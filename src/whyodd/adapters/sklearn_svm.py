"""scikit-learn's one-class SVM as a distance network."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_fitted
from whyodd.kernels import Exponential
from whyodd.network.distance_network import DistanceNetwork


def from_one_class_svm(model: Any) -> DistanceNetwork:
    """Network of a fitted ``sklearn.svm.OneClassSVM(kernel="rbf")``.

    scikit-learn's score is s(x) = Σ_j c_j exp(-γ d_j²) with dual coefficients c_j that sum to νn. With
    α_j = c_j / Σc, σ = 1/√(2γ) and the offset log Σc it is recovered from the outlierness o = -log g:
    ``score_samples`` = exp(offset - o) and ``decision_function`` = exp(offset - o) - ``model.offset_``.

    Parameters
    ----------
    model : sklearn.svm.OneClassSVM
        Fitted with ``kernel="rbf"``, on dense or CSR data.

    Returns
    -------
    DistanceNetwork
        The support vectors as centers, with the training rows they came from.

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
    if model.kernel != "rbf":
        raise UnsupportedModelError(
            f"OneClassSVM(kernel={model.kernel!r}) does not work on distances, expected kernel='rbf'. "
            "Fit it again with OneClassSVM(kernel='rbf'). (whyodd.explain takes a linear one as it is.)"
        )
    require_fitted(model, "support_vectors_")
    # libsvm's (1, m) coefficients are sparse if the model was fitted on sparse data.
    duals = sparse.csr_array(model.dual_coef_).toarray().ravel()
    total = math.fsum(duals)
    return DistanceNetwork(
        model.support_vectors_,
        kernel=Exponential(q=2.0, sigma=1.0 / math.sqrt(2.0 * model._gamma)),
        # Logarithms keep dual coefficients apart whose share of the total underflows.
        log_weights=np.log(duals) - math.log(total),
        offset=math.log(total),
        rows=model.support_,
        n_rows=model.shape_fit_[0],
    )
