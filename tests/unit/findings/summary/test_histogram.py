"""Counts of the report's histogram against the scores themselves."""

import json

import numpy as np
import pytest

from whyodd.findings.summary.histogram import histogram

RANDOM = np.random.default_rng(8)
SCORES = np.concatenate([RANDOM.gamma(4.0, 1.0, size=500), [40.0, 41.0]])


@pytest.mark.parametrize("threshold", [None, 3.0, 39.5, 1e6, -5.0])
def test_every_score_is_counted_once_on_its_side_of_the_threshold(threshold):
    found = histogram(SCORES, threshold)
    above = 0 if threshold is None else int((threshold < SCORES).sum())
    assert (sum(found["below"]), sum(found["above"])) == (SCORES.size - above, above)
    assert len(found["edges"]) == len(found["below"]) + 1 == len(found["above"]) + 1
    json.dumps(found, allow_nan=False)


def test_no_bar_is_on_both_sides_of_the_threshold():
    found = histogram(SCORES, 3.0)
    assert 3.0 in found["edges"]
    assert not (np.array(found["below"]) * np.array(found["above"])).any()


def test_the_counts_are_those_between_the_edges():
    found = histogram(SCORES, 3.0)
    low, high = found["edges"][2:4]
    assert found["below"][2] + found["above"][2] == int(((low <= SCORES) & (high > SCORES)).sum())


def test_the_lowest_the_median_and_the_highest_score():
    found = histogram([3.0, 1.0, 2.0, 10.0], None)
    assert (found["lowest"], found["median"], found["highest"]) == (1.0, 2.5, 10.0)


@pytest.mark.parametrize(
    "scores",
    [[0.0], [5.0, 5.0], [1.0, np.nextafter(1.0, 2.0)], [1e16, 1e16 + 2.0], [0.0, 1e-300], [1.0, 1e308]],
    ids=["one", "equal", "rounding", "large", "tiny", "far"],
)
@pytest.mark.parametrize("threshold", [None, 1.0])
def test_scores_that_leave_no_room_for_bins_are_counted_too(scores, threshold):
    found = histogram(scores, threshold)
    assert sum(found["below"]) + sum(found["above"]) == len(scores)
    assert (np.diff(found["edges"]) > 0.0).all()


def test_no_scores_have_no_bars():
    found = histogram([], 1.0)
    assert found["edges"] == found["below"] == found["above"] == []
    assert found["lowest"] is found["median"] is found["highest"] is None


def test_what_is_not_finite_is_left_out():
    assert histogram([1.0, 2.0, np.inf, np.nan], None) == histogram([1.0, 2.0], None)


@pytest.mark.parametrize("threshold", [None, 37.2, 0.01, -1.0])
def test_scores_far_out_leave_the_others_room(threshold):
    scores = np.concatenate([SCORES, [1e3, 1e5, 3e6]])
    found = histogram(scores, threshold)
    assert found["is_log"]
    widths = np.diff(np.log(found["edges"]))
    np.testing.assert_allclose(widths[1:-1], widths[1], rtol=1e-9)
    assert sum(found["below"]) + sum(found["above"]) == scores.size
    assert max(np.add(found["below"], found["above"])) < 0.5 * scores.size
    if threshold == 37.2:
        assert threshold in found["edges"]
        assert sum(found["above"]) == (scores > threshold).sum()


def test_scores_of_zero_have_no_logarithm():
    assert not histogram([0.0, 1.0, 1e6], None)["is_log"]
