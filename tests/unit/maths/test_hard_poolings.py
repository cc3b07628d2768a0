"""Hard poolings: the formulas, what they refuse, and that they are plain values."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from whyodd.maths.hard_poolings import POOLINGS, LocalReach, MeanVector, Nearest, Pooling
from whyodd.network.distance_network import DistanceNetwork

RNG = np.random.default_rng(0)
D = np.sort(RNG.uniform(0.0, 3.0, size=(6, 4)), axis=1)
NEIGHBORS = np.array([RNG.permutation(9)[:4] for _ in range(6)])
REACHES, DENSITIES = RNG.uniform(0.0, 2.0, 9), RNG.uniform(0.5, 2.0, 9)
LOCAL = LocalReach(4, REACHES, DENSITIES)
EXAMPLES = [Nearest.mean(4), Nearest.kth(4), Nearest((0.1, 0.2, 0.3, 0.4)), LOCAL]


def test_every_registered_pooling_is_one_and_is_tested_here():
    assert all(issubclass(pooling, Pooling) for pooling in POOLINGS.values())
    assert set(POOLINGS.values()) == {Nearest, MeanVector, LocalReach}


def test_mean_of_the_smallest_distances():
    np.testing.assert_allclose(Nearest.mean(4).outlierness(D, NEIGHBORS), D.mean(axis=1), rtol=1e-15)


def test_kth_smallest_distance():
    np.testing.assert_array_equal(Nearest.kth(4).outlierness(D, NEIGHBORS), D[:, 3])


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 10, 11])
def test_median_of_the_smallest_distances(k):
    d = np.sort(RNG.uniform(size=(20, k)), axis=1)
    pooling = Nearest.median(k)
    np.testing.assert_allclose(
        pooling.outlierness(d[:, : pooling.k], np.zeros_like(d[:, : pooling.k], dtype=int)),
        np.median(d, axis=1),
        rtol=1e-15,
    )


def test_local_reach_as_its_formula_says():
    for i, (d, neighbors) in enumerate(zip(D, NEIGHBORS, strict=True)):
        density = sum(DENSITIES[j] for j in neighbors) / 4
        reached = sum(max(REACHES[j], dj) for j, dj in zip(neighbors, d, strict=True)) / 4
        np.testing.assert_allclose(
            LOCAL.outlierness(D, NEIGHBORS)[i], density * (reached + 1e-10), rtol=1e-14
        )
        beyond = [density / 4 * max(dj - REACHES[j], 0.0) for j, dj in zip(neighbors, d, strict=True)]
        np.testing.assert_allclose(LOCAL.explained(D, NEIGHBORS)[i], beyond, rtol=1e-14)


@pytest.mark.parametrize("pooling", EXAMPLES, ids=repr)
def test_explained_and_unexplained_make_the_outlierness(pooling):
    explained, unexplained = pooling.explained(D, NEIGHBORS), pooling.unexplained(D, NEIGHBORS)
    assert (explained >= 0).all()
    assert (unexplained >= 0).all()
    np.testing.assert_allclose(
        explained.sum(axis=1) + unexplained, pooling.outlierness(D, NEIGHBORS), rtol=1e-14
    )


def test_mean_vector_is_explained_by_its_only_distance():
    d = D[:, :1]
    np.testing.assert_array_equal(MeanVector(4).outlierness(d, NEIGHBORS), d[:, 0])
    np.testing.assert_array_equal(MeanVector(4).explained(d, NEIGHBORS), d)
    np.testing.assert_array_equal(MeanVector(4).unexplained(d, NEIGHBORS), 0.0)


@pytest.mark.parametrize("pooling", [*EXAMPLES, MeanVector(4), Nearest.median(8)], ids=repr)
def test_assignment_is_a_distribution_over_ranks(pooling):
    p = pooling.assignment()
    assert p.shape == (pooling.k,)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-15)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", None, np.nan])
@pytest.mark.parametrize("make", [Nearest.mean, Nearest.kth, Nearest.median, MeanVector])
def test_an_impossible_number_of_neighbours_is_a_clear_error(make, k):
    with pytest.raises(ValueError, match=r"k=.*expected a number of neighbours, a whole number"):
        make(k)


@pytest.mark.parametrize("make", [Nearest.mean, Nearest.kth, Nearest.median, MeanVector])
def test_numbers_of_numpy_count_too(make):
    assert make(np.int32(3)).k == make(3).k


@pytest.mark.parametrize("weights", [(), (0.5, 0.6), (1.5, -0.5), (np.nan, 1.0), (1.0, np.nan), (np.inf,)])
def test_rank_weights_that_are_no_distribution_are_a_clear_error(weights):
    with pytest.raises(ValueError, match=r"rank_weights=.*expected weights ≥ 0 that sum to 1"):
        Nearest(weights)


@pytest.mark.parametrize("name", ["reaches", "densities"])
@pytest.mark.parametrize("values", [[-1.0, 1.0], [np.inf, 1.0], [np.nan, 1.0], [[1.0, 1.0]]])
def test_impossible_reaches_and_densities_are_a_clear_error(name, values):
    with pytest.raises(ValueError, match=rf"{name} must be finite numbers ≥ 0, one per center\."):
        LocalReach(1, **{"reaches": [1.0, 1.0], "densities": [1.0, 1.0], name: values})


def test_centers_that_stand_twice_have_no_reach():
    pooling = LocalReach(1, reaches=[0.0, 0.0], densities=[1.0, 0.0])
    np.testing.assert_array_equal(pooling.reaches, 0.0)


def test_reaches_must_be_of_the_centers():
    with pytest.raises(ValueError, match=r"Expected reaches with one number per center, \(3,\), got 9\."):
        DistanceNetwork(np.eye(3), pooling=LocalReach(2, REACHES, DENSITIES))


def test_more_neighbours_than_centers_is_a_clear_error():
    with pytest.raises(
        ValueError, match=r"Nearest\.mean\(4\) needs 4 neighbours, but there are 3 center\(s\)\. Lower k\."
    ):
        DistanceNetwork(np.eye(3), pooling=Nearest.mean(4))


def test_what_was_given_may_change_afterwards():
    reaches, densities = REACHES.copy(), DENSITIES.copy()
    pooling = LocalReach(4, reaches, densities)
    reaches[:] = densities[:] = 0.0
    np.testing.assert_array_equal(pooling.outlierness(D, NEIGHBORS), LOCAL.outlierness(D, NEIGHBORS))
    with pytest.raises(ValueError, match="read-only"):
        pooling.reaches[0] = 1.0


@pytest.mark.parametrize(
    ("pooling", "shown"),
    [
        (Nearest.mean(10), "Nearest.mean(10)"),
        (Nearest.kth(7), "Nearest.kth(7)"),
        (Nearest.median(4), "Nearest.median(4)"),
        (Nearest.median(5), "Nearest.kth(3)"),
        (Nearest((0.25, 0.75)), "Nearest((0.25, 0.75))"),
        (Nearest([0.2] * 3 + [0.05] * 8), "Nearest(11 rank weights)"),
        (MeanVector(3), "MeanVector(neighbors=3)"),
        (LOCAL, "LocalReach(neighbors=4, centers=9)"),
    ],
)
def test_shown_in_a_few_words(pooling, shown):
    assert repr(pooling) == shown


@pytest.mark.parametrize("pooling", [*EXAMPLES[:3], MeanVector(2)], ids=repr)
def test_equal_by_value_and_pickled(pooling):
    copied = pickle.loads(pickle.dumps(pooling))
    assert copied == pooling
    assert hash(copied) == hash(pooling)


def test_local_reach_is_pickled_with_its_numbers():
    copied = pickle.loads(pickle.dumps(LocalReach(4, REACHES, DENSITIES, floor=0.5)))
    assert (copied.k, copied.floor) == (4, 0.5)
    np.testing.assert_array_equal(copied.reaches, REACHES)
    np.testing.assert_array_equal(copied.densities, DENSITIES)
    assert not copied.reaches.flags.writeable
