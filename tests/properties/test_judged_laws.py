"""What rows that people judged do to any network: laws, and the formula as plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import whyodd
from reference.judged import judged_outlierness, learned_distance
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import Nearest
from whyodd.network.judged import Judgement, judged

law = settings(deadline=None, max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
kernels = st.sampled_from([Exponential(2.0, 1.0), Exponential(1.0, 2.0), Student(2.0, 1.0, 0.5)])
DATE = "2026-01-31T08:05:00+00:00"
# Distances are exact to some units in the last place; o' divides them by each other.
ROUNDING = 1e-9


def points(n, d):
    return arrays(np.float64, (n, d), elements=st.integers(-512, 512).map(lambda k: k / 64))


@st.composite
def problems(draw):
    """A network, rows, and rows that are judged: some of those, and others."""
    m, n, d = (draw(st.integers(2, most)) for most in (8, 4, 4))
    centers, X = draw(points(m, d)), draw(points(n, d))
    pooled = {"pooling": Nearest.mean(draw(st.integers(1, m - 1)))}
    options = draw(st.sampled_from([pooled, {"kernel": draw(kernels)}]))
    network = whyodd.DistanceNetwork(centers, **options, rows=np.arange(m), n_rows=m)
    said = draw(
        st.lists(st.tuples(st.booleans(), points(draw(st.integers(1, 2)), d)), min_size=1, max_size=4)
    )
    known = {True: set(), False: set()}
    judgements = []
    for number, (is_normal, rows) in enumerate([(draw(st.booleans()), X[:1]), *said], start=1):
        keys = {row.tobytes() for row in rows + 0.0}
        if keys.isdisjoint(known[not is_normal]):
            known[is_normal] |= keys
            judgements.append(Judgement(number, is_normal, rows, "", DATE))
    return network, X, judgements, draw(st.sampled_from([0.5, 2.0, 7.0]))


def rows_of(judgements, is_normal):
    return [row for one in judgements if one.is_normal is is_normal for row in one.rows]


@law
@given(problems())
def test_is_the_formula(problem):
    network, X, judgements, level = problem
    accepted, rejected = rows_of(judgements, True), rows_of(judgements, False)
    expected = [
        judged_outlierness(o, x, accepted, rejected, np.asarray(network.centers), level)
        for o, x in zip(network.outlierness(X), X, strict=True)
    ]
    found = judged(network, judgements, level).outlierness(X)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=ROUNDING)


@law
@given(problems())
def test_conserves(problem):
    network, X, judgements, level = problem
    score = judged(network, judgements, level)
    parts = score.decompose(X)
    largest = max(parts.outlierness.max(), 1.0)
    np.testing.assert_allclose(
        parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-7, atol=1e-9 * largest
    )
    np.testing.assert_allclose(parts.outlierness, score.outlierness(X), rtol=1e-7, atol=1e-9 * largest)
    assert (parts.relevance >= 0.0).all()


@law
@given(problems())
def test_accepting_never_raises_and_rejecting_never_lowers(problem):
    network, X, judgements, level = problem
    before = judged(network, judgements[:-1], level).outlierness(X)
    after = judged(network, judgements, level).outlierness(X)
    rounding = ROUNDING * (1.0 + before)
    assert (after <= before + rounding if judgements[-1].is_normal else after >= before - rounding).all()


@law
@given(problems())
def test_order_does_not_matter(problem):
    network, X, judgements, level = problem
    forward, backward = (
        judged(network, said, level).outlierness(X) for said in (judgements, judgements[::-1])
    )
    np.testing.assert_allclose(forward, backward, rtol=ROUNDING, atol=ROUNDING)


@law
@given(problems())
def test_judged_rows_are_what_people_said(problem):
    network, _, judgements, level = problem
    score = judged(network, judgements, level)
    for one in judgements:
        o = score.outlierness(one.rows)
        assert (o == 0.0).all() if one.is_normal else (o >= level).all()


@law
@given(problems())
def test_rows_nearer_to_what_was_learned_stay_as_they_are(problem):
    network, X, judgements, level = problem
    o = network.outlierness(X)
    every = np.array([*rows_of(judgements, True), *rows_of(judgements, False)])
    distance = np.linalg.norm(X[:, None] - every, axis=2).min(axis=1)
    learned_from = np.array([learned_distance(x, np.asarray(network.centers)) for x in X])
    is_far = distance > learned_from * (1.0 + ROUNDING)
    found = judged(network, judgements, level).outlierness(X)
    np.testing.assert_array_equal(found[is_far], o[is_far])


@law
@given(problems())
def test_forgetting_all_gives_back_the_same_network(problem):
    network, _, judgements, level = problem
    assert judged(judged(network, judgements, level), [], level) is network
