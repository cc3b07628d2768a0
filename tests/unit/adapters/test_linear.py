"""The signed decomposition of linear one-class models."""

import numpy as np
import pytest
from pyod.models.ocsvm import OCSVM
from scipy import sparse
from sklearn.linear_model import SGDOneClassSVM
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.network.linear_score import LinearScore

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) + np.array([3.0, 0.0, -1.0])


def test_outlierness_is_signed():
    score = LinearScore(np.array([1.0, 0.0]), offset=2.0)
    parts = score.decompose([[5.0, 9.0], [-1.0, 9.0]])
    np.testing.assert_array_equal(parts.outlierness, [-3.0, 3.0])
    np.testing.assert_array_equal(parts.relevance, [[-5.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(parts.unexplained, [2.0, 2.0])
    np.testing.assert_array_equal(parts.log_inlierness, [3.0, -3.0])


def test_reference_is_the_origin():
    score = LinearScore(np.array([1.0, -2.0]), offset=0.5)
    np.testing.assert_array_equal(score.expected(X[:, :2]), np.zeros((60, 2)))
    np.testing.assert_array_equal(score.decompose(np.zeros((1, 2))).relevance, [[0.0, 0.0]])


def test_sparse_fit_and_sparse_rows():
    rows = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    model = OneClassSVM(kernel="linear", nu=0.2).fit(rows)
    score = whyodd.neuralize(model)
    assert score.n_features == 3
    np.testing.assert_allclose(-score.outlierness(rows), model.decision_function(rows), atol=1e-12)


def test_float32_rows_give_float32_relevance():
    parts = LinearScore(np.ones(3), 1.0).decompose(X.astype(np.float32))
    assert parts.relevance.dtype == np.float32
    assert parts.outlierness.dtype == np.float64


@pytest.mark.parametrize("model", [OneClassSVM(), OCSVM(), whyodd.OneClassSVM()])
def test_models_with_another_kernel_are_networks(model):
    assert isinstance(whyodd.neuralize(model.fit(X)), whyodd.DistanceNetwork)


def test_wrong_number_of_columns_is_told():
    with pytest.raises(ValueError, match=r"X has 2 column\(s\), the model was fitted on 3"):
        whyodd.neuralize(SGDOneClassSVM(random_state=0).fit(X)).decompose(X[:, :2])


def test_parts_cannot_be_written_to():
    score = LinearScore(np.ones(3), 1.0)
    with pytest.raises(ValueError, match="read-only"):
        score.coef[0] = 2.0
