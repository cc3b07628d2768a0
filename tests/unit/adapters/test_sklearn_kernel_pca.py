"""Fitted kernel PCA of scikit-learn and PyOD: its reconstruction error, and what cannot be explained."""

import gc
import weakref

import numpy as np
import pytest
from pyod.models.kpca import KPCA
from scipy import sparse
from sklearn.decomposition import PCA, KernelPCA

import whyodd
from whyodd.adapters.sklearn_kernel_pca import error_in_feature_space

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)) @ RNG.normal(size=(4, 4))
NEW = 2.0 * RNG.normal(size=(30, 4))


def test_error_is_that_of_a_row_and_its_reconstruction():
    """‖φ(x) - φ̂(x)‖² by the training rows' own kernel matrix, for a row that was trained on."""
    model = KernelPCA(10, kernel="rbf", gamma=0.1).fit(X)
    K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    centering = np.eye(80) - 1.0 / 80
    centered = centering @ K @ centering
    values, vectors = np.linalg.eigh(centered)
    left = np.diag(centered) - (vectors[:, -10:] ** 2 * values[-10:]).sum(axis=1)
    np.testing.assert_allclose(whyodd.neuralize(model).outlierness(X), left, rtol=1e-9)


def test_of_all_components_pyods_default():
    """Training rows are reconstructed wholly. The smallest variance is 1e-9 of the largest: f keeps 1e-10."""
    model = KPCA(gamma=0.5).fit(X)
    network = whyodd.neuralize(model)
    np.testing.assert_allclose(network.outlierness(NEW), model.decision_function(NEW), rtol=1e-9, atol=1e-12)
    assert np.all(network.outlierness(X) < 1e-10)
    e = whyodd.explain(model, NEW)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-12)


def test_a_sample_is_what_pyod_knows():
    model = KPCA(sampling=True, subset_size=0.5, n_components=6, random_state=3).fit(X)
    network = whyodd.neuralize(model)
    assert network.n_centers == 40
    np.testing.assert_allclose(network.outlierness(NEW), model.decision_function(NEW), rtol=1e-9)
    e = whyodd.explain(model, NEW)
    assert e.threshold == pytest.approx(model.threshold_, rel=1e-9)


def test_threshold_is_pyods():
    model = KPCA(n_components=6, contamination=0.2).fit(X)
    e = whyodd.explain(model, NEW)
    np.testing.assert_array_equal(e.outlierness > e.threshold, model.predict(NEW) == 1)


def test_linear_kernel_is_what_pca_cannot_reconstruct():
    network = whyodd.neuralize(KernelPCA(2, kernel="linear").fit(X))
    pca = PCA(2).fit(X)
    left = ((NEW - pca.inverse_transform(pca.transform(NEW))) ** 2).sum(axis=1)
    np.testing.assert_allclose(network.outlierness(NEW), left, rtol=1e-9)
    e = whyodd.explain(network, NEW)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, left, rtol=1e-9)
    np.testing.assert_allclose(
        error_in_feature_space(KernelPCA(2, kernel="linear").fit(X), NEW), left, rtol=1e-9
    )


def test_trained_on_sparse_rows():
    rows = np.where(RNG.random((60, 5)) < 0.4, RNG.normal(size=(60, 5)), 0.0)
    dense, other = (
        KernelPCA(5, kernel="rbf", gamma=0.3).fit(each) for each in (rows, sparse.csr_array(rows))
    )
    np.testing.assert_allclose(
        whyodd.neuralize(other).outlierness(rows), whyodd.neuralize(dense).outlierness(rows), rtol=1e-9
    )


@pytest.mark.parametrize("kernel", ["poly", "sigmoid", "cosine"])
@pytest.mark.parametrize("kind", [KernelPCA, KPCA])
def test_other_kernels_are_refused(kind, kernel):
    model = kind(n_components=3, kernel=kernel).fit(X)
    with pytest.raises(whyodd.UnsupportedModelError) as told:
        whyodd.neuralize(model)
    name = kind.__name__
    assert str(told.value) == (
        f"{name}(kernel={kernel!r}) compares rows by more than their distance, expected kernel='rbf' or "
        f"'linear'. Fit it again with {name}(kernel='rbf')."
    )


def test_all_of_a_linear_kernels_components_leave_nothing():
    with pytest.raises(
        whyodd.UnsupportedModelError, match="reconstructs every row, expected fewer components"
    ):
        whyodd.neuralize(KernelPCA(4, kernel="linear").fit(X))


def test_does_not_hold_on_to_the_model():
    model = KernelPCA(5, kernel="rbf").fit(X)
    network, alive = whyodd.neuralize(model), weakref.ref(model)
    before = network.outlierness(NEW)
    model.eigenvectors_[:] = 0.0
    del model
    gc.collect()
    assert alive() is None
    np.testing.assert_array_equal(network.outlierness(NEW), before)
