"""``whyodd series`` as people run it: real files in, tables and pictures out, clear words if it cannot."""

import csv
import datetime as dt
import html
import io
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from PIL import Image
from rich.console import Console
from typer.testing import CliRunner

import whyodd
from whyodd.cli.app import app
from whyodd.cli.series import show, write_relevance, write_windows
from whyodd.findings.series import Settings, explain_series, odd_spans

START = dt.datetime(2024, 3, 1)


def table(rows=300, seed=0, odd=None):
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
    table(seed=1, odd=(120, 140)).write_csv(folder / "test.csv")
    return folder


def run(*arguments):
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, ["series", *map(str, arguments)])


@pytest.fixture(scope="module")
def result(files):
    return explain_series(files / "train.csv", files / "test.csv", Settings(window=16))


@pytest.fixture(scope="module")
def done(files):
    out = files / "odd"
    options = ("--window", 16, "--top", 3, "--out", out, "--report", files / "odd.html")
    return run(files / "train.csv", files / "test.csv", *options), out


class TestCommand:
    def test_says_where_and_in_which_channel(self, done, result):
        outcome, out = done
        assert outcome.exit_code == 0
        assert " ".join(outcome.stdout.split()).startswith(f"test.csv: {result.explanation.why(0)}")
        assert "2024-03-01 1" in outcome.stdout
        assert str(out).replace("\n", "") in outcome.stdout.replace("\n", "")
        assert "ignored since they hold no numbers: shift" in outcome.stderr

    def test_page(self, done, files, result):
        page = (files / "odd.html").read_text(encoding="utf-8")
        assert "test.csv" in page
        assert html.escape(result.explanation.why(0)).replace(" %", "\xa0%") in page
        assert "odd.html" in done[0].stdout.replace("\n", "")

    def test_windows(self, done):
        with (done[1] / "windows.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        assert [line["rank"] for line in lines] == ["1", "2", "3"]
        first, last = int(lines[0]["first_row"]), int(lines[0]["last_row"])
        assert last == first + 15
        assert first < 140
        assert last >= 120
        assert lines[0]["channels"].startswith("heat ")
        assert dt.datetime.fromisoformat(lines[0]["from"]) == START + dt.timedelta(minutes=5 * first)
        assert dt.datetime.fromisoformat(lines[0]["to"]) == START + dt.timedelta(minutes=5 * last)

    def test_relevance(self, done, result):
        frame = pl.read_csv(done[1] / "relevance.csv", try_parse_dates=True)
        assert frame.columns == ["time", "all channels", "flow", "heat"]
        assert frame["time"].to_list() == table()["when"].to_list()
        heat = result.explanation.heatmap(0)
        np.testing.assert_allclose(frame.select("flow", "heat").to_numpy(), heat, rtol=1e-9)
        np.testing.assert_allclose(frame["all channels"].to_numpy(), heat.sum(axis=1), rtol=1e-9)

    def test_pictures(self, done):
        for name in ("series.png", "strangest.png"):
            with Image.open(done[1] / name) as picture:
                assert min(picture.size) > 200
        assert len(list(done[1].iterdir())) == 4

    def test_json_says_the_same(self, files, result):
        outcome = run(
            files / "train.csv", files / "test.csv", "--window", 16, "--top", 3, "--json", "--quiet",
            "--out", files / "json",
        )  # fmt: skip
        assert (outcome.exit_code, outcome.stderr) == (0, "")
        told = json.loads(outcome.stdout)
        assert told["why"] == result.explanation.why(0)
        assert told["outlierness"] == result.explanation.outlierness[0]
        assert sum(told["channels"].values()) + told["unexplained"] == pytest.approx(told["outlierness"])
        assert [window["start"] for window in told["windows"]] == [
            s.start for s in odd_spans(result.explanation, 0, 3)
        ]
        assert len(told["notes"]) == 2
        assert len(told["files"]) == 4


def test_help_has_an_example_and_costs_no_training():
    done = run("--help")
    assert done.exit_code == 0
    assert "whyodd series normal.csv today.csv --window 32 --out odd/" in done.stdout


def test_a_real_process_and_its_exit_codes(tmp_path):
    command = [sys.executable, "-c", "from whyodd.cli.app import main; main()", "series"]
    arguments = [str(tmp_path / "absent.csv"), "--out", str(tmp_path / "odd")]
    wrong = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr == f"Error: There is no file {tmp_path / 'absent.csv'}.\n"
    assert not list(tmp_path.iterdir())  # nothing is written for nothing


@pytest.mark.parametrize(
    "arguments",
    [(), ("--window", "0"), ("--window", "many"), ("--nu", "2"), ("--top", "0"), ("--colour", "red")],
)
def test_wrong_usage(files, arguments):
    assert run(*([files / "train.csv", *arguments] if arguments else [])).exit_code == 2


class TestOneFile:
    def test_its_own_windows_are_left_out(self, files):
        e = explain_series(files / "test.csv", settings=Settings(window=16)).explanation
        assert e.twins == (0,)
        (span,) = odd_spans(e, 0, 1)
        assert span.start < 140
        assert span.stop > 120


class TestOddSpans:
    @pytest.mark.parametrize("stride", [1, 4])
    def test_against_a_plain_loop(self, stride):
        random = np.random.default_rng(3)
        steps = np.arange(200)
        frame = pl.DataFrame(
            {"t": steps + 50 * (steps >= 73), "a": random.normal(size=200), "b": random.normal(size=200)}
        ).with_columns(b=pl.when(pl.col("t") != 30).then("b"))
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=2.0), patch=(9,), stride=stride)
        e = model.fit(random.normal(size=(80, 2))).explain(frame, time="t")
        heat = e.heatmap(0)
        rest = {}
        for window, score in enumerate(e.score_maps[0][0]):
            start = window * stride - (1 if window * stride > 73 else 0)
            if np.isfinite(score):
                assert not start < 73 < start + 9
                assert not start <= 30 < start + 9
                rest[start] = (heat[start : start + 9].sum(), score)
        for span in odd_spans(e, 0, 100):
            best = max(rest, key=lambda start: rest[start][0])
            assert (span.start, span.stop) == (best, best + 9)
            assert (span.relevance, span.outlierness) == pytest.approx(rest[best])
            assert span.share == pytest.approx(rest[best][0] / e.outlierness[0])
            parts = heat[best : best + 9].sum(axis=0)
            assert span.channels == pytest.approx({"a": parts[0] / parts.sum(), "b": parts[1] / parts.sum()})
            assert list(span.channels.values()) == sorted(span.channels.values(), reverse=True)
            assert span.since == str(frame["t"][best])
            rest = {start: told for start, told in rest.items() if abs(start - best) >= 18}
        assert not rest

    def test_as_many_as_there_are(self, result):
        spans = odd_spans(result.explanation, 0, 100)
        assert 5 <= len(spans) <= 300 // 16


@pytest.mark.parametrize("width", [60, 80, 120])
def test_table_fits_the_terminal(result, width):
    console = Console(width=width, file=io.StringIO())
    show(result.explanation, odd_spans(result.explanation, 0, 5), console)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "heat" in text


def test_names_in_brackets_are_no_markup(tmp_path):
    frame = table().rename({"flow": "[red]flow[/red]", "heat": "[/]"})
    frame.write_csv(tmp_path / "t.csv")
    done = run(tmp_path / "t.csv", "--out", tmp_path / "odd")
    assert done.exit_code == 0
    assert "[/]" in done.stdout


def test_csv_replaces_the_old_file_only_when_complete(tmp_path, result):
    path = tmp_path / "windows.csv"
    path.write_text("old")
    spans = odd_spans(result.explanation, 0, 2)
    with pytest.raises(AttributeError):
        write_windows([*spans, None], path)
    assert path.read_text() == "old"
    write_windows(spans, path)
    assert path.read_text(encoding="utf-8").startswith("rank,from,to")
    with pytest.raises(OSError, match="cannot write"):
        write_relevance(result.explanation, tmp_path / "absent" / "relevance.csv")


class TestColumns:
    """Which columns are channels, and which one tells the time."""

    def explained(self, tmp_path, frame, test=None, **settings):
        frame.write_parquet(tmp_path / "train.parquet")
        if test is not None:
            test.write_parquet(tmp_path / "test.parquet")
        paths = [tmp_path / "train.parquet", *([tmp_path / "test.parquet"] if test is not None else [])]
        return explain_series(*paths, settings=Settings(**{"window": 16, **settings}))

    def test_chosen_and_dropped(self, tmp_path):
        assert self.explained(tmp_path, table(), columns=("heat",)).explanation.channels == ("heat",)
        found = self.explained(tmp_path, table(), drop=("heat", "shift"))
        assert (found.explanation.channels, found.notes) == (("flow",), ())
        assert found.explanation.items[0].times is not None

    def test_time_by_name_and_rows_as_steps(self, tmp_path):
        frame = table().with_columns(t=pl.int_range(300) * 2)
        found = self.explained(tmp_path, frame, time="t", drop=("when",)).explanation
        assert found.channels == ("flow", "heat")
        assert found.items[0].times[1] == 2
        assert self.explained(tmp_path, table(), drop=("when",)).explanation.items[0].times is None

    def test_order_of_columns_does_not_matter(self, tmp_path):
        turned = self.explained(tmp_path, table(), table(seed=1).select("heat", "when", "flow")).explanation
        straight = self.explained(tmp_path, table(), table(seed=1)).explanation
        np.testing.assert_array_equal(turned.heatmap(0), straight.heatmap(0))

    def test_more_columns_to_explain_than_learned(self, tmp_path):
        found = self.explained(tmp_path, table(), table(seed=1).with_columns(label=1))
        assert found.explanation.channels == ("flow", "heat")
        assert any("ignored since" in note and note.endswith("label.") for note in found.notes)

    def test_a_channel_that_never_varies(self, tmp_path):
        found = self.explained(tmp_path, table().with_columns(valve=1.0), table().with_columns(valve=2.0))
        assert any("never varies" in note and note.endswith("valve.") for note in found.notes)
        assert found.explanation.by_channel(0)["valve"] > 0

    def test_windows_with_gaps_are_left_out_and_told(self, tmp_path):
        gaps = table().with_columns(flow=pl.when(pl.int_range(300) != 50).then("flow"))
        found = self.explained(tmp_path, table(), gaps)
        assert any(note.endswith("16 of 285 windows have gaps and are left out.") for note in found.notes)
        jumps = table().filter(pl.int_range(300) != 50)
        found = self.explained(tmp_path, jumps)
        assert any("15 of 285 windows" in note or "16 of 285 windows" in note for note in found.notes)

    @pytest.mark.parametrize(
        ("changes", "settings", "message"),
        [
            ({}, {"window": 400}, r"has 300 rows, fewer than a window of 400\. Use a smaller --window"),
            ({}, {"columns": ("pressure",)}, r"no column 'pressure'\. It has: when, flow, heat, shift"),
            ({}, {"drop": ("pressure",)}, "no column 'pressure'"),
            ({}, {"columns": ("shift",)}, "Column 'shift' of .* holds no numbers"),
            ({}, {"drop": ("flow", "heat")}, "no column of numbers to use"),
            ({}, {"time": "shift"}, r"train\.parquet: Column 'shift' .* must hold dates or numbers"),
            ({}, {"time": "t"}, r"train\.parquet has no column 't'\. It has: when, flow, heat, shift"),
            ({"flow": pl.lit(1.0), "heat": pl.lit(2.0)}, {}, "no channel ever varies"),
            (
                {"flow": pl.when(pl.int_range(300) % 10 < 3).then("flow")}, {},
                r"0 of 285 windows of 16 rows are without gaps \('flow' lacks 70% of its values\)",
            ),
            ({"heat": pl.lit(None, dtype=pl.Float64)}, {}, "'heat' lacks 100% of its values"),
            ({"when": pl.col("when").reverse()}, {}, "Time does not go forward at row 1"),
            ({"when": pl.col("when").max()}, {}, "Time does not go forward at row 1"),
            ({}, {"stride": 400}, r"has room for 1 window, expected at least 2\. Use a smaller --stride"),
            ({"heat": pl.lit(float("inf"))}, {}, r"train\.parquet: The item holds infinite values"),
            ({"also": pl.col("when")}, {}, "several columns of dates: 'when', 'also'"),
        ],
    )  # fmt: skip
    def test_clear_errors(self, tmp_path, changes, settings, message):
        with pytest.raises(ValueError, match=message):
            self.explained(tmp_path, table().with_columns(**changes), **settings)

    def test_a_channel_is_missing(self, tmp_path):
        for test in (table().drop("heat"), table().with_columns(heat=pl.lit("hot"))):
            with pytest.raises(
                ValueError, match=r"test\.parquet has no column 'heat' of numbers, which .*train"
            ):
                self.explained(tmp_path, table(), test)

    def test_too_few_rows_to_explain(self, tmp_path):
        with pytest.raises(ValueError, match=r"test\.parquet has 10 rows, fewer than a window of 16"):
            self.explained(tmp_path, table(), table(10))


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

    def test_the_same_seed_gives_the_same_bytes(self, files, tmp_path):
        for name in ("a", "b"):
            arguments = ("--max-patches", 100, "--seed", 3, "--out", tmp_path / name, "--stride", 2)
            assert run(files / "train.csv", files / "test.csv", *arguments).exit_code == 0
        for name in ("relevance.csv", "windows.csv", "series.png"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
