"""``whyodd score``: the outlierness of every row, as the API has it."""

import io
import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
from made_up.orders import orders
from whyodd.cli.app import app
from whyodd.explanations.sentences import number

FRAME = orders()
USED = FRAME.drop("order")


def run(*arguments, **options):
    runner = CliRunner(env={"COLUMNS": "100"})
    return runner.invoke(app, ["score", *map(str, arguments)], **options)


@pytest.fixture(scope="module")
def model():
    return whyodd.auto(USED)


@pytest.fixture(scope="module")
def e(model):
    return whyodd.explain(model, USED)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("score") / "orders.csv"
    FRAME.write_csv(path)
    return path


@pytest.fixture(scope="module")
def saved(table, model):
    """The model in a file: what is not about learning need not learn again."""
    whyodd.save(model, table.with_name("model.whyodd"))
    return "--model", table.with_name("model.whyodd")


def check_scores(frame, e, model):
    """Scored in other blocks than explained: float64 within its promised 1e-9."""
    assert frame["row"].to_list() == list(range(300))
    np.testing.assert_allclose(frame["outlierness"], e.outlierness, rtol=1e-9)
    p_values = model[-1].distribution_.p_values(e.outlierness)
    np.testing.assert_allclose(frame["p_value"], p_values, rtol=1e-6)
    assert frame["is_odd"].to_list() == (e.outlierness > e.threshold).tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_line_for_every_row(table, saved, tmp_path, e, model, ending):
    out = tmp_path / f"scores.{ending}"
    done = run(table, *saved, "--id-column", "order", "--out", out, "--quiet")
    assert done.exit_code == 0, done.stderr
    frame = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[ending](out)
    assert frame.columns == ["row", "id", "outlierness", "p_value", "is_odd"]
    assert frame["id"].to_list() == FRAME["order"].to_list()
    check_scores(frame, e, model)


def test_printed_scores_and_summary(table, e):
    done = run(table, "--id-column", "order", "--top", 3, "--quiet")
    assert done.exit_code == 0, done.stderr
    told = " ".join(done.stdout.split())
    n_odd = int((e.outlierness > e.threshold).sum())
    low, middle, high = (number(float(f(e.outlierness))) for f in (np.min, np.median, np.max))
    assert f"{n_odd} of 300 rows are above the threshold {number(e.threshold)}" in told
    assert f"Outlierness {low} to {high}, median {middle}." in told
    oddest = e.top(3)
    for i in range(3):
        o = float(oddest.outlierness[i])
        name = FRAME["order"][int(oddest.rows[i])]
        assert f"{i + 1} {name} {number(o)} {number(o / e.threshold, 2)}" in told


def test_scores_on_standard_output(table, saved, e, model):
    done = run(table, *saved, "--drop", "order", "--out", "-")
    assert done.exit_code == 0
    assert "Scoring rows" in done.stderr
    frame = pl.read_csv(io.StringIO(done.stdout))
    assert frame.columns == ["row", "outlierness", "p_value", "is_odd"]
    check_scores(frame, e, model)


def test_json_from_standard_input(table, saved, e):
    done = run("-", *saved, "--drop", "order", "--top", 2, "--json", "--quiet", input=table.read_bytes())
    told = json.loads(done.stdout)
    oddest = e.top(2)
    assert (told["rows"], told["odd"]) == (300, int((e.outlierness > e.threshold).sum()))
    assert told["highest"] == pytest.approx(e.outlierness.max(), rel=1e-9)
    assert [line["row"] for line in told["top"]] == oddest.rows.tolist()
    assert [line["outlierness"] for line in told["top"]] == pytest.approx(oddest.outlierness, rel=1e-9)
    assert told["top"][0]["is_odd"] is True


def test_share_of_the_rows_of_another_table(table, tmp_path):
    known = orders(seed=1)
    known.write_csv(tmp_path / "known.csv")
    options = ("--train", tmp_path / "known.csv", "--drop", "order", "--share", 0.1, "--json", "--quiet")
    told = json.loads(run(table, *options).stdout)
    e = whyodd.explain(whyodd.auto(known.drop("order"), trusted=True), known.drop("order"))
    assert told["threshold"] == pytest.approx(np.quantile(e.outlierness, 0.9), rel=1e-9)


def test_any_saved_model_of_tables(table, tmp_path):
    """A model of scikit-learn without names of columns and without a threshold of its own."""
    from sklearn.neighbors import KernelDensity

    numbers = USED.select("amount", "items")
    model = KernelDensity(bandwidth=2.0).fit(numbers.to_numpy())
    whyodd.save(model, tmp_path / "m.whyodd")
    options = ("--columns", "amount,items", "--model", tmp_path / "m.whyodd", "--json", "--quiet")
    told = json.loads(run(table, *options).stdout)
    e = whyodd.explain(model, numbers.to_numpy())
    assert told["highest"] == pytest.approx(e.outlierness.max(), rel=1e-9)
    assert told["threshold"] == pytest.approx(np.quantile(e.outlierness, 0.95, method="lower"), rel=1e-9)


def test_a_linear_model_has_one_way_to_explain(table, tmp_path):
    from sklearn.svm import OneClassSVM

    whyodd.save(
        OneClassSVM(kernel="linear").fit(USED.select("amount", "items").to_numpy()), tmp_path / "m.whyodd"
    )
    options = ("--columns", "amount,items,amount", "--model", tmp_path / "m.whyodd", "--quiet")
    assert run(table, *options).exit_code == 0
    for command in (["explain", "--method", "mean"], ["evaluate"]):
        arguments = [command[0], str(table), *map(str, options), *command[1:]]
        done = CliRunner().invoke(app, arguments)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith("Error: ")


def test_a_model_that_is_not_for_tables(table, tmp_path):
    texts = [f"the pump is {state}" for state in ("open", "shut", "warm") for _ in range(5)]
    whyodd.save(whyodd.TextModel().fit(texts), tmp_path / "m.whyodd")
    done = run(table, "--model", tmp_path / "m.whyodd", "--quiet")
    assert done.exit_code == 1
    assert "does not judge tables" in done.stderr
    assert done.stderr.count("\n") == 1


def test_wrong_usage(table):
    assert run(table, "--out", "-", "--json").exit_code == 2
    assert run(table, "--train", table).exit_code == 2


def test_help_has_an_example():
    assert "whyodd score today.csv --model model.whyodd --out scores.csv" in run("--help").stdout
