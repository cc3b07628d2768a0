"""Tables as they come: every kind of file, and one clear sentence for every way they can be broken."""

import datetime as dt
import gzip
import io
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from whyodd.io.tables import read_table

FRAME = pl.DataFrame(
    {
        "when": [dt.datetime(2024, 3, 1, hour) for hour in range(3)],
        "a": [1.5, None, -2.0],
        "word": ["x", "y,z", None],
    }
)


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "name",
    [
        *("t.csv", "t.tsv", "t.txt", "t.csv.gz", "t.tsv.gz", "t.parquet", "t.jsonl", "T.NDJSON", "t.json"),
        *("t.jsonl.gz", "[t]*.csv", "[t].parquet"),
    ],
)
def test_every_kind_of_file_gives_the_same_table(tmp_path, name):
    path = tmp_path / name
    separator = "\t" if "tsv" in name else ","
    texts = FRAME.with_columns(pl.col("when").dt.to_string("iso:strict"))
    if "json" in name.lower():
        content = (texts.write_json() if name == "t.json" else texts.write_ndjson()).encode()
    else:
        content = FRAME.write_csv(separator=separator).encode()
    if name.endswith(".parquet"):
        FRAME.write_parquet(path)
    else:
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert_frame_equal(read_table(path), FRAME)
    assert_frame_equal(read_table(str(path)), FRAME)


def test_text_tables_as_other_programs_write_them(tmp_path):
    content = '\ufeff"a b",c\r\n1,NA\r\n2,\r\n2.5,3\r\n'
    frame = read_table(written(tmp_path / "t.csv", content))
    assert frame.to_dict(as_series=False) == {"a b": [1.0, 2.0, 2.5], "c": [None, None, 3]}


LATE = {
    "decimals": ("1", "1.5", pl.Float64),
    "words": ("1", "one", pl.String),
    "words after decimals": ("1.5", "one", pl.String),
    "numbers beyond 64 bits": ("1", "99999999999999999999", pl.Float64),
    "numbers": ("", "7", pl.Int64),
    "decimals after gaps": ("NA", "7.5", pl.Float64),
    "no date": ("2024-03-01", "never", pl.String),
    "no truth": ("true", "perhaps", pl.String),
}


@pytest.mark.parametrize("case", LATE)
def test_types_that_only_a_late_row_tells(tmp_path, case):
    early, late, dtype = LATE[case]
    content = "b,a\n" + f"0,{early}\n" * 12_000 + f"0,{late}\n"
    frame = read_table(written(tmp_path / "t.csv", content))
    assert frame["a"].dtype == dtype
    assert str(frame["a"][-1]) == (late if dtype != pl.Float64 else str(float(late)))
    if early not in ("", "NA"):
        assert frame["a"][0] == (early if dtype == pl.String else float(early))


SEPARATED = {
    "semicolons.csv": "a b;c\n1;x,y\n2;z\n",
    "tabs.csv": "a b\tc\n1\tx,y\n2\tz\n",
    "bars.txt": "a b|c\n1|x,y\n2|z\n",
    "commas.tsv": 'a b,c\n1,"x,y"\n2,z\n',
    "quoted.csv": '"a b";c\n1;"x,y"\n2;z\n',
    "semicolons.csv.gz": gzip.compress(b"a b;c\n1;x,y\n2;z\n"),
}


@pytest.mark.parametrize("name", SEPARATED)
def test_whatever_separates_values(tmp_path, name):
    frame = read_table(written(tmp_path / name, SEPARATED[name]))
    assert frame.to_dict(as_series=False) == {"a b": [1, 2], "c": ["x,y", "z"]}


def test_other_separators_within_names_and_values(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", "x|y,z;w\n1,2\n3,4\n"))
    assert frame.to_dict(as_series=False) == {"x|y": [1, 3], "z;w": [2, 4]}


def test_a_ragged_table_is_still_recognised(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", "a;b;c\n1;2;3\n4;5\n7;8;9\n"))
    assert frame.rows() == [(1, 2, 3), (4, 5, None), (7, 8, 9)]


def test_decimal_commas(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", "a;b\n1,5;x\n-2;y\n"))
    assert frame.to_dict(as_series=False) == {"a": [1.5, -2.0], "b": ["x", "y"]}
    frame = read_table(written(tmp_path / "t.csv", "a;b\n1,5;1.5\n2,5;2.5\n"))
    assert frame.dtypes == [pl.String, pl.Float64]  # not to be told what a comma means here


def test_blanks_after_separators(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", "a, b, c\n1, 2, x\n3, 4.5, y\n"))
    assert frame.to_dict(as_series=False) == {"a": [1, 3], "b": [2.0, 4.5], "c": [" x", " y"]}


class _Pipe:
    """Standard input with some bytes in it."""

    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def parquet_bytes():
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    return buffer.getvalue()


INPUTS = {
    "csv": FRAME.write_csv().encode(),
    "tabs": FRAME.write_csv(separator="\t").encode(),
    "packed": gzip.compress(FRAME.write_csv().encode()),
    "lines": FRAME.with_columns(pl.col("when").dt.to_string("iso:strict")).write_ndjson().encode(),
    "array": FRAME.with_columns(pl.col("when").dt.to_string("iso:strict")).write_json().encode(),
    "parquet": parquet_bytes(),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_standard_input(monkeypatch, kind):
    monkeypatch.setattr(sys, "stdin", _Pipe(INPUTS[kind]))
    assert_frame_equal(read_table("-"), FRAME)


@pytest.mark.parametrize("content", [b"", b"  \n"])
def test_nothing_from_standard_input(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", _Pipe(content))
    with pytest.raises(ValueError, match=r"^Standard input is empty\.$"):
        read_table("-")


def test_a_large_table_is_read_in_the_room_of_its_text_and_one_frame(tmp_path):
    """Types are not looked for in all rows, which takes Polars thirty times as long as reading them."""
    n = 200_000
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{c}": rng.normal(size=n).round(6) for c in range(10)})
    frame.write_csv(tmp_path / "t.csv")
    script = (
        "import resource, polars as pl, sys\n"
        "from whyodd.io.tables import read_table\n"
        "pl.read_csv(b'a\\n1\\n')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "frame = read_table(sys.argv[1])\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print((after - before) * 1024, frame.estimated_size())\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "t.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    grown, size = map(float, done.stdout.split())
    # Beside text and frame there are chunks that threads are at work on.
    assert grown < 1.5 * ((tmp_path / "t.csv").stat().st_size + size) + 40e6


def test_a_short_row_has_gaps_at_its_end(tmp_path):
    assert read_table(written(tmp_path / "t.csv", "a,b\n1,2\n3\n")).rows() == [(1, 2), (3, None)]


def test_dates_in_json_lines_only_if_all_are(tmp_path):
    lines = '{"t": "2024-03-01T00:00:00", "u": "2024-03-01"}\n{"t": "2024-03-01T01:00:00", "u": "x"}\n'
    frame = read_table(written(tmp_path / "t.jsonl", lines))
    assert frame.dtypes == [pl.Datetime("us"), pl.String]


@pytest.mark.parametrize("array", [np.arange(4.0), np.arange(6).reshape(3, 2)])
def test_arrays(tmp_path, array):
    np.save(tmp_path / "t.npy", array)
    np.savez(tmp_path / "t.npz", series=array)
    for name in ("t.npy", "t.npz"):
        np.testing.assert_array_equal(read_table(tmp_path / name).to_numpy().squeeze(), array)


BROKEN = {
    "empty.csv": ("", "is empty"),
    "blank.csv": ("\n", "is empty"),
    "names.csv": ("a,b\n", "has column names but no rows"),
    "more.csv": (
        'a,b\n1,2\n"x\ny",2\n1,2,3\n1,2\n',
        r"a row has more values than there are column names .*\(line 5\)",
    ),
    "open.csv": ('a,b\n1,"x\n2,y\n', "a quotation mark is never closed"),
    "no-names.csv": ("1.5,2\n3,4\n", "first line of .* holds numbers, expected column names"),
    "both.csv": ("a,b;c\n1,2;3\n4,5;6\n", "fits commas and semicolons as the separator"),
    "spaces.txt": ("a b\n1 2\n3 4\n", "seems to separate its values with spaces"),
    "cut-off.csv.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)[:40], "cannot be read: "),
    "broken.jsonl": ('{"a": 1\n', "cannot be read: "),
    "broken.parquet": ("PAR1 or not", "cannot be read: "),
    "broken.npy": ("numbers", "holds no arrays of numbers"),
    "broken.npz": ("PK\x03\x04", "a damaged or incomplete workbook or ZIP archive"),
    "text.xlsx": ("a", "has column names but no rows"),
    "bytes.xlsx": (b"a\0\1", "it is not a workbook, or it is damaged"),
    "bytes.csv": (b"a,b\n\0\1,2\n", "it holds zero bytes"),
    "bytes": (b"\x7fELF\x02\x01\0\0", "it holds zero bytes"),
    "page.xls": ("<html><table>", "it is a web page"),
    "broken.arrow": ("ARROW1 or not", "it is not a readable Arrow file"),
    "broken.sqlite": ("SQLite format 3\0", "it is not a SQLite file, or it is damaged"),
    "broken.duckdb": ("12345678DUCK", "it is not a DuckDB file, or it is damaged"),
    "undecided.csv": (
        "名称,城市\n小明,北京\n".encode("gb18030"),
        "its encoding cannot be detected. Set it, for example with --encoding",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_in_one_sentence(tmp_path, name):
    content, message = BROKEN[name]
    with pytest.raises((ValueError, OSError), match=message) as caught:
        read_table(written(tmp_path / name, content))
    text = str(caught.value)
    assert name in text
    assert "\n" not in text
    assert text.endswith(".")


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(ValueError, match=r"There is no file .*t\.csv"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder, expected a file"):
        read_table(tmp_path / "folder.csv")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.ones(2), "b": np.ones(2)}, r"holds 2 arrays, expected one: a, b"),
        ({"a": np.ones((2, 2, 2))}, r"shape \(2, 2, 2\)"),
        ({"a": np.array(["x"])}, "expected numbers"),
        ({"a": np.array([None])}, "no arrays of numbers"),
    ],
)
def test_arrays_that_are_no_table(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t.npz")


def test_without_polars_the_extra_is_named(tmp_path):
    path = written(tmp_path / "t.csv", "a\n1\n")
    script = (
        "import sys; sys.modules['polars'] = None\n"
        "from whyodd.io.tables import read_table\n"
        f"try: read_table({str(path)!r})\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("pip install 'whyodd[files]'")


def test_codes_that_begin_with_zeros_stay_as_they_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("code,share,count\n01067,0.5,0\n50667,0.25,10\n,0,7\n")
    frame = read_table(path)
    assert frame["code"].to_list() == ["01067", "50667", None]
    assert frame["share"].to_list() == [0.5, 0.25, 0.0]
    assert frame["count"].to_list() == [0, 10, 7]
