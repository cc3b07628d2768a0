"""Tables in several files, or larger than memory: which files, and their rows batch by batch."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyodd.io.table_kinds import ENDINGS, ending_of, first_bytes
from whyodd.io.table_mistakes import DAMAGED, first_words, parquet_mistake
from whyodd.io.tables import parsed_lines, parsed_text, read_rows, table_name
from whyodd.io.text_cleaning import clean_beginning
from whyodd.io.unpacking import is_packed, unpacking, unpacking_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# Rows at once: enough to be fast, few beside the memory.
BATCH_ROWS = 20_000
# Bytes of text read at once. Smaller files are read as one; packed ones grow.
_PIECE, _LARGE_PACKED = 32 << 20, 8 << 20
_STREAMED = {".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson"}
_LINES = {".jsonl", ".ndjson"}


@dataclass(frozen=True)
class Part:
    """A file that holds some rows of a table.

    Attributes
    ----------
    path : path
    name : str
        What it is called below the folder that all parts are in.
    """

    path: Path
    name: str


def is_several(data: Sequence[Path]) -> bool:
    """Whether the input is more than one file: a folder, a pattern, or a list."""
    return len(data) > 1 or data[0].is_dir() or (has_magic(str(data[0])) and not data[0].exists())


def find_parts(data: Sequence[Path]) -> list[Part]:
    """The files meant by files, folders and patterns such as 'folder/*.parquet', sorted by name.

    Of a folder all tables in it and below it, without those whose names begin with a dot or a "_".
    """
    found = dict.fromkeys(path for each in data for path in _files(each))
    above = Path(os.path.commonpath([path.parent for path in found]))
    return [Part(path, path.relative_to(above).as_posix()) for path in sorted(found)]


def _files(data: Path) -> list[Path]:
    if data.is_dir():
        return _tables_in(data)
    if data.exists():
        return [data.absolute()]
    if not has_magic(str(data)):
        raise ValueError(f"There is no file {data}.")
    # A pattern may begin anywhere, which Path.glob does not take.
    matching = sorted(Path(path).absolute() for path in glob(str(data), recursive=True))  # noqa: PTH207
    files = [path for path in matching if path.is_file()]
    if not files:
        raise ValueError(f"No file matches {data}.")
    return files


def _tables_in(folder: Path) -> list[Path]:
    below = [path for path in sorted(folder.absolute().rglob("*")) if path.is_file()]
    seen = [path for path in below if not _is_hidden(path.relative_to(folder.absolute()))]
    tables = [path for path in seen if ending_of(path)]
    if not seen:
        raise ValueError(f"{folder} is an empty folder, expected files with tables.")
    if not tables:
        raise ValueError(
            f"{folder} holds no table: {seen[0].name} is not one. Expected files that end in "
            f"{', '.join(ENDINGS)}."
        )
    return tables


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def read_batches(
    part: Part,
    columns: Collection[str] | None = None,
    *,
    as_written: Collection[str] = (),
    encoding: str | None = None,
    notes: list[str] | None = None,
) -> Iterator[tuple[Any, float]]:
    """Arrow tables of at most 20,000 rows, one after the other, with the share of the file read so far.

    At least one, which may have no rows.

    Parameters
    ----------
    part : Part
    columns : collection of str, optional
        Those that are needed, of files that can be read by columns.
    as_written : collection of str, optional
        Columns whose values stay as they are written: 007 is no 7.
    encoding : str, optional
        Of text files.
    notes : list of str, optional
        Gains what people should know.
    """
    path, name, ending = part.path, table_name(part.path), ending_of(part.path)
    beginning = first_bytes(path)
    if beginning.startswith(b"PAR1"):
        yield from _read_parquet(path, name, columns)
        return
    limit = _LARGE_PACKED if is_packed(beginning) else _PIECE
    if ending in _STREAMED and path.stat().st_size > limit:
        frames = _read_text(path, name, as_written, encoding, notes)
    else:
        frames = iter([(read_rows(path, as_written, encoding=encoding, notes=notes), 1.0)])
    for frame, share in frames:
        table = _without_guesses(frame).to_arrow()
        for start in range(0, max(table.num_rows, 1), BATCH_ROWS):
            yield table.slice(start, BATCH_ROWS), share


def _without_guesses(frame: Any) -> Any:
    """A frame whose empty columns have no type, because text does not show it and another part may."""
    import polars as pl

    unknown = [name for name in frame.columns if frame[name].null_count() == frame.height]
    return frame.with_columns(pl.col(unknown).cast(pl.Null)) if frame.height else frame


def _read_parquet(path: Path, name: str, columns: Collection[str] | None) -> Iterator[tuple[Any, float]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Not the whole row group at once, which may be all rows.
        with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
            there = file.schema_arrow.names
            wanted = there if columns is None else [column for column in there if column in columns]
            done, total = 0, file.metadata.num_rows
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
                done += batch.num_rows
                yield pa.Table.from_batches([batch]), done / total
            if total == 0:
                yield file.schema_arrow.empty_table().select(wanted), 1.0
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, PermissionError):
            raise
        raise ValueError(f"{name} cannot be read: {parquet_mistake(error)}.") from None


# ---- text larger than memory ------------------------------------------------------------------------------


def _read_text(
    path: Path, name: str, as_written: Collection[str], encoding: str | None, notes: list[str] | None
) -> Iterator[tuple[Any, float]]:
    """Polars frames of pieces of a text file or of JSON lines."""
    ending, head, columns = ending_of(path), b"", None
    for content, share in _pieces(path, name, encoding):
        if ending in _LINES:
            frame = parsed_lines(content, name)
        else:
            head = head or _names(content, name)
            frame = parsed_text(
                content if columns is None else head + content, name, ending, as_written, notes
            )
        if columns is None:
            columns, notes = frame.columns, None  # all pieces have the same beginning
        yield _with_columns(frame, columns), share


def _with_columns(frame: Any, columns: Sequence[str]) -> Any:
    """A frame of JSON, with added columns that none of its lines has."""
    import polars as pl

    lacking = [pl.lit(None).alias(column) for column in columns if column not in frame.columns]
    return frame.with_columns(lacking)


def _names(content: bytes, name: str) -> bytes:
    """The text above the first row: titles, and column names."""
    sample = content[: 1 << 18].decode("utf-8-sig", errors="replace")
    cleaned = clean_beginning(sample.encode(), sample, name, [])
    lines = content.split(b"\n", cleaned.skipped + 1)[: cleaned.skipped + 1]
    return b"\n".join(lines) + b"\n"


def _pieces(path: Path, name: str, encoding: str | None) -> Iterator[tuple[bytes, float]]:
    """A text file in pieces that end with a record, as UTF-8, and the share of the file read so far."""
    size, rest, is_lines = path.stat().st_size, b"", ending_of(path) in _LINES
    decode = _decoder(name, encoding)
    with path.open("rb") as raw:
        file = unpacking(raw, first_bytes(path))
        while more := _read(file, name):
            content = rest + decode(more)
            end = content.rfind(b"\n") + 1 if is_lines else _end_of_records(content)
            rest = content[end:]
            if end:
                yield content[:end], raw.tell() / size
    rest += decode(b"", True)
    if rest.strip():
        yield rest, 1.0


def _read(file: Any, name: str) -> bytes:
    try:
        return file.read(_PIECE)  # type: ignore[no-any-return]
    except unpacking_errors():
        raise ValueError(f"{name} cannot be read: {DAMAGED}.") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror or first_words(error)}.") from None


def _end_of_records(content: bytes) -> int:
    """End of the last line that is not within quotation marks; 0 if there is none."""
    end, is_open = len(content), content.count(b'"') % 2 == 1
    while True:
        before = content.rfind(b"\n", 0, end)
        if before < 0:
            return 0
        is_open ^= content.count(b'"', before, end) % 2 == 1
        if not is_open:
            return before + 1
        end = before


def _decoder(name: str, encoding: str | None) -> Any:
    """Converts bytes to UTF-8 as they arrive."""
    decoder = codecs.getincrementaldecoder(encoding or "utf-8")()

    def decode(content: bytes, is_last: bool = False) -> bytes:
        try:
            return decoder.decode(content, is_last).encode("utf-8")
        except UnicodeError:
            known = encoding or "UTF-8"
            raise ValueError(
                f"{name} cannot be read: it is not {known} text. Set --encoding, or save the file as UTF-8."
            ) from None

    return decode
