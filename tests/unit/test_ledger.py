"""The ledger of speed: which numbers of a table it keeps, and what it calls worse."""

import json

import pytest

import ledger
from ledger import Ratio, got_worse, ratios_of, read_ledger

TABLE = {
    "title": "Explanation\nagainst the limit",
    "columns": ["(n, m, d)", "explain ms", "explain / limit", "NumPy loop / explain"],
    "rows": [["(4096, 4096, 49)", "12.1", "1.50", "1,048"], ["(1, 2, 3)", "0.1", "-", "7 x"]],
}


def ratio(value, column="explain / limit"):
    return Ratio("explain", "limit", "(1, 2, 3)", column, value)


def test_every_benchmark_is_there():
    for script, *_ in ledger.BENCHMARKS.values():
        assert (ledger.HERE / script).exists()


def test_ratios_of_a_table_are_kept_and_nothing_else():
    found = {(one.row, one.column): one.value for one in ratios_of("explain", TABLE)}
    assert found == {
        ("(4096, 4096, 49)", "explain / limit"): 1.5,
        ("(4096, 4096, 49)", "NumPy loop / explain"): 1048.0,
        ("(1, 2, 3)", "NumPy loop / explain"): 7.0,
    }


@pytest.mark.parametrize(
    ("column", "now", "is_worse"),
    [
        ("explain / limit", 2.0, True),
        ("explain / limit", 0.5, False),
        ("explain / limit", 1.2, False),  # within the noise
        ("libsvm / whyodd", 0.5, True),
        ("libsvm / whyodd", 2.0, False),
    ],
)
def test_worse_is_up_or_down(column, now, is_worse):
    worse = got_worse([ratio(now, column)], [[ratio(1.0, column)]])
    assert bool(worse) is is_worse


def test_worse_than_every_machine_so_far():
    before = [[ratio(1.0)], [ratio(3.0)]]
    assert got_worse([ratio(3.5)], before) == []
    ((_, times),) = got_worse([ratio(6.0)], before)
    assert times == pytest.approx(2.0)


def test_what_is_new_is_not_worse():
    assert got_worse([ratio(9.0)], [[]]) == []


def test_a_table_goes_to_the_ledger_as_it_is_printed(tmp_path, monkeypatch, capsys):
    file = tmp_path / "tables.jsonl"
    monkeypatch.setenv(ledger.LEDGER, str(file))
    ledger.print_table("A title", ("", "a / b"), [("one", "1.5")])
    assert "1.5" in capsys.readouterr().out
    assert json.loads(file.read_text()) == {
        "title": "A title",
        "columns": ["", "a / b"],
        "rows": [["one", "1.5"]],
    }


def test_a_file_that_is_no_ledger(tmp_path):
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(SystemExit, match="is no ledger"):
        read_ledger(tmp_path / "other.json")


def test_a_benchmark_that_fails_is_named_and_costs_no_other_its_ratios(tmp_path, monkeypatch, capsys):
    printed = json.dumps(TABLE)
    (tmp_path / "good.py").write_text(
        f"import os, pathlib\npathlib.Path(os.environ['WHYODD_LEDGER']).write_text({printed!r} + '\\n')\n"
    )
    (tmp_path / "bad.py").write_text("raise SystemExit(3)\n")
    monkeypatch.setattr(ledger, "HERE", tmp_path)
    monkeypatch.setattr(ledger, "BENCHMARKS", {"bad": ("bad.py",), "good": ("good.py",)})
    out = tmp_path / "mine.json"
    monkeypatch.setattr("sys.argv", ["ledger.py", "--out", str(out), "--only", "bad", "good"])
    assert ledger.main() == 1
    assert {one.benchmark for one in read_ledger(out)} == {"good"}
    assert "bad failed" in capsys.readouterr().err
