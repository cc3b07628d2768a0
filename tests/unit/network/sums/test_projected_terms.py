"""Terms along projections, against plain loops."""

from dataclasses import replace

import numpy as np
import pytest

from reference import sums
from whyodd.maths.linear_maps import LinearMap
from whyodd.network.sums.projected_terms import ProjectedTerms

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(5, 3)) * (RNG.random(size=(5, 3)) < 0.7)
EDGES = [np.sort(RNG.normal(size=k)) for k in (0, 1, 3, 4, 2)]
VALUES = [RNG.exponential(size=e.size + 1) for e in EDGES]
REFERENCE = RNG.normal(size=3)
SCORE = ProjectedTerms(WEIGHTS, EDGES, VALUES, REFERENCE, is_usual=True)
ROWS = RNG.normal(size=(9, 3)) * 2


def terms_of(x):
    return [sums.step(e, v, w @ x) for w, e, v in zip(WEIGHTS, EDGES, VALUES, strict=True)]


def test_is_the_sum_of_steps():
    np.testing.assert_allclose(SCORE.outlierness(ROWS), [sum(terms_of(x)) for x in ROWS], rtol=1e-12)


@pytest.mark.parametrize("made_by", [None, RNG.normal(size=(3, 5)), RNG.normal(size=(3, 2))])
def test_is_spread_as_the_plain_loops_have_it(made_by):
    parts = SCORE.decompose(ROWS, through=None if made_by is None else LinearMap(made_by))
    B = np.eye(3) if made_by is None else made_by
    for x, relevance, rest in zip(ROWS, parts.relevance, parts.unexplained, strict=True):
        made = np.linalg.pinv(B) @ (x - REFERENCE)
        outside = np.zeros(5) if made_by is None else WEIGHTS @ (x - REFERENCE - B @ made)
        expected = sums.spread(terms_of(x), WEIGHTS @ B, made, outside)
        np.testing.assert_allclose(relevance, expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(rest, expected[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-12)


def test_a_term_that_nothing_has_moved_belongs_to_no_variable():
    parts = SCORE.decompose(REFERENCE[None])
    assert not parts.relevance.any()
    np.testing.assert_allclose(parts.unexplained, parts.outlierness)


def test_relevance_does_not_depend_on_units():
    units = np.array([1e3, 1.0, 1e-2])
    scaled = ProjectedTerms(WEIGHTS / units, EDGES, VALUES, REFERENCE * units, is_usual=True)
    np.testing.assert_allclose(
        scaled.decompose(ROWS * units).relevance, SCORE.decompose(ROWS).relevance, rtol=1e-9, atol=1e-12
    )


def test_expects_the_reference_if_it_is_usual():
    np.testing.assert_array_equal(SCORE.expected(ROWS), np.broadcast_to(REFERENCE, ROWS.shape))
    assert "expected" in SCORE.capabilities
    assert "expected" not in replace(SCORE, is_usual=False).capabilities


EDGES_WANTED = r"^Each projection must have finite edges in order, and one value more than edges\.$"
VALUES_WANTED = r"^Values of terms must be at least 0, and is_usual must be True or False\.$"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"edges": EDGES[:4]}, EDGES_WANTED),
        ({"values": [-v for v in VALUES]}, VALUES_WANTED),
        ({"values": [*VALUES[:4], VALUES[4][:2]]}, EDGES_WANTED),
        ({"edges": [*EDGES[:4], EDGES[4][::-1]]}, EDGES_WANTED),
        ({"edges": [*EDGES[:4], [np.nan, 1.0]]}, EDGES_WANTED),
        ({"reference": REFERENCE[:2]}, r"^Expected ProjectedTerms\.reference .* got shape \(2,\)\.$"),
        ({"is_usual": 2.0}, VALUES_WANTED),
        ({"weights": WEIGHTS[:, 0]}, r"^Expected ProjectedTerms\.weights .* got shape \(5,\)\.$"),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong, message):
    right = {
        "weights": WEIGHTS,
        "edges": EDGES,
        "values": VALUES,
        "reference": REFERENCE,
        "is_usual": True,
    }
    with pytest.raises(ValueError, match=message):
        ProjectedTerms(**(right | wrong))
