"""Mistakes in the options of the commands for tables: one sentence, and no file is touched."""

import os

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
from made_up.orders import orders
from whyodd.cli.app import app

FRAME = orders(60)


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [*map(str, arguments), "--quiet"])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    FRAME.write_csv(folder / "t.csv")
    (folder / "other.csv").write_text("a,b\n1,2\n3,5\n")
    (folder / "long.csv").write_text("a" * 100_000 + ",b\n1,2\n3,5\n")
    (folder / "wide.csv").write_text(",".join(f"c{i}" for i in range(5000)) + "\n1\n2\n")
    frame = pl.DataFrame({"a": np.arange(5), "id": [b"\xff"] * 5, "l": [[1]] * 5})
    frame.write_parquet(folder / "bytes.parquet")
    (folder / "link.csv").symlink_to(folder / "t.csv")
    os.mkfifo(folder / "pipe.csv")
    whyodd.save(whyodd.auto(FRAME.drop("order")), folder / "m.whyodd")
    (folder / "cut.whyodd").write_bytes((folder / "m.whyodd").read_bytes()[:2000])
    return folder


# Arguments, with {0} for a folder, and what is said of them.
MISTAKES = {
    "explain": ("explain {0}/t.csv --out {0}/t.csv", "would replace a file that this command also reads"),
    "a link": ("score {0}/t.csv --out {0}/link.csv", "would replace a file that this command also reads"),
    "fit": ("fit {0}/t.csv --out {0}/t.csv", "would replace a file that this command also reads"),
    "the model": ("score {0}/t.csv --model {0}/m.whyodd --out {0}/m.whyodd", "a name that ends in .csv"),
    "a pipe to write": ("fit {0}/t.csv --out {0}/pipe.csv", "is a device or a pipe, expected the name"),
    "a device to write": ("fit {0}/t.csv --out /dev/null", "/dev/null is a device or a pipe"),
    "a folder to write": ("fit {0}/t.csv --out {0}", "is a folder, expected the name of a file to write"),
    "no folder to write to": ("score {0}/t.csv --out {0}/none/s.csv", "there is no folder"),
    "both the same": ("explain {0}/t.csv --out {0}/x.csv --report {0}/x.csv", "a name that ends in .html"),
    "a table as a model": ("score {0}/t.csv --model {0}/other.csv", "other.csv was not written by whyodd"),
    "half a model": ("explain {0}/t.csv --model {0}/cut.whyodd", "cut.whyodd was not written by whyodd"),
    "a folder as a model": ("explain {0}/t.csv --model {0}", "is a folder, expected a file written by"),
    "a device as a model": ("explain {0}/t.csv --model /dev/null", "/dev/null was not written by whyodd"),
    "no model": ("evaluate {0}/t.csv --model {0}/none", "There is no file"),
    "other columns": ("score {0}/other.csv --model {0}/m.whyodd", "lacks columns that the model was fitted"),
    "unknown column": ("fit {0}/t.csv --columns amount,colour", "has no column 'colour'. It has: 'order'"),
    "long names": ("fit {0}/long.csv --columns c", f"has no column 'c'. It has: '{'a' * 60}…', 'b'"),
    "many names": ("score {0}/wide.csv --drop c", "'c8', 'c9' and 4990 more"),
    "unknown id": ("explain {0}/t.csv --id-column colour", "has no column 'colour'"),
    "bytes as ids": ("score {0}/bytes.parquet --id-column id", "holds lists, objects or bytes, expected"),
    "lists as ids": ("explain {0}/bytes.parquet --id-column l", "holds lists, objects or bytes, expected"),
    "nothing left": ("explain {0}/other.csv --drop a,b", "has no column left to use"),
    "unknown member": ("explain {0}/t.csv --groups g=colour", "has no column 'colour'. It has: 'order'"),
    "two groups": ("explain {0}/t.csv --groups g=items --groups h=items", "'items' is in two groups"),
    "a name that is too long": ("explain " + "a" * 300 + ".csv", "File name too long"),
    "labels": ("evaluate {0}/t.csv --label country", "expected 0 and 1, or true and false"),
    "one label": ("evaluate {0}/t.csv --label country --normal XX", "expected 'XX' and others"),
}  # fmt: skip


def stamps(folder):
    """Which file is at each name, and when it was written."""
    stats = {path.name: path.lstat() for path in folder.iterdir()}
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_in_options(saved, case):
    arguments, message = MISTAKES[case]
    before = stamps(saved)
    done = run(*arguments.format(saved).split())
    assert (done.exit_code, done.stdout) == (1, ""), (done.output, done.exception)
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(".\n")
    assert message in done.stderr
    assert stamps(saved) == before


USAGE = (
    "explain",
    "explain {0} --nonsense",
    "nonsense {0}",
    "explain {0} --top 0",
    "score {0} --top many",
    "score {0} --share 0",
    "fit {0} --share 1",
    "score {0} --share nan",
    "explain {0} --fdr nan",
    "explain {0} --share 0.1 --false-alarms 0.1",
    "score {0} --share inf",
    "explain {0} --columns ,",
    "fit {0} --drop ,",
    "explain {0} --train {0}",
    "explain {0} --train - --model m",
    "fit {0} --seed -1",
    "explain {0} --groups g=,",
    "evaluate {0} --methods ,",
    "evaluate {0} --methods magic",
    "evaluate {0} --normal 0",
    "score {0} --json --out -",
    "explain -x.csv",
)


@pytest.mark.parametrize("arguments", USAGE)
def test_wrong_usage(saved, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments.format(saved / "t.csv").split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: ")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_more_rows_asked_for_than_there_are(saved):
    done = run("explain", saved / "t.csv", "--model", saved / "m.whyodd", "--top", 10**30)
    assert done.exit_code == 0, done.stderr
    assert "The 2 oddest rows" in done.stdout  # those that are odd


@pytest.mark.parametrize("width", [1, 20])
def test_terminals_that_are_narrow(saved, width):
    runner = CliRunner(env={"COLUMNS": str(width)})
    for command in ("explain", "score"):
        done = runner.invoke(app, [command, str(saved / "t.csv"), "--model", str(saved / "m.whyodd")])
        assert done.exit_code == 0, done.exception
        assert max(map(len, done.stdout.splitlines())) <= max(width, 60)
