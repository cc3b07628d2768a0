"""Takes a pipeline, or a search over parameters, apart: the steps, and the model at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.errors import UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Steps = Sequence[tuple[str, Any]]

_PIPELINES = {"sklearn.pipeline.Pipeline": True}
# Steps that read texts as the values people mean; these values are what is explained.
_READERS = {"whyodd.automatic.written.WrittenValues": True}
# Steps that compare columns with rows that are alike in others.
_GIVEN = {"whyodd.automatic.given.GivenContext": True}
_SEARCHES = {"sklearn.model_selection._search.BaseSearchCV": True}


def split_pipeline(model: Any) -> tuple[Steps, Any]:
    """Steps before the model (none if it is not a pipeline) and the model itself; pipelines may be nested."""
    steps: list[tuple[str, Any]] = []
    prefix, model = "", _best(model)
    while find_entry(_PIPELINES, model):
        steps += [(prefix + name, step) for name, step in model.steps[:-1]]
        last, model = model.steps[-1][0], _best(model.steps[-1][1])
        prefix += f"{last}__"
        if model is None or isinstance(model, str):
            raise UnsupportedModelError(
                f"The pipeline ends in {model!r}, expected an outlier detector as its last step."
            )
    return steps, model


def split_reader(steps: Steps) -> tuple[Any, Steps]:
    """A first step that reads texts as values, None if there is none, and the steps after it."""
    is_reader = bool(steps) and find_entry(_READERS, steps[0][1])
    return (steps[0][1], steps[1:]) if is_reader else (None, steps)


def find_given(steps: Steps) -> tuple[Any, list[Any]] | None:
    """The step that compares rows in a context, and the columns it takes; None if there is none."""
    for _, step in steps:
        for _, part, columns in getattr(step, "transformers_", ()):
            if find_entry(_GIVEN, part):
                return part, list(columns)
    return None


def _best(model: Any) -> Any:
    """The model itself, or the one that a search over parameters found."""
    if not find_entry(_SEARCHES, model):
        return model
    if not hasattr(model, "best_estimator_"):
        raise UnsupportedModelError(
            f"This {type(model).__name__} has no best_estimator_, expected one fitted with refit=True."
        )
    return model.best_estimator_
