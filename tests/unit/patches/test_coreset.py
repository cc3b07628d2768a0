"""Greedy k-center against plain loops; the radius as a law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import whyodd
from whyodd.patches.coreset import k_centers, radius


def plain_k_centers(points, count, first):
    """The farthest from all that are there, one after the other."""
    chosen = [first]
    while len(chosen) < count:
        distances = [min(np.linalg.norm(x - points[i]) for i in chosen) for x in points]
        chosen.append(int(np.argmax(distances)))
    return sorted(chosen)


def plain_radius(points, centers):
    return max(min(float(np.linalg.norm(x - u)) for u in centers) for x in points)


def test_choice_is_the_plain_one():
    points = np.random.default_rng(0).normal(size=(60, 5))
    first = int(np.random.RandomState(3).randint(60))
    assert k_centers(points, 12, np.random.RandomState(3)).tolist() == plain_k_centers(points, 12, first)


# Sixteenths, so that points are equal or clearly apart.
POINTS = arrays(np.float64, st.tuples(st.integers(2, 30), st.integers(1, 4)), elements=st.integers(-80, 80))


@given(POINTS, st.integers(2, 30), st.integers(0, 5))
def test_every_patch_is_within_the_radius_of_a_kept_one_and_no_more(sixteenths, count, seed):
    points = sixteenths / 16.0
    kept = k_centers(points, count, np.random.RandomState(seed))
    assert len(set(kept.tolist())) == min(count, len(points))
    found = radius(points, points[kept])
    assert found == pytest.approx(plain_radius(points, points[kept]), abs=1e-12)
    # Gonzalez: k + 1 points that are all at least a radius apart cannot share k centers of half of it.
    more = np.append(kept, np.argmax([min(np.linalg.norm(x - points[i]) for i in kept) for x in points]))
    apart = [np.linalg.norm(points[i] - points[j]) for n, i in enumerate(more) for j in more[:n]]
    assert min(apart) >= found - 1e-9


def test_radius_is_exact_where_the_choice_is_projected():
    points = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)
    kept = k_centers(points, 40, np.random.RandomState(0))
    assert radius(points, points[kept]) == pytest.approx(plain_radius(points, points[kept]), rel=1e-6)


def test_radius_is_exact_far_from_the_origin():
    points = (1e4 + np.arange(5.0))[:, None].astype(np.float32)
    assert radius(points, points[[0, 4]]) == 2.0


def test_model_keeps_few_patches_and_tells_the_error():
    images = np.random.default_rng(0).normal(size=(2, 12, 12))
    plain = whyodd.PatchModel(whyodd.KNearestNeighbors(1), patch=(3, 3), random_state=0).fit(images)
    few = whyodd.PatchModel(whyodd.KNearestNeighbors(1), patch=(3, 3), random_state=0, coreset=20).fit(images)
    scale = few.scales_[0]
    assert scale.network.n_centers == 20
    assert (
        "kept 20 of the normal patches: distances to the nearest are too large by at most"
        in scale.coreset_text
    )
    assert plain.scales_[0].coreset_text == ""
    new = np.random.default_rng(1).normal(size=(12, 12))
    # k-NN with k = 1 scores by the distance to the nearest.
    apart = few.score_map(new, exclude_self=False) - plain.score_map(new, exclude_self=False)
    assert (apart >= -1e-9).all()
    assert (apart <= scale.radius + 1e-9).all()
    e = few.explain(new)
    np.testing.assert_allclose(e.summed_relevance + e.unexplained, e.outlierness)


@pytest.mark.parametrize("coreset", [0, 1, 2.5, True])
def test_number_of_patches_to_keep_is_checked(coreset):
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(1), coreset=coreset)
    with pytest.raises(ValueError, match="coreset="):
        model.fit(np.zeros((12, 12)))
