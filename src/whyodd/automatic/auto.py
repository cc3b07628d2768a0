"""A default pipeline for a raw table: ``auto``."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from whyodd.automatic.auto_report import AutoReport
from whyodd.automatic.context import context_names, in_context, with_context
from whyodd.automatic.preparation import check_selectable, groups_of, prepare, settled, variables_of
from whyodd.automatic.reading import read_table
from whyodd.automatic.whole import Whole
from whyodd.automatic.written import judge_table
from whyodd.models.committee import Committee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.automatic.kinds import Column
    from whyodd.automatic.reading import RawTable
    from whyodd.automatic.written import JudgedTable

__all__ = ["AutoReport", "auto"]

_LOG = logging.getLogger("whyodd")
# Means, spreads and categories come from at most this many rows.
_PREPARED_ROWS = 200_000


def auto(
    frame: Any,
    *,
    trusted: bool = False,
    max_rows: int | None = None,
    types: Mapping[str, str] | None = None,
    given: str | Sequence[str] | None = None,
    random_state: int = 0,
    progress: bool = False,
) -> Pipeline:
    """Sensible default detector for a raw table: a fitted pipeline that ends in a :class:`whyodd.Committee`.

    Each column is used according to its kind: numbers in robust scales, categories and booleans by their
    surprise, dates by their parts, gaps filled and marked. Texts such as 20.6%, 12 €, 1.234,50, 14:35 or
    02.03.2026 are read as numbers, times and dates. Constant columns and identifiers are left out.

    Parameters
    ----------
    frame : data frame, dict of columns, or array of shape (n, d)
        pandas, Polars or Arrow; at least two rows. Pass later rows as the same kind of table (those of a
        dict as a data frame).
    trusted : bool, default False
        Whether all rows are known to be normal. If not, training leaves out the oddest of them.
    max_rows : int, optional
        Largest number of rows that the model learns from, drawn at random: the time to score a row grows with
        it. By default 1,000, or 4,000 if they are trusted.
    types : dict of str to str, optional
        Kinds of columns that overrule the rules, for example ``{"store": "code"}``: number, count, code,
        category, ordered category, yes/no, date, time of day, duration, free text, identifier.
    given : str or sequence of str, optional
        Context columns, such as ``["machine", "time"]``, the most important first. Rows are compared with
        rows that are alike in them, and these columns are never blamed. Categories must be equal and
        numbers near; dates must have the same weekday and a near time of day.
    random_state : int, default 0
        The same number gives the same pipeline.
    progress : bool, default False
        Report the current step on standard error.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps "columns" and "model", for :func:`whyodd.explain`, after a step "written" if texts have to be
        read. ``print(pipeline.auto_report_)`` shows how each column is used; so does the logger "whyodd" at
        level INFO.

    Examples
    --------
    >>> import numpy as np, pandas as pd, whyodd
    >>> rng = np.random.default_rng(0)
    >>> normal = pd.DataFrame({"speed": rng.normal(50, 5, 300), "gear": rng.choice(["low", "high"], 300)})
    >>> pipeline = whyodd.auto(normal)
    >>> pipeline.predict(pd.DataFrame({"speed": [52.0, 90.0], "gear": ["low", "high"]}))
    array([ 1, -1])
    """
    _check_options(max_rows, random_state)
    table = read_table(frame)
    _check_enough(table)
    judged = judge_table(table, types)
    if contexts := context_names(given):
        judged = judged._replace(columns=with_context(judged.columns, contexts))
    prepared = _prepared_rows(table, random_state)
    if prepared is not None:
        some = replace(judged.table, data=judged.table.rows(prepared), n_rows=prepared.size)
        judged = judged._replace(table=some, whole=Whole(prepared, table.n_rows, {}))
    return _learned(
        judged, progress, trusted=bool(trusted), max_rows=max_rows, random_state=int(random_state)
    )


def auto_of_sample(
    frame: Any,
    whole: Whole,
    *,
    trusted: bool = False,
    types: Mapping[str, str] | None = None,
    random_state: int = 0,
    progress: bool = False,
) -> Pipeline:
    """The pipeline of ``auto`` for a table of which ``frame`` holds some rows, chosen at random.

    What these cannot know comes from ``whole``: the smallest and the largest values, how often values are
    missing, and how often categories come.
    """
    _check_options(None, random_state)
    table = read_table(frame)
    _check_enough(table)
    judged = judge_table(table, types, whole)
    return _learned(judged, progress, trusted=bool(trusted), random_state=int(random_state))


def _learned(judged: JudgedTable, progress: bool, **options: Any) -> Pipeline:
    """The pipeline of a table, with ``options`` of its committee."""
    table, whole, columns = judged.table, judged.whole, judged.columns
    _check_any_used(columns)
    check_selectable(table.data)
    with _announced(progress) as say:
        say("preparing columns")
        preparation = prepare(columns, whole)
        Z = np.asarray(preparation.fit_transform(table.data), dtype=np.float64)
        say("learning")
        groups, variables = groups_of(preparation), variables_of(preparation)
        model = Committee(groups=groups, variables=variables, **options).fit(Z)
        del model.seen_  # for partial_fit, which the steps before do not have; it would double the file
        if whole is not None:
            model.network_ = _of_whole(model.network_, whole, settled(preparation), table.data)
    steps: list[tuple[str, Any]] = [] if judged.written is None else [("written", judged.written)]
    pipeline = Pipeline([*steps, ("columns", preparation), ("model", model)])
    network: Any = model.network_
    looked_at = ", ".join(view.name for view in network.views)
    n_rows = table.n_rows if whole is None else whole.n_rows
    pipeline.auto_report_ = AutoReport(
        n_rows,
        network.n_centers,
        tuple(columns),
        f"a committee that looks at {looked_at}{in_context(columns)}",
    )
    _LOG.info("auto: %s", pipeline.auto_report_)
    return pipeline


def _of_whole(network: Any, whole: Whole, preparation: Any, data: Any) -> Any:
    """A committee that knows the places of its rows in the whole table, and its extremes."""
    seen = preparation.transform(whole.seen_in(data))
    extent = np.vstack([network.extent, seen])
    extent = np.stack([extent.min(axis=0), extent.max(axis=0)])
    return replace(network.with_rows_of(whole.rows, whole.n_rows), extent=extent)


def _prepared_rows(table: RawTable, seed: int) -> NDArray[np.intp] | None:
    """The rows to keep in memory as numbers, in their order; None for all."""
    if table.n_rows <= _PREPARED_ROWS:
        return None
    return np.sort(np.random.default_rng(seed).choice(table.n_rows, _PREPARED_ROWS, replace=False))


def _check_options(max_rows: object, random_state: object) -> None:
    most = 2 if max_rows is None else max_rows
    if not isinstance(most, Integral) or isinstance(most, bool) or most < 2:
        raise ValueError(f"max_rows={max_rows!r}: expected a whole number of rows, at least 2.")
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ValueError(f"random_state={random_state!r}: expected a whole number, not negative.")


def _check_enough(table: RawTable) -> None:
    if table.n_rows < 2:
        raise ValueError(
            "frame has one row, expected at least two: one row alone cannot show what is normal. Add rows."
        )


def _check_any_used(columns: Sequence[Column]) -> None:
    if not any(column.is_used for column in columns):
        reasons = "; ".join(f"{column.name!r}: {column.note}" for column in columns[:5])
        raise ValueError(f"No column of frame can be used ({reasons}). Add columns that vary.")


@contextmanager
def _announced(progress: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the present step on standard error if ``progress``."""
    if not progress:
        yield lambda doing: None  # noqa: ARG005
        return
    from rich.console import Console  # here, since only those who ask for it pay for the import
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("auto: {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("reading")
        yield lambda doing: bar.update(task, description=doing)
