"""Memory for blocks: used again, never by two at a time, never kept if large."""

import numpy as np
import pytest

from whyodd.compute import scratch as module
from whyodd.compute.scratch import scratch

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)


@pytest.fixture(autouse=True)
def _nothing_spare(monkeypatch):
    monkeypatch.setattr(module, "_spare", [])


def test_has_the_shape_and_dtype_asked_for():
    with scratch((3, 5), F4) as array:
        assert array.shape == (3, 5)
        assert array.dtype == F4
        assert array.flags.c_contiguous
        assert array.flags.writeable


def test_memory_is_used_again_also_for_less_of_it_in_another_dtype():
    with scratch((10, 10), F8) as first:
        pass
    with scratch((4, 10), F4) as second:
        assert np.shares_memory(first, second)


def test_two_at_a_time_do_not_share():
    with scratch((10,), F8) as first, scratch((10,), F8) as second:
        assert not np.shares_memory(first, second)


def test_memory_comes_back_after_an_error():
    with pytest.raises(RuntimeError), scratch((10,), F8) as first:
        raise RuntimeError
    with scratch((10,), F8) as second:
        assert np.shares_memory(first, second)


def test_what_lies_idle_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MAX_BYTES", 80)
    monkeypatch.setattr(module, "_MAX_SPARE", 1)
    with scratch((11,), F8):
        pass
    assert module._spare == []
    with scratch((10,), F8), scratch((10,), F8):
        pass
    assert len(module._spare) == 1
