"""What the application keeps, and how it is chosen from."""

import sqlite3
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_up.serving import House
from whyodd.web.choice import MARKS, PAGE, SORTS, Choice
from whyodd.web.store import DONE, FAILED, ChangedMeanwhileError, InUseError, Store

READING = {"sheet": None, "encoding": None}


def row(rank, name="a", why="x", group=0, outlierness=None):
    told = {"rank": rank, "row": 10 * rank, "id": None, "name": name, "outlierness_text": ""}
    return told | {
        "main": why,
        "group": group,
        "outlierness": 100.0 - rank if outlierness is None else outlierness,
    }


def with_findings(store, rows):
    """A store that has findings with these rows; the name of the work."""
    place = store.new_place(".csv")
    place.write_text("a\n1\n")
    work = store.add_work("find", store.add_file("a.csv", place, READING), {})
    store.take_work()
    summary = {"anomalies": [], "rest": rows, "counts": {"rows": 99, "odd": len(rows)}}
    store.finish_findings(work, summary, {})
    return work


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Rows with names and reasons that letters of searches are special in."""
    store = Store(tmp_path_factory.mktemp("store"))
    names = ["A-1", "a_1", "100%", "Straße", "\\", "b", "%_", "Ångström"]
    rows = [
        row(i + 1, names[i % len(names)], ("high", "low", "HIGH low")[i % 3], i % 4, float(i % 5))
        for i in range(60)
    ]
    work = with_findings(store, rows)
    for i in range(0, 60, 3):
        store.mark(work, 10 * (i + 1), "fine" if i % 2 else "confirmed", "", 0)
    return store, work, rows


@given(
    q=st.sampled_from(["", "a", "%", "_", "\\", "strasse", "high low", "a_", "0", "å", "none such"]),
    mark=st.sampled_from(list(MARKS)),
    reason=st.sampled_from([None, 0, 3, 9]),
    sort=st.sampled_from(list(SORTS)),
    down=st.booleans(),
)
def test_what_is_chosen_is_what_a_plain_filter_chooses(many, q, mark, reason, sort, down):
    store, work, rows = many
    choice = Choice(q=q, mark=mark, reason=reason, sort=sort, down=down)
    assert Choice.of(_query(choice)) == choice  # each state is an address
    found, total = store.rows(work, *choice.condition, choice.order, 1000, 0)
    verdicts = {10 * (i + 1): "fine" if i % 2 else "confirmed" for i in range(0, 60, 3)}
    expected = [each for each in rows if _is_chosen(each, choice, verdicts.get(each["row"]))]
    assert total == len(expected)
    assert {each["rank"] for each in found} == {each["rank"] for each in expected}
    if sort in ("rank", "outlierness"):
        assert [each["rank"] for each in found] == [
            each["rank"]
            for each in sorted(expected, key=lambda each: ((-1 if down else 1) * each[sort], each["rank"]))
        ]
    # The neighbours of a row are those of the list.
    order = [each["row"] for each in found]
    for place, number in list(enumerate(order))[:3]:
        around = store.around(work, number, *choice.condition, choice.order)
        assert around["before"] == (order[place - 1] if place else None)
        assert around["after"] == (order[place + 1] if place + 1 < len(order) else None)
        assert (around["place"], around["n"]) == (place + 1, total)


def _is_chosen(each, choice, verdict):
    text = f"{each['name']} {each['row']} {each['main']}".casefold()
    is_marked = {"": True, "none": verdict is None}.get(choice.mark, verdict == choice.mark)
    has_reason = choice.reason is None or each["group"] == choice.reason
    return is_marked and has_reason and all(word in text for word in choice.q.casefold().split())


def _query(choice):
    return dict(parse_qsl(choice.query.removeprefix("?"), keep_blank_values=True))


@pytest.mark.parametrize(
    "query",
    [
        {"page": "-1"},
        {"page": "9" * 30},
        {"sort": "rows; DROP TABLE rows"},
        {"mark": "'"},
        {"reason": "²"},
        {"q": "\0"},
    ],
)
def test_nonsense_in_an_address_is_as_if_it_were_not_there(query):
    assert Choice.of(query) == Choice()


def test_pages_follow_one_another(many):
    store, work, rows = many
    parts = [store.rows(work, *Choice().condition, Choice().order, PAGE, PAGE * i)[0] for i in range(3)]
    assert [each["rank"] for part in parts for each in part] == [each["rank"] for each in rows]


class TestMarks:
    def test_a_mark_is_on_the_disk_at_once(self, tmp_path):
        store = Store(tmp_path)
        work = with_findings(store, [row(1)])
        store.mark(work, 10, "fine", "a gift", 0)
        # Another reader, as if this process had been killed here.
        reader = sqlite3.connect(tmp_path / "whyodd.sqlite")
        assert reader.execute("SELECT verdict, note FROM marks").fetchall() == [("fine", "a gift")]
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def test_what_somebody_else_said_meanwhile_is_not_overwritten(self, tmp_path):
        store = Store(tmp_path)
        work = with_findings(store, [row(1)])
        store.mark(work, 10, "fine", "mine", 0)
        with pytest.raises(ChangedMeanwhileError):
            store.mark(work, 10, "confirmed", "theirs", 0)
        seen = store.row(work, 10)
        assert (seen["verdict"], seen["note"]) == ("fine", "mine")
        store.mark(work, 10, "confirmed", "theirs", seen["version"])
        store.mark(work, 10, "", "", store.row(work, 10)["version"])
        assert store.counts_of_marks(work) == {"fine": 0, "confirmed": 0}

    def test_who_marks_one_after_the_other_finds_the_next_that_is_not_marked(self, tmp_path):
        store = Store(tmp_path)
        work = with_findings(store, [row(1), row(2), row(3)])
        choice = Choice(mark="none")
        for number, after in ((10, 20), (20, 30), (30, None)):
            store.mark(work, number, "fine", "", 0)
            assert store.around(work, number, *choice.condition, choice.order)["after"] == after


class TestWork:
    def test_one_after_the_other(self, tmp_path):
        house = House(tmp_path / "store")
        visitor = house.visitor()
        for name in ("one.csv", "two.csv"):
            visitor.post("/files", {}, (name, b"a\n1\n"))
        first = house.store.take_work()
        assert first["file_name"] == "one.csv"
        assert house.store.take_work()["n_before"] == 1

    def test_what_was_interrupted_begins_again_but_not_for_ever(self, tmp_path):
        store = Store(tmp_path)
        work = store.add_work("columns", _file(store), {})
        for _ in range(2):
            assert store.take_work()["id"] == work
            assert store.take_work() is None
            store.recover()
        assert store.work(work)["state"] == FAILED
        assert "stopped every time" in store.work(work)["error"]

    def test_findings_are_kept_apart_from_their_rows(self, tmp_path):
        store = Store(tmp_path)
        work = store.work(with_findings(store, [row(1), row(2)]))
        assert (work["state"], work["summary"]["rest"]) == (DONE, [])

    def test_deleting_a_file_deletes_all_that_came_of_it(self, tmp_path):
        store = Store(tmp_path)
        work = with_findings(store, [row(1)])
        file = store.work(work)["file"]
        store.results_of(work).mkdir(parents=True)
        store.mark(work, 10, "fine", "", 0)
        store.delete_file(file)
        assert store.work(work) is None
        assert store.counts_of_marks(work)["fine"] == 0
        assert [*(tmp_path / "files").iterdir(), *(tmp_path / "results").iterdir()] == []


def test_one_server_per_folder(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(InUseError, match="--folder"):
        Store(tmp_path)
    store.close()
    Store(tmp_path).close()


def test_nobody_else_reads_the_folder(tmp_path):
    assert Store(tmp_path / "new").folder.stat().st_mode & 0o077 == 0


def _file(store):
    place = store.new_place("")
    place.write_text("a\n1\n")
    return store.add_file("a.csv", place, READING)
