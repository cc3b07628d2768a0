"""``whyodd columns`` and ``--type``: what each column is, why, and who has the last word."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
from whyodd.cli.app import app

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "order_id": np.arange(1000, 1100),
        "store": RNG.choice([101, 102, 103], 100),
        "weight_kg": RNG.normal(1.2, 0.1, 100).round(3),
        "items": RNG.poisson(5, 100),
        "member": RNG.choice(["yes", "no"], 100),
        "[red]note": [None, *["x" * 200, "y"] * 49, "y"],
    }
)


def run(*arguments, columns=200):
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, list(map(str, arguments)))


@pytest.fixture
def table(tmp_path):
    FRAME.write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def test_says_what_each_column_is_and_why(table):
    done = run("columns", table)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = {line.split("  ")[0]: line for line in done.stdout.splitlines()}
    assert "100 rows, 6 columns, 1 of them set aside." in done.stdout
    for name, *words in (
        ("order_id", "identifier", "set aside: all its whole numbers differ", "100", "1000 to 1099"),
        ("store", "code", "its name ends in 'store'", "3", "101", "102", "103"),
        ("weight_kg", "number", "not all whole", " - "),
        ("items", "count", "whole numbers, none below 0"),
        ("member", "yes/no", "2", "'yes'", "'no'"),
        ("[red]note", "category", "  1  ", "…"),  # no markup, and cut
    ):
        assert all(word in lines[name] for word in words), lines[name]


def test_lines_are_not_broken_in_a_pipe(table):
    done = run("columns", table, columns=40)
    assert len(done.stdout.strip().splitlines()) == 2 + 1 + len(FRAME.columns)


def test_all_of_it_as_json(table):
    told = json.loads(run("columns", table, "--json", "--drop", "order_id", "--type", "items=code").stdout)
    assert told["rows"] == 100
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds == {
        "store": "code",
        "weight_kg": "number",
        "items": "code",
        "member": "yes/no",
        "[red]note": "category",
    }
    assert {"used", "note", "why", "gaps", "distinct", "values"} <= told["columns"][0].keys()
    assert told["columns"][2]["why"] == "you say so"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("stor=code", "a column that does not exist: 'stor'. Did you mean 'store'?"),
        ("Store=code", "Did you mean 'store'?"),
        (
            "store=cod",
            "'cod' is not a kind of column. Did you mean 'code'? Choose among: number, count, code",
        ),
        ("store=constant", "'constant' is not a kind of column."),
        ("store", "expected a column and its kind, for example store=code"),
        ("=code", "expected a column and its kind"),
        ("member=number", "Column 'member' has 'yes' in row 0"),
        ("items=date", "Column 'items' cannot be of the kind 'date': its values are of the kind number."),
        ("items=yes/no", "Column 'items' cannot be of the kind 'yes/no': it has"),
        ("items=duration", "cannot be of the kind 'duration'"),
        ("member=ordered category", "the order of its values is unknown"),
    ],
)
@pytest.mark.parametrize("command", ["columns", "explain", "fit"])
def test_a_wrong_type_is_one_sentence(table, tmp_path, command, option, words):
    more = ["--out", tmp_path / "m.whyodd"] if command == "fit" else []
    done = run(command, table, "--type", option, *more)
    assert done.exit_code != 0
    assert words.replace(" ", "") in "".join(done.stderr.replace("│", "").split()), done.stderr
    assert "Traceback" not in done.stderr


def test_a_type_holds_from_fit_to_the_file(table, tmp_path):
    out = tmp_path / "m.whyodd"
    assert run("fit", table, "--type", "items=category", "--out", out, "--quiet").exit_code == 0
    kinds = {column.name: column.kind for column in whyodd.load(out).auto_report_.columns}
    assert kinds["items"] == "category"
    done = run("explain", table, "--model", out, "--type", "items=count")
    assert done.exit_code != 0
    assert "--type cannot be used with --model" in done.stderr


def test_the_command_in_the_report_has_the_types(table):
    told = json.loads(run("explain", table, "--type", "items=code", "--json", "--quiet").stdout)
    assert "--type items=code" in told["made_by"]
    (items,) = [column for column in told["columns"]["used"] if column["name"] == "items"]
    assert items["kind"] == "code"
