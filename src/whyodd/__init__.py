"""Find what is odd in your data, and see why.

The public names are imported on first use, so that ``import whyodd`` itself is quick.

Examples
--------
>>> import whyodd
>>> from sklearn.svm import OneClassSVM
>>> model = OneClassSVM(gamma=0.5).fit([[0.0, 0.0], [0.1, 0.2], [0.2, 0.1], [0.1, 0.1]])
>>> e = whyodd.explain(model, [[0.1, 3.0]])
>>> e.reasons(0)[0].feature
'x1'
"""

from importlib import import_module
from typing import TYPE_CHECKING

from whyodd.version import __version__ as __version__

if TYPE_CHECKING:
    from whyodd import evaluation, explainers, kernels, patches, plots
    from whyodd.adapters.ensembles import ensemble
    from whyodd.adapters.neuralize import UnsupportedModelError, neuralize
    from whyodd.automatic.auto import auto
    from whyodd.evaluation.axioms import check_outlierness
    from whyodd.explainers.explaining import explain
    from whyodd.explanations.table import Explanation
    from whyodd.findings.find import find
    from whyodd.findings.findings import Findings, write_report
    from whyodd.io.saving import load, save
    from whyodd.models.registry import (
        SVDD,
        Committee,
        ExemplarMixture,
        Gaussian,
        GaussianMixture,
        KernelDensity,
        KernelPCA,
        KNearestNeighbors,
        LocalOutlierFactor,
        OneClassSVM,
        calibrate,
    )
    from whyodd.network.distance_network import DistanceNetwork
    from whyodd.patches import PatchModel
    from whyodd.texts import TextModel

__all__ = [
    "SVDD",
    "Committee",
    "DistanceNetwork",
    "ExemplarMixture",
    "Explanation",
    "Findings",
    "Gaussian",
    "GaussianMixture",
    "KNearestNeighbors",
    "KernelDensity",
    "KernelPCA",
    "LocalOutlierFactor",
    "OneClassSVM",
    "PatchModel",
    "TextModel",
    "UnsupportedModelError",
    "auto",
    "calibrate",
    "check_outlierness",
    "ensemble",
    "evaluation",
    "explain",
    "explainers",
    "find",
    "kernels",
    "load",
    "neuralize",
    "patches",
    "plots",
    "save",
    "write_report",
]

_HOME = {
    "Committee": "whyodd.models.registry",
    "DistanceNetwork": "whyodd.network",
    "ExemplarMixture": "whyodd.models.registry",
    "Explanation": "whyodd.explanations.table",
    "Findings": "whyodd.findings.findings",
    "Gaussian": "whyodd.models.registry",
    "GaussianMixture": "whyodd.models.registry",
    "KNearestNeighbors": "whyodd.models.registry",
    "KernelDensity": "whyodd.models.registry",
    "KernelPCA": "whyodd.models.registry",
    "LocalOutlierFactor": "whyodd.models.registry",
    "OneClassSVM": "whyodd.models.registry",
    "PatchModel": "whyodd.patches",
    "SVDD": "whyodd.models.registry",
    "TextModel": "whyodd.texts",
    "UnsupportedModelError": "whyodd.adapters.neuralize",
    "auto": "whyodd.automatic.auto",
    "calibrate": "whyodd.models.registry",
    "check_outlierness": "whyodd.evaluation.axioms",
    "ensemble": "whyodd.adapters.ensembles",
    "evaluation": "whyodd",
    "explain": "whyodd.explainers.explaining",
    "explainers": "whyodd",
    "find": "whyodd.findings.find",
    "kernels": "whyodd",
    "load": "whyodd.io.saving",
    "neuralize": "whyodd.adapters.neuralize",
    "patches": "whyodd",
    "plots": "whyodd",
    "save": "whyodd.io.saving",
    "write_report": "whyodd.findings.findings",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'whyodd' has no attribute {name!r}")
    home = _HOME[name]
    # A submodule is its own value; any other name is looked up in the module that defines it.
    value = import_module(f"whyodd.{name}") if home == "whyodd" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
