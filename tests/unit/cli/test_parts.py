"""``whyodd explain`` of a table in parts: every row once, whatever happens on the way."""

import gzip
import json
import os
import resource
import signal
import time

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import whyodd
from made_up.command import start
from made_up.orders import orders
from whyodd.cli.app import app
from whyodd.scale.batches import BatchExplainer

PARTS = {f"part-{i}": orders(150, seed=i) for i in range(4)}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.whyodd"
    whyodd.save(whyodd.auto(orders(seed=9).drop("order")), path)
    return path


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "data")


def write(folder, parts=PARTS):
    folder.mkdir()
    for name, frame in parts.items():
        frame.write_parquet(folder / f"{name}.parquet")
    return folder


def explain(*arguments):
    return CliRunner(env={"COLUMNS": "300"}).invoke(app, ["explain", *map(str, arguments)])


def results(out):
    return {path.stem: pl.read_parquet(path) for path in sorted(out.glob("[!_]*.parquet"))}


def expected(model, id_column=None):
    explainer = BatchExplainer(whyodd.load(model), id_column=id_column)
    return {name: pl.from_arrow(explainer(frame)) for name, frame in PARTS.items()}


def assert_same(found, wanted):
    assert list(found) == list(wanted)
    for name, frame in found.items():
        assert_frame_equal(frame, wanted[name], check_exact=True)


# ---- what comes out ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["folder", "pattern", "files"])
def test_each_part_has_a_file_with_all_its_rows(data, model, tmp_path, how):
    named = {"folder": [data], "pattern": [data / "*.parquet"], "files": sorted(data.iterdir())}[how]
    ended = explain(*named, "--model", model, "--out", tmp_path / "out", "--quiet")
    assert ended.exit_code == 0, ended.output
    assert_same(results(tmp_path / "out"), expected(model))


def test_the_oddest_rows_of_all_parts_are_told(data, model, tmp_path):
    ended = explain(data, "--model", model, "--out", tmp_path / "out", "--id-column", "order", "--json")
    told = json.loads(ended.stdout)
    every = pl.concat(
        [
            frame.with_columns(part=pl.lit(f"{name}.parquet"))
            for name, frame in expected(model, "order").items()
        ]
    )
    ranked = every.sort("outlierness", descending=True, maintain_order=True)
    assert (told["rows"], told["odd"]) == (600, int(every["is_odd"].sum()))
    assert [(a["part"], a["id"]) for a in told["anomalies"]] == ranked.select("part", "id").rows()[:10]
    assert [a["outlierness"] for a in told["anomalies"]] == ranked["outlierness"].to_list()[:10]


def test_the_words_are_those_of_one_table(data, model, tmp_path):
    """The same rows in one file: the same sentences on the oddest of them."""
    whole = pl.concat(
        [
            frame.with_columns(pl.format("{}-{}", pl.lit(n), "order").alias("order"))
            for n, frame in PARTS.items()
        ]
    )
    whole.write_parquet(tmp_path / "whole.parquet")
    alone = explain(tmp_path / "whole.parquet", "--model", model, "--json")
    ended = explain(data, "--model", model, "--out", tmp_path / "out", "--json", "--quiet")
    told, wanted = json.loads(ended.stdout)["anomalies"], json.loads(alone.stdout)["anomalies"]
    assert [a["why"] for a in told] == [a["why"] for a in wanted[:10]]
    assert [a["rarity"] for a in told] == [a["rarity"] for a in wanted[:10]]
    plain = explain(data, "--model", model, "--out", tmp_path / "out", "--quiet").stdout
    assert "4 parts: 600 rows" in plain
    assert "rows are above the threshold" in plain
    assert wanted[0]["brief"][0]["words"] in plain


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "arrow"])
def test_all_kinds_of_files_are_read_alike(model, tmp_path, kind):
    folder = tmp_path / "data"
    folder.mkdir()
    for name, frame in PARTS.items():
        put(frame, folder / f"{name}.{kind}", kind)
    ended = explain(folder, "--model", model, "--out", tmp_path / "out", "--quiet")
    assert ended.exit_code == 0, ended.output
    assert_same(results(tmp_path / "out"), expected(model))


def put(frame, path, kind):
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "arrow": frame.write_ipc}[kind](path)


def test_learns_from_the_parts_if_there_is_no_model(data, tmp_path):
    ended = explain(data, "--out", tmp_path / "out", "--quiet", "--drop", "order")
    assert ended.exit_code == 0, ended.output
    assert "no row judged by itself" in ended.stdout
    learned = whyodd.load(tmp_path / "out" / "_model.whyodd")
    rows = pl.concat(PARTS.values()).drop("order")
    together = pl.concat(results(tmp_path / "out").values())
    e = whyodd.explain(learned, rows)  # it knows its training rows by their places
    assert (e.excluded >= 0).any()
    np.testing.assert_allclose(together["outlierness"], e.outlierness, rtol=1e-9)


def test_a_part_without_rows_has_a_result_without_rows(data, model, tmp_path):
    PARTS["part-0"].clear().write_parquet(data / "part-0.parquet")
    PARTS["part-1"].clear().write_csv(data / "part-9.csv")
    ended = explain(data, "--model", model, "--out", tmp_path / "out", "--quiet")
    assert ended.exit_code == 0, ended.output
    assert [len(frame) for frame in results(tmp_path / "out").values()] == [0, 150, 150, 150, 0]


@pytest.mark.parametrize("empty", ["part-0", "part-2"])
def test_a_column_may_be_empty_in_one_part(model, tmp_path, empty):
    folder = tmp_path / "data"
    folder.mkdir()
    for name, frame in PARTS.items():
        gaps = frame.with_columns(amount=None, country=None) if name == empty else frame
        gaps.write_csv(folder / f"{name}.csv")
    ended = explain(folder, "--model", model, "--out", tmp_path / "out", "--quiet")
    assert ended.exit_code == 0, ended.output
    found, wanted = results(tmp_path / "out"), expected(model)
    assert {reason["name"] for reason in found[empty]["reasons"][0]} >= {"amount", "country"}
    assert_same(
        {n: f for n, f in found.items() if n != empty}, {n: f for n, f in wanted.items() if n != empty}
    )


# ---- interruptions ----------------------------------------------------------------------------------------


@pytest.mark.race
def test_a_killed_run_goes_on_and_ends_like_any_other(model, tmp_path):
    many = {f"part-{i:02d}": orders(3_000, seed=i) for i in range(30)}
    data, out, straight = write(tmp_path / "data", many), tmp_path / "out", tmp_path / "straight"
    arguments = ("explain", data, "--model", model, "--out", out, "--quiet")
    process = start(arguments, tmp_path / "printed", tmp_path / "errors")
    journal = out / "_whyodd.jsonl"
    while process.is_alive() and (not journal.exists() or journal.read_text().count("\n") < 3):
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*.parquet")}
    assert 2 <= len(done) < len(many)
    for where in (out, straight):
        assert explain(data, "--model", model, "--out", where, "--quiet").exit_code == 0
    named = [f"part-{i:02d}.parquet" for i in range(30)]
    assert sorted(path.name for path in out.iterdir()) == ["_whyodd.jsonl", *named]
    for name in named:
        assert (out / name).read_bytes() == (straight / name).read_bytes()
    # The last one may have been finished, but not yet noted.
    kept = [name for name, when in done.items() if (out / name).stat().st_mtime_ns == when]
    assert len(kept) >= len(done) - 1
    assert told(out, model, data) == told(straight, model, data)


def told(out, model, data):
    return json.loads(explain(data, "--model", model, "--out", out, "--quiet", "--json").stdout)


def test_a_learned_model_is_kept_for_the_run_that_goes_on(data, tmp_path):
    out = tmp_path / "out"
    arguments = (data, "--out", out, "--quiet", "--drop", "order")
    explain(*arguments)
    before, learned = results(out), (out / "_model.whyodd").stat().st_mtime_ns
    (out / "part-2.parquet").unlink()
    assert explain(*arguments).exit_code == 0
    assert_same(results(out), before)
    assert (out / "_model.whyodd").stat().st_mtime_ns == learned


def test_a_full_disk_stops_the_run_and_what_is_done_stays(model, tmp_path):
    sizes = {"part-0": 150, "part-1": 20_000, "part-2": 150}
    data = write(tmp_path / "data", {name: orders(size) for name, size in sizes.items()})
    arguments = (data, "--model", model, "--out", tmp_path / "out", "--quiet")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        ended = explain(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ended.exit_code == 1
    assert "part-1.parquet: File too large" in ended.stderr
    assert "run the same command again to continue" in ended.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_whyodd.jsonl", "part-0.parquet"]
    assert explain(*arguments).exit_code == 0
    assert [len(frame) for frame in results(tmp_path / "out").values()] == list(sizes.values())


# ---- bad input --------------------------------------------------------------------------------------------


def _lacking(frame, path):
    frame.drop("amount").write_parquet(path)


def _of_text(frame, path):
    frame.with_columns(pl.col("amount").cast(pl.String) + " or so").write_parquet(path)


def _cut_short(frame, path):
    frame.write_parquet(path)
    path.write_bytes(path.read_bytes()[:-200])


def _damaged_inside(frame, path):
    frame.select("amount", "items", "country", "currency").write_parquet(path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[60:200] = bytes(140)
    path.write_bytes(content)


def _infinite(frame, path):
    frame.with_columns(
        amount=pl.when(pl.int_range(pl.len()) == 70).then(np.inf).otherwise("amount")
    ).write_parquet(path)


def _empty(_, path):
    path.write_bytes(b"")


BAD = {
    _lacking: "lacks the column 'amount'",
    _of_text: "Column 'amount' holds numbers in part part-0.parquet and text in part part-2.parquet",
    _cut_short: "part-2.parquet cannot be read: it is not a Parquet file, or it is damaged or cut short",
    _damaged_inside: "part-2.parquet cannot be read: it is not a Parquet file, or it is damaged or cut short",
    _infinite: "part-2.parquet: rows 0 to 149, counted from the first of these: Column 'amount' has inf",
    _empty: "part-2.parquet is empty",
}


@pytest.mark.parametrize("spoil", BAD)
def test_a_bad_part_is_named_and_the_others_are_done(data, model, tmp_path, spoil):
    spoil(PARTS["part-2"], data / "part-2.parquet")
    out = tmp_path / "out"
    arguments = (data, "--model", model, "--out", out, "--quiet")
    ended = explain(*arguments)
    assert ended.exit_code == 1
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    assert BAD[spoil] in line
    assert "1 of 4 parts could not be explained" in ended.stderr
    assert "Traceback" not in ended.output
    wanted = expected(model)
    assert_same(results(out), {name: wanted[name] for name in wanted if name != "part-2"})
    assert not list(out.glob(".*"))
    PARTS["part-2"].write_parquet(data / "part-2.parquet")
    before = (out / "part-1.parquet").stat().st_mtime_ns
    assert explain(*arguments).exit_code == 0
    assert_same(results(out), wanted)
    assert (out / "part-1.parquet").stat().st_mtime_ns == before


def test_a_bad_part_can_be_mended_after_learning(data, tmp_path):
    _cut_short(PARTS["part-2"], data / "part-2.parquet")
    arguments = (data, "--out", tmp_path / "out", "--quiet", "--drop", "order")
    assert explain(*arguments).exit_code == 1
    PARTS["part-2"].write_parquet(data / "part-2.parquet")
    assert explain(*arguments).exit_code == 0
    assert len(results(tmp_path / "out")) == 4


def test_a_bad_first_part_does_not_spoil_the_others(data, model, tmp_path):
    _cut_short(PARTS["part-0"], data / "part-0.parquet")
    assert explain(data, "--model", model, "--out", tmp_path / "out", "--quiet").exit_code == 1
    assert list(results(tmp_path / "out")) == ["part-1", "part-2", "part-3"]


def test_further_columns_of_a_part_are_not_used(data, model, tmp_path):
    PARTS["part-2"].with_columns(more=1).write_parquet(data / "part-2.parquet")
    assert explain(data, "--model", model, "--out", tmp_path / "out", "--quiet").exit_code == 0
    assert_same(results(tmp_path / "out"), expected(model))


PLACES = {
    "nothing": "is an empty folder, expected files with tables",
    "no_tables": "holds no table: readme.md is not one",
    "nowhere": "There is no file",
    "nowhere/*.csv": "No file matches",
}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_to_explain(model, tmp_path, place):
    (tmp_path / "nothing").mkdir()
    (tmp_path / "no_tables").mkdir()
    (tmp_path / "no_tables" / "readme.md").write_text("no table")
    ended = explain(tmp_path / place, "--model", model, "--out", tmp_path / "out")
    assert ended.exit_code == 1
    assert PLACES[place] in ended.stderr
    assert not (tmp_path / "out").exists()


def test_results_must_not_go_where_the_parts_are(data, model, tmp_path):
    for out, words in (
        (data, "which would be replaced"),
        (data / "out", "so the next run would read the results as parts"),
    ):
        ended = explain(data, "--model", model, "--out", out)
        assert ended.exit_code == 1
        assert words in ended.stderr
    (tmp_path / "file").write_text("")
    assert "is a file" in explain(data, "--model", model, "--out", tmp_path / "file").stderr
    assert len(list(data.iterdir())) == 4


CHANGES = {
    "--seed": (("--seed", "1"), "--seed was another"),
    "--id-column": (("--id-column", "order"), "--id-column was another"),
    "part": ((), "part-1.parquet has changed since"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_results_of_another_run_are_not_mixed_with(data, model, tmp_path, change):
    out, (options, words) = tmp_path / "out", CHANGES[change]
    arguments = (data, "--model", model, "--out", out, "--quiet")
    explain(*arguments)
    before = results(out)
    if change == "part":
        orders(40).write_parquet(data / "part-1.parquet")
    ended = explain(*arguments, *options)
    assert ended.exit_code == 1
    assert words in ended.stderr
    assert "--restart" in ended.stderr
    assert_same(results(out), before)
    assert explain(*arguments, *options, "--restart").exit_code == 0
    assert ("id" in results(out)["part-0"].columns) == (change == "--id-column")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--report", "r.html"), "--report does not work with a table in parts"),
        (("--share", "0.1"), "--share does not work with a table in parts"),
        (("--id-column", "nobody"), "part-0.parquet has no column 'nobody'"),
    ],
)
def test_options_that_are_not_for_parts(data, model, tmp_path, options, words):
    ended = explain(data, "--model", model, "--out", tmp_path / "out", *options)
    assert ended.exit_code != 0
    assert words in " ".join(ended.stderr.replace("│", " ").split())


def test_out_is_needed(data):
    assert "needs --out" in " ".join(explain(data).stderr.replace("│", " ").split())
