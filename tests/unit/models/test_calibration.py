"""Conformal p-values: uniform on exchangeable rows, conservative with ties, for any detector."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError

import whyodd
from whyodd.models.registry import MODELS, Calibration, calibrate


class Identity:
    """A detector whose outlierness is the first column."""

    def outlierness(self, X):
        return np.asarray(X, dtype=float)[:, 0]


class Negative:
    """The same in scikit-learn's sign."""

    def score_samples(self, X):
        return -np.asarray(X, dtype=float)[:, 0]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("detector", [Identity(), Negative()])
def test_p_value_is_the_share_of_normal_rows_at_least_as_odd(detector):
    calibration = calibrate(detector, [[3.0], [1.0], [2.0], [2.0]])
    p = calibration.p_values([[0.0], [1.0], [1.5], [2.0], [2.5], [3.0], [4.0]])
    # (1 + how many of 3, 2, 2, 1 are at least as large) / 5
    np.testing.assert_allclose(p, np.array([5, 5, 4, 4, 2, 2, 1]) / 5)
    np.testing.assert_array_equal(calibration.scores, [1.0, 2.0, 2.0, 3.0])


@given(
    normal=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    new=st.lists(st.integers(-1, 6), min_size=1, max_size=10),
)
def test_is_the_plain_count(normal, new):
    p = calibrate(Identity(), np.array(normal, dtype=float)[:, None]).p_values(np.array(new, float)[:, None])
    plain = [(1 + sum(score >= value for score in normal)) / (len(normal) + 1) for value in new]
    np.testing.assert_allclose(p, plain, rtol=1e-15)


@given(values=st.lists(st.integers(0, 8), min_size=2, max_size=25))
def test_super_uniform_exactly_whatever_the_ties(values):
    """Each of n + 1 exchangeable rows may be the new one: P(p ≤ k/(n+1)) ≤ k/(n+1) over all of them."""
    n = len(values) - 1
    scores = np.array(values, dtype=float)[:, None]
    p = np.array(
        [calibrate(Identity(), np.delete(scores, i, 0)).p_values(scores[[i]])[0] for i in range(n + 1)]
    )
    for k in range(1, n + 2):
        share = np.mean(p <= k / (n + 1) + 1e-12)
        assert share <= k / (n + 1) + 1e-12
        if len(set(values)) == n + 1:  # and without ties it is exactly uniform
            assert share == pytest.approx(k / (n + 1))


DETECTORS = [
    *(pytest.param(cls(), id=name) for name, cls in MODELS.items()),
    *(
        pytest.param(whyodd.OneClassSVM(kernel=kernel, sigma="median"), id=f"one_class_svm-{kernel}")
        for kernel in ("gaussian", "student", "laplacian")
    ),
    pytest.param(IsolationForest(n_estimators=20, random_state=0), id="isolation-forest"),
]

over_detectors = pytest.mark.parametrize("detector", DETECTORS)


@pytest.mark.full
@over_detectors
def test_uniform_on_exchangeable_rows(detector, rng):
    """New normal rows, each against calibration rows of its own: 200 independent p-values."""
    detector = clone(detector).fit(rng.standard_normal((200, 2)))
    rows = rng.standard_normal((200, 20, 2))
    p = np.array([calibrate(detector, part[1:]).p_values(part[:1])[0] for part in rows])
    # p takes the values 1/20, ..., 20/20; spread within their steps they are uniform on (0, 1).
    spread = p - rng.random(200) / 20
    assert stats.kstest(spread, "uniform").pvalue > 0.01  # fixed seed: no chance of failing by chance
    assert np.mean(p <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


@over_detectors
def test_outliers_have_small_p_values(detector, rng):
    X = rng.standard_normal((400, 2))
    calibration = calibrate(clone(detector).fit(X[:200]), X[200:])
    far = np.array([[9.0, 9.0], [-9.0, -9.0]])
    p = calibration.p_values(far)
    assert np.all(p <= 0.05)  # a forest does not tell far from very far
    if not isinstance(detector, IsolationForest):
        np.testing.assert_allclose(p, 1 / 201)
    np.testing.assert_array_equal(calibration.predict(far), [-1, -1])
    assert calibration.predict([[0.0, 0.0]])[0] == 1


def test_predict_is_the_p_value_at_the_level(rng):
    normal = rng.standard_normal((99, 1))
    calibration = calibrate(Identity(), normal)
    new = rng.standard_normal((50, 1))
    for level in (0.01, 0.05, 0.5):
        np.testing.assert_array_equal(
            calibration.predict(new, level) == -1, calibration.p_values(new) <= level
        )
    np.testing.assert_array_equal(calibration.predict(new), calibration.predict(new, level=0.05))
    # As promised: of the calibration rows themselves no more than the level.
    assert np.mean(calibration.predict(normal, 0.1) == -1) <= 0.1


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 5.0, np.nan])
def test_level_outside_of_zero_and_one_is_a_clear_error(level):
    with pytest.raises(ValueError, match=r"level=.*between 0 and 1"):
        calibrate(Identity(), [[1.0]]).predict([[1.0]], level)


@pytest.mark.parametrize("level", ["0.05", None])
def test_level_that_is_no_number_is_a_clear_error(level):
    with pytest.raises((TypeError, ValueError), match="level="):
        calibrate(Identity(), [[1.0]]).predict([[1.0]], level)


@pytest.mark.parametrize("wrong", [object(), 3, np.zeros((2, 2)), None])
def test_something_without_scores_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="neither outlierness nor score_samples"):
        calibrate(wrong, [[1.0]])


def test_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        calibrate(whyodd.OneClassSVM(), [[1.0], [2.0]])


def test_scores_that_are_not_numbers_are_refused():
    """A NaN among the calibration scores would sort to the end, and count as odder than everything."""
    with pytest.raises(ValueError, match=r"^Identity returns NaN as a score"):
        calibrate(Identity(), [[1.0], [np.nan], [2.0]])


def test_a_new_score_that_is_not_a_number_is_not_called_the_oddest():
    with pytest.raises(ValueError, match=r"^Identity returns NaN as a score"):
        calibrate(Identity(), [[1.0], [2.0]]).p_values([[np.nan]])


def test_no_rows_to_calibrate_on_is_an_error():
    with pytest.raises(ValueError, match=r"^X_normal has no rows, expected some"):
        calibrate(Identity(), np.empty((0, 1)))


def test_frames_are_passed_on_to_the_model(rng):
    frame = pd.DataFrame(rng.standard_normal((100, 2)), columns=["a", "b"])
    model = whyodd.OneClassSVM(sigma="median").fit(frame[:50])
    p = whyodd.calibrate(model, frame[50:]).p_values(frame[:5])
    assert p.shape == (5,)
    assert np.all((p > 0.0) & (p <= 1.0))


def test_is_frozen_and_knows_its_model():
    model = Identity()
    calibration = calibrate(model, [[2.0], [1.0]])
    assert isinstance(calibration, Calibration)
    assert calibration.model is model
    with pytest.raises(AttributeError):
        calibration.model = None
