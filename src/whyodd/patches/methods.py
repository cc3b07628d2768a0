"""Any method on a model of patches: window by window and added back up, or on the whole item."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explainers.method import Task, measured
from whyodd.explainers.registry import method_for_items
from whyodd.network.waist import offers
from whyodd.patches.scale import Folded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from whyodd.network.waist import Decomposition
    from whyodd.patches.model import PatchModel
    from whyodd.patches.scale import Scale

    Floats = NDArray[np.floating]
    Report = Callable[[int], None]
    ExplainScale = Callable[[Scale, Floats, int | None, Report], Folded]


def scale_explainer(
    model: PatchModel,
    name: str,
    options: Mapping[str, Any] | None,
    random_state: int | None,
    n_jobs: int | None,
) -> ExplainScale:
    """A method's results for each scale: ``f(scale, values, twin, report) -> Folded``.

    ``values`` (*shape, C) are the numbers of an item, ``twin`` is the training item that it is, ``report`` is
    called with the number of further windows done.
    """
    method, settings, random = method_for_items(model, name, options, random_state)
    if method.on_item is not None and settings:
        raise ValueError(f"method={name!r} takes no options for images and series. Leave them out.")

    def decompose(scale: Scale, patches: Floats, own: NDArray[np.intp] | None) -> Decomposition:
        if name == "dtd":  # with many windows, a little may be discarded
            work: dict[str, Any] = {"n_jobs": n_jobs}
            if offers(scale.network, "distances"):
                work["tolerance"] = model.tolerance
            return scale.network.decompose(patches, own=own, **work)
        task = Task(scale.network, patches, own=own, random=random, n_jobs=n_jobs)
        if method.root is None:
            return method.decompose(task, settings)
        return measured(task.scores, method.root(task.in_variables(), **settings), is_additive=False)

    def explain_scale(scale: Scale, values: Floats, twin: int | None, report: Report) -> Folded:
        if method.on_item is None:
            return scale.explain(values, twin, report, partial(decompose, scale))
        # The item counts once, however many scales look at it.
        is_first = scale is model.scales_[0]
        relevance = method.on_item(values, random) if is_first else np.zeros(values.shape)
        scores = scale.score(values, twin, report)
        return Folded(np.where(np.isnan(values), 0.0, relevance), np.nan, scores, 0.0)

    return explain_scale
