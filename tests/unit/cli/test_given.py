"""``--given``: context from the command line to the page, saved models, parts and streams."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
from whyodd.cli.app import app
from whyodd.io.saved_estimators import check_estimators
from whyodd.scale.stream import Watcher

ODD = "orders is too high for machine 'B' and hour 3 (90, usually "


def run(*arguments):
    return CliRunner(env={"COLUMNS": "300"}).invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Orders follow the hour and the machine; one row has those of another hour."""
    rng = np.random.default_rng(0)
    n = 400
    hour, machine = rng.integers(0, 6, n), rng.choice(["A", "B"], n)
    orders = rng.poisson(20 * hour + np.where(machine == "A", 5, 15)).astype(float)
    hour[7], machine[7] = 3, "B"
    orders[hour == 3] = rng.poisson(15, int((hour == 3).sum()))
    orders[7] = 90.0
    frame = pl.DataFrame({"hour": hour, "machine": machine, "orders": orders, "free": rng.normal(size=n)})
    path = tmp_path_factory.mktemp("given") / "orders.csv"
    frame.write_csv(path)
    return path


@pytest.fixture(scope="module")
def model(table):
    path = table.parent / "model.whyodd"
    done = run("fit", table, "--given", "machine,hour", "--out", path, "--quiet")
    assert done.exit_code == 0, done.output
    assert "each row among rows alike in machine and hour" in done.stdout
    assert "machine: context (category): each row is compared with rows that are alike in it" in done.stdout
    return path


def test_the_terminal_and_the_page_name_the_context(table, tmp_path):
    page = tmp_path / "page.html"
    done = run("explain", table, "--given", "machine,hour", "--top", 1, "--report", page, "--quiet")
    assert done.exit_code == 0, done.output
    assert ODD in done.stdout
    shown = page.read_text("utf-8").replace("&#39;", "'")
    assert ODD in shown
    assert "rows alike in context: machine 'B' and hour 3." in shown
    assert "--given machine,hour" in shown


def test_a_saved_model_scores_explains_and_watches_in_context(table, model, tmp_path):
    done = run("explain", table, "--model", model, "--json", "--quiet")
    card = json.loads(done.stdout)["anomalies"][0]
    assert (card["row"], card["reasons"][0]["name"]) == (7, "orders")
    assert card["why"].startswith(ODD)
    usual = card["reasons"][0]["usual"]
    assert card["why"].startswith(f"{ODD}{usual['low']} to {usual['high']})")
    assert card["change"]["sentence"].startswith("With orders ")
    scored = json.loads(run("score", table, "--model", model, "--json", "--quiet").stdout)
    assert scored["top"][0]["row"] == 7
    parts = tmp_path / "parts"
    parts.mkdir()
    frame = pl.read_csv(table)
    frame[:20].write_csv(parts / "a.csv")
    frame[20:40].write_csv(parts / "b.csv")
    done = run("explain", parts, "--model", model, "--out", tmp_path / "out", "--quiet")
    assert done.exit_code == 0, done.output
    assert ODD in done.stdout
    row = {"hour": 3, "machine": "B", "orders": 90.0, "free": 0.0}
    told = Watcher(whyodd.load(model)).explain_one(row)
    assert told["reasons"][0]["words"].startswith(ODD)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--given", "Hour"), "There is no column 'Hour' to use as context. Did you mean 'hour'?"),
        (("--given", "hour", "--id-column", "hour"), "Column 'hour' names the rows"),
        (("--given", "hour", "--model", "m"), "--given cannot be used with --model"),
        (("--given", "hour,machine,orders,free"), "which leaves no column to judge"),
    ],
)
def test_what_cannot_be_is_one_sentence(table, model, options, told):
    options = [model if option == "m" else option for option in options]
    done = run("explain", table, *options, "--quiet")
    assert done.exit_code in (1, 2)
    assert told in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.output


def test_parts_and_forgetting_streams_do_not_learn_a_context(table, model, tmp_path):
    done = run("explain", table, table, "--given", "hour", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "--given does not work with a table in parts" in done.stderr
    with pytest.raises(ValueError, match="such a model cannot keep learning from a stream"):
        Watcher(whyodd.load(model), forget=1_000)


@pytest.mark.parametrize("damage", ["codes", "labels_", "points", "extent_", "contexts"])
def test_a_step_that_was_tampered_with_is_refused(model, damage):
    pipeline = whyodd.load(model)
    step = pipeline.named_steps["columns"].transformers_[0][1]
    check_estimators(pipeline)
    if damage == "codes":
        object.__setattr__(step.known_, "codes", step.known_.codes[:, :1])
    elif damage == "points":
        object.__setattr__(step.known_, "points", step.known_.points * np.nan)
    elif damage == "labels_":
        step.labels_ = [np.array(["x"], dtype=object)]
    elif damage == "extent_":
        step.extent_ = step.extent_[:1]
    else:
        step.contexts = ("number", "number")
    with pytest.raises(ValueError, match="of a GivenContext"):
        check_estimators(pipeline)
