"""``whyodd explain`` as people run it: every number it prints and writes is that of the API."""

import json
import re
import shlex
import subprocess
import sys
from inspect import signature

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import whyodd
from made_up.orders import orders
from whyodd.cli.app import app
from whyodd.cli.table_options import METHODS
from whyodd.explainers import EXPLAINERS
from whyodd.explanations.groups import group_by_reason
from whyodd.explanations.sentences import OTHERS, UNEXPLAINED, number, percent
from whyodd.findings.rarity import how_odd, rarity

HOSTILE = "[bold]\x1b[31m\rcolumn"


FRAME = orders()
USED = FRAME.drop("order")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("orders")
    FRAME.write_csv(folder / "orders.csv")
    orders(seed=1).write_parquet(folder / "others.parquet")
    return folder


@pytest.fixture(scope="module")
def model():
    return whyodd.auto(USED)


@pytest.fixture(scope="module")
def saved(folder, model):
    """The model in a file: what is not about learning need not learn again."""
    whyodd.save(model, folder / "model.whyodd")
    return "--model", folder / "model.whyodd"


# Polars before 1.32 has another name for it.
CLOSE = {"rel_tol" if "rel_tol" in signature(assert_frame_equal).parameters else "rtol": 1e-9}


@pytest.fixture(scope="module")
def oddest(model):
    """All rows explained by the API, the oddest first."""
    return whyodd.explain(model, USED).top(len(FRAME))


def run(*arguments, width=200, **options):
    runner = CliRunner(env={"COLUMNS": str(width)})
    return runner.invoke(app, ["explain", *map(str, arguments)], **options)


def words(text):
    return " ".join(text.split())


def told_lines(e, i, rank, name, model):
    """What the printed table must say of row i."""
    odd = e.odd_row(i, 3)
    known = model[-1].distribution_
    rare = rarity(float(known.p_values([odd.outlierness])[0]), known.scores.size)
    head = f"{rank} {name} {number(odd.outlierness)} {number(odd.outlierness / e.threshold, 2)} {rare}"
    parts = [(reason.share, reason.words) for reason in odd.reasons]
    parts += [(odd.other_share, OTHERS), (odd.unexplained_share, UNEXPLAINED)]
    return f"{head} " + " ".join(f"{percent(share)} {why}" for share, why in parts if share >= 0.005)


class TestPrinted:
    def test_every_number_is_that_of_the_api(self, folder, model, oddest):
        options = ("--id-column", "order", "--top", 5, "--quiet")
        done = run(folder / "orders.csv", *options)
        assert done.exit_code == 0, done.stderr
        threshold = oddest.threshold
        assert threshold == model[-1].threshold_
        n_odd = int((oddest.outlierness > threshold).sum())
        assert n_odd >= 2
        for i in range(min(n_odd, 5)):
            name = FRAME["order"][int(oddest.rows[i])]
            assert told_lines(oddest, i, i + 1, name, model) in words(done.stdout)
        odd = f"{n_odd} of 300 rows are above the threshold {number(threshold)}"
        assert f"{odd} (about 1 % of normal rows exceed it)." in words(done.stdout)
        for group in group_by_reason(oddest[:n_odd]):
            assert f"  {group.sentence}\n" in done.stdout

    def test_what_was_read_and_learned(self, folder, model):
        done = run(folder / "orders.csv", "--id-column", "order", "--quiet")
        told = words(done.stdout)
        assert f"{folder / 'orders.csv'}: 300 rows, 4 columns." in told
        report = model.auto_report_
        assert report.told == "a committee that looks at neighbours, columns, residuals."
        assert f"Model: {report.told[:-1]}, learned from {report.n_fitted} of 300 rows, no row" in told
        assert "Set aside: currency (it is always EUR)." in told

    def test_numbers_of_rows_and_what_they_mean(self, folder, model, oddest):
        done = run(folder / "orders.csv", "--drop", "order", "--top", 1, "--quiet")
        assert "The oddest row (they count from 0, the first after the header)" in done.stdout
        assert told_lines(oddest, 0, 1, int(oddest.rows[0]), model) in words(done.stdout)

    def test_fits_into_80_columns_without_colours(self, folder, saved):
        done = run(folder / "orders.csv", *saved, "--quiet", width=80)
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert "\x1b" not in done.stdout

    def test_progress_goes_to_standard_error(self, folder):
        done = run(folder / "orders.csv", "--drop", "order")
        assert "Scoring rows: all 300 done" in done.stderr
        assert "done" not in done.stdout

    def test_nothing_is_odd(self, folder, tmp_path):
        FRAME.head(6).write_csv(tmp_path / "few.csv")
        done = run(tmp_path / "few.csv", "--train", folder / "orders.csv", "--drop", "order", "--quiet")
        assert done.exit_code == 0
        assert "None of 6 rows is above the threshold" in done.stdout
        assert "The 6 oddest rows" in done.stdout
        assert "Odd for the same reason" not in done.stdout


class TestFiles:
    @pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl"])
    def test_reasons_are_the_tidy_frame(self, folder, saved, tmp_path, oddest, ending):
        out = tmp_path / f"reasons.{ending}"
        options = ("--id-column", "order", "--top", 1, "--out", out, "--quiet")
        done = run(folder / "orders.csv", *saved, *options)
        assert done.exit_code == 0, done.stderr
        assert f"Written: {out}" in done.stdout
        readers = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}
        read = readers.get(ending, lambda path: pl.read_csv(path, separator="\t"))(out)
        n_odd = int((oddest.outlierness > oddest.threshold).sum())
        assert n_odd > 1  # all that are odd, also those that are not printed
        expected = oddest[:n_odd].to_frame()
        ids = FRAME["order"][expected["row"].to_numpy()].alias("id")
        # Rows are explained in other blocks than all at once: float64 within its promised 1e-9.
        assert_frame_equal(read, expected.insert_column(1, ids), check_dtypes=False, **CLOSE)
        assert sorted(path.name for path in tmp_path.iterdir()) == [out.name]

    def test_at_least_the_top_rows(self, folder, tmp_path):
        options = ("--drop", "order", "--share", 0.01, "--top", 30, "--quiet")
        done = run(folder / "orders.csv", *options, "--out", tmp_path / "r.csv")
        assert "3 of 300 rows are above the threshold" in done.stdout
        assert "(1 % of the rows used for training exceed it)" in done.stdout
        assert pl.read_csv(tmp_path / "r.csv")["row"].n_unique() == 30

    def test_report_and_json_are_the_summary(self, folder, tmp_path, model, oddest):
        report = tmp_path / "report.html"
        options = ("--id-column", "order", "--top", 1, "--json", "--report", report)
        done = run(folder / "orders.csv", *options)
        assert done.exit_code == 0, done.stderr
        told = json.loads(done.stdout)
        n_odd = int((oddest.outlierness > oddest.threshold).sum())
        assert told["counts"] == {"rows": 300, "odd": n_odd, "explained": n_odd, "shown": n_odd}
        assert told["threshold"]["value"] == oddest.threshold
        assert told["columns"]["set_aside"][0]["name"] == "currency"
        for i, anomaly in enumerate(told["anomalies"]):
            assert anomaly["row"] == oddest.rows[i]
            assert anomaly["id"] == FRAME["order"][anomaly["row"]]
            assert anomaly["outlierness"] == pytest.approx(oddest.outlierness[i], rel=1e-9)
            assert anomaly["why"] == oddest.why(i)
            known = model[-1].distribution_
            p_value = float(known.p_values([oddest.outlierness[i]])[0])
            assert anomaly["how_odd"] == how_odd(oddest.outlierness[i], p_value, known.scores.size)
            assert anomaly["how_odd"] in report.read_text(encoding="utf-8")
            first = oddest.reasons(i, 1)[0]
            assert anomaly["reasons"][0]["relevance"] == pytest.approx(first.relevance, rel=1e-9)
        page = report.read_text(encoding="utf-8")
        assert "A-0007" in page
        assert "http://" not in page.replace("http://www.w3.org", "")


class TestRowsAndModels:
    def test_standard_input(self, folder, saved):
        content = (folder / "orders.csv").read_bytes()
        piped = run("-", *saved, "--drop", "order", "--quiet", input=content)
        named = run(folder / "orders.csv", *saved, "--drop", "order", "--quiet")
        assert piped.exit_code == 0, piped.stderr
        assert piped.stdout == named.stdout.replace(f"{folder / 'orders.csv'}:", "Standard input:")

    def test_trained_on_other_rows(self, folder, tmp_path):
        out = tmp_path / "r.parquet"
        options = ("--train", folder / "others.parquet", "--drop", "order", "--out", out, "--quiet")
        done = run(folder / "orders.csv", *options)
        assert done.exit_code == 0, done.stderr
        model = whyodd.auto(orders(seed=1).drop("order"), trusted=True)
        assert f"learned from 300 rows of {folder / 'others.parquet'}" in words(done.stdout)  # none left out
        e = whyodd.explain(model, USED)
        read = pl.read_parquet(out)
        rows = read["row"].unique(maintain_order=True).to_numpy()
        assert set(rows) >= set(np.flatnonzero(e.outlierness > e.threshold))
        assert_frame_equal(read, e[rows].to_frame(), **CLOSE)

    def test_share_of_the_training_rows(self, folder, oddest):
        done = run(folder / "orders.csv", "--drop", "order", "--share", 0.02, "--json", "--quiet")
        told = json.loads(done.stdout)
        assert told["counts"]["odd"] == 6
        assert told["threshold"]["value"] == pytest.approx(np.quantile(oddest.outlierness, 0.98), rel=1e-9)

    @pytest.mark.parametrize("false_alarms", [0.001, 0.2])
    def test_false_alarms_that_are_allowed(self, folder, model, oddest, false_alarms):
        options = ("--drop", "order", "--false-alarms", false_alarms, "--json", "--quiet")
        told = json.loads(run(folder / "orders.csv", *options).stdout)
        threshold = model[-1].distribution_.threshold(false_alarms)
        assert told["threshold"]["value"] == pytest.approx(threshold, rel=1e-9)
        assert told["counts"]["odd"] == int((oddest.outlierness > threshold).sum())
        share = f"{number(100 * false_alarms)} %"
        assert told["threshold"]["source"] == f"The threshold: about {share} of normal rows exceed it."
        assert f"--false-alarms {false_alarms}" in told["made_by"]

    def test_false_discoveries_that_are_allowed(self, folder, saved, model, oddest):
        """As many of the oddest rows as have p-values of at most rank · level / n."""
        options = (*saved, "--drop", "order", "--fdr", 0.25, "--json", "--quiet")
        told = json.loads(run(folder / "orders.csv", *options).stdout)
        p_values = model[-1].distribution_.p_values(oddest.outlierness)
        below = [rank for rank, p in enumerate(p_values, start=1) if p <= rank * 0.25 / 300]
        assert told["counts"]["odd"] == max(below) >= 2
        assert "at most 25 % of the rows above it are expected to be normal" in told["threshold"]["source"]

    def test_columns_groups_and_method(self, folder, tmp_path):
        out = tmp_path / "r.csv"
        options = ("--columns", "amount, items,country", "--groups", "basket=amount,items", "--out", out)
        done = run(folder / "orders.csv", *options, "--method", "occlusion", "--quiet")
        assert done.exit_code == 0, done.stderr
        frame = USED.drop("currency")
        groups = {"basket": ["amount", "items"]}
        e = whyodd.explain(whyodd.auto(frame), frame, method="occlusion", groups=groups, random_state=0)
        read = pl.read_csv(out)
        rows = read["row"].unique(maintain_order=True).to_numpy()
        expected = e[rows].to_frame()
        assert read["feature"].to_list()[:3] == ["basket", "country", "(unexplained)"]
        # Occlusion subtracts one outlierness from another: what is left of it is right to rounding of those.
        largest = float(expected["relevance"].fill_nan(0.0).max())
        np.testing.assert_allclose(
            read["relevance"], expected["relevance"], rtol=1e-9, atol=1e-14 * largest, equal_nan=True
        )

    @pytest.mark.full
    def test_a_saved_model_gives_the_same_bytes_in_another_process(self, folder, tmp_path):
        model = tmp_path / "model.whyodd"
        fitted = CliRunner().invoke(
            app,
            ["fit", str(folder / "others.parquet"), "--drop", "order", "--trusted", "--out", str(model)],
        )
        assert fitted.exit_code == 0, fitted.output
        here, there = tmp_path / "here.csv", tmp_path / "there.csv"
        trained = ("--train", folder / "others.parquet", "--drop", "order", "--out", here, "--quiet")
        used = ("--model", model, "--out", there, "--quiet")
        script = "from whyodd.cli.app import main; main()"
        # Both in other processes, where compiled code comes from disk: see test_saving_processes.py.
        for options in (used, trained, used):
            command = [sys.executable, "-c", script, "explain", folder / "orders.csv", *options]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        assert there.read_bytes() == here.read_bytes()
        assert "ignored columns that the model was not fitted on: 'order'" in done.stderr


def test_a_column_that_was_set_aside_may_be_missing_later(folder, tmp_path):
    USED.write_csv(tmp_path / "later.csv")
    done = run(tmp_path / "later.csv", "--train", folder / "orders.csv", "--quiet")
    assert done.exit_code == 0, done.stderr
    assert "Set aside: order (nearly every row has a different value" in done.stdout


def test_what_makes_rows_look_normal_is_told(folder, tmp_path):
    done = run(folder / "orders.csv", "--id-column", "order", "--quiet")
    copies = int(USED.is_duplicated().sum())
    assert copies > 0
    assert f"Note: {copies} rows have an exact copy in {folder / 'orders.csv'}.\n" in done.stderr
    USED[:7].vstack(USED[:3].with_columns(amount=pl.lit(1e6))).write_csv(tmp_path / "again.csv")
    whyodd.save(whyodd.auto(USED), tmp_path / "model.whyodd")
    for source in (("--train", folder / "orders.csv"), ("--model", tmp_path / "model.whyodd")):
        done = run(tmp_path / "again.csv", *source, "--quiet")
        assert f"Note: 7 rows of {tmp_path / 'again.csv'} are equal to rows that the model" in done.stderr


def test_the_command_is_told_with_all_that_changes_its_results(folder):
    options = ["--drop", "order,items", "--groups", "both=amount,country", "--share", "0.05", "--seed", "3"]
    told = json.loads(run(folder / "orders.csv", *options, "--top", 2, "--json", "--quiet").stdout)
    assert told["made_by"] == shlex.join(["whyodd", "explain", str(folder / "orders.csv"), *options])
    assert len(told["anomalies"]) == 2
    assert told["threshold"]["source"] == "The threshold: 5 % of the rows used for training exceed it."


def test_what_never_varied_is_told_without_a_share(saved, tmp_path):
    currency = pl.when(pl.int_range(300) == 7).then(pl.lit("USD")).otherwise(pl.lit("EUR"))
    USED.with_columns(currency=currency).write_csv(tmp_path / "later.csv")
    done = run(tmp_path / "later.csv", *saved, "--top", 3, "--quiet")
    assert "currency never varied in training (always 'EUR', here 'USD')" in words(done.stdout)
    assert "Rows with a new value: currency (always 'EUR'): 1." in done.stderr


def test_nothing_from_the_data_drives_the_terminal(tmp_path):
    frame = USED.rename({"amount": HOSTILE}).with_columns(
        pl.col("country").replace("Atlantis", "[red]\x1b]0;x\x07")
    )
    frame.write_csv(tmp_path / "[red].csv")
    done = run(tmp_path / "[red].csv", "--top", 5, "--quiet")
    assert done.exit_code == 0, done.stderr
    for sign in ("\x1b", "\r", "\x07"):
        assert sign not in done.stdout
    assert "[bold]?[31m column" in done.stdout
    assert "[red].csv: 300 rows" in done.stdout


FOLDER_MISSING = ("{folder}/orders.csv", "--out", "{folder}/none/r.csv")
ERRORS = {
    "no file": (("{folder}/none.csv",), "There is no file"),
    "folder": (("{folder}",), "A table in parts needs --out: a folder"),
    "no folder to write to": (FOLDER_MISSING, "there is no folder"),
    "unknown ending": (("{folder}/orders.csv", "--out", "{folder}/r.xlsx"), "a name that ends in .csv or"),
    "no page": (("{folder}/orders.csv", "--report", "{folder}/r.pdf"), "expected a name that ends in .html"),
    "writes what it reads": (("{folder}/orders.csv", "--out", "{folder}/orders.csv"), "would replace a file"),
    "a folder to write": (("{folder}/orders.csv", "--out", "{folder}/sub.csv"), "is a folder"),
    "no such column": (("{folder}/orders.csv", "--drop", "colour"), "no column 'colour'. It has: 'order'"),
    "no column to learn from": (
        ("{folder}/orders.csv", "--train", "{folder}/one.csv", "--columns", "amount"), "one.csv has no",
    ),
    "no such id": (("{folder}/orders.csv", "--id-column", "colour"), "has no column 'colour'"),
    "nothing left": (("{folder}/orders.csv", "--columns", "order", "--drop", "order"), "has no column left"),
    "no such member": (("{folder}/orders.csv", "--groups", "g=amount,size"), "has no column 'size'"),
    "all constant": (("{folder}/constant.csv",), "no column can be used ('a': it is always 1"),
    "one row": (("{folder}/one.csv",), "it has one row, expected at least two"),
    "no model": (("{folder}/orders.csv", "--model", "{folder}/m.whyodd"), "There is no file"),
    "not a model": (("{folder}/orders.csv", "--model", "{folder}/orders.csv"), "was not written by whyodd"),
    "lacking columns": (
        ("{folder}/constant.csv", "--model", "{folder}/model.whyodd"),
        "constant.csv lacks columns that the model was fitted on: 'amount', 'items', 'country'",
    ),
    "infinite": (("{folder}/infinite.csv",), "Column 'a' holds inf in row 2"),
    "text for numbers": (
        ("{folder}/texts.csv", "--model", "{folder}/model.whyodd"), "Column 'amount' has 'much' in row 1",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def broken(folder, model):
    whyodd.save(model, folder / "model.whyodd")
    (folder / "sub.csv").mkdir(exist_ok=True)
    (folder / "constant.csv").write_text("a,b\n" + "1,x\n" * 30)
    (folder / "one.csv").write_text("a,b\n1,2\n")
    (folder / "infinite.csv").write_text("a,b\n1,2\n2,3\ninf,4\n")
    (folder / "texts.csv").write_text("amount,items,country,currency\n1,2,DE,EUR\nmuch,2,DE,EUR\n")
    return folder


@pytest.mark.parametrize("case", ERRORS)
def test_errors_in_one_sentence(broken, case):
    arguments, message = ERRORS[case]
    before = sorted(broken.iterdir())
    done = run(*(argument.format(folder=broken) for argument in arguments), "--quiet")
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(broken.iterdir()) == before


@pytest.mark.parametrize(
    "options",
    [
        ("--train", "a.csv", "--model", "m.whyodd"),
        ("--model", "m.whyodd", "--share", "0.1"),
        ("--share", "0.9"),
        ("--false-alarms", "0.9"),
        ("--fdr", "0"),
        ("--share", "0.1", "--fdr", "0.1"),
        ("--false-alarms", "0.1", "--fdr", "0.1"),
        ("--top", "0"),
        ("--method", "magic"),
        ("--method", "sobel"),
        ("--groups", "address"),
        ("--groups", "a=items", "--groups", "a=amount"),
    ],
    ids=" ".join,
)
def test_wrong_usage(folder, options):
    done = run(folder / "orders.csv", *options)
    assert done.exit_code == 2
    assert done.stdout == ""


def test_methods_are_those_for_tables():
    assert list(METHODS) == sorted(EXPLAINERS.keys() - {"sobel"})


def test_help_has_an_example_and_costs_no_training():
    done = run("--help", width=120)
    assert done.exit_code == 0
    assert "whyodd explain data.csv --id-column id --out reasons.csv --report report.html" in done.stdout
    script = (
        "import sys; from whyodd.cli.app import app; "
        "print([name for name in ('numpy', 'sklearn', 'polars', 'numba') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "sklearn" not in loaded.stdout
    assert "polars" not in loaded.stdout


@pytest.mark.data
@pytest.mark.parametrize("name", ["nsl_kdd", "6_cardio"])
def test_real_tables(data_dir, tmp_path, name):
    if name == "nsl_kdd":
        path = data_dir / "nsl_kdd" / "test.csv.gz"
        frame = pl.read_csv(path, infer_schema_length=None).head(1100).drop("attack", "difficulty")
    else:
        with np.load(data_dir / "adbench" / f"{name}.npz") as arrays:
            frame = pl.DataFrame(arrays["X"][:1100], schema=[f"x{c}" for c in range(arrays["X"].shape[1])])
    frame.write_csv(tmp_path / "t.csv")
    done = run(tmp_path / "t.csv", "--top", 4, "--out", tmp_path / "r.parquet", "--quiet")
    assert done.exit_code == 0, done.stderr
    model = whyodd.auto(frame)
    e = whyodd.explain(model, frame).top(len(frame))
    n_odd = int((e.outlierness > e.threshold).sum())
    assert n_odd > 0
    for i in range(min(n_odd, 4)):
        assert told_lines(e, i, i + 1, int(e.rows[i]), model) in words(done.stdout)
    read = pl.read_parquet(tmp_path / "r.parquet")
    expected = e[: max(n_odd, 4)].to_frame()
    assert read["row"].to_list() == expected["row"].to_list()
    for column in ("relevance", "share", "outlierness"):
        largest = expected[column].abs().max()
        np.testing.assert_allclose(read[column], expected[column], rtol=1e-9, atol=1e-9 * largest)
    assert re.search(rf"{n_odd:,} of {len(frame):,} rows (is|are) above", done.stdout)


def test_a_column_on_which_most_rests_is_told(tmp_path):
    rows = np.random.default_rng(0).normal(size=(330, 5))
    rows[:30, 4] += 12.0
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "d", HOSTILE])
    frame[:130].write_csv(tmp_path / "new.csv")
    frame[130:].write_csv(tmp_path / "known.csv")
    shown = run(tmp_path / "new.csv", "--train", tmp_path / "known.csv", "--quiet")
    assert shown.exit_code == 0
    assert "column alone: check that this column should matter, or leave it out (--drop)." in shown.stdout
    assert "\x1b[31m" not in shown.stdout
