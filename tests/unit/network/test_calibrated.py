"""Factors that make relevance a multiple of what is usual, and the score that has them."""

import numpy as np
import pytest

import whyodd
from made_up.members import SumOfSquares
from reference.calibrated import calibrate
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.calibrated import CalibratedScore, mixes_variables, usual_factors
from whyodd.network.waist import CAPABILITIES, offers

RNG = np.random.default_rng(0)
CENTERS, NORMAL, ODD = RNG.normal(size=(40, 3)), RNG.normal(size=(30, 3)), 4.0 * RNG.normal(size=(5, 3))
ROTATION = LinearMap([[0.6, 0.8], [-0.8, 0.6]])
NETWORK = whyodd.DistanceNetwork(CENTERS)


def calibrated(score, rows):
    parts = score.decompose(rows)
    return CalibratedScore(score, *usual_factors(parts.relevance, parts.outlierness))


class TestUsualFactors:
    def test_are_those_of_the_formula(self):
        parts, normal = NETWORK.decompose(ODD), NETWORK.decompose(NORMAL)
        relevance, rest = calibrate(parts, normal)
        factors, of_rest = usual_factors(normal.relevance, normal.outlierness)
        np.testing.assert_allclose(parts.relevance * factors, relevance, rtol=1e-12)
        np.testing.assert_allclose(parts.unexplained * of_rest, rest, rtol=1e-12)

    def test_one_variable_has_another_unit_and_nothing_else(self):
        R, rest = RNG.random((9, 1)), RNG.random(9)
        factors, of_rest = usual_factors(R, R[:, 0] + rest)
        np.testing.assert_allclose([*factors, of_rest], 1.0 / (R[:, 0] + rest).mean(), rtol=1e-12)

    def test_variables_equally_relevant_have_another_unit_and_nothing_else(self):
        R = RNG.random((9, 1)) * np.ones(4)
        factors, of_rest = usual_factors(R, 1.0 + R.sum(axis=1))
        np.testing.assert_allclose(factors, of_rest, rtol=1e-12)

    def test_a_variable_that_is_never_relevant_counts_a_thousand_times(self):
        factors, _ = usual_factors(np.array([[2.0, 0.0], [2.0, 0.0]]), np.full(2, 2.0))
        # Its usual relevance is a thousandth of the mean, 1, and that of the other 2 and as much.
        np.testing.assert_allclose(factors[1] / factors[0], 2.001 / 0.001, rtol=1e-12)

    def test_what_cancels_goes_on_to_cancel(self):
        R = np.array([[4.0, -3.0], [1.0, 5.0]])
        factors, of_rest = usual_factors(R, np.array([2.0, 7.0]))
        np.testing.assert_allclose([*factors, of_rest], 1.0 / 4.5, rtol=1e-12)
        factors, of_rest = usual_factors(np.abs(R), np.array([8.0, 7.0]), mixed=True)
        np.testing.assert_allclose([*factors, of_rest], 1.0 / 7.5, rtol=1e-12)

    @pytest.mark.parametrize(
        ("metric", "through", "mixed"),
        [
            (None, None, False),
            (None, ROTATION, False),
            (None, LinearMap([[1.0, 0.5], [0.0, 1.0]]), True),
            (LinearMetric(np.diag([1.0, 2.0])), None, False),
            (LinearMetric(np.diag([1.0, 2.0])), ROTATION, True),
            (LinearMetric([[1.0, 0.5], [0.0, 1.0]]), None, True),
            (ComponentMetric([[1.0, 2.0]]), None, False),
            (ComponentMetric([[1.0, 2.0]]), ROTATION, True),
            (ComponentMetric([[[1.0, 0.5], [0.0, 1.0]]]), None, True),
        ],
    )
    def test_variables_are_mixed_if_shares_are_no_squares(self, metric, through, mixed):
        assert mixes_variables(whyodd.DistanceNetwork([[0.0, 0.0]], metric=metric), through) is mixed

    @pytest.mark.parametrize(
        ("relevance", "outlierness", "message"),
        [
            ([[0.0, 0.0]], [0.0], r"No variable has relevance on the 1 normal row\(s\).*Pass more"),
            ([[0.0, 0.0]], [2.0], "No variable has relevance"),
            ([[1.0, -3.0]], [-1.5], "goes down to -1.5.* Leave normal out"),
        ],
    )
    def test_what_has_no_usual_size_is_told(self, relevance, outlierness, message):
        with pytest.raises(ValueError, match=message):
            usual_factors(np.array(relevance), np.array(outlierness))


class TestScore:
    score = calibrated(NETWORK, NORMAL)

    def test_conserves_and_is_1_on_average(self):
        parts = self.score.decompose(ODD)
        np.testing.assert_allclose(parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness)
        np.testing.assert_array_equal(self.score.outlierness(ODD), parts.outlierness)
        np.testing.assert_allclose(self.score.outlierness(NORMAL).mean(), 1.0, rtol=1e-12)

    def test_assignments_neighbours_and_expected_values_stay(self):
        found = []
        scores = self.score.assign(ODD, lambda _, p: found.append(p[0]))
        np.testing.assert_array_equal(scores.outlierness, self.score.outlierness(ODD))
        np.testing.assert_array_equal(scores.log_inlierness, np.log(NETWORK.inlierness(ODD)))
        np.testing.assert_array_equal(found[0], NETWORK.assignment(ODD)[0])
        np.testing.assert_array_equal(self.score.expected(ODD), NETWORK.expected(ODD))
        np.testing.assert_array_equal(self.score.nearest(ODD, 3)[0], NETWORK.nearest(ODD, 3)[0])

    def test_offers_what_does_not_depend_on_the_former_outlierness(self):
        lost = {name for name in CAPABILITIES if offers(NETWORK, name) and not offers(self.score, name)}
        assert lost == {"consume", "distances", "flip"}
        with pytest.raises(AttributeError, match="has no 'kernel'"):
            _ = self.score.kernel

    def test_of_a_member_that_offers_nothing(self):
        score = calibrated(SumOfSquares(), NORMAL)
        assert not score.capabilities
        np.testing.assert_allclose(score.outlierness(NORMAL).mean(), 1.0, rtol=1e-12)

    def test_kinds_are_measured_alike(self):
        committee = whyodd.Committee().fit(CENTERS).network_
        plain, parts = committee.decompose(ODD), calibrated(committee, NORMAL).decompose(ODD)
        np.testing.assert_allclose(parts.by_kind.sum(axis=2), parts.relevance, rtol=1e-12)
        np.testing.assert_array_equal(parts.by_kind.argmax(axis=2), plain.by_kind.argmax(axis=2))

    def test_behind_another_map(self):
        with pytest.raises(ValueError, match=r"calibrated behind None, .* LinearMap\(2 -> 3\)"):
            self.score.decompose(ODD, through=LinearMap(np.eye(3)[:, :2]))

    def test_float32_ratios_are_in_float64(self):
        parts = self.score.decompose(ODD.astype(np.float32))
        assert parts.relevance.dtype == np.float64
        np.testing.assert_allclose(parts.outlierness, self.score.outlierness(ODD), rtol=1e-4)
