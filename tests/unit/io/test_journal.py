"""What is done of a run, line by line on disk."""

import os

import pytest

from whyodd.io.journal import Journal, run_key, stamp


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "j.jsonl", "key", ("name",))


def test_lines_are_on_disk_at_once_and_in_order(journal):
    with journal.writing([]) as add:
        add({"name": "a", "value": 0.1})
        assert list(journal.lines()) == [{"name": "a", "value": 0.1}]
        add({"name": "b"}, {"name": "\udcff"})  # a letter that no encoding has
    assert [line["name"] for line in journal.lines()] == ["a", "b", "\udcff"]


def test_what_is_kept_stands_before_what_is_added(journal):
    with journal.writing([]) as add:
        add({"name": "a"}, {"name": "b"}, {"name": "c"})
    with journal.writing(line for line in journal.lines() if line["name"] < "c") as add:
        add({"name": "d"})
    assert [line["name"] for line in journal.lines()] == ["a", "b", "d"]


def test_of_another_run_nothing_is_known(journal, tmp_path):
    with journal.writing([{"name": "a"}]):
        pass
    assert list(Journal(journal.path, "other", ("name",)).lines()) == []
    assert list(Journal(tmp_path / "absent", "key", ()).lines()) == []


def test_lines_that_are_cut_off_or_lack_something_are_left_out(journal):
    with journal.writing([{"name": "a"}, {"other": 1}, {"name": "b"}]):
        pass
    journal.path.write_bytes(journal.path.read_bytes()[:-4])
    assert list(journal.lines()) == [{"name": "a"}]


def test_done(journal):
    with journal.writing([]):
        pass
    journal.done()
    journal.done()
    assert not list(journal.path.parent.iterdir())


def test_keys(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a")
    key = run_key([file], {"n": 1})
    assert key == run_key([file], {"n": 1})
    assert key != run_key([file], {"n": 2})
    before = stamp(file)
    os.utime(file, ns=(1, 1))
    assert stamp(file) != before
    assert key != run_key([file], {"n": 1})
