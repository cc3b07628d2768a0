"""Tables as they come: every kind of file, and one clear sentence for every way they can be broken."""

import datetime as dt
import gzip
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
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.parquet", "t.jsonl", "T.NDJSON"]
)
def test_every_kind_of_file_gives_the_same_table(tmp_path, name):
    path = tmp_path / name
    separator = "\t" if "tsv" in name else ","
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(FRAME.write_csv(separator=separator).encode()))
    elif "sv" in name:
        FRAME.write_csv(path, separator=separator)
    elif "json" in name.lower():
        FRAME.with_columns(pl.col("when").dt.to_string("iso:strict")).write_ndjson(path)
    else:
        FRAME.write_parquet(path)
    assert_frame_equal(read_table(path), FRAME)
    assert_frame_equal(read_table(str(path)), FRAME)


def test_text_tables_as_other_programs_write_them(tmp_path):
    content = '\ufeff"a b",c\r\n1,NA\r\n2,\r\n2.5,3\r\n'
    frame = read_table(written(tmp_path / "t.csv", content))
    assert frame.to_dict(as_series=False) == {"a b": [1.0, 2.0, 2.5], "c": [None, None, 3]}


def test_numbers_that_become_decimal_late(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", "a\n" + "1\n" * 5000 + "1.5\n"))
    assert frame["a"].dtype == pl.Float64


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
    "names.csv": ("a,b\n", "has names of columns, but no rows"),
    "more.csv": ("a,b\n1,2\n1,2,3\n", "a row has more values than there are names of columns"),
    "latin.csv": ("a,b\n1,caf\xe9\n".encode("latin-1"), "is not UTF-8 text"),
    "latin-name.csv": ("caf\xe9,b\n1,2\n".encode("latin-1"), "is not UTF-8 text"),
    "twice.csv": ("a,b,a\n1,2,3\n", "has two columns 'a'"),
    "no-names.csv": ("1.5,2\n3,4\n", "first line of .* holds numbers, expected names of columns"),
    "semicolons.csv": ("a;b\n1;2\n", "seems to separate values by ';'"),
    "commas.tsv": ("a,b\n1,2\n", "seems to separate values by ','"),
    "cut-off.csv.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)[:40], "cannot be read: "),
    "broken.jsonl": ('{"a": 1\n', "cannot be read: "),
    "broken.parquet": ("PAR1 or not", "cannot be read: "),
    "broken.npy": ("numbers", "holds no arrays of numbers"),
    "broken.npz": ("PK\x03\x04", "holds no arrays of numbers"),
    "table.xlsx": ("a", r"cannot tell from its name .* Known endings: \.csv, \.tsv"),
    "table": ("a", "cannot tell from its name"),
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
