"""PyOD's neural detectors: their weights are copied out, so that neither PyOD nor torch is needed afterwards.

PyOD computes in single precision, the members made here in double: the two scores agree to about 1e-6 of
their size, and of the size of the standardised rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.class_paths import class_path
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_euclidean, require_fitted
from whyodd.adapters.torch_layers import dense_stack, to_numpy
from whyodd.inputs.standardizing import Standardizing
from whyodd.maths.learned_poolings import LearnedMean, LearnedScore
from whyodd.maths.metrics import LinearMetric
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.neural.embedded_distance import EmbeddedDistance
from whyodd.network.neural.network_reconstruction import NetworkReconstruction
from whyodd.network.verdict import AffineScale, ExponentialScale

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.network.verdict import Scale

    Floats = NDArray[np.float64]

# PyOD adds this to the spread of a column.
_FLOOR = 1e-8

# Scalers of scikit-learn that treat each column by itself, as what they subtract and divide by.
_SCALERS: dict[str, Callable[[Any], Standardizing]] = {
    "sklearn.preprocessing._data.MaxAbsScaler": lambda scaler: Standardizing(
        np.zeros_like(scaler.scale_), scaler.scale_
    ),
    "sklearn.preprocessing._data.MinMaxScaler": lambda scaler: Standardizing(
        -scaler.min_ / scaler.scale_, 1.0 / scaler.scale_
    ),
    "sklearn.preprocessing._data.StandardScaler": lambda scaler: Standardizing(
        np.zeros(scaler.n_features_in_) if scaler.mean_ is None else scaler.mean_,
        np.ones(scaler.n_features_in_) if scaler.scale_ is None else scaler.scale_,
    ),
}


def from_pyod_auto_encoder(model: Any) -> NetworkReconstruction:
    """Reconstruction error of a fitted ``AutoEncoder`` of PyOD: ``decision_function`` = o."""
    require_fitted(model, "decision_scores_")
    network = _uncompiled(model.model)
    stack = dense_stack(network.encoder, network.decoder)
    return NetworkReconstruction(stack, _standardizing(model, model.X_mean, model.X_std, stack.n_inputs))


def from_pyod_ae1svm(model: Any) -> NetworkReconstruction:
    """Reconstruction error of a fitted ``pyod.models.ae1svm.AE1SVM``: ``decision_function`` = o.

    Its one-class SVM shapes the code in training; PyOD scores by the reconstruction alone.
    """
    require_fitted(model, "decision_scores_")
    stack = dense_stack(model.model.encoder, model.model.decoder)
    return NetworkReconstruction(stack, _standardizing(model, model.mean, model.std, stack.n_inputs))


def from_pyod_vae(model: Any) -> NetworkReconstruction:
    """Reconstruction error of a fitted ``pyod.models.vae.VAE`` from its mean code.

    PyOD's ``decision_function`` draws a code at random each time it is called, and so never gives the same
    score twice; o is that score with the mean code, which is what the draws scatter around.
    """
    require_fitted(model, "decision_scores_")
    network = _uncompiled(model.model)
    stack = dense_stack(network.encoder, network.encoder_mu, network.decoder)
    return NetworkReconstruction(stack, _standardizing(model, model.X_mean, model.X_std, stack.n_inputs))


def mean_code_score(model: Any, X: Any) -> Floats:
    """Score (n,) of a ``VAE`` with its mean code, by its own torch module."""
    network = _uncompiled(model.model).eval()
    weight = network.encoder_mu.weight
    z = np.asarray(X, dtype=np.float64)
    if model.preprocessing:
        z = (z - model.X_mean) / (model.X_std + _FLOOR)
    code, _ = network.encode(weight.new_tensor(z))
    return np.asarray(np.linalg.norm(z - to_numpy(network.decode(code)), axis=1))


def from_pyod_deep_svdd(model: Any) -> EmbeddedDistance:
    """Distance to the center in the network of a fitted ``DeepSVDD``: ``decision_function`` = o."""
    require_fitted(model, "decision_scores_")
    stack = dense_stack(model.model_.model)
    center = to_numpy(getattr(model, "c_", model.c))
    if model.preprocessing:
        entry = _SCALERS["sklearn.preprocessing._data.StandardScaler"](model.scaler_)
    else:
        entry = Standardizing.none(stack.n_inputs)
    return EmbeddedDistance(stack, center, entry)


def from_pyod_lunar(model: Any) -> DistanceNetwork:
    """Network of a fitted ``pyod.models.lunar.LUNAR``: the nearest rows, pooled as it has learned.

    ``model_type="WEIGHT"``: o = Σ_r w_r(d) d_(r), and ``decision_function`` = slope o + shift by its batch
    norm. ``"SCORE"``: ``decision_function`` = 1 - exp(-o). The centers are the rows it searches: those it was
    trained on and those it made up as outliers, in no known order.
    """
    require_fitted(model, "decision_scores_")
    parameters = {"p": model.p if model.metric == "minkowski" else None, **(model.metric_params or {})}
    require_euclidean(model, model.metric, parameters)
    entry = _scaling(model)
    if model.model_type == "WEIGHT":
        _require_rising(model)
        layers = dense_stack(model.network.network)
        last = layers.layers[-1]
        weights = type(last)(last.weight, last.bias, [*last.then, ("softmax", 0.0)])
        pooling: LearnedMean | LearnedScore = LearnedMean(type(layers)([*layers.layers[:-1], weights]))
    else:
        pooling = LearnedScore(dense_stack(*list(model.network.network)[:-1]))
    rows = np.asarray(model.neigh._fit_X, dtype=np.float64)
    return DistanceNetwork(
        entry.backward(rows), pooling=pooling, metric=LinearMetric(np.diag(1.0 / entry.scale))
    )


def scale_of_pyod_lunar(model: Any, network: DistanceNetwork) -> Scale:
    """How ``decision_function`` follows from o: by the batch norm at the end, or as a probability."""
    del network
    if model.model_type == "WEIGHT":
        slope, shift = _batch_norm(model)
        return AffineScale(slope, shift)
    return ExponentialScale(-1.0, shift=1.0)


def _scaling(model: Any) -> Standardizing:
    # PyOD before 3.0 fitted the scaler it was given.
    scaler = getattr(model, "scaler_", model.scaler)
    if scaler is None or scaler is False:
        return Standardizing.none(model.neigh._fit_X.shape[1])
    read = _SCALERS.get(class_path(type(scaler)))
    if read is None or getattr(scaler, "clip", False):
        raise UnsupportedModelError(
            f"LUNAR scales columns with {scaler!r}, expected a MinMaxScaler (without clip), StandardScaler, "
            "MaxAbsScaler or none. Fit it again with one of these."
        )
    return read(scaler)


def _batch_norm(model: Any) -> tuple[float, float]:
    norm = model.network.final_norm
    mean, variance, weight, bias = (
        float(to_numpy(part)[0]) for part in (norm.running_mean, norm.running_var, norm.weight, norm.bias)
    )
    slope = weight / np.sqrt(variance + norm.eps)
    return slope, bias - slope * mean


def _require_rising(model: Any) -> None:
    if _batch_norm(model)[0] <= 0.0:
        raise UnsupportedModelError(
            "LUNAR learned a score that falls as neighbours get further away: expected one that rises. Fit "
            "it again with more epochs or another random_state."
        )


def _standardizing(model: Any, mean: Any, spread: Any, d: int) -> Standardizing:
    if not model.preprocessing:
        return Standardizing.none(d)
    return Standardizing(mean, np.asarray(spread) + _FLOOR)


def _uncompiled(module: Any) -> Any:
    """The module itself, of one that ``torch.compile`` has wrapped."""
    return getattr(module, "_orig_mod", module)
