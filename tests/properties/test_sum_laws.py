"""What sums over variables, projections and points promise of any numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference import sums
from whyodd.maths.linear_maps import LinearMap
from whyodd.network.sums.empirical_tails import BothTails, LongerTail
from whyodd.network.sums.projected_terms import ProjectedTerms
from whyodd.network.sums.reconstruction import ReconstructionError
from whyodd.network.sums.spreading import spread
from whyodd.network.sums.terms import HistogramTerms, RobustDeviations, TermsScore
from whyodd.network.sums.weighted_distances import WeightedDistances

law = settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
# Eighths: sums of them do not round.
eighths = st.integers(-64, 64).map(lambda k: k / 8)


def points(n, d):
    return arrays(np.float64, (n, d), elements=eighths)


def in_order(draw, size):
    return np.sort(draw(arrays(np.float64, size, elements=eighths)))


@st.composite
def members(draw):
    """Any of the members, and rows."""
    n, d, k = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rows = draw(points(n, d))
    positive = arrays(np.float64, d, elements=st.integers(1, 64).map(lambda j: j / 8))
    sizes = [draw(st.integers(1, 4)) for _ in range(max(d, k))]
    counts = arrays(np.float64, 5, elements=st.integers(0, 64).map(lambda j: j / 8))
    kinds = {
        "ecod": lambda: TermsScore(BothTails(draw(points(draw(st.integers(1, 9)), d)))),
        "copod": lambda: TermsScore(LongerTail(draw(points(draw(st.integers(1, 9)), d)))),
        "mad": lambda: TermsScore(RobustDeviations(draw(points(1, d))[0], draw(positive))),
        "hbos": lambda: TermsScore(
            HistogramTerms(
                [in_order(draw, b + 1) for b in sizes[:d]],
                [draw(counts)[:b] for b in sizes[:d]],
                tolerance=0.5,
            )
        ),
        "loda": lambda: ProjectedTerms(
            draw(points(k, d)),
            [in_order(draw, b - 1) for b in sizes[:k]],
            [draw(counts)[:b] for b in sizes[:k]],
            draw(points(1, d))[0],
            is_usual=True,
        ),
        "reconstruction": lambda: ReconstructionError(
            draw(points(1, d))[0], draw(points(k, d)), draw(points(k, d))
        ),
        "points": lambda: WeightedDistances(
            draw(points(k, d)), draw(counts)[:k], draw(points(1, d))[0], draw(positive)
        ),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))](), rows


@law
@given(members())
def test_relevance_is_not_negative_and_adds_up(problem):
    member, rows = problem
    parts = member.decompose(rows)
    assert parts.relevance.shape == rows.shape
    assert (parts.relevance >= 0.0).all()
    assert (parts.unexplained >= 0.0).all()
    np.testing.assert_allclose(
        parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(member.outlierness(rows), parts.outlierness, rtol=1e-12, atol=1e-12)


@law
@given(members(), st.integers(1, 6), st.data())
def test_behind_a_map_it_adds_up_too(problem, n_inputs, data):
    member, rows = problem
    matrix = data.draw(points(member.n_features, n_inputs))
    parts = member.decompose(rows, through=LinearMap(matrix))
    assert parts.relevance.shape == (len(rows), n_inputs)
    size = max(float(parts.outlierness.max()), 1.0)
    np.testing.assert_allclose(
        parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-7, atol=1e-9 * size
    )


@law
@given(members())
def test_rows_do_not_depend_on_each_other(problem):
    member, rows = problem
    alone = np.vstack([member.decompose(row[None]).relevance for row in rows])
    np.testing.assert_allclose(alone, member.decompose(rows).relevance, rtol=1e-9, atol=1e-9)


@law
@given(st.data())
def test_terms_are_spread_as_the_plain_loops_have_it(data):
    n, d, k = (data.draw(st.integers(1, most)) for most in (4, 5, 4))
    terms, gaps, weights = np.abs(data.draw(points(n, k))), data.draw(points(n, d)), data.draw(points(k, d))
    relevance, rest = spread(terms, gaps, weights)
    for i in range(n):
        expected = sums.spread(terms[i], weights, gaps[i], np.zeros(k))
        np.testing.assert_allclose(relevance[i], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(rest[i], expected[1], rtol=1e-9, atol=1e-12)
