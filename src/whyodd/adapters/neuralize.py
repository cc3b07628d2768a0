"""Turn fitted models into members of the waist, with the verdict on their own scores."""

from __future__ import annotations

import math
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_outlier_detector

from whyodd.adapters.class_paths import class_path, find_entry, public_path
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.own_models import from_own_model
from whyodd.adapters.refusals import REFUSALS
from whyodd.adapters.remembered import remembered
from whyodd.models.base import DistanceDetector
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.verdict import AffineScale, Verdict
from whyodd.network.waist import is_score

if TYPE_CHECKING:
    from whyodd.adapters.registry import Adapter
    from whyodd.network.verdict import Scale

__all__ = ["UnsupportedModelError", "neuralize", "threshold_of", "verdict_of"]

# The most common models, suggested if no name is similar.
_COMMON = ("sklearn.ensemble.IsolationForest", "pyod.models.knn.KNN", "whyodd.OneClassSVM")


def neuralize(model: object) -> Any:
    """Member of the waist with the same score as a fitted model, such as a distance network.

    It has ``outlierness(X)`` and ``decompose(X)``: see ``whyodd.network``. Its ``verdict`` says how the
    model's own score follows from the outlierness, and where the model cuts.

    Parameters
    ----------
    model : fitted model or member of the waist
        One of the classes in ``ADAPTERS`` or a subclass of it. An object that has ``outlierness(X)`` and
        ``decompose(X)`` itself, such as a network, is returned as it is.

    Returns
    -------
    DistanceNetwork, or another member of the waist

    Raises
    ------
    UnsupportedModelError
        If nothing is known about the inside of the model.

    Examples
    --------
    >>> from sklearn.svm import OneClassSVM
    >>> from whyodd import neuralize
    >>> network = neuralize(OneClassSVM(gamma=0.5).fit([[0.0], [1.0], [3.0]]))
    >>> network.kernel
    Exponential(q=2.0, sigma=1.0)
    """
    if is_score(model):
        return model
    if isinstance(model, DistanceDetector):
        return from_own_model(model)
    from whyodd.adapters.registry import ADAPTERS  # the adapters of all other packages

    adapter = find_entry(ADAPTERS, model)
    if adapter is None:
        raise UnsupportedModelError(_unsupported(model))
    try:
        return remembered(model, partial(_judged, adapter)) if adapter.is_kept else adapter.read(model)
    except AttributeError as error:
        if not _is_foreign(error.obj):
            raise
        raise UnsupportedModelError(_of_another_version(model, error)) from error


def _judged(adapter: Adapter, model: Any) -> Any:
    """The member of the waist, with what the model says about its own scores."""
    member = adapter.read(model)
    verdict = verdict_of(model, adapter.scale(model, member))
    if isinstance(member, DistanceNetwork):
        return member.with_verdict(verdict)
    return replace(member, verdict=verdict)


def threshold_of(model: Any, network: Any) -> float | None:
    """Outlierness above which ``model.predict`` returns outlier; None if the model has no threshold.

    Parameters
    ----------
    model : fitted model
    network : member of the waist
        What was made of it.
    """
    verdict = getattr(network, "verdict", None)
    if isinstance(verdict, Verdict):
        return verdict.threshold
    threshold = None if network is model else getattr(model, "threshold_", None)
    return None if threshold is None else _finite(threshold)


def verdict_of(model: Any, scale: Scale) -> Verdict:
    """Scores that PyOD and scikit-learn models keep from training, in units of o."""
    contamination = getattr(model, "contamination", None)
    contamination = float(contamination) if isinstance(contamination, (int, float)) else None
    if hasattr(model, "decision_scores_"):
        # A threshold that is recomputed for the rows to judge (PyThresh) cannot be kept.
        cut = None if contamination is None else getattr(model, "threshold_", None)
        training = np.sort(scale.outlierness(np.ravel(model.decision_scores_)))
        known = training if np.isfinite(training).all() else None
    else:
        offset = getattr(model, "offset_", None) if is_outlier_detector(model) else None
        cut, known = None if offset is None else -float(np.ravel(offset)[0]), None
    threshold = None if cut is None else _finite(scale.outlierness(cut + _rounding(float(cut), scale)))
    return Verdict(scale, threshold, known, contamination)


def _rounding(cut: float, scale: Scale) -> float:
    """Margin above rounding error, so that a row exactly at the threshold is not an outlier."""
    return 1e-12 * max(abs(cut), abs(scale.shift)) if isinstance(scale, AffineScale) else 0.0


def _finite(value: Any) -> float | None:
    """The threshold, or None if no row can exceed it."""
    return float(value) if math.isfinite(value) else None


def _is_foreign(thing: object) -> bool:
    """Whether it belongs to another package's model, so that an attribute it lacks is not our mistake."""
    return hasattr(thing, "fit") and not class_path(type(thing)).startswith("whyodd.")


def _of_another_version(model: object, error: AttributeError) -> str:
    name = public_path(class_path(type(model)))
    return (
        f"This {name} has no attribute {error.name!r}, which the installed version has. It was fitted or "
        f"pickled by another version of {name.split('.')[0]}. Fit it again with this version."
    )


def _unsupported(model: object) -> str:
    if isinstance(model, type):
        return f"Expected a fitted model, got the class {model.__name__}. Pass {model.__name__}(...).fit(X)."
    if not hasattr(model, "fit"):
        return f"Expected a fitted model, got {type(model).__name__}. Pass the model first, then the rows."
    if hasattr(model, "steps"):
        return (
            "A pipeline is not a distance network, but its last step may be. Pass neuralize(pipeline[-1]), "
            "or the whole pipeline to whyodd.explain."
        )
    if hasattr(model, "explain"):
        name = type(model).__name__
        return f"{name} is built from networks and has its own explain method: call model.explain(...)."
    refusal = find_entry(REFUSALS, model)
    if refusal is not None:
        return f"{type(model).__name__} {refusal}"
    name, close = public_path(class_path(type(model))), ", ".join(_close_to(type(model).__name__))
    return (
        f"whyodd does not know how {name} works inside. If it scores rows, whyodd.explain(model, X, "
        f"normal=rows) explains it from its scores alone. Exactly explained are {close} and others: run "
        "whyodd models."
    )


def _close_to(name: str) -> list[str]:
    """Models that are explained exactly, those with the most similar names first."""
    from whyodd.adapters.registry import ADAPTERS
    from whyodd.models.registry import MODELS

    known = {path.rpartition(".")[2]: public_path(path) for path, one in ADAPTERS.items() if one.is_kept}
    known |= {cls.__name__: f"whyodd.{cls.__name__}" for cls in MODELS.values()}
    close = [known[match] for match in get_close_matches(name, known, n=3)]
    return [*close, *(model for model in _COMMON if model not in close)][:3]
