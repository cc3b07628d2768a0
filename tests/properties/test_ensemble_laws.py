"""What ensembles, spheres, clusters and neighbours promise of any rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import ensembles
from whyodd.maths.hard_poolings import Nearest
from whyodd.network.combinations import Average, Maximum
from whyodd.network.ensemble import EnsembleScore, Part
from whyodd.network.neighbor_distances import NeighborDistances
from whyodd.network.reference_points import ClusterDistance, Hyperspheres
from whyodd.network.verdict import AffineScale, ExponentialScale

METRICS = [
    ("manhattan", None),
    ("minkowski", 1.5),
    ("minkowski", 4.0),
    ("chebyshev", None),
    ("canberra", None),
]


def neighbors(draw, rng, d):
    metric, p = draw(st.sampled_from(METRICS))
    return NeighborDistances(rng.normal(size=(12, d)), Nearest.mean(draw(st.integers(1, 5))), metric, p)


def spheres(draw, rng, d):
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    return Hyperspheres(rng.normal(size=(*shape, d)), rng.gamma(2.0, size=shape), rng.random(shape))


def clusters(draw, rng, d):
    m = draw(st.integers(1, 4))
    labels = rng.integers(m, size=6)
    is_large = np.append(True, rng.random(m - 1) < 0.5)
    return ClusterDistance(rng.normal(size=(6, d)), labels, rng.normal(size=(m, d)), is_large, rng.random(m))


@st.composite
def members(draw):
    rng, d = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.integers(1, 5))
    make = draw(st.sampled_from([neighbors, spheres, clusters]))
    return make(draw, rng, d), rng.normal(size=(6, d)) * draw(st.sampled_from([0.1, 1.0, 30.0]))


@st.composite
def combined(draw):
    rng, d = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.integers(1, 5))
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        columns = rng.choice(d, rng.integers(1, d + 1), replace=draw(st.booleans()))
        scale = draw(
            st.sampled_from(
                [
                    AffineScale(),
                    AffineScale(3.0, -1.0),
                    ExponentialScale(-0.5, 0.3, 2.0),
                    ExponentialScale(0.1),
                ]
            )
        )
        make = draw(st.sampled_from([neighbors, spheres, clusters]))
        parts.append(
            Part(make(draw, rng, len(columns)), scale, rng.normal(), rng.gamma(2.0), columns=columns)
        )
    weights = rng.dirichlet(np.ones(len(parts)))
    rule = draw(st.sampled_from([Average(weights), Maximum()]))
    return EnsembleScore(tuple(parts), rule, d), rng.normal(size=(6, d)) * 3.0


@settings(max_examples=150, deadline=None)
@given(st.one_of(members(), combined()))
def test_is_what_the_plain_loops_have_conserved_and_not_negative(drawn):
    member, rows = drawn
    found = member.decompose(rows)
    assert (found.outlierness >= -1e-12).all()
    assert (found.relevance >= 0.0).all()
    assert (found.unexplained >= -1e-12).all()
    size = 1e-9 * max(1.0, np.abs(found.outlierness).max())
    total = found.relevance.sum(axis=1) + found.unexplained
    np.testing.assert_allclose(total, found.outlierness, rtol=1e-9, atol=size)
    for row, x in enumerate(rows):
        plain = ensembles.explain(member, x)
        np.testing.assert_allclose(found.outlierness[row], plain.outlierness, rtol=1e-9, atol=size)
        np.testing.assert_allclose(found.relevance[row], plain.relevance, rtol=1e-9, atol=size)


@settings(max_examples=100, deadline=None)
@given(combined())
def test_combined_score_follows_from_the_outlierness(drawn):
    ensemble, rows = drawn
    scores = np.column_stack(
        [part.standing(part.score.outlierness(part.seen(rows))) for part in ensemble.parts]
    )
    if isinstance(ensemble.combination, Maximum):
        own = scores.max(axis=1)
    else:
        own = scores @ ensemble.combination.counts
    size = 1e-9 * max(1.0, np.abs(scores).max())
    np.testing.assert_allclose(ensemble.outlierness(rows) + ensemble.floor, own, rtol=1e-9, atol=size)
