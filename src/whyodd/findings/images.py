"""The way in for images: which are odd, and where."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.base import IMAGES, checked_ids
from whyodd.explanations.sentences import number
from whyodd.findings.findings import Findings
from whyodd.findings.table import Table
from whyodd.findings.thresholds import Limit, exceeded_by
from whyodd.images.detector import ImageDetector
from whyodd.images.reading import as_sequence
from whyodd.patches.features.deep import has_deep
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.images import ImageExplanation

    Doubles = NDArray[np.float64]

_TOP = 10
# Images are explained one by one on request; at most this many are held.
_MOST_EXPLAINED = 50
# Normal images needed to know how odd one in twenty is.
_FEW = 20


def find_in_images(
    images: Any,
    train: Any = None,
    *,
    model: ImageDetector | None = None,
    share: float | None = None,
    false_alarms: float | None = None,
    names: Sequence[str] | None = None,
    top: int | None = None,
    random_state: int = 0,
    scores: Doubles | None = None,
    progress: bool = False,
    **more: Any,
) -> Findings:
    """Find the odd ones of some images, and the regions that make each odd.

    Parameters
    ----------
    images : sequence of arrays, or an array
        The images to judge; a sequence may read them when asked for them.
    train : sequence of arrays, optional
        Normal images to learn from; by default ``images``, each judged by what was learned from the others.
    model : ImageDetector, optional
        A fitted model to use instead, or one with other settings that is to be fitted.
    share : float, optional
        Call this share of the images that were judged odd.
    false_alarms : float, optional
        Share of normal images that may be called odd; 0.05 by default.
    names : sequence of str, optional
        What to call the images.
    top : int, optional
        Number of the oddest to explain even if fewer are odd; 10 by default.
    random_state : int, default 0
        The same number gives the same findings.
    scores : array of shape (n,), optional
        Outlierness of the images, if the model has said it already.
    progress : bool, default False
        Show progress on standard error.
    **more
        Further attributes of :class:`Findings`.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.findings.images import find_in_images
    >>> images = np.random.default_rng(0).normal(128.0, 10.0, size=(12, 64, 64))
    >>> images[11, 20:24, 10:50] = 255.0
    >>> found = find_in_images(images[10:], images[:10])
    >>> found.is_odd
    array([False,  True])
    """
    limit = Limit(share, false_alarms)
    given = as_sequence(images)
    ids = checked_ids(names, len(given), IMAGES)
    is_fitted = model is not None and hasattr(model, "views_")
    if train is not None and is_fitted:
        raise ValueError("train cannot be used with model, which has already learned. Pass one of them.")
    if model is None or not is_fitted:
        model = ImageDetector(random_state=random_state) if model is None else model
        model.fit(given if train is None else train, progress=progress)
    if scores is None:
        scores = _scores(model, given, progress)
    threshold, source = _threshold(model, scores, limit)
    n_odd = 0 if threshold is None else int(np.count_nonzero(scores > threshold))
    n_explained = min(max(min(n_odd, _MOST_EXPLAINED), _TOP if top is None else top), scores.size)
    known = model.distribution_

    def explain(rows: NDArray[np.intp], *, progress: bool = False) -> ImageExplanation:
        # Read in turn.
        e = model.explain([given[int(row)] for row in rows], progress=progress)
        return replace(e, rows=rows, ids=None if ids is None else tuple(ids[row] for row in rows))

    return Findings(
        outlierness=scores,
        p_value=model.p_values(scores),
        n_normal=None if known is None else known.scores.size,
        threshold=threshold,
        threshold_source=source,
        explainer=explain,
        n_explained=n_explained,
        model=model,
        table=None if ids is None else Table(None, ids=ids),
        notes=(*more.pop("notes", ()), *_notes(model, n_odd, n_explained)),
        **more,
    )


def _scores(model: ImageDetector, images: Sequence[Any], progress: bool) -> Doubles:
    scores = np.empty(len(images))
    with progress_bar(len(images), "Scoring images") if progress else nullcontext() as report:
        for i in range(len(images)):
            scores[i] = model.score_map(images[i])[0]
            if report is not None:
                report(i + 1)
    return scores


def _threshold(model: ImageDetector, scores: Doubles, limit: Limit) -> tuple[float | None, str]:
    if limit.share is not None:
        source = f"{number(100 * limit.share)} % of the judged images exceed it"
        return float(np.quantile(scores, 1.0 - limit.share)), source
    if model.distribution_ is None:
        return None, "too few normal images to decide which are odd"
    allowed = model.false_alarms if limit.false_alarms is None else limit.false_alarms
    return model.distribution_.threshold(allowed), exceeded_by(allowed).replace("rows", "images")


def _notes(model: ImageDetector, n_odd: int, n_explained: int) -> list[str]:
    """Notes on how images were judged."""
    told = [_learned(model), _compared(model)]
    if not has_deep() and len(model.views_) == 1:
        told.append("A pretrained network finds more. To install it: pip install 'whyodd[deep]' (17 MB).")
    if model.distribution_ is not None and model.n_learned_ < _FEW:
        told.append(
            f"The model learned from {model.n_learned_} normal images: p-values below "
            f"{1 / model.n_learned_:.2g} are rough estimates."
        )
    if n_odd > n_explained:
        told.append(f"Only the {n_explained:,} oddest of {n_odd:,} odd images are explained.")
    return told


def _learned(model: ImageDetector) -> str:
    drawn = f" of {model.n_images_:,}" if model.n_learned_ < model.n_images_ else ""
    views = " and ".join(_NAMES.get(type(view.features).__name__, "given features") for view in model.views_)
    noun = "image" if model.n_images_ == 1 else "images"
    ways = "; ".join(dict.fromkeys(view.features.told for view in model.views_))
    turned = " Each image is judged as it is and turned by 180°." if _looks_twice(model) else ""
    learned = f"Learned from {model.n_learned_:,}{drawn} {noun}, by {views}."
    return f"{learned}{turned} Relevance reaches the pixels {ways}."


def _looks_twice(model: ImageDetector) -> bool:
    return any(view.is_turned for view in model.views_)


_NAMES = {
    "ContrastFeatures": "local contrast at several scales",
    "DeepFeatures": "a pretrained network (EfficientNet-Lite0)",
}


def _compared(model: ImageDetector) -> str:
    if model.is_aligned_:
        return "The normal images are aligned: each place is compared with the same place in them."
    return "The normal images are not aligned: each place is compared with places equally near the border."
