"""Students: weighted sums of scores that decompose, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import distilled as reference

import whyodd
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import LinearMetric
from whyodd.network.black_box.distilled import DistilledScore, FunctionScore, SampledScore
from whyodd.network.black_box.student import Bent, Student, Terms
from whyodd.network.waist import offers

RANDOM = np.random.default_rng(0)
NORMAL = RANDOM.normal(size=(30, 3))
ROWS = 2.0 * RANDOM.normal(size=(6, 3))
PER_COLUMN = np.array([1.0, 0.5, 2.0])
CENTER, SCALE = np.array([0.1, 0.0, -0.2]), np.array([1.0, 2.0, 0.5])


def network(k=4):
    return whyodd.DistanceNetwork(NORMAL, pooling=Nearest.mean(k), metric=LinearMetric(np.diag(PER_COLUMN)))


def terms(weights):
    return Terms(CENTER, SCALE, np.sort(NORMAL, axis=0), weights)


class TestTerms:
    def test_are_those_of_plain_loops(self):
        weights = RANDOM.random((3, 8))
        rows = np.vstack([ROWS, NORMAL[:3]])  # values that are among the normal ones count for both tails
        expected = reference.terms_relevance(rows, CENTER, SCALE, NORMAL, weights)
        np.testing.assert_allclose(terms(weights).decompose(rows).relevance, expected, rtol=1e-12, atol=1e-15)


class TestBent:
    @pytest.mark.parametrize("weights", [*np.eye(4), [1.0, 2.0, 3.0, 4.0]])
    def test_is_a_function_of_the_score_with_its_shares(self, weights):
        part = Bent(network(), 0.7, weights)
        found = part.decompose(ROWS)
        for x, relevance, o in zip(ROWS, found.relevance, found.outlierness, strict=True):
            s, of_s = reference.nearest_mean(x, NORMAL, PER_COLUMN, 4)
            np.testing.assert_allclose(o, reference.bent(s, 0.7, weights), rtol=1e-12)
            np.testing.assert_allclose(relevance, np.multiply(of_s, o / s), rtol=1e-9)
        np.testing.assert_allclose(part.outlierness(ROWS), found.outlierness, rtol=1e-12)

    def test_on_top_of_a_center_has_no_relevance(self):
        found = Bent(network(1), 1.0, [1.0, 1.0, 1.0, 1.0]).decompose(NORMAL[:2])
        assert not found.relevance.any()
        assert not found.outlierness.any()


class TestStudent:
    @given(
        st.floats(-5.0, 5.0),
        st.lists(st.floats(0.0, 10.0), min_size=4, max_size=4),
        st.lists(st.floats(0.0, 10.0), min_size=24, max_size=24),
    )
    def test_sums_up_its_parts_and_leaves_the_intercept_unexplained(self, intercept, bends, shapes):
        of_terms, part = terms(np.reshape(shapes, (3, 8))), Bent(network(), 1.0, bends)
        found = Student(intercept, (part,), of_terms).decompose(ROWS)
        parts = of_terms.decompose(ROWS).relevance + part.decompose(ROWS).relevance
        np.testing.assert_allclose(found.relevance, parts, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.unexplained, intercept, rtol=1e-12)
        whole = of_terms.outlierness(ROWS) + part.outlierness(ROWS) + intercept
        np.testing.assert_allclose(found.outlierness, whole, rtol=1e-12, atol=1e-12)

    def test_goes_through_a_map_unless_it_has_terms_of_variables(self):
        part = Bent(network(), 1.0, [1.0, 0.0, 0.0, 0.0])
        assert offers(Student(0.0, (part,)), "through")
        assert not offers(Student(0.0, (part,), terms(np.zeros((3, 8)))), "through")


class TestFunctionScore:
    def function(self, X):
        return np.abs(X).sum(axis=1)

    def test_explains_nothing_by_itself(self):
        found = FunctionScore(self.function, 0.5, network()).decompose(ROWS)
        assert not found.relevance.any()
        np.testing.assert_allclose(found.unexplained, np.abs(ROWS).sum(axis=1) - 0.5, rtol=1e-15)

    @pytest.mark.parametrize("weight", [0.1, 100.0])
    def test_student_never_finds_more_than_there_is(self, weight):
        student = Student(0.0, (Bent(network(), 1.0, [weight, 0.0, 0.0, 0.0]),))
        found = DistilledScore(self.function, 0.0, network(), student=student).decompose(ROWS)
        np.testing.assert_allclose(found.outlierness, np.abs(ROWS).sum(axis=1), rtol=1e-15)
        assert (found.unexplained >= -1e-12 * found.outlierness).all()
        np.testing.assert_allclose(
            found.relevance.sum(axis=1) + found.unexplained, found.outlierness, rtol=1e-12
        )
        shares = student.decompose(ROWS).relevance
        shares /= shares.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(
            found.relevance / found.relevance.sum(axis=1, keepdims=True), shares, rtol=1e-9
        )

    def test_samples_are_of_their_rows_only(self):
        score = SampledScore(self.function, 0.0, network(), points=ROWS, values=2.0 * ROWS)
        np.testing.assert_array_equal(score.decompose(ROWS[[2, 0]]).relevance, 2.0 * ROWS[[2, 0]])
        with pytest.raises(
            ValueError, match=r"Row 1 of X is not among the 6 rows whose Shapley values were sampled"
        ):
            score.decompose([ROWS[0], ROWS[0] + 1.0])

    def test_other_columns_are_told(self):
        with pytest.raises(ValueError, match=r"X has 2 column\(s\), the normal rows have 3"):
            FunctionScore(self.function, 0.0, network()).outlierness(ROWS[:, :2])
