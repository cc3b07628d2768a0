"""Files that were tampered with: refused in one sentence, quickly, and without taking much memory."""

from __future__ import annotations

import io
import json
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM

import whyodd

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
NEW = RANDOM.normal(size=(5, 3))
SPARSE = sparse.random_array((40, 30), density=0.2, rng=0, format="csr")
UNTRUSTED = r"model\.whyodd would take more memory than its size allows, .*: do not trust this file\.$"
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
    start = time.perf_counter()
    try:
        with pytest.raises(ValueError, match=sentence):
            whyodd.load(file)
        # What Python makes of JSON takes many times its text.
        assert tracemalloc.get_traced_memory()[1] < 3_000_000 + 50 * file.stat().st_size
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < 5.0  # a busy computer; what is refused would take minutes


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
    is_refused(file, "objects in several dimensions, which whyodd does not load")
    write(file, with_content(parts, rows))
    is_refused(file, "names builtins.list with the number of something else, which whyodd does not load")


@pytest.mark.parametrize("depth", [400, 100_000])
@pytest.mark.parametrize("where", ["whyodd.json", "schema.json", "a list", "a value"])
def test_deep_nesting(where, depth, file):
    parts = saved_parts(whyodd.Gaussian(), file)
    brackets = "[" * depth + "]" * depth
    if where.endswith("json"):
        write(file, parts | {where: brackets.encode()})
    elif where == "a value":
        write(file, with_content(parts, kind("str", "JsonNode", None) | {"content": brackets}))
        if depth == 400:  # Python reads it
            assert whyodd.load(file) == json.loads(brackets)
            return
    else:
        lists = json.dumps(node_of_list(None, "HERE")).replace('"HERE"', "[HERE]")
        before, after = lists.split("HERE")
        text = parts["schema.json"].decode().removesuffix("}") + ', "content": HERE}'
        write(file, parts | {"schema.json": text.replace("HERE", before * depth + "1" + after * depth)})
    is_refused(file, r"not a file that whyodd\.save" if where == "whyodd.json" else DAMAGED)


# ---- models of scikit-learn whose arrays compiled code trusts ----------------------------------------------


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
        ("_n_support", lambda array: array * 1000),
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


def test_precomputed_kernels_with_other_columns(file):
    parts = saved_parts(OneClassSVM(kernel="precomputed").fit(X @ X.T), file)
    assert whyodd.load(file).support_.max() < 60
    write(file, with_array(parts, "support_", lambda array: array + 10**6))
    is_refused(file, "support_ of a OneClassSVM does not fit to the rest of it")


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


def test_models_inside_other_things_are_looked_at(file):
    pipeline = make_pipeline(StandardScaler(), OneClassSVM(nu=0.3)).fit(X)
    pipeline[-1].support_vectors_ = pipeline[-1].support_vectors_[:1]
    whyodd.save({"models": [(pipeline, 1)]}, file)
    is_refused(file, "support_vectors_ of a OneClassSVM has the shape")


def test_unfitted_ones_and_those_of_numpy_load(file):
    for model in (OneClassSVM(), KMeans(), OneHotEncoder().fit([["a"], ["b"]])):
        whyodd.save(model, file)
        assert repr(whyodd.load(file)) == repr(model)
