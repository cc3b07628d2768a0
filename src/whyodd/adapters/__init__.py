"""Fitted models of other packages as distance networks, one function per model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.own_models import from_own_model
from whyodd.adapters.sklearn_svm import from_one_class_svm
from whyodd.models import MODELS
from whyodd.network import DistanceNetwork

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ADAPTERS", "UnsupportedModelError", "neuralize"]

# Keyed by class path: a model is recognised without importing the package it comes from.
ADAPTERS: dict[str, Callable[[Any], DistanceNetwork]] = {
    "whyodd.models.base.DistanceDetector": from_own_model,
    "sklearn.svm._classes.OneClassSVM": from_one_class_svm,
}


def neuralize(model: object) -> DistanceNetwork:
    """Distance network with the same score as a fitted model: o(x) = -log Σ_j α_j k(‖x - u_j‖).

    Parameters
    ----------
    model : fitted model or DistanceNetwork
        One of the classes in ``ADAPTERS`` or a subclass of it; a network is returned as it is.

    Returns
    -------
    DistanceNetwork

    Raises
    ------
    UnsupportedModelError
        If the model cannot be written as a distance network.

    Examples
    --------
    >>> from sklearn.svm import OneClassSVM
    >>> from whyodd import neuralize
    >>> network = neuralize(OneClassSVM(gamma=0.5).fit([[0.0], [1.0], [3.0]]))
    >>> network.kernel
    Exponential(q=2.0, sigma=1.0)
    """
    if isinstance(model, DistanceNetwork):
        return model
    for ancestor in type(model).__mro__:
        adapt = ADAPTERS.get(_class_path(ancestor))
        if adapt is not None:
            return adapt(model)
    raise UnsupportedModelError(_unsupported(model))


def _class_path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _public_path(class_path: str) -> str:
    """Where people import the class from: the path without its private parts."""
    return ".".join(part for part in class_path.split(".") if not part.startswith("_"))


def _unsupported(model: object) -> str:
    if isinstance(model, type):
        return f"Expected a fitted model, got the class {model.__name__}. Pass {model.__name__}(...).fit(X)."
    own = ", ".join(f"whyodd.{cls.__name__}" for cls in MODELS.values())
    foreign = ", ".join(_public_path(path) for path in ADAPTERS if not path.startswith("whyodd."))
    supported = f"{own}, {foreign}, whyodd.DistanceNetwork"
    return (
        f"{_public_path(_class_path(type(model)))} cannot be written as a distance network. "
        f"Supported: {supported}. Fit one of these; of a pipeline pass the last step, "
        "and X as the steps before it transform it."
    )
