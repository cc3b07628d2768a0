"""The detector of odd images: its sums, its folds, defects in known places, and what it refuses."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import whyodd
from made_up.images import grain, scratched
from whyodd.images.drawn import SHOWN
from whyodd.images.pooling import pooled, smoothed
from whyodd.images.reading import as_sequence
from whyodd.images.view import units
from whyodd.patches.features.contrast import ContrastFeatures

NORMAL = [grain(seed) for seed in range(12)]


def detector(**settings):
    return whyodd.ImageDetector("contrast", **{"centers": 300, **settings})


@pytest.fixture(scope="module")
def model():
    return detector().fit(NORMAL)


def wide(image):
    """As a map of features: means over 8 × 8 pixels."""
    height, width = (size // 8 for size in image.shape[:2])
    return image[: 8 * height, : 8 * width, :1].reshape(height, 8, width, 8, 1).mean(axis=(1, 3))


class TestSums:
    @settings(deadline=None, max_examples=15)
    @given(st.integers(16, 80), st.integers(16, 80), st.integers(0, 100))
    def test_relevance_sums_to_the_outlierness(self, model, height, width, seed):
        e = model.explain([grain(seed, (height, width))])
        assert e.relevance[0].shape == e.places[0].shape == (height, width)
        assert e.relevance[0].sum() == pytest.approx(e.outlierness[0], rel=1e-9)
        assert (e.relevance[0] >= 0.0).all()

    def test_of_what_is_very_odd_too(self, model):
        e = model.explain([scratched(50), np.tile([0, 255], (64, 32)).astype(np.uint8), NORMAL[3]])
        np.testing.assert_allclose(e.summed_relevance, e.outlierness, rtol=1e-9)

    def test_several_views_on_grids_of_their_own(self):
        model = detector().set_params(features=["contrast", wide]).fit(NORMAL)
        e = model.explain([scratched(50), NORMAL[0]])
        np.testing.assert_allclose(e.summed_relevance, e.outlierness, rtol=1e-9)

    def test_a_level_for_each_place(self):
        """Normal images that vary much in one half, which makes oddness there usual."""
        half = np.where(np.arange(64) < 32, 2.0, 30.0)
        made = [np.random.default_rng(i).normal(128.0, half, (64, 64)) for i in range(10)]
        model = detector().fit(made)
        assert model.is_aligned_
        e = model.explain([made[0], made[1][:50, :40]])
        np.testing.assert_allclose(e.summed_relevance, e.outlierness, rtol=1e-9)

    def test_scores_are_those_of_the_explanation(self, model):
        images = [scratched(50), NORMAL[0], grain(60, (40, 90))]
        e = model.explain(images)
        assert [model.score_map(image)[0] for image in images] == e.outlierness.tolist()
        np.testing.assert_array_equal(model.outlierness(images), e.outlierness)
        np.testing.assert_array_equal(model.score_samples(images), -e.outlierness)
        np.testing.assert_array_equal(model.decision_function(images), model.threshold_ - e.outlierness)

    def test_against_plain_distances(self, model):
        """One view: nearest centers, smoothing, calibration, power mean."""
        image = scratched(50)
        (view,) = model.views_
        features = ContrastFeatures()(image[..., None].astype(np.float32)) / view.unit
        distances = np.empty(features.shape[:2])
        for place in np.ndindex(distances.shape):
            apart = np.sqrt(((view.centers.values - features[place]).astype(np.float64) ** 2).sum(axis=1))
            distances[place] = np.sort(apart)[:3].mean()
        scores = view.calibration.scores(smoothed(distances))
        found, places = model.score_map(image)
        # Features and centers are of single precision; z of a usual place is a difference of nearly equals.
        np.testing.assert_allclose(places * model.usual_place_, scores, rtol=1e-3, atol=1e-4)
        assert found == pytest.approx(pooled(scores), rel=1e-3)


def upward(image):
    """As a map of features: means over 8 × 8 pixels, and how much brighter each is than the one below."""
    means = wide(image)
    return np.concatenate([means, means - np.roll(means, -1, axis=0)], axis=-1)


class TestTurned:
    """A second look at the image, turned by half."""

    def test_where_turned_normal_images_look_normal(self):
        model = detector().set_params(features=["contrast", upward]).fit(NORMAL)
        assert [view.is_turned for view in model.views_] == [False, True]  # contrast is the same both ways

    def test_not_where_up_and_down_differ(self):
        """Images that are bright above and dark below, all of them."""
        shade = np.linspace(60.0, -60.0, 64)[:, None]
        model = detector().set_params(features=upward).fit([image + shade for image in NORMAL])
        assert not model.views_[0].is_turned

    def test_against_plain_distances(self):
        model = detector().set_params(features=upward).fit(NORMAL)
        (view,) = model.views_
        assert view.is_turned
        image = scratched(50)

        def plain(pixels):
            rows = upward(pixels[..., None].astype(np.float64)) / view.unit
            apart = np.linalg.norm(rows[..., None, :] - view.centers.values.astype(np.float64), axis=-1)
            return np.sort(apart, axis=-1)[..., :3].mean(axis=-1)

        expected = (plain(image) + plain(image[::-1, ::-1])[::-1, ::-1]) / 2.0
        found, parts = view.distances(
            image[..., None].astype(np.float32), lambda shape: np.full(shape, -1), decompose=True
        )
        np.testing.assert_allclose(found, expected, rtol=1e-4)  # single precision
        np.testing.assert_allclose(parts.sum(axis=-1), found, rtol=1e-9)
        e = model.explain([image, NORMAL[0]])
        np.testing.assert_allclose(e.summed_relevance, e.outlierness, rtol=1e-9)

    def test_of_one_image_quarters_turn_too(self):
        """A quarter is never judged by itself, whichever way it is looked at."""
        image = grain(5, (128, 128))
        model = detector(centers=4000).set_params(features=upward).fit([image])
        found = model._distances(model.views_, model._pixels(image), 0)[0]
        assert (found > 0.0).all()


class TestFolds:
    def test_a_training_image_is_judged_without_its_fold(self, model):
        """The same image, changed by nothing that could be seen, is new, and its twin a center."""
        odd = scratched(3)
        learned = [*NORMAL[:9], odd]
        model = detector(centers=2000).fit(learned)
        nearly = odd.copy()
        nearly[0, 0] ^= 1
        own, new = model.outlierness([odd, nearly])
        assert new < 0.5 * own
        assert own > model.outlierness(NORMAL[:9]).max()

    def test_its_nearest_place_is_another_image_too(self):
        """All pictures that may be shown of the scratch are in the image itself."""
        odd = scratched(3)
        model = detector(centers=2000).fit([*NORMAL[:9], odd])
        here, normal = model.explain([odd]).nearest(0)
        assert (here == 255).any()
        assert not (normal == 255).all(axis=(1, 2)).any()
        assert (normal == 255).mean() < 0.01

    def test_distance_of_the_nearest_place(self, model):
        (view,) = model.views_
        image = grain(70)
        place = view.map(image[..., None].astype(np.float32))[8, 4]
        expected = np.linalg.norm(view.centers.values.astype(np.float64) - place, axis=1)
        picture, distance = model.nearest_place(image, 33, 17)
        assert distance == pytest.approx(expected.min(), rel=1e-4)
        np.testing.assert_array_equal(picture, model.pictures_[expected.argmin()])

    def test_pictures_are_those_of_the_centers(self, model):
        (view,) = model.views_
        assert len(model.pictures_) == len(view.centers.values)
        half = SHOWN // 2
        for k in range(0, len(model.pictures_), 25):
            padded = np.pad(NORMAL[view.centers.images[k]], half, mode="edge")
            row, column = view.centers.middles[k]
            expected = padded[row : row + SHOWN, column : column + SHOWN]
            np.testing.assert_array_equal(model.pictures_[k][..., 0], expected)

    def test_levels_are_those_of_images_not_learned(self, model):
        """What is asked again of the training images is what was calibrated on."""
        own = model.outlierness(NORMAL)
        np.testing.assert_allclose(np.sort(own), model.distribution_.scores, rtol=1e-6)
        assert np.median(own) == pytest.approx(1.0)

    def test_a_single_image_by_its_quarters(self):
        image = scratched(0, (96, 96), slice(60, 66), slice(20, 36))
        model = detector().fit([image])
        assert sorted(set(model.views_[0].centers.folds.tolist())) == [0, 1, 2, 3]
        e = model.explain([image])
        assert e.relevance[0].sum() == pytest.approx(e.outlierness[0], rel=1e-9)
        row, column = e.regions(0)[0].peak
        assert 56 <= row < 70
        assert 16 <= column < 40


class TestWhere:
    @pytest.mark.parametrize("top", [8, 70])
    def test_a_scratch_is_found_where_it_is(self, top):
        shape = (96, 96)
        model = detector().fit([grain(seed, shape) for seed in range(10)])
        where = (slice(top, top + 6), slice(40, 60))
        image = grain(50, shape)
        image[where] += (
            15  # less than two deviations of the grain: what is far odder is odd to coarse scales far off
        )
        e = model.explain([grain(51, shape), image])
        assert e.is_odd[1]
        assert e.p_value[1] < 0.05
        assert e.outlierness[1] > 1.1 * e.outlierness[0]
        assert e.mask(1)[where].all()
        assert e.mask(1).mean() < 0.5
        assert e.relevance[1][where].mean() > 5.0 * e.relevance[1].mean()
        region = e.regions(1)[0]
        assert region.is_odd
        assert top - 4 <= region.peak[0] < top + 10
        here, normal = e.nearest(1)
        assert here.shape == normal.shape == (SHOWN, SHOWN, 1)
        row, column = region.peak
        np.testing.assert_array_equal(here[16, 16, 0], image[row, column])

    def test_normal_images_are_seldom_odd(self):
        model = detector().fit([grain(seed, (48, 48)) for seed in range(40)])
        alarms = model.predict([grain(seed, (48, 48)) for seed in range(100, 160)]) == -1
        assert alarms.mean() < 0.2  # 0.05 is allowed: of 60 images 12 are more than four deviations off

    def test_few_images_still_have_a_threshold(self):
        """Of five to eighteen images no whole one is 5 %."""
        model = detector().fit(NORMAL[:5])
        assert np.isfinite(model.threshold_)
        assert model.predict([scratched(50)]).tolist() == [-1]

    def test_fewer_than_five_have_none(self):
        model = detector().fit(NORMAL[:4])
        assert model.threshold_ is None
        assert model.p_values([1.0]) is None
        for asked in (model.predict, model.decision_function):
            with pytest.raises(
                ValueError, match="The model learned from 4 normal images, expected at least 5"
            ):
                asked([NORMAL[5]])
        e = model.explain([scratched(50), NORMAL[5]])
        assert e.is_odd is None
        assert e.p_value is None
        assert e.outlierness[0] > 2.0 * e.outlierness[1]
        assert e.regions(0)[0].is_odd


class TestKinds:
    def judged(self, normal, odd):
        model = detector().fit(normal[:-1])
        e = model.explain([normal[-1], odd])
        np.testing.assert_allclose(e.summed_relevance, e.outlierness, rtol=1e-9)
        assert e.outlierness[1] > 2.0 * e.outlierness[0]
        assert e.nearest(1)[0].shape[-1] == model.n_channels_
        return e.outlierness

    def test_scales_of_grey_say_the_same(self):
        normal, odd = NORMAL[:7], scratched(50)
        expected = self.judged(normal, odd)
        deep = self.judged([image.astype(np.uint16) * 257 for image in normal], odd.astype(np.uint16) * 257)
        shares = self.judged([image / 255.0 for image in normal], odd / 255.0)
        floats = self.judged([image.astype(float) for image in normal], odd.astype(float))
        for found in (deep, shares, floats):
            np.testing.assert_allclose(found, expected, rtol=1e-3)

    @pytest.mark.parametrize("other", [np.uint16(257) * scratched(50).astype(np.uint16), scratched(50) * 1.0])
    def test_an_image_of_another_type_than_those_learned(self, model, other):
        assert model.outlierness([other])[0] == pytest.approx(model.outlierness([scratched(50)])[0], rel=1e-6)

    def test_bits(self):
        self.judged([image > 128 for image in NORMAL[:7]], scratched(50) > 128)

    @pytest.mark.parametrize("channels", [1, 2, 3, 4])
    def test_channels(self, channels):
        def coloured(image):
            return np.stack([np.roll(image, k, axis=0) for k in range(channels)], axis=-1)

        self.judged([coloured(image) for image in NORMAL[:7]], coloured(scratched(50)))

    def test_sizes(self):
        shapes = [(48, 48), (64, 96), (33, 70), (90, 20), (17, 61), (48, 50), (64, 64)]
        self.judged([grain(i, shape) for i, shape in enumerate(shapes)], scratched(50, (80, 48)))

    def test_an_array_of_images_is_a_list_of_them(self, model):
        stacked = np.stack([NORMAL[0], scratched(50)])
        np.testing.assert_array_equal(model.outlierness(stacked), model.outlierness(list(stacked)))
        assert len(model.explain(NORMAL[0])) == 1

    def test_a_sequence_is_read_when_asked(self):
        class Read(list):
            times = 0

            def __getitem__(self, i):
                self.times += 1
                return super().__getitem__(i)

        images = Read(NORMAL[:6])
        detector().fit(images)
        assert images.times <= 2 * 6 + 2


class TestRefusals:
    @pytest.mark.parametrize(
        ("images", "words"),
        [
            ([], "There are no images"),
            (np.zeros((0, 64, 64)), "There are no images"),
            ([np.full((64, 64), np.nan)], "missing values"),
            ([np.full((64, 64), np.inf)], "infinite values"),
            ([np.zeros((8, 64))], "8 × 64 pixels is too small"),
            ([np.zeros(64)], r"shape \(64,\), expected an image \(H, W\) or \(H, W, C\)"),
            ([np.full((64, 64), "a")], "must hold numbers"),
        ],
    )
    def test_in_one_sentence(self, model, images, words):
        for asked in (model.explain, model.outlierness, detector().fit):
            with pytest.raises(ValueError, match=words):
                asked(images)

    @pytest.mark.parametrize("images", [None, 3, "folder", (image for image in NORMAL)])
    def test_what_is_no_list(self, images):
        with pytest.raises(TypeError, match="Expected a list or an array of images"):
            as_sequence(images)

    def test_other_colours(self, model):
        with pytest.raises(ValueError, match=r"Image 1 has 3 channel\(s\), the model was fitted on 1"):
            model.explain([NORMAL[0], np.zeros((64, 64, 3))])
        with pytest.raises(ValueError, match=r"Image 2 has 3 channel\(s\)"):
            detector().fit([NORMAL[0], NORMAL[1], np.zeros((64, 64, 3))])

    def test_nothing_to_learn(self):
        with pytest.raises(ValueError, match="look the same everywhere"):
            detector().fit([np.full((64, 64), 7, np.uint8)] * 3)
        with pytest.raises(ValueError, match="look the same everywhere"):
            units(np.ones((5, 2), np.float32))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"centers": 1},
            {"centers": 2.5},
            {"centers": True},
            {"false_alarms": 0.0},
            {"false_alarms": 0.6},
            {"features": "colour"},
            {"features": None},
            {"features": []},
        ],
    )
    def test_settings(self, wrong):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            detector().set_params(**wrong).fit(NORMAL)

    def test_not_fitted(self, model):
        for asked in (detector().explain, detector().outlierness, detector().predict, detector().score_map):
            with pytest.raises(NotFittedError):
                asked(NORMAL[0])
        again = copy.copy(model)
        with pytest.raises(ValueError, match="missing values"):
            again.fit([*NORMAL, np.full((64, 64), np.nan)])
        with pytest.raises(NotFittedError):
            again.outlierness(NORMAL)

    def test_names(self, model):
        assert model.explain(NORMAL[:2], names=["a", "b"]).names == ("a", "b")
        with pytest.raises(ValueError, match="3"):
            model.explain(NORMAL[:2], names=["a", "b", "c"])


def test_same_seed_same_bytes(model):
    again = detector().fit(NORMAL)
    assert pickle.dumps(again.explain([scratched(50)]).relevance) == pickle.dumps(
        model.explain([scratched(50)]).relevance
    )
    other = detector(random_state=1, centers=20).fit(NORMAL)
    assert not np.array_equal(other.outlierness([scratched(50)]), model.outlierness([scratched(50)]))


def test_a_copy_has_the_settings_alone(model):
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "views_")


def test_many_images_are_drawn_from(monkeypatch):
    monkeypatch.setattr("whyodd.images.detector._MOST_IMAGES", 6)
    model = detector().fit(NORMAL)
    assert (model.n_images_, model.n_learned_, len(model.folds_)) == (12, 6, 6)
    assert model.distribution_.scores.size == 6


class TestSaving:
    @pytest.mark.parametrize(
        "features", ["contrast", "deep", ["contrast", "deep"], ContrastFeatures(levels=3)]
    )
    def test_round_trip(self, features, tmp_path):
        if "deep" in np.atleast_1d(features):
            pytest.importorskip("onnxruntime")
        model = whyodd.ImageDetector(features, centers=50).fit(NORMAL[:5])
        whyodd.save(model, tmp_path / "m.whyodd")
        loaded = whyodd.load(tmp_path / "m.whyodd")
        asked = [NORMAL[0], scratched(50)]
        first, second = model.explain(asked), loaded.explain(asked)
        np.testing.assert_array_equal(first.outlierness, second.outlierness)
        np.testing.assert_array_equal(first.relevance, second.relevance)
        np.testing.assert_array_equal(first.nearest(1), second.nearest(1))
        assert first.why(1) == second.why(1)
        assert loaded.p_values([1.1]) == model.p_values([1.1])

    def test_a_function_is_refused(self, tmp_path):
        model = whyodd.ImageDetector(wide, centers=20).fit(NORMAL[:2])
        with pytest.raises(ValueError, match=r"save\(\) cannot store .*must not execute code"):
            whyodd.save(model, tmp_path / "m.whyodd")
        assert not list(tmp_path.iterdir())
