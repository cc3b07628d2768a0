"""How rare categories and gaps are."""

import math

import numpy as np
import pytest

from whyodd.automatic.rarity import Rarity
from whyodd.automatic.steps import FilledGaps
from whyodd.models.registry import Committee


def entries(counts):
    column = np.array([[value] for value, count in counts.items() for _ in range(count)], dtype=object)
    step = Rarity().fit(column)
    return step.transform(np.array([[value] for value in [*counts, "new"]], dtype=object))[:, 0]


@pytest.mark.parametrize("counts", [{"a": 50, "b": 50}, {"a": 52, "b": 48}, dict.fromkeys(range(30), 3)])
def test_what_is_equally_likely_is_no_surprise(counts):
    assert not entries(counts)[:-1].any()


def test_the_entry_is_the_surprise_at_one_as_rare_or_rarer():
    expected = [0.0, *(-math.log(share) for share in (0.25, 0.05, 0.02, 0.02, 2 / 101))]
    # Five rows have a category as rare as c, or rarer; two one as rare as d.
    np.testing.assert_allclose(entries({"a": 75, "b": 20, "c": 3, "d": 1, "e": 1}), expected)


def test_a_missing_value_is_a_category():
    assert entries({"a": 99, None: 1})[1] == pytest.approx(math.log(100))


def test_gaps_are_marked_by_their_surprise_alone_and_together():
    X = np.zeros((100, 3))
    X[:, 2] = np.arange(100)
    X[:10, 0] = X[5:15, 1] = np.nan
    step = FilledGaps().fit(X)
    rows = [[np.nan, 0, 0], [np.nan, np.nan, 0], [0, 0, 0], [0, 0, np.nan]]
    alone, both, none, first = step.transform(np.array(rows))
    assert none[3:].tolist() == first[3:].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(alone[3:], [math.log(10), 0.0])
    # Five rows in a hundred have two gaps: less of a surprise than two in a row that are independent.
    np.testing.assert_allclose(np.sum(both[3:] ** 2), 2 * math.log(10) * math.log(20))
    assert first[2] > X[:, 2].max()


@pytest.mark.parametrize("variables", [[0], [0.5, 1.0, 2.0], "abc"])
def test_variables_of_a_committee_are_whole_numbers(variables):
    with pytest.raises(ValueError, match="expected a whole number for each column of X"):
        Committee(variables=variables).fit(np.random.default_rng(0).normal(size=(50, 3)))
