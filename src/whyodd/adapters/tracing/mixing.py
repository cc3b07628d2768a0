"""Linear maps that mix columns: z = A (x - center)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.adapters.tracing.errors import Untraceable
from whyodd.adapters.tracing.readings import Readings, dense

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.adapters.tracing.columns import Columns

    Floats = NDArray[np.float64]


def trace_pca(step: Any, columns: Columns) -> Columns:
    """``PCA``, ``IncrementalPCA``: principal axes, divided by their spread if whitened."""
    matrix = step.components_
    if step.whiten:
        # As the step itself does it, axes without spread are not divided by 0.
        spread = np.sqrt(step.explained_variance_)
        matrix = matrix / np.maximum(spread, np.finfo(spread.dtype).eps)[:, np.newaxis]
    return _mix(columns, matrix, step.inverse_transform, shift=True)


def trace_truncated_svd(step: Any, columns: Columns) -> Columns:
    """``TruncatedSVD``: singular vectors, no center."""
    return _mix(columns, step.components_, step.inverse_transform, shift=False)


def trace_sparse_pca(step: Any, columns: Columns) -> Columns:
    """``SparsePCA``, ``MiniBatchSparsePCA``: ridge regression on the components, (C Cᵀ + λ 1)⁻¹ C."""
    components = step.components_
    ridge = components @ components.T + step.ridge_alpha * np.eye(len(components))
    return _mix(columns, np.linalg.solve(ridge, components), step.inverse_transform, shift=True)


def trace_factor_analysis(step: Any, columns: Columns) -> Columns:
    """``FactorAnalysis``: the posterior mean of the factors, (1 + W Ψ⁻¹ Wᵀ)⁻¹ W Ψ⁻¹."""
    loadings = step.components_
    precise = loadings / step.noise_variance_
    matrix = np.linalg.solve(np.eye(len(loadings)) + precise @ loadings.T, precise)
    return _mix(columns, matrix, lambda factors: factors @ loadings + step.mean_, shift=True)


def trace_fast_ica(step: Any, columns: Columns) -> Columns:
    """``FastICA``: the unmixing matrix, with whitening in it."""
    return _mix(columns, step.components_, step.inverse_transform, shift=bool(step.whiten))


def trace_random_projection(step: Any, columns: Columns) -> Columns:
    """``GaussianRandomProjection``, ``SparseRandomProjection``: random directions, no center."""
    return _mix(columns, step.components_, step.inverse_transform, shift=False)


def trace_feature_agglomeration(step: Any, columns: Columns) -> Columns:
    """``FeatureAgglomeration``: the mean of each cluster of columns."""
    if step.pooling_func is not np.mean:
        raise Untraceable("it pools columns by a function other than the mean")
    places = np.arange(columns.count)
    members = sparse.csr_array((np.ones(columns.count), (step.labels_, places)))
    sizes = np.bincount(step.labels_)
    return _mix(columns, sparse.diags_array(1.0 / sizes) @ members, step.inverse_transform, shift=False)


def _mix(columns: Columns, matrix: Any, preimage: Callable[[Floats], Floats], *, shift: bool) -> Columns:
    def undo(readings: Readings) -> Readings:
        # A component that a later selection left out is read as 0, its mean.
        read = readings.as_numbers()
        values = np.asarray(preimage(dense(read.numbers)), dtype=np.float64)
        return Readings(values, np.full(columns.count, read.known.any()))

    return columns.mixed_by(matrix, undo, shift=shift)
