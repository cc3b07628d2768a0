"""What the child process is asked to do, from the form to the page that shows what came of it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from markupsafe import escape

import whyodd
from made_up.orders import orders
from made_up.serving import House, columns_of, findings_of
from whyodd.findings.feedback import feedback
from whyodd.io.saving import load
from whyodd.web.teaching import teach


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with House(tmp_path_factory.mktemp("store") / "store").at_work() as house:
        yield house


@pytest.fixture(scope="module")
def visitor(house):
    return house.visitor()


def loads(odd, seed=0):
    """Two machines, one of which runs hot; a row of the other that is as hot."""
    heat = np.random.default_rng(seed).normal(0, 1, 120) + np.tile([20.0, 60.0], 60)
    heat[odd] = 60.0
    return pl.DataFrame({"machine": ["<cool>", "hot"] * 60, "heat": heat.round(2)}).write_csv().encode()


def test_a_column_of_context(house, visitor):
    work = findings_of(house, visitor, "loads.csv", loads(odd=8), c0="context")
    assert work["state"] == "done", work["error"]
    rows, _ = house.store.rows(work["id"], "1", [], "rows.rank", 9, 0)
    assert [row["row"] for row in rows] == [8]
    page = visitor.get(f"/findings/{work['id']}/rows/8").text
    assert "rows alike in context: machine &#39;&lt;cool&gt;&#39;." in page


@pytest.mark.parametrize("name", ["trusted", "old"])
def test_a_file_that_was_deleted_while_the_work_waited(house, visitor, name):
    file = columns_of(house, visitor, "loads.csv", loads(odd=8))["file"]
    work = house.store.add_work({"trusted": "find", "old": "compare"}[name], file, {name: "gone"})
    house.worker.wake()
    ended = house.ended(work)
    assert (ended["state"], "was deleted while it waited" in ended["error"]) == ("failed", True)


def test_marks_teach_the_model_of_the_next_file(house, visitor):
    """What comes again of what was marked; no row of a file that has changed is taken for another."""
    first = findings_of(house, visitor, "monday.csv", orders(120).write_csv().encode(), c0="names rows")
    mark(visitor, first, 7, "fine")
    mark(visitor, first, 20, "confirmed")
    second = judged(house, visitor, first, "tuesday.csv")
    told = "2 marks were taken along (1 fine, 1 confirmed): because of them 1 row is no longer odd."
    assert told in visitor.get(f"/findings/{second['id']}").text
    assert {7, 20, 33} <= odd_rows(house, first)
    assert odd_rows(house, second) & {20, 33, 60} == {20, 33}
    said = feedback(load(house.store.model_of(second["id"])))
    assert sorted((one.is_normal, one.note) for one in said) == [(False, "n20"), (True, "n7")]
    assert len(feedback(load(house.store.model_of(first["id"])))) == 0
    # It can be compared with others once its columns are known, which is the work after this one.
    assert house.ended(house.store.latest_work(second["file"], "columns")["id"])["state"] == "done"
    assert f'<option value="{first["file"]}">' in visitor.get(f"/files/{second['file']}").text
    # What is marked in the second file counts too.
    mark(visitor, second, 33, "confirmed")
    Path(house.store.file(first["file"])["place"]).write_bytes(orders(119).write_csv().encode())
    third = judged(house, visitor, second, "wednesday.csv")
    page = visitor.get(f"/findings/{third['id']}").text
    assert "1 mark was taken along (1 confirmed): no other row is judged differently." in page
    assert "2 marks were left out: in monday.csv their rows are no longer the same." in page
    assert 60 in odd_rows(house, third)


def test_of_two_marks_of_equal_rows_the_later_counts():
    frame = pl.DataFrame({"a": [*range(50), 200, 200]})
    model = whyodd.auto(frame)
    marks = [
        {"row": row, "verdict": verdict, "note": "", "at": at, "cells": None}
        for row, verdict, at in ((50, "fine", "2024-01-02"), (51, "confirmed", "2024-01-01"))
    ]
    taught = teach(model, [{"name": "a.csv", "marks": marks}], lambda _: (frame, None))
    assert taught.counts == {"fine": 1}
    assert taught.left_out == ["1 mark was left out: a later mark on an equal row says the opposite."]
    assert model.predict(frame[[50]])[0] == 1


def test_what_changed_from_another_file(house, visitor):
    names = ["<b>old", "new.csv"]
    old, new = (
        columns_of(house, visitor, name, loads(odd=range(0, last, 2)))["file"]
        for name, last in zip(names, (1, 80), strict=True)
    )
    assert visitor.post(f"/files/{new}/compare", {"other": new}).status == 404
    assert visitor.post(f"/files/{new}/compare", {"other": old, "csrf": "guessed"}).status == 403
    answer = visitor.post(f"/files/{new}/compare", {"other": old})
    work = house.ended(answer.headers["location"].rpartition("/")[2])
    assert work["state"] == "done", work["error"]
    address = visitor.get(f"/work/{work['id']}").headers["location"]
    for file in (old, new):
        assert f'href="{address}"' in visitor.get(f"/files/{file}").text
    page, report = visitor.get(address), visitor.get(f"{address}/report.html")
    assert report.headers["content-disposition"].startswith("attachment")
    for text in (page.text, report.text):
        assert "heat" in work["summary"]["headline"]
        assert str(escape(work["summary"]["headline"])) in text
        assert "&lt;b&gt;old → new.csv" in text
        assert "<b>old" not in text
    assert visitor.get(f"/findings/{work['id']}").status == 404
    # With one of the files it is gone.
    visitor.post(f"/files/{old}/delete", {})
    assert visitor.get(address).status == 404
    assert not house.store.results_of(work["id"]).exists()


def mark(visitor, work, row, verdict):
    said = {"verdict": verdict, "note": f"n{row}", "version": "0"}
    assert visitor.post(f"/findings/{work['id']}/rows/{row}/mark", said).status == 303


def judged(house, visitor, model, name):
    """Orders of another day, and after them the huge one of Monday, judged by the model of findings."""
    content = pl.concat([orders(60, seed=1), orders(120)[[7]]]).write_csv().encode()
    answer = visitor.post("/files", {"model": model["id"]}, (name, content))
    work = house.ended(answer.headers["location"].rpartition("/")[2])
    assert work["state"] == "done", work["error"]
    return work


def odd_rows(house, work):
    return {row["row"] for row in house.store.rows(work["id"], "1", [], "rows.rank", 99, 0)[0]}
