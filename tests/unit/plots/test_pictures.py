"""Every plot looks as it did: its picture is compared with the one that is stored for it.

If a change was meant to be seen, store the pictures anew and look at them: see ``pictures.py``.
"""

import numpy as np
import pytest

from unit.plots.pictures import BASELINE, PICTURES, difference, figure_of, pixels_of, settings, stored
from whyodd.plots import PLOTS
from whyodd.plots.reasons import BLUE, VERMILLION

# Of 255. Other hinting moves letters by several pixels, much more than another version of FreeType without
# it does, and what makes room for them changes the pictures by up to 20 (see the test of it). One dot of
# beeswarm, the smallest thing drawn, makes 30 or more.
TOLERANCE = 25.0


def remove_last(kind):
    """Take out the last of the lines, patches or collections of the first axes that have some."""

    def change(figure):
        ax = next(ax for ax in figure.axes if getattr(ax, kind))
        getattr(ax, kind)[-1].remove()

    return change


def swap_colours(figure):
    """Too low in the colour of too high."""
    for bar in figure.axes[0].patches:
        if bar.get_facecolor()[2] > 0.5:
            bar.set_facecolor(VERMILLION)


def remove_one_dot(figure):
    """Take out the dot of the first collection that is furthest to the right."""
    dots = figure.axes[0].collections[0]
    places = np.asarray(dots.get_offsets())
    places[places[:, 0].argmax()] = np.nan
    dots.set_offsets(places)


def other_limit(figure):
    image = next(ax for ax in figure.axes if ax.images and ax.get_position().x0 < 0.5).images[-1]
    image.set_data(np.asarray(image.get_array()) // 2)


def unshade_a_word(figure):
    next(text for text in figure.axes[0].texts if text.get_bbox_patch()).set_bbox(None)


def other_colour(figure):
    figure.axes[0].lines[0].set_color(BLUE if figure.axes[0].lines[0].get_color() != BLUE else VERMILLION)


# A real change of each picture that must be seen.
CHANGES = {
    "bars": swap_colours,
    "beeswarm": remove_one_dot,
    "expected": remove_last("lines"),
    "flipping": other_colour,
    "heatmap": other_limit,
    "heatmaps": other_limit,
    "reasons_map": remove_one_dot,
    "scores": remove_last("patches"),
    "series": remove_last("collections"),
    "strangest": remove_last("patches"),
    "text": unshade_a_word,
    "waterfall": remove_last("patches"),
}


@pytest.fixture(autouse=True)
def _settings():
    with settings():
        yield


@pytest.mark.parametrize("name", PICTURES)
def test_looks_as_it_did_and_a_change_would_be_seen(name):
    figure = figure_of(name)
    assert difference(pixels_of(figure), stored(name)) <= TOLERANCE
    CHANGES[name](figure)
    assert difference(pixels_of(figure), stored(name)) > TOLERANCE


# The three that other letters change at all.
@pytest.mark.parametrize("name", ["beeswarm", "strangest", "text"])
def test_other_letters_are_no_change(name):
    with settings(**{"text.hinting": "default"}):
        assert difference(pixels_of(figure_of(name)), stored(name)) <= TOLERANCE


@pytest.mark.parametrize("name", PICTURES)
def test_other_colours_would_be_seen(name):
    assert difference(stored(name)[..., ::-1], stored(name)) > TOLERANCE


def test_every_plot_has_a_picture():
    assert PICTURES.keys() == PLOTS.keys() == CHANGES.keys()
    files = list(BASELINE.iterdir())
    assert {file.name for file in files} == {f"{name}.png" for name in PLOTS}
    assert sum(file.stat().st_size for file in files) < 300_000


def test_difference():
    white = np.full((60, 80, 3), 255.0)
    barred = white.copy()
    barred[20:30, 10:40] = (213, 94, 0)
    assert difference(white, white) == 0.0
    assert difference(np.roll(barred, (2, -2), axis=(0, 1)), barred) == 0.0
    assert difference(np.roll(barred, 6, axis=1), barred) > TOLERANCE
    assert difference(white, barred) == 0.75 * 255.0  # two pixels further down, a quarter of a tile is white
    assert difference(white[:59], white) == 255.0
