"""The command ``whyodd text``."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
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
    assert len(lines) == 2
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
        ValueError, match=r"has 2 columns of texts, expected one: name the messages with --column"
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
