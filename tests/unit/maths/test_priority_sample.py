"""Samples of rows that come in parts: a plain reference, the laws of merging, and what chance gives."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyodd.maths.priority_sample import PrioritySample


def drawn(n, capacity=5, **keywords):
    """A sample, whose rows are told apart by part and number."""
    sample, kept = PrioritySample.draw(n, capacity, **keywords)
    assert np.array_equal(sample.row, keywords.get("first_row", 0) + kept)
    return sample


def merged(samples):
    return reduce(lambda a, b: a.merge(b)[0], samples)


def told(sample):
    """All that a sample says, to be compared to the last bit."""
    rows = [
        (sample.parts[part], row, key)
        for part, row, key in zip(sample.part, sample.row.tolist(), sample.keys.tolist(), strict=True)
    ]
    weights = None if sample.weights is None else sample.weights.tolist()
    return rows, weights, sample.now, sample.bar


def by_hand(n, capacity, seed, part, half_life=math.inf, weights=None):
    """(row, key) of the rows kept, in plain loops."""
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 1, part])))
    keyed = []
    for t in range(n):
        u = 1.0 - random.random()
        w = 1.0 if weights is None else weights[t]
        if w == 0.0:
            continue
        keyed.append((math.log(u) - math.log(w) - t * math.log(2.0) / half_life, t, u))
    chosen = sorted(keyed)[:capacity]
    fresh = [
        (t, key) for key, t, u in chosen if weights is not None or u <= 2.0 ** (-(n - 1 - t) / half_life)
    ]
    return sorted(fresh)


@given(
    n=st.integers(0, 30),
    capacity=st.integers(1, 12),
    seed=st.integers(0, 5),
    half_life=st.sampled_from([None, 3.0, 50.0]),
    weighted=st.booleans(),
)
def test_rows_with_the_smallest_keys_are_kept(n, capacity, seed, half_life, weighted):
    weights = np.arange(n) % 3.0 if weighted else None
    sample = drawn(n, capacity, seed=seed, part=7, half_life=half_life, weights=weights)
    expected = by_hand(n, capacity, seed, 7, half_life or math.inf, weights)
    assert sample.row.tolist() == [row for row, _ in expected]
    np.testing.assert_allclose(sample.keys, [key for _, key in expected], rtol=1e-12)


@st.composite
def parts(draw):
    sizes = draw(st.lists(st.integers(0, 9), min_size=3, max_size=6))
    half_life = draw(st.sampled_from([None, 4.0, 100.0]))
    order = draw(st.permutations(range(len(sizes))))
    return [drawn(size, 6, part=(1, i), half_life=half_life) for i, size in enumerate(sizes)], order


@given(parts())
def test_the_order_of_merging_does_not_matter(case):
    samples, order = case
    one_by_one = merged(samples)
    assert told(merged([samples[i] for i in order])) == told(one_by_one)
    half = len(samples) // 2
    two_halves = merged(samples[half:]).merge(merged(samples[:half]))[0]
    assert told(two_halves) == told(one_by_one)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.sampled_from([None, 4.0]), st.booleans())
def test_a_part_may_come_in_pieces(sizes, half_life, weighted):
    n = sum(sizes)
    weights = 0.5 + np.arange(n) % 3.0 if weighted else None
    pieces, start = [], 0
    for size in sizes:
        own = None if weights is None else weights[start : start + size]
        pieces.append(drawn(size, 6, first_row=start, half_life=half_life, weights=own))
        start += size
    assert told(merged(pieces)) == told(drawn(n, 6, half_life=half_life, weights=weights))


def test_merging_tells_which_rows_of_both_are_kept():
    first, kept_first = PrioritySample.draw(20, 4, part=3)
    second, kept_second = PrioritySample.draw(20, 4, part=1)
    both, kept = first.merge(second)
    names = [(3, row) for row in kept_first] + [(1, row) for row in kept_second]
    assert [names[i] for i in kept] == [
        (both.parts[p][0], r) for p, r in zip(both.part, both.row, strict=True)
    ]
    assert both.parts == tuple(sorted(both.parts))


def test_every_row_is_kept_equally_often():
    """Of 2,000 samples each row is in a quarter, within 4.5 standard errors."""
    counts = np.zeros(40)
    for seed in range(2_000):
        half = [PrioritySample.draw(20, 10, seed=seed, part=part)[0] for part in (0, 1)]
        sample = half[0].merge(half[1])[0]
        counts[20 * np.array([part[0] for part in sample.parts])[sample.part] + sample.row] += 1
    assert np.abs(counts / 2_000 - 0.25).max() < 4.5 * math.sqrt(0.25 * 0.75 / 2_000)


@pytest.mark.parametrize("capacity", [50, 5_000])
def test_a_row_of_one_half_life_is_kept_half_as_often(capacity):
    """The share of rows kept falls by half with every half-life, with room for all (1,420) and without."""
    life, samples = 1_000.0, 200
    ages = np.concatenate(
        [5_999 - drawn(6_000, capacity, seed=seed, half_life=life).row for seed in range(samples)]
    )
    counts, _ = np.histogram(ages, np.arange(0, 6_001, 1_000))
    shares = counts / counts.sum()
    expected = 0.5 ** np.arange(6) / (0.5 ** np.arange(6)).sum()
    # Multinomial counts vary no more than this, and those of a fixed number of rows less.
    assert np.all(np.abs(shares - expected) < 4.5 * np.sqrt(expected / counts.sum()))
    if capacity == 5_000:
        n_kept = life / math.log(2.0) * (1.0 - 0.5**6)
        assert abs(len(ages) / samples - n_kept) < 4.5 * math.sqrt(n_kept / samples)


@pytest.mark.parametrize("half_life", [None, 20.0])
def test_weights_are_estimated_without_bias(half_life):
    """Sums over the sample are sums over all rows on average: of 1,000 samples within 4.5 standard errors."""
    w = np.random.default_rng(0).gamma(0.5, size=100)
    values = np.arange(100.0) % 7.0
    sums = []
    for seed in range(1_000):
        sample = drawn(100, 20, seed=seed, weights=w, half_life=half_life)
        sums.append(float(sample.estimated_weights @ values[sample.row]))
    error = np.std(sums) / math.sqrt(len(sums))
    expected = w * 0.5 ** ((99.0 - np.arange(100)) / (half_life or math.inf)) @ values
    assert abs(np.mean(sums) - expected) < 4.5 * error
    assert error < 0.02 * expected


def test_with_room_for_all_weights_are_those_given():
    w = np.array([0.5, 2.0, 7.0])
    assert drawn(3, 3, weights=w).estimated_weights.tolist() == w.tolist()
    assert drawn(3, 3).estimated_weights.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"part": 0}, "Part 0 was added twice: both hold its row 0"),
        ({"part": 1, "capacity": 6}, "rows 5, the other with 6"),
        ({"part": 1, "seed": 3}, "seed 0, the other with 3"),
        ({"part": 1, "half_life": 9.0}, "half-life inf, the other with 9"),
    ],
)
def test_says_what_does_not_go_together(other, words):
    with pytest.raises(ValueError, match=words):
        drawn(3).merge(drawn(3, **other))


@pytest.mark.parametrize("part", [-1, 1.5, "a", (), (0, True)])
def test_a_part_has_whole_numbers(part):
    with pytest.raises(ValueError, match="expected one or several whole numbers, none negative"):
        drawn(3, part=part)


def test_parts_that_differ_by_zeros_have_numbers_of_their_own():
    keys = [tuple(drawn(5, part=part).keys) for part in (0, (0, 0), (0, 0, 0), (1, 0), 1)]
    assert len(set(keys)) == len(keys)
