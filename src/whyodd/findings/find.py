"""The way in for tables: which rows are odd, and why."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.pipelines import split_pipeline, split_reader
from whyodd.adapters.tracing import trace
from whyodd.automatic.auto import auto
from whyodd.automatic.context import context_names
from whyodd.explainers.registry import find_method
from whyodd.explanations.groups import count_of_rows
from whyodd.explanations.sentences import number
from whyodd.findings.findings import MOST_EXPLAINED, Findings
from whyodd.findings.item_kinds import TABLE, find_in_items, kind_of
from whyodd.findings.notes import (
    notes_on_chance,
    notes_on_constants,
    notes_on_feedback,
    notes_on_rows,
    notes_on_texts,
)
from whyodd.findings.scoring import ScoredRows
from whyodd.findings.table import Table, listed
from whyodd.findings.thresholds import Limit, distribution_of, own_threshold, share_above
from whyodd.inputs.frames import as_frame
from whyodd.inputs.near_names import renamed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TOP = 10


def find(
    frame: Any,
    train: Any = None,
    *,
    kind: str | None = None,
    model: Any = None,
    share: float | None = None,
    false_alarms: float | None = None,
    fdr: float | None = None,
    top: int | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    method: str = "dtd",
    types: Mapping[str, str] | None = None,
    given: str | Sequence[str] | None = None,
    id_column: str | None = None,
    random_state: int = 0,
    progress: bool = False,
) -> Findings:
    """Find the odd rows of a table, images, messages or steps of a series, and why they are odd.

    The commands ``whyodd explain``, ``image``, ``text`` and ``series`` as one function.

    Parameters
    ----------
    frame : data frame or array of shape (n, d), images, or messages
        pandas, Polars or Arrow: the rows to judge; or a list of images or of texts.
    train : data frame or array, optional
        Normal rows to learn from, with the same columns; by default ``frame``, where each row is judged by
        all others.
    kind : {"table", "images", "series", "texts"}, optional
        What ``frame`` holds; by default recognised from its form. A series looks like a table: name it.
    model : fitted model, optional
        Used instead of training one: a detector, a pipeline that ends in one, an ``ImageDetector``, a
        ``SeriesDetector`` or a ``TextModel``.
    share : float, optional
        Share of the training rows to call odd; by default the model has a threshold of its own.
    false_alarms : float, optional
        Share of normal rows that may be called odd; the default model allows 0.01.
    fdr : float, optional
        Expected share of normal rows among those called odd (Benjamini and Hochberg).
    top : int, optional
        Number of the oddest rows to explain even if fewer are odd; 10 by default.
    groups : dict of str to list of str, optional
        Columns to treat as one: ``{"address": ["street", "city"]}``.
    method : str, default "dtd"
        How to explain, one of ``whyodd.explainers.EXPLAINERS``.
    types : dict of str to str, optional
        Kinds of columns that overrule what the rules say, as for :func:`whyodd.auto`.
    given : str or sequence of str, optional
        Context columns, such as ``["machine", "time"]``: rows are compared with rows that are alike in
        them, as for :func:`whyodd.auto`.
    id_column : str, optional
        Column that names the rows; kept out of the model.
    random_state : int, default 0
        The same number gives the same findings.
    progress : bool, default False
        Show progress on standard error.

    Returns
    -------
    Findings

    Examples
    --------
    >>> import numpy as np, pandas as pd, whyodd
    >>> rng = np.random.default_rng(0)
    >>> orders = pd.DataFrame({"items": rng.poisson(3, 200) + 1.0, "weight": rng.normal(5, 1, 200)})
    >>> orders.loc[7, "weight"] = 40
    >>> print(whyodd.find(orders).why(0, k=1).split(":")[0])
    weight is too high (40, usually ... to ...)
    """
    if train is not None and model is not None:
        raise ValueError("train cannot be used with model, which has already learned. Pass one of them.")
    found_kind = kind_of(frame, model, kind)
    if found_kind != TABLE:
        options = {
            "fdr": fdr,
            "groups": groups,
            "types": types,
            "given": given,
            "id_column": id_column,
            "method": method,
        }
        found: Findings = find_in_items(
            frame,
            train,
            found_kind,
            model=model,
            share=share,
            false_alarms=false_alarms,
            top=top,
            random_state=random_state,
            progress=progress,
            **options,
        )
        return found
    check_not_id(given, id_column)
    return find_in(
        Table.of(frame, "frame", id_column),
        None if train is None else Table.of(train, "train", id_column),
        model=model,
        share=share,
        false_alarms=false_alarms,
        fdr=fdr,
        top=_TOP if top is None else top,
        groups=groups,
        method=method,
        types=types,
        given=given,
        random_state=random_state,
        progress=progress,
    )


def find_in(
    table: Table,
    known: Table | None = None,
    *,
    model: Any = None,
    share: float | None = None,
    false_alarms: float | None = None,
    fdr: float | None = None,
    top: int = _TOP,
    groups: Mapping[str, Sequence[str]] | None = None,
    method: str = "dtd",
    types: Mapping[str, str] | None = None,
    given: str | Sequence[str] | None = None,
    random_state: int = 0,
    progress: bool = False,
    **more: Any,
) -> Findings:
    """Find what is odd in a named table; otherwise like :func:`find`.

    ``more``: further attributes of :class:`Findings`.
    """
    find_method(method)
    limit = Limit(share, false_alarms, fdr)
    if model is None:
        trusted, known = known is not None, table if known is None else known
        model = learn(
            known, trusted=trusted, types=types, given=given, random_state=random_state, progress=progress
        )
    elif given:
        raise ValueError("given cannot be used with model, which has its own context. Pass one of them.")
    elif types:
        raise ValueError(
            "types cannot be used with model, which already knows its columns. Pass one of them."
        )
    else:
        known = None
    notes: list[str] = list(more.pop("notes", ()))
    frame = matched(table, known, model, notes)
    usual = {"method": method, "groups": dict(groups or {}) or None, "random_state": random_state}

    def judged_by(model: Any, cut: tuple[float, str] | None = None) -> Findings:
        """The findings of a model; with the threshold ``cut``, if it is known."""
        scored = _scored(model, frame, table.name, max(MOST_EXPLAINED, top), progress)
        threshold, source = cut or _threshold(scored, known, table, model, limit)
        n_odd = int(np.count_nonzero(scored.outlierness > threshold))
        n_explained = min(max(min(n_odd, MOST_EXPLAINED), top), scored.outlierness.size)
        distribution = distribution_of(model)
        p_values, told = None, list(notes)
        if distribution is not None:
            p_values = distribution.p_values(scored.outlierness)
            allowed = share_above(threshold, distribution)
            told = [*notes_on_chance(table, known, n_odd, allowed, float(p_values.min())), *told]
        told += notes_on_texts(table, scored.reader.reader)
        told += [*notes_on_rows(table, known, scored), *notes_on_constants(table, scored)]
        told += notes_on_feedback(scored.reader.model)
        if n_odd > n_explained:
            told.append(f"Only the {n_explained:,} oddest of {n_odd:,} odd rows are explained.")

        def explain(rows: Any, **options: Any) -> Any:
            ids = None if table.ids is None else tuple(map(table.called, np.asarray(rows).tolist()))
            try:
                return scored.explain(rows, **{**usual, "ids": ids, "progress": progress, **options})
            except UnsupportedModelError as error:
                raise ValueError(str(error)) from None

        return Findings(
            outlierness=scored.outlierness,
            p_value=p_values,
            n_normal=None if distribution is None else distribution.scores.size,
            threshold=threshold,
            threshold_source=source,
            explainer=explain,
            n_explained=n_explained,
            model=model,
            table=table if known is table else replace(table, frame=frame),
            known=known,
            notes=tuple(told),
            # Accepted rows must not make others odd, so the threshold stays.
            rejudge=lambda changed: judged_by(changed, (threshold, source)),
            **more,
        )

    return judged_by(model)


def learn(
    table: Table,
    *,
    trusted: bool = False,
    types: Mapping[str, str] | None = None,
    given: str | Sequence[str] | None = None,
    random_state: int = 0,
    progress: bool = False,
) -> Any:
    """Fit ``whyodd.auto`` to a table."""
    if progress and not sys.stderr.isatty():
        print(f"Learning from {count_of_rows(table.n_rows)}", file=sys.stderr, flush=True)
    try:
        shown = progress and sys.stderr.isatty()
        return auto(
            table.frame, trusted=trusted, types=types, given=given, random_state=random_state, progress=shown
        )
    except ValueError as error:
        raise ValueError(f"{table.name}: {_of_table(str(error))}") from None


def check_not_id(given: str | Sequence[str] | None, id_column: str | None) -> None:
    """Refuse a context column that names the rows, since no two rows share its value."""
    if id_column is not None and id_column in context_names(given):
        raise ValueError(
            f"Column {id_column!r} names the rows, so it cannot also be their context. Choose another."
        )


def _of_table(message: str) -> str:
    return message.replace("No column of frame", "no column").replace("frame has one row", "it has one row")


def matched(table: Table, known: Table | None, model: Any, notes: list[str]) -> Any:
    """The columns that the model was fitted on and uses; a note lists the others."""
    fitted, frame = getattr(model, "feature_names_in_", None), as_frame(table.frame)
    if fitted is None or frame is None or known is table:
        return table.frame
    columns, there = list(map(str, fitted)), frame.columns
    missing = [name for name in columns if name not in there and name not in _unread(model, columns)]
    if missing:
        raise ValueError(
            f"{table.name} lacks columns that the model was fitted on: {listed(missing)}. "
            f"It has: {listed(there)}.{renamed(missing, there, columns)}"
        )
    if more := [name for name in there if name not in columns]:
        notes.append(f"{table.name}: ignored columns that the model was not fitted on: {listed(more)}.")
    return frame.select([name for name in columns if name in there]).to_native()


def _unread(model: Any, columns: Sequence[str]) -> frozenset[str]:
    """Fitted columns that no step of a pipeline looks at."""
    _, steps = split_reader(split_pipeline(model)[0])
    return frozenset(trace(steps, tuple(columns)).unread) if steps else frozenset()


def _scored(model: Any, frame: Any, name: str, keep: int, progress: bool) -> ScoredRows:
    try:
        return ScoredRows.of(model, frame, keep=keep, progress=progress)
    except UnsupportedModelError as error:
        raise ValueError(f"This model does not judge tables. {error}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _threshold(
    scored: ScoredRows, known: Table | None, table: Table, model: Any, limit: Limit
) -> tuple[float, str]:
    """Outlierness above which rows are odd, and where it comes from."""
    if limit.share is not None:
        scores = scored.outlierness
        if known is not None and known is not table:
            scores = ScoredRows.of(model, known.frame).outlierness
        source = f"{number(100 * limit.share)} % of the rows used for training exceed it"
        return float(np.quantile(scores, 1.0 - limit.share)), source
    if limit.false_alarms is not None or limit.fdr is not None:
        return limit.of_normal_rows(scored.outlierness, distribution_of(model))
    return own_threshold(scored.outlierness, scored.threshold, model)
