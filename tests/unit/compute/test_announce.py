"""A word to whoever waits: once, and only if it takes its time."""

from __future__ import annotations

import logging
import time

import pytest

from whyodd.compute import announce
from whyodd.compute.announce import announced_compilation


@pytest.fixture(autouse=True)
def _impatient(monkeypatch, caplog):
    monkeypatch.setattr(announce, "_PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(announce, "_seen", set())
    caplog.set_level(logging.WARNING, logger="whyodd")


def slow():
    time.sleep(0.2)


def test_what_takes_its_time_is_announced_once(caplog):
    with announced_compilation("a", 1) as is_new:
        slow()
    assert is_new
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("whyodd", "WARNING")
    assert "compiling" in record.getMessage()


def test_what_is_quick_is_not_announced(caplog):
    with announced_compilation("a"):
        pass
    slow()
    assert not caplog.records


def test_the_same_key_is_not_announced_twice(caplog):
    with announced_compilation("a", 1):
        pass
    with announced_compilation("a", 1) as is_new:
        slow()
    assert not is_new
    assert not caplog.records


def test_another_key_is_new(caplog):
    for key in ("a", "b"):
        with announced_compilation(key) as is_new:
            slow()
        assert is_new
    assert len(caplog.records) == 2


def test_a_failure_is_passed_on_silently_and_the_key_stays_new(caplog):
    with pytest.raises(RuntimeError, match="no"), announced_compilation("a"):
        raise RuntimeError("no")
    slow()
    assert not caplog.records
    with announced_compilation("a") as is_new:
        pass
    assert is_new
