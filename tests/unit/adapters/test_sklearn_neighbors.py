"""scikit-learn's neighbour searches against their networks, with the data that break them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.neighbors import KDTree, LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import scale

import whyodd

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
ROWS = RNG.normal(size=(20, 3)) * 3


def scores(model, rows):
    return -whyodd.neuralize(model).outlierness(rows)


class TestLocalOutlierFactor:
    def test_training_rows_without_themselves_have_the_factor_of_outlier_detection(self):
        tumours = scale(load_breast_cancer().data)
        model = LocalOutlierFactor(n_neighbors=20, novelty=True).fit(tumours)
        e = whyodd.explain(model, tumours)
        np.testing.assert_allclose(e.outlierness, -model.negative_outlier_factor_, rtol=1e-9)

    @pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
    def test_more_equal_rows_than_neighbours_give_the_models_huge_factors(self, algorithm):
        # Whole numbers: the distances of brute force are exact as well.
        rows = np.vstack([np.full((30, 2), 3.0), RNG.integers(-9, 9, size=(30, 2))])
        model = LocalOutlierFactor(n_neighbors=5, novelty=True, algorithm=algorithm).fit(rows)
        assert model._lrd.max() == pytest.approx(1e10)
        odd = np.array([[3.0, 3.0], [3.0, 4.0], [-20.0, 5.0], [100.0, 100.0]])
        factors = -model.score_samples(odd)
        assert factors.max() > 1e10
        e = whyodd.explain(model, odd)
        np.testing.assert_allclose(e.outlierness, factors, rtol=1e-12)
        assert np.isfinite(e.relevance).all()
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-12)

    def test_neighbours_beyond_the_number_of_rows_are_cut_as_in_scikit_learn(self):
        with pytest.warns(UserWarning, match="n_neighbors"):
            model = LocalOutlierFactor(n_neighbors=100, novelty=True).fit(X)
        assert whyodd.neuralize(model).pooling.k == 59
        np.testing.assert_allclose(scores(model, ROWS), model.score_samples(ROWS), rtol=1e-12)
        # 59 others remain, which is just enough.
        np.testing.assert_allclose(
            whyodd.explain(model, X).outlierness, -model.negative_outlier_factor_, rtol=1e-12
        )

    def test_two_rows_are_enough(self):
        model = LocalOutlierFactor(n_neighbors=1, novelty=True).fit([[0.0], [1.0]])
        np.testing.assert_allclose(scores(model, [[4.0]]), model.score_samples([[4.0]]), rtol=1e-12)

    def test_sparse_rows_stay_sparse(self):
        rows = sparse.random_array((50, 30), density=0.2, rng=RNG, format="csr")
        model = LocalOutlierFactor(n_neighbors=5, novelty=True).fit(rows[:40])
        assert sparse.issparse(whyodd.neuralize(model).centers)
        np.testing.assert_allclose(scores(model, rows[40:]), model.score_samples(rows[40:]), rtol=1e-9)

    def test_float32_rows_are_scored_within_their_precision(self):
        model = LocalOutlierFactor(n_neighbors=5, novelty=True).fit(X.astype(np.float32))
        rows = ROWS.astype(np.float32)
        np.testing.assert_allclose(scores(model, rows), model.score_samples(rows), rtol=1e-5)

    def test_outlier_detection_is_told_to_be_novelty_detection(self):
        with pytest.raises(
            whyodd.UnsupportedModelError, match=r"novelty=False.*LocalOutlierFactor\(novelty=True"
        ):
            whyodd.neuralize(LocalOutlierFactor().fit(X))


class TestNearestNeighbors:
    def test_training_rows_without_themselves_have_the_distances_to_the_others(self):
        model = NearestNeighbors(n_neighbors=4).fit(X)
        e = whyodd.explain(model, X)
        np.testing.assert_allclose(e.outlierness, model.kneighbors()[0].mean(axis=1), rtol=1e-12)
        assert np.all(e.unexplained == 0.0)

    def test_centers_are_the_training_rows(self):
        network = whyodd.neuralize(NearestNeighbors().fit(X))
        np.testing.assert_array_equal(network.centers, X)
        np.testing.assert_array_equal(network.rows, np.arange(60))
        assert network.n_rows == 60

    def test_sparse_rows(self):
        rows = sparse.random_array((50, 30), density=0.2, rng=RNG, format="csr")
        model = NearestNeighbors(n_neighbors=3).fit(rows[:40])
        expected = model.kneighbors(rows[40:])[0].mean(axis=1)
        np.testing.assert_allclose(-scores(model, rows[40:]), expected, rtol=1e-9)

    def test_more_neighbours_than_rows_is_an_error_as_in_scikit_learn(self):
        model = NearestNeighbors(n_neighbors=61).fit(X)
        with pytest.raises(ValueError, match="n_neighbors"):
            model.kneighbors(ROWS)
        with pytest.raises(
            ValueError, match=r"n_neighbors=61\) was fitted on only 60 rows.*Lower n_neighbors"
        ):
            whyodd.neuralize(model)

    def test_a_tree_in_place_of_rows_is_named(self):
        model = NearestNeighbors().fit(KDTree(X, metric="manhattan"))
        with pytest.raises(whyodd.UnsupportedModelError, match=r"fitted on a tree.*on the rows themselves"):
            whyodd.neuralize(model)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"metric": "braycurtis"}, "metric='braycurtis'"),
        ({"metric": "correlation"}, "metric='correlation'"),
        ({"metric": "minkowski", "metric_params": {"w": [1.0, 2.0, 3.0]}}, "metric='minkowski', p=2, w="),
    ],
)
@pytest.mark.parametrize("model", [NearestNeighbors(), LocalOutlierFactor(novelty=True)])
def test_other_metrics_are_named(model, settings, named):
    fitted = type(model)(**{**model.get_params(), **settings}).fit(np.abs(X))
    name = type(model).__name__
    with pytest.raises(whyodd.UnsupportedModelError) as error:
        whyodd.neuralize(fitted)
    assert str(error.value).startswith(f"{name} measures distances with {named}")
    assert "Fit it again with metric='euclidean'." in str(error.value)


@pytest.mark.parametrize("model", [NearestNeighbors(), LocalOutlierFactor(novelty=True)])
@pytest.mark.parametrize("metric", ["euclidean", "l2", "minkowski"])
def test_every_name_of_the_euclidean_metric_is_known(model, metric):
    fitted = type(model)(**{**model.get_params(), "metric": metric}).fit(X)
    usual = type(model)(**model.get_params()).fit(X)
    np.testing.assert_allclose(scores(fitted, ROWS), scores(usual, ROWS), rtol=1e-12)


@pytest.mark.parametrize("settings", [{"p": 1}, {"p": 3}, {"metric": "cosine"}, {"metric": "chebyshev"}])
@pytest.mark.parametrize("model", [NearestNeighbors(), LocalOutlierFactor(novelty=True)])
class TestOtherMetrics:
    def test_training_rows_are_left_out(self, model, settings):
        fitted = type(model)(**{**model.get_params(), **settings}).fit(X)
        e = whyodd.explain(fitted, X)
        if isinstance(model, LocalOutlierFactor):
            own = -fitted.negative_outlier_factor_
        else:
            own = fitted.kneighbors()[0].mean(axis=1)
        np.testing.assert_allclose(e.outlierness, own, rtol=1e-9)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        assert (e.relevance >= 0.0).all()

    def test_sparse_rows_are_refused(self, model, settings):
        if settings.get("metric") == "chebyshev" or settings.get("p") == 3:
            return  # scikit-learn does not take them either
        fitted = type(model)(**{**model.get_params(), **settings}).fit(sparse.csr_array(X))
        with pytest.raises(whyodd.UnsupportedModelError, match=r"has sparse rows.*X\.toarray\(\)"):
            whyodd.neuralize(fitted)
