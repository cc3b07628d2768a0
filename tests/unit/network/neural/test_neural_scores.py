"""What neural detectors become: reconstruction errors and distances inside a network."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whyodd
from made_up.stacks import stack
from reference import dense
from whyodd.inputs.standardizing import Standardizing
from whyodd.maths.dense_stack import DenseLayer, DenseStack
from whyodd.network.neural.embedded_distance import EmbeddedDistance
from whyodd.network.neural.network_reconstruction import NetworkReconstruction

RNG = np.random.default_rng(4)
X = RNG.normal(size=(8, 3)) * 5 + 100
ENTRY = Standardizing([100.0, 99.0, 101.0], [5.0, 4.0, 6.0])
RECONSTRUCTION = NetworkReconstruction(stack([3, 2, 3], ["tanh", []]), ENTRY)
EMBEDDED = EmbeddedDistance(stack([3, 6, 4], ["relu", "relu"], biases=False), np.full(4, 0.3), ENTRY)
SCORES = [RECONSTRUCTION, EMBEDDED]


def test_reconstruction_error_is_that_of_plain_loops():
    parts, expected = RECONSTRUCTION.decompose(X), RECONSTRUCTION.expected(X)
    for at, x in enumerate(X):
        z = (x - ENTRY.shift) / ENTRY.scale
        given_back = np.array(dense.through(RECONSTRUCTION.network, z)[1])
        o = np.sqrt(((z - given_back) ** 2).sum())
        np.testing.assert_allclose(parts.outlierness[at], o, rtol=1e-12)
        np.testing.assert_allclose(parts.relevance[at], (z - given_back) ** 2 / o, rtol=1e-9)
        np.testing.assert_allclose(expected[at], given_back * ENTRY.scale + ENTRY.shift, rtol=1e-12)


def test_a_row_that_is_given_back_as_it_is_has_no_relevance():
    same = NetworkReconstruction(DenseStack([DenseLayer(np.eye(2), np.zeros(2))]), Standardizing.none(2))
    parts = same.decompose([[1.0, 2.0]])
    np.testing.assert_array_equal(parts.relevance, [[0.0, 0.0]])
    np.testing.assert_array_equal(parts.outlierness, [0.0])


def test_embedded_distance_is_that_of_plain_loops():
    parts = EMBEDDED.decompose(X)
    for at, x in enumerate(X):
        z = (x - ENTRY.shift) / ENTRY.scale
        gaps = np.array(dense.through(EMBEDDED.network, z)[1]) - 0.3
        relevance, left = dense.relevance(EMBEDDED.network, z, gaps**2, np.where(gaps > 0, 1.0, -1.0))
        np.testing.assert_allclose(parts.outlierness[at], (gaps**2).sum(), rtol=1e-12)
        np.testing.assert_allclose(parts.relevance[at], relevance, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(parts.unexplained[at], left, rtol=1e-9, atol=1e-13)


def test_embedded_distance_is_relative_to_the_mean():
    np.testing.assert_array_equal(EMBEDDED.expected(X), np.tile(ENTRY.shift, (8, 1)))


@given(st.integers(0, 10_000))
def test_scores_are_conserved(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(5, 3)) * 10.0 ** rng.integers(-3, 4)
    for score in SCORES:
        parts = score.decompose(rows)
        np.testing.assert_allclose(
            parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-12
        )
        np.testing.assert_allclose(score.outlierness(rows), parts.outlierness, rtol=1e-12)
        assert (parts.relevance >= 0).all()


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
class TestNeuralScore:
    def test_explains_frames_in_sentences(self, score):
        e = whyodd.explain(score, pd.DataFrame(X, columns=["a", "b", "c"]))
        assert list(e.feature_names) == ["a", "b", "c"]
        assert "expected about" in e.why()

    def test_other_columns_are_told(self, score):
        with pytest.raises(ValueError, match=r"X has 2 column\(s\), the model was fitted on 3"):
            score.decompose(X[:, :2])

    def test_is_saved_and_loaded(self, score, tmp_path):
        whyodd.save(score, tmp_path / "score.whyodd")
        loaded = whyodd.load(tmp_path / "score.whyodd")
        np.testing.assert_array_equal(loaded.decompose(X).relevance, score.decompose(X).relevance)


@pytest.mark.parametrize(
    ("shift", "scale", "told"),
    [
        ([0.0], [0.0], "not 0"),
        ([np.nan], [1.0], "finite"),
        ([0.0], [1.0, 2.0], "one shift and one scale per column"),
    ],
)
def test_what_standardises_nothing_is_told(shift, scale, told):
    with pytest.raises(ValueError, match=told):
        Standardizing(shift, scale)
