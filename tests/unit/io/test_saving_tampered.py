"""Files that were tampered with: refused in one sentence, quickly, and without taking much memory."""

from __future__ import annotations

import copy
import io
import json
import os
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import FeatureAgglomeration, KMeans, MiniBatchKMeans
from sklearn.decomposition import IncrementalPCA, TruncatedSVD
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.network.combinations import LocalSelection

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
NEW = RANDOM.normal(size=(5, 3))
SPARSE = sparse.random_array((40, 30), density=0.2, rng=0, format="csr")
UNTRUSTED = (
    r"model\.whyodd would take more memory than any file of its size from .*\. Do not trust this file\.$"
)
DAMAGED = r"model\.whyodd is damaged and cannot be loaded: .*\.$"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.whyodd"


def parts_of(file):
    with zipfile.ZipFile(file) as parts:
        return {name: parts.read(name) for name in parts.namelist()}


def write(file, parts, **keywords):
    with zipfile.ZipFile(file, "w", **keywords) as out:
        for name, data in parts.items():
            out.writestr(name, data)


def saved_parts(model, file):
    whyodd.save(model, file)
    return parts_of(file)


def is_refused(file, sentence):
    """Refused within a second, and with memory in proportion to the file."""
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(ValueError, match=sentence):
            whyodd.load(file)
        # What Python makes of JSON takes many times its text.
        assert tracemalloc.get_traced_memory()[1] < 3_000_000 + 50 * file.stat().st_size
    finally:
        tracemalloc.stop()
    assert time.process_time() - start < 5.0  # what is refused would take minutes


def named(parts, ending):
    return next(name for name in parts if name.endswith(ending))


def as_bytes(header):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"fortran_order": False, **header})
    return stream.getvalue()


# ---- larger than they look --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["whyodd.json", "schema.json", "an array", "one that nobody reads"])
def test_parts_that_unpack_to_much_more(name, file):
    parts = saved_parts(whyodd.Gaussian().fit(X), file)
    name = named(parts, ".npy") if name == "an array" else name
    write(file, parts | {name: b" " * 20_000_000}, compression=zipfile.ZIP_DEFLATED)
    assert file.stat().st_size < 50_000
    is_refused(file, UNTRUSTED)


def test_parts_that_say_they_are_larger(file):
    parts = saved_parts(whyodd.Gaussian().fit(X), file)
    with zipfile.ZipFile(file, "w") as out:
        for name, data in parts.items():
            out.writestr(name, data)
        out.infolist()[1].file_size = 10**12
    is_refused(file, UNTRUSTED)


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ({"descr": "<f8", "shape": (10**9,)}, DAMAGED),
        ({"descr": "<f8", "shape": (10**6, 10**6)}, DAMAGED),
        ({"descr": [("a", "<f8", (10**9,))], "shape": (1,)}, DAMAGED),
        ({"descr": "|S0", "shape": (10**9,)}, UNTRUSTED),
        ({"descr": "<f8", "shape": (10**9, 0)}, UNTRUSTED),
    ],
    ids=["long", "wide", "cells", "cells of nothing", "rows of nothing"],
)
def test_arrays_that_promise_more_than_there_is(header, sentence, file):
    parts = saved_parts(whyodd.KernelDensity(sigma=1.0).fit(X), file)
    write(file, parts | {named(parts, ".npy"): as_bytes(header)})
    is_refused(file, sentence)


def test_archives_of_arrays_are_no_arrays(file):
    parts = saved_parts(whyodd.KernelDensity(sigma=1.0).fit(X), file)
    packed = io.BytesIO()
    np.savez_compressed(packed, np.zeros(10**6))
    write(file, parts | {named(parts, ".npy"): packed.getvalue()})
    is_refused(file, DAMAGED)


def sparse_parts(file):
    return saved_parts(whyodd.DistanceNetwork(SPARSE), file)


def test_sparse_arrays_that_unpack_to_much_more(file):
    parts = sparse_parts(file)
    packed = io.BytesIO()
    sparse.save_npz(packed, sparse.csr_array(np.zeros((10**6, 1))))
    write(file, parts | {named(parts, ".npz"): packed.getvalue()})
    is_refused(file, UNTRUSTED)


def test_sparse_arrays_in_other_layouts(file):
    parts = sparse_parts(file)
    packed = io.BytesIO()
    sparse.save_npz(packed, SPARSE.tocsc(), compressed=False)
    write(file, parts | {named(parts, ".npz"): packed.getvalue()})
    is_refused(file, "sparse matrix in the layout csc, expected csr")


@pytest.mark.parametrize(("place", "end"), [(-1, -(2**31)), (-1, 10**6), (1, -(2**31)), (1, 10**6), (0, 1)])
def test_sparse_arrays_whose_rows_end_elsewhere(place, end, file):
    """Differences that are too large for their type look right to SciPy."""
    centers = sparse.csr_array(np.eye(4))
    parts = saved_parts(whyodd.DistanceNetwork(centers), file)
    ends = centers.indptr.astype(np.int32)
    ends[place] = end
    packed = io.BytesIO()
    arrays = {"data": centers.data, "indices": centers.indices, "indptr": ends}
    np.savez(packed, shape=centers.shape, format=b"csr", _is_array=True, **arrays)
    write(file, parts | {named(parts, ".npz"): packed.getvalue()})
    is_refused(file, DAMAGED)


def test_sparse_models_that_compress_well_load(file):
    ones = sparse.csr_array(np.ones((3000, 3)))
    loaded = whyodd.DistanceNetwork(ones)
    whyodd.save(loaded, file)
    assert (whyodd.load(file).centers != ones).nnz == 0


def node_of_list(number, content):
    return {**kind("list", "ListNode", number), "content": content}


def kind(name, loader, number, module="builtins"):
    return {"__class__": name, "__module__": module, "__loader__": loader, "__id__": number}


def with_content(parts, content):
    """Parts where the model is something else."""
    schema = json.loads(parts["schema.json"])
    changed = {key: schema[key] for key in ("protocol", "_skops_version")} | content
    return parts | {"schema.json": json.dumps(changed).encode()}


@pytest.mark.parametrize("numbers", [range(1, 1001), [None] * 1000, [0] * 1000], ids=["many", "none", "zero"])
def test_one_part_for_many_arrays(numbers, file):
    parts = saved_parts(whyodd.KernelDensity(sigma=1.0).fit(RANDOM.normal(size=(10_000, 3))), file)
    largest = max(parts, key=lambda name: len(parts[name]))
    array = {"type": "numpy", "file": largest}
    content = [kind("ndarray", "NdArrayNode", number, "numpy") | array for number in numbers]
    write(file, with_content(parts, node_of_list(5000, content)))
    is_refused(file, UNTRUSTED)


def test_one_array_many_times_is_looked_at_once(file):
    parts = sparse_parts(file)
    array = kind("csr_array", "SparseMatrixNode", 7, "scipy.sparse._csr") | {"type": "scipy"}
    array["file"] = named(parts, ".npz")
    arguments = kind("tuple", "TupleNode", None) | {"content": [array] * 20_000}
    made = kind("LinearMap", "ConstructorFromReduceNode", None, "whyodd.pipelines") | {"content": arguments}
    write(file, with_content(parts, made))
    is_refused(file, DAMAGED)


def test_lists_of_the_same_lists_of_the_same_lists(file):
    """A thousand million cells for NumPy, in a few thousand nodes."""
    value = kind("str", "JsonNode", None) | {"content": "1"}
    shape = kind("tuple", "TupleNode", None) | {"content": [value, value]}
    rows = node_of_list(1, [value] * 1000)
    for number in (2, 3):
        rows = node_of_list(number, [rows] + [node_of_list(number - 1, [])] * 999)
    array = kind("ndarray", "NdArrayNode", None, "numpy") | {"type": "json", "content": [rows]}
    parts = saved_parts(whyodd.Gaussian(), file)
    write(file, with_content(parts, array | {"shape": shape}))
    is_refused(file, "objects in several dimensions, which whyodd refuses to load")
    write(file, with_content(parts, rows))
    is_refused(file, "contains builtins.list with the number of something else, which whyodd refuses to load")


@pytest.mark.parametrize("depth", [400, 100_000])
@pytest.mark.parametrize("where", ["whyodd.json", "schema.json", "a list", "a value"])
def test_deep_nesting(where, depth, file):
    parts = saved_parts(whyodd.Gaussian(), file)
    brackets = "[" * depth + "]" * depth
    if where.endswith("json"):
        write(file, parts | {where: brackets.encode()})
    elif where == "a value":
        write(file, with_content(parts, kind("str", "JsonNode", None) | {"content": brackets}))
    else:
        lists = json.dumps(node_of_list(None, "HERE")).replace('"HERE"', "[HERE]")
        before, after = lists.split("HERE")
        text = parts["schema.json"].decode().removesuffix("}") + ', "content": HERE}'
        write(file, parts | {"schema.json": text.replace("HERE", before * depth + "1" + after * depth)})
    is_refused(file, r"not written by whyodd\.save" if where == "whyodd.json" else DAMAGED)


# ---- models of scikit-learn whose arrays compiled code trusts ----------------------------------------------


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def with_array(parts, name, change):
    """Parts where the array that a model holds by a name is another one."""
    schema = json.loads(parts["schema.json"])
    entry = schema["content"]["content"][name]["file"]
    stream = io.BytesIO()
    if entry.endswith(".npz"):
        sparse.save_npz(stream, change(sparse.load_npz(io.BytesIO(parts[entry]))), compressed=False)
    else:
        np.save(stream, change(np.load(io.BytesIO(parts[entry]))))
    return parts | {entry: stream.getvalue()}


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("support_vectors_", lambda array: array[:1]),
        ("support_vectors_", lambda array: array[:, :1].copy()),
        ("dual_coef_", lambda array: array[:, :1].copy()),
        ("_dual_coef_", lambda array: array[:, :1].copy()),
        ("_intercept_", lambda array: array[:0]),
        ("_n_support", lambda array: array[:1]),
        ("_probA", lambda _: np.zeros(7)),
        ("support_", lambda array: array[:3]),
        ("support_", lambda array: array - 1000),
    ],
)
def test_one_class_svms_with_other_arrays(layout, name, change, file):
    parts = saved_parts(OneClassSVM(nu=0.3).fit(layout(X)), file)
    write(file, with_array(parts, name, change))
    is_refused(file, r"damaged and cannot be loaded: \w+ of a OneClassSVM .*\.$")


def without_numbers(array):
    return sparse.csr_array(array.shape)


@pytest.mark.parametrize("name", ["dual_coef_", "_dual_coef_"])
def test_sparse_one_class_svms_with_fewer_numbers(name, file):
    parts = saved_parts(OneClassSVM(nu=0.3).fit(sparse.csr_array(X)), file)
    schema = json.loads(parts["schema.json"])
    assert schema["content"]["content"][name]["file"].endswith(".npz")
    write(file, with_array(parts, name, without_numbers))
    is_refused(file, "dual_coef_ of a OneClassSVM does not fit")


def test_precomputed_kernels_with_other_columns(file):
    parts = saved_parts(OneClassSVM(kernel="precomputed").fit(X @ X.T), file)
    assert whyodd.load(file).support_.max() < 60
    write(file, with_array(parts, "support_", lambda array: array + 10**6))
    is_refused(file, "support_ of a OneClassSVM does not fit the rest of it")


@pytest.mark.parametrize("change", [lambda array: array[:, :1].copy(), lambda array: array[:1]])
def test_clusters_with_other_centers(change, file):
    parts = saved_parts(KMeans(2, random_state=0).fit(X), file)
    write(file, with_array(parts, "cluster_centers_", change))
    is_refused(file, "cluster_centers_ of a KMeans has the shape")


def test_clusters_with_too_many_threads(file):
    parts = saved_parts(KMeans(2, random_state=0).fit(X), file)
    schema = json.loads(parts["schema.json"])
    schema["content"]["content"]["_n_threads"]["content"] = str(10**6)
    write(file, parts | {"schema.json": json.dumps(schema)})
    is_refused(file, "_n_threads of a KMeans does not fit")


def test_clusters_with_threads_of_a_larger_computer(file):
    """OpenMP ends the process if it cannot start them."""
    model = KMeans(2, random_state=0).fit(X)
    parts = saved_parts(model, file)
    write(file, with_values(parts, _n_threads=1000))
    loaded = whyodd.load(file)
    assert loaded._n_threads <= os.cpu_count()
    assert loaded.predict(NEW).tolist() == model.predict(NEW).tolist()


def test_models_inside_other_things_are_looked_at(file):
    pipeline = make_pipeline(StandardScaler(), OneClassSVM(nu=0.3)).fit(X)
    whyodd.save({"models": [(pipeline, 1)]}, file)
    before = file.read_bytes()
    pipeline[-1].support_vectors_ = pipeline[-1].support_vectors_[:1]
    told = (
        r"^save\(\) cannot store this dict in a way that can be loaded again: "
        r"support_vectors_ of a OneClassSVM"
    )
    with pytest.raises(ValueError, match=told):
        whyodd.save({"models": [(pipeline, 1)]}, file)
    assert file.read_bytes() == before


def test_unfitted_ones_and_those_of_numpy_load(file):
    for model in (OneClassSVM(), KMeans(random_state=0), OneHotEncoder().fit([["a"], ["b"]])):
        whyodd.save(model, file)
        assert repr(whyodd.load(file)) == repr(model)


# ---- numbers that compiled code follows: these crashed, hung or took all memory when they were used ------


def state_of(schema, *names):
    """Entries of the state of what a schema leads to by names: steps by their place, attributes by name."""
    node = schema
    for name in names:
        while isinstance(node["content"], dict) and name not in node["content"]:
            node = node["content"]
        node = node["content"][name]
    while "content" in node["content"]:
        node = node["content"]
    return node["content"]


def with_values(parts, *names, **values):
    """Parts where plain values in the state of something are others."""
    schema = json.loads(parts["schema.json"])
    state = state_of(schema, *names)
    for name, value in values.items():
        assert name in state
        state[name] = kind("str", "JsonNode", None) | {"content": json.dumps(value)}
    return parts | {"schema.json": json.dumps(schema)}


TEXTS = ["one two three", "two three five", "one three four", "four one two", "five two"] * 2


@pytest.mark.parametrize("index", [10**9, -1, 1, 2**40, 0.5, "0", None])
@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer])
def test_words_with_another_column(vectorizer, index, file):
    pipeline = make_pipeline(vectorizer(), whyodd.KernelDensity(sigma=1.0)).fit(TEXTS)
    parts = saved_parts(pipeline, file)
    write(file, with_values(parts, "steps", 0, 1, "vocabulary_", five=index))
    is_refused(file, f"vocabulary_ of a {vectorizer.__name__} does not fit")


def test_keys_with_another_column(file):
    parts = saved_parts(DictVectorizer().fit([{"a": 1.0, "b": 2.0}]), file)
    write(file, with_values(parts, "vocabulary_", a=10**9))
    is_refused(file, "vocabulary_ of a DictVectorizer does not fit")


@pytest.mark.parametrize("n_features", [0, -1, 10**9, 2**31, 0.5])
@pytest.mark.parametrize("hashing", [HashingVectorizer, FeatureHasher])
def test_hashed_to_no_columns(hashing, n_features, file):
    parts = saved_parts(hashing(), file)
    write(file, with_values(parts, n_features=n_features))
    is_refused(file, f"n_features of a {hashing.__name__} does not fit")


@pytest.mark.parametrize("position", [2 * 10**9, -1, 625])
def test_random_numbers_from_another_place(position, file):
    model = whyodd.GaussianMixture(2, random_state=np.random.RandomState(3))
    parts = saved_parts(model, file)
    write(file, with_values(parts, "random_state", "state", pos=position))
    is_refused(file, "a RandomState does not fit")


@pytest.mark.parametrize(
    "model", [LocalOutlierFactor(novelty=True), NearestNeighbors()], ids=lambda model: type(model).__name__
)
@pytest.mark.parametrize("n", [10**9, 59, 0, -1])
def test_neighbors_of_more_rows(model, n, file):
    parts = saved_parts(clone(model).fit(X), file)
    write(file, with_values(parts, n_samples_fit_=n))
    is_refused(file, f"n_samples_fit_ of a {type(model).__name__} does not fit")


def test_weights_of_a_search_tree_for_other_rows(file):
    parts = saved_parts(KernelDensity().fit(X, sample_weight=np.ones(60)), file)
    schema = json.loads(parts["schema.json"])
    weights = schema["content"]["content"]["tree_"]["content"]["content"][3]["file"]
    write(file, parts | {weights: npy(np.ones(3))})
    is_refused(file, "the weights of a search tree does not fit|damaged")


COLLIDING = [place * (2**61 - 1) for place in range(1, 30_001)]


@pytest.mark.parametrize("form", ["dict", "set", "frozenset"])
def test_numbers_chosen_to_be_slow_to_look_up(form, file):
    numbers = [kind("str", "JsonNode", None) | {"content": str(number)} for number in COLLIDING]
    if form == "dict":
        types = [kind("int", "TypeNode", None)] * len(numbers)
        content = kind("dict", "DictNode", None) | {
            "content": {str(number): numbers[0] for number in COLLIDING},
            "key_types": node_of_list(None, types),
        }
    elif form == "set":
        content = kind("set", "SetNode", None) | {"content": numbers}
    else:
        arguments = kind("tuple", "TupleNode", None) | {"content": [node_of_list(None, numbers)]}
        content = kind("frozenset", "ConstructorFromReduceNode", None) | {"content": arguments}
    write(file, with_content(saved_parts(whyodd.Gaussian(), file), content))
    is_refused(file, "many large numbers in it are chosen to be slow to look up")


def test_large_numbers_that_people_have_load(file):
    numbers = {10**30 + place: "a" for place in range(1000)}
    whyodd.save({"ids": numbers, "twice": [2**80] * 1000}, file)
    assert whyodd.load(file) == {"ids": numbers, "twice": [2**80] * 1000}


@pytest.mark.parametrize(("name", "value"), [("n_jobs", 10**9), ("n_jobs", -(10**9)), ("n_jobs", "all")])
def test_threads_beyond_all_measure(name, value, file):
    parts = saved_parts(LocalOutlierFactor(novelty=True).fit(X), file)
    write(file, with_values(parts, **{name: value}))
    is_refused(file, "n_jobs of a LocalOutlierFactor does not fit")


def test_a_folder_of_pickles(file, tmp_path):
    """scikit-learn reads it when the pipeline is fitted anew, whoever wrote there."""
    parts = saved_parts(make_pipeline(StandardScaler(), whyodd.Gaussian()), file)
    write(file, with_values(parts, memory=str(tmp_path)))
    is_refused(file, "memory of a Pipeline does not fit")


@pytest.mark.parametrize("columns", [2**31, -1, 0.5, None])
def test_more_columns_than_there_are(columns, file):
    parts = saved_parts(StandardScaler().fit(X), file)
    write(file, with_values(parts, n_features_in_=columns))
    is_refused(file, "n_features_in_ of a StandardScaler does not fit")


LABELS = np.array([["a"], ["b"], ["c"]] * 5, dtype=object)


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (OneHotEncoder().fit(LABELS), {"_n_features_outs": [1]}),
        (OneHotEncoder().fit(LABELS), {"_n_features_outs": [10**9]}),
        (OneHotEncoder().fit(LABELS), {"n_features_in_": 2}),
        (FeatureAgglomeration().fit(X), {"n_clusters_": 10**9}),
        (SplineTransformer().fit(X), {"n_features_out_": 10**9}),
        (SplineTransformer().fit(X), {"include_bias": 2**63}),
        (TruncatedSVD(2).fit(X), {"n_iter": 10**30}),
        (GaussianRandomProjection(2).fit(X), {"n_components": 10**9}),
        (KMeans(2, n_init=1, random_state=0).fit(X), {"n_init": 10**9}),
        (KMeans(2, n_init=1, random_state=0).fit(X), {"_n_features_out": 2**63}),
    ],
    ids=lambda value: value if isinstance(value, dict) else type(value).__name__,
)
def test_numbers_that_do_not_fit_to_the_rest(model, change, file):
    write(file, with_values(saved_parts(model, file), **change))
    is_refused(file, "damaged and cannot be loaded")


@pytest.mark.parametrize(
    ("model", "name", "change"),
    [
        (FeatureAgglomeration().fit(X), "labels_", lambda labels: labels + 10**9),
        (FeatureAgglomeration().fit(X), "labels_", lambda labels: labels - 1),
        (MiniBatchKMeans(2, n_init=1, random_state=0).fit(X), "_counts", lambda counts: counts[:1]),
        (SGDOneClassSVM(average=True).fit(X), "_standard_coef", lambda coef: coef[:1]),
        # LAPACK never ends on these when it learns more rows.
        (IncrementalPCA(2).fit(X), "components_", lambda array: array * 1e308),
        (IncrementalPCA(2).fit(X), "singular_values_", lambda array: array * np.inf),
        (IncrementalPCA(2).fit(X), "mean_", lambda array: array * np.nan),
        (LocalOutlierFactor(novelty=True).fit(X), "_lrd", lambda values: values[:1]),
        (LocalOutlierFactor(novelty=True).fit(X), "_fit_X", lambda rows: rows[:, :1].copy()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arrays_that_do_not_fit_to_the_rest(model, name, change, file):
    write(file, with_array(saved_parts(model, file), name, change))
    is_refused(file, f"damaged and cannot be loaded: {name}")


def test_categories_that_are_not_sorted(file):
    """Compiled code searches among numbers, and would find a column behind the last one."""
    parts = saved_parts(OneHotEncoder().fit([[1.0], [2.0], [3.0]]), file)
    write(file, parts | {named(parts, ".npy"): npy(np.array([3.0, 2.0, 1.0]))})
    is_refused(file, "categories_ of a OneHotEncoder does not fit")


def test_many_subspaces(file):
    """Each is searched anew whenever rows are scored."""
    subspaces = (np.array([0, 1]),) * 1000
    selection = LocalSelection(X, RANDOM.normal(size=(60, 4)), subspaces, neighbors=5, bins=2)
    parts = saved_parts(selection, file)
    schema = json.loads(parts["schema.json"])
    found = schema["content"]["content"]["subspaces"]
    found["content"] = found["content"] * 20
    write(file, parts | {"schema.json": json.dumps(schema)})
    is_refused(file, "A local selection needs 1 to 1000 subspaces")


# ---- trees ------------------------------------------------------------------------------------------------


FOREST = IsolationForest(n_estimators=2, max_samples=16, random_state=0).fit(X)


def with_tree(parts, change):
    """Parts where the nodes of the first tree are others."""
    schema = json.loads(parts["schema.json"])
    tree = state_of(schema, "estimators_", 0, "tree_")
    nodes = np.load(io.BytesIO(parts[tree["nodes"]["file"]]))
    change(nodes, tree)
    return parts | {tree["nodes"]["file"]: npy(nodes), "schema.json": json.dumps(schema)}


def in_nodes(name, place, value):
    def change(nodes, _):
        nodes[name][place] = value

    return change


def in_state(name, value):
    def change(_, tree):
        tree[name]["content"] = json.dumps(value)

    return change


@pytest.mark.parametrize(
    "change",
    [
        in_nodes("left_child", 0, 10**9),
        in_nodes("left_child", 0, -5),
        in_nodes("right_child", 0, 0),  # round in circles
        in_nodes("right_child", 0, 1),  # the same twice
        in_nodes("left_child", 0, -1),
        in_nodes("feature", 0, 10**9),
        in_nodes("feature", 0, -3),
        in_nodes("feature", 0, 3),
        in_state("node_count", 1),
        in_state("max_depth", 10**9),
        in_state("max_depth", 0),
    ],
)
def test_trees_that_lead_elsewhere(change, file):
    parts = saved_parts(FOREST, file)
    write(file, with_tree(parts, change))
    is_refused(file, "tree_ of a ExtraTreeRegressor")


@pytest.mark.parametrize("name", ["nodes", "values"])
def test_trees_without_axes(name, file):
    parts = saved_parts(FOREST, file)
    entry = state_of(json.loads(parts["schema.json"]), "estimators_", 0, "tree_")[name]["file"]
    array = np.load(io.BytesIO(parts[entry]))
    write(file, parts | {entry: npy(array.ravel()[0])})
    is_refused(file, "an array of a decision tree does not have the axes")


def test_trees_of_other_columns(file):
    wide = IsolationForest(n_estimators=2, random_state=0).fit(RANDOM.normal(size=(60, 9)))
    mixed = copy.copy(FOREST)
    mixed.estimators_ = wide.estimators_
    with pytest.raises(ValueError, match="a tree of an IsolationForest does not fit"):
        whyodd.save(mixed, file)


@pytest.mark.parametrize(("name", "value"), [("_max_features", 10**9), ("n_features_in_", 2)])
def test_forests_of_other_columns(name, value, file):
    write(file, with_values(saved_parts(FOREST, file), **{name: value}))
    is_refused(file, "IsolationForest")
