"""Frames as Arrow tables of a few types, so that tables of several parts match."""

from __future__ import annotations

from typing import Any

from whyodd.inputs.frames import as_frame


def as_arrow(frame: Any) -> Any:
    """An Arrow table of a frame: Arrow batch or table, pandas or Polars; other kinds are named."""
    pa = _pyarrow()
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    known = as_frame(frame, what="frame")
    if known is None:
        raise TypeError(
            f"frame is of type {type(frame).__name__}, expected an Arrow batch or table, or a pandas or "
            "Polars frame."
        )
    no_text = [name for name in known.columns if not isinstance(name, str)]
    if no_text:
        raise ValueError(
            f"frame has a column named {no_text[0]!r}, expected text for every name. Convert them: "
            "frame.columns = frame.columns.map(str)."
        )
    try:
        is_pandas = known.implementation.is_pandas()
        table = pa.Table.from_pandas(frame, preserve_index=False) if is_pandas else known.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(
            f"A column of frame holds values of several types ({error}), expected one type. Convert them."
        ) from error
    return table.cast(
        pa.schema([(field.name, _usual_type(field.type)) for field in table.schema]), safe=False
    )


def _usual_type(kind: Any) -> Any:
    """The type that represents all types with the same values; times to the microsecond."""
    pa = _pyarrow()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _usual_type(kind.value_type), ordered=kind.ordered)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_time(kind):
        return pa.time64("us")
    return kind


def together(first: Any, second: Any, names: tuple[str, str]) -> tuple[Any, Any]:
    """Both tables with the columns in the same order, and of types that hold the values of both.

    ``names`` say where they come from, for the message if that cannot be.
    """
    pa = _pyarrow()
    for mine, other, name in ((first, second, names[1]), (second, first, names[0])):
        lacking = [column for column in mine.column_names if column not in other.column_names]
        if lacking:
            raise ValueError(
                f"{_capital(name)} lacks the column {lacking[0]!r}. All parts need the same columns."
            )
    second = second.select(first.column_names)
    fields = [
        pa.field(one.name, _common_type(one.name, one.type, two.type, names))
        for one, two in zip(first.schema, second.schema, strict=True)
    ]
    schema = pa.schema(fields)
    return first.cast(schema), second.cast(schema)


def _common_type(column: str, one: Any, two: Any, names: tuple[str, str]) -> Any:
    pa = _pyarrow()
    if one == two:
        return one
    if pa.types.is_null(one) or pa.types.is_null(two):
        return two if pa.types.is_null(one) else one
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, two)]
    try:
        schemas = [pa.schema([(column, kind)]) for kind in plain]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise ValueError(
            f"Column {column!r} holds {_word(plain[0])} in {names[0]} and {_word(plain[1])} in {names[1]}. "
            "Use one type in all parts."
        ) from error


def _word(kind: Any) -> str:
    pa = _pyarrow()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "dates"
    return f"values of type {kind}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Summaries of tables need the package pyarrow. Run: pip install 'whyodd[scale]'"
        ) from error
    return pa
