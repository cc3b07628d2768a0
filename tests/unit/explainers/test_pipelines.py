"""Pipelines explained in raw columns: whole tables, gaps, categories, and all that can be wrong with X."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDOneClassSVM
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from whyodd import UnsupportedModelError

NUMBERS, WORDS = ["bytes", "duration", "age"], ["protocol", "service"]
KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


@pytest.fixture(scope="module")
def normal():
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "bytes": np.exp(rng.normal(5, 1, n)),
            "protocol": rng.choice(["tcp", "udp"], n, p=[0.9, 0.1]),
            "duration": rng.normal(10, 2, n),
            "service": rng.choice(["http", "dns", "ssh"], n),
            "age": rng.normal(40, 10, n),
        }
    )
    frame.loc[::17, "age"] = np.nan
    return frame


@pytest.fixture
def odd(normal):
    rows = normal.head(3).reset_index(drop=True).assign(age=40.0)
    rows.loc[0, "bytes"] = 1e6
    rows.loc[1, ["bytes", "protocol", "duration"]] = [150.0, "icmp", 10.0]
    rows.loc[2, "duration"] = 60.0
    return rows


def table_pipeline(*last, unknown="ignore"):
    numbers = make_pipeline(SimpleImputer(), PowerTransformer())
    words = OneHotEncoder(handle_unknown=unknown, sparse_output=False)
    return make_pipeline(make_column_transformer((numbers, NUMBERS), (words, WORDS)), *last)


@pytest.fixture(scope="module")
def pipeline(normal):
    return table_pipeline(OneClassSVM(gamma=0.3)).fit(normal)


def columns_of(pipeline, frame):
    """The raw column that each column the model sees belongs to, by its name in scikit-learn."""
    names = pipeline[:-1].get_feature_names_out()
    return [max((c for c in frame.columns if c in name), key=len) for name in names]


class TestRawColumns:
    def test_relevance_is_that_of_the_model_summed_into_columns(self, pipeline, odd):
        e = whyodd.explain(pipeline, odd)
        inner = whyodd.explain(pipeline[-1], pipeline[:-1].transform(odd))
        owners = columns_of(pipeline, odd)
        for place, name in enumerate(e.feature_names):
            members = [i for i, owner in enumerate(owners) if owner == name]
            np.testing.assert_allclose(
                e.relevance[:, place], inner.relevance[:, members].sum(axis=1), rtol=1e-12
            )
        np.testing.assert_array_equal(e.outlierness, inner.outlierness)
        assert e.feature_names == tuple(odd.columns)

    def test_the_column_that_was_changed_is_blamed(self, pipeline, odd):
        e = whyodd.explain(pipeline, odd)
        assert [e.reasons(i)[0].feature for i in (0, 2)] == ["bytes", "duration"]

    def test_sentences_speak_in_raw_units_and_categories(self, pipeline, odd):
        e = whyodd.explain(pipeline, odd)
        assert e.why(0).startswith("bytes is too high (1000000, expected about ")
        assert "protocol is 'icmp', normal rows like this have 'tcp': " in e.why(1, k=5)
        assert e.why(2).startswith("duration is too high (60, expected about ")

    def test_expected_values_are_those_of_the_centers_in_raw_units(self, pipeline, odd, normal):
        e = whyodd.explain(pipeline, odd)
        network = e.network
        rows = normal.iloc[network.rows]
        p = network.assignment(e.inputs)
        np.testing.assert_allclose(e.expected[:, 0].astype(float), p @ rows["bytes"].to_numpy(), rtol=1e-6)
        mass = {name: p @ (rows["protocol"] == name).to_numpy() for name in ("tcp", "udp")}
        expected = np.where(mass["tcp"] >= mass["udp"], "tcp", "udp")
        assert e.expected[:, 1].tolist() == expected.tolist()
        assert (e.direction[:, 1] == 0).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind_of_frame(self, pipeline, odd, kind):
        e = whyodd.explain(pipeline, KINDS[kind](odd))
        np.testing.assert_allclose(e.relevance, whyodd.explain(pipeline, odd).relevance, rtol=1e-12)
        assert type(e.to_frame()).__module__.split(".")[0] == type(KINDS[kind](odd)).__module__.split(".")[0]

    def test_training_rows_are_explained_without_themselves(self, pipeline, normal):
        e = whyodd.explain(pipeline, normal)
        assert (e.excluded >= 0).sum() == e.network.n_centers

    def test_training_rows_after_pca_equal_the_centers_to_rounding(self, normal):
        model = table_pipeline(PCA(4), OneClassSVM(gamma=0.3)).fit(normal)
        e = whyodd.explain(model, normal)
        assert (e.excluded >= 0).sum() == e.network.n_centers

    def test_tidy_frame_and_json_hold_categories_and_gaps(self, pipeline, odd):
        e = whyodd.explain(pipeline, odd.assign(age=[1.0, np.nan, 3.0]))
        frame = e.to_frame()
        assert frame.loc[frame.feature == "protocol", "value"].tolist() == odd["protocol"].tolist()
        record = e.to_dict()["rows"][1]
        assert record["value"][4] is None
        assert record["value"][1] == "icmp"

    def test_pipeline_that_ends_in_a_pipeline(self, odd, pipeline):
        nested = Pipeline([("table", pipeline[:-1]), ("rest", Pipeline([("model", pipeline[-1])]))])
        np.testing.assert_allclose(
            whyodd.explain(nested, odd).relevance, whyodd.explain(pipeline, odd).relevance
        )

    def test_the_best_model_of_a_search(self, normal, odd):
        steps = make_pipeline(StandardScaler(), KernelDensity())
        search = GridSearchCV(steps, {"kerneldensity__bandwidth": [0.3, 1.0]}, cv=2).fit(normal[["bytes"]])
        np.testing.assert_array_equal(
            whyodd.explain(search, odd[["bytes"]]).relevance,
            whyodd.explain(search.best_estimator_, odd[["bytes"]]).relevance,
        )
        with pytest.raises(UnsupportedModelError, match="no best_estimator_, expected one fitted with refit"):
            whyodd.explain(GridSearchCV(steps, {}), odd[["bytes"]])

    def test_infinite_values_that_a_step_takes(self, normal, odd):
        steps = make_pipeline(FunctionTransformer(np.arctan), KernelDensity()).fit(normal[["bytes"]])
        e = whyodd.explain(steps, odd[["bytes"]].astype(float).assign(bytes=np.inf))
        assert e.why(0).startswith("bytes is too high (inf, expected about ")
        assert json.loads(json.dumps(e.to_dict(), allow_nan=False))["rows"][0]["value"] == ["inf"]


class TestLinearMaps:
    """z = C (x - μ) / s: the shares of the design, section 2, between scaled columns and components."""

    @pytest.mark.parametrize("whiten", [False, True])
    def test_pca_as_the_formula_has_it(self, whiten):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5)) * [1, 10, 100, 1, 1]
        model = make_pipeline(StandardScaler(), PCA(3, whiten=whiten), KernelDensity(bandwidth=0.7)).fit(X)
        odd = X[:4] + np.array([0, 0, 300, 0, 4])
        e = whyodd.explain(model, odd)
        scaled, B = model[0].transform(odd), model[1].components_
        if whiten:
            B = B / np.sqrt(model[1].explained_variance_)[:, None]
        np.testing.assert_allclose(
            e.relevance, mixed_relevance(scaled @ B.T - model[1].mean_ @ B.T, B, e.network)
        )
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        if not whiten:
            assert (e.relevance >= -1e-12 * e.outlierness[:, None]).all()

    def test_columns_that_are_not_mixed_keep_out_of_the_map(self, normal, odd):
        blocks = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler(), PCA(1)), ["bytes", "age"]),
            (StandardScaler(), ["duration"]),
        )
        e = whyodd.explain(make_pipeline(blocks, KernelDensity()).fit(normal), odd)
        assert e.feature_names == tuple(odd.columns)
        np.testing.assert_array_equal(e.relevance[:, [1, 3]], 0.0)
        assert e.reasons(2)[0].feature == "duration"
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)


def mixed_relevance(Z, B, network):
    """R_i = Σ_j Δ_j (B⁺ζ)_i (Bᵀζ)_i / ‖ζ‖², one pair at a time."""
    pinv, out = np.linalg.pinv(B), np.zeros((len(Z), B.shape[1]))
    for i, z in enumerate(Z):
        zeta = z - network.centers
        d2 = np.sum(zeta**2, axis=1)
        v = network.log_weights + network.kernel.log_similarity(d2)
        o = network.kernel.outlierness(np.logaddexp.reduce(v), len(v))
        delta = np.exp(v - np.logaddexp.reduce(v)) * network.kernel.explained(d2, o)
        for j in range(len(v)):
            out[i] += delta[j] * (pinv @ zeta[j]) * (B.T @ zeta[j]) / d2[j]
    return out


class TestBadInput:
    def test_columns_in_another_order_and_more_of_them(self, pipeline, odd):
        shuffled = odd[odd.columns[::-1]].assign(label="attack")
        np.testing.assert_allclose(
            whyodd.explain(pipeline, shuffled).relevance, whyodd.explain(pipeline, odd).relevance
        )

    def test_missing_columns_are_named(self, pipeline, odd):
        with pytest.raises(ValueError, match=r"missing 'duration', 'age'. Pass the columns used in fit"):
            whyodd.explain(pipeline, odd.drop(columns=["duration", "age"]))

    def test_unseen_category_is_odd(self, pipeline, odd):
        e, seen = whyodd.explain(pipeline, odd), whyodd.explain(pipeline, odd.assign(protocol="tcp"))
        assert e.relevance[1, 1] > 1.5 * seen.relevance[1, 1]
        assert e.outlierness[1] > seen.outlierness[1]

    def test_unseen_category_where_the_encoder_refuses_names_the_column(self, normal, odd):
        strict = table_pipeline(OneClassSVM(), unknown="error").fit(normal)
        with pytest.raises(ValueError, match=r"Column 'protocol' has 'icmp' in row 1.*'tcp', 'udp'"):
            whyodd.explain(strict, odd)

    def test_missing_value_is_filled_in_and_said_to_be_missing(self, normal, odd):
        marked = make_pipeline(
            SimpleImputer(add_indicator=True), StandardScaler(), LocalOutlierFactor(novelty=True)
        )
        e = whyodd.explain(marked.fit(normal[NUMBERS]), odd[NUMBERS].assign(age=np.nan))
        reason = next(reason for reason in e.reasons(1) if reason.feature == "age")
        assert np.isnan(reason.value)
        assert "age is missing" in e.why(1)

    def test_all_missing_column_in_new_rows(self, pipeline, odd):
        e = whyodd.explain(pipeline, odd.assign(age=np.nan))
        assert np.isfinite(e.relevance).all()

    @pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
    def test_all_missing_column_in_training(self, normal, odd):
        frame = normal[NUMBERS].assign(nothing=np.nan)
        model = make_pipeline(SimpleImputer(), StandardScaler(), KernelDensity()).fit(frame)
        e = whyodd.explain(model, odd[NUMBERS].assign(nothing=3.0))
        assert "nothing never varied in training (always missing, here 3)" in e.why(0)

    def test_gap_that_no_step_fills_is_a_clear_error(self, odd):
        model = make_pipeline(StandardScaler(), KernelDensity()).fit(odd[NUMBERS])
        with pytest.raises(ValueError, match="row 0, column 'age' is NaN"):
            whyodd.explain(model, odd[NUMBERS].assign(age=np.nan))

    def test_no_rows(self, pipeline, odd):
        with pytest.raises(ValueError, match="Expected X with at least one row, got none"):
            whyodd.explain(pipeline, odd.head(0))

    def test_unfitted_step_is_named(self, odd):
        with pytest.raises(NotFittedError, match="not fitted yet: call fit"):
            whyodd.explain(make_pipeline(StandardScaler(), OneClassSVM()), odd[NUMBERS])

    def test_unfitted_transformer_before_a_fitted_model(self, odd):
        model = OneClassSVM().fit(odd[NUMBERS])
        with pytest.raises(NotFittedError, match="'standardscaler'"):
            whyodd.explain(make_pipeline(StandardScaler(), model), odd[NUMBERS])

    def test_frame_where_an_array_was_fitted(self, normal, odd):
        model = make_pipeline(SimpleImputer(), StandardScaler(), KernelDensity()).fit(
            normal[NUMBERS].to_numpy()
        )
        e = whyodd.explain(model, odd[NUMBERS])
        np.testing.assert_allclose(e.relevance, whyodd.explain(model, odd[NUMBERS].to_numpy()).relevance)
        assert e.feature_names == tuple(NUMBERS)

    def test_array_where_a_frame_was_fitted(self, pipeline, odd):
        e = whyodd.explain(pipeline, odd.to_numpy())
        np.testing.assert_allclose(e.relevance, whyodd.explain(pipeline, odd).relevance)
        with pytest.raises(ValueError, match="fitted on a data frame with 5 columns: 'bytes'"):
            whyodd.explain(pipeline, odd.to_numpy()[:, :4])

    def test_step_that_cannot_be_traced_names_itself_and_offers_relevance_at_its_output(self, normal, odd):
        model = make_pipeline(SimpleImputer(), KernelPCA(2, kernel="rbf"), KernelDensity()).fit(
            normal[NUMBERS]
        )
        with pytest.raises(whyodd.UnsupportedModelError, match=r"'kernelpca' \(KernelPCA\).*pipeline\[2:\]"):
            whyodd.explain(model, odd[NUMBERS])
        e = whyodd.explain(model[2:], model[:2].transform(odd[NUMBERS]))
        assert e.relevance.shape == (3, 2)

    def test_steps_that_do_nothing_count_in_what_is_offered(self, normal, odd):
        model = make_pipeline("passthrough", SimpleImputer(), KernelPCA(2), KernelDensity()).fit(
            normal[NUMBERS]
        )
        with pytest.raises(whyodd.UnsupportedModelError, match=r"pipeline\[3:\]"):
            whyodd.explain(model, odd[NUMBERS])

    def test_only_steps_that_do_nothing(self, normal, odd):
        frame = normal[["bytes", "duration"]]
        model = make_pipeline("passthrough", StandardScaler(), "passthrough", KernelDensity()).fit(frame)
        e = whyodd.explain(model, odd)
        assert e.feature_names == ("bytes", "duration")

    def test_pipeline_without_a_model(self, odd):
        with pytest.raises(whyodd.UnsupportedModelError, match="StandardScaler"):
            whyodd.explain(make_pipeline(StandardScaler()).fit(odd[NUMBERS]), odd[NUMBERS])
        with pytest.raises(whyodd.UnsupportedModelError, match="ends in 'passthrough'"):
            whyodd.explain(make_pipeline(StandardScaler(), "passthrough").fit(odd[NUMBERS]), odd[NUMBERS])


DETECTORS = {
    "knn": lambda: whyodd.KNearestNeighbors(),
    "kde": lambda: KernelDensity(),
    "svm": lambda: OneClassSVM(),
    "gaussian": lambda: whyodd.Gaussian(),
    "mixture": lambda: whyodd.GaussianMixture(2, random_state=0),
    "lof": lambda: LocalOutlierFactor(novelty=True),
}


class TestNeverVaried:
    """A column that was constant in training has no scale: its deviation is told, not measured."""

    @pytest.mark.parametrize("scaled", [False, True])
    @pytest.mark.parametrize("name", DETECTORS)
    def test_is_said_without_a_share(self, name, scaled):
        rng = np.random.default_rng(0)
        train = pd.DataFrame(rng.normal(size=(100, 3)), columns=["a", "b", "flag"]).assign(flag=1.0)
        model = DETECTORS[name]()
        model = (make_pipeline(StandardScaler(), model) if scaled else model).fit(train)
        e = whyodd.explain(model, pd.DataFrame({"a": [5.0, 0.0], "b": [0.0, 0.0], "flag": [7.0e8, 1.0]}))
        assert e.why(0).startswith("flag never varied in training (always 1, here 700000000)")
        assert "100 %" not in e.why(0).split(";")[0]
        assert "never varied" not in e.why(1)

    def test_the_rest_is_explained_beside_it(self):
        rng = np.random.default_rng(0)
        train = pd.DataFrame(rng.normal(size=(100, 3)), columns=["a", "b", "flag"]).assign(flag=1.0)
        model = KernelDensity().fit(train)
        e = whyodd.explain(model, pd.DataFrame({"a": [5.0], "b": [0.0], "flag": [3.0]}))
        assert "; a is too high (5, expected about " in e.why(0)
        assert "of the rest of the outlierness" in e.why(0)
        html = e._repr_html_()
        assert "never varied in training" in html
        # Of a, b, all others and no single variable; the flag has none.
        shares = [int(share) for share in re.findall(r"(\d+) %", html)]
        assert len(shares) == 4
        assert abs(sum(shares) - 100) <= 2

    def test_a_network_of_ones_own_knows_nothing_of_training(self):
        e = whyodd.explain(whyodd.DistanceNetwork([[0.0, 1.0], [1.0, 1.0]]), [[0.5, 4.0]])
        assert e.why(0).startswith("x1 is too high")


class TestGroups:
    def test_sum_their_columns_where_the_first_one_stood(self, pipeline, odd):
        e = whyodd.explain(pipeline, odd)
        g = whyodd.explain(pipeline, odd, groups={"traffic": ["bytes", "duration"], "who": ["service"]})
        assert g.feature_names == ("traffic", "protocol", "who", "age")
        np.testing.assert_allclose(g.relevance[:, 0], e.relevance[:, 0] + e.relevance[:, 2])
        np.testing.assert_allclose(g.relevance.sum(axis=1), e.relevance.sum(axis=1))
        assert g.reasons(0)[0].value == {"bytes": 1e6, "duration": odd["duration"][0]}
        assert g.why(0).startswith("traffic is unusual (bytes 1000000, duration ")
        assert g.to_dict()["rows"][0]["value"][0]["bytes"] == 1e6

    def test_of_a_plain_model(self, normal):
        X = normal[["bytes", "duration"]]
        model = make_pipeline(StandardScaler(), KernelDensity()).fit(X)
        g = whyodd.explain(model, X.head(2), groups={"all": ["bytes", "duration"]})
        assert g.relevance.shape == (2, 1)
        assert len(g.to_frame()) == 4

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            (
                {"a": ["bytez"]},
                r"groups\['a'\] holds 'bytez', which is not a column of X. Choose among: 'bytes'",
            ),
            ({"a": ["bytes"], "b": ["bytes"]}, "'bytes' is in two groups, 'a' and 'b'"),
            ({"a": []}, "at least one column name"),
            ({"a": "bytes"}, "at least one column name"),
            ({"a": None}, "at least one column name"),
            ({"a": ["bytes", "bytes"]}, r"groups\['a'\] holds 'bytes' twice\. Leave one out\."),
            ({"age": ["bytes"]}, "'age' has the name of a column that is not in it"),
        ],
    )
    def test_wrong_groups_are_told(self, pipeline, odd, groups, message):
        with pytest.raises(ValueError, match=message):
            whyodd.explain(pipeline, odd, groups=groups)

    def test_other_things_than_a_dictionary(self, pipeline, odd):
        with pytest.raises(TypeError, match="Expected groups as a dictionary"):
            whyodd.explain(pipeline, odd, groups=["bytes"])


class TestTextAndLinear:
    def test_terms_of_a_vectorizer(self):
        texts = ["the cat sat", "the cat ran", "the dog sat", "a dog ran"]
        model = make_pipeline(CountVectorizer(binary=True), OneClassSVM(gamma=0.3)).fit(texts)
        e = whyodd.explain(model, ["cat cat dog"])
        assert e.feature_names == tuple(model[0].get_feature_names_out())
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness)

    @pytest.mark.parametrize("last", [SGDOneClassSVM(random_state=0), OneClassSVM(kernel="linear")])
    def test_linear_models_have_a_signed_decomposition(self, normal, odd, last):
        model = make_pipeline(SimpleImputer(), StandardScaler(), last).fit(normal[NUMBERS])
        e = whyodd.explain(model, odd[NUMBERS])
        np.testing.assert_allclose(e.outlierness, -model.decision_function(odd[NUMBERS]))
        z = model[:-1].transform(odd[NUMBERS])
        np.testing.assert_allclose(e.relevance, -np.ravel(last.coef_) * z)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness)
        assert e.why(0)

    def test_linear_model_after_a_map_says_what_to_do(self, normal, odd):
        model = make_pipeline(SimpleImputer(), PCA(2), SGDOneClassSVM()).fit(normal[NUMBERS])
        with pytest.raises(whyodd.UnsupportedModelError, match=r"pipeline\[-1\], pipeline\[:-1\]"):
            whyodd.explain(model, odd[NUMBERS])
