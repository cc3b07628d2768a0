"""Any method on a model of patches: window by window and folded back, or on the item as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explainers.method import Task, measured
from whyodd.patches.scale import Folded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from whyodd.explainers.method import Method
    from whyodd.network.distance_network import Decomposition
    from whyodd.patches import PatchModel
    from whyodd.patches.explanation import PatchExplanation
    from whyodd.patches.scale import Scale

    Floats = NDArray[np.floating]
    Report = Callable[[int], None]


def explain_patches(
    model: PatchModel,
    items: Any,
    name: str,
    method: Method,
    options: Mapping[str, Any],
    random: np.random.Generator,
    keywords: Mapping[str, Any],
) -> PatchExplanation:
    """Explanation of images or series by a method; ``keywords`` are those of ``PatchModel.explain``."""
    if name == "dtd":
        return model.explain(items, **keywords)
    if method.on_item is not None and options:
        raise ValueError(f"method={name!r} takes no options for images and series. Leave them out.")
    n_jobs = keywords["n_jobs"]

    def explain_scale(scale: Scale, values: Floats, twin: int | None, report: Report) -> Folded:
        if method.on_item is not None:
            # The item is one, however many scales look at it.
            is_first = scale is model.scales_[0]
            relevance = method.on_item(values, random) if is_first else np.zeros(values.shape)
            scores = scale.score(values, twin, report)
            return Folded(np.where(np.isnan(values), 0.0, relevance), np.nan, scores, 0.0)

        def decompose(patches: Floats, own: NDArray[np.intp] | None) -> Decomposition:
            task = Task(scale.network, patches, own=own, random=random, n_jobs=n_jobs)
            if method.root is None:
                return method.decompose(task, options)
            return measured(task.scores, method.root(task.in_variables(), **options), is_additive=False)

        return scale.explain(values, twin, report, decompose)

    shared = {key: value for key, value in keywords.items() if key != "n_jobs"}
    e = replace(model.fold(items, explain_scale, **shared), method=name)
    if method.root is None:
        return e
    return replace(e, relevance=tuple(root**2 for root in e.relevance))
