"""Isolation forests of scikit-learn, PyOD and isotree, with the real packages; shap's values beside ours."""

import isotree
import numpy as np
import pandas as pd
import pytest
from pyod.models.iforest import IForest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.ensemble._iforest import _average_path_length
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from contracts.fitted import own_scores
from whyodd.adapters.forests import average_path_length
from whyodd.network.verdict import AffineScale

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 6)) @ RNG.normal(size=(6, 6))
ROWS = np.vstack([X[:20], 3.0 * RNG.normal(size=(20, 6))])


def test_average_path_length_is_scikit_learns():
    n = np.array([1, 2, 3, 4, 10, 256, 10**6])
    np.testing.assert_array_equal(average_path_length(n), _average_path_length(n))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")  # of shap
@pytest.mark.parametrize(
    "model",
    [
        IsolationForest(random_state=0),
        IsolationForest(n_estimators=10, max_samples=600, random_state=0),
        IsolationForest(n_estimators=10, max_samples=16, random_state=0),
        IsolationForest(n_estimators=1, random_state=0),
    ],
)
def test_relevance_is_minus_what_shap_says_of_the_path(model):
    import shap

    model.fit(X)
    explainer = shap.TreeExplainer(model)
    e = whyodd.explain(model, ROWS)
    np.testing.assert_allclose(e.relevance, -explainer.shap_values(ROWS), rtol=0, atol=1e-10)
    # What shap expects is the path of an average row.
    forest = whyodd.neuralize(model)
    np.testing.assert_allclose(np.ravel(explainer.expected_value)[0], forest.average_path, rtol=1e-12)


def test_values_are_compared_as_scikit_learn_does():
    """Thresholds that float32 values reach, and float64 ones do not."""
    values = np.linspace(1.0, 1.0 + 1e-6, 400)[:, None]
    model = IsolationForest(random_state=0).fit(values)
    np.testing.assert_allclose(
        own_scores(model, whyodd.neuralize(model), values), -model.score_samples(values), rtol=1e-12
    )


def test_sample_weights_and_constant_columns():
    rows = X.copy()
    rows[:, 2] = 7.0
    model = IsolationForest(random_state=0).fit(rows, sample_weight=RNG.uniform(size=600))
    e = whyodd.explain(model, rows[:50] + np.eye(6)[2])
    np.testing.assert_array_equal(e.relevance[:, 2], 0.0)
    np.testing.assert_allclose(
        own_scores(model, e.network, rows[:50] + np.eye(6)[2]), -model.score_samples(rows[:50] + np.eye(6)[2])
    )


def test_trees_of_one_row_find_nothing_odd():
    model = IsolationForest(n_estimators=3, max_samples=1, random_state=0).fit(X)
    member = whyodd.neuralize(model)
    assert member.verdict.scale == AffineScale(shift=0.5)
    np.testing.assert_array_equal(member.outlierness(ROWS), 0.0)
    np.testing.assert_allclose(own_scores(model, member, ROWS), -model.score_samples(ROWS))
    assert "nothing is odd" in whyodd.explain(model, ROWS).why(0)


def test_a_forest_fitted_on_sparse_rows():
    rows = sparse.random_array((300, 20), density=0.2, format="csr", rng=0)
    model = IsolationForest(random_state=0).fit(rows)
    e = whyodd.explain(model, rows)
    np.testing.assert_allclose(own_scores(model, e.network, rows), -model.score_samples(rows), rtol=1e-12)
    np.testing.assert_array_equal(e.relevance, whyodd.explain(model, rows.toarray()).relevance)
    assert e.why(0)


def test_threshold_is_the_models_own():
    model = IsolationForest(contamination=0.1, random_state=0).fit(X)
    np.testing.assert_array_equal(whyodd.explain(model, X).is_odd, model.predict(X) == -1)
    pyod = IForest(contamination=0.1, random_state=0).fit(X)
    np.testing.assert_array_equal(whyodd.explain(pyod, X).is_odd, pyod.predict(X) == 1)


def test_behind_a_scaler_it_is_that_of_scaled_rows():
    frame = pd.DataFrame(X * 1000.0 + 5000.0, columns=list("abcdef"))
    pipeline = make_pipeline(StandardScaler(), IsolationForest(random_state=0)).fit(frame)
    e = whyodd.explain(pipeline, frame)
    plain = whyodd.explain(pipeline[-1], pipeline[:-1].transform(frame))
    np.testing.assert_array_equal(e.relevance, plain.relevance)
    assert e.feature_names == tuple("abcdef")
    assert isinstance(e.to_frame(), pd.DataFrame)


def test_behind_a_step_that_mixes_columns_it_says_what_to_do():
    pipeline = make_pipeline(PCA(3), IsolationForest(random_state=0)).fit(X)
    with pytest.raises(whyodd.UnsupportedModelError, match=r"Call whyodd.explain\(pipeline\[-1\]"):
        whyodd.explain(pipeline, X)


def test_refitted_forest_is_read_again():
    model = IsolationForest(n_estimators=5, random_state=0).fit(X)
    before = whyodd.explain(model, ROWS).outlierness
    model.set_params(random_state=1).fit(X)
    after = whyodd.explain(model, ROWS).outlierness
    assert not np.array_equal(before, after)
    grown = isotree.IsolationForest(ntrees=3, ndim=1, random_seed=1, nthreads=1).fit(X)
    assert whyodd.neuralize(grown).n_trees == 3
    grown.partial_fit(X)
    assert whyodd.neuralize(grown).n_trees == 4


class TestIsotree:
    @pytest.mark.parametrize(
        "keywords",
        [
            {},
            {"max_depth": None, "sample_size": 100},
            {"prob_pick_pooled_gain": 0.5, "ntry": 3},
            {"weigh_by_kurtosis": True, "ncols_per_tree": 3},
        ],
    )
    def test_gives_back_its_scores(self, keywords):
        model = isotree.IsolationForest(ntrees=20, ndim=1, random_seed=1, nthreads=1, **keywords).fit(X)
        e = whyodd.explain(model, ROWS)
        np.testing.assert_allclose(
            own_scores(model, e.network, ROWS), model.decision_function(ROWS), rtol=1e-12
        )
        depth = e.network.longest_path - e.outlierness
        np.testing.assert_allclose(depth, model.predict(ROWS, output="avg_depth"), rtol=1e-12)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)

    @pytest.mark.parametrize(
        "keywords",
        [{"ndim": 2}, {"ndim": 1, "scoring_metric": "density"}, {"ndim": 1, "penalize_range": True}],
    )
    def test_what_is_no_depth_of_single_splits_is_refused(self, keywords):
        model = isotree.IsolationForest(ntrees=3, random_seed=1, nthreads=1, **keywords).fit(X)
        with pytest.raises(whyodd.UnsupportedModelError, match=r"expected \w+=.* Fit it again with"):
            whyodd.explain(model, ROWS)

    def test_categories_are_refused(self):
        frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(RNG.choice(["x", "y"], 600))})
        model = isotree.IsolationForest(ntrees=3, ndim=1, random_seed=1, nthreads=1).fit(frame)
        with pytest.raises(whyodd.UnsupportedModelError, match="fitted on categories"):
            whyodd.neuralize(model)

    def test_unfitted_says_to_fit(self):
        with pytest.raises(NotFittedError, match="call fit"):
            whyodd.neuralize(isotree.IsolationForest(ndim=1))
