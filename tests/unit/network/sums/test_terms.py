"""Sums over variables."""

import numpy as np
import pytest

from reference import sums
from whyodd.maths.linear_maps import LinearMap
from whyodd.network.sums.terms import HistogramTerms, RobustDeviations, TermsScore

RNG = np.random.default_rng(0)
EDGES = ([0.0, 1.0, 2.0, 4.0], [-1.0, 1.0])
HEIGHTS = ([-1.0, 0.5, -3.0], [-0.25])
HISTOGRAMS = HistogramTerms(EDGES, HEIGHTS, tolerance=0.25)
ROWS = np.array([[0.0, -1.0], [1.0, 0.0], [1.5, 9.0], [-0.25, 1.5], [-0.3, -9.0], [4.5, 0.0], [4.6, 1.0]])


def test_histograms_are_those_of_the_plain_loops():
    densities = [2.0 ** np.array(h) for h in HEIGHTS]
    costs = np.array([sums.hbos_terms(EDGES, densities, 0.0, 0.25, row) for row in ROWS])
    np.testing.assert_allclose(HISTOGRAMS.of(ROWS) - [0.5, -0.25], costs, rtol=1e-12, atol=1e-15)


def test_the_usual_value_is_the_middle_of_the_fullest_bin():
    np.testing.assert_array_equal(HISTOGRAMS.usual, [1.5, 0.0])
    np.testing.assert_array_equal(TermsScore(HISTOGRAMS).expected(ROWS)[0], [1.5, 0.0])


def test_terms_are_the_relevance():
    score = TermsScore(HISTOGRAMS)
    parts = score.decompose(ROWS)
    np.testing.assert_array_equal(parts.relevance, HISTOGRAMS.of(ROWS))
    np.testing.assert_array_equal(parts.outlierness, score.outlierness(ROWS))
    assert not parts.unexplained.any()
    assert parts.relevance.min() >= 0.0
    assert "leave_out" not in score.capabilities


def test_rows_in_float32_are_explained_in_float32():
    parts = TermsScore(HISTOGRAMS).decompose(ROWS.astype(np.float32))
    assert parts.relevance.dtype == np.float32
    np.testing.assert_allclose(parts.relevance.sum(axis=1), parts.outlierness, rtol=1e-6)


@pytest.mark.parametrize("shape", [(2, 3), (2, 1)])
def test_behind_a_map_terms_are_spread_over_its_variables(shape):
    score, made_by = TermsScore(RobustDeviations([1.0, -1.0], [2.0, 0.5])), RNG.normal(size=shape)
    values = RNG.normal(size=(6, 2))
    parts = score.decompose(values, through=LinearMap(made_by))
    for x, terms, relevance, rest in zip(
        values, score.decompose(values).relevance, parts.relevance, parts.unexplained, strict=True
    ):
        gaps = x - [1.0, -1.0]
        made = np.linalg.pinv(made_by) @ gaps
        expected = sums.spread(terms, made_by, made, gaps - made_by @ made)
        np.testing.assert_allclose(relevance, expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(rest, expected[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-12)


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match=r"X has 3 column\(s\), the model was fitted on 2"):
        TermsScore(HISTOGRAMS).outlierness(np.zeros((1, 3)))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: HistogramTerms([[0.0, 1.0]], [[1.0, 2.0]], 0.5),
        lambda: HistogramTerms([[1.0, 0.0]], [[1.0]], 0.5),
        lambda: HistogramTerms([[0.0, np.nan]], [[1.0]], 0.5),
        lambda: HistogramTerms([[0.0, 1.0]], [[1.0]], -0.5),
        lambda: HistogramTerms([], [], 0.5),
    ],
)
def test_a_histogram_that_does_not_fit_together_is_refused(wrong):
    with pytest.raises(ValueError, match=r"^A histogram must have finite edges in order, a height for each"):
        wrong()


@pytest.mark.parametrize(
    ("medians", "spreads", "message"),
    [
        ([0.0], [0.0], r"spreads as finite numbers of at least .* of shape \(1,\), got values down to 0\.$"),
        ([0.0, 1.0], [1.0], r"spreads as .* of shape \(2,\), got shape \(1,\)\.$"),
        ([np.inf], [1.0], r"medians as finite numbers of shape \(any,\), got values down to inf\.$"),
    ],
)
def test_deviations_that_do_not_fit_together_are_refused(medians, spreads, message):
    with pytest.raises(ValueError, match=rf"^Expected RobustDeviations\.{message}"):
        RobustDeviations(medians, spreads)
