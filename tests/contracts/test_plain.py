"""Small problems in NumPy: the same results as compiled code, chosen by size alone."""

import subprocess
import sys

import numpy as np
import pytest

from contracts.fitted import FITTED, Case
from whyodd.adapters.neuralize import neuralize
from whyodd.compute import plain
from whyodd.explanations.sides import sides_of
from whyodd.kernels import KERNELS, Exponential
from whyodd.models.registry import MODELS
from whyodd.network.distance_network import DistanceNetwork

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4)) @ RNG.normal(size=(4, 4))
NETWORKS = [case for cases in FITTED.values() for case in cases] + [Case(cls()) for cls in MODELS.values()]
# float64 agrees within 1e-9 of a row's largest relevance, as both do with the reference.
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def _name(case):
    return f"{type(case.model).__module__}.{type(case.model).__name__}"


def assert_same(network, X, monkeypatch, **keywords):
    """Relevance and scores are the same in NumPy and in compiled code."""
    assert plain.is_enough(X, network.centers)
    small = network.decompose(X, **keywords)
    monkeypatch.setattr(plain, "MOST_DIFFERENCES", 0)
    compiled = network.decompose(X, **keywords)
    np.testing.assert_allclose(small.outlierness, compiled.outlierness, **CLOSE)
    np.testing.assert_allclose(small.log_inlierness, compiled.log_inlierness, **CLOSE)
    largest = np.abs(compiled.relevance).max(axis=1, keepdims=True) + compiled.outlierness[:, None]
    assert (np.abs(small.relevance - compiled.relevance) <= 1e-9 * largest + 1e-12).all()
    np.testing.assert_allclose(small.unexplained, compiled.unexplained, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("case", NETWORKS, ids=_name)
def test_networks_of_all_models(case, monkeypatch):
    network = neuralize(case.fit(X))
    if isinstance(network, DistanceNetwork):
        assert_same(network, RNG.normal(size=(20, network.n_features)), monkeypatch)


@pytest.mark.parametrize("kernel", [*(cls() for cls in KERNELS.values()), Exponential(q=1.0)], ids=repr)
def test_kernels_with_weights_and_rows_that_leave_out_a_center(kernel, monkeypatch):
    centers = RNG.normal(size=(30, 5))
    network = DistanceNetwork(centers, RNG.dirichlet(np.ones(30)), kernel)
    rows = np.vstack([centers[:10], RNG.normal(size=(10, 5)), 50 * RNG.normal(size=(10, 5))])
    assert_same(network, rows, monkeypatch, own=np.maximum(np.arange(30) - 5, -1))


def test_sides(monkeypatch):
    values, known = RNG.normal(size=(30, 4)), RNG.normal(size=(4, 50))
    known[0, :20] = np.nan
    parts = values, RNG.integers(0, 50, (30, 12)), np.ones((30, 4), dtype=bool), known, (0.1, 0.9)
    small = sides_of(*parts)
    monkeypatch.setattr(plain, "MOST_DIFFERENCES", 0)
    np.testing.assert_array_equal(small, sides_of(*parts))


def test_values_whose_squares_overflow_are_left_to_compiled_code():
    ordinary, far = np.array([[1.0, 2.0]]), np.array([[1e200, 0.0]])
    assert plain.are_ordinary(ordinary, ordinary, 1.0)
    assert not plain.are_ordinary(far, ordinary, 1.0)
    assert not plain.are_ordinary(ordinary * 1e-200, np.zeros((1, 2)), 1.0)


def test_the_same_bytes_with_numba_loaded_or_not():
    code = """
import sys, numpy as np
{first}
from whyodd.network.distance_network import DistanceNetwork
rng = np.random.default_rng(0)
made = DistanceNetwork(rng.normal(size=(30, 4))).decompose(rng.normal(size=(20, 4)))
assert ("numba" in sys.modules) == {loaded}
print((made.relevance.tobytes() + made.outlierness.tobytes()).hex())
"""
    cases = [("", False), ("import whyodd.compute.soft.passes", True)]
    made = [
        subprocess.run(
            [sys.executable, "-c", code.format(first=first, loaded=loaded)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for first, loaded in cases
    ]
    assert made[0] == made[1]
