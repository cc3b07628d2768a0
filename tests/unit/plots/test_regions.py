"""Odd regions on images: a line around them, heat within, and many on one sheet."""

import numpy as np
import pytest
from PIL import Image

import whyodd
from made_up.images import grain
from whyodd.plots.regions import contact_sheet, heat_over, outlined, side_by_side

LINE = (86, 180, 233)


def coloured(image, channels):
    return image if channels == 0 else np.stack([image] * channels, axis=-1)


@pytest.fixture(scope="module", params=[0, 1, 3, 4])
def e(request):
    normal = [coloured(grain(seed, (96, 96)), request.param) for seed in range(6)]
    odd = grain(20, (96, 96))
    odd[60:66, 20:40] += 20
    model = whyodd.ImageDetector("contrast", centers=200).fit(normal)
    return model.explain([coloured(odd, request.param), normal[0]])


def test_the_line_is_around_the_mask_and_all_else_is_as_it_was(e):
    drawn, mask = outlined(e, 0), e.mask(0)
    assert drawn.shape == (96, 96, 3)
    assert drawn.dtype == np.uint8
    is_line = (drawn == LINE).all(axis=-1)
    assert is_line.any()
    assert not (is_line & mask).any()
    before = np.asarray(e.data[0]).reshape(96, 96, -1)[..., :1]
    assert (drawn[~is_line] == before[~is_line]).all()


def test_heat_is_where_places_are_odd(e):
    drawn = heat_over(e, 0).astype(int)
    colourful = drawn.max(axis=-1) - drawn.min(axis=-1)
    assert colourful[60:66, 20:40].min() > 60
    calm = e.places[0] < 0.5 * e.model.place_threshold_
    assert colourful[calm].max(initial=0) == 0


def test_both_beside_each_other(e):
    assert side_by_side(e, 0).shape == (96, 2 * 96 + 8, 3)


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_a_sheet_has_room_for_all(count):
    red = Image.fromarray(np.full((30, 70, 3), (255, 0, 0), dtype=np.uint8))
    sheet = np.asarray(contact_sheet([("a name", False, red)] * count))
    assert (sheet == (255, 0, 0)).all(axis=-1).sum() == count * 30 * 70


def test_words_of_a_sheet():
    picture = Image.fromarray(grain(0))
    plain = np.asarray(contact_sheet([("calm", False, picture)])).astype(int)
    odd = np.asarray(contact_sheet([("calm", True, picture)])).astype(int)
    assert (odd[..., 0] - odd[..., 1]).max() > 100
    assert (plain[..., 0] == plain[..., 1]).all()
    for name in ("x" * 500, "写真\udcff\x1b[31m\n.png", "a\u202eb", ""):
        wide = np.asarray(contact_sheet([(name, False, picture)]))
        assert wide.shape == plain.shape
        assert (wide[:, -4:] == 255).all()  # words end before the sheet does
        assert (wide[:36, 300:] == 255).all() or len(name) > 100
