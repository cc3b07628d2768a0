"""Pooling of a block: rows with care and without it agree with the plain loops, within a budget of pairs."""

from __future__ import annotations

import numpy as np
import pytest

from reference import oracle
from whyodd.compute.soft.block import ASSIGNMENTS, SCORES, WEIGHTS, pool_block
from whyodd.compute.soft.centers import prepare
from whyodd.compute.soft.passes import _multiply, _views
from whyodd.compute.soft.row import Direct
from whyodd.compute.work import Scores
from whyodd.kernels import Exponential

KERNEL = Exponential(q=2.0, sigma=1.5)
RNG = np.random.default_rng(0)
X, CENTERS = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3))
# The heaviest center is neither the first nor the last.
ALPHA = np.array([0.1, 0.05, 0.4, 0.25, 0.2])
# Of rounding so little may be seen that every pair is blurred by the products of float32: all need care.
ALL_NEED_CARE = 1e-12


class Block:
    """A block of rows after pooling: what became of the products, of the scores, and of single pairs."""

    def __init__(self, weights=ALPHA, *, X=X, U=CENTERS, own=-1, wanted=WEIGHTS, has_room=True, **changed):
        n, m, d = len(X), *U.shape
        centers = prepare(U, np.log(weights), KERNEL, dtype=np.dtype(np.float32))
        block = _multiply(X, np.full(n, own), centers, np.empty((n, m), np.float32), slice(0, n))
        room = np.zeros((n, d)) if has_room else np.empty((0, 0))
        direct = Direct(room, np.empty(n, dtype=bool), 0.0)
        pool = centers.pool._replace(patience=np.inf)._replace(**changed)
        self.scores = Scores.empty(n)
        self.is_done = pool_block(
            block.products, block.rows, pool, _views(self.scores, slice(None)), wanted, direct
        )
        self.table, self.direct = block.products, direct.relevance
        # What is explained by each center, as far as it is left to the weights.
        self.explained = self.table * np.sum((X[:, None] - U) ** 2, axis=2) / centers.scale**2


@pytest.mark.parametrize("wanted", [SCORES, ASSIGNMENTS, WEIGHTS])
def test_a_block_is_given_up_with_the_first_pair_too_many(wanted):
    asked = {"wanted": wanted, "tolerance": ALL_NEED_CARE}
    one_pair = 1.0 / (len(X) * len(CENTERS))
    assert Block(patience=1.0, **asked).is_done
    assert not Block(patience=1.0 - 0.5 * one_pair, **asked).is_done


@pytest.mark.parametrize("own", [-1, 2])
def test_scores_are_the_same_whatever_else_is_wanted(own):
    alone, others = Block(own=own, wanted=SCORES), (Block(own=own, wanted=ASSIGNMENTS), Block(own=own))
    for other in others:
        np.testing.assert_array_equal(alone.scores.outlierness, other.scores.outlierness)
        np.testing.assert_array_equal(alone.scores.log_inlierness, other.scores.log_inlierness)


def test_rows_that_need_no_care_cost_nothing():
    assert Block(patience=0.0).is_done


@pytest.mark.parametrize("own", [-1, 0, 2, 4])
def test_weights_of_any_size_keep_their_digits(own):
    # Logarithms of -690 have lost digits of float32, unless they are relative to the heaviest center left.
    weights = np.array([2e-300, 3e-300, 1.0, 5e-300, 7e-300])
    got = Block(weights, own=own, wanted=ASSIGNMENTS)
    truth = oracle.explain(X, CENTERS, KERNEL, weights=weights, own=np.full(len(X), own))
    np.testing.assert_allclose(got.scores.log_inlierness, truth.log_g, atol=1e-6)


# Products of whole numbers are exact: no care is needed, and the rest is done in float32.
@pytest.mark.parametrize(("is_whole", "light", "digits"), [(False, 1e-30, 1e-12), (True, 1e-12, 1e-5)])
def test_on_top_of_a_center_of_nearly_all_weight_the_others_are_exact(is_whole, light, digits):
    """Their part of p is far below what counts elsewhere, but nothing else explains anything."""
    centers = np.rint(4.0 * CENTERS) if is_whole else CENTERS
    weights = np.array([light, 2.0 * light, 1.0, 3.0 * light, 4.0 * light])
    got = Block(weights, X=centers[[2]], U=centers, tolerance=ALL_NEED_CARE)
    truth = oracle.explain(centers[[2]], centers, KERNEL, weights=weights, arithmetic=oracle.digits(60))
    np.testing.assert_allclose(got.scores.outlierness, truth.outlierness, rtol=digits)
    np.testing.assert_allclose(got.direct, truth.relevance, rtol=digits)
    assert got.explained.sum() <= ALL_NEED_CARE * truth.explained.sum()  # what is left to the weights


def test_on_top_of_a_heavy_center_the_weights_explain_all_where_there_is_no_room():
    centers = np.rint(4.0 * CENTERS)
    weights = np.array([1e-12, 2e-12, 1.0, 3e-12, 4e-12])
    got = Block(weights, X=centers[[2]], U=centers, has_room=False)
    truth = oracle.explain(centers[[2]], centers, KERNEL, weights=weights, arithmetic=oracle.digits(60))
    largest = truth.explained.max()
    np.testing.assert_allclose(got.explained / largest, truth.explained / largest, atol=1e-5)


# Scores are in float64 throughout where care is needed, the table is in float32.
@pytest.mark.parametrize(
    ("changed", "digits"), [({}, 1e-5), ({"tolerance": ALL_NEED_CARE}, 1e-12)], ids=["as it is", "with care"]
)
class TestAgainstPlainLoops:
    @pytest.mark.parametrize("own", [-1, 0, 1, 2, 3, 4])
    def test_assignments_where_any_center_is_left_out(self, changed, digits, own):
        got = Block(own=own, wanted=ASSIGNMENTS, **changed)
        truth = oracle.explain(X, CENTERS, KERNEL, weights=ALPHA, own=np.full(len(X), own))
        np.testing.assert_allclose(got.table, truth.assignment, atol=1e-6)
        np.testing.assert_allclose(got.scores.outlierness, truth.outlierness, rtol=digits)
        np.testing.assert_allclose(got.scores.log_inlierness, truth.log_g, rtol=digits)
        np.testing.assert_array_equal(got.scores.unexplained, 0.0)  # nobody asked

    def test_without_room_for_single_pairs_the_weights_explain_all(self, changed, digits):
        got = Block(has_room=False, **changed)
        truth = oracle.explain(X, CENTERS, KERNEL, weights=ALPHA)
        np.testing.assert_allclose(got.explained, truth.explained, atol=1e-6)
        np.testing.assert_allclose(got.scores.unexplained, truth.unexplained, rtol=digits, atol=digits)

    def test_with_room_no_pair_counts_twice(self, changed, digits):
        got = Block(**changed)
        truth = oracle.explain(X, CENTERS, KERNEL, weights=ALPHA)
        if changed:  # all pairs were added one by one
            np.testing.assert_allclose(got.direct, truth.relevance, rtol=digits)
            np.testing.assert_array_equal(got.table, 0.0)
        else:
            np.testing.assert_array_equal(got.direct, 0.0)
            np.testing.assert_allclose(got.explained, truth.explained, atol=1e-6)
