"""Ensembles of PyOD and of people's own: what is combined, what is refused."""

import gc
import weakref

import numpy as np
import pandas as pd
import pytest
from pyod.models.abod import ABOD
from pyod.models.combination import average, maximization
from pyod.models.ecod import ECOD
from pyod.models.feature_bagging import FeatureBagging
from pyod.models.inne import INNE
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.lscp import LSCP
from pyod.models.ocsvm import OCSVM
from pyod.models.suod import SUOD
from pyod.utils.utility import standardizer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from whyodd.maths.linear_maps import LinearMap
from whyodd.network.combinations import Average
from whyodd.network.ensemble import EnsembleScore, Part
from whyodd.network.waist import offers

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(80, 4)), RNG.normal(size=(4, 4)) + 6.0])
ROWS = RNG.normal(size=(20, 4)) * 3
PLAIN = {"approx_flag_global": False, "bps_flag": False, "n_jobs": 1}


class TestFeatureBagging:
    @pytest.mark.parametrize("combination", ["average", "max"])
    @pytest.mark.parametrize("base", [LOF(n_neighbors=6), KNN()], ids=["LOF", "KNN"])
    def test_training_rows_without_themselves_have_the_scores_of_fit(self, base, combination):
        model = FeatureBagging(base, combination=combination, random_state=0).fit(X)
        e = whyodd.explain(model, X)
        scores = whyodd.neuralize(model).verdict.scale.score(e.outlierness)
        np.testing.assert_allclose(scores, model.decision_scores_, rtol=1e-12)

    def test_columns_that_no_member_sees_have_no_relevance(self):
        model = FeatureBagging(KNN(), n_estimators=2, max_features=2, random_state=3).fit(X)
        unseen = sorted({*range(4)} - {*np.concatenate(model.estimators_features_).tolist()})
        assert unseen
        e = whyodd.explain(model, ROWS)
        assert (e.relevance[:, unseen] == 0.0).all()
        np.testing.assert_array_equal(e.expected[:, unseen], ROWS[:, unseen])
        assert not offers(whyodd.neuralize(model), "leave_out")

    def test_of_a_maximum_one_member_has_all_relevance(self):
        model = FeatureBagging(KNN(), n_estimators=4, combination="max", random_state=0).fit(X)
        scores = np.column_stack(
            [
                one.decision_function(ROWS[:, columns])
                for one, columns in zip(model.estimators_, model.estimators_features_, strict=True)
            ]
        )
        e = whyodd.explain(model, ROWS)
        for row, k in enumerate(scores.argmax(axis=1)):
            columns = model.estimators_features_[k]
            alone = whyodd.explain(model.estimators_[k], ROWS[[row]][:, columns])
            np.testing.assert_allclose(e.relevance[row, columns], alone.relevance[0], rtol=1e-12)

    def test_of_support_vectors_a_maximum_conserves(self):
        model = FeatureBagging(OCSVM(), combination="max", random_state=0).fit(X)
        e = whyodd.explain(model, ROWS)
        own = whyodd.neuralize(model).verdict.scale.score(e.outlierness)
        np.testing.assert_allclose(own, model.decision_function(ROWS), rtol=1e-9)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        assert (e.relevance >= 0.0).all()
        assert (e.unexplained >= 0.0).all()

    def test_member_that_cannot_be_explained_is_named(self):
        model = FeatureBagging(ABOD(), n_estimators=2, random_state=0).fit(X)
        with pytest.raises(
            whyodd.UnsupportedModelError, match=r"FeatureBagging is explained through its members.*ABOD"
        ):
            whyodd.neuralize(model)

    def test_maximum_of_linear_scores_is_refused(self):
        model = FeatureBagging(OCSVM(kernel="linear"), n_estimators=2, random_state=0, combination="max")
        with pytest.raises(whyodd.UnsupportedModelError, match=r"no lower bound.*combination='average'"):
            whyodd.neuralize(model.fit(X))

    def test_model_is_let_go(self):
        model = FeatureBagging(n_estimators=2, random_state=0).fit(X)
        member, gone = whyodd.neuralize(model), weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None
        assert member.outlierness(ROWS).shape == (20,)

    @pytest.mark.parametrize("combination", ["average", "max"])
    def test_behind_a_pca_it_is_explained_in_the_columns_before(self, combination):
        bagging = FeatureBagging(KNN(), n_estimators=3, combination=combination, random_state=0)
        pipeline = make_pipeline(PCA(3, random_state=0), bagging).fit(X)
        e = whyodd.explain(pipeline, ROWS)
        own = pipeline[-1].decision_function(pipeline[:-1].transform(ROWS))
        np.testing.assert_allclose(e.outlierness, own, rtol=1e-9)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        assert e.relevance.shape == (20, 4)

    def test_all_components_of_an_orthogonal_map_are_the_columns_themselves(self):
        turn = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
        parts = (Part(whyodd.neuralize(KNN().fit(X))), Part(whyodd.neuralize(KNN(method="mean").fit(X))))
        turned = tuple(
            Part(whyodd.neuralize(KNN(method=method).fit(X @ turn.T))) for method in ("largest", "mean")
        )
        plain, behind = (EnsembleScore(each, Average([0.5, 0.5]), 4) for each in (parts, turned))
        found = behind.decompose(ROWS @ turn.T, through=LinearMap(turn))
        np.testing.assert_allclose(found.relevance, plain.decompose(ROWS).relevance, rtol=1e-9)

    def test_of_members_that_count_a_call_among_training_it_is_for_each_row_alone(self):
        model = FeatureBagging(ECOD(), n_estimators=3, random_state=0).fit(X)
        own = np.concatenate([model.decision_function(row[None]) for row in ROWS])
        e = whyodd.explain(model, ROWS)
        np.testing.assert_allclose(whyodd.neuralize(model).verdict.scale.score(e.outlierness), own, rtol=1e-9)


class TestSUOD:
    def test_regression_in_place_of_a_member_is_refused(self):
        model = SUOD([LOF(), KNN()], bps_flag=False, n_jobs=1).fit(X)
        with pytest.raises(
            whyodd.UnsupportedModelError,
            match=r"with a RandomForestRegressor that imitates its LOF.*approx_flag_global=False",
        ):
            whyodd.neuralize(model)

    def test_projection_is_explained_in_the_columns_before_it(self):
        model = SUOD([KNN(), KNN(method="mean")], **PLAIN).fit(X)
        assert all(part.through is not None for part in whyodd.neuralize(model).parts)
        e = whyodd.explain(model, ROWS)
        assert e.relevance.shape == (20, 4)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        # What is expected is the nearest row whose projection is: relevant variables differ from it.
        np.testing.assert_array_equal(np.sign(ROWS - e.expected), e.direction)
        assert not np.isnan(e.expected).any()

    @pytest.mark.filterwarnings("ignore:UNK does not have a predefined code")
    def test_projection_before_a_member_without_a_way_back_is_refused(self):
        spheres = [KNN(), INNE(random_state=0)]
        model = SUOD(spheres, rp_clf_list=["INNE", "UNK"], rp_ng_clf_list=["KNN"], **PLAIN).fit(X)
        with pytest.raises(whyodd.UnsupportedModelError, match=r"SUOD gives its INNE random projections"):
            whyodd.neuralize(model)


class TestLSCP:
    def test_explains_the_call_that_comes_next_and_does_not_take_its_draws(self):
        members = [LOF(n_neighbors=k) for k in (3, 7, 12, 20)]
        model = LSCP(members, n_bins=4, random_state=0).fit(X)
        member = whyodd.neuralize(model)
        first = member.outlierness(ROWS) + member.floor
        np.testing.assert_array_equal(member.outlierness(ROWS) + member.floor, first)
        np.testing.assert_allclose(first, model.decision_function(ROWS), rtol=1e-12)
        # PyOD draws anew: its own score is another one by now.
        assert np.abs(model.decision_function(ROWS) - first).max() > 1e-3

    @pytest.mark.filterwarnings("ignore:Local min features equals local max features")
    def test_without_draws_all_columns_are_searched(self):
        members = [LOF(n_neighbors=k) for k in (3, 7, 12)]
        model = LSCP(members, n_bins=3, local_max_features=0.5, random_state=0).fit(X)
        own = model.decision_function(ROWS)
        member = whyodd.neuralize(model)
        np.testing.assert_allclose(member.outlierness(ROWS) + member.floor, own, rtol=1e-12)


class TestOwnEnsemble:
    models = (LOF(n_neighbors=5).fit(X), KNN().fit(X), OCSVM().fit(X))

    @pytest.mark.parametrize(("combine", "by_pyod"), [("average", average), ("maximum", maximization)])
    def test_is_what_pyod_makes_of_standardised_scores(self, combine, by_pyod):
        both = whyodd.ensemble(self.models, combine=combine, normal=X)
        known, new = (
            np.column_stack([one.decision_function(rows) for one in self.models]) for rows in (X, ROWS)
        )
        _, standard = standardizer(known, new)
        e = whyodd.explain(both, ROWS)
        np.testing.assert_allclose(both.verdict.scale.score(e.outlierness), by_pyod(standard), rtol=1e-9)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        assert (e.outlierness >= 0.0).all()

    def test_weights_and_scores_as_they_are(self):
        both = whyodd.ensemble(self.models, weights=[2, 1, 1])
        scores = [one.decision_function(ROWS) for one in self.models]
        own = both.verdict.scale.score(both.outlierness(ROWS))
        np.testing.assert_allclose(own, (2 * scores[0] + scores[1] + scores[2]) / 4, rtol=1e-9)

    def test_takes_models_of_all_packages_and_members(self):
        near = LocalOutlierFactor(novelty=True).fit(X)
        both = whyodd.ensemble([near, whyodd.KNearestNeighbors().fit(X), whyodd.DistanceNetwork(X)])
        assert whyodd.explain(both, ROWS).relevance.shape == (20, 4)

    @pytest.mark.parametrize(
        ("models", "keywords", "message"),
        [
            (models, {"combine": "median"}, "combine='median': expected 'average' or 'maximum'"),
            (models, {"combine": "maximum", "weights": [1, 1, 1]}, "a maximum has none"),
            (models, {"weights": [1, 1]}, r"expected one weight per model, \(3,\)"),
            (models, {"weights": [1, 1, -1]}, r"Expected Average\.counts as finite numbers of at least 0"),
            ((models[0], KNN().fit(X[:, :3])), {}, r"same columns, got models with \[3, 4\] columns"),
            ((), {}, "at least one"),
        ],
    )
    def test_what_is_wrong_is_told(self, models, keywords, message):
        with pytest.raises(ValueError, match=message):
            whyodd.ensemble(models, **keywords)


@pytest.mark.parametrize(
    "model",
    [
        FeatureBagging(random_state=0),
        FeatureBagging(KNN(), combination="max", random_state=0),
        INNE(random_state=0),
        LSCP([LOF(n_neighbors=k) for k in (5, 10, 20)], n_bins=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_planted_values_of_wines_are_the_first_reason(model):
    table = load_wine(as_frame=True).data
    planted = table.iloc[:5].copy()
    columns = ["alcohol", "magnesium", "proline", "hue", "ash"]
    for row, name in enumerate(columns):
        planted.iloc[row, table.columns.get_loc(name)] = table[name].mean() + 12.0 * table[name].std()
    e = whyodd.explain(make_pipeline(StandardScaler(), model).fit(table), planted)
    for row, name in enumerate(columns):
        reason = e.reasons(row, 1)[0]
        assert reason.feature == name
        assert "too high" in reason.words
    assert isinstance(e.to_frame(), pd.DataFrame)
