"""ONNX files of others: what they compute, and what is refused before it runs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whyodd
from whyodd.io.onnx_writing import Tensor, _field, _varint, model_bytes, node
from whyodd.patches.features import OnnxFeatures
from whyodd.patches.features.onnx_checking import UnsafeNetworkError, check_network

KERNEL = np.random.default_rng(0).normal(size=(4, 3, 2, 2)).astype(np.float32)


def network(nodes=None, weights=None, outputs=("y",)):
    nodes = nodes or [node("Conv", ["image", "kernel"], "y", strides=[2, 2])]
    image = Tensor("image", (1, 3, "height", "width"))
    made = [Tensor(name, (1, f"{name} f", f"{name} h", f"{name} w")) for name in outputs]
    return model_bytes(nodes, {"kernel": KERNEL} if weights is None else weights, [image], made)


@pytest.fixture
def file(tmp_path):
    numbers = itertools.count()

    def write(content):
        path = tmp_path / f"{next(numbers)}.net.onnx"
        path.write_bytes(content)
        return str(path)

    return write


def test_features_are_what_the_network_computes(file):
    image = np.random.default_rng(1).uniform(0, 255, size=(6, 8, 3))
    found = OnnxFeatures(file(network()), mean=(1.0, 2.0, 3.0), scale=(4.0, 5.0, 6.0))(image)
    seen = ((image - [1, 2, 3]) / [4, 5, 6]).reshape(3, 2, 4, 2, 3)
    np.testing.assert_allclose(found, np.einsum("aibjc,ocij->abo", seen, KERNEL), rtol=1e-4, atol=1e-4)


def test_maps_of_several_sizes_share_the_finest_grid(file):
    nodes = [
        node("Conv", ["image", "kernel"], "y", strides=[2, 2]),
        node("AveragePool", ["y"], "z", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    found = OnnxFeatures(file(network(nodes, outputs=("y", "z"))))(np.zeros((16, 24, 3)))
    assert found.shape == (8, 12, 8)


def test_model_takes_a_path(file):
    images = np.random.default_rng(2).integers(0, 256, size=(3, 16, 20, 3)).astype(np.uint8)
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(1), features=file(network())).fit(images[:2])
    e = model.explain(images[2])
    assert e.heatmap(0).shape == (16, 20, 3)
    np.testing.assert_allclose(e.summed_relevance + e.unexplained, e.outlierness, rtol=1e-6)


def with_external_data(data_location):
    tensor = _field(1, 4) + _field(2, 1) + _field(8, "kernel")
    entry = _field(13, _field(1, "location") + _field(2, "/etc/passwd"))
    tensor += _field(14, 1) if data_location else entry
    return _field(1, 8) + _field(7, _field(1, node("Relu", ["image"], "y")) + _field(5, tensor))


def in_domain(domain):
    graph = _field(1, node("Relu", ["image"], "y") + _field(7, domain))
    return _field(1, 8) + _field(7, graph)


def with_loop():
    attribute = _field(1, "body") + _field(6, _field(1, node("Relu", ["a"], "b"))) + _field(20, 5)
    return _field(7, _field(1, _field(4, "Loop") + _field(5, attribute)))


def of_shape(*dimensions):
    tensor = b"".join(_field(1, size) for size in dimensions) + _field(2, 1) + _field(8, "kernel")
    return _field(7, _field(1, node("Relu", ["image"], "y")) + _field(5, tensor))


PACKED_SHAPE = _field(
    7, _field(1, node("Relu", ["i"], "y")) + _field(5, _field(1, _varint(2**40) + _varint(2**9)))
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is not an ONNX file"),
        (b"no network", "cannot be used for features"),
        (network()[:-5], "it is cut short"),
        (with_external_data(True), "its weights are in other files"),
        (with_external_data(False), "its weights are in other files"),
        (in_domain("evil.ops"), "not part of ONNX"),
        (with_loop(), "branches or loops"),
        (of_shape(2**50, 2**20), "is larger than the file"),
        (of_shape(2**63, 2), "is larger than the file"),
        (PACKED_SHAPE, "is larger than the file"),
        (_field(25, b"") + network(), "functions or training"),
        (network() + network(), "it is not an ONNX file"),
        (b"\x3b", "it is damaged"),
        (b"\xff" * 20, "it is damaged"),
    ],
)
def test_what_a_plain_network_does_not_need_is_refused(content, message):
    with pytest.raises(UnsafeNetworkError, match=message):
        check_network(content, "net.onnx")


def test_a_good_one_passes():
    check_network(network(), "net.onnx")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_give_one_sentence(data, file):
    content = bytearray(network())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = OnnxFeatures(file(bytes(content)))(np.zeros((16, 16, 3)))
    except ValueError as error:
        assert "net.onnx" in str(error)  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert found.ndim == 3


def test_memory_is_bounded(file):
    """A network that makes 40 GB of nothing fails, and the next one runs."""
    size = np.array([10_000_000_000], dtype="<i8").tobytes()
    attribute = _field(1, "value") + _field(5, _field(1, 1) + _field(2, 7) + _field(9, size)) + _field(20, 4)
    nodes = [
        _field(2, "size") + _field(4, "Constant") + _field(5, attribute),
        node("ReduceSum", ["image"], "sum", keepdims=0),
        node("Expand", ["sum", "size"], "big"),
        node("ReduceSum", ["big"], "total", keepdims=0),
        node("Add", ["image", "total"], "y"),
    ]
    with pytest.raises(ValueError, match=r"does not run on an image of 16 × 16 .* Expand node"):
        OnnxFeatures(file(network(nodes, {})))(np.zeros((16, 16, 3)))
    assert OnnxFeatures(file(network()))(np.zeros((16, 16, 3))).shape == (8, 8, 4)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("ReduceMean", ["image"], "y", axes=[2, 3], keepdims=0)], "must return feature maps"),
        ([node("Conv", ["image", "missing"], "y")], "not a network that can be run"),
        ([node("NoSuchThing", ["image"], "y")], "not a network that can be run"),
        ([node("Conv", ["image", "kernel"], "y", kernel_shape=[99, 99])], "net.onnx"),
    ],
)
def test_networks_that_do_not_fit_are_told(nodes, message, file):
    with pytest.raises(ValueError, match=message):
        OnnxFeatures(file(network(nodes)))(np.zeros((16, 16, 3)))


def test_very_large_images_are_refused(file):
    with pytest.raises(ValueError, match="is too large: expected at most"):
        OnnxFeatures(file(network()))(np.broadcast_to(np.zeros(3), (5000, 5000, 3)))


def test_missing_file_is_told():
    with pytest.raises(FileNotFoundError):
        whyodd.PatchModel(whyodd.KNearestNeighbors(1), features="none.onnx").fit(np.zeros((2, 16, 16)))
