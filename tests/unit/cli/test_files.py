"""Options that say how a file is read, and notes on it in all that is shown."""

import json

import pytest
from typer.testing import CliRunner

from made_up.orders import orders
from whyodd.cli.app import app

openpyxl = pytest.importorskip("openpyxl")
FRAME = orders(60)


def run(command, *arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, *map(str, arguments), "--quiet"])


@pytest.fixture
def workbook(tmp_path):
    """Two sheets, with a title above the names."""
    book = openpyxl.Workbook()
    book.active.title = "old"
    for sheet in (book.active, book.create_sheet("new")):
        sheet.append(["Orders of March"])
        sheet.append(FRAME.columns)
        for row in FRAME.rows():
            sheet.append(row)
    book.save(tmp_path / "orders.xlsx")
    return tmp_path / "orders.xlsx"


def test_a_sheet_is_asked_for(workbook):
    done = run("score", workbook)
    assert done.exit_code == 1
    assert "has 2 sheets: 'old', 'new'. Choose one with --sheet." in done.stderr


@pytest.mark.parametrize("command", ["explain", "score", "fit", "evaluate"])
def test_a_sheet_is_read_and_what_was_left_out_is_told(workbook, tmp_path, command):
    out = ("--out", tmp_path / "model.whyodd") if command == "fit" else ()
    done = run(command, workbook, "--sheet", "new", "--drop", "order", "--json", *out)
    assert done.exit_code == 0, done.output
    note = f"{workbook}: left out 1 line above the column names ('Orders of March')."
    assert f"Note: {note}\n" in done.stderr
    assert note in json.loads(done.stdout)["notes"]


def test_notes_reach_the_report_and_its_command_the_options(workbook, tmp_path):
    done = run("explain", workbook, "--sheet", "new", "--report", tmp_path / "r.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "above the column names" in page
    assert "--sheet new" in page


def test_an_encoding_that_is_given(tmp_path):
    text = FRAME.write_csv().replace("amount", "größe")
    (tmp_path / "t.csv").write_bytes(text.encode("cp1252"))
    done = run("score", tmp_path / "t.csv", "--encoding", "cp1252")
    assert done.exit_code == 0, done.output
    assert "was read as" not in done.stderr
    done = run("score", tmp_path / "t.csv", "--encoding", "utf-8")
    assert done.exit_code == 1
    assert "it is not utf-8 text after line 1" in done.stderr
