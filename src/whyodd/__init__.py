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
    from whyodd import dask, evaluation, explainers, kernels, mlflow, onnx, patches, plots, spark
    from whyodd.adapters.ensembles import ensemble
    from whyodd.adapters.neuralize import UnsupportedModelError, neuralize
    from whyodd.automatic.auto import auto
    from whyodd.changes.compare import compare
    from whyodd.changes.comparison import Change, Comparison
    from whyodd.evaluation.audit import audit
    from whyodd.evaluation.axioms import check_outlierness
    from whyodd.explainers.explaining import explain
    from whyodd.explanations.table import Explanation
    from whyodd.findings.feedback import accept, feedback, forget, reject
    from whyodd.findings.find import find
    from whyodd.findings.findings import Findings, write_report
    from whyodd.images import ImageDetector
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
    from whyodd.scale.batches import explain_batches
    from whyodd.scale.summary import TableSummary
    from whyodd.series import SeriesDetector
    from whyodd.texts import TextModel

__all__ = [
    "SVDD",
    "Change",
    "Committee",
    "Comparison",
    "DistanceNetwork",
    "ExemplarMixture",
    "Explanation",
    "Findings",
    "Gaussian",
    "GaussianMixture",
    "ImageDetector",
    "KNearestNeighbors",
    "KernelDensity",
    "KernelPCA",
    "LocalOutlierFactor",
    "OneClassSVM",
    "PatchModel",
    "SeriesDetector",
    "TableSummary",
    "TextModel",
    "UnsupportedModelError",
    "accept",
    "audit",
    "auto",
    "calibrate",
    "check_outlierness",
    "compare",
    "dask",
    "ensemble",
    "evaluation",
    "explain",
    "explain_batches",
    "explainers",
    "feedback",
    "find",
    "forget",
    "kernels",
    "load",
    "mlflow",
    "neuralize",
    "onnx",
    "patches",
    "plots",
    "reject",
    "save",
    "spark",
    "write_report",
]

_HOME = {
    "Change": "whyodd.changes.comparison",
    "Committee": "whyodd.models.registry",
    "Comparison": "whyodd.changes.comparison",
    "DistanceNetwork": "whyodd.network",
    "ExemplarMixture": "whyodd.models.registry",
    "Explanation": "whyodd.explanations.table",
    "Findings": "whyodd.findings.findings",
    "Gaussian": "whyodd.models.registry",
    "GaussianMixture": "whyodd.models.registry",
    "ImageDetector": "whyodd.images",
    "KNearestNeighbors": "whyodd.models.registry",
    "KernelDensity": "whyodd.models.registry",
    "KernelPCA": "whyodd.models.registry",
    "LocalOutlierFactor": "whyodd.models.registry",
    "OneClassSVM": "whyodd.models.registry",
    "PatchModel": "whyodd.patches",
    "SVDD": "whyodd.models.registry",
    "SeriesDetector": "whyodd.series",
    "TableSummary": "whyodd.scale.summary",
    "TextModel": "whyodd.texts",
    "UnsupportedModelError": "whyodd.adapters.neuralize",
    "accept": "whyodd.findings.feedback",
    "audit": "whyodd.evaluation.audit",
    "auto": "whyodd.automatic.auto",
    "calibrate": "whyodd.models.registry",
    "check_outlierness": "whyodd.evaluation.axioms",
    "compare": "whyodd.changes.compare",
    "dask": "whyodd",
    "ensemble": "whyodd.adapters.ensembles",
    "evaluation": "whyodd",
    "explain": "whyodd.explainers.explaining",
    "explain_batches": "whyodd.scale.batches",
    "explainers": "whyodd",
    "feedback": "whyodd.findings.feedback",
    "find": "whyodd.findings.find",
    "forget": "whyodd.findings.feedback",
    "kernels": "whyodd",
    "load": "whyodd.io.saving",
    "mlflow": "whyodd",
    "neuralize": "whyodd.adapters.neuralize",
    "onnx": "whyodd",
    "patches": "whyodd",
    "plots": "whyodd",
    "reject": "whyodd.findings.feedback",
    "save": "whyodd.io.saving",
    "spark": "whyodd",
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
