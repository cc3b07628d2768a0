"""The way in: what explain() accepts, matches, leaves out, warns of and refuses."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.explainers.columns import warn_of_dominating_column
from whyodd.kernels import Student
from whyodd.maths.hard_poolings import Nearest

COLUMNS = ["time", "amount", "age", "rate", "size"]
TO_FRAME = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


@pytest.fixture(scope="module")
def normal():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 5)), columns=COLUMNS)


@pytest.fixture(scope="module")
def model(normal):
    return OneClassSVM(gamma=0.2, nu=0.3).fit(normal)


@pytest.fixture
def odd(normal):
    return (normal.head(4) + 2.5).reset_index(drop=True)


def plain_relevance(network, x):
    """R_i of one point by the paper's formulas, one center at a time."""
    d2 = np.sum((x - network.centers) ** 2, axis=1)
    v = network.log_weights + network.kernel.log_similarity(d2)
    log_g = np.logaddexp.reduce(v)
    o = network.kernel.outlierness(log_g, network.n_centers)
    delta = np.exp(v - log_g) * network.kernel.explained(d2, o)
    return sum(delta[j] * (x - network.centers[j]) ** 2 / d2[j] for j in range(network.n_centers)), o


@pytest.mark.parametrize("kernel", [None, Student(q=2.0, sigma=1.5)])
def test_relevance_is_the_papers(model, odd, kernel):
    fitted = whyodd.neuralize(model)
    network = whyodd.DistanceNetwork(fitted.centers, fitted.weights, kernel or fitted.kernel)
    e = whyodd.explain(network, odd.to_numpy())
    for i, x in enumerate(odd.to_numpy()):
        relevance, o = plain_relevance(network, x)
        np.testing.assert_allclose(e.relevance[i], relevance, rtol=1e-9)
        np.testing.assert_allclose(e.outlierness[i], o, rtol=1e-9)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-12)


@pytest.mark.parametrize("kind", TO_FRAME)
def test_frames_give_names_and_are_matched_by_name(model, odd, kind):
    shuffled = TO_FRAME[kind](odd[COLUMNS[::-1]])
    e = whyodd.explain(model, shuffled)
    assert e.feature_names == tuple(COLUMNS)
    np.testing.assert_array_equal(e.data, odd.to_numpy())
    np.testing.assert_array_equal(e.relevance, whyodd.explain(model, odd).relevance)


def test_array_takes_the_names_of_the_fit(model, odd):
    assert whyodd.explain(model, odd.to_numpy()).feature_names == tuple(COLUMNS)


def test_frame_names_are_used_where_the_fit_had_none(normal, odd):
    model = OneClassSVM(gamma=0.2).fit(normal.to_numpy())
    assert whyodd.explain(model, odd).feature_names == tuple(COLUMNS)
    assert whyodd.explain(model, odd.to_numpy()).feature_names == ("x0", "x1", "x2", "x3", "x4")


def test_sparse_data_stay_sparse_and_agree_with_dense(normal, odd):
    model = OneClassSVM(gamma=0.2).fit(sparse.csr_matrix(normal.to_numpy()))
    e, dense = whyodd.explain(model, sparse.csr_matrix(odd)), whyodd.explain(model, odd.to_numpy())
    assert sparse.issparse(e.data)
    np.testing.assert_allclose(e.relevance, dense.relevance, rtol=1e-9)
    np.testing.assert_allclose(e.expected, dense.expected, rtol=1e-9)
    np.testing.assert_array_equal(e.direction, dense.direction)


def test_dtype_sets_the_precision(model, odd):
    e = whyodd.explain(model, odd, dtype="float32")
    assert e.relevance.dtype == e.data.dtype == np.float32
    np.testing.assert_allclose(
        e.relevance, whyodd.explain(model, odd).relevance, rtol=0, atol=1e-4 * e.relevance.max()
    )
    with pytest.raises(ValueError, match="float32"):
        whyodd.explain(model, odd, dtype="int64")


def test_n_jobs_does_not_matter(model, odd):
    one, two = (whyodd.explain(model, odd, n_jobs=n) for n in (1, 2))
    np.testing.assert_allclose(one.relevance, two.relevance, rtol=1e-12)


def test_progress_goes_to_standard_error(model, odd, capsys):
    whyodd.explain(model, odd, progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert "Explaining rows" in err
    assert "all 4 done" in err


class TestExcludeSelf:
    def test_auto_leaves_out_the_own_center_of_training_rows(self, model, normal):
        e = whyodd.explain(model, normal)
        network = whyodd.neuralize(model)
        expected = np.full(len(normal), -1)
        expected[model.support_] = np.arange(len(model.support_))
        np.testing.assert_array_equal(e.excluded, expected)
        row = model.support_[0]
        rest = whyodd.DistanceNetwork(
            network.centers[1:], network.weights[1:] / network.weights[1:].sum(), network.kernel
        )
        np.testing.assert_allclose(
            e.relevance[row], rest.input_relevance(normal.to_numpy()[[row]])[0], rtol=1e-9
        )
        np.testing.assert_allclose(
            e.outlierness[row], rest.outlierness(normal.to_numpy()[[row]])[0], rtol=1e-9
        )
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-12)

    @pytest.mark.parametrize("kind", ["shuffled", "fewer", "nearly"])
    def test_auto_needs_the_training_rows_themselves(self, model, normal, kind):
        X = {
            "shuffled": normal.iloc[::-1],
            "fewer": normal.iloc[:-1],
            "nearly": normal + 1e-12,
        }[kind]
        assert (whyodd.explain(model, X).excluded == -1).all()

    def test_auto_compares_before_the_precision_is_lowered(self, model, normal):
        e = whyodd.explain(model, normal, dtype="float32")
        assert (e.excluded >= 0).sum() == len(model.support_)

    def test_auto_knows_float32_training_rows(self, normal):
        X = normal.to_numpy(dtype=np.float32)
        model = OneClassSVM(gamma=0.2).fit(X)
        assert (whyodd.explain(model, X).excluded >= 0).sum() == len(model.support_)

    def test_auto_works_on_sparse_rows(self, normal):
        X = sparse.csr_matrix(normal.where(normal > 0, 0.0))
        model = OneClassSVM(gamma=0.2).fit(X)
        for same in (X, X.toarray()):
            assert (whyodd.explain(model, same).excluded >= 0).sum() == len(model.support_)

    def test_true_finds_rows_by_their_values(self, model, normal):
        e = whyodd.explain(model, normal.iloc[::-1], exclude_self=True)
        np.testing.assert_array_equal(e.excluded[::-1], whyodd.explain(model, normal).excluded)

    def test_true_finds_sparse_rows_and_negative_zero(self):
        network = whyodd.DistanceNetwork(np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 3.0]]))
        X = sparse.csr_matrix(np.array([[2.0, 0.0], [5.0, 5.0], [0.0, 1.0]]))
        np.testing.assert_array_equal(whyodd.explain(network, X, exclude_self=True).excluded, [1, -1, 0])
        np.testing.assert_array_equal(whyodd.explain(network, [[-0.0, 1.0]], exclude_self=True).excluded, [0])

    def test_equal_rows_leave_out_one_center_each(self):
        network = whyodd.DistanceNetwork(np.array([[1.0], [1.0], [4.0]]))
        e = whyodd.explain(network, np.array([[1.0], [1.0], [2.0]]), exclude_self=True)
        np.testing.assert_array_equal(e.excluded, [0, 1, -1])

    def test_true_without_a_training_row_is_an_error(self, model, odd):
        with pytest.raises(ValueError, match="no row of X equals a center"):
            whyodd.explain(model, odd, exclude_self=True)

    def test_false_never_leaves_out(self, model, normal):
        assert (whyodd.explain(model, normal, exclude_self=False).excluded == -1).all()

    def test_only_center_cannot_be_left_out(self):
        network = whyodd.DistanceNetwork([[1.0, 2.0]], rows=[0], n_rows=1)
        with pytest.raises(ValueError, match="only center"):
            whyodd.explain(network, [[1.0, 2.0]])
        assert whyodd.explain(network, [[1.0, 2.0]], exclude_self=False).outlierness[0] == 0

    def test_anything_else_is_an_error(self, model, odd):
        with pytest.raises(ValueError, match="expected 'auto', True or False"):
            whyodd.explain(model, odd, exclude_self="always")


class TestVarianceWarning:
    def test_names_the_largest_and_the_smallest_column_and_the_remedy(self):
        cancer = load_breast_cancer(as_frame=True).data
        model = OneClassSVM().fit(cancer)
        with pytest.warns(
            UserWarning, match=r"'worst area'.*'fractal dimension error'.*dominate.*StandardScaler"
        ) as caught:
            whyodd.explain(model, cancer.head(3))
        assert len(caught) == 1
        assert caught[0].filename == __file__

    def test_silent_for_scaled_and_constant_columns(self):
        X = scale(load_breast_cancer().data)
        X = np.column_stack([X, np.full(len(X), 1e8)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            whyodd.explain(OneClassSVM().fit(X), X[:3])

    @pytest.mark.parametrize("size", [1e300, 1e-300])
    def test_numbers_whose_squares_leave_the_range(self, size):
        X = np.random.default_rng(1).normal(size=(40, 2)) * size
        whyodd.explain(whyodd.DistanceNetwork(X, pooling=Nearest.mean(5)), X[:2])
        X[:, 1] *= 1e-4
        for centers in (X, sparse.csr_array(X)):
            with pytest.warns(UserWarning, match=r"'x0' is [1-9].*e\+0[78] times that of 'x1'"):
                warn_of_dominating_column(whyodd.DistanceNetwork(centers), ["x0", "x1"])

    def test_sparse_centers_are_looked_at_too(self):
        X = sparse.csr_matrix(np.random.default_rng(1).normal(size=(40, 2)) * [1.0, 1000.0])
        with pytest.warns(UserWarning, match=r"'x1'.*'x0'"):
            whyodd.explain(OneClassSVM(gamma=1e-6).fit(X), X[:2])


class TestBadInput:
    def test_missing_column_is_named(self, model, odd):
        message = (
            r"X has 4 columns, the model was fitted on 5: missing 'amount'\. Pass the columns used in fit\."
        )
        with pytest.raises(ValueError, match=message):
            whyodd.explain(model, odd.drop(columns="amount"))

    def test_unknown_column_is_named(self, model, odd):
        with pytest.raises(ValueError, match="unknown 'id'"):
            whyodd.explain(model, odd.assign(id="a"))

    def test_wrong_number_in_an_array(self, model, odd, normal):
        with pytest.raises(ValueError, match=r"X has 4 columns, the model was fitted on 5.*'time', 'amount'"):
            whyodd.explain(model, odd.to_numpy()[:, :4])
        unnamed = OneClassSVM(gamma=0.2).fit(normal.to_numpy())
        with pytest.raises(ValueError, match=r"X has 4 columns, the model was fitted on 5\. Pass"):
            whyodd.explain(unnamed, odd.to_numpy()[:, :4])

    @pytest.mark.parametrize(
        ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
    )
    def test_not_finite(self, model, odd, value, word):
        odd.loc[1, "age"] = value
        with pytest.raises(ValueError, match=word):
            whyodd.explain(model, odd)

    def test_strings(self, model, odd):
        with pytest.raises(ValueError, match="numbers"):
            whyodd.explain(model, odd.assign(age="old"))

    def test_empty(self, model, odd):
        with pytest.raises(ValueError, match="row"):
            whyodd.explain(model, odd.head(0))

    def test_one_dimension(self, model, odd):
        with pytest.raises(ValueError, match="Pass a single row as a table of one row"):
            whyodd.explain(model, odd.to_numpy()[0])

    def test_unfitted_model(self, odd):
        with pytest.raises(ValueError, match="not fitted"):
            whyodd.explain(OneClassSVM(), odd)

    def test_unknown_method(self, model, odd):
        with pytest.raises(ValueError, match=r"method='lime' is unknown. Choose one of: 'coin', 'dtd'"):
            whyodd.explain(model, odd, method="lime")
