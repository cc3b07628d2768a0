"""Options, seeds and rows that no method can use: one sentence each, and no number that means nothing."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import whyodd
from whyodd.kernels import Exponential

RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(40, 3))
X = 2.0 * RNG.normal(size=(4, 3))
NETWORK = whyodd.DistanceNetwork(CENTERS)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"options": "normal"}, "Expected options as a dictionary.*got str"),
        ({"method": ["dtd"]}, r"method=\['dtd'\] is unknown"),
        ({"random_state": -1}, "random_state=-1: expected a whole number"),
        ({"random_state": "a"}, "random_state='a': expected a whole number"),
        (
            {"method": "nearest", "options": {"normal": CENTERS[:, :2]}},
            "normal, the X of normal rows: .* 2 columns",
        ),
        ({"normal": CENTERS[:, :2]}, "normal, the X of normal rows: .* 2 columns"),
        ({"method": "mvn", "normal": CENTERS[:, :2]}, "normal, the X of normal rows: .* 2 columns"),
        ({"normal": "train"}, "normal='train': expected normal rows, like X, or 'training'"),
        ({"normal": "training"}, "the model does not keep the rows .* Pass normal rows"),
        ({"method": "mvn", "normal": "training"}, "method='mvn' expected rows, like X"),
        ({"method": "mvn", "normal": X, "options": {"normal": X}}, "normal is given twice"),
        ({"normal": np.empty((0, 3))}, "at least one row"),
        ({"method": "occlusion", "options": {"reference": X}}, "expected 'expected' or 'mean'"),
        ({"method": "sobel", "options": {"shape": (-1, -3)}}, r"shape=\(-1, -3\): expected"),
        ({"method": "sobel", "options": {"shape": (1.0, 3.0)}}, r"shape=\(1.0, 3.0\): expected"),
    ],
)
def test_what_is_wrong_is_told(keywords, message):
    with pytest.raises((TypeError, ValueError), match=message):
        whyodd.explain(NETWORK, X, **keywords)


def test_image_models_take_no_shape():
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(2, 2)).fit(RNG.normal(size=(6, 6)))
    with pytest.raises(ValueError, match="'sobel' takes no options for images"):
        whyodd.explain(model, RNG.normal(size=(6, 6)), method="sobel", options={"shape": (6, 6)})


def test_sparse_reference():
    keywords = [{"reference": X / 2}, {"reference": sparse.csr_array(X / 2)}]
    dense, same = (
        whyodd.explain(NETWORK, X, method="integrated_gradients", options=options) for options in keywords
    )
    np.testing.assert_array_equal(same.relevance, dense.relevance)


@pytest.mark.parametrize("method", ["coin", "mean", "micenkova", "mvn", "nearest", "sensitivity", "taylor"])
@pytest.mark.parametrize("q", [0.5, 2.0])
def test_rows_beyond_the_range_of_squares(method, q):
    """With q = ½ the outlierness is still a number, but squared differences are not."""
    network = whyodd.DistanceNetwork(CENTERS, kernel=Exponential(q, 1.0))
    with pytest.raises(OverflowError, match=r"[Rr]ow 1 of X"):
        whyodd.explain(network, X * [[1], [1e200], [1], [1]], method=method)


def test_relevance_beyond_float32():
    with pytest.raises(OverflowError, match="largest float32"):
        whyodd.explain(NETWORK, X.astype(np.float32) * np.float32(1e25), method="mean")


def test_mvn_takes_no_rounding_for_a_variance():
    """Seven times 0.1 has a mean that is not 0.1: no scale to measure a difference by."""
    network = whyodd.DistanceNetwork(np.full((7, 2), 0.1))
    assert network.weights @ network.centers[:, 0] != 0.1
    assert not whyodd.explain(network, [[0.1, 0.1]], method="mvn").relevance.any()
    with pytest.raises(ValueError, match="never varied"):
        whyodd.explain(network, [[0.1, 0.2]], method="mvn")


def test_no_warning_of_columns_that_a_learned_covariance_scales():
    rows = np.vstack([CENTERS, CENTERS + np.array([0.1, 0, 1e4])]) * [1, 1, 100]
    model = whyodd.GaussianMixture(2, random_state=0).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whyodd.explain(model, rows[:3])
