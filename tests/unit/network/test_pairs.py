"""Pairs of variables: which are kept, and the surprise at two values together against plain loops."""

import math

import numpy as np
import pytest

from reference.committee import _pairs as pairs_by_loop
from whyodd.network.pairs import Pairs

RNG = np.random.default_rng(0)
N = 600
SIGN = RNG.choice([-1.0, 1.0], N)


def each_of(d):
    return np.arange(d)


@pytest.fixture(scope="module")
def rows():
    """x1 follows x0, x2 follows nothing, and |x3| follows |x0| without any correlation."""
    x = RNG.normal(size=N)
    return np.column_stack([x, x + 0.1 * RNG.normal(size=N), RNG.normal(size=N), SIGN * x])


@pytest.fixture(scope="module")
def view(rows):
    return Pairs.of(rows, each_of(4))


def pairs_in(view):
    return {frozenset(pair) for pair in view.pairs.tolist()}


def test_keeps_pairs_that_depend_whether_or_not_they_correlate(view):
    assert pairs_in(view) == {frozenset({0, 1}), frozenset({0, 3}), frozenset({1, 3})}


def test_the_strongest_pair_comes_first(view):
    assert set(view.pairs[0].tolist()) == {0, 1}


def test_independent_columns_are_hardly_ever_a_pair():
    found = sum(len(Pairs.of(RNG.normal(size=(200, 6)), each_of(6)).pairs) for _ in range(20))
    assert found <= 6  # of 300, where three standard errors let about 2 pass


def test_columns_of_one_variable_are_no_pair(rows):
    assert pairs_in(Pairs.of(rows, np.array([0, 0, 1, 2]))) == {frozenset({0, 3}), frozenset({1, 3})}


def test_counts_are_those_of_the_rows(view, rows):
    n_bins = len(view.edges) + 1
    assert n_bins == int(math.sqrt(N / 15))
    for (i, k), counts, chance in zip(view.pairs, view.counts, view.chance, strict=True):
        places = [[sum(edge < x[c] for edge in view.edges[:, c]) for c in (i, k)] for x in rows]
        table = np.zeros((n_bins, n_bins))
        for first, second in places:
            table[first, second] += 1
        np.testing.assert_array_equal(counts, table)
        independent = np.outer(table.sum(axis=1), table.sum(axis=0)) / N
        np.testing.assert_allclose(chance, independent, rtol=1e-12)


def test_agrees_with_plain_loops(view, rows):
    new = np.vstack([rows[:10], 2.0 * RNG.normal(size=(10, 4)), [[50.0, -50.0, 0.0, 0.0]]])
    own = np.where(np.arange(21) < 10, np.arange(21), -1)
    for left_out in (None, own):
        found = view.decompose(new, own=left_out)
        each = np.full(21, -1) if left_out is None else left_out
        expected = [pairs_by_loop(list(x), view, int(j)) for x, j in zip(new, each, strict=True)]
        np.testing.assert_allclose(found.relevance, expected, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.relevance.sum(axis=1), found.outlierness, rtol=1e-12)
        assert (found.unexplained == 0.0).all()
        np.testing.assert_array_equal(view.outlierness(new, own=left_out), found.outlierness)


def test_values_that_are_usual_alone_surprise_together(view):
    together, apart = view.decompose([[2.0, 2.0, 0.0, 2.0], [2.0, -2.0, 0.0, 2.0]]).relevance
    assert together.max() == 0.0
    assert min(apart[0], apart[1]) > 0.5
    assert apart[2] == 0.0


def test_a_row_is_no_evidence_for_itself(view, rows):
    known, alone = view.surprise(rows[:50]), view.surprise(rows[:50], own=np.arange(50))
    assert (alone >= known).all()
    assert (alone > known).any()


class TestPartner:
    def test_is_the_other_column_and_the_rows_like_it_there(self, view, rows):
        row = np.array([[2.0, -2.0, 0.0, 2.0]])
        other, alike = view.partner(row, np.array([1]), None, rows)
        assert other in (0, 3)
        place = sum(edge < row[0, other] for edge in view.edges[:, other])
        same = [j for j, x in enumerate(rows) if sum(e < x[other] for e in view.edges[:, other]) == place]
        assert alike.tolist() == same

    def test_there_is_none_where_nothing_surprises(self, view, rows):
        assert view.partner(np.array([[2.0, 2.0, 0.0, 2.0]]), np.array([0]), None, rows) is None
        assert view.partner(np.array([[2.0, -2.0, 0.0, 2.0]]), np.array([2]), None, rows) is None

    def test_is_none_of_the_columns_themselves(self, view, rows):
        """A number and the mark of its gaps are one variable to people."""
        row = np.array([[2.0, -2.0, 0.0, 0.0]])
        other, _ = view.partner(row, np.array([0, 1]), None, rows)
        assert other == 3
        assert view.partner(row, np.array([0, 1, 3]), None, rows) is None

    def test_of_no_pairs(self):
        view = Pairs.of(np.random.default_rng(1).normal(size=(100, 1)), each_of(1))
        assert len(view.pairs) == 0
        assert view.partner(np.zeros((1, 1)), np.array([0]), None, np.zeros((3, 1))) is None
        assert view.decompose(np.zeros((2, 1))).relevance.tolist() == [[0.0], [0.0]]


def test_columns_that_never_vary_are_no_pair(rows):
    assert len(Pairs.of(np.column_stack([rows[:, 0], np.ones(N), np.zeros(N)]), each_of(3)).pairs) == 0


def test_of_many_columns_those_whose_ranks_go_together_are_looked_at(monkeypatch, rows):
    monkeypatch.setattr("whyodd.network.pairs._ALL_PAIRS", 2)
    found = pairs_in(Pairs.of(rows, each_of(4)))
    assert frozenset({0, 1}) in found
    assert len(found) <= 2
