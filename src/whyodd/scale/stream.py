"""Rows of a stream judged as they arrive, one by one or in batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.pipelines import find_given, split_pipeline
from whyodd.explanations.base import at_least_one
from whyodd.inputs.frames import take_rows
from whyodd.scale.adapting import Adaptation
from whyodd.scale.drift import DriftMonitor
from whyodd.scale.judge import Judge
from whyodd.scale.lines import BadLineError
from whyodd.scale.usual_rows import UsualRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Record = Mapping[str, Any]
    Told = dict[str, Any]


@dataclass
class Answers:
    """The verdict on some records, in their order.

    Attributes
    ----------
    told : list of dict or None
        How odd each one is and why; None for a bad record, or for one that is not odd if only odd ones are
        wanted.
    wrong : dict of int to str
        What is wrong with records that could not be judged, by their positions.
    events : list of dict
        What changed in the stream.
    """

    told: list[Told | None]
    wrong: dict[int, str]
    events: list[dict[str, Any]] = field(default_factory=list)


class Watcher:
    """Watches a stream with a model: how odd each row is and why, and whether the stream changes.

    Rows are dictionaries, like JSON objects: a key that is missing is a gap, and keys that the model does not
    know are ignored. ``score_one``, ``explain_one`` and ``learn_one`` are named as in river.

    Parameters
    ----------
    model : fitted model or pipeline
        What :func:`whyodd.explain` takes for tables.
    top : int, default 3
        How many reasons are given for each row.
    only_odd : bool, default False
        Explain only rows that are odd, which is faster.
    forget : int, optional
        Half-life in rows: keep training the model, in another process, on the rows that it is given to learn.
        A row's weight halves after this many others. By default nothing is learned.
    drift_every : int, optional
        Number of rows after which the stream is compared with the training rows.
    save : path, optional
        Keep the latest model in this file, and its training data beside it.
    state : bytes, optional
        The training data that an earlier run kept beside the model.

    Examples
    --------
    >>> import numpy as np, pandas as pd, whyodd
    >>> from whyodd.scale.stream import Watcher
    >>> rng = np.random.default_rng(0)
    >>> normal = pd.DataFrame({"speed": rng.normal(50, 5, 300), "load": rng.normal(10, 1, 300)})
    >>> watcher = Watcher(whyodd.auto(normal), top=1)
    >>> told = watcher.explain_one({"speed": 51, "load": 19.5})
    >>> told["is_odd"], told["reasons"][0]["words"]
    (True, 'load is too high (19.5, usually ... to ...)')
    """

    def __init__(
        self,
        model: Any,
        *,
        top: int = 3,
        only_odd: bool = False,
        forget: int | None = None,
        drift_every: int | None = None,
        save: Path | None = None,
        state: bytes = b"",
    ) -> None:
        self.top, self.only_odd, self.drift_every = top, only_odd, drift_every
        self._arrived: SimpleQueue[tuple[Judge | None, str]] = SimpleQueue()
        self._use(Judge(model, top=top))
        # Columns that a retrained model ignores may matter to the next one.
        self._learned = self._judge.wanted
        self._adaptation = None
        if forget is not None:
            if find_given(split_pipeline(model)[0]) is not None:
                raise ValueError(
                    "This model compares rows in a context, and such a model cannot keep learning from a "
                    "stream. Watch without forgetting, or train a model without context."
                )
            self._adaptation = Adaptation(
                model,
                at_least_one(forget, "rows"),
                deliver=partial(self.use, words="The model was updated from the latest rows."),
                complain=lambda why: self._arrived.put((None, f"The model could not be updated: {why}")),
                path=save,
                state=state,
            )

    @property
    def model(self) -> Any:
        """The current model."""
        return self._judge.model

    @property
    def threshold(self) -> float | None:
        """Outlierness above which rows are odd, if the model has a threshold."""
        return self._judge.prepared.threshold

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the model reads."""
        return list(self._judge.wanted.kinds)

    # ---- one row ------------------------------------------------------------------------------------------

    def score_one(self, x: Record) -> float:
        """Outlierness of a row."""
        self._arrivals(0)
        return self._judge.score(x)

    def explain_one(self, x: Record) -> Told:
        """How odd a row is and why: ``outlierness``, ``p_value``, ``is_odd``, ``unexplained``, ``reasons``.

        A reason has a ``name``, its ``share`` of the outlierness, ``value``, ``expected``, ``direction`` (1
        too high, -1 too low, else 0) and, if the row is odd, ``words`` for it.
        """
        self._arrivals(0)
        pieces, wrong = self._judge.judge([x])
        if wrong:
            raise BadLineError(wrong[0])
        (told,) = pieces[0].told
        assert told is not None
        return told

    def learn_one(self, x: Record) -> None:
        """Learn from a row: it becomes part of what is usual; see ``forget``."""
        if self._adaptation is None:
            raise ValueError(
                "This watcher does not learn, because forget is not set. Pass forget=, a half-life in rows."
            )
        wrong = self._learn([x], are_texts=False)
        if wrong:
            raise BadLineError(wrong[0])

    # ---- some rows at a time ------------------------------------------------------------------------------

    def watch(
        self, records: Sequence[Record], *, rows: Sequence[int] | None = None, are_texts: bool = False
    ) -> Answers:
        """Judge records, look for drift, and learn from them if the model adapts.

        Parameters
        ----------
        records : sequence of dict
        rows : sequence of int, optional
            Number of each in the stream, for events; by default they are numbered from 0.
        are_texts : bool, default False
            Whether all values are texts, as cells of CSV are.
        """
        rows = range(len(records)) if rows is None else rows
        events = self._arrivals(rows[0] if rows else 0)
        pieces, wrong = self._judge.judge(records, are_texts=are_texts, only_odd=self.only_odd)
        answers = Answers([None] * len(records), wrong, events)
        for piece in pieces:
            for place, told in zip(piece.places.tolist(), piece.told, strict=True):
                answers.told[place] = told
            if self._drift is not None:
                events += self._drift.add(
                    piece.is_odd, piece.data, [rows[place] for place in piece.places.tolist()]
                )
            self._learn([records[place] for place in piece.places.tolist()], are_texts=are_texts)
        return answers

    def use(self, model: Any, words: str = "The model was replaced.") -> None:
        """Use another model, from the next rows on; may be called in another thread."""
        self._arrived.put((Judge(model, top=self.top), words))

    def finish_learning(self, seconds: float | None = None) -> None:
        """Wait until no model is being learned."""
        if self._adaptation is not None:
            self._adaptation.wait(seconds)

    def close(self) -> None:
        """End the processes that run beside it."""
        if self._adaptation is not None:
            self._adaptation.close()

    def _arrivals(self, row: int) -> list[dict[str, Any]]:
        """Take over results of other threads; return the events to report."""
        events = []
        while not self._arrived.empty():
            judge, words = self._arrived.get()
            if judge is not None:
                self._use(judge)
            events.append({"event": "model", "row": row, "words": words})
        return events

    def _use(self, judge: Judge) -> None:
        self._judge, self._drift = judge, None
        if self.drift_every is not None:
            known = (judge.model, judge.prepared, judge.variables)
            usual = UsualRows.of(*known)
            self._drift = DriftMonitor(
                (lambda data: UsualRows.of_data(data, *known)) if usual is None else usual, self.drift_every
            )

    def _learn(self, records: Sequence[Record], *, are_texts: bool) -> dict[int, str]:
        """Pass on rows to learn from; return what is wrong with the others."""
        if self._adaptation is None:
            return {}
        table, wrong = self._learned.table(records, are_texts=are_texts)
        if wrong:
            table = take_rows(table, np.delete(np.arange(len(records)), list(wrong)))
        if len(wrong) < len(records):
            self._adaptation.add(self._learned.as_arrow(table))
        return wrong
