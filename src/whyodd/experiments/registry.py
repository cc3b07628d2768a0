"""The paper's experiments, one module each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyodd.experiments.run import Experiment

# Name -> what it shows.
EXPERIMENTS: dict[str, str] = {
    "prototypes": "Points in the plane: inlierness, outlierness, soft min-pooling and the flow of relevance.",
    "textures": "Heatmaps of pictures by a model of their own 7 × 7 patches, beside Sobel's edges.",
    "mnist": "External validation: digits beside a blank, where it is known which side is odd. DTD and MVN.",
    "cifar": "Internal validation: flipping pixels, six kernels, DTD against SA, NN, EV, Sobel and Random.",
    "detox": "Two comments with shaded words, and the terms that are there or missing.",
}

# An experiment is imported when it is needed: from the module of its name, or from one in its folder.
_HOMES = {name: f"whyodd.experiments.{name}.experiment" for name in ("cifar", "mnist")}


def find_experiment(name: str) -> Experiment:
    """The experiment of a name."""
    experiment: Experiment = import_module(_HOMES.get(name, f"whyodd.experiments.{name}")).EXPERIMENT
    return experiment
