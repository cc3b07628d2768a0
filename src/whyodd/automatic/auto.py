"""A default pipeline for a raw table: ``auto``."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from whyodd.automatic.auto_report import AutoReport
from whyodd.automatic.preparation import groups_of, prepare, variables_of
from whyodd.automatic.reading import read_table
from whyodd.automatic.written import judge_table
from whyodd.models.registry import Committee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.automatic.kinds import Column
    from whyodd.automatic.reading import RawTable

__all__ = ["AutoReport", "auto"]

_LOG = logging.getLogger("whyodd")
# Means, spreads and categories are those of at most so many rows.
_PREPARED_ROWS = 200_000


def auto(
    frame: Any,
    *,
    trusted: bool = False,
    max_rows: int | None = None,
    types: Mapping[str, str] | None = None,
    random_state: int = 0,
    progress: bool = False,
) -> Pipeline:
    """Sensible default detector for a raw table: a fitted pipeline that ends in a :class:`whyodd.Committee`.

    Each column is used as what it is: numbers in robust scales, categories and booleans by their surprise,
    dates taken apart, gaps filled and marked. Texts such as 20.6%, 12 €, 1.234,50, 14:35 or 02.03.2026 are
    the numbers, times and dates they stand for. Constant columns and identifiers are set aside.

    Parameters
    ----------
    frame : data frame, dict of columns, or array of shape (n, d)
        pandas, Polars or Arrow; at least two rows. Later rows come as the same kind of table (those of
        a dict as a data frame).
    trusted : bool, default False
        Whether all rows are known to be normal. If not, the oddest of them are left out while it learns.
    max_rows : int, optional
        The model is learned from at most so many rows, drawn at random: time to score a row grows with them.
        By default 1,000, or 4,000 that are trusted.
    types : dict of str to str, optional
        Kinds of columns that overrule what the rules say, as in ``{"store": "code"}``: number, count, code,
        category, ordered category, yes/no, date, time of day, duration, free text, identifier.
    random_state : int, default 0
        The same number gives the same pipeline.
    progress : bool, default False
        Say on standard error what is being done.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps "columns" and "model", for :func:`whyodd.explain`, and before them "written" if texts have to be
        read. ``print(pipeline.auto_report_)`` shows what was made of the columns; so does the logger "whyodd"
        at level INFO.

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
    if table.n_rows < 2:
        raise ValueError("frame has one row, expected at least two: what is normal shows in many rows.")
    written, table, columns = judge_table(table, types)
    _check_any_used(columns)
    with _announced(progress) as say:
        say("preparing columns")
        preparation = prepare(columns)
        prepared = _prepared_rows(table, random_state)
        data = table.data if prepared is None else table.rows(prepared)
        Z = np.asarray(preparation.fit_transform(data), dtype=np.float64)
        say("learning")
        model = Committee(
            bool(trusted),
            groups=groups_of(preparation),
            variables=variables_of(preparation),
            max_rows=max_rows,
            random_state=int(random_state),
        ).fit(Z)
        if prepared is not None:  # the model should know its rows by their places in the whole table
            model.network_ = model.network_.with_rows_of(prepared, table.n_rows)
    steps: list[tuple[str, Any]] = [] if written is None else [("written", written)]
    pipeline = Pipeline([*steps, ("columns", preparation), ("model", model)])
    network: Any = model.network_
    looked_at = ", ".join(view.name for view in network.views)
    pipeline.auto_report_ = AutoReport(
        table.n_rows, network.n_centers, tuple(columns), f"a committee that looks at {looked_at}"
    )
    _LOG.info("auto: %s", pipeline.auto_report_)
    return pipeline


def _prepared_rows(table: RawTable, seed: int) -> NDArray[np.intp] | None:
    """As many rows as are kept in memory as numbers, in their order; None if that is all of them."""
    if table.n_rows <= _PREPARED_ROWS:
        return None
    return np.sort(np.random.default_rng(seed).choice(table.n_rows, _PREPARED_ROWS, replace=False))


def _check_options(max_rows: object, random_state: object) -> None:
    most = 2 if max_rows is None else max_rows
    if not isinstance(most, Integral) or isinstance(most, bool) or most < 2:
        raise ValueError(f"max_rows={max_rows!r}: expected a whole number of rows, at least 2.")
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ValueError(f"random_state={random_state!r}: expected a whole number, not negative.")


def _check_any_used(columns: Sequence[Column]) -> None:
    if not any(column.is_used for column in columns):
        reasons = "; ".join(f"{column.name!r}: {column.note}" for column in columns[:5])
        raise ValueError(f"No column of frame can be used ({reasons}). Add columns that vary.")


@contextmanager
def _announced(progress: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows what is being done, on standard error if ``progress``."""
    if not progress:
        yield lambda doing: None  # noqa: ARG005
        return
    from rich.console import Console  # here, since only those who ask for it pay for the import
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("auto: {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("reading")
        yield lambda doing: bar.update(task, description=doing)
