"""How rare a score is: distributions whose tails are known, and odd rows among the normal ones."""

import numpy as np
import pytest
from scipy import stats

from whyodd.models.tail import ScoreDistribution

# Up to 5 % it is what was seen; beyond, a tail from three quantiles, which is not that of a gamma.
SHARES = {0.5: 0.05, 0.2: 0.05, 0.05: 0.05, 0.01: 0.35, 0.001: 0.8}
DISTRIBUTIONS = {
    "exponential": stats.expon(),
    "light": stats.gamma(9.0),
    "heavy": stats.genpareto(0.4),
}


def known(name, n=100_000, seed=0):
    return ScoreDistribution(DISTRIBUTIONS[name].rvs(n, random_state=np.random.default_rng(seed)))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_so_many_normal_rows_exceed_a_threshold(name):
    found = known(name)
    for share, within in SHARES.items():
        exceed = DISTRIBUTIONS[name].sf(found.threshold(share))
        assert exceed == pytest.approx(share, rel=within)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_few_rows_give_the_right_share_on_average(name):
    """Of 1,000 rows single thresholds are off by a factor of 2 and more; their mean is not."""
    found = [DISTRIBUTIONS[name].sf(known(name, 1_000, seed).threshold(0.01)) for seed in range(200)]
    assert 0.006 < np.mean(found) < 0.014


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_threshold_and_a_p_value_undo_each_other(name):
    found = known(name)
    step = 2.0 / found.scores.size  # the row at the threshold counts or not, on both ways
    for share in (0.3, 0.05, 0.049, 0.01, 1e-4):
        assert found.p_values([found.threshold(share)])[0] == pytest.approx(share, abs=step)
    # Beyond all that was seen there are no steps.
    assert found.p_values([found.threshold(1e-8)])[0] == pytest.approx(1e-8)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_odder_the_rarer_and_never_impossible(name):
    found = known(name, 500)
    p = found.p_values(np.linspace(0.0, 5.0 * found.scores.max(), 10_000))
    assert (np.diff(p) <= 0.0).all()
    assert p[0] == 1.0
    assert p[-1] > 0.0
    # Beyond all that was seen it goes on falling.
    assert found.p_values([found.scores.max() * 3.0])[0] < found.p_values([found.scores.max() * 2.0])[0]


def test_thresholds_grow_as_fewer_may_exceed_them():
    thresholds = [known("heavy").threshold(share) for share in SHARES]
    assert thresholds == sorted(thresholds)


def test_up_to_the_tail_it_is_what_was_seen():
    scores = np.arange(1.0, 100.0)
    found = ScoreDistribution(scores[::-1])
    for o in (0.0, 1.0, 50.0, 50.5, 90.0):
        assert found.p_values([o])[0] == pytest.approx((np.count_nonzero(scores >= o) + 1) / 100)


def test_odd_rows_among_the_normal_ones_move_little():
    normal = DISTRIBUTIONS["exponential"].rvs(5_000, random_state=np.random.default_rng(1))
    clean = ScoreDistribution(normal).threshold(0.01)
    for value in (50.0, 1e9):
        dirty = ScoreDistribution(np.concatenate([normal, np.full(100, value)])).threshold(0.01)  # 2 %
        assert clean < dirty < 2.0 * clean


def test_equal_scores_and_few_of_them():
    for scores in (np.ones(50), np.array([1.0]), np.array([1.0, 2.0])):
        found = ScoreDistribution(scores)
        p = found.p_values([0.5, 1.0, 5.0, 500.0])
        assert np.isfinite(p).all()
        assert np.isfinite(found.threshold(0.01))
        assert (np.diff(p) <= 0.0).all()


@pytest.mark.parametrize("n", [5, 10, 18])
@pytest.mark.parametrize("share", [0.05, 0.052])
def test_few_rows_of_which_no_whole_one_is_the_share(n, share):
    """The threshold is where the tail begins: finite, and odd is what has a p-value of at most the share."""
    found = ScoreDistribution(np.random.default_rng(n).exponential(size=n))
    threshold = found.threshold(share)
    assert threshold <= found.scores[-1]
    assert found.p_values([threshold * 1.01])[0] <= share < found.p_values([threshold * 0.99])[0] + 0.003
