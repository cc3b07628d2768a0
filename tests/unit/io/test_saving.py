"""Saved models and explanations: the same bytes of numbers, and never any code from a file."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from http import HTTPStatus
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.ocsvm import OCSVM
from scipy import sparse, special
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.models.registry import MODELS

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
NEW = RANDOM.normal(size=(7, 3)) * 2.0
TEXTS = ["one two three", "two three five", "one three four", "four one two", "five two"] * 2


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.whyodd"


def again(thing, file):
    assert whyodd.save(thing, file) is None
    return whyodd.load(file)


def same(first, second):
    """The same bytes, shape and type."""
    first, second = np.asarray(first), np.asarray(second)
    assert first.dtype == second.dtype
    assert first.shape == second.shape
    if first.dtype == object:
        assert [repr(value) for value in first.ravel()] == [repr(value) for value in second.ravel()]
    else:
        assert first.tobytes() == second.tobytes()


PARTS = ["relevance", "outlierness", "unexplained", "inlierness", "expected", "direction", "data", "rows"]


def same_explanation(first, second):
    for name in PARTS:
        same(getattr(first, name), getattr(second, name))
    assert first.feature_names == second.feature_names
    assert [first.why(i) for i in range(len(first))] == [second.why(i) for i in range(len(second))]
    frame, copied = first.to_frame(), second.to_frame()
    assert type(frame) is type(copied)
    assert frame.equals(copied)
    assert not second.relevance.flags.writeable


# ---- the same numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MODELS)
def test_models(name, dtype, file):
    rows, new = X.astype(dtype), NEW.astype(dtype)
    model = MODELS[name]().fit(rows)
    loaded = again(model, file)
    for data in (new, rows):
        same(model.outlierness(data), loaded.outlierness(data))
        same(model.score_samples(data), loaded.score_samples(data))
        same(model.predict(data), loaded.predict(data))
    same_explanation(whyodd.explain(model, new), whyodd.explain(loaded, new))
    # Its own center is still left out for each row of training.
    same(whyodd.explain(model, rows).relevance, whyodd.explain(loaded, rows).relevance)
    assert repr(loaded) == repr(model)


@pytest.mark.parametrize(
    "model",
    [
        whyodd.OneClassSVM("student", q=2.0),
        whyodd.KernelDensity(kernel=Student(2.0, 1.0, 0.5)),
        whyodd.KNearestNeighbors(measure="mean_vector"),
        whyodd.GaussianMixture(2, "diag", random_state=np.random.RandomState(3)),
        whyodd.Gaussian("robust", random_state=0),
    ],
    ids=lambda model: type(model).__name__,  # the same for all who run the tests
)
def test_forms_of_models(model, file):
    model.fit(X)
    loaded = again(model, file)
    same(model.outlierness(NEW), loaded.outlierness(NEW))
    same_explanation(whyodd.explain(model, NEW), whyodd.explain(loaded, NEW))


def test_sparse_rows(file):
    rows = sparse.random_array((40, 30), density=0.2, rng=0, format="csr")
    model = whyodd.OneClassSVM(sigma=1.0).fit(rows)
    same(model.outlierness(rows[:5]), again(model, file).outlierness(rows[:5]))


def test_unfitted_models_and_parameters(file):
    loaded = again(whyodd.OneClassSVM(nu=0.25, sigma=2.0), file)
    assert loaded.get_params() == whyodd.OneClassSVM(nu=0.25, sigma=2.0).get_params()


@pytest.mark.parametrize(
    "model",
    [
        BayesianGaussianMixture(n_components=2, random_state=0),
        EllipticEnvelope(random_state=0),
        GaussianMixture(2, random_state=0),
        KernelDensity(bandwidth=0.5),
        KernelDensity(algorithm="ball_tree", leaf_size=5),
        LocalOutlierFactor(novelty=True),
        OneClassSVM(gamma=0.5),
        OneClassSVM(kernel="linear"),
        SGDOneClassSVM(random_state=0),
    ],
    ids=repr,
)
def test_detectors_of_scikit_learn(model, file):
    model.fit(X)
    loaded = again(model, file)
    same(model.score_samples(NEW), loaded.score_samples(NEW))
    same_explanation(whyodd.explain(model, NEW), whyodd.explain(loaded, NEW))


@pytest.mark.parametrize("max_features", [1.0, 2])
def test_isolation_forests(max_features, file):
    model = IsolationForest(n_estimators=20, max_features=max_features, random_state=0).fit(X)
    loaded = again(model, file)
    same(model.score_samples(NEW), loaded.score_samples(NEW))
    same(model.predict(NEW), loaded.predict(NEW))


def test_clusters_and_neighbors_of_scikit_learn(file):
    for model in (KMeans(2, random_state=0).fit(X), NearestNeighbors(n_neighbors=3).fit(X)):
        same_explanation(whyodd.explain(model, NEW), whyodd.explain(again(model, file), NEW))
    same(model.kneighbors(NEW)[0], again(model, file).kneighbors(NEW)[0])


def mixed_frame(n=80):
    frame = pd.DataFrame(
        {
            "amount": RANDOM.lognormal(size=n),
            "a": RANDOM.normal(size=n),
            "color": RANDOM.choice(["red", "green", "blue"], n),
            "time": pd.date_range("2024-01-01", periods=n, freq="h"),
            "flag": RANDOM.random(n) > 0.5,
            "always": 3.0,
            "heavy": np.random.default_rng(5).lognormal(0.0, 3.0, n),
            "day": pd.Timestamp("2024-05-01"),
        }
    )
    frame.loc[3, "a"] = np.nan
    frame.loc[5, "color"] = None
    return frame


@pytest.mark.parametrize("kind", ["pandas", "polars", "zones"])
def test_automatic_pipelines(kind, file):
    frame = mixed_frame()
    if kind == "zones":
        frame["time"] = frame["time"].dt.tz_localize("Europe/Berlin")
    frame = pl.from_pandas(frame) if kind == "polars" else frame
    pipeline = whyodd.auto(frame)
    kinds = {column.kind for column in pipeline.auto_report_.columns}
    assert kinds == {"number", "category", "yes/no", "date", "constant"}
    loaded = again(pipeline, file)
    assert str(loaded.auto_report_) == str(pipeline.auto_report_)
    scores = pipeline[-1].outlierness(pipeline[:-1].transform(frame))
    same(pipeline[-1].distribution_.p_values(scores), loaded[-1].distribution_.p_values(scores))
    same(pipeline.score_samples(frame), loaded.score_samples(frame))
    explanation = whyodd.explain(pipeline, frame[:8])
    same_explanation(explanation, whyodd.explain(loaded, frame[:8]))
    same_explanation(explanation, again(explanation, file))


@pytest.mark.parametrize("function", [np.log1p, np.sqrt, np.arcsinh, special.expit])
def test_pipelines_with_known_functions(function, file):
    steps = FunctionTransformer(function), PowerTransformer(), StandardScaler(), whyodd.KernelDensity()
    pipeline = make_pipeline(*steps).fit(np.abs(X))
    loaded = again(pipeline, file)
    same(pipeline.score_samples(np.abs(NEW)), loaded.score_samples(np.abs(NEW)))
    same_explanation(whyodd.explain(pipeline, np.abs(NEW)), whyodd.explain(loaded, np.abs(NEW)))


def test_pipelines_of_columns_and_of_texts(file):
    frame = mixed_frame().dropna()
    columns = make_column_transformer((OneHotEncoder(), ["color"]), (StandardScaler(), ["a"]))
    pipeline = make_pipeline(columns, whyodd.KernelDensity()).fit(frame)
    same_explanation(whyodd.explain(pipeline, frame[:4]), whyodd.explain(again(pipeline, file), frame[:4]))
    pipeline = make_pipeline(TfidfVectorizer(), OneClassSVM()).fit(TEXTS)
    same(pipeline.score_samples(TEXTS), again(pipeline, file).score_samples(TEXTS))


def test_patch_models_and_their_explanations(file):
    images = RANDOM.random((3, 12, 10))
    base = whyodd.KernelDensity(sigma=1.0)
    prepare = whyodd.patches.local_contrast
    model = whyodd.PatchModel(base, patch=(3, 3), prepare=prepare, random_state=0).fit(images)
    loaded = again(model, file)
    other = images[:1] * 0.5
    for data in (images, other):  # those of training find their own patches
        same(model.outlierness(data), loaded.outlierness(data))
    explanation = model.explain(images)
    for copied in (loaded.explain(images), again(explanation, file)):
        for i in range(len(images)):
            same(explanation.heatmap(i), copied.heatmap(i))
        assert copied.twins == explanation.twins == (0, 1, 2)


def test_patch_models_of_series(file):
    times = pd.date_range("2024-01-01", periods=50, freq="min")
    series = pd.DataFrame({"time": times, "v": RANDOM.normal(size=50)})
    model = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(4,), standardize=True, random_state=0).fit(series)
    loaded = again(model, file)
    same(model.score_map(series), loaded.score_map(series))
    explanation, copied = model.explain(series), again(model.explain(series), file)
    same(explanation.relevance[0], copied.relevance[0])
    same(explanation.items[0].times, copied.items[0].times)


def test_text_models_and_their_explanations(file):
    model = whyodd.TextModel(nu=0.5, min_df=1).fit(TEXTS)
    new = ["one six", "two three"]
    loaded = again(model, file)
    same(model.outlierness(new), loaded.outlierness(new))
    explanation = model.explain(new)
    for copied in (loaded.explain(new), again(explanation, file)):
        for i in range(len(new)):
            assert copied.tokens(i) == explanation.tokens(i)
            assert copied.absent(i, 3) == explanation.absent(i, 3)


@pytest.mark.parametrize("subwords", [False, True])
def test_text_models_of_surprise_and_their_explanations(file, subwords):
    model = whyodd.TextModel(subwords=subwords, false_alarms=0.05).fit(TEXTS)
    new = ["one six", "two THREE", ""]
    loaded = again(model, file)
    same(model.outlierness(new), loaded.outlierness(new))
    same(model.p_values(new), loaded.p_values(new))
    assert loaded.threshold_ == model.threshold_
    explanation = model.explain(new)
    for copied in (loaded.explain(new), again(explanation, file)):
        for i in range(len(new)):
            assert copied.tokens(i) == explanation.tokens(i)
            assert copied.why(i) == explanation.why(i)


WEIGHTS = RANDOM.dirichlet(np.full(60, 0.05))
REACHES = RANDOM.random(60)


@pytest.mark.parametrize(
    "keywords",
    [
        {"weights": WEIGHTS, "kernel": Exponential(1.3, 0.7), "offset": 0.25},
        {"log_weights": RANDOM.normal(size=60) * 400.0, "rows": np.arange(60), "n_rows": 70},
        {"metric": LinearMetric(RANDOM.normal(size=(2, 3)))},
        {"metric": ComponentMetric(RANDOM.random((60, 3)))},
        {"pooling": Nearest((0.5, 0.25, 0.25))},
        {"pooling": MeanVector(4), "metric": LinearMetric(np.eye(3) * 2.0)},
        {"pooling": LocalReach(3, REACHES, REACHES + 0.1)},
    ],
    ids=lambda keywords: "-".join(keywords),
)
def test_networks(keywords, file):
    network = whyodd.DistanceNetwork(X, **keywords)
    expected = network.decompose(NEW)  # also fills what is compiled for it, which is not stored
    loaded = again(network, file)
    found = loaded.decompose(NEW)
    for name in ("relevance", "unexplained", "outlierness", "log_inlierness"):
        same(getattr(expected, name), getattr(found, name))
    for name in ("centers", "weights", "log_weights"):
        same(getattr(network, name), getattr(loaded, name))
        assert not getattr(loaded, name).flags.writeable
    assert (loaded.offset, loaded.n_rows) == (network.offset, network.n_rows)
    same(network.rows if network.rows is not None else [], loaded.rows if loaded.rows is not None else [])
    copied = pickle.loads(pickle.dumps(network))
    same(network.log_weights, copied.log_weights)


@pytest.mark.parametrize("method", ["dtd", "sensitivity"])
def test_explanations(method, file):
    frame = pl.DataFrame(NEW, schema=["a", "b", "c"], orient="row")
    model = whyodd.KernelDensity().fit(pl.DataFrame(X, schema=["a", "b", "c"], orient="row"))
    explanation = whyodd.explain(model, frame, method=method, groups={"both": ["a", "b"], "c": ["c"]})
    assert explanation.expected.shape == (7, 2)  # fills a cache
    loaded = again(explanation, file)
    same_explanation(explanation, loaded)
    assert loaded.method == method
    assert loaded.neighbors(2) == explanation.neighbors(2)
    same(explanation[2:4].relevance, loaded[2:4].relevance)


def test_explanations_through_mixed_columns(file):
    pipeline = make_pipeline(StandardScaler(), PCA(2), whyodd.KernelDensity(contamination=0.1)).fit(X)
    explanation = whyodd.explain(pipeline, NEW)
    loaded = again(explanation, file)
    same_explanation(explanation, loaded)
    assert loaded.threshold == explanation.threshold is not None
    same(explanation.variables.origin, loaded.variables.origin)
    same(explanation.variables.through.matrix.toarray(), loaded.variables.through.matrix.toarray())
    assert explanation.variables.through.n_inputs == 3


def test_objects_that_are_lists_stay_cells(file):
    explanation = whyodd.explain(whyodd.Gaussian().fit(X), NEW[:1])
    cells = np.empty((1, 3), dtype=object)
    cells[0, :] = [[1, 2], None, pd.Timestamp("2024-05-01 03:00", tz="UTC").as_unit("ms")]
    explanation.__dict__["data"] = cells
    loaded = again(explanation, file).data
    same(cells, loaded)
    assert loaded[0, 2].unit == "ms"


def test_saving_twice_replaces_the_file_and_loads_the_same(file, tmp_path):
    model = whyodd.KernelDensity().fit(X)
    first, second = again(model, str(file)), again(again(model, file), Path(file))
    same(first.outlierness(NEW), second.outlierness(NEW))
    same(model.outlierness(NEW), second.outlierness(NEW))
    assert list(tmp_path.iterdir()) == [file]


def test_equal_models_make_equal_files(tmp_path):
    for name in ("first", "second"):
        network = whyodd.DistanceNetwork(sparse.csr_array(X), weights=WEIGHTS)
        whyodd.save([network, network, b"bytes", np.float64(0.5)], tmp_path / name)
    whyodd.save(whyodd.load(tmp_path / "first"), tmp_path / "third")
    first, *others = ((tmp_path / name).read_bytes() for name in ("first", "second", "third"))
    assert others == [first, first]
    loaded = whyodd.load(tmp_path / "first")
    assert loaded[0] is loaded[1]  # what was one thing stays one


def test_linear_maps(file):
    made = LinearMap(RANDOM.normal(size=(2, 5)))
    assert made.squares.shape == (5,)  # fills what is computed again on the other side
    loaded = again(made, file)
    same(made.matrix.toarray(), loaded.matrix.toarray())
    same(made.shortest, loaded.shortest)


# ---- models of others -------------------------------------------------------------------------------------

PYOD = {"KNN": KNN, "LOF": LOF, "OCSVM": OCSVM}


@pytest.mark.filterwarnings("ignore")  # those of PyOD are not ours
@pytest.mark.parametrize("name", PYOD)
def test_of_models_of_pyod_the_network_is_saved(name, file):
    model = PYOD[name]().fit(X)
    told = rf"cannot store pyod\.models\.\w+\.{name}, .*: whyodd\.save\(whyodd\.neuralize\(model\), path\), "
    with pytest.raises(ValueError, match=told):
        whyodd.save(model, file)
    assert not file.exists()
    loaded = again(whyodd.neuralize(model), file)
    same_explanation(whyodd.explain(model, NEW), whyodd.explain(loaded, NEW))


@pytest.mark.filterwarnings("ignore")
def test_pipelines_that_end_in_pyod(file):
    pipeline = make_pipeline(StandardScaler(), KNN()).fit(X)
    with pytest.raises(ValueError, match=r"a pipeline with whyodd\.neuralize\(pipeline\[-1\]\) as its last"):
        whyodd.save(pipeline, file)
    loaded = again(make_pipeline(*pipeline[:-1], whyodd.neuralize(pipeline[-1])), file)
    same_explanation(whyodd.explain(pipeline, NEW), whyodd.explain(loaded, NEW))


# ---- never any code ---------------------------------------------------------------------------------------


def own_function(values):
    return values


class Own(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (FunctionTransformer(lambda values: values), "<lambda>"),
        (FunctionTransformer(own_function), "own_function"),
        (FunctionTransformer(os.path.join), "join"),
        (FunctionTransformer(np.load), "load"),
        (Own(), "Own"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_code_of_people_is_not_saved(step, named, file):
    file.write_text("what was there")
    with pytest.raises(ValueError, match=rf"cannot store [\w.]*{named}.*must not execute code"):
        whyodd.save(make_pipeline(step, whyodd.Gaussian()), file)
    assert file.read_text() == "what was there"


def test_what_skops_cannot_store_is_told_in_one_sentence(file):
    model = whyodd.Gaussian().fit(X)
    model.note_ = {(1, 2): 3}
    with pytest.raises(ValueError, match=r"save\(\) cannot store this Gaussian: .*\.$"):
        whyodd.save(model, file)
    assert not file.exists()


def rewritten(file, change=None, about=None, **others):
    """File with another schema, or other parts."""
    with zipfile.ZipFile(file) as parts:
        content = {name: parts.read(name) for name in parts.namelist()}
    if change is not None:
        schema = json.loads(content["schema.json"])
        content["schema.json"] = json.dumps(change(schema) or schema).encode()
    if about is not None:
        content["whyodd.json"] = json.dumps(json.loads(content["whyodd.json"]) | about).encode()
    with zipfile.ZipFile(file, "w") as parts:
        for name, data in (content | others).items():
            parts.writestr(name, data)


@pytest.fixture
def saved(file):
    whyodd.save(make_pipeline(FunctionTransformer(np.log1p), whyodd.Gaussian()).fit(np.abs(X)), file)
    return file


def nodes(node, loader):
    if isinstance(node, dict):
        if node.get("__loader__") == loader:
            yield node
        node = list(node.values())
    for part in node if isinstance(node, list) else []:
        yield from nodes(part, loader)


def naming(loader, module, name, **fields):
    def change(schema):
        node = next(nodes(schema, loader))
        node |= {"__module__": module, "__class__": name, **fields}

    return change


def text(value):
    content = json.dumps(value)
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": content}


def arguments(*values):
    content = [text(value) for value in values]
    return {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": content}


def method(name):
    return {"__loader__": "MethodNode", "content": {"func": name, "obj": text("")}}


CALL = {"__loader__": "ConstructorFromReduceNode", "content": arguments("touch hacked")}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (naming("FunctionNode", "os", "system"), "os.system"),
        (naming("FunctionNode", "builtins", "eval"), "builtins.eval"),
        (naming("FunctionNode", "numpy", "load"), "numpy.load"),
        (naming("FunctionNode", "os", "system", **CALL), "os.system"),
        (naming("FunctionNode", "builtins", "exec", **CALL), "builtins.exec"),
        (naming("FunctionNode", "numpy", "log1p", **CALL), "numpy.log1p"),
        (naming("TypeNode", "builtins", "eval"), "builtins.eval"),
        (naming("ObjectNode", "subprocess", "Popen"), "subprocess.Popen"),
        (naming("ObjectNode", "whyodd_plugin", "Model"), "whyodd_plugin.Model"),
        (naming("ObjectNode", "whyodd.io.atomic", "replacing"), "whyodd.io.atomic.replacing"),
        (naming("ObjectNode", "sklearn.neighbors._kd_tree", "KDTree"), "KDTree"),
        (naming("DictNode", "builtins", "eval"), "builtins.eval"),
        (naming("NdArrayNode", "builtins", "eval"), "builtins.eval"),
        (naming("FunctionNode", "functools", "partial", __loader__="PartialNode"), "functools.partial"),
        (naming("FunctionNode", "operator", "methodcaller", __loader__="OperatorFuncNode"), "methodcaller"),
        (
            naming("FunctionNode", "whyodd.pipelines", "Trace", **method("__reduce__")),
            "pipelines.Trace.__reduce__",
        ),
        # Where things live today is nothing that a file may know, nor are names of another format.
        (naming("ObjectNode", "whyodd.models.gaussian", "Gaussian"), "models.gaussian.Gaussian"),
        (
            naming("FunctionNode", "whyodd.adapters.tracing.traced", "Trace", **method("decode")),
            "Trace.decode",
        ),
        # What is known is so for one loader.
        (naming("FunctionNode", "whyodd", "Gaussian"), "whyodd.Gaussian"),
        (naming("FunctionNode", "whyodd.pipelines.Trace", "decode"), "pipelines.Trace.decode"),
        (naming("ObjectNode", "whyodd.pipelines", "LinearMap"), "pipelines.LinearMap"),
        # An older way of skops to name functions beside those that are looked at.
        (
            naming("FunctionNode", "numpy", "log1p", content={"module_path": "os", "function": "system"}),
            "numpy.log1p with 'content'",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_name_anything_else_are_refused(change, named, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rewritten(saved, change)
    before = set(sys.modules)
    with pytest.raises(ValueError, match=rf"contains [\w.]*{named}.*which whyodd refuses to load") as told:
        whyodd.load(saved)
    assert str(saved) in str(told.value)
    assert not (tmp_path / "hacked").exists()
    assert "whyodd_plugin" not in set(sys.modules) - before


class Hacker:
    def __reduce__(self):
        return os.mkdir, ("hacked",)


@pytest.mark.parametrize("kind", ["schema", "array", "array of objects", "whole file"])
def test_pickles_are_never_read(kind, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bomb = pickle.dumps(Hacker())
    array = next(name for name in zipfile.ZipFile(saved).namelist() if name.endswith(".npy"))
    if kind == "schema":
        rewritten(saved, **{"schema.json": bomb})
    elif kind == "array":
        rewritten(saved, **{array: bomb})
    elif kind == "array of objects":
        objects = io.BytesIO()
        np.save(objects, np.array([Hacker()], dtype=object), allow_pickle=True)
        rewritten(saved, **{array: objects.getvalue()})
    else:
        saved.write_bytes(bomb)
    with pytest.raises(ValueError, match=r"is damaged and cannot be loaded|not written by whyodd\.save"):
        whyodd.load(saved)
    assert not (tmp_path / "hacked").exists()


def test_networks_that_do_not_fit_together_are_refused(file):
    whyodd.save(whyodd.DistanceNetwork(X, rows=np.arange(60)), file)

    def wrong_weights(schema):
        state = schema["content"]["content"]
        state["log_weights"] = state["offset"] | {"__id__": None}

    rewritten(file, wrong_weights)
    with pytest.raises(ValueError, match=r"is damaged .*Expected log_weights with one number per center"):
        whyodd.load(file)


def test_sparse_centers_with_wrong_indices_are_refused(file):
    centers = sparse.csr_array(np.eye(4))
    whyodd.save(whyodd.DistanceNetwork(centers), file)
    name = next(name for name in zipfile.ZipFile(file).namelist() if name.endswith(".npz"))
    parts = {"indices": np.array([0, 1, 2, 10**6], dtype=np.int32), "indptr": centers.indptr}
    wrong = io.BytesIO()
    np.savez(wrong, data=centers.data, shape=centers.shape, format=b"csr", _is_array=True, **parts)
    rewritten(file, **{name: wrong.getvalue()})
    with pytest.raises(ValueError, match="is damaged"):
        whyodd.load(file)


# ---- files ------------------------------------------------------------------------------------------------


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*missing\.whyodd\.$"):
        whyodd.load(tmp_path / "missing.whyodd")
    with pytest.raises(IsADirectoryError, match="is a folder, expected a file"):
        whyodd.load(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder, expected the name of a file"):
        whyodd.save(whyodd.Gaussian(), tmp_path)
    with pytest.raises(OSError, match="cannot write"):
        whyodd.save(whyodd.Gaussian(), tmp_path / "no folder" / "model.whyodd")
    for content in (b"", b"a,b\n1,2\n", b"PK\x03\x04"):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ValueError, match=r"other was not written by whyodd\.save\(\)"):
            whyodd.load(tmp_path / "other")
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "arrays.npz", X)
        with pytest.raises(ValueError, match="was not written by"):
            whyodd.load(tmp_path / "arrays.npz")


def test_files_cut_short_or_with_wrong_bytes(saved):
    whole = saved.read_bytes()
    for length in range(0, len(whole), len(whole) // 7 + 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="cut short"):
            whyodd.load(saved)
    place = whole.index(b"NUMPY") + 130  # among the numbers, behind the header of the array
    saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    with pytest.raises(ValueError, match="is damaged"):
        whyodd.load(saved)


def deep(schema):
    node = text("end")
    for _ in range(300):  # JSON itself stops at deeper ones
        node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [node]}
    return schema | {"content": node}


def test_schemas_that_make_no_sense(saved):
    whole = saved.read_bytes()
    for change in (lambda _: [1], lambda _: {"a": 1}, lambda schema: schema | {"content": 3}, deep):
        saved.write_bytes(whole)
        rewritten(saved, change)
        with pytest.raises(ValueError, match="is damaged"):
            whyodd.load(saved)


def test_newer_formats_and_other_versions(saved):
    rewritten(saved, about={"format": 3, "whyodd": "7.8.9"})
    told = rf"by whyodd 7\.8\.9 in format 3, but this is whyodd {whyodd.__version__}, .*: update whyodd\.$"
    with pytest.raises(ValueError, match=told):
        whyodd.load(saved)
    rewritten(saved, about={"format": 2, "scikit-learn": "0.1"})
    with pytest.warns(
        UserWarning, match=r"scikit-learn 0\.1, but .* is installed: numbers may differ"
    ) as told:
        whyodd.load(saved)
    assert [Path(one.filename) for one in told] == [Path(__file__)]
    with zipfile.ZipFile(saved) as parts:
        assert json.loads(parts.read("whyodd.json")).keys() == {"format", "whyodd", "numpy", "scikit-learn"}


def test_a_failed_write_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        whyodd.save(whyodd.Gaussian(), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_without_skops(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    told = r"needs skops\. Run: pip install 'whyodd\[saving\]'"
    with pytest.raises(ModuleNotFoundError, match=rf"save\(\) {told}"):
        whyodd.save(whyodd.Gaussian(), file)
    rewrite = zipfile.ZipFile(file, "w")
    rewrite.close()
    with pytest.raises(ModuleNotFoundError, match=rf"load\(\) {told}"):
        whyodd.load(file)


def test_search_trees_are_stored_as_their_rows_alone(file):
    rows = RANDOM.normal(size=(2000, 3))
    whyodd.save(KernelDensity().fit(rows), file)
    assert file.stat().st_size < 1.1 * rows.nbytes + 10_000


# ---- saving keeps its word --------------------------------------------------------------------------------


@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer])
def test_support_vectors_of_texts_load_again(vectorizer, file):
    """scikit-learn leaves ``_n_support`` of sparse rows as the memory was: any number may be there."""
    pipeline = make_pipeline(vectorizer(), OneClassSVM()).fit(TEXTS)
    svm = pipeline[-1]
    for number in [0, -1, 2**31 - 1, *RANDOM.integers(-(2**31), 2**31, 21)]:
        svm._n_support = np.array([number, -number // 2], dtype=np.int32)
        left = svm._n_support.tobytes()
        loaded = again(pipeline, file)
        same(pipeline.score_samples(TEXTS), loaded.score_samples(TEXTS))
        same(pipeline.predict(TEXTS), loaded.predict(TEXTS))
        assert loaded[-1].n_support_.tolist() == [len(svm.support_)]
        assert svm._n_support.tobytes() == left  # the model itself stays as it was


ROUND_TRIPS = """
import sys, warnings, numpy as np, whyodd
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM
texts = ["one two three", "two three five", "one three four", "four one two", "five two"] * 2
file, dirt = sys.argv[1], [np.full(2, i, np.int32) for i in range(int(sys.argv[2]), 10_000)]
for vectorizer in (CountVectorizer(), TfidfVectorizer()):
    del dirt[::2]  # memory that was used
    pipeline = make_pipeline(vectorizer, OneClassSVM()).fit(texts)
    whyodd.save(pipeline, file)
    assert (whyodd.load(file).score_samples(texts) == pipeline.score_samples(texts)).all()
"""


@pytest.mark.full
def test_support_vectors_of_texts_load_again_whatever_the_memory_was(file):
    for seed in range(12):  # two pipelines each
        subprocess.run([sys.executable, "-c", ROUND_TRIPS, str(file), str(seed)], check=True)


def test_equal_models_of_sparse_rows_make_equal_files(tmp_path):
    for number in (3, 4):
        svm = OneClassSVM().fit(sparse.csr_array(X))
        svm._n_support = np.array([number, number], dtype=np.int32)
        whyodd.save(svm, tmp_path / str(number))
    assert (tmp_path / "3").read_bytes() == (tmp_path / "4").read_bytes()


def test_what_cannot_be_read_back_is_not_saved(saved):
    before = saved.read_bytes()
    model = LocalOutlierFactor(novelty=True).fit(X)
    model.n_samples_fit_ = 10**9
    told = (
        r"^save\(\) cannot store this LocalOutlierFactor in a way that can be loaded again: "
        r"n_samples_fit_ of a LocalOutlierFactor does not fit the rest of it\.$"
    )
    with pytest.raises(ValueError, match=told):
        whyodd.save(model, saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_what_comes_back_as_something_else_is_not_saved(saved):
    """To skops a member of an enumeration is its number."""
    before = saved.read_bytes()
    model = whyodd.Gaussian().fit(X)
    model.note_ = {"status": [HTTPStatus.OK]}
    told = (
        r"^save\(\) cannot store this Gaussian in a way that can be loaded again: "
        r"note_\.status\[0\] changes when it is read back\.$"
    )
    with pytest.raises(ValueError, match=told):
        whyodd.save(model, saved)
    assert saved.read_bytes() == before


def test_keys_that_are_the_same_as_texts_are_not_saved(saved):
    model = whyodd.Gaussian().fit(X)
    model.note_ = {1: "a", "1": "b"}
    with pytest.raises(
        ValueError, match=r"cannot store this Gaussian: a dictionary in it does not have as many types"
    ):
        whyodd.save(model, saved)


def test_a_folder_of_pickles_is_not_saved(file, tmp_path):
    """A pipeline reads its ``memory`` when it is fitted again, whoever wrote there."""
    pipeline = Pipeline([("scale", StandardScaler()), ("model", whyodd.Gaussian())], memory=str(tmp_path))
    with pytest.raises(ValueError, match=r"memory of a Pipeline"):
        whyodd.save(pipeline, file)


@pytest.mark.parametrize(
    "step", [PolynomialFeatures(2), RandomForestRegressor(), Nystroem(n_components=2)], ids=repr
)
def test_estimators_that_nothing_explains_are_not_saved(step, file):
    name = type(step).__name__
    told = rf"cannot store sklearn\.[\w.]*{name}\. From scikit-learn, a file holds only the detectors"
    with pytest.raises(ValueError, match=told):
        whyodd.save(make_pipeline(step, whyodd.Gaussian()), file)
