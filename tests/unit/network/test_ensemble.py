"""Members that are combined, or measured against points: what is refused when they are made or loaded."""

from dataclasses import replace

import numpy as np
import pytest

import whyodd
from made_up.members import SumOfSquares
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.linear_maps import LinearMap
from whyodd.network.combinations import Average, LocalSelection, Maximum
from whyodd.network.ensemble import EnsembleScore, Part
from whyodd.network.neighbor_distances import NeighborDistances
from whyodd.network.reference_points import ClusterDistance, Hyperspheres
from whyodd.network.verdict import ExponentialScale
from whyodd.network.waist import offers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
ROWS = RNG.normal(size=(7, 3)) * 3
NETWORK = whyodd.DistanceNetwork(X, pooling=Nearest.mean(3), rows=np.arange(30), n_rows=30)
EVEN = Average([0.5, 0.5])

SPHERES = Hyperspheres(X[None], np.ones((1, 30)), np.full((1, 30), 0.5))
CLUSTERS = ClusterDistance(X[:4], [0, 1, 1, 0], X[:2], [True, False], [3.0, 1.0])
NEAREST = NeighborDistances(X, Nearest.mean(3), "manhattan")
SELECTION = LocalSelection(X, X[:, :2], (np.array([0, 1]), np.array([2])), neighbors=5, bins=2)
PART = Part(NETWORK)
ENSEMBLE = EnsembleScore((PART, Part(NEAREST)), EVEN, 3)

LABELS = "^Expected one label for each point, naming one of 2 centroids"
SUBSPACES = "^A local selection needs 1 to 1000 subspaces among its 3 columns"
SCALE = "^The mean of a member's scores must be finite, and their deviation above 0"
COLUMNS = "^Expected members that use columns among the 3 variables"


@pytest.mark.parametrize(
    ("member", "state", "message"),
    [
        (
            SPHERES,
            {"centers": X},
            r"^Expected Hyperspheres\.centers .* of shape \(any, any, any\), got shape \(30, 3\)",
        ),
        (
            SPHERES,
            {"squared_radii": np.ones((1, 29))},
            r"^Expected Hyperspheres\.squared_radii .* got shape \(1, 29\)",
        ),
        (
            SPHERES,
            {"squared_radii": np.full((1, 30), -1.0)},
            r"^Expected Hyperspheres\.squared_radii .* of at least 0 .* got values down to -1",
        ),
        (
            SPHERES,
            {"values": np.full((1, 30), np.nan)},
            r"^Expected Hyperspheres\.values as finite .* got values down to nan",
        ),
        (CLUSTERS, {"labels": np.array([0, 1, 1, 2])}, LABELS),
        (CLUSTERS, {"labels": np.array([0, 1, 1, -1])}, LABELS),
        (CLUSTERS, {"labels": np.array([0, 1])}, LABELS),
        (CLUSTERS, {"is_large": np.array([False, False])}, "^At least one cluster must be large"),
        (CLUSTERS, {"is_large": np.array([True])}, "^Expected true or false for each of 2 clusters"),
        (
            CLUSTERS,
            {"weights": np.array([1.0, -1.0])},
            r"^Expected ClusterDistance\.weights .* got values down to -1",
        ),
        (CLUSTERS, {"points": X[:4, :2]}, r"^Expected ClusterDistance\.points .* got shape \(4, 2\)"),
        (NEAREST, {"centers": X[:2]}, r"^Nearest\.mean\(3\) needs 3 neighbours, but there are 2 center"),
        (NEAREST, {"metric": "braycurtis"}, "^The metric 'braycurtis' is not a sum of terms"),
        (NEAREST, {"metric": "minkowski", "p": -1.0}, "^The metric 'minkowski' is not a sum of terms"),
        (EVEN, {"counts": np.array([0.5, 0.6])}, "^The weights of an average must sum to 1"),
        (EVEN, {"counts": np.array([1.5, -0.5])}, r"^Expected Average\.counts .* got values down to -0\.5"),
        (SELECTION, {"subspaces": (np.array([0, 3]),)}, SUBSPACES),
        (SELECTION, {"subspaces": (np.array([-1]),)}, SUBSPACES),
        (SELECTION, {"subspaces": ()}, SUBSPACES),
        (SELECTION, {"neighbors": 10**9}, "needs 2 to 30 neighbours and 1 to 2 bins, got 1000000000 and 2"),
        (SELECTION, {"neighbors": 1}, "needs 2 to 30 neighbours and 1 to 2 bins, got 1 and 2"),
        (SELECTION, {"bins": 10**9}, "needs 2 to 30 neighbours and 1 to 2 bins, got 5 and 1000000000"),
        (SELECTION, {"standings": X[:5, :2]}, r"^Expected LocalSelection\.standings .* got shape \(5, 2\)"),
        (PART, {"deviation": 0.0}, SCALE),
        (PART, {"mean": np.nan}, SCALE),
        (ENSEMBLE, {"parts": ()}, "^Expected at least one member for an ensemble, got none"),
        (ENSEMBLE, {"n_features": 2}, "^Expected members that use columns among the 2 variables"),
        (ENSEMBLE, {"n_features": -3}, "^Expected members that use columns among the -3 variables"),
        (ENSEMBLE, {"parts": (Part(NETWORK, columns=[0, 1, 3]), Part(NEAREST))}, COLUMNS),
        (ENSEMBLE, {"parts": (Part(NETWORK, columns=[0, 1]), Part(NEAREST))}, COLUMNS),
        (ENSEMBLE, {"parts": (PART,)}, "^An average needs 1 weights, got 2"),
        (ENSEMBLE, {"parts": (Part(NETWORK, through=LinearMap(np.ones((2, 3)))), Part(NEAREST))}, COLUMNS),
    ],
)
def test_state_that_was_tampered_with_is_refused(member, state, message):
    fresh = object.__new__(type(member))
    with pytest.raises(ValueError, match=message):
        fresh.__setstate__({**member.__getstate__(), **state})


@pytest.mark.parametrize("member", [SPHERES, CLUSTERS, NEAREST, ENSEMBLE], ids=lambda m: type(m).__name__)
class TestMember:
    def test_rows_of_another_width_are_named(self, member):
        with pytest.raises(ValueError, match=r"X has 2 column\(s\), the model was fitted on 3"):
            member.decompose(ROWS[:, :2])

    def test_outlierness_is_that_of_the_decomposition(self, member):
        np.testing.assert_array_equal(member.outlierness(ROWS), member.decompose(ROWS).outlierness)

    def test_precision_of_relevance_is_that_of_the_rows(self, member):
        assert member.decompose(ROWS.astype(np.float32)).relevance.dtype == np.float32

    def test_does_not_hold_on_to_what_it_was_given(self, member):
        copy = replace(member)
        assert copy is not member
        np.testing.assert_array_equal(copy.outlierness(ROWS), member.outlierness(ROWS))


def test_row_that_is_a_point_belongs_to_no_variable():
    parts = SPHERES.decompose(X)
    assert (parts.relevance >= 0.0).all()
    np.testing.assert_allclose(parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-12)
    alone = Hyperspheres([[[0.0, 0.0, 0.0]]], [[0.0]], [[0.25]]).decompose(np.zeros((1, 3)))
    np.testing.assert_array_equal(alone.relevance, 0.0)
    np.testing.assert_array_equal(alone.unexplained, 0.25)
    assert (CLUSTERS.decompose(CLUSTERS.centroids[:1]).outlierness == 0.0).all()


def test_exponential_scores_keep_the_shares_of_their_outlierness():
    scale = ExponentialScale(-1.0, shift=1.0)
    ensemble = EnsembleScore((Part(NETWORK, scale), Part(NEAREST, scale)), EVEN, 3)
    first, second = NETWORK.decompose(ROWS), NEAREST.decompose(ROWS)
    shares = [
        (scale.score(one.outlierness) - scale.score(0.0))[:, None] * one.relevance / one.outlierness[:, None]
        for one in (first, second)
    ]
    np.testing.assert_allclose(ensemble.decompose(ROWS).relevance, 0.5 * sum(shares), rtol=1e-12)


def test_maximum_counts_from_the_highest_floor():
    parts = (Part(NETWORK), Part(NEAREST, mean=-2.0))
    ensemble = EnsembleScore(parts, Maximum(), 3)
    assert ensemble.floor == 2.0
    found, alone = ensemble.decompose(ROWS), NEAREST.decompose(ROWS)
    np.testing.assert_allclose(found.outlierness, alone.outlierness, rtol=1e-12)
    # The first starts 2 below: where it wins, its shares become smaller by one factor.
    other = EnsembleScore((Part(NETWORK, mean=-2.0), Part(NEAREST, mean=9.0)), Maximum(), 3)
    np.testing.assert_allclose(other.decompose(ROWS).relevance, NETWORK.decompose(ROWS).relevance, rtol=1e-12)


def test_offers_what_its_parts_let_it():
    assert offers(ENSEMBLE, "expected", "save", "work")
    assert offers(EnsembleScore((PART, PART), EVEN, 3), "leave_out")
    plain = EnsembleScore((Part(SumOfSquares()),), Average([1.0]), 3)
    assert plain.capabilities == {"work"}
    np.testing.assert_allclose(plain.outlierness(ROWS), (ROWS**2).sum(axis=1))


def test_expected_is_what_the_relevant_member_says():
    far = Part(whyodd.DistanceNetwork([[0.0, 0.0, 0.0]], pooling=Nearest.kth(1)))
    near = Part(whyodd.DistanceNetwork([[10.0, 0.0, 0.0]], pooling=Nearest.kth(1)))
    ensemble = EnsembleScore((far, near), EVEN, 3)
    # To the second one, at distance 0, the row is normal: what it expects does not count.
    np.testing.assert_allclose(ensemble.expected([[10.0, 0.0, 0.0]])[0, 0], 0.0, atol=1e-9)


def test_nothing_is_expected_where_members_that_find_a_reason_cannot_tell():
    ensemble = EnsembleScore((Part(NETWORK, columns=[0, 1, 2]), Part(SumOfSquares(), columns=[2])), EVEN, 3)
    assert not np.isnan(ensemble.expected(ROWS)).any()
    alone = EnsembleScore((Part(NEAREST, columns=[0, 1, 2]), Part(SumOfSquares(), columns=[3])), EVEN, 4)
    rows = np.column_stack([ROWS, np.ones(7)])
    found = alone.expected(rows)
    assert np.isnan(found[:, 3]).all()
    assert not np.isnan(found[:, :3]).any()
    rows[:, 3] = 0.0
    np.testing.assert_array_equal(alone.expected(rows)[:, 3], 0.0)


def test_progress_is_told_once():
    told = []
    ENSEMBLE.decompose(ROWS, progress=told.append)
    assert told == [7]
