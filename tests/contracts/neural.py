"""Models that need torch to be fitted, as plain text: without torch they cannot even be imported."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Neural(NamedTuple):
    """A class by its path, and the parameters to construct it with."""

    path: str
    parameters: dict[str, Any]

    def make(self) -> Any:
        """An unfitted model."""
        module, _, name = self.path.rpartition(".")
        return getattr(importlib.import_module(module), name)(**self.parameters)

    def fit(self, X: Any) -> Any:
        """Fit a new model to X."""
        return self.make().fit(X)


_SOON = {"epoch_num": 3, "verbose": 0}
# Parameters of every model of PyOD that needs torch and has an adapter. All have 4 columns.
_PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "pyod.models.ae1svm.AE1SVM": [{"epochs": 3, "hidden_neurons": [8, 4]}],
    "pyod.models.auto_encoder.AutoEncoder": [
        _SOON,
        {**_SOON, "preprocessing": False, "batch_norm": False, "hidden_activation_name": "tanh"},
    ],
    "pyod.models.deep_svdd.DeepSVDD": [
        {"n_features": 4, "epochs": 3, "verbose": 0, "random_state": 0},
        {
            "n_features": 4,
            "epochs": 3,
            "verbose": 0,
            "random_state": 0,
            "preprocessing": False,
            "use_ae": True,
            "hidden_neurons": [4, 3, 2],
            "hidden_activation": "elu",
        },
    ],
    "pyod.models.lunar.LUNAR": [
        {"n_epochs": 20, "random_state": 0},
        {"n_epochs": 20, "random_state": 0, "model_type": "SCORE", "n_neighbours": 3},
        {"n_epochs": 5, "random_state": 0, "scaler": False},
    ],
    "pyod.models.vae.VAE": [
        _SOON,
        {**_SOON, "batch_norm": True, "output_activation_name": "sigmoid", "hidden_activation_name": "elu"},
    ],
}
NEURAL: dict[str, list[Neural]] = {
    path: [Neural(path, parameters) for parameters in some] for path, some in _PARAMETERS.items()
}
