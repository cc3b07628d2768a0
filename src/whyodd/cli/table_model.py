"""Tables that commands read, the model that judges their rows, and where it cuts."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.pipelines import split_pipeline
from whyodd.adapters.tracing import trace
from whyodd.automatic.auto import auto
from whyodd.explainers.survey import Survey
from whyodd.explanations.groups import count_of_rows
from whyodd.explanations.sentences import number
from whyodd.findings.summary.rows.summarize import Threshold
from whyodd.io.tables import polars, read_table, table_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from whyodd.automatic.auto import AutoReport
    from whyodd.explanations.table import Explanation

# Rows that are explained at most; the others are only scored.
MOST_EXPLAINED = 10_000
_NAMES_TOLD, _LETTERS_TOLD = 10, 60


@dataclass(frozen=True)
class Choice:
    """Which columns are used, and which are kept beside."""

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id_column: str | None = None
    label: str | None = None

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that no model sees."""
        return tuple(name for name in (self.id_column, self.label) if name is not None)


@dataclass(frozen=True)
class Table:
    """Rows of a file.

    Attributes
    ----------
    path : path
    frame : polars.DataFrame
        The chosen columns.
    ids, labels : polars.Series or None
        What the rows are called, and what they are, if columns say so.
    """

    path: Path
    frame: Any
    ids: Any = None
    labels: Any = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return table_name(self.path)

    def chosen(self, choice: Choice) -> Table:
        """The columns that are asked for; ids and labels beside them."""
        kept = [name for name in choice.columns or self.frame.columns if name in self.frame.columns]
        kept = [name for name in kept if name not in (*choice.drop, *choice.beside)]
        if not kept:
            raise ValueError(f"{self.name} has no column left to use. Choose others to --drop.")
        ids, labels = (self._beside(name) for name in (choice.id_column, choice.label))
        return replace(self, frame=self.frame.select(kept), ids=ids, labels=labels)

    def _beside(self, name: str | None) -> Any:
        if name is None or name not in self.frame.columns:
            return None
        series = self.frame[name]
        if series.dtype.is_nested() or series.dtype == polars().Binary:
            raise ValueError(
                f"Column {name!r} of {self.name} holds lists, objects or bytes, expected texts or numbers."
            )
        return series

    def row_name(self, row: int) -> str:
        """What a row is called: its id, or its number."""
        value = None if self.ids is None else self.ids[row]
        return str(row) if value is None else str(value)


@dataclass(frozen=True)
class Learned:
    """A model, and the rows it has learned from, if they are known."""

    model: Any
    table: Table | None = None

    @property
    def report(self) -> AutoReport | None:
        """What ``whyodd.auto`` did, if it made the model."""
        return getattr(self.model, "auto_report_", None)

    @property
    def ids(self) -> Any:
        """What the rows it has learned from are called."""
        return None if self.table is None else self.table.ids


@dataclass(frozen=True)
class Judgement:
    """All rows of a table with their outlierness, and the threshold.

    Attributes
    ----------
    survey : Survey
    threshold : float
        Rows with more outlierness are odd.
    source : str
        Where the threshold comes from.
    """

    survey: Survey
    threshold: float
    source: str

    @property
    def scores(self) -> NDArray[np.float64]:
        """Outlierness of all rows."""
        return self.survey.outlierness

    @property
    def n_odd(self) -> int:
        """Number of rows above the threshold."""
        return int(np.count_nonzero(self.scores > self.threshold))

    @property
    def order(self) -> NDArray[np.intp]:
        """All rows, the oddest first."""
        return np.argsort(-self.scores, kind="stable")

    def explain(self, top: int, **options: Any) -> Explanation:
        """Explain the odd rows (not more than 10,000), and at least the ``top`` oddest."""
        return self.explain_rows(self.order[: max(min(self.n_odd, MOST_EXPLAINED), top)], **options)

    def explain_rows(self, rows: NDArray[np.intp], **options: Any) -> Explanation:
        """Explain some rows; options as of ``Survey.explain``."""
        try:
            return self.survey.explain(rows, **options)
        except UnsupportedModelError as error:
            raise ValueError(str(error)) from None


def read_tables(data: Path, train: Path | None, choice: Choice) -> tuple[Table, Table | None]:
    """The rows to judge, and those to learn from if these are others."""
    ids = () if choice.id_column is None else (choice.id_column,)
    table = Table(data, read_table(data, ids))
    known = None if train is None else Table(train, read_table(train, ids))
    _check_named(choice, table, known)
    return table.chosen(choice), None if known is None else known.chosen(choice)


def _check_named(choice: Choice, table: Table, known: Table | None) -> None:
    there = set(table.frame.columns)
    in_any = there if known is None else there | set(known.frame.columns)
    for name in (*choice.columns, *choice.drop, *choice.beside):
        # What is left out need not be in both.
        if name not in (in_any if name in choice.drop else there):
            raise _no_column(table, name)
    for name in choice.columns:
        if known is not None and name not in known.frame.columns:
            raise _no_column(known, name)


def _no_column(table: Table, name: str) -> ValueError:
    there = listed(table.frame.columns)
    return ValueError(f"{table.name} has no column {shortened(name)!r}. It has: {there}.")


def learned_from(
    table: Table,
    known: Table | None,
    model: Path | None,
    notes: list[str],
    *,
    seed: int = 0,
    progress: bool = False,
) -> Learned:
    """The model of a file, or one fitted to known rows, or else to the table itself."""
    if model is not None:
        return load_model(model, notes)
    return learn(table if known is None else known, seed=seed, progress=progress)


def learn(table: Table, *, seed: int = 0, progress: bool = False) -> Learned:
    """Fit ``whyodd.auto`` to a table."""
    if progress and not sys.stderr.isatty():
        print(f"Learning from {count_of_rows(table.frame.height)}", file=sys.stderr, flush=True)
    try:
        model = auto(table.frame, random_state=seed, progress=progress and sys.stderr.isatty())
    except ValueError as error:
        raise ValueError(f"{table.name}: {_of_table(str(error))}") from None
    return Learned(model, table)


def _of_table(message: str) -> str:
    return message.replace("No column of frame", "no column").replace("frame has one row", "it has one row")


def load_model(path: Path, notes: list[str]) -> Learned:
    """A model from a file; what it warns of becomes notes."""
    from whyodd.io.saving import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load(path)
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]
    return Learned(model)


def judge(
    table: Table,
    learned: Learned,
    notes: list[str],
    *,
    share: float | None = None,
    progress: bool = False,
) -> Judgement:
    """Score all rows, and say where the threshold is.

    Parameters
    ----------
    table : Table
    learned : Learned
        A model, which may have learned from these very rows.
    notes : list of str
        Gets a sentence for what people should know.
    share : float, optional
        Of the rows used for training that are called odd.
    progress : bool, default False
    """
    survey = _scored(table, learned, notes, progress)
    if share is not None:
        cut = cut_at(training_scores(learned, survey, table), share)
        return Judgement(survey, cut, _share_words(share))
    if survey.threshold is not None:
        return Judgement(survey, survey.threshold, _own_words(learned))
    value = Threshold.of_oddest(survey.outlierness).value
    return Judgement(survey, value, "that of the oddest rows, since the model has none")


def training_scores(learned: Learned, survey: Survey, table: Table) -> NDArray[np.float64]:
    """Outlierness of the rows that the model has learned from."""
    if learned.table is None or learned.table is table:
        return survey.outlierness
    return Survey.of(learned.model, learned.table.frame).outlierness


def cut_at(scores: NDArray[np.float64], share: float) -> float:
    """Outlierness that a ``share`` of the rows exceeds."""
    return float(np.quantile(scores, 1.0 - share))


def _own_words(learned: Learned) -> str:
    # What `auto` has fitted just now is cut where all its models cut.
    if learned.report is None or learned.table is None:
        return "the model's own"
    return "by convention a tenth of the rows it learned from exceed it"


def _share_words(share: float) -> str:
    return f"{number(100 * share)} % of the rows used for training exceed it"


def _scored(table: Table, learned: Learned, notes: list[str], progress: bool) -> Survey:
    frame = matched(table, learned, notes)
    try:
        return Survey.of(learned.model, frame, progress=progress)
    except UnsupportedModelError as error:
        raise ValueError(f"This model is not for tables. {error}") from None
    except ValueError as error:
        raise ValueError(f"{table.name}: {error}") from None


def matched(table: Table, learned: Learned, notes: list[str]) -> Any:
    """The columns that the model was fitted on, as far as it looks at them; the others are told in a note."""
    fitted = getattr(learned.model, "feature_names_in_", None)
    if fitted is None or learned.table is table:
        return table.frame
    columns, there = list(map(str, fitted)), table.frame.columns
    missing = [name for name in columns if name not in there and name not in _unread(learned.model, columns)]
    if missing:
        raise ValueError(
            f"{table.name} lacks columns that the model was fitted on: {listed(missing)}. "
            f"It has: {listed(there)}."
        )
    if more := [name for name in there if name not in columns]:
        notes.append(f"{table.name}: ignored since the model was not fitted on them: {listed(more)}.")
    return table.frame.select([name for name in columns if name in there])


def _unread(model: Any, columns: Sequence[str]) -> frozenset[str]:
    """Fitted columns that no step of a pipeline looks at."""
    steps, _ = split_pipeline(model)
    return frozenset(trace(steps, tuple(columns)).unread) if steps else frozenset()


def listed(names: Sequence[str]) -> str:
    """Names for a sentence; not all if they are many, and not in full if they are long."""
    shown = ", ".join(repr(shortened(name)) for name in names[:_NAMES_TOLD])
    more = len(names) - _NAMES_TOLD
    return f"{shown} and {more} more" if more > 0 else shown


def shortened(name: str) -> str:
    """The beginning of a long name."""
    return name if len(name) <= _LETTERS_TOLD else f"{name[:_LETTERS_TOLD]}…"


def score_frame(table: Table, judgement: Judgement) -> Any:
    """Frame with row, id (if rows have one), outlierness and is_odd."""
    scores = judgement.scores
    ids = {} if table.ids is None else {"id": table.ids}
    columns = {"row": np.arange(scores.size), **ids, "outlierness": scores}
    return polars().DataFrame({**columns, "is_odd": scores > judgement.threshold})
