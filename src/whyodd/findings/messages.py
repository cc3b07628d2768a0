"""The way in for messages: which are odd, and for which words."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.base import TEXTS, checked_ids
from whyodd.explanations.sentences import number
from whyodd.findings.findings import MOST_EXPLAINED, Findings
from whyodd.findings.table import Table
from whyodd.findings.thresholds import Limit, distribution_of
from whyodd.progress import progress_bar
from whyodd.texts.model import TextModel, as_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from whyodd.texts import TextExplanation

    Floats = NDArray[np.float64]
    Explainer = Callable[..., TextExplanation]
    Scorer = Callable[[Explainer], Floats]

_TOP = 10
_FEW = 200  # messages needed to know how odd one in a hundred is
# Odd messages, as a multiple of chance, above which they differ from the training messages.
_DRIFT = 3.0


def find_in_messages(
    texts: Any,
    train: Any = None,
    *,
    model: TextModel | None = None,
    share: float | None = None,
    false_alarms: float | None = None,
    names: Sequence[Any] | None = None,
    top: int = _TOP,
    score: Scorer | None = None,
    progress: bool = False,
    **more: Any,
) -> Findings:
    """Find the odd ones of some messages, and the few words that make each odd.

    Parameters
    ----------
    texts : sequence of str
        The messages to judge: a list, an array, or a column of a data frame.
    train : sequence of str, optional
        Normal messages to learn from; by default ``texts``, each judged by all others.
    model : TextModel, optional
        A fitted model to use instead, or one with other settings that is to be fitted.
    share : float, optional
        Call this share of the messages that were learned from odd.
    false_alarms : float, optional
        Share of normal messages that may be called odd; 0.01 by default.
    names : sequence, optional
        What to call the messages.
    top : int, default 10
        Number of the oddest to explain even if fewer are odd.
    score : callable, optional
        Gives the outlierness (n,) of all messages in place of the model. It gets a function that explains
        messages, given by their positions: with all explanations, the scores are known from them.
    progress : bool, default False
        Show progress on standard error.
    **more
        Further attributes of :class:`Findings`.

    Examples
    --------
    >>> from whyodd.findings.messages import find_in_messages
    >>> log = ["the pump runs and the valve is open", "the pump stands and the valve is shut"] * 100
    >>> found = find_in_messages(["the pump explodes and the valve is open", log[0]], log)
    >>> found.is_odd
    array([ True, False])
    >>> print(found.why(0).split(";")[0])
    'explodes' (... %): in none of 200 messages
    """
    limit = Limit(share, false_alarms)
    messages = as_messages(texts)
    ids = checked_ids(names, len(messages), TEXTS)
    is_fitted = model is not None and hasattr(model, "messages_")
    if train is not None and is_fitted:
        raise ValueError("train cannot be used with model, which has already learned. Pass one of them.")
    if model is None or not is_fitted:
        learn = TextModel() if model is None else model
        model = learn_messages(learn, messages if train is None else as_messages(train), progress=progress)
    own = model.learned_from(messages)
    known = distribution_of(model)
    threshold, source = _threshold(model, limit)
    explain = _explainer(model, messages, ids, own, threshold)
    scores = score(explain) if score is not None else _scores(model, messages, own, progress)
    n_odd = int(np.count_nonzero(scores > threshold))
    n_explained = min(max(min(n_odd, MOST_EXPLAINED), top), scores.size)
    notes = [*more.pop("notes", ()), *_notes(model, scores, n_odd, threshold, own)]
    return Findings(
        outlierness=scores,
        p_value=None if known is None else known.p_values(scores),
        n_normal=None if known is None else known.scores.size,
        threshold=threshold,
        threshold_source=source,
        explainer=explain,
        n_explained=n_explained,
        model=model,
        table=None if ids is None else Table(None, ids=ids),
        notes=tuple(notes),
        **more,
    )


def learn_messages(model: TextModel, train: Sequence[str], *, progress: bool = False) -> TextModel:
    """Fit a model to normal messages, and say on standard error that it takes a while."""
    if progress:
        print(f"Learning from {len(train):,} messages", file=sys.stderr, flush=True)
    return model.fit(train)


def _scores(model: TextModel, messages: Sequence[str], own: bool, progress: bool) -> Floats:
    with progress_bar(len(messages), "Scoring messages") if progress else nullcontext(None) as report:
        return model.score_messages(messages, own=own, report=report)


def _explainer(
    model: TextModel, messages: Sequence[str], ids: tuple[Any, ...] | None, own: bool, threshold: float
) -> Explainer:
    def explain(rows: NDArray[np.intp], **options: Any) -> TextExplanation:
        e = model.explain_some(messages, rows, own=own, **options)
        named = None if ids is None else tuple(ids[row] for row in rows)
        return replace(e, rows=rows, ids=named, threshold=threshold)

    return explain


def _threshold(model: TextModel, limit: Limit) -> tuple[float, str]:
    known = distribution_of(model)
    if limit.share is not None:
        learned = known.scores if known is not None else model.score_messages(model.messages_, own=True)
        source = f"{number(100 * limit.share)} % of the training messages exceed it"
        return float(np.quantile(learned, 1.0 - limit.share)), source
    if limit.false_alarms is not None:
        threshold, source = limit.of_normal_rows(np.empty(0), known)  # only fdr needs scores
        return threshold, source.replace("rows", "messages")
    if known is None:
        return model.threshold_, "the model's own"
    return model.threshold_, f"about {number(100 * model.false_alarms)} % of normal messages exceed it"


def _notes(model: TextModel, scores: Floats, n_odd: int, threshold: float, own: bool) -> Iterator[str]:
    """Notes that people should read before they trust the findings."""
    if own:
        yield "There are no separate normal messages: each message is judged by all others."
    known, n_learned = distribution_of(model), len(model.messages_)
    if known is None:
        return
    if n_learned < _FEW:
        yield (
            f"The model learned from only {n_learned:,} messages: how rare a message is can only be "
            "estimated roughly."
        )
    if silent := int(np.count_nonzero(scores == 0.0)):
        yield f"{silent:,} messages have no words and are not judged: their outlierness is 0."
    chance = scores.size * float(known.p_values([np.nextafter(threshold, np.inf)])[0])
    if not own and n_odd > max(_DRIFT * chance, chance + 5.0 * np.sqrt(chance) + 3.0):
        yield (
            f"Far more messages are odd than the model allows: {n_odd:,} of {scores.size:,}, where chance "
            f"gives about {chance:,.0f}. Either they are of another kind than the training messages, or "
            "many are odd."
        )
