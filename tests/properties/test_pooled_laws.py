"""Laws of hard poolings, metrics and maps before the network, each for random networks (design, section 2).

Points come in two kinds. On the ``lattice`` coordinates are multiples of 1/64: points coincide and tie, and
moves by such multiples round nothing. Ties leave open which center is the neighbour, and so relevance, but
never the outlierness. ``scattered`` points neither coincide nor tie.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference import pooled
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.distance_network import DistanceNetwork

# The design's tolerance for float64, section 3: of the row's largest relevance, or of o.
TOLERANCE = 1e-9

law = settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


# ---- random networks --------------------------------------------------------------------------------------


def lattice(n, d, stream):  # noqa: ARG001 - points may coincide
    return arrays(np.float64, (n, d), elements=st.integers(-512, 512).map(lambda k: k / 64))


def scattered(n, d, stream):
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: 4 * np.random.default_rng([seed, stream]).normal(size=(n, d)))


def matrices(n, d):
    """Of ordinary condition, with zeros now and then."""
    return st.integers(0, 2**32 - 1).map(lambda seed: _matrix(np.random.default_rng(seed), n, d))


def _matrix(rng, n, d):
    kept = rng.uniform(size=(n, d)) < rng.choice([0.3, 1.0, 1.0])
    return rng.normal(size=(n, d)) * kept


@st.composite
def hard_poolings(draw, m, kinds=("nearest", "mean vector", "local reach")):
    kind = draw(st.sampled_from(kinds))
    k = draw(st.integers(1, m))
    if kind == "mean vector":
        return MeanVector(k)
    if kind == "local reach":
        rng = np.random.default_rng(draw(st.integers(0, 999)))
        return LocalReach(k, rng.uniform(0.0, 3.0, m), rng.uniform(0.1, 10.0, m))
    return draw(st.sampled_from([Nearest.mean(k), Nearest.kth(k), Nearest.median(k)]))


kernels = st.one_of(
    st.builds(Exponential, q=st.sampled_from([0.5, 1.0, 2.0, 4.0]), sigma=st.floats(0.5, 20.0)),
    st.builds(Student, q=st.sampled_from([1.0, 2.0]), a=st.floats(0.1, 10.0), sigma=st.floats(0.5, 20.0)),
)


@st.composite
def linear_metrics(draw, d):
    kind = draw(st.sampled_from(["none", "diagonal", "square", "other"]))
    if kind == "none":
        return None
    if kind == "diagonal":
        return LinearMetric(np.diag(draw(arrays(np.float64, d, elements=st.sampled_from([0.5, -1.0, 2.0])))))
    matrix = draw(matrices(d if kind == "square" else draw(st.integers(1, d + 2)), d))
    assume(matrix.any())
    return LinearMetric(matrix)


@st.composite
def component_metrics(draw, m, d):
    if draw(st.booleans()):
        return ComponentMetric(draw(arrays(np.float64, (m, d), elements=st.sampled_from([0.25, -1.0, 3.0]))))
    matrix = draw(matrices(m * draw(st.integers(1, d + 1)), d))
    assume(matrix.any())
    return ComponentMetric(matrix.reshape(m, -1, d))


@dataclass(frozen=True)
class Model:
    """What a network is made of, and rows to explain."""

    X: np.ndarray
    centers: np.ndarray
    made_of: dict[str, Any]

    @functools.cached_property
    def network(self):
        return DistanceNetwork(self.centers, **self.made_of)

    @functools.cached_property
    def result(self):
        return self.network.decompose(self.X)

    def with_centers(self, centers, **changed):
        return DistanceNetwork(centers, **{**self.made_of, **changed})


@st.composite
def models(draw, points=lattice, soft=True, metric=True, min_centers=1, **kinds):
    n, m, d = draw(st.integers(1, 4)), draw(st.integers(min_centers, 8)), draw(st.integers(1, 5))
    X, centers = draw(points(n, d, 0)), draw(points(m, d, 1))
    if points is lattice and draw(st.booleans()):
        X[0] = centers[0]
    if soft and draw(st.booleans()):
        made_of = {"kernel": draw(kernels)}
        metrics = st.one_of(linear_metrics(d), component_metrics(m, d))
    else:
        made_of = {"pooling": draw(hard_poolings(m, **kinds))}
        metrics = linear_metrics(d)
    return Model(X, centers, {**made_of, "metric": draw(metrics) if metric else None})


hard_models = functools.partial(models, soft=False)


@st.composite
def maps_to(draw, d):
    kind = draw(st.sampled_from(["scaling", "principal axes", "any"]))
    if kind == "scaling":
        return LinearMap(np.diag(draw(arrays(np.float64, d, elements=st.sampled_from([0.5, -1.0, 2.0])))))
    n_inputs = draw(st.integers(1, d + 2))
    matrix = draw(matrices(d, n_inputs))
    assume(matrix.any() and well_conditioned(matrix))
    if kind == "principal axes" and n_inputs >= d and np.linalg.matrix_rank(matrix) == d:
        matrix = np.linalg.qr(matrix.T)[0].T
    return LinearMap(matrix)


def well_conditioned(matrix):
    """No singular value is small but not 0: the law is about relevance, not about nearly singular maps."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return bool(((values < 1e-12) | (values > 1e-3 * values[0])).all())


def assert_close(got, wanted, scale, tolerance=TOLERANCE, floor=0.0):
    """|got - wanted| <= tolerance · scale + floor, where the scale is one number per row."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    bound = tolerance * np.asarray(scale).reshape(-1, *[1] * (got.ndim - 1)) + floor
    excess = np.abs(got - wanted) - bound
    assert (excess <= 0).all(), f"off by {excess.max():.3g} more than the bound"


def largest(relevance):
    return np.abs(relevance).max(axis=1)


def assert_same_decomposition(got, wanted, factor=1.0):
    """Twice the tolerance: each of the two sides may be off by it.

    Where legs of a local reach end next to the reach, what is explained cancels to the rounding of o.
    """
    o = factor * wanted.outlierness
    assert_close(got.outlierness, o, o, 2 * TOLERANCE)
    assert_close(got.unexplained, factor * wanted.unexplained, o, 2 * TOLERANCE)
    scale = factor * largest(wanted.relevance)
    assert_close(got.relevance, factor * wanted.relevance, scale + 1e-6 * o, 2 * TOLERANCE)


# ---- conservation and signs -------------------------------------------------------------------------------


@law
@given(models(), st.data())
def test_relevance_and_unexplained_sum_to_the_outlierness_through_any_map(model, data):
    d = model.centers.shape[1]
    through = data.draw(st.one_of(st.none(), maps_to(d)), label="through")
    e = model.network.decompose(model.X, through=through)
    assert_close(e.outlierness, model.network.outlierness(model.X), e.outlierness)
    # Single terms may be larger than their sum: they round in proportion to themselves.
    size = np.abs(e.relevance).sum(axis=1) + e.unexplained
    assert_close(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, e.outlierness + 1e-3 * size)
    slack = 1e-13 * size
    assert (e.unexplained >= -slack).all()
    assert (e.outlierness >= 0).all()


@law
@given(models(), st.data(), st.sampled_from([np.float32, np.float64]))
def test_no_relevance_is_negative_where_nothing_is_mixed(model, data, dtype):
    metric = model.made_of["metric"]
    diagonal = getattr(metric, "is_diagonal", None)
    if isinstance(metric, LinearMetric):
        matrix = metric.matrix
        diagonal = matrix.shape[0] == matrix.shape[1] and (matrix == np.diag(np.diag(matrix))).all()
    assume(metric is None or diagonal)
    scales = data.draw(arrays(np.float64, model.centers.shape[1], elements=st.sampled_from([0.5, -3.0])))
    for through in (None, LinearMap(np.diag(scales))):
        e = model.network.decompose(model.X.astype(dtype), through=through)
        assert (e.relevance >= 0).all()
        assert (e.unexplained >= 0).all()


@law
@given(hard_models(metric=False), st.integers(0, 2**32 - 1))
def test_no_relevance_is_negative_before_principal_axes(model, seed):
    d = model.centers.shape[1]
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(d + 2, d)))[0].T
    through = LinearMap(axes)
    assert (model.network.decompose(model.X, through=through).relevance >= 0).all()
    soft = DistanceNetwork(model.centers, kernel=Exponential(sigma=3.0))
    assert (soft.decompose(model.X, through=through).relevance >= 0).all()


@law
@given(models())
def test_assignment_and_center_relevance_are_distributions(model):
    p, o = model.network.assignment(model.X), model.result.outlierness
    assert (p >= 0).all()
    assert_close(p.sum(axis=1), 1.0, np.ones(len(p)))
    assert_close(model.network.center_relevance(model.X).sum(axis=1), o, o)


@law
@given(models(points=scattered), st.data())
def test_plain_loops_give_the_same(model, data):
    own = data.draw(left_out(model), label="own")
    expected = pooled.explain_network(model.X, model.network, own)
    got = model.network.decompose(model.X, own=own)
    o = expected.outlierness
    assert_close(got.outlierness, o, o, floor=1e-12)
    assert_close(got.unexplained, expected.unexplained, o, floor=1e-12)
    assert_close(got.relevance, expected.relevance, largest(expected.relevance) + 1e-4 * o, floor=1e-12)


def left_out(model):
    """Own centers, some or none, as far as enough centers are left."""
    m = len(model.centers)
    pooling = model.made_of.get("pooling")
    last = m - 1 if m > (1 if pooling is None else pooling.k) else -1
    return arrays(np.int64, len(model.X), elements=st.integers(-1, last))


# ---- symmetries -------------------------------------------------------------------------------------------


@law
@given(models(points=scattered), st.randoms(use_true_random=False))
def test_the_order_of_centers_does_not_matter(model, random):
    order = random.sample(range(len(model.centers)), len(model.centers))
    changed = dict(model.made_of)
    if isinstance(changed["metric"], ComponentMetric):
        changed["metric"] = ComponentMetric(changed["metric"].factors[order])
    if isinstance(changed.get("pooling"), LocalReach):
        pooling = changed["pooling"]
        changed["pooling"] = LocalReach(pooling.k, pooling.reaches[order], pooling.densities[order])
    permuted = DistanceNetwork(model.centers[order], **changed)
    assert_same_decomposition(permuted.decompose(model.X), model.result)
    p = model.network.assignment(model.X)
    assert_close(permuted.assignment(model.X), p[:, order], np.ones(len(p)))


@law
@given(models(points=scattered), st.randoms(use_true_random=False))
def test_relevance_follows_the_order_of_variables(model, random):
    order = random.sample(range(model.X.shape[1]), model.X.shape[1])
    metric = model.made_of["metric"]
    if isinstance(metric, LinearMetric):
        metric = LinearMetric(metric.matrix[:, order])
    elif metric is not None:
        metric = ComponentMetric(metric.factors[..., order])
    got = model.with_centers(model.centers[:, order], metric=metric).decompose(model.X[:, order])
    wanted = replace(model.result, relevance=model.result.relevance[:, order])
    assert_same_decomposition(got, wanted)


@law
@given(models(), st.sampled_from([1.0, -37.0, 2.0**20, -(2.0**40)]))
def test_shifting_rows_and_centers_together_keeps_the_outlierness(model, shift):
    o = model.result.outlierness
    got = model.with_centers(model.centers + shift).outlierness(model.X + shift)
    assert_close(got, o, o, 2 * TOLERANCE)


@law
@given(models(points=scattered), st.sampled_from([1.0, -37.0, 2.0**10]))
def test_shifting_rows_and_centers_together_changes_nothing(model, shift):
    # To multiples of 2^-20 first: then the shift rounds nothing.
    X, centers = (np.round(points * 2.0**20) / 2.0**20 for points in (model.X, model.centers))
    got = model.with_centers(centers + shift).decompose(X + shift)
    assert_same_decomposition(got, model.with_centers(centers).decompose(X))


@law
@given(models(points=scattered, metric=False), st.integers(0, 2**32 - 1))
def test_rotation_keeps_the_outlierness(model, seed):
    d = model.centers.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    o = model.result.outlierness
    got = model.with_centers(model.centers @ rotation).outlierness(model.X @ rotation)
    assert_close(got, o, o)
    # The same as a metric, where the relevance stays with the variables that were rotated.
    e = model.with_centers(model.centers, metric=LinearMetric(rotation.T)).decompose(model.X)
    assert_close(e.outlierness, o, o)


@law
@given(hard_models(points=scattered), st.integers(-30, 30))
def test_distances_in_other_units_are_outlierness_in_other_units(model, exponent):
    """Powers of two round nothing. For the local reach distances are relative: o stays as it is."""
    scale, pooling = 2.0**exponent, model.made_of["pooling"]
    changed, factor = pooling, scale
    if isinstance(pooling, LocalReach):
        changed, factor = (
            LocalReach(pooling.k, pooling.reaches * scale, pooling.densities / scale, pooling.floor * scale),
            1.0,
        )
    got = model.with_centers(model.centers * scale, pooling=changed).decompose(model.X * scale)
    assert_same_decomposition(got, model.result, factor)


@law
@given(models(points=scattered), st.data())
def test_variables_in_other_units_have_the_same_relevance(model, data):
    """Where the metric loses nothing, and the units are taken into the metric."""
    d = model.centers.shape[1]
    scale = data.draw(arrays(np.float64, d, elements=st.sampled_from([2.0**-20, 1.0, 2.0**20])))
    metric = model.made_of["metric"]
    if isinstance(metric, ComponentMetric):
        factors = metric.factors
        assume(factors.ndim == 2 or all(np.linalg.matrix_rank(factor) == d for factor in factors))
        changed = ComponentMetric(factors * scale)
    else:
        matrix = np.eye(d) if metric is None else metric.matrix
        assume(np.linalg.matrix_rank(matrix) == d)
        changed = LinearMetric(matrix * scale)
    got = model.with_centers(model.centers / scale, metric=changed).decompose(model.X / scale)
    assert_same_decomposition(got, model.result)


@law
@given(models(points=scattered, min_centers=2), st.data())
def test_leaving_a_center_out_equals_a_network_without_it(model, data):
    """Also for a local reach that keeps what it knows of the other centers.

    A local outlier factor that was *fitted* without the row has other reaches and densities: in a network the
    row still counts among the neighbours of its neighbours.
    """
    m, pooling = len(model.centers), model.made_of.get("pooling")
    assume(pooling is None or pooling.k < m)
    j = data.draw(st.integers(0, m - 1), label="left out")
    kept = np.delete(np.arange(m), j)
    changed = dict(model.made_of)
    if isinstance(pooling, LocalReach):
        changed["pooling"] = LocalReach(pooling.k, pooling.reaches[kept], pooling.densities[kept])
    if isinstance(changed["metric"], ComponentMetric):
        changed["metric"] = ComponentMetric(changed["metric"].factors[kept])
    without = DistanceNetwork(model.centers[kept], **changed)
    own = np.full(len(model.X), j)
    assert_same_decomposition(model.network.decompose(model.X, own=own), without.decompose(model.X))
    p = model.network.assignment(model.X, own=own)
    assert (p[:, j] == 0).all()
    assert_close(p[:, kept], without.assignment(model.X), np.ones(len(p)))
    assert_close(model.network.expected(model.X, own=own), without.expected(model.X), np.full(len(p), 10.0))


# ---- how it is computed does not matter -------------------------------------------------------------------


@law
@given(
    models(points=scattered), st.data(), st.sampled_from([0.001, 1.0, 256.0]), st.sampled_from([1, 2, None])
)
def test_neither_memory_nor_threads_nor_company_change_the_result(model, data, memory_mb, n_jobs):
    own = data.draw(left_out(model), label="own")
    through = data.draw(st.one_of(st.none(), maps_to(model.centers.shape[1])), label="through")
    wanted = model.network.decompose(model.X, own=own, through=through)
    way = {"through": through, "memory_mb": memory_mb, "n_jobs": n_jobs}
    assert_same_decomposition(model.network.decompose(model.X, own=own, **way), wanted)
    rows = [
        model.network.decompose(model.X[i : i + 1], own=own[i : i + 1], **way) for i in range(len(model.X))
    ]
    one_by_one = replace(
        wanted,
        **{
            name: np.concatenate([getattr(row, name) for row in rows])
            for name in ("relevance", "outlierness", "unexplained")
        },
    )
    assert_same_decomposition(one_by_one, wanted)


# ---- what the parts have to do with each other ------------------------------------------------------------


@law
@given(models(points=scattered, metric=False), st.data())
def test_a_metric_is_a_plain_network_seen_through_the_map(model, data):
    """‖A (x - u)‖ over x is ‖z - w‖ over z = A x, w = A u, explained before the map A."""
    d = model.centers.shape[1]
    matrix = data.draw(matrices(data.draw(st.integers(1, d + 2)), d))
    assume(matrix.any() and well_conditioned(matrix))
    metric = model.with_centers(model.centers, metric=LinearMetric(matrix)).decompose(model.X)
    plain = model.with_centers(model.centers @ matrix.T)
    got = plain.decompose(model.X @ matrix.T, through=LinearMap(matrix))
    assert_same_decomposition(got, metric)


@law
@given(models(points=scattered))
def test_the_identity_before_the_network_changes_nothing(model):
    through = LinearMap(np.eye(model.centers.shape[1]))
    assert_same_decomposition(model.network.decompose(model.X, through=through), model.result)


@law
@given(hard_models(points=lattice), st.data())
def test_distances_of_ranks_are_in_order(model, data):
    m = len(model.centers)
    k = data.draw(st.integers(1, m))

    def o(pooling):
        return model.with_centers(model.centers, pooling=pooling).outlierness(model.X)

    slack = 1e-12 * o(Nearest.kth(m))
    assert (o(Nearest.kth(1)) <= o(Nearest.mean(k)) + slack).all()
    assert (o(Nearest.mean(k)) <= o(Nearest.kth(k)) + slack).all()
    assert (o(Nearest.median(k)) <= o(Nearest.kth(k)) + slack).all()


@law
@given(hard_models(points=scattered), st.data())
def test_the_mean_difference_is_no_longer_than_the_mean_distance(model, data):
    k = data.draw(st.integers(1, len(model.centers)))
    gamma, delta = (
        model.with_centers(model.centers, pooling=pooling).outlierness(model.X)
        for pooling in (Nearest.mean(k), MeanVector(k))
    )
    assert (delta <= gamma * (1 + 1e-12)).all()


@law
@given(hard_models(kinds=("nearest",)), st.integers(0, 2**32 - 1))
def test_a_distance_changes_no_more_than_the_row_moves(model, seed):
    step = np.random.default_rng(seed).normal(size=model.X.shape)
    metric = model.made_of["metric"]
    moved = np.linalg.norm(step if metric is None else step @ metric.matrix.T, axis=1)
    change = np.abs(model.network.outlierness(model.X + step) - model.result.outlierness)
    assert (change <= moved + 1e-9 * (1.0 + model.result.outlierness)).all()


@law
@given(hard_models(points=scattered))
def test_as_sigma_shrinks_soft_pooling_becomes_the_nearest_distance(model):
    """σ o → d to the nearest center, for q = 1, and the relevance with it: o = d/σ + log m at most."""
    nearest = model.with_centers(model.centers, pooling=Nearest.kth(1))
    hard = nearest.decompose(model.X)
    assume((hard.outlierness > 1e-3).all())
    sigma = 1e-12 * hard.outlierness.min()
    soft = DistanceNetwork(
        model.centers, kernel=Exponential(1.0, sigma), metric=model.made_of["metric"]
    ).decompose(model.X)
    second = np.sort(distances(model), axis=1)[:, 1:2]
    assume((second - hard.outlierness[:, None] > 1e-6).all())
    assert_close(sigma * soft.outlierness, hard.outlierness, hard.outlierness, 1e-9)
    assert_close(sigma * soft.relevance, hard.relevance, largest(hard.relevance), 1e-8)


def distances(model):
    difference = model.X[:, None] - model.centers
    metric = model.made_of["metric"]
    return np.linalg.norm(difference if metric is None else difference @ metric.matrix.T, axis=2)
