"""What every registered explainer, every adapter and every public name must keep to."""

import importlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.adapters import ADAPTERS
from whyodd.explainers import EXPLAINERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))

# A fitted model for each adapter, and how its own score follows from offset and outlierness.
# An adapter without an entry fails the first test.
FITTED = {
    "sklearn.svm._classes.OneClassSVM": (
        lambda: OneClassSVM(gamma=0.3, nu=0.2).fit(X),
        lambda offset, o: np.exp(offset - o),
    ),
    "whyodd.models.base.DistanceDetector": (
        lambda: whyodd.OneClassSVM(kernel="laplacian").fit(X),
        lambda offset, o: offset - o,
    ),
}


def test_every_adapter_has_a_fitted_model():
    assert FITTED.keys() == ADAPTERS.keys()


@pytest.mark.parametrize("path", ADAPTERS)
class TestAdapter:
    def test_key_is_the_path_of_the_class(self, path):
        module, _, name = path.rpartition(".")
        cls = getattr(importlib.import_module(module), name)
        assert f"{cls.__module__}.{cls.__qualname__}" == path

    def test_gives_back_the_models_own_score(self, path):
        fit, score = FITTED[path]
        model = fit()
        network = whyodd.neuralize(model)
        far = X * 2
        np.testing.assert_allclose(
            score(network.offset, network.outlierness(far)), model.score_samples(far), rtol=1e-9, atol=1e-9
        )

    def test_is_explained_with_conservation(self, path):
        e = whyodd.explain(FITTED[path][0](), X * 2)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)

    def test_is_documented(self, path):
        assert inspect.getdoc(ADAPTERS[path])


@pytest.mark.parametrize("method", EXPLAINERS)
class TestExplainer:
    def test_explains(self, method):
        network = whyodd.DistanceNetwork(X)
        e = whyodd.explain(network, X[:7] + 1, method=method)
        assert e.relevance.shape == (7, 4)
        assert e.outlierness.shape == e.unexplained.shape == e.inlierness.shape == (7,)
        assert np.isfinite(e.relevance).all()
        np.testing.assert_allclose(e.outlierness, network.outlierness(X[:7] + 1), rtol=1e-12)

    def test_is_documented(self, method):
        assert inspect.getdoc(EXPLAINERS[method])


class TestPublicNames:
    def test_are_all_there_and_once(self):
        assert len(whyodd.__all__) == len(set(whyodd.__all__))
        assert set(whyodd.__all__) <= set(dir(whyodd))

    @pytest.mark.parametrize("name", whyodd.__all__)
    def test_are_documented_in_all_their_parts(self, name):
        value = getattr(whyodd, name)
        assert inspect.getdoc(value)
        for part, member in inspect.getmembers(value) if inspect.isclass(value) else []:
            if not part.startswith("_") and callable(member) and part in vars(value):
                assert inspect.getdoc(member), f"{name}.{part} has no docstring"

    def test_unknown_name_is_an_attribute_error(self):
        with pytest.raises(AttributeError, match="no attribute 'explode'"):
            _ = whyodd.explode

    def test_version_is_that_of_the_project(self):
        project = Path(__file__).parents[2] / "pyproject.toml"
        assert whyodd.__version__ == tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]

    def test_import_loads_nothing_heavy(self):
        heavy = ("numba", "numpy", "scipy", "sklearn")
        code = f"import sys, whyodd; print([name for name in {heavy} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
