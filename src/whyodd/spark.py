"""Tables of any size on Spark: learn from all partitions, explain each where it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.scale.batches import BatchExplainer
from whyodd.scale.workers import explained, fitted, merged, summarized

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sklearn.pipeline import Pipeline

__all__ = ["explain", "fit"]


def fit(
    frame: Any, *, trusted: bool = False, types: Mapping[str, str] | None = None, random_state: int = 0
) -> Pipeline:
    """Learn from a Spark data frame: :func:`whyodd.auto` of all partitions, which stay where they are.

    Each partition becomes a :class:`whyodd.TableSummary` of a few megabytes at most. The driver merges them
    one by one. The result is that of one machine with the same partitions.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    trusted, types, random_state
        As for :func:`whyodd.auto`.
    """
    _check(frame)

    def summaries(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context: Any = TaskContext.get()  # None on the driver alone
        yield pa.record_batch({"summary": [summarized(batches, context.partitionId(), random_state)]})

    whole = b""
    for row in frame.mapInArrow(summaries, "summary binary").toLocalIterator():
        whole = merged([whole, bytes(row["summary"])])
    return fitted(whole, trusted=trusted, types=types, random_state=random_state)


def explain(
    model: Any,
    frame: Any,
    *,
    top: int = 3,
    id_column: str | None = None,
    relevance: bool = False,
    exclude_self: bool = False,
) -> Any:
    """Explain all rows of a Spark data frame, partition by partition, when the result is requested.

    Parameters
    ----------
    model : fitted model or pipeline
        Broadcast in whyodd's own format, which holds no code.
    frame : pyspark.sql.DataFrame
    top, id_column, relevance, exclude_self
        As for :class:`whyodd.scale.batches.BatchExplainer`.

    Returns
    -------
    pyspark.sql.DataFrame
        Columns as ``BatchExplainer`` describes them: ``id`` first. Spark's rows have no number, so without an
        ``id_column`` all columns of ``frame`` come first.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    _check(frame)
    inputs = to_arrow_schema(frame.schema)
    explainer = BatchExplainer(
        model, top=top, id_column=id_column, relevance=relevance, exclude_self=exclude_self, inputs=inputs
    )
    told = [field for field in explainer.schema if field.name != "row"]
    carried = [] if id_column is not None else list(inputs)
    if taken := {field.name for field in told} & {field.name for field in carried}:
        raise ValueError(
            f"frame has a column {min(taken)!r}, a name that the result uses too. Rename it, or "
            "pass id_column."
        )
    packed = frame.sparkSession.sparkContext.broadcast(explainer.to_bytes())
    schema = pa.schema([*carried, *told])

    def explain_part(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            done = 0
            for found in explained(packed.value, batch):
                rows = batch.slice(done, found.num_rows).columns[: len(carried)]
                done += found.num_rows
                results = [found[field.name] for field in told]
                yield pa.RecordBatch.from_arrays([*rows, *results], schema=schema)

    return frame.mapInArrow(explain_part, from_arrow_schema(schema))


def _check(frame: Any) -> None:
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(
            f"frame is of type {type(frame).__name__}, expected a Spark DataFrame of Spark 3.3 or newer. "
            "For a frame in memory use whyodd.find(frame)."
        )
