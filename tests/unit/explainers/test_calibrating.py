"""Relevance over what normal rows receive, for models, frames and pipelines."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import SGDOneClassSVM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from made_up.members import SumOfSquares
from reference.calibrated import calibrate
from whyodd.evaluation.flipping import flip_explanation
from whyodd.evaluation.stability import stability_of
from whyodd.explainers.explaining import explained_by
from whyodd.network.waist import Decomposition

SCALES = [1.0, 2.0, 0.5]
NAMES = ["speed", "load", "heat"]


def rows(n, seed):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 3)) * SCALES, columns=NAMES)


TRAIN, NORMAL = rows(80, 0), rows(60, 1)
ODD = pd.DataFrame([[0.0, 0.0, 1.5], [4.0, 1.0, 0.0]], columns=NAMES)
MODEL = whyodd.KernelDensity(sigma=1.0).fit(TRAIN)


def assert_conserves(e):
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)


def assert_calibrated(e, plain, normal):
    relevance, rest = calibrate(plain, normal)
    np.testing.assert_allclose(e.relevance, relevance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(e.unexplained, rest, rtol=1e-9)
    assert_conserves(e)


class TestModels:
    def test_is_the_plain_decomposition_over_what_is_usual(self):
        e = whyodd.explain(MODEL, ODD, normal=NORMAL)
        assert_calibrated(e, whyodd.explain(MODEL, ODD), whyodd.explain(MODEL, NORMAL))
        np.testing.assert_array_equal(e.network.outlierness(e.inputs), e.outlierness)

    def test_without_normal_rows_it_is_what_the_paper_defines(self):
        e = whyodd.explain(MODEL, ODD)
        np.testing.assert_array_equal(e.relevance, MODEL.network_.input_relevance(ODD))

    @pytest.mark.parametrize(
        "form", [pd.DataFrame.to_numpy, pl.from_pandas, lambda frame: frame[NAMES[::-1]]]
    )
    def test_rows_of_every_form(self, form):
        same = whyodd.explain(MODEL, ODD, normal=form(NORMAL))
        np.testing.assert_allclose(same.relevance, whyodd.explain(MODEL, ODD, normal=NORMAL).relevance)

    def test_sparse_rows(self):
        X, normal, odd = (sparse.csr_array(part.to_numpy()) for part in (TRAIN, NORMAL, ODD))
        e = whyodd.explain(whyodd.KernelDensity(sigma=1.0).fit(X), odd, normal=normal)
        np.testing.assert_allclose(e.relevance, whyodd.explain(MODEL, ODD, normal=NORMAL).relevance)

    def test_a_member_of_the_waist_that_offers_nothing_else(self):
        e = whyodd.explain(SumOfSquares(), ODD, normal=NORMAL)
        assert_calibrated(e, whyodd.explain(SumOfSquares(), ODD), whyodd.explain(SumOfSquares(), NORMAL))

    def test_a_committee_may_be_calibrated_by_other_rows(self):
        model = whyodd.Committee().fit(TRAIN)
        e, plain = whyodd.explain(model, ODD, normal=NORMAL), whyodd.explain(model, ODD)
        assert_calibrated(e, plain, whyodd.explain(model, NORMAL))
        np.testing.assert_array_equal(e.reason_kinds, plain.reason_kinds)
        assert "usually" in e.why(0)

    def test_is_a_committee_of_one(self):
        """As a view of a committee has it, where nothing belongs to no variable."""
        committee = whyodd.Committee().fit(TRAIN).network_
        view = committee.views[0].score
        Z = committee.scaled(NORMAL)
        e = whyodd.explain(view, committee.scaled(ODD), normal=Z)
        usual = view.decompose(Z).relevance.mean(axis=0)
        usual += usual.mean() / 1000
        number = (view.decompose(Z).relevance / usual).sum(axis=1).mean()
        relevance = view.decompose(committee.scaled(ODD)).relevance / usual / number
        np.testing.assert_allclose(e.relevance, relevance, rtol=1e-12)
        np.testing.assert_allclose(e.outlierness, relevance.sum(axis=1), rtol=1e-12)
        # Without variables that are never relevant the number is that of all, to the part that was added.
        np.testing.assert_allclose(number, 3, rtol=1e-2)

    def test_outlierness_is_never_below_0(self):
        """Of a full covariance, where relevance of correlated variables has both signs."""
        base = np.random.default_rng(0).normal(size=(200, 3))
        X = base @ [[1.0, 0.99, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 1.0]]
        model = whyodd.Gaussian().fit(X)
        e, plain = whyodd.explain(model, X, normal=X[:50]), whyodd.explain(model, X)
        assert (e.relevance < 0.0).any()
        np.testing.assert_allclose(
            e.outlierness, plain.outlierness / plain.outlierness[:50].mean(), rtol=1e-9
        )

    def test_what_is_signed_is_refused(self):
        model = SGDOneClassSVM().fit(TRAIN)
        with pytest.raises(
            ValueError, match=r"The outlierness of normal rows goes down to .*Leave normal out"
        ):
            whyodd.explain(model, ODD, normal=NORMAL)

    def test_rows_without_relevance_are_told(self):
        network = whyodd.DistanceNetwork([[0.0, 0.0]])
        with pytest.raises(ValueError, match=r"No variable has relevance on the 2 normal row\(s\)"):
            whyodd.explain(network, [[1.0, 2.0]], normal=np.zeros((2, 2)))

    def test_items_have_no_normal_rows(self):
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(2, 2)).fit(np.eye(5))
        with pytest.raises(ValueError, match="normal does not work with a PatchModel"):
            whyodd.explain(model, np.eye(5), normal=np.eye(5))


class TestTrainingRows:
    model = whyodd.KNearestNeighbors().fit(TRAIN)

    def test_are_explained_without_themselves(self):
        e = whyodd.explain(self.model, ODD, normal=TRAIN)
        assert_calibrated(e, whyodd.explain(self.model, ODD), whyodd.explain(self.model, TRAIN))

    def test_that_the_model_keeps_are_the_same(self):
        e = whyodd.explain(self.model, ODD, normal="training")
        assert_calibrated(e, whyodd.explain(self.model, ODD), whyodd.explain(self.model, TRAIN))

    def test_are_known_among_others(self):
        mixed = pd.concat([NORMAL, TRAIN[::-3]])
        parts = [whyodd.explain(self.model, NORMAL), whyodd.explain(self.model, TRAIN)[::-3]]
        normal = Decomposition(
            *(
                np.concatenate([getattr(p, n) for p in parts])
                for n in ("relevance", "unexplained", "outlierness")
            )
        )
        e = whyodd.explain(self.model, ODD, normal=mixed, exclude_self=False)
        assert_calibrated(e, whyodd.explain(self.model, ODD), normal)

    def test_are_known_behind_steps_that_round(self):
        model = make_pipeline(StandardScaler(), PCA(2, svd_solver="full"), whyodd.KNearestNeighbors()).fit(
            TRAIN
        )
        assert not np.array_equal(model[:-1].transform(TRAIN), model[-1].network_.centers)
        e = whyodd.explain(model, ODD, normal=TRAIN[::-3])
        assert_calibrated(e, whyodd.explain(model, ODD), whyodd.explain(model, TRAIN)[::-3])
        assert (whyodd.explain(model, TRAIN[::-3], exclude_self=True).excluded >= 0).all()

    def test_that_are_on_average_1(self):
        e = whyodd.explain(self.model, TRAIN, normal="training")
        np.testing.assert_allclose(e.outlierness.mean(), 1.0, rtol=1e-12)

    def test_centers_that_are_no_rows_are_not_left_out(self):
        """The mean of a Gaussian may well equal a row: without it nothing would be left."""
        X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [0.0, 0.0]])
        e = whyodd.explain(whyodd.Gaussian().fit(X), [[3.0, 0.0]], normal=X)
        assert_conserves(e)

    @pytest.mark.parametrize(
        "model", [KMeans(3, n_init=1, random_state=0), whyodd.Gaussian(), SGDOneClassSVM(random_state=0)]
    )
    def test_that_are_not_kept(self, model):
        with pytest.raises(ValueError, match=r"does not keep the rows it was trained on\. Pass normal rows"):
            whyodd.explain(model.fit(TRAIN), ODD, normal="training")

    def test_of_which_only_the_outermost_are_kept(self):
        model = OneClassSVM(nu=0.1, gamma=0.1).fit(TRAIN)
        with pytest.raises(ValueError, match=r"keeps \d+ of the 80 rows it was trained on. Pass these"):
            whyodd.explain(model, ODD, normal="training")
        assert_conserves(whyodd.explain(model, ODD, normal=TRAIN))


class TestPipelines:
    def test_columns_of_one_variable_are_measured_together(self):
        rng = np.random.default_rng(0)
        frame = TRAIN.assign(town=rng.choice(["Rom", "Bonn", "Linz"], len(TRAIN)))
        steps = make_column_transformer(
            (StandardScaler(), NAMES), (OneHotEncoder(sparse_output=False), ["town"])
        )
        model = make_pipeline(steps, whyodd.KernelDensity(sigma=0.7)).fit(frame)
        normal, odd = NORMAL.assign(town="Bonn"), ODD.assign(town="Rom")
        normal.loc[::2, "town"] = "Linz"
        e = whyodd.explain(model, odd, normal=normal)
        assert e.feature_names == (*NAMES, "town")
        assert_calibrated(e, whyodd.explain(model, odd), whyodd.explain(model, normal))

    @pytest.mark.parametrize("whiten", [False, True])
    def test_through_a_step_that_mixes_columns(self, whiten):
        model = make_pipeline(StandardScaler(), PCA(2, whiten=whiten), OneClassSVM(gamma=0.5)).fit(TRAIN)
        e = whyodd.explain(model, ODD, normal=NORMAL)
        plain, normal = whyodd.explain(model, ODD), whyodd.explain(model, NORMAL)
        if whiten:  # its shares may have both signs
            np.testing.assert_allclose(e.relevance, plain.relevance / normal.outlierness.mean(), rtol=1e-9)
        else:
            assert_calibrated(e, plain, normal)
        assert_conserves(e)
        np.testing.assert_allclose(
            whyodd.explain(model, NORMAL, normal=NORMAL).outlierness.mean(), 1.0, rtol=1e-9
        )
        # Other methods see the same outlierness, in the variables before the map.
        np.testing.assert_allclose(explained_by(e, "occlusion").outlierness, e.outlierness, rtol=1e-9)

    def test_groups_are_sums_of_what_is_calibrated(self):
        e = whyodd.explain(MODEL, ODD, normal=NORMAL, groups={"engine": ["speed", "heat"]})
        single = whyodd.explain(MODEL, ODD, normal=NORMAL)
        np.testing.assert_allclose(e.relevance[:, 0], single.relevance[:, [0, 2]].sum(axis=1), rtol=1e-12)
        np.testing.assert_array_equal(e.outlierness, single.outlierness)


class TestExplanation:
    e = whyodd.explain(MODEL, ODD, normal=NORMAL)
    plain = whyodd.explain(MODEL, ODD)

    def test_the_threshold_of_the_model_is_for_another_outlierness(self):
        assert self.plain.threshold is not None
        assert self.e.threshold is self.e.is_odd is None
        assert self.e.to_dict()["threshold"] is None

    def test_what_rows_are_compared_with_stays(self):
        np.testing.assert_array_equal(self.e.expected, self.plain.expected)
        np.testing.assert_array_equal(self.e.direction, self.plain.direction)
        np.testing.assert_array_equal(self.e.inlierness, self.plain.inlierness)
        assert self.e.neighbors(3) == self.plain.neighbors(3)

    def test_shares_are_of_the_new_outlierness(self):
        first = self.e.reasons(0, 1)[0]
        assert first.name == "heat"
        np.testing.assert_allclose(first.share, self.e.relevance[0, 2] / self.e.outlierness[0])

    def test_is_judged_by_its_own_score(self):
        assert (stability_of(self.e, random_state=0).mean > 0).all()
        np.testing.assert_array_equal(explained_by(self.e, "mean").outlierness, self.e.outlierness)
        with pytest.raises(whyodd.UnsupportedModelError, match="A CalibratedScore measures no distances"):
            flip_explanation(self.e, {"dtd": self.e.relevance})

    def test_is_reported_and_saved(self, tmp_path):
        whyodd.write_report(self.e, tmp_path / "report.html")
        whyodd.save(self.e, tmp_path / "e.whyodd")
        again = whyodd.load(tmp_path / "e.whyodd")
        np.testing.assert_array_equal(again.network.outlierness(again.inputs), self.e.outlierness)


@pytest.mark.parametrize("method", ["mvn", "nearest", "occlusion"])
def test_other_methods_compare_with_normal_rows(method):
    by_itself = whyodd.explain(MODEL, ODD, method=method, normal=NORMAL)
    option = whyodd.explain(MODEL, ODD, method=method, options={"normal": NORMAL})
    np.testing.assert_array_equal(by_itself.relevance, option.relevance)
    np.testing.assert_array_equal(by_itself.outlierness, whyodd.explain(MODEL, ODD).outlierness)
