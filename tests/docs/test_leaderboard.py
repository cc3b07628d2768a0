"""The page of the leaderboard is what its command writes."""

from pathlib import Path

import numpy as np
import pytest

import finding
import leaderboard

PAGE = Path(__file__).parents[2] / "docs" / "leaderboard.md"


def made_up(monkeypatch, seeds):
    names = ["1_one", "2_two", "3_three"]
    monkeypatch.setattr(leaderboard, "adbench_names", lambda: names)
    rng = np.random.default_rng(0)
    size = (len(names), len(leaderboard.DETECTORS))
    results = finding.Results({"AUC": rng.random(size), "AP": rng.random(size)}, rng.random(size))
    told = {name: {line: rng.random(9) for line in leaderboard.BLAMING} for name in leaderboard.COLLECTIONS}
    return leaderboard.Finding(names, seeds, (results, results)), told


@pytest.mark.parametrize("seeds", [1, finding.N_SEEDS])
def test_tables_have_everyone_and_the_best_first(monkeypatch, seeds):
    text = leaderboard.measured(*made_up(monkeypatch, seeds))
    for name in (*leaderboard.DETECTORS, *leaderboard.BLAMING):
        assert f"| {name} |" in text
    means = [float(line.split("|")[2]) for line in text.split("###")[1].splitlines() if "0." in line]
    assert means == sorted(means, reverse=True)
    assert ("`python benchmarks/leaderboard.py --seeds 1 --write" in text) == (seeds == 1)


def test_seeds_are_averaged():
    one, other = (
        finding.Results({"AUC": np.full((2, 3), v), "AP": np.zeros((2, 3))}, np.ones((2, 3)))
        for v in (0.2, 0.4)
    )
    (mean,) = finding.together([(one,), (other,)])
    np.testing.assert_allclose(mean.found["AUC"], 0.3)
    np.testing.assert_array_equal(mean.seconds, 2.0)


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
    for line in (*leaderboard.DETECTORS, *leaderboard.BLAMING):
        assert f"| {line} |" in text
