"""scikit-learn's linear decompositions: reconstruction errors, and FactorAnalysis."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.decomposition import NMF, PCA, FactorAnalysis, FastICA, IncrementalPCA, SparsePCA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM

import whyodd

WINE = load_wine(as_frame=True).data
X = WINE.to_numpy()
MODELS = [
    PCA(4),
    PCA(4, whiten=True),
    PCA(0.999, svd_solver="full"),
    IncrementalPCA(4),
    TruncatedSVD(4, random_state=0),
    FastICA(4, tol=0.5, random_state=0),
    FastICA(4, tol=0.5, whiten="arbitrary-variance", random_state=0),
    SparsePCA(4, random_state=0),
]


@pytest.mark.parametrize("model", MODELS)
def test_relevance_is_the_squared_error_and_the_reconstruction_is_expected(model):
    model.fit(X[::2])
    rebuilt = model.inverse_transform(model.transform(X[1::2]))
    e = whyodd.explain(model, X[1::2])
    np.testing.assert_allclose(e.expected, rebuilt, rtol=1e-9, atol=1e-9)
    # What is lost of large numbers rounds as these do.
    np.testing.assert_allclose(e.relevance, (X[1::2] - rebuilt) ** 2, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(e.outlierness, ((X[1::2] - rebuilt) ** 2).sum(axis=1), rtol=1e-9)
    assert e.threshold is None


def test_behind_a_scaler_the_reconstruction_comes_in_raw_units():
    pipeline = make_pipeline(StandardScaler(), PCA(4)).fit(WINE[::2])
    e = whyodd.explain(pipeline, WINE[1::2])
    rebuilt = pipeline.inverse_transform(pipeline.transform(WINE[1::2]))
    np.testing.assert_allclose(e.expected, rebuilt, rtol=1e-9)
    errors = (WINE[1::2].to_numpy() - rebuilt) / pipeline[0].scale_
    np.testing.assert_allclose(e.relevance, errors**2, rtol=1e-9, atol=1e-12)


def test_before_a_detector_it_is_a_step():
    pipeline = make_pipeline(StandardScaler(), PCA(4), OneClassSVM(gamma=0.1)).fit(WINE)
    e = whyodd.explain(pipeline, WINE[:5])
    assert e.network.n_features == 4
    assert list(e.feature_names) == list(WINE.columns)


def test_inside_of_another_pipeline_the_last_one_is_the_model():
    pipeline = make_pipeline(StandardScaler(), PCA(8), PCA(3)).fit(WINE)
    e = whyodd.explain(pipeline, WINE)
    middle = pipeline[:2].transform(WINE)
    rebuilt = pipeline[2].inverse_transform(pipeline[2].transform(middle))
    np.testing.assert_allclose(e.outlierness, ((middle - rebuilt) ** 2).sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
    assert (e.relevance >= -1e-12).all()  # principal axes: shares are squares


def test_sparse_rows_are_explained_as_dense_ones():
    rows = sparse.random(40, 20, density=0.2, random_state=0, format="csr")
    model = TruncatedSVD(3, random_state=0).fit(rows)
    e = whyodd.explain(model, rows)
    np.testing.assert_allclose(e.relevance, whyodd.explain(model, rows.toarray()).relevance, rtol=1e-12)


def test_categories_are_told():
    rows = np.array([["red", "round"]] * 20 + [["blue", "square"]] * 20 + [["red", "square"]], dtype=object)
    pipeline = make_pipeline(OneHotEncoder(sparse_output=False), PCA(1)).fit(rows)
    e = whyodd.explain(pipeline, rows)
    assert e.outlierness.argmax() == 40


@pytest.mark.parametrize("model", [PCA(), FastICA(tol=0.5, random_state=0), TruncatedSVD(13, random_state=0)])
def test_a_model_that_loses_nothing_is_refused(model):
    with pytest.raises(whyodd.UnsupportedModelError, match=r"keeps 13 component.* n_components below 13"):
        whyodd.neuralize(model.fit(X))


def test_what_is_not_linear_is_refused():
    with pytest.raises(whyodd.UnsupportedModelError, match="NMF"):
        whyodd.neuralize(NMF(2, random_state=0, max_iter=1000).fit(X))


def test_factor_analysis_is_told_by_its_likelihood():
    model = FactorAnalysis(3).fit(StandardScaler().fit_transform(X))
    rows = StandardScaler().fit_transform(X)
    network = whyodd.neuralize(model)
    own = network.verdict.scale.score(network.outlierness(rows))
    np.testing.assert_allclose(own, -model.score_samples(rows), rtol=1e-9)
