"""Arrays of scikit-learn's models that its compiled code trusts, looked at before anybody uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.svm import OneClassSVM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_THREADS = 1024


def check_estimators(loaded: Any) -> None:
    """Raise a ``ValueError`` if an array in what was loaded has a shape that would make compiled code fail.

    Most of scikit-learn is NumPy, which looks at shapes itself; search trees are built anew when loaded.
    """
    for part in _parts(loaded):
        check = _CHECKS.get(type(part))
        if check is not None:
            check(part)


def _parts(loaded: Any) -> Iterator[BaseEstimator]:
    """All estimators in an object, itself included."""
    seen: set[int] = set()
    waiting = [loaded]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, BaseEstimator):
            yield part
            waiting.extend(vars(part).values())
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif type(part).__module__.startswith("whyodd.") and hasattr(part, "__dict__"):
            waiting.extend(vars(part).values())


def _check_one_class_svm(model: OneClassSVM) -> None:
    if not hasattr(model, "support_vectors_"):
        return
    n = len(model.support_)
    if model.kernel == "precomputed":  # it compares with columns of what it is given
        _expect("support_ of a OneClassSVM", bool(np.all(model.support_ < model.shape_fit_[0])))
    else:
        _expect_shape(model, "support_vectors_", (n, model.n_features_in_))
    _expect("support_ of a OneClassSVM", bool(np.all(model.support_ >= 0)))
    for name in ("dual_coef_", "_dual_coef_"):
        _expect_shape(model, name, (1, n))
    for name, shape in {"_intercept_": (1,), "_n_support": (2,), "_probA": (0,), "_probB": (0,)}.items():
        _expect_shape(model, name, shape)
    _expect("_n_support of a OneClassSVM", int(model._n_support[0]) == n)


def _check_means(model: KMeans | MiniBatchKMeans) -> None:
    if hasattr(model, "cluster_centers_"):
        _expect_shape(model, "cluster_centers_", (model.n_clusters, model.n_features_in_))
        _expect(f"_n_threads of a {type(model).__name__}", 0 < int(model._n_threads) <= _MOST_THREADS)


def _expect_shape(model: BaseEstimator, name: str, shape: tuple[int, ...]) -> None:
    found = np.shape(getattr(model, name))
    if found != shape:
        raise ValueError(f"{name} of a {type(model).__name__} has the shape {found}, expected {shape}")


def _expect(what: str, is_right: bool) -> None:
    if not is_right:
        raise ValueError(f"{what} does not fit to the rest of it")


_CHECKS: dict[type, Callable[[Any], None]] = {
    KMeans: _check_means,
    MiniBatchKMeans: _check_means,
    OneClassSVM: _check_one_class_svm,
}
