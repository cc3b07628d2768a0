"""The demo as people run it: a real process, its table, its file and its exit codes."""

import csv
import io
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_breast_cancer

import whyodd
from whyodd.cli.demo import explain_tumours, show, write_csv
from whyodd.explanations.sentences import percent

COMMAND = [sys.executable, "-c", "from whyodd.cli.app import main; main()"]


def run(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


@pytest.fixture(scope="module")
def result():
    return explain_tumours(top=4)


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"whyodd {whyodd.__version__}")


def test_help_names_the_demo_with_an_example():
    assert "demo" in run("--help").stdout
    assert "whyodd demo --top 5 --out odd.csv" in run("demo", "--help").stdout


class TestFindings:
    def test_values_and_expected_values_are_in_raw_units(self, result):
        tumours = load_breast_cancer()
        names = list(tumours.feature_names)
        benign = tumours.data[tumours.target == 1]
        for odd in result.odd_rows:
            assert tumours.target[odd.row] == 0
            for reason in odd.reasons:
                column = names.index(reason.feature)
                assert reason.value == pytest.approx(tumours.data[odd.row, column], rel=1e-9)
                assert benign[:, column].min() <= reason.expected <= benign[:, column].max()
                assert reason.direction == np.sign(reason.value - reason.expected)

    def test_ranked_and_told_apart_from_benign(self, result):
        scores = [odd.outlierness for odd in result.odd_rows]
        assert scores == sorted(scores, reverse=True)
        assert result.n_explained == 212
        assert result.auc > 0.95

    def test_shares_sum_to_one(self, result):
        for odd in result.odd_rows:
            told = sum(reason.share for reason in odd.reasons)
            assert told + odd.other_share + odd.unexplained_share == pytest.approx(1.0)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_table_fits_the_terminal(result, width):
    console = Console(width=width, file=io.StringIO())
    show(result, console)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    for whole in ("perimeter", "variables", "too high", "expected", "60 %"):
        assert whole in text


class TestCommand:
    def test_prints_a_table_and_writes_the_same(self, tmp_path, result):
        out = tmp_path / "odd.csv"
        done = run("demo", "--top", 4, "--out", out, env={**os.environ, "COLUMNS": "80"})
        assert (done.returncode, done.stderr) == (0, "")
        with out.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        assert [line["rank"] for line in lines] == ["1", "2", "3", "4"]
        for line, odd in zip(lines, result.odd_rows, strict=True):
            assert int(line["row"]) == odd.row
            assert float(line["outlierness"]) == pytest.approx(odd.outlierness)
            assert odd.reasons[0].feature in line["why"]
            assert str(odd.row) in done.stdout
            assert percent(odd.reasons[0].share) in done.stdout
        assert [path.name for path in tmp_path.iterdir()] == ["odd.csv"]

    @pytest.mark.full
    def test_unwritable_file_is_a_clear_error(self, tmp_path):
        done = run("demo", "--top", 1, "--out", tmp_path / "absent" / "odd.csv")
        assert done.returncode == 1
        assert "\nError: cannot write " in f"\n{done.stderr}"  # a first run says that it compiles
        assert "No such file or directory. Choose another place." in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("arguments", [("--top", "0"), ("--top", "many"), ("--colour", "red")])
    def test_wrong_usage(self, arguments):
        assert run("demo", *arguments).returncode == 2

    def test_unknown_command(self):
        assert run("dance").returncode == 2

    @pytest.mark.race
    def test_interrupt_ends_with_one_word(self, tmp_path):
        # Long work at a known point: within an import an interrupt may surface as that import's own error.
        announced = (
            "import time, whyodd.cli.demo as d;"
            "d.explain_tumours = lambda top: (print('ready', flush=True), time.sleep(60));" + COMMAND[2]
        )
        process = subprocess.Popen(
            [sys.executable, "-c", announced, "demo", "--out", str(tmp_path / "odd.csv")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Interrupted." in err
        assert "Traceback" not in err
        assert not list(tmp_path.iterdir())


def test_csv_replaces_the_old_file_only_when_complete(tmp_path, result):
    path = tmp_path / "odd.csv"
    path.write_text("old")
    with pytest.raises(AttributeError):
        write_csv([*result.odd_rows, None], path)  # fails half-way
    assert path.read_text() == "old"
    write_csv(result.odd_rows, path)
    assert path.read_text(encoding="utf-8").startswith("rank,row,outlierness")
    assert [file.name for file in tmp_path.iterdir()] == ["odd.csv"]


def test_csv_cannot_replace_a_directory(tmp_path, result):
    with pytest.raises(OSError, match="cannot write"):
        write_csv(result.odd_rows, tmp_path)
    assert not list(tmp_path.iterdir())
