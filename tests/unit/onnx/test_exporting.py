"""Exported models, run by onnxruntime, say what whyodd says: of real tables, and of hard cases."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

import whyodd
from onnx_export import MODELS, SCALERS, deviation, outputs, rows_of, session_of
from whyodd.kernels import Exponential, Kernel, RationalQuadratic, Student
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.metrics import ComponentMetric, LinearMetric

# Results are rounded to float32, by up to 6e-8 of themselves. Promised are 1e-5.
SAME32 = 1e-5
# What whyodd itself promises in float64.
SAME64 = 1e-9

TABLES = ["10_cover", "12_fault", "14_glass", "15_Hepatitis", "16_http", "18_Ionosphere", "19_landsat"]
TABLES += ["21_Lymphography", "22_magic.gamma", "25_musk", "27_PageBlocks", "28_pendigits", "29_Pima"]
TABLES += ["2_annthyroid", "30_satellite", "32_shuttle", "37_Stamps", "38_thyroid", "41_Waveform", "42_WBC"]
TABLES += ["45_wine", "46_WPBC", "47_yeast", "4_breastw", "6_cardio"]

# One of each way to compute.
FAMILIES = ["OneClassSVM, gaussian", "KNearestNeighbors, mean", "LocalOutlierFactor", "GaussianMixture, full"]

_random = np.random.default_rng(0)
TRAINING = _random.normal(size=(60, 3)) * [1.0, 5.0, 0.5] + [0.0, 100.0, -3.0]
ROWS = TRAINING[:8] + _random.normal(size=(8, 3))


def run(model, X, path, **options):
    return outputs(session_of(model, path, **options), X)


def check(model, X, path, tolerance=SAME64):
    """A file in float64 says what whyodd says; what it says, for more questions."""
    found = run(model, X, path, dtype="float64")
    largest = deviation(model, found, X)
    assert max(largest[:3]) <= tolerance
    assert largest.n_other_verdicts == 0
    sums = found["relevance"].sum(axis=1) + found["unexplained"]
    np.testing.assert_allclose(sums, found["outlierness"], rtol=1e-9, atol=1e-14)
    return found


@pytest.mark.data
@pytest.mark.filterwarnings("ignore")  # of models that do not converge, and columns of one value
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", MODELS)
def test_real_tables(name, table, data_dir, tmp_path):
    turn = TABLES.index(table) + list(MODELS).index(name)
    steps = list(SCALERS.values())[turn % len(SCALERS)]
    train, X = rows_of(data_dir / "adbench" / f"{table}.npz", 300, 150)
    model = make_pipeline(*map(clone, steps), clone(MODELS[name])).fit(train)
    largest = deviation(model, run(model, X, tmp_path / "m.onnx"), X)
    assert max(largest[:3]) <= SAME32
    assert largest.n_other_verdicts == 0


@pytest.mark.data
def test_every_table_is_met(data_dir):
    assert sorted(path.stem for path in (data_dir / "adbench").glob("*.npz")) == sorted(TABLES)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_principal_components_before_any_model(name, whiten, tmp_path):
    """A map that mixes columns, and for mixtures a metric after it."""
    model = make_pipeline(RobustScaler(), PCA(2, whiten=whiten), clone(MODELS[name])).fit(TRAINING)
    check(model, ROWS, tmp_path / "m.onnx")


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [RobustScaler(with_centering=False)],
        [MinMaxScaler((-1, 2), clip=True)],
        [MaxAbsScaler(), "passthrough", None],
        [IncrementalPCA(whiten=True), StandardScaler()],
        [make_pipeline(StandardScaler(), PCA(2))],
    ],
    ids=str,
)
def test_steps_before_a_model(steps, tmp_path):
    named = [(f"step {i}", step) for i, step in enumerate(steps)]
    model = Pipeline([*named, ("model", whyodd.KernelDensity())]).fit(TRAINING)
    check(model, ROWS, tmp_path / "m.onnx")


@st.composite
def networks(draw):
    """A network of any kernel or pooling, and metric, and rows: some its centers, some next to one."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, d = draw(st.sampled_from([1, 2, 31, 50])), draw(st.integers(1, 4))
    centers = random.normal(size=(m, d)) + draw(st.sampled_from([0.0, 1000.0]))
    metrics = [None, LinearMetric(random.normal(size=(2, d))), LinearMetric(np.diag(random.uniform(size=d)))]
    if draw(st.booleans()):
        k = draw(st.integers(1, min(m, 6)))
        reach = LocalReach(k, random.uniform(size=m), random.uniform(size=m))
        pooling = draw(st.sampled_from([Nearest.mean(k), Nearest.kth(k), MeanVector(k), reach]))
        network = whyodd.DistanceNetwork(centers, pooling=pooling, metric=draw(st.sampled_from(metrics)))
    else:
        metrics += [ComponentMetric(random.normal(size=shape)) for shape in ((m, d), (m, d, d), (m, 1, d))]
        q, sigma = draw(st.sampled_from([0.5, 1.0, 2.0, 4.0])), draw(st.sampled_from([0.1, 1.0, 10.0]))
        kernels = [Exponential(q, sigma), Student(q, 0.5, sigma), RationalQuadratic(3.0, sigma)]
        weights = random.uniform(size=m) * (np.arange(m) % 3 < 2)
        network = whyodd.DistanceNetwork(
            centers,
            weights / weights.sum(),
            draw(st.sampled_from(kernels)),
            metric=draw(st.sampled_from(metrics)),
        )
    nearly = centers[:1] + 1e-9 * random.normal(size=(2, d))
    return network, np.concatenate([centers[:2], nearly, centers[:1] + random.normal(size=(4, d))])


# Six digits are left of a difference of 1e-9 at 1,000, and of an outlierness of 1e-9, a logarithm next to 0.
@pytest.mark.filterwarnings("ignore:The variance")  # of few centers one column may well decide
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(networks())
def test_any_network(tmp_path, given_):
    network, X = given_
    check(network, X, tmp_path / "m.onnx", tolerance=1e-6)


def test_one_row_is_enough(tmp_path):
    for name in FAMILIES:
        model = clone(MODELS[name]).fit(TRAINING)
        session = session_of(model, tmp_path / "m.onnx")
        X = ROWS.astype(np.float32)
        alone, together = outputs(session, X[:1]), outputs(session, X)
        for output, values in alone.items():
            np.testing.assert_allclose(values, together[output][:1], rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_rows_far_away(name, tmp_path):
    """No similarity underflows, and what is far in one column is odd for that."""
    model = make_pipeline(StandardScaler(), clone(MODELS[name])).fit(TRAINING)
    far = TRAINING[:3] + 1e6 * np.eye(3)
    found = run(model, far.astype(np.float32), tmp_path / "m.onnx")
    assert max(deviation(model, found, far.astype(np.float32))[:3]) <= SAME32
    np.testing.assert_array_equal(found["relevance"].argmax(axis=1), [0, 1, 2])


def test_a_copy_of_the_only_center_has_no_relevance(tmp_path):
    network = whyodd.DistanceNetwork([[1.0, 2.0]], kernel=Exponential(q=1.0))
    found = check(network, np.array([[1.0, 2.0]]), tmp_path / "m.onnx")
    assert not found["outlierness"].any()
    assert not found["relevance"].any()


def test_equal_centers_are_stored_once(tmp_path):
    once = whyodd.DistanceNetwork(TRAINING, kernel=Student())
    often = whyodd.DistanceNetwork(np.repeat(TRAINING, 9, axis=0), kernel=Student())
    check(often, ROWS, tmp_path / "often.onnx")
    check(once, ROWS, tmp_path / "once.onnx")
    assert (tmp_path / "often.onnx").stat().st_size < 1.1 * (tmp_path / "once.onnx").stat().st_size


def test_centers_of_a_sparse_model(tmp_path):
    counts = np.random.default_rng(0).poisson(0.5, size=(50, 4)).astype(float)
    model = whyodd.KNearestNeighbors(1).fit(sparse.csr_array(counts))
    check(model, counts[:5] + np.array([0.1, 0.2, 0.4, 0.3]), tmp_path / "m.onnx")


def test_centroids(tmp_path):
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(TRAINING)
    check(model, ROWS, tmp_path / "m.onnx")


def test_rows_with_gaps_come_out_as_nan(tmp_path):
    X = np.array([[np.nan, 100.0, -3.0], [0.0, 100.0, -3.0], [np.inf, 100.0, -3.0]], dtype=np.float32)
    for name in FAMILIES:
        found = run(clone(MODELS[name]).fit(TRAINING), X, tmp_path / "m.onnx")
        np.testing.assert_array_equal(np.isfinite(found["outlierness"]), [False, True, False])
        assert np.isnan(found["relevance"][[0, 2]]).any(axis=1).all()


def test_columns_keep_their_names_and_order(tmp_path):
    frame = pd.DataFrame(TRAINING, columns=["größe", "load", "t"])
    model = make_pipeline(StandardScaler(), whyodd.Gaussian()).fit(frame)
    session = session_of(model, tmp_path / "m.onnx")
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["columns"]) == ["größe", "load", "t"]
    assert (about["opset"], about["whyodd"], about["model"]) == ("11", whyodd.__version__, "Gaussian")
    assert session.get_inputs()[0].shape == ["rows", 3]
    X = frame.iloc[:4].astype(np.float32)
    e = whyodd.explain(model, X.astype(np.float64), exclude_self=False)
    np.testing.assert_allclose(outputs(session, X.to_numpy())["relevance"], e.relevance, rtol=1e-6)


def test_scores_alone(tmp_path):
    model = make_pipeline(PCA(2), whyodd.Gaussian()).fit(TRAINING)
    whole, alone = (session_of(model, tmp_path / f"{why}.onnx", relevance=why) for why in (True, False))
    assert [each.name for each in alone.get_outputs()] == ["outlierness", "is_odd"]
    assert (tmp_path / "False.onnx").stat().st_size < 0.8 * (tmp_path / "True.onnx").stat().st_size
    X = ROWS.astype(np.float32)
    np.testing.assert_array_equal(outputs(alone, X)["outlierness"], outputs(whole, X)["outlierness"])


def test_a_model_without_a_threshold_has_no_verdict(tmp_path):
    session = session_of(whyodd.DistanceNetwork(TRAINING), tmp_path / "m.onnx")
    assert [each.name for each in session.get_outputs()] == ["outlierness", "relevance", "unexplained"]


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in "ab":
        whyodd.onnx.export(whyodd.KernelDensity().fit(TRAINING), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@dataclass(frozen=True)
class Own(Kernel):
    """k = 1 / cosh(d/σ)."""

    sigma: float = 1.0
    q = 1.0

    def log_profile(self, e):
        return np.where(e < 300.0, -np.log(0.5 * (np.exp(e) + np.exp(-e))), np.log(2.0) - e)

    def steepness(self, e):
        return e * np.tanh(e)


@dataclass(frozen=True)
class Hyperbolic(Own):
    def log_profile(self, e):
        return -np.log(np.cosh(e))


def test_a_kernel_of_ones_own(tmp_path):
    few = {"centers": TRAINING[:9], "metric": LinearMetric(np.eye(3))}  # for these nothing is compiled
    check(whyodd.DistanceNetwork(**few, kernel=Own(5.0)), ROWS, tmp_path / "m.onnx")


def committee():
    return whyodd.Committee(random_state=0).fit(TRAINING)


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (committee, "A Committee"),
        (lambda: IsolationForest(n_estimators=2).fit(TRAINING), "A IsolationForest"),
        (lambda: whyodd.KernelPCA(2).fit(TRAINING), "A KernelPCA"),
        (
            lambda: make_pipeline(OneHotEncoder(sparse_output=False), whyodd.Gaussian()).fit(
                [[1, 2], [2, 1]] * 5
            ),
            "OneHotEncoder",
        ),
        (
            lambda: whyodd.DistanceNetwork(TRAINING, kernel=Hyperbolic()),
            r"The kernel Hyperbolic uses np\.cosh",
        ),
        (lambda: np.mean, "A _ArrayFunctionDispatcher"),
    ],
)
def test_what_cannot_be_exported_is_told_in_one_sentence(model, what, tmp_path):
    made = model()
    with pytest.raises(whyodd.UnsupportedModelError, match=what) as told:
        whyodd.onnx.export(made, tmp_path / "m.onnx")
    assert "expected a kernel, neighbour or mixture model" in str(told.value)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.iterdir())


def test_other_types_are_refused(tmp_path):
    with pytest.raises(ValueError, match="expected one of 'float32', 'float64'"):
        whyodd.onnx.export(whyodd.Gaussian().fit(TRAINING), tmp_path / "m.onnx", dtype="float16")


def test_a_file_appears_complete_or_not_at_all(tmp_path):
    old = tmp_path / "m.onnx"
    old.write_bytes(b"old")
    with pytest.raises(OSError, match="cannot write"):
        whyodd.onnx.export(whyodd.Gaussian().fit(TRAINING), tmp_path / "m.onnx" / "below.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
    whyodd.onnx.export(whyodd.Gaussian().fit(TRAINING), old)
    assert onnxruntime.InferenceSession(old).get_inputs()[0].name == "X"
