"""Real textures end to end, each by a model of its own patches."""

import numpy as np
import pytest
import skimage.data
from PIL import Image
from scipy.stats import spearmanr

from textures import TOLD, pictures, reduced, self_explained, write_figure
from whyodd.network.waist import center_of_rows
from whyodd.patches import sobel
from whyodd.patches.colours import per_pixel

pytestmark = pytest.mark.data

SMALL = ["dtd_textures/chequered_0048.jpg", "dtd_textures/braided_0074.jpg", "ucmerced/parkinglot03.png"]


@pytest.fixture(scope="module", params=SMALL)
def explained(request, data_dir):
    """A texture of 96 pixels across, explained by 1,500 of its own patches."""
    with Image.open(data_dir / request.param) as picture:
        return self_explained(reduced(picture, 96), max_patches=1_500)


def test_all_outlierness_is_on_pixels_or_unexplained(explained):
    total = explained.heatmap(0).sum() + explained.unexplained[0]
    np.testing.assert_allclose(total, explained.outlierness[0], rtol=1e-6)
    assert explained.unexplained[0] > 0.0
    assert explained.heatmap(0).min() >= 0.0


def test_relevance_has_the_shape_of_the_picture(explained):
    image = explained.data[0]
    assert image.shape[1] == 96
    assert explained.heatmap(0).shape == image.shape
    assert len(explained.channels) == (image.shape[2] if image.ndim == 3 else 1)


def test_only_patches_that_are_centers_leave_themselves_out(explained):
    image, model = explained.data[0], explained.model
    scale = model.scales_[0]
    assert explained.twins == (0,)
    rise = (model.score_map(image) - model.score_map(image, exclude_self=False)).ravel()
    is_center = np.zeros(rise.size, dtype=bool)
    is_center[scale.windows[center_of_rows(scale.network) >= 0]] = True
    np.testing.assert_array_equal(rise[~is_center], 0.0)
    assert is_center.sum() > 150  # ν of 1,500 patches at least
    assert rise[is_center].min() > 0.0


def test_relevance_is_not_that_of_edges(explained):
    edges = sobel(explained.data[0]).ravel()
    assert spearmanr(per_pixel(explained.heatmap(0)).ravel(), edges).statistic < 0.8


def test_all_pictures_of_the_figure_are_there(data_dir):
    found = pictures()
    assert set(TOLD) <= set(found)
    n_files = len([*data_dir.glob("dtd_textures/*.jpg"), *data_dir.glob("ucmerced/parkinglot*.png")])
    assert len(found) == 5 + n_files


def test_reducing_does_not_alias():
    stripes = np.tile(np.array([0, 255], dtype=np.uint8), (512, 256))
    assert np.ptp(reduced(Image.fromarray(stripes))[:, 8:-8]) <= 2
    assert reduced(Image.fromarray(skimage.data.brick())).shape == (256, 256)


def test_figure_is_a_small_picture(tmp_path):
    e = self_explained(reduced(Image.fromarray(skimage.data.brick()), 40), max_patches=200)
    write_figure({"one": e, "two": e}, tmp_path / "figure.png", blocks=2)
    with Image.open(tmp_path / "figure.png") as figure:
        assert figure.width > 2 * figure.height > 200
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
