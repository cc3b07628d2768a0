"""Weights in torch's legacy format: read right, and nothing else is done."""

from __future__ import annotations

import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyodd.patches.features.efficientnet import checked_weights, expected_tensors, load_weights
from whyodd.patches.features.legacy_weights import DamagedWeightsError, read_legacy_weights

MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001
SIX = np.arange(6, dtype="<f4")
MACHINE = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}


def tensor_program(name=b"torch._utils\n_rebuild_tensor_v2", size=6, shape=(2, 3), strides=(3, 1), key="7"):
    """Pickle of {"w": a tensor}, by hand: instructions as torch writes them."""

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    def number(value):
        return b"J" + struct.pack("<i", value)

    storage = (
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + number(size) + b"NtQ"
    )
    shapes = b"".join(b"(" + b"".join(map(number, sizes)) + b"t" for sizes in (shape, strides))
    arguments = b"(" + storage + number(0) + shapes + b"\x89" + b"ccollections\nOrderedDict\n)R" + b"t"
    return (
        b"\x80\x02" + b"ccollections\nOrderedDict\n)R(" + text("w") + b"c" + name + b"\n" + arguments + b"Ru."
    )


def legacy_file(program, numbers=SIX, keys=("7",), magic=MAGIC):
    parts = [pickle.dumps(part, protocol=2) for part in (magic, VERSION, MACHINE)]
    parts += [
        program,
        pickle.dumps(list(keys), protocol=2),
        struct.pack("<q", len(numbers)),
        numbers.tobytes(),
    ]
    return b"".join(parts)


def test_tensors_come_out_as_they_were_written():
    assert read_legacy_weights(legacy_file(tensor_program()))["w"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_axes_may_be_stored_in_another_order():
    found = read_legacy_weights(legacy_file(tensor_program(strides=(1, 2))))["w"]
    assert found.tolist() == [[0, 2, 4], [1, 3, 5]]


class Boom:
    def __reduce__(self):
        return (print, ("this ran",))


@pytest.mark.parametrize(
    "program",
    [
        pickle.dumps(Boom(), protocol=2),
        pickle.dumps({"w": Boom()}, protocol=2),
        pickle.dumps(Boom(), protocol=4),
        tensor_program(name=b"os\nsystem"),
        tensor_program(name=b"builtins\neval"),
        tensor_program(name=b"collections\nOrderedDict"),
        b"\x80\x02(i__builtin__\nprint\n.",
        b"\x80\x02K\x01K\x02b.",
        b"\x80\x02)R.",
        b"\x80\x02t.",
        b"\x80\x02h\x05.",
    ],
)
def test_programs_that_want_more_are_refused(program, capsys):
    with pytest.raises(DamagedWeightsError, match="The file of weights is damaged"):
        read_legacy_weights(legacy_file(program))
    assert "this ran" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [
        legacy_file(tensor_program(shape=(2, 4))),
        legacy_file(tensor_program(strides=(1, 1))),
        legacy_file(tensor_program(strides=(3,))),
        legacy_file(tensor_program(size=2**31 - 1, shape=(2**16, 2**15), strides=(2**15, 1))),
        legacy_file(tensor_program(size=-6, shape=(-2, 3))),
        legacy_file(tensor_program(), numbers=np.arange(7, dtype="<f4")),
        legacy_file(tensor_program(), keys=("8",)),
        legacy_file(tensor_program(), keys=("7", "7")),
        legacy_file(tensor_program(), magic=1),
        legacy_file(tensor_program()) + b"more",
        b"",
    ],
)
def test_what_does_not_fit_is_refused(content):
    with pytest.raises(DamagedWeightsError):
        read_legacy_weights(content)


@given(st.data())
def test_any_change_of_a_byte_or_cut_is_read_or_refused(data):
    content = bytearray(legacy_file(tensor_program()))
    if data.draw(st.booleans()):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    else:
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    try:
        found = read_legacy_weights(bytes(content))
    except DamagedWeightsError:
        return
    assert all(isinstance(values, np.ndarray) and values.size <= 6 for values in found.values())


def test_weights_of_another_network_are_refused():
    tensors = {name: np.zeros(shape, dtype=np.float32) for name, shape in expected_tensors().items()}
    assert checked_weights(tensors).keys() == tensors.keys()
    for wrong in (
        {"_fc.bias": np.zeros(999, dtype=np.float32)},
        {"_fc.bias": np.zeros(1000)},
        {"_fc.bias": np.full(1000, np.nan, dtype=np.float32)},
        {"more": np.zeros(1, dtype=np.float32)},
    ):
        with pytest.raises(DamagedWeightsError, match="not those of EfficientNet-Lite0"):
            checked_weights(tensors | wrong)


def test_weights_of_the_package_are_those_of_the_network():
    weights = load_weights()
    assert sum(values.size for values in weights.values()) == 4_694_024  # parameters and running moments
    assert all((weights[name] >= 0).all() for name in weights if name.endswith("running_var"))
