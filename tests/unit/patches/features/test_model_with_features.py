"""PatchModel on features: nothing is lost on the way to pixels."""

from __future__ import annotations

import numpy as np
import pytest

import whyodd
from whyodd.patches.features import DeepFeatures
from whyodd.patches.features.given import pixel_unit


def blocks_of_two(image):
    """Mean and range of 2 × 2 pixels: a map of half the size."""
    height, width = (length // 2 * 2 for length in image.shape[:2])
    cells = image[:height, :width, 0].reshape(height // 2, 2, width // 2, 2)
    return np.stack([cells.mean(axis=(1, 3)), cells.max(axis=(1, 3)) - cells.min(axis=(1, 3))], axis=-1)


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return [rng.normal(100.0, 10.0, size=shape) for shape in ((24, 30), (21, 33), (28, 20))]


def scratched(image):
    odd = image.copy()
    odd[10:12, 12:14] += 120.0
    return odd


@pytest.mark.parametrize("kept", [{}, {"coreset": 60}])
@pytest.mark.parametrize("patch", [None, (3, 3), [(1, 1), (2, 2)]])
def test_relevance_adds_up_and_lies_on_the_defect(images, patch, kept):
    model = whyodd.PatchModel(
        whyodd.KNearestNeighbors(2), patch, random_state=0, features=blocks_of_two, **kept
    ).fit(images[:2])
    e = model.explain([scratched(images[2]), images[2]])
    # Features are in single precision, of which the sums of a thousand parts keep seven digits.
    np.testing.assert_allclose(e.summed_relevance + e.unexplained, e.outlierness, rtol=1e-7)
    assert e.heatmap(0).shape == (28, 20)
    assert np.unravel_index(e.heatmap(0).argmax(), (28, 20)) in [(r, c) for r in (10, 11) for c in (12, 13)]
    assert e.outlierness[0] > e.outlierness[1]
    np.testing.assert_allclose(e.outlierness, model.outlierness([scratched(images[2]), images[2]]))


def test_same_as_the_model_of_the_features_themselves(images):
    """An image whose channels are the features has the same outlierness; relevance is summed and shared."""
    settings = {"patch": (1, 1), "random_state": 0}
    on_features = whyodd.PatchModel(whyodd.KNearestNeighbors(2), **settings).fit(
        [blocks_of_two(image[..., None]).astype(np.float32) for image in images[:2]]
    )
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(2), **settings, features=blocks_of_two).fit(images[:2])
    plain = on_features.explain(blocks_of_two(images[2][..., None]).astype(np.float32))
    e = model.explain(images[2])
    np.testing.assert_allclose(e.outlierness, plain.outlierness)
    shared = np.repeat(np.repeat(plain.heatmap(0).sum(axis=-1) / 4, 2, axis=0), 2, axis=1)
    np.testing.assert_allclose(e.heatmap(0), shared, rtol=1e-9)


def test_strangest_place_and_where_the_normal_one_is(images):
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(1), random_state=0, features=blocks_of_two).fit(
        images[:2]
    )
    window = model.explain(scratched(images[2])).strangest(0)
    assert (window.start, window.stop) == ((10, 12), (12, 14))
    assert window.relevance.shape == (1,)
    origin = images[window.training_item]
    here = tuple(slice(*ends) for ends in zip(window.training_start, window.training_stop, strict=True))
    np.testing.assert_allclose(
        blocks_of_two(origin[here][..., None])[0, 0], window.nearest[0, 0], rtol=0.2, atol=10
    )


def test_place_of_the_normal_patch_without_features(images):
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(1), patch=(3, 4), random_state=0).fit(images[:2])
    window = model.explain(images[2]).strangest(0)
    here = tuple(slice(*ends) for ends in zip(window.training_start, window.training_stop, strict=True))
    np.testing.assert_array_equal(images[window.training_item][here][..., None], window.nearest)


def test_colours_share_alike(images):
    colours = [np.repeat(image[..., None], 3, axis=-1) for image in images]
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(1), random_state=0, features=blocks_of_two).fit(
        colours[:2]
    )
    heat = model.explain(colours[2]).heatmap(0)
    assert heat.shape == (28, 20, 3)
    np.testing.assert_array_equal(heat[..., 0], heat[..., 2])


def test_methods_of_other_units_come_onto_pixels(images):
    model = whyodd.PatchModel(whyodd.KernelDensity(), random_state=0, features=blocks_of_two).fit(images[:2])
    e = model.explain(images[2], method="sensitivity")
    assert e.heatmap(0).shape == (28, 20)
    assert (e.heatmap(0) >= 0.0).all()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda image: image[..., 0], "must return a map of numbers"),
        (lambda image: np.full(image.shape, np.nan), "not finite"),
        (lambda _: "text", "must return a map of numbers"),
        (lambda _: np.zeros((0, 3, 2)), "at least one place"),
        ("depp", "features='depp': expected 'contrast', 'deep'"),
        (3, "features=3"),
    ],
)
def test_features_of_the_wrong_kind_are_told(images, features, message):
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(1), features=features)
    with pytest.raises(ValueError, match=message):
        model.fit(images)


def test_what_does_not_go_with_features_is_told(images):
    detector = whyodd.KNearestNeighbors(1)
    with pytest.raises(ValueError, match="features= is for images"):
        whyodd.PatchModel(detector, (3,), features=blocks_of_two).fit(np.zeros((2, 50)))
    with pytest.raises(ValueError, match="standardize=True is only for raw channels"):
        whyodd.PatchModel(detector, features=blocks_of_two, standardize=True).fit(images)


def test_features_with_different_numbers_are_told(images):
    model = whyodd.PatchModel(
        whyodd.KNearestNeighbors(1), features=lambda image: np.zeros((4, 4, image.shape[0]))
    )
    with pytest.raises(ValueError, match="the same number of features for every image"):
        model.fit(images)
    fitted = whyodd.PatchModel(
        whyodd.KNearestNeighbors(1), features=lambda x: x[:, :, [0] * (len(x) // 8)]
    ).fit([np.eye(16), np.eye(17)])
    with pytest.raises(ValueError, match="the same number of features for every image"):
        fitted.explain(np.eye(24))


def test_pixels_reach_features_from_0_to_255():
    assert pixel_unit([np.ones((2, 2), dtype=np.uint8)]) == 1.0
    assert pixel_unit([np.full((2, 2), 65535, dtype=np.uint16)]) * 65535 == 255.0
    assert pixel_unit([np.ones((2, 2), dtype=bool)]) == 255.0
    assert pixel_unit([np.array([[0.0, 0.5]]), np.array([[1.0, 0.5]])]) == 255.0
    assert pixel_unit([np.array([[0.0, 0.5]]), np.array([[2.0, 0.5]])]) == 1.0
    eight = np.random.default_rng(0).integers(0, 256, size=(2, 40, 40)).astype(np.uint8)
    scores = [
        whyodd.PatchModel(whyodd.KNearestNeighbors(1), features="deep", random_state=0)
        .fit(given)
        .outlierness(given)
        for given in (eight, (eight / 255.0).astype(np.float32))
    ]
    np.testing.assert_allclose(*scores, rtol=1e-3)


@pytest.mark.parametrize("features", ["deep", DeepFeatures((2, 6), 64)])
def test_saved_and_loaded(features, tmp_path):
    images = np.random.default_rng(0).integers(0, 256, size=(3, 40, 48)).astype(np.uint8)
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(2), features=features, coreset=15, random_state=0).fit(
        images[:2]
    )
    whyodd.save(model, tmp_path / "model.whyodd")
    again = whyodd.load(tmp_path / "model.whyodd")
    np.testing.assert_array_equal(again.explain(images).heatmap(2), model.explain(images).heatmap(2))
    assert again.scales_[0].radius == model.scales_[0].radius > 0.0


def test_functions_cannot_be_saved(images, tmp_path):
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(2), features=blocks_of_two).fit(images)
    with pytest.raises(ValueError, match="a file must not execute code"):
        whyodd.save(model, tmp_path / "model.whyodd")
    assert not list(tmp_path.iterdir())
