"""Methods other than "dtd" through explain(): pipelines, options, what the result says, and errors."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyodd
from reference import baselines
from whyodd import UnsupportedModelError
from whyodd.explainers import EXPLAINERS
from whyodd.explainers.method import Task
from whyodd.explainers.preparing import PreparedModel
from whyodd.kernels import Exponential
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import ComponentMetric, LinearMetric

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(40, 4)) @ RNG.normal(size=(4, 4)) * [1, 10, 100, 1]
ODD = NORMAL[:3] * 0.5 + np.array([[0, 60, 0, 0], [9, 0, 0, 0], [0, 0, 500, 9]])
SCALED, SCALED_ODD = NORMAL / NORMAL.std(axis=0), ODD / NORMAL.std(axis=0)
FRAME = pd.DataFrame(SCALED_ODD, columns=["a", "b", "c", "d"])
NOT_ADDITIVE = ["coin", "mean", "micenkova", "mvn", "nearest", "occlusion", "random", "sensitivity"]
ADDITIVE = ["integrated_gradients", "taylor"]
SPREAD = LinearMap(
    RNG.normal(size=(5, 3))
)  # what reaches the model has two directions that no variable makes


class TestInVariables:
    """The task before a linear map has the same distances and the same outlierness."""

    @pytest.mark.parametrize("n_components", [2, 4])
    def test_of_a_pipeline(self, n_components):
        pipeline = make_pipeline(StandardScaler(), PCA(n_components), KernelDensity(bandwidth=0.5)).fit(
            NORMAL
        )
        reading = PreparedModel.of(pipeline).rows(ODD)
        task = Task(reading.network, reading.inputs, through=reading.through).in_variables()
        assert task.X.shape == (3, 4)
        o = task.network.outlierness(task.X)
        np.testing.assert_allclose(o, reading.network.outlierness(reading.inputs), rtol=1e-9)
        np.testing.assert_allclose(reading.network.offset - o, pipeline.score_samples(ODD), rtol=1e-9)

    @pytest.mark.parametrize(
        "keywords",
        [
            {"kernel": Exponential(1, 0.7)},
            {"pooling": Nearest.mean(3)},
            {"metric": LinearMetric(RNG.normal(size=(4, 5)))},
            {"metric": ComponentMetric(RNG.uniform(0.5, 2, (9, 5)))},
            {"metric": ComponentMetric(RNG.normal(size=(9, 2, 5)))},
        ],
        ids=["kernel", "pooling", "map", "scales", "maps"],
    )
    def test_where_the_map_does_not_reach_all_dimensions(self, keywords):
        network = whyodd.DistanceNetwork(RNG.normal(size=(9, 5)), **keywords)
        X, own = RNG.normal(size=(4, 5)), np.array([-1, 0, 5, -1])
        task = Task(network, X, own=own, through=SPREAD, given=X + 1.0).in_variables()
        assert task.X.shape == (4, 5)  # three variables and two directions beside them
        o = network.outlierness(X, own=own)
        np.testing.assert_allclose(task.network.outlierness(task.X, own=own), o, rtol=1e-9)
        np.testing.assert_allclose(task.outlierness(task.X[[2, 0]], np.array([2, 0])), o[[2, 0]], rtol=1e-9)
        np.testing.assert_allclose(
            task.network.outlierness(task.given), network.outlierness(X + 1.0), rtol=1e-9
        )
        np.testing.assert_allclose(task.lifted(X), task.X)
        assert task.n_inputs == 5

    @pytest.mark.parametrize("method", [*NOT_ADDITIVE, *ADDITIVE])
    def test_relevance_is_that_of_the_variables(self, method):
        network = whyodd.DistanceNetwork(RNG.normal(size=(9, 5)))
        task = Task(network, RNG.normal(size=(4, 5)) * 3, through=SPREAD)
        parts = EXPLAINERS[method].decompose(task, {})
        assert parts.relevance.shape == (4, 3)
        np.testing.assert_array_equal(parts.outlierness, network.outlierness(task.X))


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(StandardScaler(), PCA(3), whyodd.OneClassSVM(sigma=1.0, nu=0.5)).fit(NORMAL)


class TestPipelines:
    def test_sensitivity_is_that_of_the_scaled_columns(self, pipeline):
        """Central differences of the pipeline's own outlierness in each column, in units of its scaler."""
        e = whyodd.explain(pipeline, ODD, method="sensitivity")
        scale = pipeline[0].scale_
        for i in range(4):
            step = np.zeros(4)
            step[i] = 1e-5 * scale[i]
            up, down = (whyodd.explain(pipeline, ODD + s * step).outlierness for s in (1, -1))
            slope = (up - down) / 2e-5
            np.testing.assert_allclose(e.relevance[:, i], slope**2, rtol=1e-5, atol=1e-6 * e.relevance.max())

    def test_occlusion_of_a_scaled_column_is_that_of_the_raw_one(self):
        pipeline = make_pipeline(StandardScaler(), whyodd.KernelDensity(sigma=1.0)).fit(NORMAL)
        e = whyodd.explain(pipeline, ODD, method="occlusion")
        for i in range(4):
            varied = ODD.copy()
            varied[:, i] = e.expected[:, i]
            lower = whyodd.explain(pipeline, varied).outlierness
            np.testing.assert_allclose(e.relevance[:, i], e.outlierness - lower, rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("method", ["nearest", "mvn", "mean", "integrated_gradients", "occlusion"])
    def test_normal_rows_are_given_in_raw_columns(self, method):
        frame = pd.DataFrame(NORMAL, columns=list("abcd"))
        named = make_pipeline(StandardScaler(), PCA(3), whyodd.KernelDensity(sigma=1.0)).fit(frame)
        rows = pd.DataFrame(ODD, columns=list("abcd"))
        options = {"normal": frame[list("dcba")]}
        e = whyodd.explain(named, rows, method=method, options=options)
        plain = whyodd.explain(named, rows, method=method, options={"normal": frame})
        np.testing.assert_array_equal(e.relevance, plain.relevance)

    def test_a_reference_is_as_it_reaches_the_model(self, pipeline):
        reference = pipeline[:-1].transform(NORMAL[5:6])[0]
        e = whyodd.explain(pipeline, ODD, method="integrated_gradients", options={"reference": reference})
        same = whyodd.explain(
            pipeline,
            ODD,
            method="integrated_gradients",
            options={"normal": NORMAL[5:6], "reference": "mean"},
        )
        np.testing.assert_allclose(e.relevance, same.relevance, rtol=1e-9)
        usual = whyodd.explain(pipeline, NORMAL[5:6], exclude_self=False).outlierness
        np.testing.assert_allclose(e.unexplained, np.full(3, usual), rtol=1e-4)

    @pytest.mark.parametrize("method", [*NOT_ADDITIVE, *ADDITIVE])
    def test_categories_are_summed_into_their_variable(self, method):
        frame = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": NORMAL[:, 0]})
        encode = make_column_transformer((OneHotEncoder(), ["colour"]), (StandardScaler(), ["size"]))
        pipeline = make_pipeline(encode, whyodd.KernelDensity(sigma=0.5)).fit(frame)
        rows = frame.head(2).assign(size=[0.0, 9.0])
        e = whyodd.explain(pipeline, rows, method=method, random_state=0)
        assert e.feature_names == ("colour", "size")
        reading = PreparedModel.of(pipeline).rows(rows)
        task = Task(reading.network, reading.inputs, random=np.random.default_rng(0))
        columns = EXPLAINERS[method].decompose(task, {}).relevance
        np.testing.assert_allclose(e.relevance[:, 0], columns[:, :2].sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(e.relevance[:, 1], columns[:, 2], rtol=1e-12)

    def test_own_centers_are_left_out(self):
        """A training row is compared with the others: as by the model of the others alone."""
        model = whyodd.KernelDensity(sigma=0.7).fit(SCALED)
        without = whyodd.KernelDensity(sigma=0.7).fit(SCALED[1:])
        for method in ("sensitivity", "nearest", "occlusion", "integrated_gradients"):
            e = whyodd.explain(model, SCALED, method=method)
            assert e.excluded[0] == 0
            alone = whyodd.explain(without, SCALED[:1], method=method)
            np.testing.assert_allclose(e.relevance[0], alone.relevance[0], rtol=1e-8, atol=1e-10)

    @pytest.mark.parametrize("method", [*NOT_ADDITIVE, *ADDITIVE])
    def test_sparse_rows_are_explained_as_dense_ones(self, method):
        X = np.where(np.abs(NORMAL) > 5, NORMAL / NORMAL.std(axis=0), 0.0)
        rows = np.where(np.abs(ODD) > 5, ODD / NORMAL.std(axis=0), 0.0)
        of = [
            whyodd.explain(whyodd.DistanceNetwork(kind(X)), kind(rows), method=method, random_state=0)
            for kind in (np.asarray, sparse.csr_array)
        ]
        np.testing.assert_allclose(of[0].relevance, of[1].relevance, rtol=1e-7, atol=1e-9)

    @pytest.mark.parametrize("method", [*NOT_ADDITIVE, *ADDITIVE])
    def test_precision_is_that_of_the_rows(self, method):
        network, rows = whyodd.DistanceNetwork(SCALED), SCALED_ODD.astype(np.float32)
        e = whyodd.explain(network, rows, method=method, random_state=0)
        assert e.relevance.dtype == np.float32
        wide = whyodd.explain(network, rows, method=method, random_state=0, dtype=np.float64)
        assert wide.relevance.dtype == np.float64
        # Taylor's root depends on where o reaches the threshold: there float32 has 1e-4 of it.
        np.testing.assert_allclose(e.relevance, wide.relevance, atol=1e-3 * np.abs(wide.relevance).max())


@pytest.fixture(scope="module", params=NOT_ADDITIVE)
def e(request):
    return whyodd.explain(whyodd.DistanceNetwork(SCALED), FRAME, method=request.param, random_state=0)


class TestResult:
    def test_is_not_in_units_of_the_outlierness(self, e):
        assert not e.is_additive
        assert np.isnan(e.unexplained).all()
        assert e.method in NOT_ADDITIVE

    def test_shares_are_of_the_sum_of_relevance(self, e):
        for i in range(len(e)):
            shares = [reason.share for reason in e.reasons(i)]
            assert np.abs(shares).sum() == pytest.approx(1.0, rel=1e-9)
            assert shares[0] == pytest.approx(e.relevance[i].max() / np.abs(e.relevance[i]).sum())

    def test_says_that_shares_are_of_the_relevance(self, e):
        assert " % of the relevance" in e.why(0)
        assert "outlierness" not in e.why(0)
        assert "no single variable" not in e.why(0)
        assert f"by {e.method}" in repr(e)
        assert "does not add up to the outlierness" in repr(e)

    def test_notebook_view(self, e):
        html = e._repr_html_()
        assert f"by {e.method}" in html
        assert "nan" not in html.lower()

    def test_frame(self, e):
        frame = e.to_frame()
        told = frame[frame["feature"] != "(unexplained)"]
        np.testing.assert_array_equal(told["relevance"].to_numpy().reshape(3, 4), e.relevance)
        shares = told["share"].abs().groupby(told["row"]).sum()
        np.testing.assert_allclose(shares, 1.0, rtol=1e-9)
        assert frame[frame["feature"] == "(unexplained)"]["relevance"].isna().all()

    def test_json(self, e):
        told = json.loads(json.dumps(e.to_dict(), allow_nan=False))
        assert told["method"] == e.method
        assert [row["unexplained"] for row in told["rows"]] == [None] * 3
        np.testing.assert_array_equal([row["relevance"] for row in told["rows"]], e.relevance)

    def test_shap_is_refused(self, e):
        with pytest.raises(ValueError, match=rf"adds up to .*, which method='{e.method}' does not"):
            e.to_shap()

    def test_parts_keep_the_method(self, e):
        assert e[1].method == e.top(2).method == next(iter(e)).method == e.method
        np.testing.assert_array_equal(e[1].relevance, e.relevance[1:2])

    def test_groups(self, e):
        groups = {"all but a": ["b", "c", "d"]}
        network = whyodd.DistanceNetwork(SCALED)
        grouped = whyodd.explain(network, FRAME, method=e.method, random_state=0, groups=groups)
        np.testing.assert_allclose(grouped.relevance[:, 1], e.relevance[:, 1:].sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("method", ADDITIVE)
def test_additive_methods_are_told_in_shares_of_the_outlierness(method):
    e = whyodd.explain(whyodd.DistanceNetwork(SCALED), SCALED_ODD, method=method)
    assert e.is_additive
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
    assert "% of the outlierness" in e.why(0)
    json.dumps(e.to_dict(), allow_nan=False)


class TestErrors:
    network = whyodd.DistanceNetwork(SCALED)

    def test_unknown_method(self):
        with pytest.raises(ValueError, match=r"method='lime' is unknown. Choose one of: 'coin', 'dtd', "):
            whyodd.explain(self.network, ODD, method="lime")

    def test_unknown_option(self):
        message = r"method='taylor' has no option 'treshold'. It takes: 'threshold', 'normal'."
        with pytest.raises(ValueError, match=message):
            whyodd.explain(self.network, ODD, method="taylor", options={"treshold": 1.0})

    def test_option_of_another_method(self):
        with pytest.raises(ValueError, match=r"method='nearest' has no option 'steps'. It takes: 'normal'."):
            whyodd.explain(self.network, ODD, method="nearest", options={"steps": 3})

    @pytest.mark.parametrize("option", ["normal", "steps"])
    def test_dtd_has_none(self, option):
        with pytest.raises(ValueError, match=rf"method='dtd' has no option '{option}'. It takes: none."):
            whyodd.explain(self.network, ODD, options={option: NORMAL})

    def test_normal_rows_of_another_width(self):
        with pytest.raises(ValueError, match="column"):
            whyodd.explain(self.network, ODD, method="mvn", options={"normal": NORMAL[:, :2]})

    def test_a_linear_model(self):
        X = NORMAL / NORMAL.std(axis=0)
        model = SGDOneClassSVM(random_state=0).fit(X)
        with pytest.raises(
            UnsupportedModelError, match=r"method='nearest' does not work with this model\. A Linear"
        ):
            whyodd.explain(model, X[:2], method="nearest")


def test_progress_is_told(capsys):
    whyodd.explain(whyodd.DistanceNetwork(SCALED), SCALED_ODD, method="occlusion", progress=True)
    assert "all 3 done" in capsys.readouterr().err


def test_reference_of_the_nearest_point_is_in_plain_loops_too():
    """The whole way through explain(), for one method, against the loops."""
    network = whyodd.DistanceNetwork(SCALED, kernel=Exponential(1.5, 0.9))
    e = whyodd.explain(network, SCALED_ODD, method="nearest")
    np.testing.assert_allclose(e.relevance, [baselines.nearest(network, x) for x in SCALED_ODD], rtol=1e-9)
