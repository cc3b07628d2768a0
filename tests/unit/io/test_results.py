"""Files that are written: known endings, places that can be written to, complete or not at all."""

import subprocess
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from whyodd.io.results import TABLE_ENDINGS, check_output, write_table

FRAME = pl.DataFrame({"row": [3, 5], "feature": ['a "b", c', "d\te\nf"], "relevance": [0.1 + 0.2, None]})
READERS = {
    ".csv": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".parquet": pl.read_parquet,
    ".jsonl": pl.read_ndjson,
}


@pytest.mark.parametrize("ending", TABLE_ENDINGS)
def test_what_is_written_is_read(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.write_text("old")
    write_table(FRAME, path)
    assert_frame_equal(READERS[ending](path), FRAME, check_exact=True)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", TABLE_ENDINGS)
def test_where_there_is_no_room_the_old_file_stays(tmp_path, ending):
    """A limit on the size of files stands for a full disk."""
    path = tmp_path / f"t{ending}"
    path.write_text("old")
    script = (
        "import resource, sys, pathlib, polars as pl\n"
        "from whyodd.io.results import write_table\n"
        "frame = pl.DataFrame({'a': [str(i * i) for i in range(100_000)]})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_table(frame, pathlib.Path(sys.argv[1]))\n"
        "except OSError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"cannot write {path}: File too large")
    assert done.stdout.count("\n") == 1
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_places_that_cannot_be_written_to(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name, message in (
        ("t.xlsx", r"--out .*t\.xlsx: expected a name that ends in \.csv or \.tsv"),
        ("folder.csv", "is a folder, expected the name of a file to write"),
        ("none/t.csv", "there is no folder .*none. Make it first"),
    ):
        with pytest.raises((ValueError, OSError), match=message):
            check_output(tmp_path / name, TABLE_ENDINGS, "--out")
    with pytest.raises(OSError, match=r"the folder /proc cannot be written to \(.*\)\. Choose another place"):
        check_output(type(tmp_path)("/proc/t.csv"), TABLE_ENDINGS, "--out")  # not even by root
    check_output(tmp_path / "T.CSV", TABLE_ENDINGS, "--out")
    assert [file.name for file in tmp_path.iterdir()] == ["folder.csv"]
