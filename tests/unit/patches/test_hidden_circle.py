"""The paper's circle that no edge detector sees: part of a grid shifted, or blurred."""

import numpy as np
import pytest

from whyodd import OneClassSVM, PatchModel
from whyodd.experiments.circle import RADIUS, SHIFT, contrast, hidden_circle
from whyodd.patches import sobel

# Models of whole pictures take a while.
pytestmark = pytest.mark.full


def seeded_circle(kind, seed):
    return hidden_circle(kind, np.random.default_rng(seed))


@pytest.fixture(
    scope="module", params=[("shifted", 0), ("shifted", 1), ("blurred", 0), ("blurred", 1)], ids=str
)
def circle(request):
    """Image, where the circle is, and what a model of the image's own patches says of it."""
    image, is_inside = seeded_circle(*request.param)
    model = PatchModel(OneClassSVM(nu=0.1), patch=(7, 7), max_patches=5_000, random_state=0)
    return image, is_inside, model.fit(image).explain(image)


def test_relevance_is_inside_the_circle(circle):
    _, is_inside, e = circle
    assert contrast(e.heatmap(0), is_inside) >= 5.0


def test_edges_are_everywhere(circle):
    image, is_inside, _ = circle
    assert contrast(sobel(image), is_inside) <= 1.2


def test_all_outlierness_is_on_pixels_or_unexplained(circle):
    _, _, e = circle
    assert e.twins == (0,)
    np.testing.assert_allclose(e.heatmap(0).sum() + e.unexplained[0], e.outlierness[0], rtol=1e-6)


def test_strangest_window_touches_the_circle(circle):
    _, is_inside, e = circle
    strange = e.strangest(0)
    assert is_inside[tuple(map(slice, strange.start, strange.stop))].any()


@pytest.mark.parametrize("kind", ["shifted", "blurred"])
def test_image_differs_from_a_grid_in_a_disk_only(kind):
    image, is_inside = seeded_circle(kind, 3)
    other, elsewhere = seeded_circle(kind, 4)
    assert image.shape == is_inside.shape == (256, 256)
    assert is_inside.sum() == pytest.approx(np.pi * RADIUS**2, rel=0.02)
    grids = np.round(np.stack([image, other]))  # noise is far below a half
    undisturbed = ~(is_inside | elsewhere)
    np.testing.assert_array_equal(grids[0][undisturbed], grids[1][undisturbed])
    assert np.abs(image - np.round(image))[undisturbed].max() < 0.2


def test_shift_is_that_of_two_pixels():
    image, is_inside = seeded_circle("shifted", 0)
    usual = np.round(seeded_circle("blurred", 5)[0])  # its circle is elsewhere
    shifted = np.roll(usual, (SHIFT, SHIFT), axis=(0, 1))
    np.testing.assert_array_equal(np.round(image)[is_inside], shifted[is_inside])
    assert (np.round(image)[is_inside] != usual[is_inside]).mean() > 0.2


def test_same_seed_gives_the_same_image():
    np.testing.assert_array_equal(seeded_circle("blurred", 7)[0], seeded_circle("blurred", 7)[0])
    with pytest.raises(KeyError):
        seeded_circle("turned", 7)
