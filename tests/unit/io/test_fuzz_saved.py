"""Files of every kind with single leaves changed, loaded and used; ``benchmarks/fuzz_saved.py`` has more."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from sklearn.utils import all_estimators

import whyodd
from unit.io.saved_examples import examples
from whyodd.adapters.registry import ADAPTERS
from whyodd.adapters.tracing import TRACERS
from whyodd.io.saved_estimators import CHECKS
from whyodd.io.saved_names import PLACES

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "fuzz_saved.py"


def fuzz(*options):
    command = [sys.executable, "-W", "ignore", str(PROGRAM), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_few_changes():
    """A process of its own: what was used before it is forked would hang."""
    told = fuzz("--only", "texts ", "--count", "60")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "4 things" in told.stdout


@pytest.mark.full
def test_more_changes():
    told = fuzz("--count", "2000", "--seed", "5")
    assert told.returncode == 0, told.stdout + told.stderr


def class_path(kind):
    return f"{kind.__module__}.{kind.__qualname__}"


def test_all_that_can_be_explained_or_traced_may_be_saved():
    registered = {
        class_path(kind)
        for _, kind in all_estimators()
        if {class_path(base) for base in kind.__mro__} & {*ADAPTERS, *TRACERS}
    }
    assert registered
    assert registered <= CHECKS.keys()


def names_in(node):
    if isinstance(node, dict):
        if isinstance(node.get("__loader__"), str):
            yield f"{node['__module__']}.{node['__class__']}"
        node = list(node.values())
    for part in node if isinstance(node, list) else []:
        yield from names_in(part)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")  # of small data
def test_examples_hold_every_estimator_that_may_be_saved(tmp_path):
    found = set()
    for name, thing, _ in examples():
        whyodd.save(thing, tmp_path / name)
        with zipfile.ZipFile(tmp_path / name) as parts:
            found.update(names_in(json.loads(parts.read("schema.json"))))
    # Our own types have names in files that stay.
    assert CHECKS.keys() <= {PLACES.get(name, name) for name in found}
