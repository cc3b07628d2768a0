"""Models without an adapter, and functions: how to call them for scores, and the rows they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whyodd.adapters.class_paths import class_path, public_path

if TYPE_CHECKING:
    from collections.abc import Callable

# Where detectors of PyOD keep the rows that they were fitted on.
_KEPT = ("X_train_", "X_train")


class BlackBox(NamedTuple):
    """A scoring function about which nothing else is known.

    Attributes
    ----------
    score : callable
        ``score(X)`` gives (n,), high for outliers.
    name : str
        What people know it as.
    model : object, optional
        The fitted model that scores; None of a function.
    """

    score: Callable[[Any], Any]
    name: str
    model: Any = None

    @classmethod
    def of(cls, model: Any) -> BlackBox | None:
        """The scoring function of a model, or None if it has none.

        A function itself. Of detectors of PyOD ``decision_function``, of those in the way of scikit-learn
        -``score_samples``, else -``decision_function``: these are high for inliers.

        Examples
        --------
        >>> from sklearn.ensemble import IsolationForest
        >>> from whyodd.adapters.black_boxes import BlackBox
        >>> BlackBox.of(IsolationForest()).name, BlackBox.of(3)
        ('sklearn.ensemble.IsolationForest', None)
        """
        if isinstance(model, type):
            return None
        name = public_path(class_path(type(model)))
        if _is_pyod(model):
            return cls(lambda X: model.decision_function(X), name, model)
        if hasattr(model, "score_samples"):
            return cls(lambda X: -np.asarray(model.score_samples(X)), name, model)
        if hasattr(model, "decision_function"):
            return cls(lambda X: -np.asarray(model.decision_function(X)), name, model)
        if callable(model):
            return cls(model, _name_of_function(model))
        return None

    @property
    def kept_rows(self) -> Any:
        """The rows (N, d) that the model was fitted on, if it keeps them; else None."""
        for name in _KEPT:
            rows = getattr(self.model, name, None)
            if rows is not None and np.ndim(rows) == 2:
                return rows
        return None


def _is_pyod(model: object) -> bool:
    ancestors = map(class_path, type(model).__mro__)
    return any(path == "pyod.models.base.BaseDetector" for path in ancestors)


def _name_of_function(function: Any) -> str:
    name = getattr(function, "__name__", "")
    return f"{name}()" if name.isidentifier() else "the function"
