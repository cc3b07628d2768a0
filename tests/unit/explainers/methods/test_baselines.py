"""Every baseline against plain loops, or where it can be told, against what it must be."""

import importlib

import numpy as np
import pytest
from scipy import sparse

import whyodd
from reference import baselines
from whyodd.explainers.method import Task
from whyodd.explainers.methods.nearest import nearest_normal
from whyodd.explainers.methods.taylor import _nearest_roots, _usual
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.metrics import ComponentMetric, LinearMetric

RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(9, 3))
WEIGHTS = RNG.dirichlet(np.ones(9))
GIVEN = RNG.normal(size=(12, 3)) + 0.5
ROWS = np.vstack([2.5 * RNG.normal(size=(3, 3)), CENTERS[2:3]])
OWN = np.array([-1, -1, -1, 2])
MAP = RNG.normal(size=(2, 3))
NETWORKS = {
    "gaussian": whyodd.DistanceNetwork(CENTERS, WEIGHTS, Exponential(2, 0.8)),
    "laplacian": whyodd.DistanceNetwork(CENTERS, WEIGHTS, Exponential(1, 0.8)),
    "student": whyodd.DistanceNetwork(CENTERS, WEIGHTS, Student(2, 0.5, 0.8)),
    "neighbours": whyodd.DistanceNetwork(CENTERS, pooling=Nearest.mean(3)),
    "mean of neighbours": whyodd.DistanceNetwork(CENTERS, pooling=MeanVector(3)),
    "reach": whyodd.DistanceNetwork(CENTERS, pooling=LocalReach(3, np.full(9, 0.4), np.linspace(1, 2, 9))),
    "map": whyodd.DistanceNetwork(CENTERS, WEIGHTS, Exponential(2, 0.8), metric=LinearMetric(MAP)),
    "mixture": whyodd.DistanceNetwork(
        CENTERS, WEIGHTS, metric=ComponentMetric(np.linspace(0.5, 2.0, 54).reshape(9, 2, 3))
    ),
    "sparse": whyodd.DistanceNetwork(sparse.csr_array(CENTERS), WEIGHTS, Exponential(1.5, 0.8)),
}
SMOOTH = ["gaussian", "laplacian", "student", "map", "mixture"]


@pytest.fixture(params=NETWORKS, scope="module")
def network(request):
    return NETWORKS[request.param]


def explained(network, method, rows=ROWS, own=OWN, **options):
    task = Task(network, rows, own=own)
    return whyodd.explainers.EXPLAINERS[method].decompose(task, options)


def each(network, of_row, own=OWN):
    return np.array([of_row(network, x, own=int(j)) for x, j in zip(ROWS, own, strict=True)])


def assert_close(found, expected, share=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=share * np.abs(expected).max())


class TestSensitivity:
    def test_is_the_square_of_central_differences(self, network):
        slopes = each(network, baselines.gradient)
        assert_close(explained(network, "sensitivity").relevance, slopes**2, 1e-5)


class TestNearest:
    def test_is_as_in_plain_loops(self, network):
        assert_close(explained(network, "nearest").relevance, each(network, baselines.nearest))

    def test_sums_to_the_squared_distance(self, network):
        total = explained(network, "nearest").relevance.sum(axis=1)
        centers = baselines.dense(network.centers)
        for x, own, found in zip(ROWS, OWN, total, strict=True):
            j = baselines.nearest_center(network, x, int(own))
            assert found == pytest.approx(baselines.distance(network, x, centers[j], j) ** 2, rel=1e-9)

    def test_compares_with_normal_rows_that_are_given(self, network):
        task = Task(network, ROWS, own=OWN, given=GIVEN)
        for x, own, found in zip(ROWS, OWN, nearest_normal(task), strict=True):
            j = baselines.nearest_center(network, x, int(own))
            distances = [baselines.distance(network, x, u, j) for u in GIVEN]
            np.testing.assert_array_equal(found, GIVEN[int(np.argmin(distances))])
        method = whyodd.explainers.EXPLAINERS["nearest"]
        j = baselines.nearest_center(network, ROWS[0])
        expected = baselines.squared_parts(network, ROWS[0], nearest_normal(task)[0], j)
        assert_close(method.relevance(task)[0], expected)


class TestMean:
    def test_is_as_in_plain_loops(self, network):
        mean = baselines.mean_point(CENTERS, network.weights)
        main = network.nearest(ROWS, 1, own=OWN)[0][:, 0]
        expected = [
            baselines.squared_parts(network, x, mean, int(j)) for x, j in zip(ROWS, main, strict=True)
        ]
        assert_close(explained(network, "mean").relevance, np.array(expected))


class TestMvn:
    @pytest.mark.parametrize("regularization", [0.0, 0.7])
    def test_is_as_in_plain_loops(self, regularization):
        network = NETWORKS["gaussian"]
        expected = [baselines.mvn(x, CENTERS, WEIGHTS, regularization) for x in ROWS]
        found = explained(network, "mvn", regularization=regularization)
        assert_close(found.relevance, np.array(expected))

    def test_rows_that_are_given_count_the_same(self):
        e = whyodd.explain(NETWORKS["gaussian"], ROWS, method="mvn", options={"normal": GIVEN})
        variance = GIVEN.var(axis=0)
        expected = (ROWS - GIVEN.mean(axis=0)) ** 2 / (2 * (variance + 1e-3 * variance.mean()))
        assert_close(e.relevance, expected)

    @pytest.mark.parametrize("value", [-1.0, np.inf, "much"])
    def test_wrong_regularization(self, value):
        with pytest.raises(ValueError, match=r"regularization=.*: expected a finite number of at least 0"):
            explained(NETWORKS["gaussian"], "mvn", regularization=value)

    def test_says_so_if_nothing_varied(self):
        with pytest.raises(ValueError, match=r"never varied among the 1 normal row"):
            explained(whyodd.DistanceNetwork([[0.0, 0.0, 0.0]]), "mvn", own=None)


class TestOcclusion:
    def test_is_as_in_plain_loops(self, network):
        usual = network.expected(ROWS, own=OWN)
        expected = [
            baselines.occlusion(network, x, r, int(j)) for x, r, j in zip(ROWS, usual, OWN, strict=True)
        ]
        assert_close(explained(network, "occlusion").relevance, np.array(expected))

    def test_towards_the_mean(self):
        mean = baselines.mean_point(GIVEN, np.full(12, 1 / 12))
        options = {"normal": GIVEN, "reference": "mean"}
        e = whyodd.explain(NETWORKS["student"], ROWS[:3], method="occlusion", options=options)
        expected = [baselines.occlusion(NETWORKS["student"], x, mean) for x in ROWS[:3]]
        assert_close(e.relevance, np.array(expected))

    def test_blocks_are_put_together_and_reported(self, monkeypatch):
        whole = explained(NETWORKS["gaussian"], "occlusion").relevance
        # 5 varied rows of 3 at a time; the function hides the module of the same name.
        monkeypatch.setattr(importlib.import_module("whyodd.explainers.methods.occlusion"), "_BLOCK", 15)
        told = []
        task = Task(NETWORKS["gaussian"], ROWS, own=OWN, report=told.append)
        found = whyodd.explainers.EXPLAINERS["occlusion"].decompose(task, {}).relevance
        np.testing.assert_array_equal(found, whole)
        assert told == [1, 3, 3, 4]

    def test_wrong_reference(self):
        with pytest.raises(ValueError, match="reference='zero': expected 'expected' or 'mean'"):
            explained(NETWORKS["gaussian"], "occlusion", reference="zero")


class TestIntegratedGradients:
    @pytest.mark.parametrize("kind", SMOOTH)
    def test_is_as_in_plain_loops(self, kind):
        """Steps of 1/50 along a line err by about 1/50² = 4e-4, times a curvature of a few."""
        network = NETWORKS[kind]
        start = baselines.mean_point(CENTERS, WEIGHTS)
        found = explained(network, "integrated_gradients", ROWS[:1], own=None, reference="mean").relevance
        assert_close(found[0], np.array(baselines.integrated_gradients(network, ROWS[0], start)), 2e-3)

    @pytest.mark.parametrize("kind", SMOOTH)
    @pytest.mark.parametrize("reference", ["nearest", "mean", CENTERS[0], ROWS[::-1] + 0.1])
    def test_sums_to_the_rise_from_the_reference(self, kind, reference):
        network = NETWORKS[kind]
        start = reference
        if isinstance(reference, str):
            nearest = [baselines.nearest_center(network, x, int(j)) for x, j in zip(ROWS, OWN, strict=True)]
            start = CENTERS[nearest] if reference == "nearest" else WEIGHTS @ CENTERS
        start = np.broadcast_to(start, ROWS.shape)
        parts = explained(network, "integrated_gradients", reference=reference)
        rise = network.outlierness(ROWS, own=OWN) - network.outlierness(start, own=OWN)
        # A Laplacian has a kink where the line passes a center closely: quadrature sees it only roughly.
        np.testing.assert_allclose(parts.relevance.sum(axis=1), rise, atol=1e-3 * parts.outlierness.max())
        np.testing.assert_allclose(parts.unexplained, parts.outlierness - parts.relevance.sum(axis=1))

    def test_one_normal_row_is_a_reference(self):
        network = NETWORKS["gaussian"]
        options = {"normal": GIVEN[:1], "reference": "mean"}
        e = whyodd.explain(network, ROWS, method="integrated_gradients", options=options)
        np.testing.assert_allclose(e.unexplained, network.outlierness(GIVEN[:1])[0], rtol=1e-6)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"reference": "median"}, "reference='median': expected 'nearest', 'mean' or an array"),
            ({"reference": [1.0, 2.0]}, r"reference has shape \(2,\): expected a point, \(3,\), or one"),
            ({"reference": [1.0, 2.0, np.nan]}, "reference must be finite"),
            ({"reference": object()}, "reference must be numbers"),
            ({"steps": 0}, "steps=0: expected a whole number of at least 1"),
            ({"steps": 2.5}, "steps=2.5: expected a whole number"),
        ],
    )
    def test_wrong_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            explained(NETWORKS["gaussian"], "integrated_gradients", **options)


class TestTaylor:
    @pytest.mark.parametrize("kind", [*SMOOTH, "neighbours", "reach"])
    def test_is_as_in_plain_loops(self, kind):
        network = NETWORKS[kind]
        own = OWN[:3]
        inner = [baselines.nearest_center(network, x) for x in ROWS[:3]]
        tau = 1.05 * max(baselines.outlierness(network, CENTERS[j]) for j in inner)
        found = explained(network, "taylor", ROWS[:3], own, threshold=tau)
        expected = np.array([baselines.taylor(network, x, tau) for x in ROWS[:3]])
        assert np.abs(expected).max(axis=1).min() > 0.0
        assert_close(found.relevance, expected, 1e-5)
        np.testing.assert_allclose(found.unexplained, found.outlierness - found.relevance.sum(axis=1))

    @pytest.mark.parametrize("kind", NETWORKS)
    def test_is_as_odd_as_the_threshold_at_the_root(self, kind):
        network = NETWORKS[kind]
        task = Task(network, ROWS, own=OWN)
        odd = np.arange(3)
        inner = nearest_normal(task)[odd]
        level = 1.1 * task.outlierness(inner, odd)
        roots = _nearest_roots(task, odd, inner, level)
        rise = task.scores.outlierness[odd] - level
        assert np.all(rise > 0)
        assert np.all(np.abs(task.outlierness(roots, odd) - level) <= 1e-9 * rise)
        between = np.linalg.norm(ROWS[odd] - inner, axis=1)
        assert np.all(np.linalg.norm(ROWS[odd] - roots, axis=1) < between)

    def test_is_exact_where_the_outlierness_is_linear(self):
        """O = d from one center: R_i = (x_i - u_i)² / d · (1 - τ/d), which sum to o - τ, as for DTD."""
        network = whyodd.DistanceNetwork([[1.0, -2.0]], pooling=Nearest.kth(1))
        x = np.array([[4.0, 2.0]])
        for tau in (0.0, 1.5):
            parts = explained(network, "taylor", x, own=None, threshold=tau)
            # The root is aimed at a little above τ, where the center itself has no gradient.
            expected = [[(5 - tau) * 9 / 25, (5 - tau) * 16 / 25]]
            np.testing.assert_allclose(parts.relevance, expected, rtol=1e-6)
            assert parts.unexplained[0] == pytest.approx(tau, abs=1e-6)

    def test_of_one_gaussian(self):
        """The root is at √(2τ) σ from the center, on the way to it, with a gradient of √(2τ) / σ."""
        network = whyodd.DistanceNetwork([[1.0, -2.0]], kernel=Exponential(2, 2.0))
        parts = explained(network, "taylor", np.array([[4.0, 2.0]]), own=None, threshold=0.5)
        step = 5.0 - 2.0
        np.testing.assert_allclose(parts.relevance, [[0.5 * step * 9 / 25, 0.5 * step * 16 / 25]], rtol=1e-6)

    def test_normal_rows_have_none(self):
        parts = explained(NETWORKS["gaussian"], "taylor", threshold=1e6)
        assert not parts.relevance.any()
        np.testing.assert_array_equal(parts.unexplained, parts.outlierness)

    @pytest.mark.parametrize("kind", ["gaussian", "student", "map"])
    def test_usual_is_the_median_over_centers_without_themselves(self, kind):
        network = NETWORKS[kind]
        o = [baselines.outlierness(network, u, j) for j, u in enumerate(CENTERS)]
        expected = baselines.weighted_median(o, WEIGHTS)
        assert _usual(Task(network, ROWS)) == pytest.approx(expected, rel=1e-9)

    def test_usual_is_the_median_over_given_rows(self):
        o = [baselines.outlierness(NETWORKS["gaussian"], u) for u in GIVEN]
        expected = baselines.weighted_median(o, np.full(12, 1 / 12))
        assert _usual(Task(NETWORKS["gaussian"], ROWS, given=GIVEN)) == pytest.approx(expected, rel=1e-9)

    def test_neighbours_leave_themselves_out_if_they_are_rows(self):
        network = whyodd.neuralize(whyodd.KNearestNeighbors(2).fit(CENTERS))
        o = network.outlierness(CENTERS, own=np.arange(9))
        assert _usual(Task(network, ROWS)) == pytest.approx(np.median(o), rel=1e-9)
        assert _usual(Task(NETWORKS["neighbours"], ROWS)) < _usual(Task(network, ROWS))

    def test_steps_that_lead_nowhere_are_not_taken(self):
        """Between two centers the gradient all but vanishes: a step would lead beyond all numbers."""
        network = whyodd.DistanceNetwork([[-1.0, 0.0], [1.0, 0.0]], kernel=Exponential(4, 0.3))
        parts = explained(network, "taylor", np.array([[1e-9, 0.0], [0.0, 0.0]]), own=None, threshold=5.0)
        # The gradient at the root on the way to a center is d³ / σ⁴ with d⁴ = 4 σ⁴ (τ - log 2).
        d = (4 * 0.3**4 * (5 - np.log(2))) ** 0.25
        np.testing.assert_allclose(
            parts.relevance, np.full((2, 1), d**3 / 0.3**4 * (1 - d)) * [1, 0], rtol=1e-6
        )

    def test_a_row_less_odd_than_every_center_has_none(self):
        """Two centers without themselves: each is odder than what lies between them."""
        network = whyodd.DistanceNetwork([[-1.0, 0.0], [1.0, 0.0]], kernel=Exponential(2, 3.0))
        parts = explained(network, "taylor", np.array([[0.0, 0.0], [0.0, 9.0]]), own=None)
        np.testing.assert_array_equal(parts.relevance[0], 0.0)
        assert parts.relevance[1, 1] > 0.0

    def test_threshold_below_all_centers(self):
        with pytest.raises(ValueError, match=r"threshold=0\.001: no center has an outlierness that low"):
            explained(NETWORKS["gaussian"], "taylor", threshold=0.001)

    @pytest.mark.parametrize("value", [-1.0, np.nan, "low", True])
    def test_wrong_threshold(self, value):
        with pytest.raises(ValueError, match=r"threshold=.*: expected a finite number of at least 0"):
            explained(NETWORKS["gaussian"], "taylor", threshold=value)


class TestRandom:
    def test_is_the_same_for_a_seed_and_else_not(self):
        values = [
            whyodd.explain(NETWORKS["gaussian"], ROWS, method="random", random_state=seed).relevance
            for seed in (0, 0, 1)
        ]
        np.testing.assert_array_equal(values[0], values[1])
        assert np.all(values[0] != values[2])
        assert values[0].min() >= 0.0
        assert values[0].max() < 1.0


class TestSobel:
    @pytest.mark.parametrize("shape", [(3, 4), (2, 2, 3)])
    def test_is_that_of_each_image(self, shape):
        images = RNG.normal(size=(2, *shape))
        network = whyodd.DistanceNetwork(np.zeros((1, 12)))
        e = whyodd.explain(network, images.reshape(2, 12), method="sobel", options={"shape": shape})
        for image, relevance in zip(images, e.relevance, strict=True):
            plain = whyodd.patches.sobel(image)
            per_pixel = relevance.reshape(*plain.shape, -1)
            np.testing.assert_allclose(per_pixel.sum(axis=-1), plain, rtol=1e-12)
            np.testing.assert_array_equal(per_pixel, per_pixel[..., :1] * np.ones(per_pixel.shape[-1]))

    def test_needs_a_shape(self):
        with pytest.raises(ValueError, match=r"pass options=\{'shape': \(height, width\)\}"):
            whyodd.explain(NETWORKS["gaussian"], ROWS, method="sobel")

    @pytest.mark.parametrize("shape", [(2, 2), (3,), 3, "3x1"])
    def test_wrong_shape(self, shape):
        with pytest.raises(ValueError, match=r"expected \(height, width\) or \(height, width, channels\)"):
            whyodd.explain(NETWORKS["gaussian"], ROWS, method="sobel", options={"shape": shape})
