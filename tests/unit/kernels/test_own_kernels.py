"""Kernels from elsewhere: a class in someone's script is all that models, explanations and curves need."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import whyodd
from reference import flipped, oracle
from reference.kernels import FORMULAS, Formulas, energy, minus_log
from reference.one_class_dual import Dual
from whyodd.explainers import EXPLAINERS
from whyodd.explainers.support.gradients import gradient
from whyodd.kernels import Kernel
from whyodd.kernels.functions import exp, log, log1p
from whyodd.maths.metrics import LinearMetric

# Each kernel is compiled in every process.
pytestmark = [pytest.mark.full, pytest.mark.usefixtures("compiled_only")]

TOLERANCE = {np.float32: 1e-4, np.float64: 1e-9}


@dataclass(frozen=True)
class InverseMultiquadric(Kernel):
    """k = (c + d²/σ²)^(-1/2) with o = m²/g²: a height, a count of centers, all formulas given."""

    c: float = 2.0
    sigma: float = 1.0

    @property
    def log_height(self):
        return -0.5 * math.log(self.c)

    def log_profile(self, e):
        return -0.5 * log1p(e / self.c)

    def steepness(self, e):
        return 0.5 * self.share(e)

    def share(self, e):
        return e / (self.c + e)

    def outlierness(self, log_g, m):
        return exp(2.0 * (log(m) - log_g))

    def rise(self, o):
        return 2.0 * o


def hyperbolic_secant(width):
    """A kernel of a function's own, k = 1 / cosh(w d/σ), with NumPy's functions and a number from outside."""

    @dataclass(frozen=True)
    class HyperbolicSecant(Kernel):
        sigma: float = 1.0
        q = 1.0

        def log_profile(self, e):
            t = width * e
            return math.log(2.0) - t - np.log1p(np.exp(-2.0 * t))

        def steepness(self, e):
            return width * e * np.tanh(width * e)

    return HyperbolicSecant


WIDTH = 0.5
HyperbolicSecant = hyperbolic_secant(WIDTH)
OWN = [InverseMultiquadric(c=2.0, sigma=1.2), HyperbolicSecant(sigma=0.8)]
over_kernels = pytest.mark.parametrize("kernel", OWN, ids=lambda kernel: type(kernel).__name__)
over_dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda dtype: dtype.__name__)


def inverse_multiquadric_share(d, o, k, A):
    e = energy(d, k, A)
    return o * e / (A.number(k.c) + e)


def hyperbolic_secant_share(d, o, k, A):
    t = A.number(WIDTH) * energy(d, k, A)
    fall = A.exp(-2 * t)
    return min(o, t * (1 - fall) / (1 + fall))


@pytest.fixture(autouse=True)
def formulas(monkeypatch):
    multiquadric = Formulas(
        lambda d, k, A: -A.log(A.number(k.c) + energy(d, k, A)) / 2,
        lambda log_g, m, k, A: m * m * A.exp(-2 * log_g),  # noqa: ARG005 - all take the same
        inverse_multiquadric_share,
    )
    secant = Formulas(
        lambda d, k, A: (
            A.log(A.number(2)) - WIDTH * energy(d, k, A) - A.log(1 + A.exp(-2 * WIDTH * energy(d, k, A)))
        ),
        minus_log,
        hyperbolic_secant_share,
    )
    monkeypatch.setitem(FORMULAS, "InverseMultiquadric", multiquadric)
    monkeypatch.setitem(FORMULAS, "HyperbolicSecant", secant)


@pytest.fixture(name="rng")
def generator():
    return np.random.default_rng(0)


def rows_and_centers(rng, dtype):
    """Rows near, far, very far, on and next to centers, some of which have little weight."""
    centers = rng.normal(size=(40, 3)).astype(dtype)
    X = np.concatenate([rng.normal(size=(8, 3)) * [[1.0], [1.0], [3.0], [3.0], [30.0], [30.0], [1e4], [1e4]]])
    X = np.concatenate([X, centers[:2], centers[2:4] + 1e-3]).astype(dtype)
    return X, centers, rng.dirichlet(np.full(40, 0.2))


@over_kernels
@over_dtypes
@pytest.mark.parametrize("own", [False, True], ids=["all", "without-own"])
def test_explanations_are_those_of_60_digits(kernel, dtype, own, rng):
    X, centers, weights = rows_and_centers(rng, dtype)
    left_out = np.where(np.arange(len(X)) < 6, np.arange(len(X)), -1) if own else None
    network = whyodd.DistanceNetwork(centers, weights, kernel)
    got = network.decompose(X, own=left_out)
    logs = network.log_weights
    truth = oracle.explain(X, centers, kernel, log_weights=logs, own=left_out, arithmetic=oracle.digits(60))
    tolerance = TOLERANCE[dtype]
    assert (np.abs(got.outlierness - truth.outlierness) <= tolerance * truth.outlierness).all()
    assert (np.abs(got.unexplained - truth.unexplained) <= tolerance * truth.outlierness).all()
    largest = truth.relevance.max(axis=1, keepdims=True)
    assert (np.abs(got.relevance - truth.relevance) <= tolerance * largest).all()
    assert (got.relevance >= 0.0).all()
    total = got.relevance.sum(axis=1, dtype=np.float64) + got.unexplained
    assert (np.abs(total - got.outlierness) <= tolerance * got.outlierness).all()


def test_a_tolerance_makes_use_of_a_kernel_that_falls_fast(rng):
    centers, X = 200.0 * rng.normal(size=(3000, 3)), 200.0 * rng.normal(size=(30, 3))
    network = whyodd.DistanceNetwork(centers, None, HyperbolicSecant(sigma=0.8))
    exact, quick = network.decompose(X), network.decompose(X, tolerance=1e-6)
    assert (quick.discarded > 0.0).mean() > 0.5
    np.testing.assert_allclose(quick.outlierness, exact.outlierness, rtol=2e-6)
    np.testing.assert_allclose(quick.relevance, exact.relevance, atol=1e-4 * exact.relevance.max())


@over_kernels
def test_a_metric_takes_the_same_kernel(kernel, rng):
    X, centers, weights = rows_and_centers(rng, np.float64)
    A = rng.normal(size=(3, 3))
    mapped = whyodd.DistanceNetwork(centers @ A.T, weights, kernel).outlierness(X @ A.T)
    network = whyodd.DistanceNetwork(centers, weights, kernel, metric=LinearMetric(A))
    np.testing.assert_allclose(network.outlierness(X), mapped, rtol=1e-7)


@over_kernels
@over_dtypes
def test_curves_are_those_of_plain_loops(kernel, dtype, rng):
    X, centers, weights = rows_and_centers(rng, dtype)
    X = X[:6]
    network, relevance = whyodd.DistanceNetwork(centers, weights, kernel), rng.random(X.shape)
    got, wanted = whyodd.evaluation.flip(network, X, relevance), flipped.flip(X, network, relevance)
    assert (np.abs(got - wanted) <= TOLERANCE[dtype] * wanted[:, :1]).all()


@over_kernels
@pytest.mark.parametrize("model", [whyodd.OneClassSVM, whyodd.SVDD])
def test_training_ends_where_no_coefficient_wants_to_move(kernel, model, rng):
    X = rng.normal(size=(300, 3))
    fitted = model(kernel, nu=0.2, tol=1e-4).fit(X)
    alpha = np.zeros(300)
    alpha[fitted.support_] = fitted.weights_
    # Similarities in float32 add to the violation that was asked for.
    assert Dual.of(X, kernel, 0.2).violation(alpha) <= 2e-4
    assert (fitted.predict(X) == -1).mean() <= 0.2
    e = whyodd.explain(fitted, X[:5] + 3.0)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)


def test_a_model_without_a_volume_scores_but_has_no_density(rng):
    X = rng.normal(size=(60, 2))
    model = whyodd.KernelDensity(InverseMultiquadric()).fit(X)
    assert model.score_samples(X).shape == (60,)
    assert not hasattr(model, "score")
    with pytest.raises(NotImplementedError, match=r"^InverseMultiquadric has no log_volume.*no density\."):
        model.log_density(X)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")  # of shap
@over_kernels
@pytest.mark.parametrize("method", sorted(EXPLAINERS.keys() - {"splits"}))  # which is of trees
def test_every_method_explains_it(kernel, method, rng):
    X = rng.normal(size=(60, 4))
    model = whyodd.OneClassSVM(kernel, nu=0.3).fit(X)
    options = {"shap": {"algorithm": "kernel"}, "sobel": {"shape": (2, 2)}}.get(method)
    e = whyodd.explain(model, X[:3] + 2.0, method=method, options=options, random_state=0)
    assert np.isfinite(e.relevance).all()
    if e.is_additive:
        total = e.relevance.sum(axis=1) + e.unexplained
        np.testing.assert_allclose(total, e.outlierness, rtol=1e-4)


def test_gradients_are_those_of_small_steps(rng):
    X, U = rng.normal(size=(4, 3)), rng.normal(size=(30, 3))
    for kernel in OWN:
        network = whyodd.DistanceNetwork(U, None, kernel)
        slopes = np.empty(X.shape)
        for i in range(3):
            step = 1e-6 * np.eye(3)[i]
            slopes[:, i] = (network.outlierness(X + step) - network.outlierness(X - step)) / 2e-6
        np.testing.assert_allclose(gradient(network, X), slopes, rtol=1e-5, atol=1e-7 * np.abs(slopes).max())


def test_formulas_that_cannot_be_compiled_are_a_clear_error(rng):
    @dataclass(frozen=True)
    class Ratio(Kernel):
        sigma: float = 1.0

        def log_profile(self, e):
            return -e.as_integer_ratio()[0]

        def steepness(self, e):
            return e

    with pytest.raises(TypeError, match=r"^Ratio cannot be compiled.*names the line\.$"):
        whyodd.DistanceNetwork(rng.normal(size=(5, 2)), None, Ratio()).outlierness(np.ones((1, 2)))


def test_a_kernel_defined_anew_is_another_kernel(rng):
    """As in a notebook, where a cell is changed and run again."""
    X, U = rng.normal(size=(3, 2)), rng.normal(size=(20, 2))
    scores = [
        whyodd.DistanceNetwork(U, None, hyperbolic_secant(width)()).outlierness(X) for width in (0.5, 2.0)
    ]
    assert (scores[1] > scores[0]).all()
