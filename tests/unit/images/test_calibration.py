"""What is usual of a place, by its distance from the border or where it is, and of a whole image."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyodd.images.calibration import Calibration, is_aligned
from whyodd.images.pooling import pooled


def aligned(count=12, shape=(5, 6)):
    """Distances with hard and easy places, the same in all images."""
    random = np.random.default_rng(0)
    hard = random.uniform(0.5, 2.0, size=shape)
    return [hard * random.uniform(0.9, 1.1, size=shape) for _ in range(count)]


def shuffled(maps):
    random = np.random.default_rng(1)
    return [random.permutation(one.ravel()).reshape(one.shape) for one in maps]


def from_border(place, shape):
    """Places beyond the fourth are alike."""
    row, column = place
    return min(row, column, shape[0] - 1 - row, shape[1] - 1 - column, 4)


def framed(seed, shape=(14, 17)):
    """Distances that are larger and vary more at the border, in images of different level."""
    random = np.random.default_rng(seed)
    near = np.array([[from_border((r, c), shape) for c in range(shape[1])] for r in range(shape[0])])
    return 3.0 + random.uniform(0.0, 1.0) + (5.0 - near) * (0.2 + 0.1 * random.random(shape))


def plain_aligned(maps):
    """Leave one image out: is the mean of its place over the others nearer than that of its ring?"""
    by_place = by_ring = 0.0
    for i, one in enumerate(maps):
        others = np.mean([other for j, other in enumerate(maps) if j != i], axis=0)
        for place in np.ndindex(one.shape):
            near = from_border(place, one.shape)
            ring = [others[at] for at in np.ndindex(one.shape) if from_border(at, one.shape) == near]
            by_place += (one[place] - others[place]) ** 2
            by_ring += (one[place] - np.mean(ring)) ** 2
    return by_place < by_ring


FRAMED = [framed(seed) for seed in range(10)]


class TestAligned:
    @pytest.mark.parametrize("maps", [aligned(), shuffled(aligned()), FRAMED[:8]])
    def test_against_leaving_out_image_by_image(self, maps):
        assert is_aligned(maps) == plain_aligned(maps)

    def test_if_places_are_alike_in_all_images(self):
        assert is_aligned(aligned())
        assert not is_aligned(shuffled(aligned()))

    def test_too_few_or_of_several_sizes(self):
        assert not is_aligned(aligned(7))
        assert not is_aligned([*aligned(), np.ones((4, 6))])

    def test_that_all_have_a_border_does_not_make_them_so(self):
        assert not is_aligned(FRAMED)

    def test_mean_and_spread_of_each_place_lean_to_those_of_all(self):
        maps = aligned()
        found, everything = Calibration.of(maps), np.stack(maps)
        assert found.has_places
        for place in np.ndindex(5, 6):
            # As if four more images had the mean and the mean square of all places there.
            mean = (sum(one[place] for one in maps) + 4.0 * everything.mean()) / 16.0
            square = (sum(one[place] ** 2 for one in maps) + 4.0 * (everything**2).mean()) / 16.0
            assert found.mean[place] == pytest.approx(mean)
            assert found.spread[place] == pytest.approx(np.sqrt(square - mean**2))

    def test_an_image_of_another_size_is_compared_with_places_in_between(self):
        found = Calibration.of(aligned())
        assert found.standardised(np.ones((10, 12))).shape == (10, 12)
        np.testing.assert_allclose(found.standardised(found.mean), 0.0, atol=1e-12)


class TestRings:
    def test_against_places_one_by_one(self):
        found = Calibration.of(FRAMED)
        assert not found.has_places
        by_ring = [[] for _ in range(5)]
        for one in FRAMED:
            for place in np.ndindex(one.shape):
                by_ring[from_border(place, one.shape)].append(one[place])
        everything = np.concatenate(by_ring)
        for near, values in enumerate(by_ring):
            count = len(values) + 4.0
            mean = (sum(values) + 4.0 * everything.mean()) / count
            square = (sum(value**2 for value in values) + 4.0 * (everything**2).mean()) / count
            assert found.mean[near] == pytest.approx(mean)
            assert found.spread[near] == pytest.approx(np.sqrt(square - mean**2))

    def test_the_border_is_no_odder_than_the_middle(self):
        """Without it the oddest place of every one of these images is at the border."""
        found = Calibration.of(FRAMED)
        z = np.stack([found.standardised(one) for one in FRAMED])
        assert z[:, 0].mean() == pytest.approx(z[:, 6:8, 6:10].mean(), abs=0.2)
        assert z[:, 0].std() == pytest.approx(z[:, 6:8, 6:10].std(), abs=0.2)

    def test_small_images_have_fewer_rings_and_larger_ones_come_later(self):
        found = Calibration.of([framed(seed, (3, 4)) for seed in range(3)])
        assert len(found.mean) == 2
        z = found.standardised(np.full((9, 9), 5.0))
        assert z[4, 4] == z[1, 1] != z[0, 0]

    def test_one_place_alone_in_its_ring_leans_to_all(self):
        found = Calibration.of([framed(0, (3, 3))])
        assert found.spread[1] > 0.1 * found.spread[0]


class TestImages:
    def test_a_usual_one_is_pooled_to_1(self):
        maps = [np.random.default_rng(seed).exponential(size=(9, 9)) for seed in range(7)]
        found = Calibration.of(maps)
        assert np.median([pooled(found.scores(one)) for one in maps]) == pytest.approx(1.0)

    def test_slope_against_pairs_of_images(self):
        found = Calibration.of(FRAMED)
        z = [found.standardised(one) for one in FRAMED]
        levels, largest = [np.median(one) for one in z], [one.max() for one in z]
        slopes = [
            (largest[i] - largest[j]) / (levels[i] - levels[j]) for i in range(10) for j in range(10) if i < j
        ]
        assert found.slope == pytest.approx(np.median(slopes) * 10.0 / 14.0)  # as if four more had none
        assert found.levels == pytest.approx(np.quantile(levels, [0.05, 0.5, 0.95]))

    def test_odd_images_among_the_normal_ones_do_not_make_themselves_usual(self):
        """One of twenty is odd all over, one in its middle."""
        normal, odd = [framed(seed) for seed in range(18)], [framed(30) + 4.0, framed(31)]
        odd[1][5:8, 5:8] += 4.0
        found = Calibration.of([*normal, *odd])
        usual = max(pooled(found.scores(one)) for one in normal)
        assert min(pooled(found.scores(one)) for one in odd) > 2.0 * usual

    def test_scores_place_by_place(self):
        found, image = Calibration.of(FRAMED), framed(20)
        z = found.standardised(image)
        level = min(max(np.median(z), found.levels[0]), found.levels[2])
        for place in np.ndindex(image.shape):
            expected = max(z[place] - found.slope * (level - found.levels[1]), 0.0) / found.unit
            assert found.scores(image)[place] == pytest.approx(expected)

    def test_a_defect_stands_out_from_an_image_of_any_normal_level(self):
        """The same defect in a calm and in a lively image: nearer to each other than their distances are."""
        found = Calibration.of(FRAMED)
        calm, lively = (FRAMED[i].copy() for i in np.argsort([np.median(one) for one in FRAMED])[[0, -1]])
        for image in (calm, lively):
            image[7, 7] = np.median(image) + 2.0
        largest = [found.scores(image).max() for image in (calm, lively)]
        z = [found.standardised(image)[7, 7] for image in (calm, lively)]
        assert (largest[1] - largest[0]) * found.unit < 0.8 * (z[1] - z[0])

    def test_an_image_that_is_odd_all_over_stays_odd(self):
        found = Calibration.of(FRAMED)
        assert found.slope > 0.0
        scores = [pooled(found.scores(framed(20) + more)) for more in (2.0, 4.0, 8.0)]
        assert scores == sorted(scores)
        assert scores[2] > 3.0

    @given(st.integers(0, 1000), st.integers(1, 6))
    def test_never_below_0_nor_beyond_numbers(self, seed, count):
        random = np.random.default_rng(seed)
        maps = [
            random.exponential(size=random.integers(1, 8, size=2)) * random.integers(0, 2)
            for _ in range(count)
        ]
        scores = Calibration.of(maps).scores(maps[0])
        assert np.isfinite(scores).all()
        assert (scores >= 0.0).all()

    def test_what_equals_normal_places_is_not_odd(self):
        found = Calibration(np.array([0.1]), np.array([1.0]), slope=9.0, levels=(-0.1, 1.0, 2.0))
        scores = found.scores(np.array([[0.0, 0.05, 0.1]]))
        assert scores[0, 0] == 0.0
        assert scores[0, 1] > 0.0

    def test_images_that_are_all_the_same(self):
        found = Calibration.of([np.full((4, 4), 2.0)] * 9)
        assert not found.scores(np.full((4, 4), 2.0)).any()
        assert np.isfinite(found.scores(np.full((4, 4), 3.0))).all()
        assert (found.scores(np.full((4, 4), 3.0)) > 0.0).all()
