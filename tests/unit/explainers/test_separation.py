"""Methods that tell a row from normal points around it: COIN and Micenková et al."""

import numpy as np
import pytest

import whyodd
from whyodd.explainers.method import Task
from whyodd.explainers.methods.coin import _abnormality, _spacing, closest, cluster, coin
from whyodd.explainers.methods.micenkova import _mean_weights
from whyodd.explainers.support.neighborhoods import Surroundings, around

SEPARATING = ["coin", "micenkova"]
# Here units are mixed on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The variance of:UserWarning")


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(0).normal(size=(150, 6)) * [1, 1, 1000, 0.01, 1, 1]


@pytest.fixture(scope="module")
def network(normal):
    return whyodd.DistanceNetwork(normal)


@pytest.fixture(scope="module")
def odd(normal):
    """One variable of each row is 7 standard deviations off: 0, 2 and 3, whatever their units."""
    rows = normal[:3] * 0.5
    rows[[0, 1, 2], [0, 2, 3]] += [7.0, 7000.0, -0.07]
    return rows


@pytest.mark.parametrize("method", SEPARATING)
class TestSeparation:
    def test_the_odd_variable_is_most_relevant(self, method, network, odd):
        e = whyodd.explain(network, odd, method=method, random_state=0)
        np.testing.assert_array_equal(e.relevance.argmax(axis=1), [0, 2, 3])
        assert np.all(e.relevance >= 0.0)
        assert np.all(np.sort(e.relevance, axis=1)[:, -1] > 2 * np.sort(e.relevance, axis=1)[:, -2])

    def test_two_odd_variables_are_both_found(self, method, network, normal):
        row = normal[:1] * 0.5
        row[0, [1, 4]] += 6.0
        e = whyodd.explain(network, row, method=method, random_state=0)
        assert set(np.argsort(e.relevance[0])[-2:]) == {1, 4}

    def test_compares_with_the_rows_that_are_given(self, method, network, normal):
        shifted = normal.copy()
        shifted[:, 0] += 7.0
        row = normal[:1] * 0.5
        row[0, :2] += 7.0  # of these only the second is odd now
        e = whyodd.explain(network, row, method=method, random_state=0, options={"normal": shifted})
        assert e.relevance.argmax() == 1

    def test_units_do_not_matter(self, method, network, normal, odd):
        units = np.array([1.0, 10.0, 1e-3, 1e4, 2.0, 5.0])
        e = whyodd.explain(network, odd, method=method, random_state=0)
        scaled = whyodd.explain(
            whyodd.DistanceNetwork(normal * units), odd * units, method=method, random_state=0
        )
        # The same numbers up to rounding, which a solver that stops within 1e-4 may amplify.
        np.testing.assert_allclose(scaled.relevance, e.relevance, atol=1e-3 * e.relevance.max())

    def test_a_row_is_not_its_own_neighbour(self, method, normal, odd):
        """Left out, it is told from the others as well as if it had never been among them."""
        network = whyodd.DistanceNetwork(np.vstack([odd, normal]))
        task = Task(network, odd, own=np.arange(3), random=np.random.default_rng(0))
        relevance = whyodd.explainers.EXPLAINERS[method].decompose(task, {}).relevance
        assert relevance.argmax(axis=1).tolist() == [0, 2, 3]

    def test_a_variable_that_never_varied(self, method, normal):
        constant = normal.copy()
        constant[:, 5] = 3.0
        row = constant[:1].copy()
        row[0, 5] = 9.0
        e = whyodd.explain(whyodd.DistanceNetwork(constant), row, method=method, random_state=0)
        assert e.relevance.argmax() == 5
        assert np.isfinite(e.relevance).all()

    def test_a_row_that_equals_normal_ones_has_a_finite_relevance(self, method, normal):
        same = np.tile(normal[:1], (40, 1))
        e = whyodd.explain(whyodd.DistanceNetwork(same), normal[:1], method=method)
        np.testing.assert_array_equal(e.relevance, 0.0)

    def test_few_normal_points_are_enough(self, method, normal, odd):
        e = whyodd.explain(whyodd.DistanceNetwork(normal[:4]), odd, method=method, random_state=0)
        assert np.isfinite(e.relevance).all()

    def test_a_single_one_is_not(self, method, normal, odd):
        message = rf"method='{method}' expected at least 2 normal points to compare with, got 1. Pass some in"
        with pytest.raises(ValueError, match=message):
            whyodd.explain(whyodd.DistanceNetwork(normal[:1]), odd, method=method)

    @pytest.mark.parametrize("value", [0, 2.5, "many", True])
    def test_wrong_neighbors(self, method, network, odd, value):
        with pytest.raises(ValueError, match=r"neighbors=.*: expected a whole number of at least 1"):
            whyodd.explain(network, odd, method=method, options={"neighbors": value})

    def test_reports_every_row(self, method, network, odd):
        told = []
        task = Task(network, odd, random=np.random.default_rng(0), report=told.append)
        whyodd.explainers.EXPLAINERS[method].decompose(task, {"neighbors": 20})
        assert told == [1, 2, 3]


class TestCoin:
    def test_wrong_clusters(self, network, odd):
        with pytest.raises(ValueError, match="clusters=0: expected a whole number of at least 1"):
            whyodd.explain(network, odd, method="coin", options={"clusters": 0})

    def test_each_cluster_has_its_own_reasons(self):
        """From a cluster of 60 the row differs in x, from one of 20 in y."""
        rng = np.random.default_rng(0)
        left = rng.normal(size=(60, 2)) * 0.3 + [-8, 0]
        below = rng.normal(size=(20, 2)) * 0.3 + [0, -8]
        network = whyodd.DistanceNetwork(np.vstack([left, below]))
        task = Task(network, np.zeros((20, 2)), random=rng)
        found = coin(task, neighbors=80, clusters=2).mean(axis=0)
        normal = Surroundings.of(task, "coin").normal
        x = Surroundings.of(task, "coin").rows[0]
        parts = [
            np.mean([_abnormality(x, members, rng) for _ in range(20)], axis=0)
            for members in (normal[:60], normal[60:])
        ]
        # Draws around the row move a separation by a tenth, and the mean of 20 by a fortieth.
        np.testing.assert_allclose(found, 0.75 * parts[0] + 0.25 * parts[1], rtol=0.1)
        assert parts[0].argmax() == 0
        assert parts[1].argmax() == 1

    def test_spacing_is_the_mean_distance_along_each_variable(self):
        """Plain loops over points and their 5 nearest others."""
        points = np.random.default_rng(0).normal(size=(12, 3))
        total = np.zeros(3)
        for i, point in enumerate(points):
            others = sorted((float(((point - u) ** 2).sum()), j) for j, u in enumerate(points) if j != i)[:5]
            total += sum(np.abs(points[j] - point) for _, j in others) / 5
        np.testing.assert_allclose(_spacing(points), total / 12, rtol=1e-12)
        np.testing.assert_array_equal(_spacing(points[:1]), 1.0)
        np.testing.assert_array_equal(_spacing(np.zeros((4, 3))), 0.05)


class TestMicenkova:
    def test_weights_are_those_of_one_variable_at_a_time_if_they_are_orthogonal(self):
        """There the lasso has w = c - λ for a variable of covariance c with the classes: (0.95 c)² / 2c."""
        odd = np.array([[3.0, 1.0], [3.0, -1.0], [1.0, 1.0], [1.0, -1.0]])
        normal = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        found = _mean_weights(odd, normal)
        x = np.array([3.0, 3, 1, 1, 1, 1, -1, -1]) - 1.0
        c = float((x / x.std() * np.repeat([0.5, -0.5], 4)).mean())
        np.testing.assert_allclose(found, [0.95**2 * c / 2, 0.0], rtol=1e-9, atol=1e-12)


class TestSurroundings:
    def test_are_in_units_of_the_weighted_spread(self):
        points = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
        weights = np.array([0.5, 0.0, 0.5])
        task = Task(whyodd.DistanceNetwork(points, weights), np.array([[6.0, 8.0]]))
        at = Surroundings.of(task, "coin")
        np.testing.assert_allclose(at.rows, [[2.0, 3.0]])
        np.testing.assert_allclose(at.normal, [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])

    def test_order_is_by_distance_and_leaves_out_the_row_itself(self):
        points = np.array([[0.0], [1.0], [3.0], [7.0]])
        task = Task(whyodd.DistanceNetwork(points), points, own=np.arange(4))
        at = Surroundings.of(task, "coin")
        order, distances = at.by_distance(1)
        assert order.tolist() == [0, 2, 3]
        np.testing.assert_allclose(distances * points.std(), [1.0, 2.0, 6.0])

    def test_drawn_points_have_the_spread(self):
        drawn = around(np.random.default_rng(0), np.array([1.0, -2.0]), 4000, 0.5)
        np.testing.assert_array_equal(drawn[0], [1.0, -2.0])
        # Standard errors: 0.5 / √4000 = 0.008 of a mean, 0.5 / √8000 = 0.006 of a spread.
        np.testing.assert_allclose(drawn.mean(axis=0), [1.0, -2.0], atol=0.04)
        np.testing.assert_allclose(drawn.std(axis=0), 0.5, atol=0.03)


class TestClusters:
    @pytest.mark.parametrize("count", [1, 2, 3, 4])
    def test_number_is_found(self, count):
        rng = np.random.default_rng(count)
        truth = np.arange(80) % count
        points = 20.0 * np.eye(4)[truth] + rng.normal(size=(80, 4))
        labels = cluster(points, None, rng)
        assert len(np.unique(labels)) == count
        assert len({(int(a), int(b)) for a, b in zip(labels, truth, strict=True)}) == count

    def test_number_is_as_told(self):
        rng = np.random.default_rng(0)
        assert len(np.unique(cluster(rng.normal(size=(40, 2)), 3, rng))) == 3

    def test_no_more_than_there_are_different_points(self):
        rng = np.random.default_rng(0)
        points = np.repeat([[0.0, 1.0], [5.0, 5.0]], 10, axis=0)
        assert len(np.unique(cluster(points, 7, rng))) == 2
        assert len(np.unique(cluster(points[:10], None, rng))) == 1

    def test_closest_others(self):
        assert closest(np.array([[0.0], [1.0], [3.0], [4.5]]), 2).tolist() == [[1, 2], [0, 2], [3, 1], [2, 1]]
