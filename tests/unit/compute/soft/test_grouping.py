"""Clusters of centers far apart get groups of their own; a cloud stays one."""

from __future__ import annotations

import numpy as np
import pytest

from whyodd.compute.soft.grouping import MAX_GROUPS, group_far_apart


def clusters(*places, size=20, d=3, seed=0):
    """Clusters of radius about 1 along the first variable, their rows shuffled."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.repeat(np.arange(len(places)), size))
    points = rng.uniform(-1, 1, size=(label.size, d))
    points[:, 0] += np.asarray(places, dtype=float)[label]
    return points, label


def group(points, radius=10.0):
    return group_far_apart(points, points.mean(axis=0), radius)


def assert_partition(parts, m):
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(m))
    assert all(part.size for part in parts)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("places", [(0, 1e6), (-1e6, 0, 1e6), (0, 100, 1e6), (0, 1e3, 1e6, 1e9)])
def test_clusters_far_apart_are_split_exactly(places, d):
    points, label = clusters(*places, d=d)
    parts = group(points)
    assert_partition(parts, label.size)
    assert len(parts) == len(places)
    assert all(np.unique(label[part]).size == 1 for part in parts)


@pytest.mark.parametrize("radius", [0.01, 10.0])
def test_one_cloud_is_one_group_in_the_given_order(radius):
    points, label = clusters(0, size=200)
    (part,) = group(points, radius)
    np.testing.assert_array_equal(np.sort(part), np.arange(label.size))


def test_points_within_the_radius_are_left_in_order():
    points, label = clusters(-5, 5)
    (part,) = group(points, radius=100.0)
    np.testing.assert_array_equal(part, np.arange(label.size))


def test_there_are_never_more_than_the_largest_number_of_groups():
    points, label = clusters(*(10.0 ** np.arange(1, 40)), size=2)
    parts = group(points)
    assert_partition(parts, label.size)
    assert len(parts) == MAX_GROUPS


def test_duplicates_stay_together():
    points = np.repeat([[0.0, 0.0], [1e6, 0.0], [1e6, 1e6]], 5, axis=0)
    parts = group(points)
    assert_partition(parts, 15)
    assert sorted(tuple(np.sort(part)) for part in parts) == [
        tuple(range(5)),
        tuple(range(5, 10)),
        tuple(range(10, 15)),
    ]


@pytest.mark.parametrize("m", [1, 5])
def test_points_all_equal_are_one_group_whatever_the_radius(m):
    (part,) = group_far_apart(np.full((m, 2), 3.0), np.zeros(2), 1.0)
    np.testing.assert_array_equal(np.sort(part), np.arange(m))


def test_a_split_in_two_variables_finds_all_clusters():
    rng = np.random.default_rng(0)
    corner = np.repeat([[0, 0], [0, 1e6], [3e6, 0], [3e6, 1e6]], 10, axis=0)
    parts = group(corner + rng.uniform(-1, 1, corner.shape))
    assert len(parts) == 4
    assert all(np.ptp(part // 10) == 0 for part in parts)


@pytest.mark.parametrize("count", [4, 8, 20])
def test_evenly_spaced_clusters_are_partitioned_whether_or_not_they_are_split(count):
    """None of their gaps is a third of the extent; exact distances take over where one origin does not do."""
    points, label = clusters(*(1e6 * np.arange(count)))
    parts = group(points)
    assert_partition(parts, label.size)
    assert len(parts) <= MAX_GROUPS
