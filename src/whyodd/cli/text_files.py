"""What ``whyodd text`` writes: all messages, judged in blocks so that an interrupted run can continue."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from whyodd.findings.thresholds import distribution_of
from whyodd.io.atomic import replacing
from whyodd.io.journal import Journal
from whyodd.io.results import put_table
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from whyodd.findings.findings import Findings
    from whyodd.findings.messages import Explainer
    from whyodd.texts import TextExplanation, TextModel

_BLOCK = 500  # messages that are judged before they are written: about a second
_ENDING = ".unfinished.jsonl"
_FIELDS = ("row", "outlierness", "p_value", "is_odd")


class MessageFile:
    """A file of all messages with their scores and reasons, which appears once the last of them is judged.

    Until then there is a line for each finished message in a file whose name has ``.unfinished.jsonl`` added.
    With it a run with the same key continues after the last finished block.

    Parameters
    ----------
    out : path
        The file: .csv, .tsv or .parquet; with the relevance of all words: .jsonl.
    key : str
        What the results depend on.
    model : TextModel
    n : int
        Number of messages.
    """

    def __init__(self, out: Path, key: str, model: TextModel, n: int) -> None:
        self._out, self._model, self._n = out, model, n
        self._has_words = out.suffix.lower() == ".jsonl"
        more = "tokens" if self._has_words else "reasons"
        self._journal = Journal(out.with_name(out.name + _ENDING), key, (*_FIELDS, more))

    def judge(self, explain: Explainer, *, progress: bool = True) -> NDArray[np.float64]:
        """Outlierness (n,) of all messages. Each block is in the journal once it is judged."""
        scores, done, n = np.empty(self._n), 0, self._n
        for done, line in enumerate(self._lines(), start=1):
            scores[done - 1] = line["outlierness"]
        done -= done % _BLOCK if done < n else 0
        if done and progress:
            typer.echo(f"{done:,} of {n:,} messages were already judged by an interrupted run.", err=True)
        kept = (line for line in self._lines() if line["row"] < done)
        bar = progress_bar(n - done, "Judging messages") if progress and done < n else nullcontext(_unheard)
        try:
            with self._journal.writing(kept) as add, bar as report:
                for start in range(done, n, _BLOCK):
                    e = explain(np.arange(start, min(start + _BLOCK, n)))
                    add(*self._told(e))
                    scores[e.rows] = e.outlierness
                    report(start + len(e) - done)
        except KeyboardInterrupt:
            judged = sum(1 for _ in self._lines())
            typer.echo(
                f"{judged:,} of {n:,} messages are judged: run the same command again to continue.", err=True
            )
            raise
        return scores

    def finish(self, found: Findings) -> None:
        """Write the file, and forget the journal."""
        with replacing(self._out) as draft:
            (self._put_lines if self._has_words else self._put_table)(draft, found)
        self._journal.done()

    def _put_lines(self, draft: Path, _: Findings) -> None:
        with draft.open("x", encoding="utf-8", newline="\n") as file:
            self._check_all(sum(file.write(_json(line)) > 0 for line in self._lines()))

    def _put_table(self, draft: Path, found: Findings) -> None:
        from whyodd.io.tables import polars

        reasons = [line["reasons"] for line in self._lines()]
        self._check_all(len(reasons))
        scores = found.to_frame()
        columns = {name: list(scores[name]) for name in scores.columns}
        put_table(polars().DataFrame({**columns, "reasons": reasons}, strict=False), draft)

    def _check_all(self, count: int) -> None:
        if count != self._n:
            raise ValueError(
                f"{self._journal.path} has {count:,} of {self._n:,} messages: another run is writing to it. "
                "Wait until it ends, or choose another --out."
            )

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Lines of the journal without a break: of message 0, 1, 2 and so on, each once."""
        expected = 0
        for line in self._journal.lines():
            if line["row"] == expected:
                expected += 1
                yield line

    def _told(self, e: TextExplanation) -> list[dict[str, Any]]:
        if self._has_words:
            return message_lines(e, self._model)
        return [{**line, "reasons": e.why(i)} for i, line in enumerate(_score_lines(e, self._model))]


def message_lines(e: TextExplanation, model: TextModel) -> list[dict[str, Any]]:
    """A dictionary for each message, ready for JSON: how rare it is, why it is odd, and all its words."""
    lines = []
    for i, (line, message) in enumerate(zip(_score_lines(e, model), e.to_dict()["messages"], strict=True)):
        told = {"why": e.why(i), "odd_words": [vars(term) for term in e.odd_words(i)]}
        lines.append({**line, **told, **message})
    return lines


def json_lines(e: TextExplanation, model: TextModel) -> str:
    """The same as lines of JSON."""
    return "".join(map(_json, message_lines(e, model)))


def _json(line: dict[str, Any]) -> str:
    return f"{json.dumps(line, ensure_ascii=False)}\n"


def _score_lines(e: TextExplanation, model: TextModel) -> Iterator[dict[str, Any]]:
    known = distribution_of(model)
    p_values = None if known is None else known.p_values(e.outlierness)
    for i, outlierness in enumerate(e.outlierness.tolist()):
        yield {
            "row": int(e.rows[i]),
            "id": None if e.ids is None else _plain(e.ids[i]),
            "outlierness": outlierness,
            "p_value": None if p_values is None else float(p_values[i]),
            "is_odd": bool(e.threshold is not None and outlierness > e.threshold),
        }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def _unheard(done: int) -> None:
    """Report no progress."""
