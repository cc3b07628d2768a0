"""Names in saved files: what has one keeps it, and all that can be saved has one."""

from __future__ import annotations

import json
import pkgutil
import zipfile
from importlib import import_module

import pytest
from sklearn.base import BaseEstimator

import whyodd
from unit.io.saved_files import things
from unit.io.test_earlier_files import names_in
from whyodd.io.saved_names import FORMAT_1, PLACES
from whyodd.kernels import KERNELS
from whyodd.models.base import DistanceDetector
from whyodd.models.density import DensityDetector
from whyodd.models.in_parts import InParts

# Files in the world have these: add to them at a release, never change one.
RELEASED = [
    "whyodd.Calibration",
    "whyodd.DistanceNetwork",
    "whyodd.ExemplarMixture",
    "whyodd.Explanation",
    "whyodd.Gaussian",
    "whyodd.GaussianMixture",
    "whyodd.KNearestNeighbors",
    "whyodd.KernelDensity",
    "whyodd.LinearScore",
    "whyodd.LocalOutlierFactor",
    "whyodd.OneClassSVM",
    "whyodd.PatchExplanation",
    "whyodd.PatchModel",
    "whyodd.SVDD",
    "whyodd.TextExplanation",
    "whyodd.TextModel",
    "whyodd.auto.Candidate",
    "whyodd.auto.Choice",
    "whyodd.auto.Column",
    "whyodd.auto.Constants",
    "whyodd.auto.DateParts",
    "whyodd.auto.LogScale",
    "whyodd.auto.PlainNumbers",
    "whyodd.auto.PlainValues",
    "whyodd.auto.Report",
    "whyodd.auto.SimplexEncoder",
    "whyodd.auto.from_log_scale",
    "whyodd.auto.to_log_scale",
    "whyodd.explanations.Moment",
    "whyodd.explanations.Variables",
    "whyodd.kernels.Exponential",
    "whyodd.kernels.Student",
    "whyodd.metrics.Component",
    "whyodd.metrics.Linear",
    "whyodd.patches.Item",
    "whyodd.patches.Scale",
    "whyodd.patches.View",
    "whyodd.patches.local_contrast",
    "whyodd.pipelines.LinearMap",
    "whyodd.pipelines.Trace",
    "whyodd.pipelines.Trace.decode",
    "whyodd.poolings.LocalReach",
    "whyodd.poolings.MeanVector",
    "whyodd.poolings.Nearest",
    "whyodd.texts.Parts",
    "whyodd.texts.Token",
    "whyodd.texts.Tokenizer",
    "whyodd.texts.Vocabulary",
]
METHOD = "whyodd.pipelines.Trace.decode"


def test_released_names_stay():
    assert set(RELEASED) <= PLACES.keys()
    assert set(FORMAT_1.values()) <= set(RELEASED)
    assert len(set(PLACES.values())) == len(PLACES)
    # A name is never where something else lives.
    assert all(PLACES[name] == name for name in PLACES.keys() & set(PLACES.values()))


@pytest.mark.parametrize("name", PLACES)
def test_every_name_leads_to_where_something_lives(name):
    place = PLACES[name]
    owner = PLACES[METHOD.rpartition(".")[0]] if name == METHOD else place
    module, _, kind = owner.rpartition(".")
    found = getattr(import_module(module), kind)
    found = getattr(found, place.rpartition(".")[2]) if name == METHOD else found
    # skops asks what it saves for its home, not where else it can be imported from.
    assert f"{found.__module__}.{found.__qualname__}" == place


def own_modules():
    found = pkgutil.walk_packages(whyodd.__path__, "whyodd.")
    return [import_module(one.name) for one in found if not one.name.endswith("__main__")]


def test_every_estimator_and_kernel_has_a_name():
    estimators = {
        kind
        for module in own_modules()
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, BaseEstimator) and kind.__module__ == module.__name__
    }
    kinds = estimators - {DistanceDetector, DensityDetector, InParts} | set(KERNELS.values())
    assert len(kinds) > 10
    assert {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds} <= set(PLACES.values())


def test_files_hold_no_other_names_of_ours(tmp_path):
    """Of every kind of thing that can be saved, and all its parts."""
    for name, thing in things().items():
        whyodd.save(thing, tmp_path / name)
        with zipfile.ZipFile(tmp_path / name) as parts:
            assert set(names_in(json.loads(parts.read("schema.json")))) <= PLACES.keys()
