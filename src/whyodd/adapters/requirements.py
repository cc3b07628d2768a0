"""What every adapter asks of a model: that it is fitted, and that its distances are Euclidean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

from whyodd.adapters.errors import UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

_EUCLIDEAN = ("euclidean", "l2")


def require_fitted(model: object, attribute: str) -> None:
    """Raise ``NotFittedError`` unless the model has the ``attribute`` that ``fit`` sets."""
    if getattr(model, attribute, None) is None:
        name = type(model).__name__
        raise NotFittedError(f"This {name} is not fitted yet: call fit with normal data first, then explain.")


def require_euclidean(model: object, metric: Any, parameters: Mapping[str, Any] | None) -> None:
    """Raise ``UnsupportedModelError`` unless ``metric`` with its ``parameters`` is Euclidean."""
    given = {name: value for name, value in (parameters or {}).items() if value is not None}
    if metric in _EUCLIDEAN and not given:
        return
    if metric == "minkowski" and given in ({}, {"p": 2}):
        return
    settings = ", ".join([f"metric={metric!r}", *(f"{name}={value!r}" for name, value in given.items())])
    raise UnsupportedModelError(
        f"{type(model).__name__} measures distances with {settings}, expected Euclidean distances "
        "(metric='euclidean', or 'minkowski' with p=2). Fit it again with metric='euclidean'."
    )
