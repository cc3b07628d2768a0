"""Agreement of explanations, compared with SciPy and with plain counting."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from whyodd.evaluation.agreement import agreement, rank_correlation, top_overlap

RNG = np.random.default_rng(0)
ONE = RNG.integers(0, 5, size=(20, 8)).astype(float)
TWO = ONE + RNG.integers(0, 4, size=ONE.shape)


def test_correlation_of_ranks_is_spearmans():
    expected = [spearmanr(a, b).statistic for a, b in zip(ONE, TWO, strict=True)]
    np.testing.assert_allclose(rank_correlation(ONE, TWO), expected, rtol=1e-12)


def test_correlation_with_a_constant_is_undefined():
    assert np.isnan(rank_correlation(np.ones((1, 4)), [[1, 2, 3, 4]])[0])
    assert np.isnan(rank_correlation(np.full((1, 3), 0.1), [[1, 2, 3]])[0])


def test_overlap_counts_common_top_variables():
    one, two = RNG.permuted(np.tile(np.arange(9.0), (30, 1)), axis=1), RNG.random((30, 9))
    expected = [
        len(set(np.argsort(-a)[:4]) & set(np.argsort(-b)[:4])) / 4 for a, b in zip(one, two, strict=True)
    ]
    np.testing.assert_allclose(top_overlap(one, two, k=4), expected, rtol=1e-12)


def test_variables_of_equal_relevance_share_their_places():
    # Two places: one belongs to the first variable, the other two have half of a place each.
    assert top_overlap([[5, 1, 1, 0]], [[5, 1, 1, 0]], k=2)[0] == 1.0
    assert top_overlap([[5, 1, 1, 0]], [[5, 2, 1, 0]], k=2)[0] == pytest.approx(0.75)
    assert top_overlap([[3, 2]], [[1, 2]], k=10)[0] == 1.0


def test_matrix_over_methods():
    table = agreement({"one": ONE, "two": TWO, "constant": np.ones_like(ONE)})
    assert table["method"].tolist() == ["one", "two", "constant"]
    assert table["one"][0] == pytest.approx(1.0)
    assert table["one"][1] == table["two"][0] == pytest.approx(rank_correlation(ONE, TWO).mean())
    assert np.isnan(table["constant"].to_numpy(dtype=float)).all()
    tops = agreement({"one": ONE, "two": TWO}, k=3)
    assert tops["one"][1] == pytest.approx(top_overlap(ONE, TWO, k=3).mean())


def test_heatmaps_agree_item_by_item():
    heat = [RNG.random((3, 4)), RNG.random((2, 5))]
    np.testing.assert_allclose(rank_correlation(heat, [h**3 for h in heat]), 1.0, rtol=1e-12)


def test_a_number_of_variables_is_at_least_one():
    with pytest.raises(ValueError, match="k=0"):
        top_overlap(ONE, TWO, k=0)
