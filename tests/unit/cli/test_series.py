"""``whyodd series`` as people run it: real files in, tables and pictures out, clear words if it cannot."""

import csv
import datetime as dt
import html
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from PIL import Image
from rich.console import Console
from typer.testing import CliRunner

import whyodd
from made_up.command import start
from whyodd.cli.app import app
from whyodd.cli.series import show, write_table
from whyodd.findings.series import Columns, find_in_file, learn_from_file

START = dt.datetime(2024, 3, 1)


def table(rows=600, seed=0, odd=None):
    """Two sensors that swing together, and a text; the second sensor swings the other way in ``odd``."""
    steps = np.arange(rows)
    noise = np.random.default_rng(seed).normal(scale=0.05, size=(rows, 2))
    flow, heat = np.sin(steps / 3), 40 + 5 * np.sin(steps / 3)
    if odd is not None:
        heat[slice(*odd)] = 40 - 5 * np.sin(steps[slice(*odd)] / 3)
    return pl.DataFrame(
        {
            "when": [START + dt.timedelta(minutes=5 * int(step)) for step in steps],
            "flow": flow + noise[:, 0],
            "heat": heat + 5 * noise[:, 1],
            "shift": ["early", "late"] * (rows // 2),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("series")
    table().write_csv(folder / "train.csv")
    table(seed=1, odd=(320, 350)).write_csv(folder / "test.csv")
    return folder


def judged(train, test=None, chosen=None, windows=None, **options):
    """What the command finds: by a normal series if there are two, else by the rest of it."""
    if test is None:
        return find_in_file(train, chosen, windows=windows, **options)
    model, notes = learn_from_file(train, chosen, windows=windows, **options)
    return find_in_file(test, chosen, model=model, notes=notes, **options)


def run(*arguments):
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, ["series", *map(str, arguments)])


@pytest.fixture(scope="module")
def result(files):
    return judged(files / "train.csv", files / "test.csv")


@pytest.fixture(scope="module")
def done(files):
    out = files / "odd"
    options = ("--top", 3, "--out", out, "--report", files / "odd.html", "--save", files / "m.whyodd")
    return run(files / "train.csv", files / "test.csv", *options), out


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class TestCommand:
    def test_says_when_and_why(self, done, result):
        outcome, out = done
        assert outcome.exit_code == 0
        told = " ".join(outcome.stdout.split())
        assert told.startswith(f"test.csv: {result.headline}")
        assert "move against each other" in told
        assert str(out).replace("\n", "") in outcome.stdout.replace("\n", "")
        assert "ignored columns without numbers: shift" in outcome.stderr

    def test_page(self, done, files, result):
        page = (files / "odd.html").read_text(encoding="utf-8")
        assert "test.csv" in page
        assert html.escape(result.explanation.why(0)).replace(" %", "\xa0%") in page
        assert 'id="timeline"' in page
        assert "odd.html" in done[0].stdout.replace("\n", "")

    def test_events(self, done, result):
        lines = read(done[1] / "events.csv")
        assert [line["event"] for line in lines] == [str(i + 1) for i in range(result.n_events)]
        first, last = int(lines[0]["first_row"]), int(lines[0]["last_row"])
        assert abs(first - 320) < 12
        assert abs(last - 349) < 12
        assert dt.datetime.fromisoformat(lines[0]["start"]) == START + dt.timedelta(minutes=5 * first)
        assert float(lines[0]["p_value"]) < 0.01
        assert lines[0]["why"] == result.explanation.why(0)
        assert {"peak", "end", "outlierness", "channels"} <= set(lines[0])

    def test_steps(self, done, result):
        frame = pl.read_csv(done[1] / "steps.csv", try_parse_dates=True)
        assert frame.columns == ["time", "outlierness", "p_value", "is_odd", "flow", "heat"]
        assert frame["time"].to_list() == table()["when"].to_list()
        np.testing.assert_allclose(
            frame.select("flow", "heat").to_numpy(), result.scores.relevance, rtol=1e-9
        )
        parts = frame["flow"].to_numpy() + frame["heat"].to_numpy()
        np.testing.assert_allclose(frame["outlierness"].to_numpy(), parts, rtol=1e-9)
        np.testing.assert_array_equal(frame["is_odd"].to_numpy(), result.is_odd)

    def test_picture(self, done):
        with Image.open(done[1] / "series.png") as picture:
            assert min(picture.size) > 200
        assert len(list(done[1].iterdir())) == 3

    def test_a_saved_model_says_the_same(self, done, files):
        again = run(files / "test.csv", "--model", files / "m.whyodd", "--out", files / "again", "--quiet")
        assert again.exit_code == 0, again.stderr
        for name in ("steps.csv", "events.csv"):
            assert (files / "again" / name).read_bytes() == (done[1] / name).read_bytes()

    def test_json_says_the_same(self, files, result):
        outcome = run(files / "train.csv", files / "test.csv", "--json", "--quiet", "--out", files / "json")
        assert (outcome.exit_code, outcome.stderr) == (0, "")
        told = json.loads(outcome.stdout)
        assert told["headline"] == result.headline
        assert told["threshold"] == result.threshold
        assert [event["why"] for event in told["events"]] == [
            result.odd.why(i) for i in range(len(result.odd))
        ]
        for event in told["events"]:
            assert sum(event["relevance"].values()) == pytest.approx(event["outlierness"])
        assert len(told["files"]) == 3

    def test_false_alarms_move_the_threshold(self, files, result):
        few = judged(files / "train.csv", files / "test.csv", false_alarms=0.001)
        assert few.threshold > result.threshold
        assert "0.1 % of normal steps" in few.headline


def test_help_has_an_example_and_costs_no_training():
    done = run("--help")
    assert done.exit_code == 0
    assert "whyodd series normal.csv today.csv --out odd/ --report odd.html" in done.stdout


def test_a_real_process_and_its_exit_codes(tmp_path):
    command = [sys.executable, "-c", "from whyodd.cli.app import main; main()", "series"]
    arguments = [str(tmp_path / "absent.csv"), "--out", str(tmp_path / "odd")]
    wrong = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr == f"Error: There is no file {tmp_path / 'absent.csv'}.\n"
    assert not list(tmp_path.iterdir())  # nothing is written for nothing


@pytest.mark.parametrize(
    "arguments",
    [(), ("--window", "0"), ("--window", "many"), ("--top", "0"), ("--colour", "red"), ("--nu", "0.1")],
)
def test_wrong_usage(files, arguments):
    assert run(*([files / "train.csv", *arguments] if arguments else [])).exit_code == 2


@pytest.mark.parametrize("option", [("--window", 8), ("--save", "again.whyodd")])
def test_a_model_has_learned_already(files, option):
    assert run(files / "test.csv", "--model", files / "any.whyodd", *option).exit_code == 2


def test_one_file_is_judged_by_its_other_stretches(files):
    e = judged(files / "test.csv").explanation
    assert e.events[0].start < 350
    assert e.events[0].stop > 320


@pytest.mark.parametrize("width", [60, 80, 120])
def test_table_fits_the_terminal(result, width):
    console = Console(width=width, file=io.StringIO())
    show(result, console, 5)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "heat" in text


def test_names_in_brackets_are_no_markup(tmp_path):
    frame = table(odd=(320, 350)).rename({"flow": "[red]flow[/red]", "heat": "[/]"})
    frame.write_csv(tmp_path / "t.csv")
    done = run(tmp_path / "t.csv", "--out", tmp_path / "odd")
    assert done.exit_code == 0
    assert "[/]" in done.stdout


def test_csv_replaces_the_old_file_only_when_complete(tmp_path, result):
    path = tmp_path / "steps.csv"
    path.write_text("old")
    with pytest.raises(pl.exceptions.ShapeError, match="height of column 'outlierness'"):
        write_table({"time": [1], "outlierness": [1.0, 2.0]}, path)
    assert path.read_text() == "old"
    write_table(result.steps(), path)
    assert path.read_text(encoding="utf-8").startswith("time,outlierness,p_value,is_odd")
    with pytest.raises(OSError, match="cannot write"):
        write_table(result.steps(), tmp_path / "absent" / "steps.csv")


def test_no_value_is_blank_and_times_are_as_fine_as_they_need_be(tmp_path):
    seconds = np.array(["2024-01-01T00:00:01", "2024-01-01T00:00:02"], dtype="datetime64[ns]")
    write_table({"time": seconds, "o": np.array([1.5, np.nan])}, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "time,o\n2024-01-01 00:00:01,1.5\n2024-01-01 00:00:02,\n"
    write_table({"time": seconds + np.timedelta64(5, "ms"), "o": [1, 2]}, tmp_path / "b.csv")
    assert "2024-01-01 00:00:01.005000,1\n" in (tmp_path / "b.csv").read_text()


class TestColumns:
    """Which columns are channels, and which one tells the time."""

    def found(self, tmp_path, frame, test=None, windows=None, **chosen):
        frame.write_parquet(tmp_path / "train.parquet")
        if test is not None:
            test.write_parquet(tmp_path / "test.parquet")
        paths = [tmp_path / "train.parquet", *([tmp_path / "test.parquet"] if test is not None else [])]
        return judged(*paths, chosen=Columns(**chosen), windows=windows)

    def test_chosen_and_dropped(self, tmp_path):
        assert self.found(tmp_path, table(), columns=("heat",)).series.channels == ("heat",)
        found = self.found(tmp_path, table(), drop=("heat", "shift"))
        assert found.series.channels == ("flow",)
        assert found.series.times is not None

    def test_time_by_name_and_rows_as_steps(self, tmp_path):
        frame = table().with_columns(t=pl.int_range(600) * 2)
        found = self.found(tmp_path, frame, time="t", drop=("when",)).series
        assert found.channels == ("flow", "heat")
        assert found.times[1] == 2
        assert self.found(tmp_path, table(), drop=("when",)).series.times is None

    def test_order_of_columns_does_not_matter(self, tmp_path):
        turned = self.found(tmp_path, table(), table(seed=1).select("heat", "when", "flow"))
        straight = self.found(tmp_path, table(), table(seed=1))
        np.testing.assert_array_equal(turned.outlierness, straight.outlierness)

    def test_more_columns_to_judge_than_learned(self, tmp_path):
        found = self.found(tmp_path, table(), table(seed=1).with_columns(label=1))
        assert found.series.channels == ("flow", "heat")
        assert any(
            "ignored columns that the model was not fitted on" in note and note.endswith("label.")
            for note in found.notes
        )

    def test_a_channel_that_never_varied_is_told_first(self, tmp_path):
        moved = table(seed=1).with_columns(valve=pl.when(pl.int_range(600) > 580).then(2.0).otherwise(1.0))
        found = self.found(tmp_path, table().with_columns(valve=1.0), moved)
        assert found.why(0).startswith("valve never varied in training (always 1), now 2")
        assert any("Never varied" in note and note.endswith("valve.") for note in found.notes)

    def test_times_that_are_not_even_are_told(self, tmp_path):
        jumps = table().filter((pl.int_range(600) < 50) | (pl.int_range(600) > 90))
        found = self.found(tmp_path, table(), jumps)
        assert any("time jumps once" in note for note in found.notes)
        assert len(found) == 559
        turned = self.found(tmp_path, table(), table().reverse())
        assert any("sorted by" in note for note in turned.notes)
        same = self.found(tmp_path, table().with_columns(when=pl.col("when").max()))
        assert any("the same time" in note for note in same.notes)

    def test_steps_near_a_gap_have_no_score(self, tmp_path):
        rows = pl.int_range(600)
        gaps = table(seed=1).with_columns(flow=pl.when((rows < 100) | (rows > 120)).then("flow"))
        found = self.found(tmp_path, table(), gaps)
        assert np.isnan(found.outlierness[100:121]).all()
        assert any("21 of 600 steps are too close to gaps" in note for note in found.notes)

    @pytest.mark.parametrize(
        ("changes", "options", "message"),
        [
            ({}, {"windows": 400}, r"train\.parquet: the series has 600 steps, fewer than two windows"),
            ({}, {"columns": ("pressure",)}, r"no column 'pressure'\. It has: when, flow, heat, shift"),
            ({}, {"drop": ("pressure",)}, "no column 'pressure'"),
            ({}, {"columns": ("shift",)}, "Column 'shift' of .* holds no numbers"),
            ({}, {"drop": ("flow", "heat")}, "no numeric column to use"),
            ({}, {"time": "shift"}, r"Expected dates or numbers in the time column 'shift' of .*train\.p"),
            ({}, {"time": "t"}, r"train\.parquet has no column 't'\. It has: when, flow, heat, shift"),
            ({"flow": pl.lit(1.0), "heat": pl.lit(2.0)}, {}, r"train\.parquet: no channel .* ever varies"),
            ({"heat": pl.lit(float("inf"))}, {}, r"train\.parquet holds infinite values"),
            ({"also": pl.col("when")}, {}, "several date columns: 'when', 'also'"),
        ],
    )  # fmt: skip
    def test_clear_errors(self, tmp_path, changes, options, message):
        with pytest.raises(ValueError, match=message):
            self.found(tmp_path, table().with_columns(**changes), **options)

    def test_a_channel_is_missing(self, tmp_path):
        for test in (table().drop("heat"), table().with_columns(heat=pl.lit("hot"))):
            with pytest.raises(ValueError, match=r"test\.parquet lacks the numeric column 'heat'"):
                self.found(tmp_path, table(), test)

    def test_a_model_of_something_else(self, files, tmp_path):
        whyodd.save(whyodd.KernelDensity().fit(np.random.default_rng(0).normal(size=(20, 2))), tmp_path / "k")
        done = run(files / "test.csv", "--model", tmp_path / "k", "--out", tmp_path / "odd")
        assert done.exit_code == 1
        assert (
            "holds a KernelDensity, expected a model written by whyodd series --save"
            in done.stderr.replace("\n", " ")
        )


class TestFolder:
    def test_a_file_in_its_place(self, files, tmp_path):
        (tmp_path / "odd").write_text("mine")
        done = run(files / "train.csv", "--out", tmp_path / "odd")
        assert done.exit_code == 1
        assert "is a file: expected a folder" in done.stderr.replace("\n", " ")
        assert (tmp_path / "odd").read_text() == "mine"

    def test_it_cannot_be_made(self, files, tmp_path):
        (tmp_path / "file").write_text("mine")
        done = run(files / "train.csv", "--out", tmp_path / "file" / "odd")
        assert done.exit_code == 1
        assert "cannot make the folder" in done.stderr

    def test_twice_the_same_bytes(self, files, tmp_path):
        for name in ("a", "b"):
            assert run(files / "train.csv", files / "test.csv", "--out", tmp_path / name).exit_code == 0
        for name in ("steps.csv", "events.csv", "series.png"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.fixture(scope="module")
def several(done, files):
    """A folder with three series, of which one is odd, and something else; the options to judge it."""
    folder = files / "several"
    folder.mkdir()
    for i, name in enumerate(("a", "b", "c")):
        table(300, seed=2 + i, odd=(120, 160) if name == "c" else None).write_csv(folder / f"{name}.csv")
    (folder / "notes.md").write_text("no table")
    assert done[0].exit_code == 0
    return folder, ("--model", files / "m.whyodd", "--false-alarms", 0.001, "--report", files / "page.html")


@pytest.fixture(scope="module")
def judged_all(several, files):
    """What a run says and writes that nothing stops."""
    folder, options = several
    return run(folder, *options, "--out", files / "whole"), files / "whole"


def tables_of(out):
    """All tables of a folder, as if it had no place."""
    return {str(path.relative_to(out)): path.read_text().replace(str(out), "") for path in out.rglob("*.csv")}


class TestSeveral:
    """Each series has a folder of its own, and whatever stops a run, none is judged twice."""

    @staticmethod
    def count(monkeypatch, stop=None):
        """Let the detector count the series it judges, and stop at the k-th as Ctrl-C does."""
        asked, judge = [], whyodd.SeriesDetector.judge

        def counted(self, series, **more):
            if len(asked) == stop:
                raise KeyboardInterrupt
            asked.append(1)
            return judge(self, series, **more)

        monkeypatch.setattr(whyodd.SeriesDetector, "judge", counted)
        return asked

    def test_tables_pages_and_words(self, several, judged_all, files):
        folder, (told, out) = several[0], judged_all
        assert told.exit_code == 0, told.stderr
        said = " ".join(told.stdout.split())
        assert said.startswith("1 of 3 series have odd events.")
        assert said.index("c.csv") < said.index("a.csv")
        assert "c.csv: 3 of 3, about" in told.stderr
        lines = read(out / "scores.csv")
        assert lines[0]["file"] == str(folder / "c.csv")
        assert [line["is_odd"] for line in lines] == ["True", "False", "False"]
        alone = find_in_file(folder / "c.csv", model=whyodd.load(files / "m.whyodd"), false_alarms=0.001)
        assert float(lines[0]["outlierness"]) == pytest.approx(np.nanmax(alone.outlierness), rel=1e-12)
        assert float(lines[0]["p_value"]) == np.nanmin(alone.p_value)
        assert (lines[0]["when"], lines[0]["why"]) == (alone.explanation.names[0], alone.why(0))
        assert int(lines[0]["events"]) == alone.n_events
        frame = pl.read_csv(out / "c" / "steps.csv")
        np.testing.assert_array_equal(frame["outlierness"].to_numpy(), alone.outlierness)
        for name in ("a", "b", "c"):
            written = {path.name for path in (out / name).iterdir()}
            assert written == {"steps.csv", "events.csv", "series.png", "page.html"}
        assert {path.name for path in out.iterdir()} == {"a", "b", "c", "scores.csv"}

    def test_learned_here_and_told_as_json(self, several, files, tmp_path):
        folder, _ = several
        out = ("--out", tmp_path / "odd", "--json", "--quiet")
        told = run(files / "train.csv", folder / "c.csv", folder / "a.csv", *out)
        assert (told.exit_code, told.stderr) == (0, "")
        found = json.loads(told.stdout)
        assert [each["file"] for each in found["series"]] == [str(folder / "c.csv"), str(folder / "a.csv")]
        assert any("without numbers: shift" in note for note in found["notes"])
        alone = judged(files / "train.csv", folder / "c.csv")
        assert found["series"][0]["headline"] == alone.headline
        assert found["series"][0]["events"][0]["why"] == alone.why(0)

    def test_one_that_is_broken_is_left_out(self, several, tmp_path):
        folder, options = several
        (tmp_path / "broken.csv").write_text("when,flow\n2024-01-01,1\n")
        told = run(tmp_path / "broken.csv", folder / "a.csv", *options, "--out", tmp_path / "odd", "--quiet")
        assert told.exit_code == 0
        assert "Warning: left out:" in told.stderr
        assert "lacks the numeric column 'heat'" in told.stderr.replace("\n", " ")
        assert [line["file"] for line in read(tmp_path / "odd" / "scores.csv")] == [str(folder / "a.csv")]
        (tmp_path / "other.csv").write_text("x\n1\n")
        none = run(tmp_path / "broken.csv", tmp_path / "other.csv", *options, "--out", tmp_path / "odd")
        assert none.exit_code == 1
        assert "Error: None of the series can be used: see the warnings above." in none.stderr

    def test_a_folder_without_tables(self, tmp_path):
        told = run(tmp_path, "--model", tmp_path / "any.whyodd", "--out", tmp_path / "odd")
        assert told.exit_code == 1
        assert "holds no tables" in told.stderr.replace("\n", " ")

    @pytest.mark.parametrize("change", ["nothing", "series", "results", "options", "journal"])
    def test_goes_on_where_it_stopped(self, several, judged_all, tmp_path, monkeypatch, change):
        folder, options = several
        out = tmp_path / "odd"
        with monkeypatch.context() as patch:
            self.count(patch, stop=2)
            stopped = run(folder, *options, "--out", out)
        assert stopped.exit_code == 130
        last = stopped.stderr.splitlines()[-2:]
        assert last == ["2 of 3 series are judged: run the same command again to continue.", "Interrupted."]
        two = {str(folder / "a.csv"), str(folder / "b.csv")}
        assert {line["file"] for line in read(out / "scores.csv")} == two
        expected = {"nothing": 1, "series": 2, "results": 2, "options": 3, "journal": 2}[change]
        if change == "series":
            (folder / "a.csv").write_bytes((folder / "a.csv").read_bytes())
        elif change == "results":
            (out / "b" / "events.csv").unlink()
        elif change == "options":
            options = (*options, "--drop", "shift")
        elif change == "journal":  # cut off amid a line, as when the power fails
            journal = out / ".unfinished.jsonl"
            journal.write_bytes(journal.read_bytes()[:-20])
        asked = self.count(monkeypatch)
        again = run(folder, *options, "--out", out)
        assert again.exit_code == 0, again.stderr
        assert len(asked) == expected
        assert ("series were already judged by an interrupted run" in again.stderr) == (expected < 3)
        assert tables_of(out) == tables_of(judged_all[1])
        assert not list(out.glob(".*"))

    @pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
    @pytest.mark.race
    def test_a_process_that_is_stopped(self, several, judged_all, tmp_path, monkeypatch, number):
        folder, options = several
        out, errors = tmp_path / "odd", tmp_path / "errors"
        process = start(("series", folder, *options, "--out", out), tmp_path / "printed", errors)
        while process.is_alive() and "b.csv: 2 of 3" not in _said(errors):
            time.sleep(0.001)
        os.kill(process.pid, number)
        process.join(60)
        assert process.exitcode == (130 if number == signal.SIGINT else -signal.SIGKILL)
        if number == signal.SIGINT:
            assert errors.read_text().splitlines()[-1] == "Interrupted."
            assert "Traceback" not in errors.read_text()
        asked = self.count(monkeypatch)
        assert run(folder, *options, "--out", out, "--quiet").exit_code == 0
        assert len(asked) < 3
        assert tables_of(out) == tables_of(judged_all[1])

    @pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
    @pytest.mark.race
    def test_one_series_that_is_interrupted_writes_nothing(self, files, tmp_path):
        """Of one series there is one pass: it is judged as a whole, or not at all."""
        out, errors = tmp_path / "odd", tmp_path / "errors"
        table(40_000).write_csv(tmp_path / "long.csv")
        arguments = ("series", files / "train.csv", tmp_path / "long.csv", "--out", out)
        process = start(arguments, tmp_path / "printed", errors)
        while process.is_alive() and "Learning windows: all" not in _said(errors):
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGINT)
        process.join(60)
        assert process.exitcode == 130
        assert errors.read_text().splitlines()[-1] == "Interrupted."
        assert "Traceback" not in errors.read_text()
        assert not out.exists()


def _said(path):
    return path.read_text() if path.exists() else ""
