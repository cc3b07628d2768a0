"""Feedback on single rows: models and pipelines learn from it, and findings follow."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.pipelines import split_pipeline
from whyodd.compute.points import to_dense
from whyodd.explainers.preparing import PreparedModel
from whyodd.findings.scoring import ScoredRows
from whyodd.inputs.frames import take_rows
from whyodd.models.feedback import Effect, TakesFeedback, add_judgement, judge, keys_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.findings.findings import Findings
    from whyodd.network.judged import Judgement

    Indices = NDArray[np.intp]


def accept(model: Any, rows: Any, *, note: str = "", among: Any = None) -> Effect:
    """Accept odd rows as normal, and rows like them.

    A row that is nearer to an accepted one than to what was learned is less odd, by as much as it is nearer.
    All other rows are as odd as before. This changes the model. :func:`forget` undoes it, :func:`feedback`
    lists all feedback, and :func:`whyodd.save` keeps it.

    Parameters
    ----------
    model : pipeline of ``auto``, detector of whyodd, or pipeline that ends in one
    rows : data frame or array of shape (k, d)
        The rows, given as to ``predict``.
    note : str, optional
        Why, in free text.
    among : data frame or array of shape (n, d), optional
        Other rows, to report which of them are no longer odd; by default training rows that the model has
        kept.

    Returns
    -------
    Effect
        What it did: ``print`` it.

    Examples
    --------
    >>> import numpy as np, pandas as pd, whyodd
    >>> rng = np.random.default_rng(0)
    >>> orders = pd.DataFrame({"items": rng.poisson(3, 200) + 1.0, "weight": rng.normal(5, 1, 200)})
    >>> orders.loc[[7, 9], "weight"] = 40.0, 40.1
    >>> model = whyodd.auto(orders)
    >>> print(whyodd.accept(model, orders.loc[[7]], note="pallet", among=orders))
    1 row is accepted as normal (id 1): 1 other row is no longer odd: row 9.
    >>> whyodd.forget(model, 1).note
    'pallet'
    """
    return _told(model, rows, note, among, is_normal=True)


def reject(model: Any, rows: Any, *, note: str = "", among: Any = None) -> Effect:
    """Make rows odd, and rows like them odder; the opposite of :func:`accept`, with the same parameters."""
    return _told(model, rows, note, among, is_normal=False)


def forget(model: Any, id: int) -> Judgement:  # noqa: A002 - what feedback() calls it
    """Undo feedback by its ``id`` in :func:`feedback`, as if it had never been given."""
    return _detector(model).forget(id)


def feedback(model: Any) -> tuple[Judgement, ...]:
    """The feedback that a model holds: id, is_normal, rows, note and date of each."""
    return _detector(model).feedback_


def judged_findings(found: Findings, rows: Indices, note: str, *, is_normal: bool) -> Findings:
    """New findings after rows, given by their positions, were judged; the old ones keep their model."""
    if found.table is None or found.rejudge is None:
        raise ValueError(
            "Expected rows of a table judged by whyodd.find, since only these can be accepted or "
            "rejected. Call whyodd.find first."
        )
    model = _copied(found.model)
    inputs = PreparedModel.of(model).inputs(take_rows(found.table.frame, rows))
    judgement = add_judgement(_detector(model), _doubles(inputs), note, is_normal=is_normal)
    changed: Findings = found.rejudge(model)
    is_other = np.ones(len(found), dtype=bool)
    is_other[rows] = False
    others = np.flatnonzero((found.is_odd != changed.is_odd) & is_other)
    table = found.table
    effect = Effect(
        judgement,
        int(np.count_nonzero(found.is_odd[rows] != is_normal)),
        others,
        int(np.count_nonzero(is_other)),
        lambda row: table.called(row) or str(row),
        rows.tolist(),
    )
    return changed.after(found, effect)


def _told(model: Any, rows: Any, note: str, among: Any, *, is_normal: bool) -> Effect:
    detector = _detector(model)
    reader = PreparedModel.of(model)
    inputs = reader.inputs(rows)
    if among is None:
        return judge(detector, inputs, note, is_normal=is_normal)
    was_odd = ScoredRows.of(model, among).outlierness > detector.threshold_
    effect = judge(detector, inputs, note, is_normal=is_normal)
    is_odd = ScoredRows.of(model, among).outlierness > detector.threshold_
    changed = np.flatnonzero(was_odd != is_odd)
    if changed.size:
        said, there = {*keys_of(_doubles(inputs))}, _doubles(reader.inputs(take_rows(among, changed)))
        changed = changed[[key not in said for key in keys_of(there)]]
    return Effect(effect.judgement, effect.n_agreed, changed, len(is_odd))


def _doubles(inputs: Any) -> Any:
    return np.asarray(to_dense(inputs), dtype=np.float64)


def _detector(model: Any) -> TakesFeedback:
    """The detector at the end of a pipeline, if it accepts feedback."""
    last = split_pipeline(model)[1]
    if not isinstance(last, TakesFeedback):
        raise UnsupportedModelError(
            f"A {type(last).__name__} cannot learn from feedback: expected a whyodd detector, such as "
            "Committee, or a pipeline that ends in one. Use whyodd.auto to make one."
        )
    return last


def _copied(model: Any) -> Any:
    """The same model, with a detector of its own at its end."""
    other = copy(model)
    if hasattr(model, "steps"):
        name, last = model.steps[-1]
        other.steps = [*model.steps[:-1], (name, _copied(last))]
    elif hasattr(model, "best_estimator_"):
        other.best_estimator_ = _copied(model.best_estimator_)
    return other
