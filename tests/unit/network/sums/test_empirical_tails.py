"""Tails of rows among the training rows and themselves, against plain loops."""

import numpy as np
import pytest

from reference import sums
from whyodd.network.sums.empirical_tails import BothTails, LongerTail
from whyodd.network.sums.terms import TermsScore

RNG = np.random.default_rng(0)
# Where the skewness is 0 but for rounding, the terms are PyOD's: see the tests of its adapter.
TABLES = {
    "plain": RNG.normal(size=(40, 3)),
    "skewed": np.exp(RNG.normal(size=(40, 3))),
    "ties": RNG.integers(0, 4, size=(40, 3)).astype(float),
    "constant": np.column_stack([np.full(40, 0.25), RNG.normal(size=40), np.full(40, 7.0)]),
    "one column": RNG.normal(size=(40, 1)),
    "far from 0": 1e9 + np.exp(RNG.normal(size=(40, 3))),
}
KINDS = [(BothTails, sums.ecod_terms), (LongerTail, sums.copod_terms)]


def rows_near(table):
    """Rows of the table, between its values, at its means and far outside."""
    spread = np.ptp(table, axis=0) + 1.0
    shaken = table[:8] + RNG.normal(size=table[:8].shape) * 0.2
    return np.vstack(
        [table[:8], shaken, table.mean(axis=0), table.max(axis=0) + spread, table.min(axis=0) - spread]
    )


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(("kind", "plain"), KINDS)
class TestTails:
    def test_are_those_of_the_plain_loops(self, kind, plain, table):
        rows = rows_near(table)
        expected = [plain(table, row) for row in rows]
        np.testing.assert_allclose(kind(table).of(rows), expected, rtol=1e-12, atol=1e-15)

    def test_without_a_training_row(self, kind, plain, table):
        rows = rows_near(table)
        own = RNG.integers(-1, len(table), size=len(rows))
        expected = [plain(table, row, j if j >= 0 else None) for row, j in zip(rows, own, strict=True)]
        np.testing.assert_allclose(kind(table).of(rows, own), expected, rtol=1e-12, atol=1e-15)


def test_a_training_row_without_itself_is_counted_once():
    table = TABLES["plain"]
    score = TermsScore(BothTails(table))
    assert score.capabilities >= {"leave_out", "expected"}
    terms = score.decompose(table, own=score.rows).relevance
    np.testing.assert_allclose(terms.max(axis=0), np.log(len(table)))


def test_usual_values_are_the_medians():
    table = TABLES["skewed"]
    expected = TermsScore(BothTails(table)).expected(table[:2])
    np.testing.assert_array_equal(expected, np.broadcast_to(np.median(table, axis=0), (2, 3)))
