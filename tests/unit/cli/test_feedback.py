"""``whyodd accept``, ``reject`` and ``feedback``: what people say of rows, kept in the file of a model."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import whyodd
from made_up.orders import orders
from whyodd.cli.app import app

FRAME = orders(200)
HOSTILE = "year-end \x1b[31m[bold]bookings[/bold]"


def run(*arguments):
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("feedback")
    FRAME.write_csv(folder / "orders.csv")
    FRAME[7:8].write_csv(folder / "one.csv")
    whyodd.save(whyodd.auto(FRAME.drop("order")), folder / "model.whyodd")
    return folder, (folder / "model.whyodd").read_bytes()


@pytest.fixture
def folder(learned):
    folder, model = learned
    (folder / "model.whyodd").write_bytes(model)
    return folder


def test_accept_list_and_undo(folder, learned):
    model, data = folder / "model.whyodd", folder / "orders.csv"
    done = run("accept", model, data, "--rows", "7", "--note", HOSTILE)
    assert done.exit_code == 0, done.output
    assert "Row 7 is accepted as normal (id 1): no other row is no longer odd (199 looked at)." in done.output
    assert f"whyodd feedback {model} --forget 1" in done.output.replace("\n", "")
    assert not whyodd.find(FRAME.drop("order"), model=whyodd.load(model)).is_odd[7]
    done = run("reject", model, data, "--rows", "A-0020", "--id-column", "order")
    assert "Row A-0020 is confirmed as odd (id 2)" in done.output
    listed = run("feedback", model)
    assert "1 row accepted: year-end" in listed.output
    assert "\x1b" not in listed.output
    assert "[bold]bookings" in listed.output
    told = json.loads(run("feedback", model, "--json").stdout)["feedback"]
    assert [(one["id"], one["verdict"], one["note"]) for one in told] == [
        (1, "accepted", HOSTILE),
        (2, "rejected", ""),
    ]
    for number in (1, 2):
        assert "Taken back" in run("feedback", model, "--forget", number).output
    assert "no feedback" in run("feedback", model).output
    assert model.read_bytes() == learned[1]


def test_all_rows_of_a_file_into_another_model(folder, learned):
    model, other = folder / "model.whyodd", folder / "other.whyodd"
    done = run("accept", model, folder / "one.csv", "--out", other, "--json")
    told = json.loads(done.stdout)
    assert (told["id"], told["verdict"], told["rows"]) == (1, "accepted", 1)
    assert model.read_bytes() == learned[1]
    assert whyodd.load(other).predict(FRAME.drop("order")[7:8])[0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["accept", "model.whyodd", "orders.csv", "--rows", "200"],
            "orders.csv has no row '200'. Expected numbers",
        ),
        (["accept", "model.whyodd", "orders.csv", "--rows", "x", "--id-column", "order"], "has no row 'x'"),
        (["accept", "model.whyodd", "orders.csv", "--rows", ","], "expected rows, for example 12,40"),
        (["accept", "none.whyodd", "orders.csv"], "There is no file"),
        (["reject", "model.whyodd", "none.csv"], "none.csv"),
        (
            ["reject", "model.whyodd", "orders.csv", "--rows", "7", "--note", "x" * 1001],
            "at most 1,000 letters",
        ),
        (
            ["feedback", "model.whyodd", "--forget", "3"],
            "There is no judgement with the id 3. There are: none.",
        ),
        (["feedback", "model.whyodd", "--out", "other.whyodd"], "--out writes the model without"),
    ],
)
def test_mistakes_are_told_and_change_nothing(folder, learned, arguments, message):
    done = run(*(folder / part if "." in part else part for part in arguments))
    assert done.exit_code != 0
    assert message in " ".join(done.output.replace("│", " ").split())
    assert (folder / "model.whyodd").read_bytes() == learned[1]
