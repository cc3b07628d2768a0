"""Laws of the detector of one series."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import whyodd

SEEDS = st.integers(0, 10_000)


def series(seed, n=150, channels=2):
    random = np.random.default_rng(seed)
    return np.cumsum(random.normal(size=(n, channels)), axis=0) * 0.1 + random.normal(size=(n, channels))


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.booleans())
def test_relevance_is_conserved_and_not_negative(seed, trusted):
    model = whyodd.SeriesDetector(trusted=trusted).fit(series(seed))
    found = model.judge(series(seed + 1, 80))
    np.testing.assert_allclose(found.relevance.sum(axis=1), found.outlierness, rtol=1e-9)
    assert (found.relevance >= 0.0).all()


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from([1e-6, 0.5, 1e6]), st.sampled_from([-1e3, 0.0, 10.0]))
def test_units_and_origins_of_channels_do_not_matter(seed, unit, origin):
    train, new = series(seed), series(seed + 1, 80)
    change = np.array([unit, 1.0]), np.array([origin * unit, 0.0])
    plain = whyodd.SeriesDetector(trusted=True).fit(train).outlierness(new)
    moved = whyodd.SeriesDetector(trusted=True).fit(train * change[0] + change[1])
    # Windows are of single precision, and a neighbour that is as near as another one may change places.
    np.testing.assert_allclose(moved.outlierness(new * change[0] + change[1]), plain, rtol=1e-3)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(0, 79), st.integers(0, 1), st.sampled_from([-1.0, 1.0]))
def test_a_step_that_moves_outwards_without_end_becomes_the_oddest(seed, step, channel, side):
    model = whyodd.SeriesDetector(trusted=True).fit(series(seed))
    new = series(seed + 1, 80)
    new[step, channel] = side * 1e7
    found = model.judge(new)
    assert found.focus.argmax() == step
    # At the ends neighbours are covered by nearly the same windows.
    assert found.outlierness[step] >= 0.999 * found.outlierness.max()
    assert found.relevance[step].argmax() == channel
    assert found.outlierness[step] > model.threshold_
