"""What a model says of its own scores, in units of the outlierness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyod.models.knn import KNN
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.network.verdict import AffineScale, ExponentialScale, Verdict

X = np.random.default_rng(0).normal(size=(60, 3))
some = st.floats(-5.0, 5.0)
rates = st.floats(0.1, 3.0).flatmap(lambda rate: st.sampled_from([rate, -rate]))
scales = st.one_of(
    st.builds(AffineScale, slope=st.floats(0.1, 10.0), shift=some),
    st.builds(ExponentialScale, rate=rates, log_slope=some),
)


@given(scale=scales, o=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=5))
def test_score_and_outlierness_are_inverse_and_grow_together(scale, o):
    o = np.sort(o)
    score = scale.score(o)
    np.testing.assert_allclose(scale.outlierness(score), o, rtol=1e-9, atol=1e-9)
    assert (np.diff(score) >= 0.0).all()


def test_a_shift_moves_the_score():
    scale = ExponentialScale(rate=-1.0, log_slope=np.log(3.0), shift=0.5)
    np.testing.assert_allclose(scale.score([0.0, np.log(3.0)]), [-2.5, -0.5])


def test_a_similarity_that_no_row_falls_below_is_infinitely_far():
    assert ExponentialScale(rate=-1.0).outlierness(0.0) == np.inf


def test_p_values_count_the_training_rows():
    verdict = Verdict(AffineScale(), training=np.array([1.0, 2.0, 2.0, 3.0]))
    np.testing.assert_allclose(verdict.p_values([0.5, 2.0, 3.5]), [1.0, 0.8, 0.2])


def test_equal_training_scores_have_a_probability_too():
    verdict = Verdict(AffineScale(), training=np.full(3, 2.0))
    np.testing.assert_array_equal(verdict.probability([2.0, 2.5, 9.0]), [0.0, 0.5, 1.0])


def test_nothing_is_known_without_training_scores():
    e = whyodd.explain(OneClassSVM().fit(X), X)
    assert (e.p_value, e.probability) == (None, None)
    assert whyodd.explain(whyodd.DistanceNetwork(X), X).p_value is None


def test_a_threshold_that_is_chosen_anew_for_each_call_is_not_kept():
    model = KNN().fit(X)
    model.contamination = object()  # as PyThresh's, which predict asks
    assert whyodd.neuralize(model).verdict.threshold is None


@pytest.mark.parametrize("model", [KNN(), OneClassSVM()], ids=lambda model: type(model).__name__)
def test_is_saved_with_the_network(model, tmp_path):
    network = whyodd.neuralize(model.fit(X))
    whyodd.save(network, tmp_path / "network.whyodd")
    e, again = (whyodd.explain(each, X + 1.0) for each in (network, whyodd.load(tmp_path / "network.whyodd")))
    assert again.threshold == e.threshold == whyodd.explain(model, X + 1.0).threshold
    np.testing.assert_array_equal(again.p_value, e.p_value)
