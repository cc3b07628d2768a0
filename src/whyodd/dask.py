"""Tables of any size on a Dask cluster: learn from all partitions, explain each where it is stored.

Examples
--------
>>> import dask.dataframe as dd, numpy as np, pandas as pd, whyodd.dask
>>> rows = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 2)), columns=["speed", "load"])
>>> rows.loc[7, "load"] = 12.0
>>> frame = dd.from_pandas(rows, npartitions=4)
>>> model = whyodd.dask.fit(frame)
>>> found = whyodd.dask.explain(model, frame).compute()
>>> found["outlierness"].idxmax(), found["reasons"][7][0]["name"]
(7, 'load')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.scale.batches import BatchExplainer, as_table
from whyodd.scale.workers import explained, fitted, merged, summarized

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.pipeline import Pipeline

__all__ = ["explain", "fit"]

# Summaries that one task merges: few enough to be in memory together.
_MERGED = 8


def fit(
    frame: Any, *, trusted: bool = False, types: Mapping[str, str] | None = None, random_state: int = 0
) -> Pipeline:
    """Learn from a Dask data frame: :func:`whyodd.auto` of all partitions, which stay where they are.

    Each partition becomes a :class:`whyodd.TableSummary`, and summaries are merged on the workers. The result
    is that of one machine with the same partitions.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    trusted, types, random_state
        As for :func:`whyodd.auto`.
    """
    from dask.delayed import delayed

    _check(frame)
    summarize, merge = delayed(_summarized, pure=True), delayed(merged, pure=True)
    parts = [summarize(part, number, random_state) for number, part in enumerate(frame.to_delayed())]
    while len(parts) > 1:
        parts = [merge(parts[i : i + _MERGED]) for i in range(0, len(parts), _MERGED)]
    return fitted(parts[0].compute(), trusted=trusted, types=types, random_state=random_state)


def explain(
    model: Any,
    frame: Any,
    *,
    top: int = 3,
    id_column: str | None = None,
    relevance: bool = False,
    exclude_self: bool = False,
) -> Any:
    """Explain all rows of a Dask data frame, partition by partition, when the result is computed or written.

    Parameters
    ----------
    model : fitted model or pipeline
        Sent to the workers in whyodd's own format, which holds no code.
    frame : dask.dataframe.DataFrame
    top, id_column, relevance, exclude_self
        As for :class:`whyodd.scale.batches.BatchExplainer`.

    Returns
    -------
    dask.dataframe.DataFrame
        With the partitions and the index of ``frame``; columns as ``BatchExplainer`` describes them, without
        ``row``.
    """
    import pyarrow as pa

    _check(frame)
    inputs = pa.Schema.from_pandas(frame._meta, preserve_index=False)
    explainer = BatchExplainer(
        model, top=top, id_column=id_column, relevance=relevance, exclude_self=exclude_self, inputs=inputs
    )
    packed = explainer.to_bytes()
    return frame.map_partitions(_explained, packed, meta=_explained(frame._meta, packed))


def _summarized(part: Any, number: int, seed: int) -> bytes:
    return summarized([part.reset_index(drop=True)], number, seed)


def _explained(part: Any, packed: bytes) -> Any:
    """A frame of pandas that explains another, with its index."""
    import pandas as pd
    import pyarrow as pa

    from whyodd.scale.workers import explainer_of

    table = as_table(part.reset_index(drop=True))
    batches = list(explained(packed, table))
    found = pa.Table.from_batches(batches, schema=explainer_of(packed).schema)
    if "row" in found.column_names:  # the index identifies the row
        found = found.drop_columns(["row"])
    return found.to_pandas(types_mapper=pd.ArrowDtype).set_index(part.index)


def _check(frame: Any) -> None:
    if not hasattr(frame, "to_delayed") or not hasattr(frame, "map_partitions"):
        raise TypeError(
            f"frame is of type {type(frame).__name__}, expected a Dask DataFrame. "
            "For a frame in memory use whyodd.find(frame)."
        )
