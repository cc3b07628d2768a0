"""The page of the leaderboard is what its command writes."""

from pathlib import Path

import numpy as np
import pytest

import finding
import leaderboard

PAGE = Path(__file__).parents[2] / "docs" / "leaderboard.md"


def made_up(monkeypatch):
    names = ["1_one", "2_two", "3_three"]
    monkeypatch.setattr(leaderboard, "adbench_names", lambda: names)
    rng = np.random.default_rng(0)
    size = (len(names), len(finding.DETECTORS))
    results = finding.Results({"AUC": rng.random(size), "AP": rng.random(size)}, rng.random(size))
    areas = {name: {line: rng.random(9) for line in leaderboard.BLAMING} for name in leaderboard.COLLECTIONS}
    told = leaderboard.Blaming(areas, dict.fromkeys(leaderboard.BLAMING, 1.0))
    return leaderboard.Finding(names, 1, (results, results)), told


@pytest.mark.parametrize("quick", [True, False])
def test_tables_have_everyone_and_the_best_first(monkeypatch, quick):
    found, told = made_up(monkeypatch)
    text = leaderboard.measured(found, told, quick, 60.0)
    for name in (*finding.DETECTORS, *leaderboard.BLAMING):
        assert f"| {name} |" in text
    means = [float(line.split("|")[2]) for line in text.split("###")[1].splitlines() if "0." in line]
    assert means == sorted(means, reverse=True)
    assert ("quick run leaves out MCD" in text) == quick


def test_only_what_is_between_the_marks_is_replaced():
    page = f"before\n{leaderboard.BEGIN}\nold\n{leaderboard.END}\nafter\n"
    once = leaderboard.replaced(page, "new")
    assert once.startswith("before\n")
    assert once.endswith("\nafter\n")
    assert "new" in once
    assert "old" not in once
    assert leaderboard.replaced(once, "new") == once


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="needs one line"):
        leaderboard.replaced("no marks", "new")


def test_the_page_was_written_by_the_command():
    text = PAGE.read_text(encoding="utf-8").split(leaderboard.BEGIN)[1].split(leaderboard.END)[0]
    assert "Measured on" in text
    for line in leaderboard.BLAMING:
        assert f"| {line} |" in text
