"""scikit-learn's one-class SVM against its network, on real data."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.kernels import Exponential


@pytest.fixture(scope="module")
def tumours():
    return scale(load_breast_cancer().data)


@pytest.fixture(scope="module", params=["scale", "auto", 0.003])
def model(request, tumours):
    return OneClassSVM(kernel="rbf", gamma=request.param, nu=0.1).fit(tumours[:300])


def test_scores_are_recovered_from_offset_and_outlierness(model, tumours):
    network = whyodd.neuralize(model)
    scores = np.exp(network.offset - network.outlierness(tumours))
    np.testing.assert_allclose(scores, model.score_samples(tumours), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores - model.offset_, model.decision_function(tumours), rtol=1e-9, atol=1e-9)


def test_network_holds_the_support_vectors_with_normalised_weights(model, tumours):
    network = whyodd.neuralize(model)
    np.testing.assert_array_equal(network.centers, model.support_vectors_)
    np.testing.assert_array_equal(network.centers, tumours[:300][network.rows])
    np.testing.assert_allclose(network.weights, model.dual_coef_[0] / model.dual_coef_.sum(), rtol=1e-14)
    assert math.isclose(network.weights.sum(), 1.0, rel_tol=1e-14)
    assert network.n_rows == 300
    assert network.kernel == Exponential(q=2.0, sigma=1 / math.sqrt(2 * model._gamma))


def test_sparse_fit_keeps_sparse_centers_and_the_same_scores(tumours):
    sparse_tumours = sparse.csr_matrix(np.where(np.abs(tumours) > 1, tumours, 0.0))
    model = OneClassSVM(gamma=0.02, nu=0.2).fit(sparse_tumours[:200])
    network = whyodd.neuralize(model)
    assert sparse.issparse(network.centers)
    scores = np.exp(network.offset - network.outlierness(sparse_tumours))
    np.testing.assert_allclose(scores, model.score_samples(sparse_tumours), rtol=1e-9, atol=1e-9)


def test_dual_coefficients_far_apart_keep_their_ratio():
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    weights = np.array([1e-200, 1.0, 1.0, 1.0])
    model = OneClassSVM(gamma=1.0, nu=0.9).fit(X, sample_weight=weights)
    network = whyodd.neuralize(model)
    duals = np.sort(model.dual_coef_[0])
    np.testing.assert_allclose(np.sort(network.log_weights), np.log(duals) - np.log(duals.sum()), rtol=1e-12)


def test_subclass_is_recognised(tumours):
    class Own(OneClassSVM):
        pass

    assert isinstance(whyodd.neuralize(Own().fit(tumours)), whyodd.DistanceNetwork)


def test_network_passes_through():
    network = whyodd.DistanceNetwork([[0.0], [1.0]])
    assert whyodd.neuralize(network) is network


def test_unfitted_model_says_to_fit():
    with pytest.raises(NotFittedError, match=r"OneClassSVM is not fitted yet: call fit"):
        whyodd.neuralize(OneClassSVM())


@pytest.mark.parametrize("kernel", ["poly", "sigmoid"])
def test_other_kernels_are_named(kernel, tumours):
    model = OneClassSVM(kernel=kernel).fit(tumours[:50])
    with pytest.raises(whyodd.UnsupportedModelError, match=rf"kernel='{kernel}'.*kernel='rbf'"):
        whyodd.neuralize(model)


def test_other_models_are_told_what_is_explained(tumours):
    with pytest.raises(
        whyodd.UnsupportedModelError,
        match=r"how sklearn\.ensemble\.RandomTreesEmbedding works inside\. .*normal=rows.* Exactly "
        r"explained are .*sklearn\.ensemble\.IsolationForest.* run whyodd models\.$",
    ):
        whyodd.neuralize(RandomTreesEmbedding(n_estimators=2).fit(tumours[:20]))


def test_pipeline_is_told_to_pass_its_last_step(tumours):
    pipeline = make_pipeline(StandardScaler(), OneClassSVM()).fit(tumours[:20])
    with pytest.raises(
        whyodd.UnsupportedModelError,
        match=r"neuralize\(pipeline\[-1\]\), or the whole pipeline to whyodd.explain",
    ):
        whyodd.neuralize(pipeline)


def test_class_instead_of_a_fitted_model():
    with pytest.raises(
        whyodd.UnsupportedModelError, match=r"got the class OneClassSVM. Pass OneClassSVM\(...\).fit"
    ):
        whyodd.neuralize(OneClassSVM)


def test_no_model_at_all():
    with pytest.raises(whyodd.UnsupportedModelError, match="Expected a fitted model, got NoneType"):
        whyodd.explain(None, [[1.0]])


def test_unsupported_is_a_type_error():
    with pytest.raises(TypeError):
        whyodd.neuralize(42)
