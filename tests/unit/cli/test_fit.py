"""``whyodd fit``: the model of the API in a file, and what was made of the table on the terminal."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import whyodd
from made_up.orders import orders
from whyodd.cli.app import app
from whyodd.explanations.sentences import number

FRAME = orders()
USED = FRAME.drop("order")


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["fit", *map(str, arguments)])


@pytest.fixture(scope="module")
def model():
    return whyodd.auto(USED)


@pytest.fixture
def table(tmp_path):
    FRAME.write_csv(tmp_path / "orders.csv")
    return tmp_path / "orders.csv"


def test_writes_the_model_and_prints_its_report(table, tmp_path, model):
    out = tmp_path / "model.whyodd"
    done = run(table, "--id-column", "order", "--out", out, "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    loaded = whyodd.load(out)
    new = orders(50, seed=3).drop("order")
    np.testing.assert_array_equal(whyodd.explain(loaded, new).relevance, whyodd.explain(model, new).relevance)
    assert loaded[-1].threshold_ == model[-1].threshold_
    assert str(model.auto_report_) in done.stdout
    assert f"threshold: outlierness {number(model[-1].threshold_)}" in done.stdout
    assert f"Written: {out}" in done.stdout
    again = run(table, "--id-column", "order", "--out", out, "--quiet")
    assert f"Replaced: {out}" in again.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.whyodd", "orders.csv"]


def test_writes_beside_people_by_default(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(table, "--drop", "order", "--quiet").exit_code == 0
    assert (tmp_path / "model.whyodd").exists()


def test_json(table, tmp_path, model):
    done = run(table, "--drop", "order", "--out", tmp_path / "m.whyodd", "--json", "--quiet")
    told = json.loads(done.stdout)
    report = model.auto_report_
    assert (told["rows"], told["fitted_rows"]) == (300, model[-1].network_.n_centers)
    assert told["model"] == report.told
    assert told["threshold"] == model[-1].threshold_
    assert {column["name"]: column["kind"] for column in told["columns"]} == {
        column.name: column.kind for column in report.columns
    }


def test_trusted_rows_are_those_of_train(table, tmp_path):
    out = tmp_path / "m.whyodd"
    new = orders(50, seed=3).drop("order")
    trusted = whyodd.auto(USED, trusted=True)
    for share, threshold in ((None, trusted[-1].threshold_), (0.02, None)):
        options = () if share is None else ("--share", share)
        done = run(table, "--drop", "order", "--trusted", *options, "--out", out, "--quiet")
        assert done.exit_code == 0, done.stderr
        loaded = whyodd.load(out)
        np.testing.assert_array_equal(
            whyodd.explain(loaded, new).relevance, whyodd.explain(trusted, new).relevance
        )
        if threshold is None:
            threshold = np.quantile(whyodd.explain(trusted, USED).outlierness, 1.0 - share)
        assert loaded[-1].threshold_ == pytest.approx(threshold, rel=1e-9)


def test_share_sets_the_threshold_of_the_model(table, tmp_path, model):
    out = tmp_path / "m.whyodd"
    assert run(table, "--drop", "order", "--share", 0.02, "--out", out, "--quiet").exit_code == 0
    loaded = whyodd.load(out)
    outlierness = whyodd.explain(model, USED).outlierness
    assert loaded[-1].threshold_ == pytest.approx(np.quantile(outlierness, 0.98), rel=1e-9)
    assert whyodd.explain(loaded, USED).threshold == loaded[-1].threshold_


def test_a_seed_draws_other_rows(table, tmp_path):
    """Of more rows than are learned from."""
    out = tmp_path / "m.whyodd"
    orders(1500).write_csv(table)
    first, other, again = (
        json.loads(run(table, "--drop", "order", "--seed", seed, "--out", out, "--json", "--quiet").stdout)
        for seed in (0, 1, 0)
    )
    assert first == again
    assert first["threshold"] != other["threshold"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{folder}/none.csv",), "There is no file"),
        (("{folder}/orders.csv", "--out", "{folder}"), "is a folder, expected the name of a file"),
        (("{folder}/orders.csv", "--out", "{folder}/none/m.whyodd"), "there is no folder"),
        (
            ("{folder}/orders.csv", "--out", "{folder}/orders.csv"),
            "would replace a file that this command also reads",
        ),
    ],
)
def test_errors_before_the_work(table, arguments, message):
    done = run(*(argument.format(folder=table.parent) for argument in arguments))
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    assert [path.name for path in table.parent.iterdir()] == ["orders.csv"]


def test_help_has_an_example():
    assert "whyodd fit normal.csv --drop id --out model.whyodd" in run("--help").stdout
