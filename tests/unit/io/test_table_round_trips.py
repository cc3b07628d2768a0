"""A random table that is written in any of the supported ways reads equal."""

import datetime as dt
import gzip
import io
import sqlite3

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from whyodd.io.tables import read_table

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Words that are no numbers, no dates, no gaps, and no lines of a report; signs that make them hard to write.
LETTERS = "abcxyzäöüßéàçñ"
WORDS = st.text(alphabet=LETTERS + " ,;|\t\"'()", min_size=0, max_size=8).map(
    lambda text: f"w{text.strip()}v"
)
NAMES = st.lists(
    st.sampled_from([f"{a}{b}" for a in LETTERS for b in "abc"]), min_size=2, max_size=5, unique=True
)
COLUMNS = {
    "whole": st.integers(-(2**53), 2**53),
    "decimal": st.floats(-1e6, 1e6, width=32).map(lambda number: round(number, 3) + 0.0005),
    "word": WORDS,
    "date": st.dates(dt.date(1950, 1, 1), dt.date(2090, 12, 31)),
}


@st.composite
def tables(draw, kinds=tuple(COLUMNS)):
    """Two to five columns, three to twelve rows, and no column without a value."""
    names = draw(NAMES)
    count = draw(st.integers(3, 12))
    columns = {}
    for name in names:
        cells = COLUMNS[draw(st.sampled_from(kinds))]
        first = draw(cells)
        rest = draw(st.lists(st.none() | cells, min_size=count - 1, max_size=count - 1))
        columns[name] = [first, *rest]
    # A row of its own numbers, so that no row is empty and no line looks like a footnote.
    return pl.DataFrame({"n": list(range(count)), **columns})


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le")


@QUICK
@given(
    frame=tables(),
    separator=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(ENCODINGS),
    crlf=st.booleans(),
)
def test_text(tmp_path, frame, separator, encoding, crlf):
    end = "\r\n" if crlf else "\n"
    text = frame.write_csv(separator=separator, line_terminator=end, quote_style="non_numeric")
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    assert_frame_equal(read_table(tmp_path / "t.csv"), frame)


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "latin-1", "cp850"])
@QUICK
@given(frame=tables())
def test_text_whose_encoding_is_given(tmp_path, encoding, frame):
    text = frame.write_csv(quote_style="non_numeric")
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    assert_frame_equal(read_table(tmp_path / "t.csv", encoding=encoding), frame)


# Words of languages that are written in it.
SPOKEN = {
    "cp1252": (
        "Müller",
        "Straße",
        "Größe",
        "Jäger",
        "Öl",
        "Café",
        "Besançon",
        "Orléans",
        "señor",
        "5 €",
        "it’s",
        "“so”",
    ),
    "mac_roman": ("Müller", "Straße", "Größe", "Jäger", "Café", "Besançon", "Orléans", "señor", "it’s"),
    "cp850": ("Müller", "Straße", "Größe", "Jäger", "Café", "Besançon", "Orléans"),
    "cp1251": ("Москва", "Ольга", "Сергей", "Наталья", "товар", "цена"),
    "koi8_r": ("Москва", "Ольга", "Сергей", "Наталья", "товар", "цена"),
}


@pytest.mark.parametrize("encoding", SPOKEN)
@QUICK
@given(data=st.data())
def test_text_whose_encoding_is_found(tmp_path, encoding, data):
    more = data.draw(st.lists(st.sampled_from(SPOKEN[encoding]), max_size=40))
    words = data.draw(st.permutations([*SPOKEN[encoding], *more]))
    frame = pl.DataFrame({"n": list(range(len(words))), "word": words})
    (tmp_path / "t.csv").write_bytes(frame.write_csv().encode(encoding))
    notes = []
    assert_frame_equal(read_table(tmp_path / "t.csv", notes=notes), frame)
    assert f"was read as {encoding}" in notes[0]


def zstd(content):
    from backports import zstd

    return zstd.compress(content)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".zst", zstd)])
@QUICK
@given(frame=tables())
def test_packed_text_and_json(tmp_path, ending, pack, frame):
    (tmp_path / f"t.csv{ending}").write_bytes(pack(frame.write_csv(quote_style="non_numeric").encode()))
    assert_frame_equal(read_table(tmp_path / f"t.csv{ending}"), frame)
    (tmp_path / f"t.jsonl{ending}").write_bytes(pack(frame.write_ndjson().encode()))
    assert_frame_equal(read_table(tmp_path / f"t.jsonl{ending}"), frame)


@QUICK
@given(frame=tables())
def test_binary_files(tmp_path, frame):
    for name, write in (
        ("t.parquet", "write_parquet"),
        ("t.feather", "write_ipc"),
        ("t.arrow", "write_ipc_stream"),
    ):
        buffer = io.BytesIO()
        getattr(frame, write)(buffer)
        for ending in (name, "no-ending"):
            (tmp_path / ending).write_bytes(buffer.getvalue())
            assert_frame_equal(read_table(tmp_path / ending), frame)


@QUICK
@given(frame=tables(), table=st.text(min_size=1, max_size=5, alphabet="aä\" '-."))
def test_sqlite(tmp_path, frame, table):
    path = tmp_path / "t.db"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as file:
        _fill(file, frame.with_columns(pl.col(pl.Date).cast(pl.String)), table)
    file.close()
    assert_frame_equal(read_table(path), frame)
    assert_frame_equal(read_table(path, table=table), frame)


@settings(QUICK, max_examples=10)
@given(frame=tables())
def test_duckdb(tmp_path, frame):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "t.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as file:
        types = {pl.Int64: "BIGINT", pl.Float64: "DOUBLE", pl.String: "VARCHAR", pl.Date: "DATE"}
        _fill(file, frame, "t", types)
    assert_frame_equal(read_table(path), frame)


def _fill(file, frame, table, types=None):
    quoted = '"' + table.replace('"', '""') + '"'
    columns = ", ".join(f'"{name}" {(types or {}).get(dtype, "")}' for name, dtype in frame.schema.items())
    file.execute(f"CREATE TABLE {quoted} ({columns})")
    places = ", ".join("?" * frame.width)
    file.executemany(f"INSERT INTO {quoted} VALUES ({places})", frame.rows())


@QUICK
@given(frame=tables(), above=st.integers(0, 3), left=st.integers(0, 2))
@example(frame=pl.DataFrame({"n": [0, 1, 2], "a": [1.5, None, 2.5]}), above=2, left=1)
def test_workbooks(tmp_path, frame, above, left):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for _ in range(above):
        book.active.append([])
    for c, name in enumerate(frame.columns, start=left + 1):
        book.active.cell(above + 1, c, name)
    for r, row in enumerate(frame.rows(), start=above + 2):
        for c, cell in enumerate(row, start=left + 1):
            book.active.cell(r, c, cell)
    book.save(tmp_path / "t.xlsx")
    assert_frame_equal(read_table(tmp_path / "t.xlsx"), frame)


@settings(QUICK, max_examples=15)
@given(frame=tables())
def test_old_workbooks(tmp_path, frame):
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    sheet = book.add_sheet("a")
    day = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for c, column in enumerate(frame.iter_columns()):
        for r, cell in enumerate([column.name, *column.to_list()]):
            if cell is not None:
                sheet.write(r, c, cell, day if isinstance(cell, dt.date) else xlwt.Style.default_style)
    book.save(str(tmp_path / "t.xls"))
    assert_frame_equal(read_table(tmp_path / "t.xls"), frame)


@QUICK
@given(
    frame=tables(),
    separator=st.sampled_from(",;\t|"),
    above=st.lists(st.sampled_from(["Report of sales", "Generated: 2024-04-02", "Plant 5", ""]), max_size=4),
    below=st.sampled_from([[], ["", "* preliminary"], ["", "Source: office"]]),
)
def test_what_stands_around_a_text_table(tmp_path, frame, separator, above, below):
    text = frame.write_csv(separator=separator, quote_style="non_numeric")
    (tmp_path / "t.txt").write_text("".join(f"{line}\n" for line in above) + text + "\n".join(below))
    notes = []
    assert_frame_equal(read_table(tmp_path / "t.txt", notes=notes), frame)
    assert len(notes) == any(above) + bool(below)
