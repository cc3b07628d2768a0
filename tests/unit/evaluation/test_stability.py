"""Stability and continuity against plain loops, and the paper's claim that nearest neighbours jump."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from whyodd.evaluation.stability import continuity, stability
from whyodd.kernels import Exponential

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(60, 3)) * [1.0, 5.0, 0.2]
ODD = np.array([[4.0, 0.0, 0.1], [0.5, 30.0, 0.0], [1.0, 10.0, 2.0]])


def shares(model, X, **keywords):
    R = whyodd.explain(model, X, **keywords).relevance
    return R / np.abs(R).sum(axis=1, keepdims=True)


def test_stability_is_the_moved_share_over_the_size_of_the_move():
    model = whyodd.KernelDensity(sigma=2.0).fit(NORMAL)
    found = stability(model, ODD, scale=0.1, n=4, random_state=3)
    draws = np.random.default_rng(3).normal(size=(4, *ODD.shape))
    expected = np.empty((4, len(ODD)))
    for k, i in np.ndindex(4, len(ODD)):
        moved = ODD[i] + 0.1 * NORMAL.std(axis=0) * draws[k, i]
        share = 0.5 * np.abs(shares(model, moved[None]) - shares(model, ODD[[i]])).sum()
        size = np.sqrt(np.mean(((moved - ODD[i]) / NORMAL.std(axis=0)) ** 2))
        expected[k, i] = share / size
    # Centers of equal weight: their spread is that of the rows to rounding.
    np.testing.assert_allclose(found.mean, expected.mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(found.largest, expected.max(axis=0), rtol=1e-7)


def test_stability_does_not_depend_on_units_behind_a_scaler():
    model = make_pipeline(StandardScaler(), whyodd.KernelDensity(sigma=1.0)).fit(NORMAL)
    same = make_pipeline(StandardScaler(), whyodd.KernelDensity(sigma=1.0)).fit(NORMAL * 1000.0)
    one = stability(model, ODD, random_state=0)
    np.testing.assert_allclose(one.mean, stability(same, ODD * 1000.0, random_state=0).mean, rtol=1e-6)


def test_training_rows_stay_without_their_own_center_when_moved():
    model = whyodd.KernelDensity(sigma=0.3).fit(NORMAL)
    keywords = {"method": "nearest", "scale": 1e-4, "n": 3, "random_state": 0}
    alone = stability(model, NORMAL, **keywords)
    found = stability(model, NORMAL, exclude_self=False, **keywords)
    assert np.median(alone.mean) < 10.0
    # The nearest center is the row itself: nothing is relevant, and after a move of 1e-4 everything is anew.
    assert np.median(found.mean) > 1000.0


def test_a_constant_variable_is_not_moved():
    normal = np.column_stack([NORMAL, np.ones(len(NORMAL))])
    odd = np.column_stack([ODD, np.ones(len(ODD))])
    model = whyodd.KernelDensity(sigma=2.0).fit(normal)
    assert np.isfinite(stability(model, odd, random_state=0).mean).all()


def test_a_lone_center_spreads_like_the_rows():
    model = whyodd.Gaussian("full").fit(NORMAL)
    found = stability(model, ODD, random_state=0)
    assert (found.mean > 0).all()
    assert (found.largest >= found.mean).all()


def test_nearest_neighbours_jump_and_deep_taylor_does_not():
    """Two normal points, and a walk past both of them: the nearest one changes half-way."""
    network = whyodd.DistanceNetwork(np.array([[-1.0, 0.0], [1.0, 0.5]]), kernel=Exponential(q=2, sigma=1.0))
    rows = np.array([[-0.6, 1.0], [0.8, 1.4]])
    jumps = {
        method: [continuity(network, rows, method=method, steps=s).largest_jump for s in (50, 100, 200)]
        for method in ("dtd", "nearest")
    }
    few, more, most = jumps["dtd"]
    np.testing.assert_allclose(few / more, 2.0, rtol=0.1)
    np.testing.assert_allclose(more / most, 2.0, rtol=0.1)
    assert (most < 0.02).all()
    few, more, most = jumps["nearest"]
    # On the way the nearest center changes, at the same place however small the steps are.
    np.testing.assert_allclose(few / most, 1.0, rtol=0.2)
    assert (most > 0.05).all()


def test_deep_taylor_jumps_less_than_nearest_neighbours_on_a_cloud():
    normal = RNG.normal(size=(80, 2))
    model = whyodd.OneClassSVM(sigma="median").fit(normal)
    odd = RNG.normal(size=(20, 2)) * 2.5
    smooth, jumpy = (
        continuity(model, odd, method=m, steps=64).largest_jump.mean() for m in ("dtd", "nearest")
    )
    assert smooth < 0.5 * jumpy


def test_the_sum_of_jumps_holds_the_largest():
    model = whyodd.KernelDensity(sigma=1.0).fit(NORMAL)
    found = continuity(model, ODD, steps=16)
    assert (found.total >= found.largest_jump).all()
    way = (np.arange(16) + 0.5)[:, None] / 16
    # The first row's nearest other one, in standard deviations, is the second.
    r = shares(model, ODD[0] + way * (ODD[1] - ODD[0]))
    np.testing.assert_allclose(found.total[0], 0.5 * np.abs(np.diff(r, axis=0)).sum(), rtol=1e-9)


def test_same_seed_same_result():
    model = whyodd.KernelDensity(sigma=1.0).fit(NORMAL)
    for method in ("dtd", "random"):
        one, two = (stability(model, ODD, method=method, random_state=1) for _ in range(2))
        np.testing.assert_array_equal(one.mean, two.mean)


def test_what_cannot_be_moved_is_told():
    model = whyodd.KernelDensity(sigma=1.0).fit(NORMAL)
    with pytest.raises(ValueError, match="scale=0"):
        stability(model, ODD, scale=0.0)
    with pytest.raises(ValueError, match="n=0"):
        stability(model, ODD, n=0)
    with pytest.raises(ValueError, match="steps=1"):
        continuity(model, ODD, steps=1)
    with pytest.raises(ValueError, match="at least two rows to move"):
        continuity(model, ODD[:1])
    patches = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(2, 2), random_state=0).fit([RNG.random((6, 6))])
    with pytest.raises(TypeError, match="expected a model of table rows, got PatchModel"):
        stability(patches, [RNG.random((6, 6))])
