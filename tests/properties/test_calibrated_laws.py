"""What relevance over what is usual promises of any network and any normal rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import whyodd
from reference.calibrated import calibrate
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import Nearest

# Columns may have any scale.
pytestmark = pytest.mark.filterwarnings("ignore:The variance of")
law = settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
kernels = st.sampled_from([Exponential(2.0, 1.0), Exponential(1.0, 2.0), Student(2.0, 1.0, 0.5)])


def points(n, d):
    return arrays(np.float64, (n, d), elements=st.integers(-512, 512).map(lambda k: k / 64))


@st.composite
def problems(draw):
    """A network, rows to explain and normal rows that have some relevance."""
    m, n, N, d = (draw(st.integers(1, most)) for most in (6, 4, 8, 5))
    centers, X, normal = draw(points(m, d)), draw(points(n, d)), draw(points(N, d))
    pooled = {"pooling": Nearest.mean(draw(st.integers(1, m)))}
    network = whyodd.DistanceNetwork(centers, **draw(st.sampled_from([pooled, {"kernel": draw(kernels)}])))
    assume(network.input_relevance(normal).sum() > 1e-3)
    return network, X, normal


@law
@given(problems())
def test_is_the_formula_and_conserves(problem):
    network, X, normal = problem
    e = whyodd.explain(network, X, normal=normal)
    relevance, rest = calibrate(network.decompose(X), network.decompose(normal))
    np.testing.assert_allclose(e.relevance, relevance, rtol=1e-9)
    np.testing.assert_allclose(e.unexplained, rest, rtol=1e-9)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-12)
    assert (e.relevance >= 0.0).all()


@law
@given(problems())
def test_normal_rows_have_1_on_average(problem):
    network, _, normal = problem
    e = whyodd.explain(network, normal, normal=normal)
    np.testing.assert_allclose(e.outlierness.mean(), 1.0, rtol=1e-9)


@law
@given(problems(), st.randoms(use_true_random=False))
def test_columns_in_another_order_are_explained_alike(problem, random):
    network, X, normal = problem
    assume(network.pooling is None)  # ties between neighbours are broken by rounding
    order = list(range(X.shape[1]))
    random.shuffle(order)
    turned = whyodd.DistanceNetwork(network.centers[:, order], kernel=network.kernel)
    e = whyodd.explain(network, X, normal=normal)
    same = whyodd.explain(turned, X[:, order], normal=normal[:, order])
    largest = e.outlierness.max()
    np.testing.assert_allclose(same.relevance, e.relevance[:, order], rtol=1e-7, atol=1e-9 * largest)
    np.testing.assert_allclose(same.outlierness, e.outlierness, rtol=1e-7)


@law
@given(problems(), st.integers(-3, 3))
def test_outlierness_has_no_unit(problem, exponent):
    """Where all distances are twice as long, so are usual ones."""
    network, X, normal = problem
    assume(network.pooling is not None)
    unit = 2.0**exponent
    scaled = whyodd.DistanceNetwork(unit * network.centers, pooling=network.pooling)
    e = whyodd.explain(network, X, normal=normal)
    same = whyodd.explain(scaled, unit * X, normal=unit * normal)
    np.testing.assert_allclose(same.relevance, e.relevance, rtol=1e-9)


@law
@given(points(12, 3), points(3, 3), st.tuples(*[st.integers(-8, 8)] * 3))
def test_scales_of_columns_hardly_matter_where_relevance_follows_them(normal, X, exponents):
    """Of a single center R_i = (x_i - u_i)²/2: its usual size has the scale of the column, squared."""
    assume((np.abs(normal) > 0.1).any(axis=0).all())
    scales = 2.0 ** np.array(exponents)
    network = whyodd.DistanceNetwork(np.zeros((1, 3)))
    plain, other = (
        whyodd.explain(network, scale * X, normal=scale * normal).relevance for scale in (np.ones(3), scales)
    )
    # What is added for variables that are never relevant is in units of all: each usual size is larger by at
    # most this part of it, and so is the sum of ratios smaller.
    usual = [np.mean((scale * normal) ** 2, axis=0) for scale in (np.ones(3), scales)]
    most = 1.0 + 1e-3 * max((sizes.mean() / sizes).max() for sizes in usual)
    assert (other <= plain * most**2 * (1 + 1e-9)).all()
    assert (plain <= other * most**2 * (1 + 1e-9)).all()
