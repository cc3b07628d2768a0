"""Files that are parts of a table: which they are, and their rows whatever the size of the pieces."""

import csv
import gzip
import io
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from whyodd.io import parts
from whyodd.io.parts import Part, find_parts, is_several, read_batches
from whyodd.io.tables import read_table

FRAME = pl.DataFrame(
    {
        "amount": [1.5, None, -3.0, 4.25] * 60,
        "items": [1, 2, 3, 4] * 60,
        "note": ["plain", 'with "quotes"', "two\nlines, and a comma", None] * 60,
        "code": ["007", "12", "0815", "4711"] * 60,
        "day": ["2024-01-05", "2024-02-29", None, "2023-12-31"] * 60,
    }
)


def together(path, **options):
    tables = [table for table, _ in read_batches(Part(path, path.name), **options)]
    return pl.from_arrow(pa.concat_tables(tables, promote_options="permissive"))


@pytest.fixture
def small_pieces(monkeypatch):
    """Files of a few hundred bytes are large."""
    monkeypatch.setattr(parts, "_PIECE", 700)
    monkeypatch.setattr(parts, "_LARGE_PACKED", 100)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".jsonl"])
@pytest.mark.usefixtures("small_pieces")
def test_pieces_are_read_as_the_whole_is(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    if ending == ".jsonl":
        FRAME.write_ndjson(path)
    else:
        content = FRAME.write_csv(separator="\t" if ending == ".tsv" else ",").encode()
        path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    batches = list(read_batches(Part(path, path.name), as_written=["code"]))
    assert len(batches) > 5
    assert [share for _, share in batches] == sorted(share for _, share in batches)
    assert batches[-1][1] == 1.0
    whole = read_table(path, as_written=["code"])
    assert_frame_equal(together(path, as_written=["code"]), whole, check_dtypes=False)
    assert together(path, as_written=["code"])["day"].dtype == pl.Date


CELL = st.text(st.sampled_from('a,"\n é;'), max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=30), size=st.integers(1, 40))
def test_pieces_end_where_records_do(rows, size, tmp_path_factory, monkeypatch):
    """Whatever the size of the pieces, all records are in them, in their order, and none is cut."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    path = tmp_path_factory.mktemp("pieces") / "table.csv"
    path.write_bytes(text.getvalue().encode())
    monkeypatch.setattr(parts, "_PIECE", size)
    pieces = [piece.decode() for piece, _ in parts._pieces(path, "table.csv", None)]
    assert "".join(pieces) == text.getvalue()
    read = [tuple(row) for piece in pieces for row in csv.reader(io.StringIO(piece, newline=""), strict=True)]
    assert read == rows


@pytest.mark.usefixtures("small_pieces")
def test_a_large_file_in_another_encoding_names_the_option(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(("name,size\n" + "Zoë,1\n" * 300).encode("cp1252"))
    with pytest.raises(ValueError, match=r"not UTF-8 text. Set --encoding"):
        together(path)
    assert together(path, encoding="cp1252")["name"].unique().to_list() == ["Zoë"]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("cut", [1, 50])
def test_a_packed_file_that_is_cut_short_is_named(tmp_path, cut):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(FRAME.write_csv().encode())[:-cut])
    with pytest.raises(ValueError, match=r"table.csv.gz cannot be read: it is damaged or cut short"):
        together(path)


def test_parquet_is_read_by_columns_and_groups_of_rows(tmp_path):
    path, frame = tmp_path / "t.parquet", pl.DataFrame({"a": range(50_001), "b": range(50_001)})
    frame.write_parquet(path, row_group_size=50_001)
    batches = list(read_batches(Part(path, path.name), ["a"]))
    assert [len(table) for table, _ in batches] == [20_000, 20_000, 10_001]
    assert_frame_equal(together(path, columns=["a"]), frame.select("a"))


def test_files_of_a_folder(tmp_path):
    for name in ("b.csv", "year=2024/a.parquet", "_SUCCESS", ".hidden.csv", "_old/c.csv", "readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [part.name for part in find_parts([tmp_path])] == ["b.csv", "year=2024/a.parquet"]
    assert [part.name for part in find_parts([tmp_path / "*.csv"])] == ["b.csv"]
    both = find_parts([tmp_path / "**" / "*.parquet", tmp_path / "b.csv", tmp_path / "b.csv"])
    assert [part.name for part in both] == ["b.csv", "year=2024/a.parquet"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    (tmp_path / "[a].csv").write_text("x,y\n1,2\n")
    assert [part.name for part in find_parts([tmp_path / "[a].csv"])] == ["[a].csv"]
    assert not is_several([tmp_path / "[a].csv"])
    assert all(map(is_several, ([tmp_path], [Path("a*.csv")], [Path("a"), Path("b")])))
