"""Detectors in which no row has a score of its own say so, and what to fit instead."""

import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pyod.models
import pytest
from pyod.models.cd import CD
from pyod.models.cof import COF
from pyod.models.lmdd import LMDD
from pyod.models.loci import LOCI
from pyod.models.rgraph import RGraph
from pyod.models.rod import ROD
from pyod.models.sod import SOD
from pyod.models.sos import SOS

import whyodd
from whyodd.adapters.refusals import REFUSALS
from whyodd.adapters.registry import ADAPTERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
NEW = 1.5 * RNG.normal(size=(40, 3))
TOGETHER = [
    *(CD(), COF(n_neighbors=5), LMDD(random_state=0), LOCI(), RGraph(), ROD()),
    *(SOD(n_neighbors=10, ref_set=5), SOS()),
]


# numba warns of what PyOD compiles.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", TOGETHER, ids=lambda model: type(model).__name__)
def test_what_scores_rows_against_each_other_is_refused(model):
    model.fit(X)
    # The reason for it: the same row among others has another score.
    among_some, among_all = model.decision_function(NEW[:15]), model.decision_function(NEW)[:15]
    assert (among_some != among_all).any()
    name = type(model).__name__
    with pytest.raises(whyodd.UnsupportedModelError, match=rf"^{name} scores .* rows of .* call.* Fit "):
        whyodd.explain(model, X)


@pytest.mark.parametrize("path", REFUSALS)
def test_key_is_the_path_of_a_class_that_is_not_explained(path):
    module, _, name = path.rpartition(".")
    assert path not in ADAPTERS
    source = importlib.util.find_spec(module)
    # Some of them need packages that are not there: their source tells.
    assert source is not None
    assert f"\nclass {name}(" in Path(source.origin).read_text(encoding="utf-8")


@pytest.mark.parametrize("sentence", sorted(set(REFUSALS.values())))
def test_sentence_tells_what_was_expected_and_what_to_do(sentence):
    assert ": expected " in sentence
    assert sentence.endswith(".")
    assert any(verb in sentence for verb in ("Fit ", "Pass ", "Explain "))


def test_modules_of_graphs_and_series_are_all_known():
    names = {module.name for module in pkgutil.iter_modules(pyod.models.__path__)}
    known = {path.split(".")[2] for path in REFUSALS}
    assert {name for name in names if name.startswith(("pyg_", "ts_"))} <= known
