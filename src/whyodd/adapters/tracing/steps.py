"""Following columns through one step after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.tracing.errors import Untraceable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.adapters.tracing.columns import Columns


def trace_steps(steps: Sequence[tuple[str, Any]], columns: Columns) -> Columns:
    """Columns after all the steps."""
    n_outputs = [getattr(step, "n_features_in_", None) for _, step in steps[1:]]
    for (name, step), expected in zip(steps, [*n_outputs, None], strict=False):
        columns = trace_step(name, step, columns, expected)
    return columns


def trace_step(name: str, step: Any, columns: Columns, n_outputs: int | None) -> Columns:
    """Columns after one step, or ``Untraceable`` with its name.

    ``n_outputs`` is the number of columns it gives, if that is known from elsewhere.
    """
    if step is None or isinstance(step, str):  # "passthrough"; dropped columns do not arrive here
        columns.variables.read.update(columns.owner.tolist())
        return columns
    try:
        return _follow(name, step, columns)
    except Untraceable as error:
        # Whatever is made of a single column belongs to it.
        n_found = _count_outputs(step, n_outputs)
        absorbed = None if n_found is None else columns.absorbed(n_found)
        if absorbed is None:
            raise error.within(name, step) from None
        return absorbed


def _follow(name: str, step: Any, columns: Columns) -> Columns:
    from whyodd.adapters.tracing import registry  # here, since steps made of steps are registered too

    tracer = find_entry(registry.TRACERS, step)
    if tracer not in registry.COMPOSITE:
        columns.variables.read.update(columns.owner.tolist())
    if tracer is None:
        raise Untraceable("whyodd does not know whether it works column by column or linearly")
    if tracer not in registry.NOT_CHECKED:
        _check_fitted(name, step)
    expected = getattr(step, "n_features_in_", columns.count)
    if expected != columns.count:
        raise Untraceable(
            f"it was fitted on {expected} columns, but the steps before it give {columns.count}"
        )
    return tracer(step, columns)


def _check_fitted(name: str, step: Any) -> None:
    try:
        check_is_fitted(step)
    except NotFittedError:
        raise NotFittedError(
            f"Step {name!r} ({type(step).__name__}) is not fitted yet: fit the pipeline on normal data "
            "first, then explain."
        ) from None


def _count_outputs(step: Any, n_outputs: int | None) -> int | None:
    if n_outputs is not None:
        return n_outputs
    try:
        return len(step.get_feature_names_out())
    except (AttributeError, ValueError, TypeError):
        return None
