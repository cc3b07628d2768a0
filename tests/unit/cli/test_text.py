"""The command ``whyodd text``."""

import json
import os
import shutil
import signal
import sys
import time

import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
from made_up.command import start
from whyodd.cli.app import app
from whyodd.cli.text import read_messages, shaded

SUBJECTS = ("pump", "valve", "engine", "filter")
NORMAL = [f"the {a} is {b} today" for a in SUBJECTS for b in ("open", "shut", "warm") for _ in range(3)]
HOSTILE = "<script>alert(1)</script> [bold]the pump[/bold] \x1b[31m explodes"


def run(*arguments):
    return CliRunner().invoke(app, ["text", *map(str, arguments)])


@pytest.fixture
def files(tmp_path):
    pl.DataFrame({"id": range(len(NORMAL)), "comment": NORMAL}).write_csv(tmp_path / "normal.csv")
    pl.DataFrame({"comment": ["the valve is open today", HOSTILE, None]}).write_ndjson(
        tmp_path / "test.jsonl"
    )
    return tmp_path


def test_messages_words_page_and_lines(files):
    out, report = files / "words.jsonl", files / "report.html"
    options = ("--column", "comment", "--sigma", 2, "--top", 2, "--report", report, "--out", out, "--quiet")
    done = run(files / "normal.csv", files / "test.jsonl", *options)
    assert done.exit_code == 0, done.stderr
    assert "1 messages are missing and count as empty" in done.stderr
    assert "explodes" in done.stdout
    assert "\x1b[31m" not in done.stdout
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 3
    model = whyodd.TextModel(sigma=2.0).fit(NORMAL)
    e = model.explain(["the valve is open today", HOSTILE, ""])
    for line in lines:
        assert line["outlierness"] == pytest.approx(e.outlierness[line["row"]])
        for token in line["tokens"]:
            assert line["text"][token["start"] : token["end"]] == token["text"]
    page = report.read_text()
    assert page.count("<script") == 1  # the page's own
    assert "&lt;" in page
    assert "3 messages" in page


def test_json_and_self(files):
    done = run(files / "normal.csv", "--column", "comment", "--json", "--quiet", "--top", 3)
    assert done.exit_code == 0, done.stderr
    assert [len(json.loads(line)["tokens"]) for line in done.stdout.splitlines()] == [5, 5, 5]


def test_without_their_length_messages_are_compared_at_their_usual_distance(files):
    options = ("--column", "comment", "--normalize", "--json", "--quiet", "--top", 1)
    line = json.loads(run(files / "normal.csv", files / "test.jsonl", *options).stdout)
    model = whyodd.TextModel(sigma="median", normalize=True).fit(NORMAL)
    assert line["outlierness"] == pytest.approx(model.outlierness([line["text"]])[0])


def test_the_only_column_of_texts_is_found(files):
    assert read_messages(files / "normal.csv", None)[0] == NORMAL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.csv",), "There is no file"),
        (("normal.csv", "--column", "body"), "has no column 'body'. It has: id, comment."),
        (("normal.csv", "--language", "klingon"), "language='klingon': expected one of"),
        (("normal.csv", "--min-df", "1000"), "No term is in at least min_df=1000"),
    ],
)
def test_clear_errors(files, arguments, message):
    done = run(files / arguments[0], *arguments[1:])
    assert done.exit_code == 1
    assert message in done.stderr.replace("\n", " ")


def test_two_columns_of_texts_must_be_told_apart(tmp_path):
    pl.DataFrame({"a": ["x"], "b": ["y"]}).write_csv(tmp_path / "two.csv")
    with pytest.raises(
        ValueError, match=r"has 2 text columns, expected one: choose the messages with --column"
    ):
        read_messages(tmp_path / "two.csv", None)


def test_wrong_usage(files):
    assert run(files / "normal.csv", "--top", 0).exit_code == 2


def test_words_are_shaded_on_the_terminal():
    e = whyodd.TextModel(sigma=2.0).fit(NORMAL).explain(["the pump explodes"])
    view = shaded(e, 0, max(word.relevance for word in e.tokens(0)))
    assert view.plain == "the pump explodes"
    strongest = [span for span in view.spans if view.plain[span.start : span.end] == "explodes"]
    assert strongest
    assert "on rgb(217,98,43)" in str(strongest[0].style)


def test_defaults_write_the_whole_table(files):
    out = files / "scores.csv"
    done = run(files / "normal.csv", files / "test.jsonl", "--column", "comment", "--out", out, "--quiet")
    assert done.exit_code == 0, done.stderr
    table = pl.read_csv(out)
    assert table.columns == ["row", "outlierness", "p_value", "is_odd", "reasons"]
    model = whyodd.TextModel().fit(NORMAL)
    texts = ["the valve is open today", HOSTILE, ""]
    assert table["outlierness"].to_list() == pytest.approx(model.outlierness(texts).tolist())
    assert table["p_value"].to_list() == pytest.approx(model.p_values(texts).tolist())
    assert table["is_odd"].to_list() == [False, True, False]
    assert table["reasons"][1] == model.explain(texts).why(1)
    assert "1 messages have no words" in done.stderr
    assert "times as odd as a usual message of its length" in done.stdout.replace("\n", " ")


def test_messages_from_a_pipe(files):
    arguments = ["text", "-", "--column", "comment", "--out", str(files / "scores.csv"), "--quiet"]
    done = CliRunner().invoke(app, arguments, input=(files / "normal.csv").read_text())
    assert done.exit_code == 0, done.stderr
    assert len(pl.read_csv(files / "scores.csv")) == len(NORMAL)


@pytest.mark.parametrize("ending", [".parquet", ".tsv", ".jsonl"])
def test_other_tables(files, ending):
    out = files / f"scores{ending}"
    options = ("--column", "comment", "--id-column", "id", "--out", out, "--quiet")
    done = run(files / "normal.csv", *options)
    assert done.exit_code == 0, done.stderr
    read = {".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson}
    table = read.get(ending, lambda path: pl.read_csv(path, separator="\t"))(out)
    assert len(table) == len(NORMAL)
    assert {"row", "id", "outlierness", "p_value", "is_odd"} <= set(table.columns)
    alone = whyodd.TextModel().fit(NORMAL).explain(NORMAL).outlierness
    assert table["outlierness"].to_list() == pytest.approx(alone.tolist())


@pytest.mark.parametrize("options", [(), ("--subwords",), ("--paper",)])
def test_a_saved_model_judges_the_same(files, options):
    first, again, kept = files / "first.csv", files / "again.csv", files / "model.whyodd"
    usual = ("--column", "comment", "--quiet", "--out")
    done = run(files / "normal.csv", files / "test.jsonl", *usual, first, "--save", kept, *options)
    assert done.exit_code == 0, done.stderr
    done = run(files / "test.jsonl", "--model", kept, *usual, again)
    assert done.exit_code == 0, done.stderr
    assert again.read_text() == first.read_text()


def test_false_alarms_move_the_threshold_and_are_saved(files):
    kept, out = files / "model.whyodd", files / "scores.csv"
    options = ("--column", "comment", "--false-alarms", 0.3, "--save", kept, "--out", out, "--quiet")
    done = run(files / "normal.csv", *options)
    assert done.exit_code == 0, done.stderr
    model = whyodd.TextModel(false_alarms=0.3).fit(NORMAL)
    assert whyodd.load(kept).threshold_ == model.threshold_
    odd = model.explain(NORMAL).outlierness > model.threshold_
    assert pl.read_csv(out)["is_odd"].to_list() == odd.tolist()


def test_models_and_files_that_do_not_fit_are_told(files):
    kept = files / "model.whyodd"
    whyodd.save(whyodd.KernelDensity(sigma=1.0).fit([[0.0], [1.0]]), kept)
    done = run(files / "normal.csv", "--model", kept, "--column", "comment")
    assert done.exit_code == 1
    assert "holds a KernelDensity, expected a model written by whyodd text --save" in done.stderr.replace(
        "\n", " "
    )
    assert run(files / "normal.csv", files / "test.jsonl", "--model", kept).exit_code == 2
    done = run(files / "normal.csv", "--column", "comment", "--out", files / "normal.csv")
    assert done.exit_code == 1
    assert "would replace a file that this command also reads" in done.stderr.replace("\n", " ")
    done = run(files / "normal.csv", "--column", "comment", "--out", files / "x.txt")
    assert done.exit_code == 1
    assert not (files / "x.txt").exists()


def test_only_few_words_are_shaded_by_default():
    e = whyodd.TextModel().fit(NORMAL).explain(["the pump is moronic today"])
    view = shaded(e, 0, 1.0)
    assert [view.plain[span.start : span.end] for span in view.spans] == ["moronic"]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    words = [f"{a}{b}" for a in "abcdefgh" for b in ("one", "two", "ten")]
    texts = [" ".join(words[(i * k + k) % 24] for k in range(1, 9)) for i in range(3_200)]
    pl.DataFrame({"comment": [*texts, None]}).write_csv(folder / "many.csv")
    whyodd.save(whyodd.TextModel().fit(texts[:300]), folder / "model.whyodd")
    return folder


def command(folder, out):
    return (folder / "many.csv", "--model", folder / "model.whyodd", "--column", "comment", "--out", out)


@pytest.fixture(scope="module")
def whole(many):
    """What runs write that nothing stops."""
    found = {}
    for ending in (".csv", ".jsonl"):
        out = many / f"whole{ending}"
        assert run(*command(many, out)).exit_code == 0
        found[ending] = out.read_bytes()
    assert found[".csv"].count(b"\n") == 3_202
    assert not list(many.glob("*unfinished*"))
    return found


class TestInterrupted:
    """Whatever stops a run with --out, no message is lost, and the next run judges the others alone."""

    @staticmethod
    def count(monkeypatch, stop=None):
        """Let the model count the messages it explains, and stop at the k-th call as Ctrl-C does."""
        asked, explain = [], whyodd.TextModel.explain_some

        def counted(self, messages, rows, **more):
            if len(asked) == stop:
                raise KeyboardInterrupt
            asked.append(len(rows))
            return explain(self, messages, rows, **more)

        monkeypatch.setattr(whyodd.TextModel, "explain_some", counted)
        return asked

    @pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
    @pytest.mark.parametrize(
        ("number", "ending"), [(signal.SIGKILL, ".csv"), (signal.SIGKILL, ".jsonl"), (signal.SIGINT, ".csv")]
    )
    @pytest.mark.race
    def test_processes_that_are_stopped(self, many, whole, tmp_path, number, ending):
        """Stopped twice, each time as soon as a few more messages are judged."""
        out, errors = tmp_path / f"scores{ending}", tmp_path / "errors"
        out.write_text("old")
        unfinished, lines = tmp_path / f"scores{ending}.unfinished.jsonl", 1
        for _ in range(2):
            process = start(("text", *command(many, out)), tmp_path / "printed", errors)
            while process.is_alive() and count_lines(unfinished) <= lines:
                time.sleep(0.0005)
            os.kill(process.pid, number)
            process.join(60)
            assert process.exitcode == (130 if number == signal.SIGINT else -signal.SIGKILL)
            assert count_lines(unfinished) > lines
            assert out.read_text() == "old"
            lines = count_lines(unfinished)
        if number == signal.SIGINT:
            assert errors.read_text().splitlines()[-1] == "Interrupted."
            assert "Traceback" not in errors.read_text()
        done = run(*command(many, out))
        assert done.exit_code == 0
        assert "messages were already judged by an interrupted run" in done.stderr
        assert out.read_bytes() == whole[ending]
        assert not unfinished.exists()

    def test_judges_the_rest_alone(self, many, whole, tmp_path, monkeypatch):
        out = tmp_path / "scores.csv"
        with monkeypatch.context() as patch:
            self.count(patch, stop=3)
            stopped = run(*command(many, out))
        assert stopped.exit_code == 130
        said = " ".join(stopped.stderr.split())
        assert said.endswith(
            "1,500 of 3,201 messages are judged: run the same command again to continue. Interrupted."
        )
        asked = self.count(monkeypatch)
        again = run(*command(many, out))
        assert again.exit_code == 0, again.stderr
        assert "1,500 of 3,201 messages were already judged" in again.stderr
        assert asked[:4] == [500, 500, 500, 201]  # then those that are shown
        assert out.read_bytes() == whole[".csv"]

    @pytest.mark.parametrize("change", ["messages", "model", "options", "cut off", "twice", "garbage"])
    def test_what_has_changed_since(self, many, whole, tmp_path, monkeypatch, change):
        folder = tmp_path / "copy"
        shutil.copytree(many, folder)
        out = tmp_path / "scores.csv"
        unfinished = tmp_path / "scores.csv.unfinished.jsonl"
        options = ()
        with monkeypatch.context() as patch:
            self.count(patch, stop=3)
            run(*command(folder, out))
        expected = {"messages": 3_201, "model": 3_201, "options": 3_201, "cut off": 2_201, "twice": 1_701,
                    "garbage": 3_201}[change]  # fmt: skip
        if change == "messages":
            (folder / "many.csv").write_bytes((folder / "many.csv").read_bytes())
        elif change == "model":
            whyodd.save(whyodd.load(folder / "model.whyodd"), folder / "model.whyodd")
        elif change == "options":
            options = ("--false-alarms", 0.011)
        elif change == "cut off":  # amid the second block, as when the power fails
            unfinished.write_bytes(b"".join(unfinished.read_bytes().splitlines(True)[:1200])[:-30])
        elif change == "twice":
            lines = unfinished.read_bytes().splitlines(True)
            unfinished.write_bytes(b"".join([*lines[:700], *lines[600:]]))
        else:
            unfinished.write_bytes(b"\xff\x00{" * 100)
        asked = self.count(monkeypatch)
        again = run(*command(folder, out), *options)
        assert again.exit_code == 0, again.stderr
        assert sum(asked) - asked[-1] == expected
        if change != "options":
            assert out.read_bytes() == whole[".csv"]

    def test_another_run_at_the_same_time(self, many, tmp_path, monkeypatch):
        out = tmp_path / "scores.csv"
        explain = whyodd.TextModel.explain_some

        def disturbed(self, messages, rows, **more):
            if rows[0] == 1_000:
                (tmp_path / "scores.csv.unfinished.jsonl").write_text("")
            return explain(self, messages, rows, **more)

        monkeypatch.setattr(whyodd.TextModel, "explain_some", disturbed)
        done = run(*command(many, out))
        assert done.exit_code == 1
        assert "another run is writing to it" in done.stderr.replace("\n", " ")
        assert not out.exists()

    def test_a_model_is_kept_before_it_judges(self, files, monkeypatch):
        self.count(monkeypatch, stop=0)
        kept = files / "model.whyodd"
        done = run(files / "normal.csv", "--column", "comment", "--save", kept, "--out", files / "x.csv")
        assert done.exit_code == 130
        assert whyodd.load(kept).messages_ == tuple(NORMAL)


def count_lines(path):
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
