"""Summaries of tables as bytes, and back: Arrow files, JSON and sketches, checked when read."""

from __future__ import annotations

import hashlib
import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.maths.moments import Moments
from whyodd.maths.priority_sample import PrioritySample
from whyodd.scale.columns import ColumnSummary, datasketches

if TYPE_CHECKING:
    from whyodd.scale.summary import TableSummary

_MAGIC, _DIGEST = b"whyodd summary 1\n", 32


def write(summary: TableSummary) -> bytes:
    """Bytes: an identifying line, a digest, the length of the head, the head (JSON), sections."""
    import pyarrow as pa

    sample, names = summary.sample, summary.rows.column_names
    keys = {"key": sample.keys, "part": sample.part, "row": sample.row}
    sections = [_as_file(summary.rows), _as_file(pa.table(keys))]
    columns = []
    for name in names:
        column = summary.columns[name]
        sections += [_as_file(_values_of(column, summary.rows.schema.field(name).type))]
        sections += [b"" if column.sketch is None else column.sketch.serialize()]
        moments = column.moments
        of = (
            None
            if moments is None
            else [moments.weight, float(moments.mean[0]), float(moments.scatter[0, 0])]
        )
        told = {"count": column.count, "missing": column.missing, "moments": of}
        columns.append(told | {"counted": column.counts is not None, "sketched": column.sketch is not None})
    head = json.dumps(
        {
            "n_rows": summary.n_rows,
            "capacity": sample.capacity,
            "seed": sample.seed,
            "half_life": _or_none(sample.half_life),
            "now": _or_none(sample.now),
            "bar": _or_none(sample.bar),
            "parts": [[*part, size] for part, size in summary.parts.items()],
            "sampled": sample.parts,
            "columns": columns,
            "sections": [len(section) for section in sections],
        }
    ).encode()
    body = b"".join([len(head).to_bytes(8, "little"), head, *sections])
    return _MAGIC + hashlib.blake2b(body, digest_size=_DIGEST).digest() + body


def read(data: bytes) -> tuple[Any, ...]:
    """Fields of a ``TableSummary``."""
    head, sections = _opened(data)
    try:
        return _fields(head, sections)
    except (LookupError, TypeError, ValueError, ArithmeticError, OSError) as error:
        raise ValueError(
            f"These bytes are not a summary written by whyodd: {error}. Make it again."
        ) from error


def _opened(data: bytes) -> tuple[dict[str, Any], list[memoryview]]:
    start = len(_MAGIC) + _DIGEST
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        raise ValueError(
            "These bytes are not a table summary, or they come from another version of whyodd. Pass what "
            "TableSummary.to_bytes() returned."
        )
    body = memoryview(data)[start:]
    if hashlib.blake2b(body, digest_size=_DIGEST).digest() != bytes(data[len(_MAGIC) : start]):
        raise ValueError(
            "The summary is damaged: its bytes have changed since it was written. Make it again."
        )
    size = int.from_bytes(body[:8], "little")
    head = json.loads(bytes(body[8 : 8 + size]))
    ends = np.cumsum([8 + size, *head["sections"]]).tolist()
    return head, [body[a:b] for a, b in pairwise(ends)]


def _fields(head: dict[str, Any], sections: list[memoryview]) -> tuple[Any, ...]:
    rows, keys = _from_file(sections[0]), _from_file(sections[1])
    if rows.num_rows != keys.num_rows or rows.num_columns != len(head["columns"]):
        raise ValueError("its parts do not fit together")
    columns = {}
    for i, name in enumerate(rows.column_names):
        columns[name] = _column(head["columns"][i], *sections[2 + 2 * i : 4 + 2 * i])
    sample = PrioritySample(
        int(head["capacity"]),
        int(head["seed"]),
        _or_infinite(head["half_life"]),
        keys["key"].to_numpy(),
        keys["part"].to_numpy().astype(np.intp),
        keys["row"].to_numpy(),
        None,
        tuple(tuple(map(int, part)) for part in head["sampled"]),
        -math.inf if head["now"] is None else float(head["now"]),
        _or_infinite(head["bar"]),
    )
    parts = {tuple(map(int, numbers)): int(size) for *numbers, size in head["parts"]}
    return int(head["n_rows"]), parts, columns, rows, sample


def _column(told: dict[str, Any], values: memoryview, sketch: memoryview) -> ColumnSummary:
    table = _from_file(values)
    known, counts = table["value"].to_pylist(), table["count"].to_pylist()
    of = told["moments"]
    return ColumnSummary(
        int(told["count"]),
        int(told["missing"]),
        known[0],
        known[1],
        None if of is None else Moments(float(of[0]), np.array([of[1]]), np.array([[of[2]]])),
        datasketches().kll_doubles_sketch.deserialize(bytes(sketch)) if told["sketched"] else None,
        dict(zip(known[2:], counts[2:], strict=True)) if told["counted"] else None,
    )


def _values_of(column: ColumnSummary, kind: Any) -> Any:
    """A table of the smallest value, the largest one, and the counted ones."""
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    counts = column.counts or {}
    values = [column.smallest, column.largest, *counts]
    return pa.table({"value": pa.array(values, type=plain), "count": pa.array([0, 0, *counts.values()])})


def _as_file(table: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _from_file(data: memoryview) -> Any:
    import pyarrow as pa

    table = pa.ipc.open_file(pa.py_buffer(data)).read_all()
    table.validate(full=True)
    return table


def _or_none(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _or_infinite(number: float | None) -> float:
    return math.inf if number is None else float(number)
