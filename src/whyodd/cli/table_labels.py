"""Labels of rows: which are anomalies."""

from __future__ import annotations

from typing import Any

from whyodd.findings.table import listed

_ANOMALY = {"0": False, "1": True, "false": False, "true": True}


def is_anomaly(labels: Any, table: str, normal: str | None = None) -> Any:
    """Whether each row is an anomaly; null where it has no label.

    Parameters
    ----------
    labels : polars.Series
    table : str
        What messages call the table.
    normal : str, optional
        The label of normal rows, all others are anomalies; by default labels are 0 and 1, or true and false.

    Returns
    -------
    polars.Series of bool
        With both kinds of rows.
    """
    import polars as pl

    texts = labels.cast(pl.String).str.strip_chars()
    if normal is not None:
        truth = texts != normal
        wanted = f"{normal!r} and others"
    else:
        is_whole = labels.dtype.is_float() and (labels.drop_nulls() == labels.drop_nulls().round()).all()
        texts = labels.cast(pl.Int64).cast(pl.String) if is_whole else texts.str.to_lowercase()
        truth = texts.replace_strict(_ANOMALY, default=None, return_dtype=pl.Boolean)
        wanted = "0 and 1, or true and false"
        if truth.null_count() > labels.null_count():
            raise ValueError(
                f"The labels {labels.name!r} of {table} are {_found(labels)}, expected {wanted}. "
                "Name the label of normal rows with --normal."
            )
    if truth.n_unique() - (truth.null_count() > 0) < 2:
        raise ValueError(f"The labels {labels.name!r} of {table} are {_found(labels)}, expected {wanted}.")
    return truth


def _found(labels: Any) -> str:
    values = labels.drop_nulls().unique(maintain_order=True).head(20).to_list()
    return f"all {values[0]!r}" if len(values) == 1 else listed([str(value) for value in values]) or "missing"
