"""Laws of the method, each for random networks (design, section 2; Kauffmann, Müller and Montavon).

Coordinates are multiples of 1/64, so that points often coincide or tie, and so that the shifts and the
integer rotation below move them without any rounding: what a law compares is whyodd's arithmetic alone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.special import logsumexp, rel_entr

from reference import oracle
from whyodd.kernels import Exponential, Kernel, RationalQuadratic, Student
from whyodd.network.distance_network import DistanceNetwork

pytestmark = pytest.mark.usefixtures("both_ways")

# The design's tolerance for float64, section 3: of the row's largest relevance, or of o.
TOLERANCE = 1e-9

law = settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

degrees = st.one_of(st.sampled_from([0.5, 1.0, 2.0, 3.0, 4.0]), st.floats(0.3, 5.0))
decades = st.floats(-2.0, 2.0).map(lambda exponent: 10.0**exponent)


def kernels():
    return st.one_of(
        st.builds(Exponential, q=degrees, sigma=decades),
        st.builds(Student, q=degrees, a=decades, sigma=decades),
        st.builds(RationalQuadratic, beta=decades, sigma=decades),
    )


def points(n, d):
    return arrays(np.float64, (n, d), elements=st.integers(-512, 512).map(lambda k: k / 64))


def log_weights(m):
    """Weights of one size, or down to 1e-300."""
    exponents = st.one_of(st.just(0.0), st.floats(-2.0, 0.0), st.floats(-690.0, 0.0))
    return st.lists(exponents, min_size=m, max_size=m).map(
        lambda values: np.array(values) - logsumexp(values)
    )


@dataclass(frozen=True)
class Model:
    """What a network is made of, and rows to explain."""

    X: np.ndarray
    centers: np.ndarray
    log_weights: np.ndarray
    kernel: Kernel

    @functools.cached_property
    def network(self):
        return DistanceNetwork(self.centers, kernel=self.kernel, log_weights=self.log_weights)

    @functools.cached_property
    def result(self):
        return self.network.decompose(self.X)


@st.composite
def models(draw, kernel=None, min_centers=1, min_features=1):
    n, m = draw(st.integers(1, 5)), draw(st.integers(min_centers, 9))
    d = draw(st.integers(min_features, 6))
    centers = draw(points(m, d))
    X = draw(points(n, d))
    on_center = draw(arrays(np.bool_, n))
    X[on_center] = centers[draw(arrays(np.int64, n, elements=st.integers(0, m - 1)))][on_center]
    return Model(X, centers, draw(log_weights(m)), draw(kernels() if kernel is None else kernel))


exponentials = st.builds(Exponential, q=degrees, sigma=decades)


def counted(kernel, m):
    """What o counts m centers as: m of Student's o = m/g, m^(1/β) of o = (m/g)^(1/β), 1 of -log g."""
    return {Student: m, RationalQuadratic: m ** (1.0 / getattr(kernel, "beta", 1.0))}.get(type(kernel), 1.0)


def network_of(model, centers):
    return DistanceNetwork(centers, kernel=model.kernel, log_weights=model.log_weights)


def assert_close(got, wanted, scale, tolerance=TOLERANCE, floor=0.0):
    """|got - wanted| <= tolerance · scale + floor, where the scale is one number per row."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    bound = tolerance * np.asarray(scale).reshape(-1, *[1] * (got.ndim - 1)) + floor
    excess = np.abs(got - wanted) - bound
    assert (excess <= 0).all(), f"off by {excess.max():.3g} more than the bound"


def assert_same_decomposition(got, wanted):
    """Twice the tolerance: each of the two sides may be off by it."""
    assert_close(got.relevance, wanted.relevance, wanted.relevance.max(axis=1), 2 * TOLERANCE)
    assert_close(got.outlierness, wanted.outlierness, wanted.outlierness, 2 * TOLERANCE)
    assert_close(got.unexplained, wanted.unexplained, wanted.outlierness, 2 * TOLERANCE)


# ---- conservation and signs -------------------------------------------------------------------------------


@law
@given(models())
def test_inlier_relevance_sums_to_the_inlierness(model):
    g = model.network.inlierness(model.X)
    assert_close(model.network.inlier_relevance(model.X).sum(axis=1), g, g)


@law
@given(models())
def test_assignment_is_a_distribution(model):
    p = model.network.assignment(model.X)
    assert (p >= 0).all()
    assert_close(p.sum(axis=1), 1.0, np.ones(len(p)))


@law
@given(models())
def test_center_relevance_sums_to_the_outlierness(model):
    o = model.network.outlierness(model.X)
    assert_close(model.network.center_relevance(model.X).sum(axis=1), o, o)


@law
@given(models())
def test_center_relevance_is_the_assignment_times_the_outlierness(model):
    o, p = model.network.outlierness(model.X), model.network.assignment(model.X)
    assert_close(model.network.center_relevance(model.X), p * o[:, None], o)


@law
@given(models())
def test_input_relevance_and_unexplained_sum_to_the_outlierness(model):
    e = model.result
    assert_close(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, e.outlierness)


@law
@given(models(), st.sampled_from([np.float32, np.float64]))
def test_no_relevance_is_negative(model, dtype):
    # Beyond the largest float32 there is a clear error: m^(1/β) of a rational quadratic kernel for small β.
    assume(model.result.outlierness.max() < np.finfo(dtype).max / 1e3)
    e = model.network.decompose(model.X.astype(dtype))
    assert (e.relevance >= 0).all()
    assert (e.unexplained >= 0).all()
    assert (e.outlierness >= 0).all()


@law
@given(models(exponentials))
def test_exponential_outlierness_is_mean_energy_plus_divergence_from_the_weights(model):
    e, p = model.result, model.network.assignment(model.X)
    distances = np.linalg.norm(model.X[:, None] - model.centers, axis=2)
    energy = (distances / model.kernel.sigma) ** model.kernel.q / model.kernel.q
    # KL(p‖α) from logarithms: α may be below the smallest float64.
    log_p = np.log(p, where=p > 0, out=np.zeros_like(p))
    divergence = (p * (log_p - model.log_weights)).sum(axis=1)
    # The floor is the rounding of the test's own log p - log α, numbers of up to 700 that cancel.
    floor = 700 * np.finfo(float).eps
    assert_close((p * energy).sum(axis=1) + divergence, e.outlierness, e.outlierness, floor=floor)


@law
@given(models(exponentials))
def test_exponential_unexplained_is_at_least_the_divergence_from_the_weights(model):
    p = model.network.assignment(model.X)
    divergence = rel_entr(p, np.exp(model.log_weights)).sum(axis=1)
    assume(np.isfinite(divergence).all())
    slack = TOLERANCE * model.result.outlierness + 700 * np.finfo(float).eps
    assert (model.result.unexplained >= divergence - slack).all()


# ---- symmetries -------------------------------------------------------------------------------------------


@law
@given(models(), st.randoms(use_true_random=False))
def test_the_order_of_centers_does_not_matter(model, random):
    order = random.sample(range(len(model.centers)), len(model.centers))
    permuted = DistanceNetwork(
        model.centers[order], kernel=model.kernel, log_weights=model.log_weights[order]
    )
    assert_same_decomposition(permuted.decompose(model.X), model.result)
    p = model.network.assignment(model.X)
    assert_close(permuted.assignment(model.X), p[:, order], np.ones(len(p)))


@law
@given(models(min_features=2), st.randoms(use_true_random=False))
def test_relevance_follows_the_order_of_variables(model, random):
    d = model.X.shape[1]
    order = random.sample(range(d), d)
    got = network_of(model, model.centers[:, order]).decompose(model.X[:, order])
    assert_close(
        got.relevance, model.result.relevance[:, order], model.result.relevance.max(axis=1), 2 * TOLERANCE
    )
    assert_close(got.outlierness, model.result.outlierness, model.result.outlierness)


@law
@given(models(), st.sampled_from([1.0, -37.0, 2.0**20, -(2.0**40)]))
def test_shifting_rows_and_centers_together_changes_nothing(model, shift):
    got = network_of(model, model.centers + shift).decompose(model.X + shift)
    assert_same_decomposition(got, model.result)


def integer_rotation(d):
    """Five times a rotation (the 3-4-5 triangle) of each pair of axes (0, 1), (2, 3), ..."""
    M = 5.0 * np.eye(d)
    for i in range(0, d - 1, 2):
        M[i : i + 2, i : i + 2] = [[3.0, -4.0], [4.0, 3.0]]
    return M


@law
@given(models(min_features=2))
def test_rotation_keeps_the_outlierness(model):
    M = integer_rotation(model.X.shape[1])
    o = network_of(model, 5 * model.centers).outlierness(5 * model.X)
    assert_close(network_of(model, model.centers @ M).outlierness(model.X @ M), o, o)


@pytest.mark.parametrize("kernel", [Exponential(), Student()])
def test_rotation_moves_the_relevance_to_other_variables(kernel):
    X, M = np.array([[1.0, 0.0]]), integer_rotation(2)
    straight = DistanceNetwork(np.zeros((1, 2)), kernel=kernel).input_relevance(5 * X)
    rotated = DistanceNetwork(np.zeros((1, 2)), kernel=kernel).input_relevance(X @ M)
    np.testing.assert_allclose(rotated / straight.sum(), [[9 / 25, 16 / 25]], rtol=TOLERANCE)


@law
@given(models(), st.floats(0.01, 0.99), st.data())
def test_a_duplicated_center_counts_as_one_with_the_summed_weight(model, share, data):
    m = len(model.centers)
    j = data.draw(st.integers(0, m - 1), label="duplicated center")
    log_weights = np.append(model.log_weights, model.log_weights[j] + np.log1p(-share))
    log_weights[j] += np.log(share)
    split = DistanceNetwork(
        np.vstack([model.centers, model.centers[j]]), kernel=model.kernel, log_weights=log_weights
    )
    got, wanted = split.decompose(model.X), model.result
    factor = counted(model.kernel, m + 1) / counted(model.kernel, m)
    assert_close(got.outlierness, factor * wanted.outlierness, factor * wanted.outlierness)
    scale = factor * wanted.relevance.max(axis=1)
    assert_close(got.relevance, factor * wanted.relevance, scale, 2 * TOLERANCE)
    g = model.network.inlierness(model.X)
    assert_close(split.inlierness(model.X), g, g)
    p = split.assignment(model.X)
    p[:, j] += p[:, m]
    assert_close(p[:, :m], model.network.assignment(model.X), np.ones(len(p)))


@law
@given(models(min_centers=2), st.data())
def test_leaving_a_center_out_equals_a_network_without_it(model, data):
    j = data.draw(st.integers(0, len(model.centers) - 1), label="left out")
    kept = np.delete(np.arange(len(model.centers)), j)
    remaining = model.log_weights[kept]
    without = DistanceNetwork(
        model.centers[kept], kernel=model.kernel, log_weights=remaining - logsumexp(remaining)
    )
    own = np.full(len(model.X), j)
    assert_same_decomposition(model.network.decompose(model.X, own=own), without.decompose(model.X))
    p = model.network.assignment(model.X, own=own)
    assert (p[:, j] == 0).all()
    assert_close(p[:, kept], without.assignment(model.X), np.ones(len(p)))
    inlier = model.network.inlier_relevance(model.X, own=own)
    assert_close(inlier[:, kept], without.inlier_relevance(model.X), without.inlierness(model.X))


# ---- how it is computed does not matter -------------------------------------------------------------------


@law
@given(models(min_centers=2), st.data())
def test_a_batch_equals_its_rows_one_by_one(model, data):
    own = data.draw(arrays(np.int64, len(model.X), elements=st.integers(-1, len(model.centers) - 1)))
    batch = model.network.decompose(model.X, own=own)
    for i in range(len(model.X)):
        row = model.network.decompose(model.X[i : i + 1], own=own[i : i + 1])
        assert_close(row.relevance, batch.relevance[i : i + 1], batch.relevance[i].max(), 2 * TOLERANCE)
        assert_close(row.outlierness, batch.outlierness[i : i + 1], batch.outlierness[i])


@functools.cache
def crowd(dtype):
    """Enough rows and centers for many blocks and several threads."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(300, 12))
    X = rng.normal(scale=1.5, size=(5000, 12)).astype(dtype)
    X[::7] = centers[:1]
    return X, centers


ways_to_compute = pytest.mark.parametrize(
    "way",
    [
        {"memory_mb": 1.0},
        {"memory_mb": 2000.0},
        {"n_jobs": 1},
        {"n_jobs": 2},
        {"n_jobs": 3, "memory_mb": 4.0},
    ],
    ids=str,
)
over_kernels = pytest.mark.parametrize(
    "kernel", [Exponential(q=1.0), Exponential(sigma=2.0), Student(q=3.0, a=0.5)], ids=str
)
over_dtypes = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)], ids=["float64", "float32"]
)


@ways_to_compute
@over_kernels
@over_dtypes
def test_block_size_and_threads_do_not_matter(way, kernel, dtype, tolerance):
    X, centers = crowd(dtype)
    network = DistanceNetwork(centers, kernel=kernel)
    got, wanted = network.decompose(X, **way), network.decompose(X)
    assert_close(got.relevance, wanted.relevance, wanted.relevance.max(axis=1), tolerance)
    assert_close(got.outlierness, wanted.outlierness, wanted.outlierness, tolerance)
    assert_close(got.unexplained, wanted.unexplained, wanted.outlierness, tolerance)


@over_kernels
@over_dtypes
def test_the_same_input_gives_the_same_bytes(kernel, dtype, tolerance):  # noqa: ARG001 - bytes need none
    X, centers = crowd(dtype)
    first = DistanceNetwork(centers, kernel=kernel).decompose(X)
    second = DistanceNetwork(centers.copy(), kernel=kernel).decompose(X.copy())
    for name in ("relevance", "unexplained", "outlierness", "log_inlierness"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


# ---- definitions 1 and 2 of the paper ---------------------------------------------------------------------


@law
@given(models())
def test_inlierness_is_bounded_by_the_kernel_at_zero(model):
    g = model.network.inlierness(model.X)
    largest = 1.0 / getattr(model.kernel, "a", 1.0)
    assert (g >= 0).all()
    assert (g <= largest * (1 + TOLERANCE)).all()


@law
@given(models())
def test_inlierness_vanishes_far_away(model):
    x = model.X[model.X.any(axis=1)]
    assume(len(x))
    near, far, farther = (model.network.inlierness(2.0**k * x) for k in (20, 60, 180))
    assert (far <= near).all()
    assert (farther <= far).all()
    # (‖x‖/σ)^q ≥ (2^180/64/100)^0.3 > 2^50, and Student's g is at most its reciprocal; the rational quadratic
    # has (‖x‖/σ)² > 2^334 over 2β, to the power β.
    beta = getattr(model.kernel, "beta", 1.0)
    assert (farther <= 2.0 ** -min(50.0, 320.0 * beta)).all()


def growth(kernel, m):
    """c and o_0 of the one-center outlierness c (d/σ)^q + o_0, counted for m centers."""
    if isinstance(kernel, Exponential):
        return 1.0 / kernel.q, 0.0
    if isinstance(kernel, Student):
        return m, m * kernel.a
    return counted(kernel, m) / (2.0 * kernel.beta), counted(kernel, m)


@law
@given(models())
@example(Model(np.array([[1.0]]), np.array([[8.0]]), np.zeros(1), Exponential(q=0.3, sigma=100.0)))
def test_outlierness_grows_like_the_distance_to_the_degree_q(model):
    """o(tx)/‖tx‖^q lies between bounds that shrink to 1/(qσ^q), m/σ^q or m^(1/β)/(2βσ²), as t grows.

    With Σα = 1, g is a mean of the kernels at distances between ‖tx‖ - r and ‖tx‖ + r, r = max ‖u_j‖; so is o
    a mean of the one-center outliernesses there.
    """
    kernel, m = model.kernel, len(model.centers)
    x = model.X[model.X.any(axis=1)]
    assume(len(x))
    for t in (2.0**20, 2.0**60, 2.0**100):
        norm = np.linalg.norm(t * x, axis=1)
        radius = np.linalg.norm(model.centers, axis=1).max() / norm
        constant, least = growth(kernel, m)
        offset = least * (kernel.sigma / norm) ** kernel.q
        ratio = model.network.outlierness(t * x) * (kernel.sigma / norm) ** kernel.q
        assert (ratio >= constant * (1 - radius) ** kernel.q * (1 - TOLERANCE)).all()
        assert (ratio <= (constant * (1 + radius) ** kernel.q + offset) * (1 + TOLERANCE)).all()


# ---- the decomposition on the input is the integrated gradient --------------------------------------------


def integrated_gradients(x, u, C, D, q):
    """Integrated gradients of R_j(x) = C‖x-u‖^q + D, by quadrature from the root nearest to x, or from u."""
    z = x - u
    r = (-D / C) ** (1 / q) / np.linalg.norm(z) if D < 0 else 0.0

    def slope(t):
        """The factor of z in ∂R_j/∂x at u + s z, where s goes from r to 1 as t goes from 0 to 1."""
        s = r + t * (1 - r)
        return C * q * np.linalg.norm(z) ** (q - 2) * s ** (q - 1)

    return (1 - r) * z * z * quad(slope, 0.0, 1.0, epsabs=0.0, epsrel=1e-10)[0]


def linear_model(row, kernel, j, d):
    """C_j and D_j of R_j = C_j d^q + D_j, with p_j, the pooling and the rest held constant (section 5.3)."""
    p, o, energy = row.assignment[j], row.outlierness, (d / kernel.sigma) ** kernel.q
    if isinstance(kernel, Exponential):
        return p / (kernel.q * kernel.sigma**kernel.q), p * (o - energy / kernel.q)
    share = p * o / (kernel.a + energy)
    return share / kernel.sigma**kernel.q, share * kernel.a


SIGNS = {
    # One exponential center: o is its energy, D = 0. A near center has D > 0, a far one D < 0.
    "D=0": (Exponential, [[1.0, -2.0, 0.5]]),
    "D>0-and-D<0": (Exponential, [[1.0, -2.0, 0.5], [0.5, 0.0, 1.0], [-1.0, 1.5, 2.0]]),
    "D>0": (Student, [[1.0, -2.0, 0.5], [0.5, 0.0, 1.0]]),
}


@pytest.mark.parametrize("q", [0.5, 1.0, 1.7, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("signs", SIGNS)
def test_input_relevance_is_the_integrated_gradient_from_the_root_point(signs, q):
    family, centers = SIGNS[signs]
    kernel, centers, x = family(q=q, sigma=1.3), np.array(centers), np.array([0.3, 0.4, -1.1])
    row = oracle.explain_row(x, centers, kernel)
    lines = [linear_model(row, kernel, j, np.linalg.norm(x - u)) for j, u in enumerate(centers)]
    gradients = [integrated_gradients(x, u, C, D, q) for u, (C, D) in zip(centers, lines, strict=True)]
    found = {np.sign(np.round(D, 12)) for _, D in lines}
    assert found == {"D=0": {0.0}, "D>0": {1.0}, "D>0-and-D<0": {-1.0, 1.0}}[signs]
    got = DistanceNetwork(centers, kernel=kernel).input_relevance(x[None])
    # The quadrature is good to 1e-10; at q < 1 its integrand has a pole at the center, which costs a digit.
    np.testing.assert_allclose(got[0], np.sum(gradients, axis=0), rtol=1e-8)
