"""Poolings, metrics and maps where floating point makes it hard (design, section 3), against 60 digits.

The reference takes the inputs as the exact numbers they are: what is tested is the rounding of whyodd alone.
Data without ties between neighbours, unless a test says so: a tie makes relevance ambiguous.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from reference import precise
from whyodd.compute.mapped.rows import Mapped
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network import distance_network as network_module
from whyodd.network.distance_network import DistanceNetwork

pytestmark = pytest.mark.usefixtures("both_ways")

# The tolerances of the design, section 3, in units of the row's largest relevance (for R) and of o.
TOLERANCE = {np.float64: 1e-9, np.float32: 1e-4}
M, CHECKED = 24, slice(0, 4)
# A k-d tree searches up to 15 variables; beyond, matrix products do, which round.
DIMENSIONS = (4, 16)


@dataclass(frozen=True)
class Case:
    X: np.ndarray
    centers: np.ndarray
    unit: float = 1.0  # typical distance
    own: np.ndarray | None = None
    digits: int = 60
    has_ties: bool = False


def ordinary(d):
    rng = np.random.default_rng(d)
    return Case(rng.normal(scale=2.0, size=(12, d)), rng.normal(size=(M, d)))


def shifted(d, by):
    case = ordinary(d)
    return replace(case, X=case.X + by, centers=case.centers + by)


def scaled(d, by, digits=60):
    case = ordinary(d)
    return replace(case, X=case.X * by, centers=case.centers * by, unit=by, digits=digits)


def clusters(d, apart=1e6):
    """Two clusters: rows in the first, in the second, between them and far outside, by turns."""
    case = ordinary(d)
    away = np.zeros(d)
    away[:2] = 0.6 * apart, 0.8 * apart
    where = np.resize([0.0, 1.0, 0.5, 7.3], len(case.X))
    X = case.X + where[:, None] * away
    return replace(case, X=X, centers=case.centers + np.resize([0.0, 1.0], M)[:, None] * away)


def on_centers(case):
    """Row r lies exactly on center r."""
    return replace(case, X=np.vstack([case.centers[:8], case.X[8:]]))


def close_to_centers(case, by):
    """Row r lies next to center r."""
    case = on_centers(case)
    return replace(case, X=case.X + by * ordinary(case.X.shape[1]).X)


def without_own(case, rows=slice(None)):
    own = np.full(len(case.X), -1)
    own[rows] = np.arange(len(case.X))[rows]
    return replace(case, own=own)


def lonely_center(d):
    """One center very far from all others: their mean is far from all of them."""
    case = ordinary(d)
    return replace(case, centers=np.vstack([case.centers[:-1], np.full(d, 1e9)]))


def far_away(d, by, digits=60):
    case = ordinary(d)
    return replace(case, X=by * case.X / np.linalg.norm(case.X, axis=1, keepdims=True), digits=digits)


def duplicated_centers(d):
    case = on_centers(ordinary(d))
    return replace(case, centers=np.tile(case.centers[: M // 3], (3, 1)), has_ties=True)


CASES = {
    "ordinary": ordinary,
    "shifted-by-1e6": functools.partial(shifted, by=1e6),
    "scaled-by-1e-6": functools.partial(scaled, by=1e-6),
    "scaled-by-1e6": functools.partial(scaled, by=1e6),
    "clusters-1e6-apart": clusters,
    "on-centers-1e6-apart-without-own": lambda d: without_own(on_centers(clusters(d))),
    "close-to-centers-1e6-apart": lambda d: close_to_centers(clusters(d), 1e-3),
    "on-centers": lambda d: on_centers(ordinary(d)),
    "on-centers-without-own": lambda d: without_own(on_centers(ordinary(d))),
    "some-without-own": lambda d: without_own(on_centers(ordinary(d)), slice(0, 12, 2)),
    "close-to-centers": lambda d: close_to_centers(ordinary(d), 1e-9),
    "close-to-centers-without-own": lambda d: without_own(close_to_centers(ordinary(d), 1e-9)),
    "lonely-center": lonely_center,
    "1e8-away": functools.partial(far_away, by=1e8),
    "duplicated-centers": duplicated_centers,
}

OUT_OF_RANGE = {
    "squares-overflow": functools.partial(scaled, by=1e200, digits=30),
    "squares-underflow": functools.partial(scaled, by=1e-200, digits=30),
    "1e200-away": functools.partial(far_away, by=1e200, digits=230),
}

RNG = np.random.default_rng(5)
REACHES, DENSITIES = RNG.uniform(0.1, 1.0, M), RNG.uniform(0.5, 2.0, M)
POOLINGS = {
    "nearest": Nearest.kth(1),
    "kth": Nearest.kth(3),
    "mean": Nearest.mean(5),
    "mean-of-all-but-one": Nearest.mean(M - 1),
    "mean-vector": MeanVector(4),
    "local-reach": LocalReach(4, REACHES, DENSITIES),
}


def in_units(pooling, unit):
    """The same pooling of data whose distances are so many times as large."""
    if isinstance(pooling, LocalReach):
        return LocalReach(pooling.k, pooling.reaches * unit, pooling.densities / unit)
    return pooling


KERNELS = {
    "gaussian": functools.partial(Exponential, 2.0),
    "laplacian": functools.partial(Exponential, 1.0),
    "student": functools.partial(Student, 2.0, 0.7),
}


@functools.cache
def metric(name, d):
    rng = np.random.default_rng(d)
    return {
        "plain": None,
        "diagonal": LinearMetric(np.diag(rng.uniform(0.5, 2.0, d))),
        "square": LinearMetric(rng.normal(size=(d, d)) + 2 * np.eye(d)),
        "onto-fewer": LinearMetric(rng.normal(size=(d // 2, d))),
        "diagonals": ComponentMetric(rng.uniform(0.5, 2.0, (M, d))),
        "squares": ComponentMetric(rng.normal(size=(M, d, d)) + 2 * np.eye(d)),
    }[name]


@functools.cache
def solved(name, d, metric_name, dtype):
    """The case and its legs, once for all poolings and kernels."""
    case = (CASES | OUT_OF_RANGE)[name](d)
    case = replace(case, X=case.X.astype(dtype))
    return case, precise.Legs(case.X[CHECKED], case.centers, metric(metric_name, d), digits=case.digits)


def assert_within(got, truth, scale, tolerance):
    """|got - truth| <= tolerance · scale, row by row; a scale of 0 asks for equality."""
    got = np.asarray(got, dtype=np.float64)
    assert np.isfinite(got).all()
    excess = np.abs(got - truth) - tolerance * np.asarray(scale).reshape(-1, *[1] * (got.ndim - 1))
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    assert excess[worst] <= 0, f"at {worst}: got {got[worst]!r}, the truth is {truth[worst]!r}"


def assert_agrees(network, case, legs, dtype, through=None):
    own = case.own
    truth = legs.explain(network, None if own is None else own[CHECKED])
    got = network.decompose(case.X, own=own, through=through)
    tolerance, o = TOLERANCE[dtype], truth.outlierness
    assert got.relevance.dtype == dtype
    assert_within(got.outlierness[CHECKED], o, o, tolerance)
    assert_within(network.outlierness(case.X, own=own)[CHECKED], o, o, tolerance)
    assert_within(got.log_inlierness[CHECKED], truth.log_g, np.maximum(1, np.abs(truth.log_g)), tolerance)
    if not case.has_ties:
        largest = np.abs(truth.relevance).max(axis=1)
        if isinstance(network.pooling, LocalReach):
            # d - κ cancels where a neighbour's reach ends near the row: what is left is the rounding of d.
            largest = largest + 1e-6 * o
        assert_within(got.relevance[CHECKED], truth.relevance, largest, tolerance)
        assert_within(got.unexplained[CHECKED], truth.unexplained, o, tolerance)
    total = got.relevance.sum(axis=1, dtype=np.float64) + got.unexplained
    assert_within(total, got.outlierness, got.outlierness, TOLERANCE[dtype])


over_dimensions = pytest.mark.parametrize("d", DIMENSIONS)
over_metrics = pytest.mark.parametrize(
    ("d", "metric_name"),
    [(4, "plain"), (4, "diagonal"), (4, "square"), (4, "onto-fewer"), (16, "plain"), (16, "square")],
)


@over_metrics
@pytest.mark.parametrize(
    ("name", "pooling"),
    # Which of equal neighbours is taken decides about the reach and the density that count.
    [(n, p) for n in CASES for p in POOLINGS if (n, p) != ("duplicated-centers", "local-reach")],
)
def test_hard_pooling_agrees(name, pooling, d, metric_name):
    case, legs = solved(name, d, metric_name, np.float64)
    network = DistanceNetwork(
        case.centers, pooling=in_units(POOLINGS[pooling], case.unit), metric=metric(metric_name, d)
    )
    assert_agrees(network, case, legs, np.float64)


@pytest.mark.parametrize("metric_name", ["diagonal", "square", "onto-fewer", "diagonals", "squares"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", CASES)
def test_soft_pooling_under_a_metric_agrees(name, kernel, metric_name):
    d = 4
    case, legs = solved(name, d, metric_name, np.float64)
    network = DistanceNetwork(
        case.centers,
        kernel=KERNELS[kernel](sigma=1.5 * case.unit),
        metric=metric(metric_name, d),
        log_weights=np.linspace(-5.0, 0.0, M),
    )
    assert_agrees(network, replace(case, has_ties=False), legs, np.float64)


LAYOUTS = {
    "dense": (np.asarray, np.asarray),
    "sparse-rows": (csr_array, np.asarray),
    "sparse-centers": (np.asarray, csr_array),
    "both-sparse": (csr_array, csr_array),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("pooling", ["kth", "mean-vector", "local-reach", None])
@pytest.mark.parametrize("metric_name", ["plain", "square"])
@pytest.mark.parametrize("name", ["ordinary", "shifted-by-1e6", "clusters-1e6-apart", "some-without-own"])
def test_layouts_and_dtypes_agree(name, metric_name, pooling, dtype, layout):
    d = 4
    case, legs = solved(name, d, metric_name, dtype)
    rows, centers = LAYOUTS[layout]
    made_of = {"kernel": Exponential(sigma=1.5)} if pooling is None else {"pooling": POOLINGS[pooling]}
    network = DistanceNetwork(centers(case.centers), metric=metric(metric_name, d), **made_of)
    assert_agrees(network, replace(case, X=rows(case.X)), legs, dtype)


@over_metrics
@pytest.mark.parametrize("pooling", ["kth", "mean", "mean-vector", "local-reach"])
@pytest.mark.parametrize("name", ["squares-overflow", "squares-underflow"])
def test_distances_whose_squares_leave_the_range_of_floats(name, pooling, d, metric_name):
    case, legs = solved(name, d, metric_name, np.float64)
    network = DistanceNetwork(
        case.centers, pooling=in_units(POOLINGS[pooling], case.unit), metric=metric(metric_name, d)
    )
    assert_agrees(network, case, legs, np.float64)


@over_metrics
@pytest.mark.parametrize("pooling", ["kth", "mean", "mean-vector"])
def test_rows_whose_squares_overflow_are_explained(pooling, d, metric_name):
    """All centers are equally far in float64: which are the nearest does not matter to these poolings."""
    case, legs = solved("1e200-away", d, metric_name, np.float64)
    network = DistanceNetwork(case.centers, pooling=POOLINGS[pooling], metric=metric(metric_name, d))
    assert_agrees(network, case, legs, np.float64)


@pytest.mark.parametrize("metric_name", ["plain", "diagonal", "square"])
@over_dimensions
@pytest.mark.parametrize("pooling", [Nearest.kth(2), MeanVector(3)], ids=str)
def test_a_distance_beyond_the_largest_float_is_a_clear_error(pooling, d, metric_name):
    centers = ordinary(d).centers
    centers[:] = -1.7e308
    network = DistanceNetwork(centers, pooling=pooling, metric=metric(metric_name, d))
    for method in ("outlierness", "decompose", "assignment"):
        with pytest.raises(OverflowError, match="Row 0 of X is so far"):
            getattr(network, method)(np.full((2, d), 1.7e308))


@pytest.mark.parametrize("metric_name", ["square", "diagonals", "squares"])
@pytest.mark.parametrize("kernel", [Exponential(2.0), Student(4.0)], ids=str)
def test_an_outlierness_beyond_the_largest_float_is_a_clear_error(kernel, metric_name):
    network = DistanceNetwork(ordinary(4).centers, kernel=kernel, metric=metric(metric_name, 4))
    with pytest.raises(OverflowError, match="Row 1 of X is so far"):
        network.decompose(np.vstack([np.zeros(4), np.full(4, 1e200)]))


@pytest.mark.parametrize("metric_name", ["square", "diagonals", "squares"])
def test_a_small_outlierness_keeps_its_digits(metric_name):
    """All centers at one point, and rows next to it: o is far below the rounding of -log g."""
    centers = np.tile(ordinary(4).centers[:1], (M, 1))
    X = centers[:4] + 1e-7 * ordinary(4).X[:4]
    network = DistanceNetwork(centers, metric=metric(metric_name, 4), log_weights=np.linspace(-3, 0, M))
    case = Case(X, centers)
    assert_agrees(network, case, precise.Legs(X, centers, network.metric), np.float64)


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("pooling", [Nearest.mean, Nearest.kth, Nearest.median, MeanVector], ids=str)
@over_dimensions
def test_all_centers_may_count_and_one_is_enough(pooling, d, m):
    case = ordinary(d)
    case = replace(case, X=case.X[:1], centers=case.centers[:m])
    network = DistanceNetwork(case.centers, pooling=pooling(m))
    assert_agrees(network, case, precise.Legs(case.X, case.centers), np.float64)


# ---- through a map ----------------------------------------------------------------------------------------


@functools.cache
def made_by(name, d):
    """A map that ends in d variables."""
    rng = np.random.default_rng(d + 1)
    orthonormal = np.linalg.qr(rng.normal(size=(d + 3, d)))[0].T
    blocks = np.zeros((d, d + 1))
    blocks[:2, :3] = rng.normal(size=(2, 3))
    blocks[np.arange(2, d), np.arange(3, d + 1)] = rng.uniform(0.5, 2.0, d - 2)
    return LinearMap(
        {
            "scaling": np.diag(rng.uniform(-2.0, 2.0, d)),
            "principal-axes": orthonormal,
            "whitening": orthonormal * 10.0 ** rng.uniform(-3, 3, d)[:, None],
            "square": rng.normal(size=(d, d)) + 2 * np.eye(d),
            "blocks": blocks,
            "from-fewer": rng.normal(size=(d, d - 1)),
            "one-column-unused": np.diag(np.r_[0.0, np.ones(d - 1)]),
            "a-column-twice": np.vstack([np.eye(d - 1), np.eye(d - 1)[:1]]),
        }[name]
    )


MAPS = (
    "scaling",
    "principal-axes",
    "whitening",
    "square",
    "blocks",
    "from-fewer",
    "one-column-unused",
    "a-column-twice",
)
NETWORKS = {
    "gaussian": {"kernel": Exponential(sigma=1.5)},
    "student": {"kernel": Student(2.0, 0.7, 1.5)},
    "kth": {"pooling": Nearest.kth(3)},
    "mean-vector": {"pooling": MeanVector(4)},
    "local-reach": {"pooling": LocalReach(4, REACHES, DENSITIES)},
}


@pytest.mark.parametrize(
    ("network", "metric_name"),
    [(network, name) for network in NETWORKS for name in ("plain", "diagonal", "square", "onto-fewer")]
    + [(network, name) for network in ("gaussian", "student") for name in ("diagonals", "squares")],
)
@pytest.mark.parametrize("through", MAPS)
@pytest.mark.parametrize("name", ["shifted-by-1e6", "on-centers-without-own"])
def test_relevance_before_a_map_agrees(name, through, network, metric_name):
    case = CASES[name](4)
    made = made_by(through, 4)
    net = DistanceNetwork(case.centers, metric=metric(metric_name, 4), **NETWORKS[network])
    legs = through_legs(name, through, metric_name)
    assert_agrees(net, case, legs, np.float64, through=made)


@functools.cache
def through_legs(name, through, metric_name):
    case = CASES[name](4)
    return precise.Legs(case.X[CHECKED], case.centers, metric(metric_name, 4), made_by(through, 4))


@pytest.mark.parametrize("network", ["gaussian", "kth"])
@pytest.mark.parametrize("name", ["clusters-1e6-apart", "close-to-centers", "on-centers", "1e8-away"])
def test_hard_cases_before_a_map_agree(name, network):
    case, through = CASES[name](4), made_by("square", 4)
    net = DistanceNetwork(case.centers, **NETWORKS[network])
    assert_agrees(net, case, through_legs(name, "square", "plain"), np.float64, through=through)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("network", ["gaussian", "kth"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda dtype: dtype.__name__)
def test_layouts_and_dtypes_before_a_map_agree(dtype, network, layout):
    case, through = ordinary(4), made_by("blocks", 4)
    rows, centers = LAYOUTS[layout]
    legs = precise.Legs(case.X.astype(dtype)[CHECKED], case.centers, None, through)
    net = DistanceNetwork(centers(case.centers), **NETWORKS[network])
    assert_agrees(net, replace(case, X=rows(case.X.astype(dtype))), legs, dtype, through=through)


def test_far_rows_are_explained_before_a_map():
    """Beyond the scale of the centers, where rows are done again at their own."""
    case, through = far_away(4, 1e200, digits=230), made_by("square", 4)
    network = DistanceNetwork(case.centers, kernel=Exponential(q=1.0))
    legs = precise.Legs(case.X[CHECKED], case.centers, None, through, digits=230)
    assert_agrees(network, case, legs, np.float64, through=through)


def test_more_centers_than_are_measured_one_by_one(monkeypatch):
    """Under a metric with very many centers rows are mapped first; only the rounding of that shows."""
    monkeypatch.setattr(network_module, "_FEW_COORDINATES", 1000)
    rng = np.random.default_rng(0)
    X, centers = rng.normal(scale=2.0, size=(2, 4)) + 1e9, rng.normal(size=(300, 4)) + 1e9
    square = metric("square", 4)
    legs = precise.Legs(X, centers, square)
    for kernel in (Exponential(sigma=1.5), Student(2.0, 0.7)):
        network = DistanceNetwork(centers, kernel=kernel, metric=square)
        assert isinstance(network._passes, Mapped)
        assert_agrees(network, Case(X, centers), legs, np.float64)
