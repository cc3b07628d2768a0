"""DistanceNetwork: construction, immutability, bad input, expected points and nearest centers."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from reference import oracle
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import LinearMetric
from whyodd.network.distance_network import DistanceNetwork

pytestmark = pytest.mark.usefixtures("both_ways")

KERNELS = (Exponential(q=1.0), Exponential(q=2.0, sigma=1.4), Student(q=3.0, a=0.5))
METHODS = (
    "outlierness",
    "inlierness",
    "inlier_relevance",
    "center_relevance",
    "assignment",
    "input_relevance",
    "decompose",
    "expected",
    "nearest",
)

over_kernels = pytest.mark.parametrize("kernel", KERNELS, ids=str)
over_methods = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def centers(rng):
    return rng.normal(size=(6, 3))


@pytest.fixture(name="X")
def rows_to_explain(rng):
    return rng.normal(size=(5, 3))


def call(network, method, X, **keywords):
    arguments = (2,) if method == "nearest" else ()
    return getattr(network, method)(X, *arguments, **keywords)


def assert_clear(error, *words):
    """A message on one line, with all the words, that ends as a sentence does."""
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 300
    assert message.endswith(".")
    for word in words:
        assert re.search(word, message, re.IGNORECASE), f"{word!r} is not in {message!r}"


# ---- construction -----------------------------------------------------------------------------------------


def test_equal_weights_and_a_gaussian_by_default(centers):
    network = DistanceNetwork(centers)
    np.testing.assert_allclose(network.weights, np.full(6, 1 / 6), rtol=1e-15)
    assert network.kernel == Exponential(q=2.0, sigma=1.0)
    assert network.offset == 0.0
    assert (network.n_centers, network.n_features) == (6, 3)


def test_weights_and_log_weights_describe_the_same_network(centers, X, rng):
    alpha = rng.dirichlet(np.ones(6))
    by_weight = DistanceNetwork(centers, alpha)
    by_log = DistanceNetwork(centers, log_weights=np.log(alpha))
    np.testing.assert_allclose(by_weight.log_weights, by_log.log_weights, rtol=1e-14)
    np.testing.assert_allclose(by_weight.outlierness(X), by_log.outlierness(X), rtol=1e-14)


def test_weights_that_sum_to_one_within_rounding_are_normalised(centers):
    tenths = [0.1, 0.2, 0.3, 0.1, 0.2, 0.1 + 1e-15]
    assert DistanceNetwork(centers, tenths).weights.sum() == pytest.approx(1.0, abs=1e-15)


def test_integer_and_float32_centers_are_held_as_float64():
    for dtype in (np.int32, np.float32):
        assert DistanceNetwork(np.eye(3, dtype=dtype)).centers.dtype == np.float64


@pytest.mark.parametrize("sparse", [csr_array, csr_matrix])
def test_sparse_centers_stay_sparse(sparse):
    network = DistanceNetwork(sparse(np.eye(3)))
    assert network.centers.format == "csr"
    np.testing.assert_array_equal(network.centers.toarray(), np.eye(3))


def test_rows_and_number_of_rows_are_kept(centers):
    network = DistanceNetwork(centers, rows=[3, 1, 4, 15, 9, 2], n_rows=20, offset=0.25)
    np.testing.assert_array_equal(network.rows, [3, 1, 4, 15, 9, 2])
    assert (network.n_rows, network.offset) == (20, 0.25)


def test_shown_in_a_few_words(centers):
    assert repr(DistanceNetwork(centers)) == (
        "DistanceNetwork(6 centers, 3 variables, Exponential(q=2.0, sigma=1.0))"
    )
    pooled = DistanceNetwork(centers, pooling=Nearest.kth(2), metric=LinearMetric(np.eye(3)))
    assert repr(pooled) == f"DistanceNetwork(6 centers, 3 variables, Nearest.kth(2), {pooled.metric!r})"


def test_the_energies_of_a_hard_pooling_are_the_distances_themselves(centers):
    kernel = DistanceNetwork(centers, pooling=Nearest.kth(2)).kernel
    np.testing.assert_array_equal(kernel.energy(np.array([0.0, 4.0, 9.0])), [0.0, 2.0, 3.0])


WRONG_WEIGHTS = {
    "sum": ([0.5, 0.2, 0.2], ["sum to 1", "0.9"]),
    "negative": ([0.5, 0.7, -0.2], ["negative", "-0.2"]),
    "nan": ([0.5, 0.5, np.nan], ["finite|nan"]),
    "infinite": ([0.5, 0.5, np.inf], ["finite|inf"]),
    "too-few": ([0.5, 0.5], ["3", "2"]),
    "too-many": ([0.25] * 4, ["3", "4"]),
    "two-dimensional": ([[0.5, 0.25, 0.25]], [r"\(1, 3\)"]),
    "a-number": (1.0, ["3"]),
    "strings": (["a", "b", "c"], ["number"]),
}


@pytest.mark.parametrize("wrong", WRONG_WEIGHTS)
def test_wrong_weights_are_a_clear_error(wrong):
    weights, words = WRONG_WEIGHTS[wrong]
    with pytest.raises(ValueError, match=r"\bweights\b") as error:
        DistanceNetwork(np.eye(3), weights)
    assert_clear(error, *words)


@pytest.mark.parametrize(
    "log_weights",
    [[0.0, np.nan], [0.0, np.inf], [-np.inf, -np.inf], [0.0], ["a", "b"]],
    ids=["nan", "infinite", "nothing-left", "too-few", "strings"],
)
def test_wrong_log_weights_are_a_clear_error(log_weights):
    with pytest.raises(ValueError, match="log_weights") as error:
        DistanceNetwork(np.eye(2), log_weights=log_weights)
    assert_clear(error)


def test_weights_and_log_weights_together_are_a_clear_error():
    with pytest.raises(ValueError, match="weights or log_weights, got both") as error:
        DistanceNetwork(np.eye(2), [0.5, 0.5], log_weights=np.log([0.5, 0.5]))
    assert_clear(error, "one of")


# Each table that is not one: what to pass, and what the message must speak of besides its name.
WRONG_TABLES = {
    "nan": ([[0.0, 1.0, np.nan]], ["nan", "row 0", "column 2"]),
    "infinite": ([[0.0, 1.0, 2.0], [0.0, -np.inf, 1.0]], ["infinity", "row 1", "column 1"]),
    "strings": ([["a", "b", "c"]], ["number", "'a'"]),
    "mixed": (np.array([[1.0, "b", 2.0]], dtype=object), ["number", "'b'"]),
    "complex": (np.ones((2, 3), dtype=complex), ["number", "complex"]),
    "no-rows": (np.empty((0, 3)), ["at least one row"]),
    "no-columns": (np.empty((3, 0)), ["at least one", "column"]),
    "one-dimensional": ([1.0, 2.0, 3.0], ["rows, columns|2-D|two-dim", "1"]),
    "three-dimensional": (np.ones((2, 3, 3)), ["rows, columns|2-D|two-dim", "3"]),
    "a-number": (1.0, ["rows, columns|2-D|two-dim", "float"]),
    "ragged": ([[1.0, 2.0, 3.0], [1.0]], ["equal length|same length"]),
    "sparse-nan": (csr_array([[0.0, 1.0, np.nan]]), ["nan", "row 0", "column 2"]),
    "sparse-infinite": (csr_array([[0.0, 0.0, 0.0], [0.0, np.inf, 0.0]]), ["infinity", "row 1", "column 1"]),
}

over_wrong_tables = pytest.mark.parametrize("wrong", WRONG_TABLES)


@over_wrong_tables
def test_wrong_centers_are_a_clear_error(wrong):
    table, words = WRONG_TABLES[wrong]
    with pytest.raises(ValueError, match="centers") as error:
        DistanceNetwork(table)
    assert_clear(error, *words)


@pytest.mark.parametrize("kernel", ["gaussian", 2.0, Exponential], ids=["name", "number", "class"])
def test_a_kernel_of_another_type_is_a_clear_error(kernel):
    with pytest.raises((TypeError, ValueError), match="kernel") as error:
        DistanceNetwork(np.eye(2), kernel=kernel)
    assert_clear(error, "whyodd.kernels.Kernel", "Exponential")


# ---- immutability -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["centers", "weights", "log_weights", "kernel", "offset", "anything"])
def test_attributes_cannot_be_set_or_deleted(centers, name):
    network = DistanceNetwork(centers)
    with pytest.raises(AttributeError, match=name):
        setattr(network, name, None)
    with pytest.raises(AttributeError, match=name):
        delattr(network, name)


@pytest.mark.parametrize("name", ["centers", "weights", "log_weights", "rows"])
def test_arrays_are_read_only(centers, name):
    values = getattr(DistanceNetwork(centers, rows=np.arange(6)), name)
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 0


@pytest.mark.parametrize("layout", [np.array, csr_array])
def test_later_changes_to_the_callers_arrays_do_not_reach_the_network(layout, X):
    centers, log_weights = layout(np.eye(3)), np.log([0.2, 0.3, 0.5])
    network = DistanceNetwork(centers, log_weights=log_weights)
    before = network.outlierness(X)
    centers *= 7.0
    log_weights[0] = 5.0
    np.testing.assert_array_equal(network.outlierness(X), before)


@over_methods
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_callers_rows_are_left_as_they_are(method, dtype, centers, X):
    rows = X.astype(dtype)
    rows.flags.writeable = False
    kept = rows.copy()
    call(DistanceNetwork(centers), method, rows)
    np.testing.assert_array_equal(rows, kept)


def test_a_pickled_network_computes_the_same(centers, X):
    network = DistanceNetwork(centers, kernel=Student(), rows=np.arange(6), n_rows=9, offset=0.5)
    again = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(again.input_relevance(X), network.input_relevance(X))
    assert (again.n_rows, again.offset, again.kernel) == (9, 0.5, Student())


def test_a_pickled_network_keeps_the_bits_of_its_weights(rng):
    # To normalise these once more rounds: some of them would change.
    network = DistanceNetwork(np.eye(50), log_weights=20.0 * rng.normal(size=50))
    again = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(again.log_weights, network.log_weights)
    np.testing.assert_array_equal(again.weights, network.weights)


def test_weights_that_are_not_normalised_are_so_after_loading(centers):
    network = DistanceNetwork(centers)
    state = network.__getstate__()
    network.__setstate__(state | {"log_weights": state["log_weights"] + 0.5})
    assert network.weights.sum() == pytest.approx(1.0, abs=1e-12)


# ---- bad input --------------------------------------------------------------------------------------------


@over_wrong_tables
@over_methods
def test_wrong_rows_are_a_clear_error(method, wrong, centers):
    table, words = WRONG_TABLES[wrong]
    with pytest.raises(ValueError, match=r"\bX\b") as error:
        call(DistanceNetwork(centers), method, table)
    assert_clear(error, *words)


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("columns", [1, 2, 4])
@over_methods
def test_a_wrong_number_of_columns_is_a_clear_error(method, columns, layout, centers):
    with pytest.raises(ValueError, match=r"\bX\b") as error:
        call(DistanceNetwork(centers), method, layout(np.ones((2, columns))))
    assert_clear(error, rf"\b{columns} column", r"\b3\b")


WRONG_OWN = {
    "too-few": [0, 1],
    "too-many": [0] * 6,
    "two-dimensional": [[0], [1], [2], [3], [4]],
    "a-number": 0,
    "past-the-last-center": [0, 1, 2, 3, 6],
    "far-past-the-last-center": [0, 1, 2, 3, 700],
    "below-minus-one": [0, 1, 2, 3, -2],
    "floats": [0.0, 1.0, 2.0, 3.0, 4.0],
    "nan": [0, 1, 2, 3, np.nan],
    "booleans": [True, False, True, False, True],
    "strings": ["0", "1", "2", "3", "4"],
}


@pytest.mark.parametrize("wrong", WRONG_OWN)
@over_methods
def test_wrong_centers_to_leave_out_are_a_clear_error(method, wrong, centers, X):
    with pytest.raises(ValueError, match=r"\bown\b") as error:
        call(DistanceNetwork(centers), method, X, own=WRONG_OWN[wrong])
    assert_clear(error)


@over_methods
def test_leaving_the_only_center_out_is_a_clear_error(method):
    with pytest.raises(ValueError, match="only center") as error:
        call(DistanceNetwork(np.ones((1, 3))), method, np.ones((2, 3)), own=[-1, 0])
    assert_clear(error)


def test_the_last_center_is_named_where_own_lies_beyond_it(centers, X):
    with pytest.raises(ValueError, match=r"between -1 \(none\) and 5, the last center\."):
        DistanceNetwork(centers).outlierness(X, own=[0, 1, 2, 3, 6])


def test_only_the_center_that_has_all_the_weight_cannot_be_left_out(X):
    network = DistanceNetwork(np.eye(3), [0.0, 1.0, 0.0])
    others = network.outlierness(X, own=[0, 2, -1, 0, 2])
    np.testing.assert_allclose(others, network.outlierness(X), rtol=1e-12)
    with pytest.raises(ValueError, match="only center with a weight"):
        network.outlierness(X, own=[0, 2, -1, 0, 1])


@pytest.mark.parametrize("own", [0, 1, 2])
def test_neighbours_that_are_too_few_without_any_center_are_a_clear_error(own, X):
    network = DistanceNetwork(np.eye(3), pooling=Nearest.mean(3))
    with pytest.raises(ValueError, match="only 2 are left, but the pooling needs 3 neighbours") as error:
        network.outlierness(X, own=[-1, -1, own, -1, -1])
    assert_clear(error, "exclude_self=False")


@pytest.mark.parametrize("outputs", [2, 4])
def test_a_map_that_ends_in_other_variables_is_a_clear_error(outputs, centers, X):
    with pytest.raises(ValueError, match="must end in the 3 variable") as error:
        DistanceNetwork(centers).decompose(X, through=LinearMap(np.ones((outputs, 5))))
    assert_clear(error)


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", None])
def test_a_wrong_number_of_nearest_centers_is_a_clear_error(k, centers, X):
    with pytest.raises((TypeError, ValueError), match=r"\bk\b") as error:
        DistanceNetwork(centers).nearest(X, k)
    assert_clear(error)


@pytest.mark.parametrize("keywords", [{"n_jobs": 0}, {"memory_mb": 0.0}, {"memory_mb": -1.0}], ids=str)
def test_impossible_work_is_a_clear_error(keywords, centers, X):
    (name,) = keywords
    with pytest.raises(ValueError, match=name) as error:
        DistanceNetwork(centers).decompose(X, **keywords)
    assert_clear(error)


def test_an_unknown_keyword_is_an_error(centers, X):
    with pytest.raises(TypeError, match="jobs"):
        DistanceNetwork(centers).decompose(X, jobs=2)


# ---- what comes back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [np.asarray, csr_array, list])
def test_shapes(layout, centers, X):
    network, rows = DistanceNetwork(centers), layout(X)
    n, m, d = 5, 6, 3
    shapes = {
        "outlierness": (n,),
        "inlierness": (n,),
        "inlier_relevance": (n, m),
        "center_relevance": (n, m),
        "assignment": (n, m),
        "input_relevance": (n, d),
        "expected": (n, d),
    }
    assert {name: getattr(network, name)(rows).shape for name in shapes} == shapes
    assert [part.shape for part in network.nearest(rows, 4)] == [(n, 4)] * 3


def test_progress_tells_the_rows_done_so_far_up_to_all_of_them(centers, rng):
    done = []
    DistanceNetwork(centers).decompose(rng.normal(size=(1000, 3)), progress=done.append, memory_mb=1.0)
    assert done == sorted(done)
    assert done[-1] == 1000


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@over_kernels
def test_expected_is_the_mean_of_the_centers_under_the_assignment(
    kernel, dtype, tolerance, layout, centers, X
):
    own = [-1, 0, 5, -1, 2]
    X = X.astype(dtype)
    got = DistanceNetwork(layout(centers), kernel=kernel).expected(layout(X), own=own)
    truth = oracle.explain(X, centers, kernel, own=own).expected
    np.testing.assert_allclose(got, truth, rtol=0, atol=tolerance * np.abs(centers).max())


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@over_kernels
def test_expected_of_shifted_data_is_as_good_as_its_dtype_can_hold(kernel, dtype, tolerance, centers, X):
    X, centers = (X + 1e6).astype(dtype), centers + 1e6
    truth = oracle.explain(X, centers, kernel).expected
    # The mean over p may be off by the tolerance of the centers' spread, and the result is rounded once.
    spread = np.ptp(centers, axis=0).max()
    bound = tolerance * spread + 0.5 * np.spacing(dtype(1e6))
    np.testing.assert_allclose(DistanceNetwork(centers, kernel=kernel).expected(X), truth, rtol=0, atol=bound)


@pytest.mark.parametrize("k", [1, 3, 5])
@over_kernels
def test_nearest_are_the_centers_of_the_largest_assignment(kernel, k, centers, X):
    own = np.array([-1, 0, 5, -1, 2])
    index, p, similarity = DistanceNetwork(centers, kernel=kernel).nearest(X, k, own=own)
    truth = oracle.explain(X, centers, kernel, own=own)
    assert index.dtype.kind == "i"
    np.testing.assert_array_equal(index, np.argsort(-truth.assignment, axis=1)[:, :k])
    np.testing.assert_allclose(p, np.take_along_axis(truth.assignment, index, axis=1), rtol=1e-9)
    wanted = np.take_along_axis(truth.inlier_relevance, index, axis=1)
    np.testing.assert_allclose(similarity, wanted, rtol=1e-9)
    assert not (index == own[:, None]).any()


def test_nearest_names_every_center_once(centers, X):
    index, p, _ = DistanceNetwork(centers).nearest(X, 6)
    np.testing.assert_array_equal(np.sort(index, axis=1), np.tile(np.arange(6), (5, 1)))
    assert (np.diff(p, axis=1) <= 0).all()


# So many that a partial sort leaves most of them out of order.
@pytest.mark.parametrize("k", [1, 2, 7, 50, 299])
def test_nearest_among_many_centers(k, rng):
    X, centers = rng.normal(size=(40, 3)), rng.normal(size=(300, 3))
    network = DistanceNetwork(centers)
    p = network.assignment(X)
    index, p_nearest, _ = network.nearest(X, k)
    np.testing.assert_array_equal(index, np.argsort(-p, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(p_nearest, np.take_along_axis(p, index, axis=1))


@pytest.mark.parametrize(("own", "given"), [(None, 6), ([-1] * 5, 6), ([-1, 0, -1, 5, 3], 5)])
def test_nearest_by_distance_gives_all_centers_but_the_one_left_out(own, given, centers, X):
    index, _, _ = DistanceNetwork(centers, pooling=Nearest.mean(2)).nearest(X, 9, own=own)
    distances = np.linalg.norm(X[:, None] - centers, axis=2)
    if own is not None:
        left_out = np.array(own) >= 0
        distances[left_out, np.array(own)[left_out]] = np.inf
    np.testing.assert_array_equal(index, np.argsort(distances, axis=1)[:, :given])


# ---- numbers at the end of the range ----------------------------------------------------------------------


def test_relevance_may_be_so_large_that_its_sum_over_rows_is_not_representable():
    X = np.array([[1.5e308], [-1.5e308]])
    got = DistanceNetwork([[0.0], [1.0]], pooling=Nearest.kth(1)).decompose(X)
    np.testing.assert_allclose(got.relevance[:, 0], 1.5e308, rtol=1e-12)


def test_the_row_whose_relevance_float32_cannot_hold_is_named():
    network = DistanceNetwork([[-3e38, 0.0]], kernel=Exponential(q=1.0))
    X = np.array([[0.0, 1.0], [0.0, 2.0], [3e38, 0.0]], dtype=np.float32)
    with pytest.raises(OverflowError, match=r"The relevance of row 2 of X exceeds the largest float32"):
        network.decompose(X)
    assert np.isfinite(network.decompose(X[:2]).relevance).all()


def test_that_row_is_named_also_where_few_centers_count():
    rng = np.random.default_rng(0)
    U, X = rng.normal(size=(3000, 4)).astype(np.float32), rng.normal(size=(100, 4)).astype(np.float32)
    X[:50], X[3] = U[:50], 3e18
    network = DistanceNetwork(U, kernel=Exponential(sigma=1e-2))
    for tolerance in (0.0, 1e-6):
        with pytest.raises(OverflowError, match=r"The relevance of row 3 of X exceeds the largest float32"):
            network.decompose(X, tolerance=tolerance)
