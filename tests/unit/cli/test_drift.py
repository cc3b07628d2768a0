"""``whyodd drift`` as people run it: what it prints and writes is what the API says."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
from whyodd.cli.app import app


def table(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    frame = {
        "amount": (rng.normal(40, 5, 60) + shift).round(2),
        "age": rng.normal(40, 9, 60).round(1),
        "plan": rng.choice(["basic", "pro"], 60),
    }
    return pl.DataFrame(frame)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table(0).write_csv(folder / "old.csv")
    table(1, shift=20.0).with_columns(extra=pl.lit(1)).write_parquet(folder / "new.parquet")
    (folder / "empty.csv").write_text("")
    (folder / "head.csv").write_text("amount,age,plan\n")
    return folder


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["drift", *map(str, arguments), "--quiet"])


def test_says_what_changed(folder):
    found = run(folder / "old.csv", folder / "new.parquet")
    assert found.exit_code == 0, found.output
    assert " 1. amount rose from 40" in found.stdout
    assert "more than chance" in found.stdout
    assert "Note: Only the new table has 'extra': not compared." in found.stderr


def test_json_table_and_page_tell_what_the_api_tells(folder):
    page, lines = folder / "page.html", folder / "changes.csv"
    found = run(folder / "old.csv", folder / "new.parquet", "--json", "--report", page, "--out", lines)
    told = json.loads(found.stdout)
    expected = whyodd.compare(table(0), table(1, shift=20.0)).to_dict()
    for key in ("changes", "columns", "distance", "p_value", "pictures", "headline"):
        assert told[key] == expected[key]
    assert told["names"] == ["old.csv", "new.parquet"]
    assert "<h1><bdi>old.csv</bdi> → <bdi>new.parquet</bdi></h1>" in page.read_text("utf-8")
    assert pl.read_csv(lines)["change"].to_list() == [change["words"] for change in expected["changes"]]


def test_chosen_columns(folder):
    found = run(folder / "old.csv", folder / "new.parquet", "--columns", "age,plan")
    assert "Nothing changed beyond chance" in found.stdout
    assert run(folder / "old.csv", folder / "new.parquet", "--drop", "amount,extra").stdout == found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old.csv", "none.csv"), "There is no file"),
        (("old.csv", "empty.csv"), "is empty"),
        (("old.csv", "head.csv"), "rows"),
        (("old.csv", "new.parquet", "--columns", "amuont"), "has no column 'amuont'"),
        (("old.csv", "new.parquet", "--type", "plan=number"), "plan"),
        (("old.csv", "new.parquet", "--out", "changes.txt"), "expected a name that ends in .csv"),
        (("old.csv", "new.parquet", "--out", "old.csv"), "would replace a file that this command also reads"),
    ],
)
def test_mistakes_are_one_sentence(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    found = run(*arguments)
    assert found.exit_code == 1, found.output
    assert message in found.stderr
    assert "Traceback" not in found.output
