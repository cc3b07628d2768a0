"""Every detector of PyOD and scikit-learn is in one table: exact, distilled, or why it is not explained."""

import ast
import importlib.util
from pathlib import Path

import pytest
from sklearn.base import DensityMixin, OutlierMixin
from sklearn.utils import all_estimators

from contracts.every import EVERY
from contracts.fitted import LINEAR
from contracts.neural import NEURAL
from whyodd.adapters.catalogue import BLACK_BOXES, OWN, as_markdown, catalogue
from whyodd.adapters.class_paths import class_path
from whyodd.adapters.refusals import REFUSALS
from whyodd.adapters.registry import ADAPTERS
from whyodd.models.registry import MODELS

DOCUMENT = Path(__file__).parents[2] / "docs" / "detectors.md"
# Bases that only others are made of.
ABSTRACT = {"pyod.models.base.BaseDetector", "pyod.models.base_dl.BaseDeepLearningDetector"}


def detectors_of_pyod():
    """Read from the source: to import some of them needs packages that are not here."""
    folder = Path(importlib.util.find_spec("pyod.models").origin).parent
    for file in sorted(folder.glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            bases = [ast.unparse(base) for base in getattr(node, "bases", ())]
            if isinstance(node, ast.ClassDef) and any(base.endswith("Detector") for base in bases):
                yield f"pyod.models.{file.stem}.{node.name}"


def detectors_of_sklearn():
    """Outlier detectors, densities and covariances, each with what it inherits its score from."""
    for _, kind in all_estimators():
        if issubclass(kind, (OutlierMixin, DensityMixin)) or hasattr(kind, "mahalanobis"):
            yield kind


@pytest.mark.parametrize("path", sorted(set(detectors_of_pyod()) - ABSTRACT))
def test_detector_of_pyod_is_known(path):
    assert sum(path in known for known in (ADAPTERS, BLACK_BOXES, REFUSALS)) == 1


@pytest.mark.parametrize("kind", detectors_of_sklearn())
def test_detector_of_sklearn_is_known(kind):
    assert any(class_path(ancestor) in ADAPTERS for ancestor in kind.__mro__)


def test_what_is_called_exact_is_under_contract():
    assert ADAPTERS.keys() == EVERY.keys() | LINEAR.keys() | NEURAL.keys()


def test_own_models_are_all_there():
    assert OWN.keys() == MODELS.keys()


def test_every_model_is_there_once_with_all_that_is_told():
    entries = catalogue()
    assert len({entry.model for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.explains
        assert entry.exactness == "cannot" or (entry.cost and entry.conserves)


def test_documentation_shows_the_table():
    """Made by: python -c 'from whyodd.adapters.catalogue import as_markdown; print(as_markdown())'."""
    assert as_markdown() in DOCUMENT.read_text(encoding="utf-8")
