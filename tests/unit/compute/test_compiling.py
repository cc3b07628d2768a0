"""Compiled code on disk: a new process finds own families again; kernels from elsewhere leave nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Counts what numba found on disk (hits) and what it compiled (misses) for one function.
PROGRAM = """
import json
from dataclasses import dataclass
import numpy as np
from whyodd.compute.soft.row import log_similarities
from whyodd.compute.compiling import radial_of
from whyodd.kernels import Kernel, Student

@dataclass(frozen=True)
class Mine(Kernel):
    sigma: float = 1.0
    def log_profile(self, e):
        return -e
    def steepness(self, e):
        return e

e, v = np.array([0.0, 1.0]), np.empty(2)
for kernel in (Student(), Mine()):
    log_similarities(e, np.zeros(2), radial_of(kernel, 1.0, np.float64), v)
    assert np.allclose(v, kernel.log_profile(e))
stats = log_similarities.stats
print(json.dumps([sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


@pytest.fixture(name="run")
def runner(tmp_path):
    def run():
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", PROGRAM]
        out = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
        return out.strip(), sorted(path.name for path in tmp_path.rglob("*.nbc"))

    return run


@pytest.mark.full
def test_own_families_come_from_disk_and_others_leave_nothing_there(run):
    first, written = run()
    second, then = run()
    assert (first, second) == ("[0, 2]", "[1, 1]")
    assert written == then
    assert sum("log_similarities" in name for name in written) == 1


def test_loops_run_as_plain_python_in_a_debugger():
    script = (
        "import numpy as np, whyodd\n"
        "kernels = [kind() for kind in whyodd.kernels.KERNELS.values()]\n"
        "for X in (np.eye(3), np.eye(3, dtype=np.float32)):\n"
        "    for kernel in kernels:\n"
        "        parts = whyodd.DistanceNetwork(np.eye(3), kernel=kernel).decompose(2 * X)\n"
        "        total = parts.relevance.sum(axis=1) + parts.unexplained\n"
        "        np.testing.assert_allclose(total, parts.outlierness, rtol=1e-5)\n"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
