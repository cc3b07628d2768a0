"""``whyodd evaluate``: the numbers of ``whyodd.evaluation`` for the odd rows of a file."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score
from typer.testing import CliRunner

import whyodd
from made_up.orders import orders
from whyodd.cli.app import app
from whyodd.cli.table_labels import is_anomaly
from whyodd.explanations.sentences import number

FRAME = orders()
USED = FRAME.drop("order")
IS_ODD = np.isin(np.arange(300), (7, 20, 33))
METRICS = ("area", "conservation_gap", "unexplained", "stability", "largest_jump", "agreement")


def run(*arguments):
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["evaluate", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    kinds = pl.Series("kind", np.where(IS_ODD, "fraud", "fine"))
    FRAME.with_columns(kinds, is_odd=pl.Series(IS_ODD.astype(int))).write_csv(folder / "orders.csv")
    orders(seed=1).write_csv(folder / "others.csv")
    return folder


def test_the_lines_of_compare(folder):
    options = ("--train", folder / "others.csv", "--drop", "order,is_odd,kind", "--methods", "dtd,nearest")
    done = run(folder / "orders.csv", *options, "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    model = whyodd.auto(orders(seed=1).drop("order"), trusted=True)
    e = whyodd.explain(model, USED)
    n_odd = int((e.outlierness > e.threshold).sum())
    n_compared = max(n_odd, 20)  # of fewer rows a mean says little
    assert (told["odd"], told["compared_rows"]) == (n_odd, n_compared)
    rows = np.argsort(-e.outlierness, kind="stable")[:n_compared]
    expected = whyodd.evaluation.compare(model, USED[rows], ["dtd", "nearest"], random_state=0)
    assert [line["method"] for line in told["methods"]] == ["dtd", "nearest"]
    for line, own in zip(told["methods"], expected.to_dicts(), strict=True):
        for metric in METRICS:
            if own[metric] is None:
                assert line[metric] is None
            else:
                # The gap is what rounding leaves of 0.
                assert line[metric] == pytest.approx(own[metric], rel=1e-9, abs=1e-12)


def test_training_rows_are_compared_with_all_others(folder):
    """Each without its own center, as they are explained and scored."""
    options = ("--drop", "order,kind,is_odd", "--methods", "dtd", "--json", "--quiet")
    told = json.loads(run(folder / "orders.csv", *options).stdout)
    model = whyodd.auto(USED)
    e = whyodd.explain(model, USED).top(told["compared_rows"])
    areas = whyodd.evaluation.area(whyodd.evaluation.flip(model, USED[e.rows], e))
    assert told["methods"][0]["area"] == pytest.approx(areas.mean(), rel=1e-9)
    assert told["methods"][0]["unexplained"] == pytest.approx(
        whyodd.evaluation.unexplained_share(e).mean(), rel=1e-9
    )


def test_ways_that_are_compared_by_default(folder):
    done = run(folder / "orders.csv", "--drop", "order,kind,is_odd", "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    methods = [line["method"] for line in json.loads(done.stdout)["methods"]]
    assert methods == ["dtd", "occlusion", "nearest", "mean", "random"]


@pytest.mark.parametrize("label", [("is_odd",), ("kind", "--normal", "fine")], ids=["0 and 1", "words"])
def test_scores_against_labels(folder, label):
    left_out = "order,kind" if label[0] == "is_odd" else "order,is_odd"
    options = ("--drop", left_out, "--label", *label, "--methods", "dtd", "--quiet")
    told = json.loads(run(folder / "orders.csv", *options, "--json").stdout)
    scores = whyodd.explain(whyodd.auto(USED), USED).outlierness
    assert told["detection"] == {
        "rows": 300,
        "anomalies": 3,
        "roc_auc": pytest.approx(roc_auc_score(IS_ODD, scores), rel=1e-9),
        "average_precision": pytest.approx(average_precision_score(IS_ODD, scores), rel=1e-9),
    }
    done = run(folder / "orders.csv", *options)
    assert "3 of 300 rows are labelled as anomalies" in done.stdout
    assert f"ROC AUC of the outlierness: {told['detection']['roc_auc']:.3f}" in done.stdout
    line = next(line for line in done.stdout.splitlines() if line.startswith("dtd"))
    assert line.split()[1:] == [number(told["methods"][0][metric]) for metric in METRICS]


def test_many_odd_rows_are_compared_in_part(tmp_path):
    rng = np.random.default_rng(0)
    pl.DataFrame({"a": rng.normal(size=2500), "b": rng.normal(size=2500)}).write_parquet(
        tmp_path / "t.parquet"
    )
    done = run(tmp_path / "t.parquet", "--methods", "dtd", "--share", 0.1, "--quiet")
    assert done.exit_code == 0, done.stderr
    assert "Explanation methods on 200 of the oddest rows" in done.stdout


@pytest.mark.parametrize(
    ("values", "truth"),
    [
        ([0, 1, None], [False, True, None]),
        ([1.0, 0.0, 1.0], [True, False, True]),
        ([True, False, False], [True, False, False]),
        (["True", " false", "true"], [True, False, True]),
    ],
)
def test_labels(values, truth):
    assert is_anomaly(pl.Series("label", values, strict=False), "t.csv").to_list() == truth


@pytest.mark.parametrize(
    ("values", "normal", "message"),
    [
        (["fine", "fraud"], None, r"'label' of t\.csv are 'fine', 'fraud', expected 0 and 1.*--normal"),
        ([0, 0], None, "are all 0, expected 0 and 1"),
        ([0.5, 1.0], None, "'0.5', '1.0', expected 0 and 1"),
        (["fine", "fraud"], "normal", "'fine', 'fraud', expected 'normal' and others"),
        ([None, None], None, "are missing"),
    ],
)
def test_labels_that_tell_nothing(values, normal, message):
    with pytest.raises(ValueError, match=message):
        is_anomaly(pl.Series("label", values), "t.csv", normal)


def test_rows_without_a_label_are_told(folder, tmp_path):
    frame = pl.read_csv(folder / "orders.csv").with_columns(
        pl.when(pl.int_range(300) < 290).then(pl.col("is_odd")).alias("is_odd")
    )
    frame.write_csv(tmp_path / "t.csv")
    options = ("--drop", "order,kind", "--label", "is_odd", "--methods", "dtd", "--json", "--quiet")
    done = run(tmp_path / "t.csv", *options)
    assert json.loads(done.stdout)["detection"]["rows"] == 290
    assert "10 rows have no label and are left out" in done.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--methods", "magic"), 2),
        (("--methods", ","), 2),
        (("--normal", "fine"), 2),
        (("--label", "colour"), 1),
        (("--label", "kind"), 1),
    ],
    ids=str,
)
def test_wrong_options(folder, options, code):
    done = run(folder / "orders.csv", *options, "--quiet")
    assert done.exit_code == code
    assert done.stdout == ""


def test_help_has_an_example():
    assert "whyodd evaluate data.csv --label is_fraud --methods dtd,nearest,random" in run("--help").stdout
