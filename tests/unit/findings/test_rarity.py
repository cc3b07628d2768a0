"""How rare a row is, in words: what was counted, what was extrapolated, and where the data say no more."""

import pytest

from whyodd.findings.rarity import how_odd, rarity


@pytest.mark.parametrize(
    ("p_value", "n_normal", "words", "cell"),
    [
        (0.3, 100, "30 % of normal rows are as odd", "30 %"),
        (0.05, 100, "about 1 in 20 normal rows is", "1 in 20"),
        (0.0011, 100, "about 1 in 900 normal rows is", "1 in 900"),
        # Ten times as many rows as were seen, and no more.
        (0.0009, 100, "fewer than 1 in 1,000 normal rows are", "< 1 in 1,000"),
        (1e-9, 100, "fewer than 1 in 1,000 normal rows are", "< 1 in 1,000"),
        (1e-9, 2_000, "fewer than 1 in 20,000 normal rows are", "< 1 in 20,000"),
        (0.0, 50, "fewer than 1 in 500 normal rows are", "< 1 in 500"),
        # One row says nothing beyond itself.
        (0.0, 1, "0 % of normal rows are as odd", "0 %"),
    ],
)
def test_no_more_is_said_than_the_rows_support(p_value, n_normal, words, cell):
    assert how_odd(17.2, p_value, n_normal) == f"17 times as odd as a usual row; {words}"
    assert rarity(p_value, n_normal) == cell
