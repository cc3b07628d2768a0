"""Where a fitted model cuts: the outlierness above which it calls a row an outlier."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.linear import LinearScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.network.distance_network import DistanceNetwork


def threshold_of(model: Any, network: DistanceNetwork | LinearScore) -> float | None:
    """Outlierness above which ``model.predict`` says outlier; None if the model does not cut.

    Parameters
    ----------
    model : fitted model
    network : DistanceNetwork or LinearScore
        What was made of it.
    """
    if isinstance(network, LinearScore):
        # o = -decision_function of scikit-learn, which cuts at 0; PyOD has its sign and a threshold.
        return float(getattr(model, "threshold_", 0.0))
    cut = find_entry(THRESHOLDS, model)
    value = None if cut is None else cut(model, network)
    return value if value is not None and math.isfinite(value) else None


def _of_own_model(model: Any, network: DistanceNetwork) -> float:
    del network
    return float(model.threshold_)


def _of_covariance(model: Any, network: DistanceNetwork) -> float:
    """Of an ``EllipticEnvelope``: ``score_samples`` = -2 o."""
    del network
    return -0.5 * float(model.offset_)


def _of_local_outlier_factor(model: Any, network: DistanceNetwork) -> float:
    del network
    return -float(model.offset_)


def _of_one_class_svm(model: Any, network: DistanceNetwork) -> float:
    """``score_samples`` = exp(offset - o)."""
    return _of_similarity(float(np.ravel(model.offset_)[0]), network)


def _of_pyod_svm(model: Any, network: DistanceNetwork) -> float:
    """``decision_function`` = ``detector_.offset_`` - exp(offset - o)."""
    return _of_similarity(float(np.ravel(model.detector_.offset_)[0]) - float(model.threshold_), network)


def _of_similarity(least: float, network: DistanceNetwork) -> float:
    """What falls short of it is an outlier; every row reaches 0."""
    return network.offset - math.log(least) if least > 0.0 else math.inf


def _of_pyod_score(model: Any, network: DistanceNetwork) -> float:
    """``decision_function`` = o - offset, which is 0 for distances."""
    return float(model.threshold_) + network.offset


def _of_pyod_mcd(model: Any, network: DistanceNetwork) -> float:
    """``decision_function`` = 2 o."""
    del network
    return 0.5 * float(model.threshold_)


# Keyed like ADAPTERS; models that only score, and never cut, are not here.
THRESHOLDS: dict[str, Callable[[Any, DistanceNetwork], float]] = {
    "pyod.models.cblof.CBLOF": _of_pyod_score,
    "pyod.models.gmm.GMM": _of_pyod_score,
    "pyod.models.kde.KDE": _of_pyod_score,
    "pyod.models.knn.KNN": _of_pyod_score,
    "pyod.models.lof.LOF": _of_pyod_score,
    "pyod.models.mcd.MCD": _of_pyod_mcd,
    "pyod.models.ocsvm.OCSVM": _of_pyod_svm,
    "sklearn.covariance._elliptic_envelope.EllipticEnvelope": _of_covariance,
    "sklearn.neighbors._lof.LocalOutlierFactor": _of_local_outlier_factor,
    "sklearn.svm._classes.OneClassSVM": _of_one_class_svm,
    "whyodd.models.base.DistanceDetector": _of_own_model,
}
