"""What every model in MODELS must keep to: scikit-learn's checks, signs, names, thresholds, explanations."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import whyodd
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.models.registry import MODELS, SVDD, DistanceDetector, OneClassSVM

KERNELS = ["gaussian", "student", "laplacian"]

# Each entry of MODELS in all its forms; an entry that is missing here fails the first test.
VARIANTS = {
    "committee": [whyodd.Committee(), whyodd.Committee(trusted=True)],
    "exemplar_mixture": [whyodd.ExemplarMixture(name, "median") for name in KERNELS],
    "gaussian": [whyodd.Gaussian(name, random_state=0) for name in ("full", "diagonal", "robust")],
    "gaussian_mixture": [
        whyodd.GaussianMixture(2, name, tol=0.1, random_state=0)
        for name in ("full", "tied", "diag", "spherical")
    ],
    "k_nearest_neighbors": [
        whyodd.KNearestNeighbors(measure=name) for name in ("mean", "kth", "median", "mean_vector")
    ],
    "kernel_density": [whyodd.KernelDensity(name, "median") for name in KERNELS],
    "kernel_pca": [whyodd.KernelPCA(), whyodd.KernelPCA(8, sigma=1.5)],
    "local_outlier_factor": [whyodd.LocalOutlierFactor(10)],
    "one_class_svm": [OneClassSVM(name, sigma="median") for name in KERNELS],
    "svdd": [SVDD(name, sigma="median") for name in KERNELS],
}


def over(models):
    """Parametrize a test with models, named by what they are constructed with."""
    return pytest.mark.parametrize("model", models, ids=lambda model: "".join(repr(model).split()))


def takes_sparse(model):
    return get_tags(model).input_tags.sparse


# Bandwidths as scikit-learn calls them.
IN_OTHER_WORDS = [OneClassSVM("rbf", gamma="scale"), whyodd.KernelDensity(bandwidth=0.5)]
ALL = [model for variants in VARIANTS.values() for model in variants]
over_models = over([cls() for cls in MODELS.values()])
over_variants = over(ALL)
over_sparse = over([model for model in ALL if takes_sparse(model)])
over_svms = over([*VARIANTS["one_class_svm"], *VARIANTS["svdd"]])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def training_rows(rng):
    return rng.standard_normal((300, 3))


@pytest.fixture
def new(rng):
    return 2.0 * rng.standard_normal((50, 3))


# Some checks have few rows, fewer than columns or than neighbours.
@pytest.mark.filterwarnings("ignore:n_neighbors=.., but each of")
@pytest.mark.filterwarnings("ignore:The covariance matrix associated to your dataset is not full rank")
@pytest.mark.filterwarnings("ignore:Determinant has increased")
@parametrize_with_checks([*(cls() for cls in MODELS.values()), *ALL, *IN_OTHER_WORDS])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_every_model_is_tested_in_all_its_forms():
    assert VARIANTS.keys() == MODELS.keys()
    for key, variants in VARIANTS.items():
        assert {type(model) for model in variants} == {MODELS[key]}


def test_models_are_public_detectors():
    for cls in MODELS.values():
        assert issubclass(cls, DistanceDetector)
        assert getattr(whyodd, cls.__name__) is cls


# ---- scores -----------------------------------------------------------------------------------------------


@over_variants
def test_scores_have_scikit_learns_signs(model, X, new):
    assert model.fit(X) is model
    o, g = model.outlierness(new), model.inlierness(new)
    assert o.shape == g.shape == (50,)
    assert np.all(o >= 0.0)
    assert np.all(g > 0.0)
    if not isinstance(model, whyodd.KernelDensity):  # whose scores are log-densities
        np.testing.assert_array_equal(model.score_samples(new), -o)
        assert model.offset_ == -model.threshold_
    np.testing.assert_array_equal(model.decision_function(new), model.score_samples(new) - model.offset_)
    predicted = model.predict(new)
    np.testing.assert_array_equal(predicted, np.where(o > model.threshold_, -1, 1))
    assert predicted.dtype.kind == "i"
    assert set(predicted) == {-1, 1}  # some of these rows are far away
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))
    # A high outlierness is a low inlierness, for every kernel.
    order = np.argsort(o, kind="stable")
    assert np.all(np.diff(g[order]) <= 1e-12)


@over_variants
def test_scores_are_those_of_the_network(model, X, new):
    model.fit(X)
    network = whyodd.neuralize(model)
    assert network is model.network_
    np.testing.assert_array_equal(network.outlierness(new), model.outlierness(new))
    np.testing.assert_array_equal(network.inlierness(new), model.inlierness(new))
    assert network.weights.sum() == pytest.approx(1.0)
    if network.rows is not None:
        np.testing.assert_array_equal(network.centers, X[network.rows])
        assert network.n_rows == 300


@over_svms
def test_support_vectors_are_the_centers(model, X):
    model = clone(model).fit(X)
    assert model.network_.kernel == model.kernel_
    np.testing.assert_array_equal(model.network_.centers, X[model.support_])
    np.testing.assert_allclose(model.network_.weights, model.weights_, rtol=1e-12)


WITH_BOUNDARY = (OneClassSVM, whyodd.LocalOutlierFactor, whyodd.Committee)
WITHOUT_BOUNDARY = [model for model in ALL if not isinstance(model, WITH_BOUNDARY)]
NARROW = [clone(model).set_params(sigma="nn") for model in WITHOUT_BOUNDARY if hasattr(model, "sigma")]


@over([*WITHOUT_BOUNDARY, *NARROW])
def test_about_a_tenth_of_new_normal_rows_are_outliers(model, rng):
    """Models without a boundary of their own: training rows are scored without themselves.

    With themselves, at the bandwidth of "nn", all new rows would be odder than all training rows.
    """
    rows = rng.standard_normal((4500, 5))
    share = np.mean(clone(model).fit(rows[:500]).predict(rows[500:]) == -1)
    # 500 rows put the threshold within 0.014, one standard deviation; weights fitted to the training rows are
    # a little too good for them.
    assert 0.05 < share < 0.16


@over_variants
@pytest.mark.parametrize("parameters", [{}, {"contamination": 0.2}], ids=str)
def test_weights_are_repetition(model, X, new, rng, parameters):
    """In g for every model; in o and the threshold too, unless o counts centers and copies are centers."""
    model = clone(model).set_params(**parameters)
    if isinstance(model, OneClassSVM):
        model.set_params(tol=1e-6)
    X[:40] = X[40:80]  # some rows are equal already
    weights = rng.integers(0, 4, 300)
    weighted = clone(model).fit(X, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0)[rng.permutation(weights.sum())])
    # What rounding and the tolerance of training leave.
    rtol = 1e-5 if isinstance(model, OneClassSVM) else 1e-9
    np.testing.assert_allclose(weighted.inlierness(new), repeated.inlierness(new), rtol=rtol)
    counts_copies = isinstance(model, whyodd.KernelDensity) and model.kernel == "student"
    if not counts_copies and not parameters:
        decision = repeated.decision_function(new)
        np.testing.assert_allclose(weighted.decision_function(new), decision, rtol=rtol, atol=rtol)


@over_svms
@pytest.mark.parametrize("nu", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("rule", ["nn", "median"])
def test_threshold_is_that_of_nu(model, X, nu, rule):
    model = clone(model).set_params(nu=nu, sigma=rule).fit(X)
    share = np.mean(model.outlierness(X) > model.threshold_)
    free = np.count_nonzero(model.weights_ < (1 - 1e-9) / (nu * len(X)))
    # Outliers have α = 1/(νn): there are at most νn of them, and that many but for the free ones.
    assert share <= nu + 3 / len(X)
    assert share >= nu - (free + 1) / len(X)
    assert len(model.support_) >= nu * len(X)


@over_variants
@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5])
def test_contamination_gives_the_share_asked_for(model, X, share):
    plain = clone(model).fit(X)
    cut = clone(model).set_params(contamination=share).fit(X)
    # Two rows that are each other's neighbours may have the same distance.
    assert np.mean(cut.predict(X) == -1) == pytest.approx(share, abs=2 / len(X))
    np.testing.assert_array_equal(cut.outlierness(X), plain.outlierness(X))  # only the threshold differs


@over_models
def test_contamination_counts_weights(model, X):
    weights = np.ones(300)
    weights[:100] = 3.0
    model = clone(model).set_params(contamination=0.2).fit(X, sample_weight=weights)
    flagged = weights[model.predict(X) == -1].sum() / weights.sum()
    assert flagged == pytest.approx(0.2, abs=3.0 / weights.sum())


@over_models
@pytest.mark.parametrize("share", [0.0, -0.1, 0.51, 1.0, np.nan, "auto", "0.1"])
def test_contamination_out_of_range_is_a_clear_error(model, X, share):
    with pytest.raises(ValueError, match=r"contamination=.*expected a share of outliers in \(0, 0.5\]"):
        clone(model).set_params(contamination=share).fit(X)


# ---- input ------------------------------------------------------------------------------------------------


@over_variants
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_names_of_columns(model, X, new, make):
    columns = ["speed", "load", "heat"]
    frame, frame_new = (make(dict(zip(columns, part.T, strict=True))) for part in (X, new))
    named, plain = clone(model).fit(frame), clone(model).fit(X)
    assert named.n_features_in_ == plain.n_features_in_ == 3
    assert list(named.feature_names_in_) == columns
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_array_equal(named.outlierness(frame_new), plain.outlierness(new))
    e = whyodd.explain(named, frame_new)
    assert e.feature_names == tuple(columns)
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame_new[columns[::-1]])


@over_models
def test_names_are_forgotten_in_a_fit_without_them(model, X):
    model = clone(model).fit(pd.DataFrame(X, columns=["a", "b", "c"])).fit(X)
    assert not hasattr(model, "feature_names_in_")


@over_variants
def test_float32_stays_float32_and_gives_the_same(model, X, new):
    X, new = X.astype(np.float32), new.astype(np.float32)
    tight = {"tol": 1e-5} if isinstance(model, OneClassSVM) else {}
    single = clone(model).set_params(**tight).fit(X)
    double = clone(model).set_params(**tight).fit(X.astype(np.float64))
    o, o_double = single.outlierness(new), double.outlierness(new.astype(np.float64))
    # 1e-4 is what float32 is to keep; the two fits see the same numbers.
    np.testing.assert_allclose(o, o_double, rtol=1e-4)
    assert single.threshold_ == pytest.approx(double.threshold_, rel=1e-4)


def mostly_zero(rng, dtype):
    return (rng.standard_normal((200, 8)) * (rng.random((200, 8)) < 0.4)).astype(dtype)


@over_svms
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_trains_as_dense(model, rng, container, dtype):
    X = mostly_zero(rng, dtype)
    dense = clone(model).set_params(tol=1e-5, sigma=2.0).fit(X)
    other = clone(model).set_params(tol=1e-5, sigma=2.0).fit(container(X))
    # Both are within the tolerance: 1e-5 / (νn) in g, and Student's m may differ by a hair's breadth of α.
    g, g_other = dense.inlierness(X), other.inlierness(container(X))
    np.testing.assert_allclose(g_other, g, atol=1e-4 * g.max())
    np.testing.assert_allclose(other.inlierness(X), g_other, rtol=1e-4)
    assert other.dual_objective_ == pytest.approx(dense.dual_objective_, rel=1e-5)


@over([model for model in ALL if takes_sparse(model) and not isinstance(model, OneClassSVM)])
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_is_dense(model, rng, container, dtype):
    X = mostly_zero(rng, dtype)
    new = X[:50] + mostly_zero(rng, dtype)[:50]
    dense, other = clone(model).fit(X), clone(model).fit(container(X))
    # What the search among CSR rows keeps; exemplars are trained with similarities in float32.
    rtol = 1e-4 if dtype is np.float32 else 1e-5 if isinstance(model, whyodd.ExemplarMixture) else 1e-7
    np.testing.assert_allclose(other.outlierness(container(new)), dense.outlierness(new), rtol=rtol)
    np.testing.assert_allclose(other.outlierness(new), dense.outlierness(new), rtol=rtol)
    assert other.threshold_ == pytest.approx(dense.threshold_, rel=rtol)


@over_sparse
def test_csr_is_explained(model, rng):
    X = sparse.csr_array(mostly_zero(rng, np.float64))
    e = whyodd.explain(clone(model).fit(X), X)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)


@over([model for model in ALL if not takes_sparse(model)])
def test_csr_is_refused_where_it_would_have_to_be_filled(model, rng):
    with pytest.raises(TypeError, match="Sparse data was passed"):
        clone(model).fit(sparse.csr_array(mostly_zero(rng, np.float64)))


@over_models
def test_lists_and_integers_are_taken(model):
    rows = [[0, 1], [1, 0], [2, 2], [3, 1], [4, 7]] * 5
    rows = [[a + i % 3, b] for i, (a, b) in enumerate(rows)]
    assert clone(model).fit(rows).predict([[100, 100]])[0] == -1


@over_models
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_are_left_alone_and_may_be_read_only(model, X, dtype):
    X = X.astype(dtype)
    before = X.copy()
    X.flags.writeable = False
    model = clone(model).fit(X, sample_weight=np.ones(300))
    model.predict(X)
    np.testing.assert_array_equal(X, before)


# ---- life of an estimator ---------------------------------------------------------------------------------


@over_variants
def test_clone_parameters_and_pickle(model, X, new):
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(clone(model).fit(X)), "network_")
    fitted = clone(model).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(new), fitted.decision_function(new))
    np.testing.assert_array_equal(again.outlierness(new), fitted.outlierness(new))


@over_models
def test_parameters_are_assigned_as_they_came(model):
    for name, value in model.get_params().items():
        assert getattr(model, name) is value or getattr(model, name) == value
    assert set(clone(model).set_params(contamination=0.3).get_params()) == set(model.get_params())


@over_models
@pytest.mark.parametrize(
    "method", ["predict", "decision_function", "score_samples", "outlierness", "inlierness"]
)
def test_unfitted_model_says_so(model, X, method):
    with pytest.raises(NotFittedError):
        getattr(clone(model), method)(X)


@over_models
def test_unfitted_model_cannot_be_explained(model, X):
    with pytest.raises(NotFittedError):
        whyodd.explain(clone(model), X)


@over_models
def test_a_fit_that_fails_leaves_no_model_that_looks_fitted(model, X):
    model = clone(model).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 2, np.nan, X))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@over_models
def test_same_bytes_every_time(model, X):
    first, second = clone(model).fit(X), clone(model).fit(X)
    np.testing.assert_array_equal(first.network_.weights, second.network_.weights)
    np.testing.assert_array_equal(first.outlierness(X), second.outlierness(X))
    assert first.threshold_ == second.threshold_


@over_models
def test_works_in_a_pipeline(model, X, new):
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X)
    assert set(pipeline.predict(new)) <= {-1, 1}
    assert pipeline.score_samples(new).shape == (50,)


# ---- explanations -----------------------------------------------------------------------------------------


def mixes_columns(metric):
    if isinstance(metric, ComponentMetric):
        return not metric.is_diagonal
    return isinstance(metric, LinearMetric)


@over_variants
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_explanation_conserves_the_outlierness(model, X, new, dtype):
    model = clone(model).fit(X.astype(dtype))
    e = whyodd.explain(model, new.astype(dtype))
    # What explanations promise in each precision.
    rtol = 1e-9 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=rtol)
    np.testing.assert_allclose(e.outlierness, model.outlierness(new.astype(dtype)), rtol=rtol)
    assert np.all(e.unexplained >= 0.0)
    if not mixes_columns(getattr(model.network_, "metric", None)):  # else single relevances may be negative
        assert np.all(e.relevance >= 0.0)
    assert np.all(e.excluded == -1)


@over_sparse
@pytest.mark.parametrize("kind", ["float64", "float32", "csr", "frame"])
def test_training_rows_do_not_explain_themselves(model, X, kind):
    given = {
        "float64": lambda: X,
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: sparse.csr_array(X),
        "frame": lambda: pd.DataFrame(X, columns=["a", "b", "c"]),
    }[kind]()
    model = clone(model).fit(given)
    e = whyodd.explain(model, given)
    own = np.full(300, -1)
    own[model.network_.rows] = np.arange(model.network_.n_centers)
    np.testing.assert_array_equal(e.excluded, own)
    rtol = 1e-4 if kind == "float32" else 1e-9
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=rtol)
    kept = whyodd.explain(model, given, exclude_self=False)
    assert np.all(kept.excluded == -1)
    assert whyodd.explain(model, given[:10]).excluded.max() == -1  # not all of the training rows


@over_sparse
def test_nearest_normals_are_training_rows(model, X, new):
    model = clone(model).fit(X)
    for neighbor in whyodd.explain(model, new[:3])[0].neighbors(2)[0]:
        assert neighbor.row in model.network_.rows


@over_models
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_numbers_whose_squares_no_float_holds_are_told(model, size):
    with pytest.raises(ValueError, match="its square does not fit into a float"):
        clone(model).fit(np.random.default_rng(0).normal(size=(20, 3)) * size)
