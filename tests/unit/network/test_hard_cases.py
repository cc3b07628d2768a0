"""Agreement with the plain-loop reference where floating point makes it hard (design, section 3).

The reference computes with 60 digits and takes the inputs as the exact numbers they are, so there is no
ill-conditioning to excuse a deviation: what is tested is the rounding of whyodd alone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp

from reference import oracle
from whyodd.kernels import Exponential, RationalQuadratic, Student
from whyodd.network.distance_network import DistanceNetwork

pytestmark = pytest.mark.usefixtures("both_ways")

# The tolerances of the design, section 3, in units of the row's largest relevance (for R) and of o (for o and
# the unexplained part). float64 leaves seven digits below 1e-9 for sums over centers and variables and for
# exp and log; float32 leaves three below 1e-4.
TOLERANCE = {np.float64: 1e-9, np.float32: 1e-4}

# Rows do not influence each other: the network sees all rows of a case, the slow reference only some of them,
# by default the first ones, where each case puts what it is about.
FIRST_ROWS = tuple(range(8))

FAMILIES = {
    "exponential": Exponential,
    "student": functools.partial(Student, a=0.7),
    "rational_quadratic": lambda q, sigma: RationalQuadratic(beta=q, sigma=sigma),
}
DEGREES = (0.5, 1.0, 2.0, 3.0, 4.0)

LAYOUTS = {
    "dense": (np.asarray, np.asarray),
    "sparse-rows": (csr_array, np.asarray),
    "sparse-rows-and-centers": (csr_array, csr_array),
}


@dataclass(frozen=True)
class Case:
    """Rows, centers and bandwidth of one hard case; the kernel's family and degree come from the test."""

    X: np.ndarray
    centers: np.ndarray
    sigma: float = 1.5
    log_weights: np.ndarray | None = None
    own: np.ndarray | None = None
    digits: int = 60
    checked: tuple[int, ...] = FIRST_ROWS

    def network(self, kernel, layout=np.asarray):
        return DistanceNetwork(layout(self.centers), kernel=kernel, log_weights=self.log_weights)

    def reference(self, kernel):
        return oracle.explain(
            self.X[list(self.checked)],
            self.centers,
            kernel,
            log_weights=self.log_weights,
            own=None if self.own is None else self.own[list(self.checked)],
            arithmetic=oracle.digits(self.digits),
        )


def ordinary(dtype, *, n=40, m=20, d=5, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(m, d))
    X = rng.normal(scale=2.0, size=(n, d))
    log_weights = np.log(rng.dirichlet(np.ones(m)))
    return Case(X.astype(dtype), centers, log_weights=log_weights)


def shifted(dtype, by, case=None):
    case = case or ordinary(np.float64)
    return replace(case, X=(case.X + by).astype(dtype), centers=case.centers + by)


def scaled(dtype, by, *, sigma_too):
    case = ordinary(np.float64)
    sigma = case.sigma * by if sigma_too else case.sigma
    return replace(case, X=(case.X * by).astype(dtype), centers=case.centers * by, sigma=sigma)


def out_of_range_squares(dtype, sign):
    """Distances whose squares over- or underflow, in units where d/σ is ordinary."""
    return scaled(dtype, 10.0 ** (sign * (200 if dtype is np.float64 else 30)), sigma_too=True)


def distant_clusters(dtype, case=None):
    """Two clusters 1e6 apart: rows in the first, in the second, between them and far outside, by turns."""
    case = case or ordinary(np.float64)
    away = np.zeros(case.centers.shape[1])
    away[:2] = 6e5, 8e5
    where = np.resize([0.0, 1.0, 0.5, 7.3], len(case.X))
    cluster = np.resize([0.0, 1.0], len(case.centers))
    X = case.X + where[:, None] * away
    centers = case.centers + cluster[:, None] * away
    return replace(case, X=X.astype(dtype), centers=centers)


def on_centers(dtype, case=None):
    """Row r lies exactly on center r."""
    case = case or ordinary(np.float64)
    X = case.X.astype(dtype)
    n = min(len(X), len(case.centers))
    X[:n] = case.centers[:n]
    return replace(case, X=X, centers=np.vstack([X[:n], case.centers[n:]]).astype(np.float64))


def close_to_centers(dtype, case=None):
    """Row r is center r up to 1e-9 of its size; the center moves, since float32 has no such neighbour."""
    case = on_centers(dtype, case)
    return replace(case, centers=case.centers * (1 + 1e-9))


def without_own(case):
    """The same, with row r's own center r left out; rows past the centers keep all of them."""
    row = np.arange(len(case.X))
    return replace(case, own=np.where(row < len(case.centers), row, -1))


def on_centers_that_dominate(dtype):
    """Row r lies on center r, which wins the pooling and explains nothing: the relevance is its partner's.

    The partner, two bandwidths away, has a p of about 1e-12, but all of R: it must not be neglected. A shift
    blurs squared distances from matrix products (of CSR, which cannot be centred) beyond the tolerance,
    though by less than σ².
    """
    rng = np.random.default_rng(3)
    shift = 1e4 if dtype is np.float64 else 1e2
    dominating, steps = rng.normal(scale=30.0, size=(2, 10, 5))
    dominating = (dominating + shift).astype(dtype).astype(np.float64)
    partners = dominating + 3.0 * steps / np.linalg.norm(steps, axis=1, keepdims=True)
    log_weights = np.log(np.repeat([0.1, 1e-12], 10))
    centers = np.vstack([dominating, partners])
    return Case(dominating.astype(dtype), centers, log_weights=log_weights - logsumexp(log_weights))


def duplicated_centers(dtype):
    """Every center three times, at different weights, and rows that lie on them."""
    case = on_centers(dtype, ordinary(np.float64, m=6))
    rng = np.random.default_rng(1)
    log_weights = np.log(rng.dirichlet(np.ones(18)))
    return replace(case, centers=np.tile(case.centers, (3, 1)), log_weights=log_weights)


def one_point_many_times(dtype):
    """All centers coincide; the first rows lie on them, where o is exactly 0."""
    case = ordinary(dtype, m=7)
    X = case.X.copy()
    X[:2] = case.centers[0]
    return replace(case, X=X, centers=np.tile(X[:1].astype(np.float64), (7, 1)))


def single_center():
    return replace(ordinary(np.float64, m=1), log_weights=None)


def one_variable(dtype):
    case = on_centers(dtype, ordinary(np.float64, d=1))
    X = case.X.copy()
    X[4:6] = [[1e3], [-1e5]]
    return replace(case, X=X)


def many_variables(dtype):
    return ordinary(dtype, n=64, m=40, d=50)


def spread_weights(dtype):
    """Weights from 1e-300 to 1: the first center holds practically all of it, one weighs nothing at all."""
    case = on_centers(dtype)
    log_weights = np.linspace(0.0, np.log(1e-300), len(case.centers))
    log_weights[-1] = -np.inf
    return replace(case, log_weights=log_weights - logsumexp(log_weights))


def spread_weights_without_the_heaviest(dtype):
    """1 - α of the left-out center is 0 in float64: what remains cannot be found by subtraction."""
    case = spread_weights(dtype)
    log_weights = np.concatenate([[0.0], np.linspace(np.log(1e-200), np.log(1e-300), len(case.centers) - 1)])
    return replace(case, log_weights=log_weights, own=np.zeros(len(case.X), dtype=int))


def far_away(dtype, bandwidths):
    """Rows at a distance of so many σ from all centers, in ordinary directions."""
    case = ordinary(np.float64)
    directions = case.X / np.linalg.norm(case.X, axis=1, keepdims=True)
    return replace(case, X=(directions * bandwidths * case.sigma).astype(dtype))


def sparse_counts(dtype):
    """What CSR is made for: 80 variables, nine of ten zero; rows on centers, an empty row and center."""
    rng = np.random.default_rng(2)
    X, centers = (rng.poisson(0.1, size=(size, 80)).astype(np.float64) for size in (40, 20))
    X[:4] = centers[:4]
    X[4] = centers[5] = 0.0
    return Case(X.astype(dtype), centers, sigma=4.0)


CASES = {
    "ordinary": ordinary,
    "many-variables": many_variables,
    "one-variable": one_variable,
    "sparse-counts": sparse_counts,
    "shifted-by-1e6": functools.partial(shifted, by=1e6),
    "scaled-by-1e-6": functools.partial(scaled, by=1e-6, sigma_too=True),
    "scaled-by-1e6": functools.partial(scaled, by=1e6, sigma_too=True),
    "scaled-by-1e-6-at-the-same-sigma": functools.partial(scaled, by=1e-6, sigma_too=False),
    "scaled-by-1e6-at-the-same-sigma": functools.partial(scaled, by=1e6, sigma_too=False),
    "squares-underflow": functools.partial(out_of_range_squares, sign=-1),
    "squares-overflow": functools.partial(out_of_range_squares, sign=1),
    "clusters-1e6-apart": distant_clusters,
    "clusters-1e6-apart-without-own": lambda dtype: without_own(
        on_centers(dtype, distant_clusters(np.float64))
    ),
    "duplicated-centers": duplicated_centers,
    "duplicated-centers-without-own": lambda dtype: without_own(duplicated_centers(dtype)),
    "one-point-many-times": one_point_many_times,
    "on-a-single-center": lambda dtype: on_centers(dtype, single_center()),
    "close-to-a-single-center": lambda dtype: close_to_centers(dtype, single_center()),
    "on-centers": on_centers,
    "on-centers-without-own": lambda dtype: without_own(on_centers(dtype)),
    "on-shifted-centers": lambda dtype: on_centers(dtype, shifted(np.float64, 1e6)),
    "on-centers-that-dominate": on_centers_that_dominate,
    "close-to-centers": close_to_centers,
    "close-to-centers-without-own": lambda dtype: without_own(close_to_centers(dtype)),
    "weights-1e-300-to-1": spread_weights,
    "weights-1e-300-to-1-without-own": lambda dtype: without_own(spread_weights(dtype)),
    "weights-1e-300-to-1-without-the-heaviest": spread_weights_without_the_heaviest,
    "1e3-bandwidths-away": functools.partial(far_away, bandwidths=1e3),
    "1e8-bandwidths-away": functools.partial(far_away, bandwidths=1e8),
}

# Where log k = -(d/σ)^q/q is so large that float64 cannot hold its fraction, p between centers at nearly the
# same distance is beyond any float64 computation. R and o are not: they hardly differ between such centers.
# The quantities per center are therefore compared where (d/σ)^q stays moderate.
CASES_OF_MODERATE_ENERGY = (
    "ordinary",
    "many-variables",
    "sparse-counts",
    "shifted-by-1e6",
    "scaled-by-1e-6",
    "scaled-by-1e6",
    "scaled-by-1e-6-at-the-same-sigma",
    "duplicated-centers-without-own",
    "on-a-single-center",
    "close-to-a-single-center",
    "on-centers",
    "on-centers-without-own",
    "close-to-centers",
    "weights-1e-300-to-1",
    "weights-1e-300-to-1-without-the-heaviest",
)


@functools.cache
def solved(name, dtype, family, q):
    """The case, its kernel and the truth, once for all layouts."""
    case = CASES[name](dtype)
    kernel = FAMILIES[family](q=q, sigma=case.sigma)
    return case, kernel, case.reference(kernel)


def assert_within(got, truth, scale, tolerance, floor=0.0):
    """|got - truth| <= tolerance · scale + floor, row by row; a scale of 0 asks for equality."""
    got = np.asarray(got, dtype=np.float64)
    bound = tolerance * np.asarray(scale).reshape(-1, *[1] * (got.ndim - 1)) + floor
    assert np.isfinite(got).all()
    excess = np.abs(got - truth) - bound
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    assert excess[worst] <= 0, f"at {worst}: got {got[worst]!r}, the truth is {truth[worst]!r}"


def assert_agrees(decomposition, truth, tolerance, rows=FIRST_ROWS):
    rows = list(rows)
    o, unexplained = decomposition.outlierness, decomposition.unexplained
    relevance, log_g = decomposition.relevance, decomposition.log_inlierness
    assert_within(o[rows], truth.outlierness, truth.outlierness, tolerance)
    assert_within(unexplained[rows], truth.unexplained, truth.outlierness, tolerance)
    assert_within(relevance[rows], truth.relevance, truth.relevance.max(axis=1), tolerance)
    # A logarithm: its absolute error is what counts, until it is so large that only the relative one can.
    assert_within(log_g[rows], truth.log_g, np.maximum(1, np.abs(truth.log_g)), tolerance)
    assert all((values >= 0).all() for values in (o, unexplained, relevance))


over_kernels = pytest.mark.parametrize(("family", "q"), [(f, q) for f in FAMILIES for q in DEGREES])
over_dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda dtype: dtype.__name__)


@pytest.mark.parametrize("layout", LAYOUTS)
@over_dtypes
@over_kernels
@pytest.mark.parametrize("name", CASES)
def test_decomposition_agrees_with_the_reference(name, family, q, dtype, layout):
    case, kernel, truth = solved(name, dtype, family, q)
    rows, centers = LAYOUTS[layout]
    got = case.network(kernel, centers).decompose(rows(case.X), own=case.own)
    assert_agrees(got, truth, TOLERANCE[dtype])


@over_dtypes
@over_kernels
@pytest.mark.parametrize("name", CASES)
def test_single_quantities_agree_with_the_reference(name, family, q, dtype):
    case, kernel, truth = solved(name, dtype, family, q)
    network, tolerance = case.network(kernel), TOLERANCE[dtype]
    relevance = network.input_relevance(case.X, own=case.own)[list(FIRST_ROWS)]
    o = network.outlierness(case.X, own=case.own)[list(FIRST_ROWS)]
    assert_within(relevance, truth.relevance, truth.relevance.max(axis=1), tolerance)
    assert_within(o, truth.outlierness, truth.outlierness, tolerance)


@pytest.mark.parametrize("layout", ["dense", "sparse-rows-and-centers"])
@over_dtypes
@over_kernels
@pytest.mark.parametrize("name", CASES_OF_MODERATE_ENERGY)
def test_center_quantities_agree_with_the_reference(name, family, q, dtype, layout):
    case, kernel, truth = solved(name, dtype, family, q)
    rows, centers = LAYOUTS[layout]
    network = case.network(kernel, centers)
    g, one = np.exp(truth.log_g), np.ones(len(truth.log_g))
    expectations = {
        "assignment": (truth.assignment, one),
        "center_relevance": (truth.center_relevance, truth.outlierness),
        "inlierness": (g, g),
        "inlier_relevance": (truth.inlier_relevance, g),
    }
    for method, (values, scale) in expectations.items():
        got = getattr(network, method)(rows(case.X), own=case.own)
        # g and its parts fall below the smallest number of the dtype; log g, tested above, does not.
        floor = np.finfo(dtype).tiny if "inlier" in method else 0.0
        assert_within(got[list(FIRST_ROWS)], values, scale, TOLERANCE[dtype], floor)


# Large enough for many row blocks, several threads and the matrix products of the fast path.
LARGE = functools.partial(ordinary, np.float64, n=3000, m=120, d=12)
LARGE_CASES = {
    "ordinary": lambda dtype: replace(LARGE(), X=LARGE().X.astype(dtype)),
    "shifted-by-1e6": lambda dtype: shifted(dtype, 1e6, LARGE()),
    "clusters-1e6-apart": lambda dtype: distant_clusters(dtype, LARGE()),
    "on-centers": lambda dtype: on_centers(dtype, LARGE()),
    "on-centers-without-own": lambda dtype: without_own(on_centers(dtype, LARGE())),
}


@pytest.mark.full
@over_dtypes
@pytest.mark.parametrize("q", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", LARGE_CASES)
def test_large_problems_agree_with_the_reference(name, family, q, dtype):
    # Two rows that may lie on centers and two that do not; one of each of the four kinds around two clusters.
    case = replace(LARGE_CASES[name](dtype), sigma=3.0, checked=(0, 101, 998, 2999))
    kernel = FAMILIES[family](q=q, sigma=case.sigma)
    got = case.network(kernel).decompose(case.X, own=case.own, memory_mb=8)
    assert_agrees(got, case.reference(kernel), TOLERANCE[dtype], case.checked)


@pytest.mark.parametrize("q", [0.5, 1.0])
@pytest.mark.parametrize("family", ["exponential", "student"])  # o grows with d^q, a number at this distance
@pytest.mark.parametrize(("dtype", "size"), [(np.float64, 1e200), (np.float32, 1e30)])
def test_rows_whose_squared_distance_overflows_are_explained(dtype, size, family, q):
    case = ordinary(np.float64)
    # 300 digits: the reference must still see the centers apart from a distance of 1e200.
    case = replace(case, X=(case.X * size).astype(dtype), digits=300)
    kernel = FAMILIES[family](q=q, sigma=case.sigma)
    assert_agrees(case.network(kernel).decompose(case.X), case.reference(kernel), TOLERANCE[dtype])


@pytest.mark.parametrize(("a", "sigma"), [(1e-300, 1e75), (1e-40, 1e10), (1e40, 1e-10), (1e300, 1e-75)])
def test_students_constant_may_have_any_size(a, sigma):
    """(d/σ)^4 is about as large as a, so that both terms of the kernel count."""
    case = ordinary(np.float64)
    kernel = Student(q=4.0, a=a, sigma=sigma)
    assert_agrees(case.network(kernel).decompose(case.X), case.reference(kernel), TOLERANCE[np.float64])


@pytest.mark.parametrize("q", [2.0, 4.0])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("dtype", "size"), [(np.float64, 1e200), (np.float32, 1e30)])
@pytest.mark.parametrize("method", ["decompose", "outlierness", "input_relevance", "center_relevance"])
def test_an_outlierness_beyond_the_largest_number_is_a_clear_error(method, dtype, size, family, q):
    X = np.full((3, 2), size, dtype=dtype)
    # The small bandwidth puts (d/σ)^q past float64 also for the largest float32 rows.
    network = DistanceNetwork(np.zeros((4, 2)), kernel=FAMILIES[family](q=q, sigma=1e-200))
    with pytest.raises((OverflowError, ValueError), match=r"outlierness.*\.$"):
        getattr(network, method)(X)


@over_dtypes
def test_leaving_the_only_center_out_is_a_clear_error(dtype):
    network = DistanceNetwork(np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"(?i)center.*\.$"):
        network.decompose(np.ones((3, 2), dtype=dtype), own=[-1, 0, -1])


def test_leaving_out_all_the_weight_is_a_clear_error():
    network = DistanceNetwork(np.eye(3), weights=[1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"(?i)weight.*\.$"):
        network.decompose(np.ones((1, 3)), own=[0])


@over_dtypes
def test_a_left_out_center_of_minus_one_leaves_out_nothing(dtype):
    case = ordinary(dtype)
    network = case.network(Exponential(sigma=case.sigma))
    got = network.decompose(case.X, own=np.full(len(case.X), -1))
    np.testing.assert_array_equal(got.relevance, network.decompose(case.X).relevance)
