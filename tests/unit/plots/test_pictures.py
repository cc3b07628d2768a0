"""Every plot looks as it did: its picture is compared with the one that is stored for it.

If a change was meant to be seen, store the pictures anew and look at them: see ``pictures.py``.
"""

import numpy as np
import pytest

from unit.plots.pictures import BASELINE, PICTURES, difference, figure_of, pixels_of, settings, stored
from whyodd.plots import PLOTS

# Of 255. Most pictures stay the same to the last pixel: what they draw does not depend on letters. The
# thinnest thing drawn, the band of flipping, makes 3.5. Three give room to letters, which other hinting moves
# by several pixels, much more than another version of FreeType does: by up to 20 (see the test of it).
SAME = 2.0
ROOM_FOR_LETTERS = {"beeswarm": 25.0, "strangest": 13.0, "text": 11.0}
TOLERANCE = dict.fromkeys(PICTURES, SAME) | ROOM_FOR_LETTERS

# Things so thin that a coarser comparison would not miss them: where they are on the first axes.
THIN = {
    "bars": lambda ax: ax.lines,  # at 0
    "flipping": lambda ax: ax.collections,  # the standard errors
    "scores": lambda ax: [line for line in ax.lines if line.get_linestyle() == "--"],  # the threshold
    "series": lambda ax: [line for line in ax.lines if line.get_linewidth() == 0.8],  # the ends of a mark
    "waterfall": lambda ax: [line for line in ax.lines if line.get_linestyle() == "--"],  # the outlierness
}


@pytest.fixture(autouse=True)
def _settings():
    with settings():
        yield


@pytest.mark.parametrize("name", PICTURES)
def test_looks_as_it_did_and_a_change_would_be_seen(name):
    figure = figure_of(name)
    assert difference(pixels_of(figure), stored(name)) <= TOLERANCE[name]
    PICTURES[name].change(figure)
    assert difference(pixels_of(figure), stored(name)) > TOLERANCE[name]


@pytest.mark.parametrize("name", THIN)
def test_thin_things_would_be_missed(name):
    figure = figure_of(name)
    found = THIN[name](figure.axes[0])
    assert found
    for thing in list(found):
        thing.remove()
    assert difference(pixels_of(figure), stored(name)) > TOLERANCE[name]


@pytest.mark.parametrize("name", PICTURES)
def test_other_letters_are_no_change(name):
    with settings(**{"text.hinting": "default"}):
        assert difference(pixels_of(figure_of(name)), stored(name)) <= TOLERANCE[name]


@pytest.mark.parametrize("name", PICTURES)
def test_other_colours_would_be_seen(name):
    """What is drawn today, with red for blue: a plot that has lost its colours would pass for itself."""
    drawn = pixels_of(figure_of(name))
    assert difference(drawn[..., ::-1], stored(name)) > TOLERANCE[name]


def test_every_plot_has_a_picture():
    assert PICTURES.keys() == PLOTS.keys()
    files = list(BASELINE.iterdir())
    assert {file.name for file in files} == {f"{name}.png" for name in PLOTS}
    assert sum(file.stat().st_size for file in files) < 300_000


def test_difference():
    white = np.full((60, 80, 3), 255.0)
    barred = white.copy()
    barred[20:30, 10:40] = (213, 94, 0)
    assert difference(white, white) == 0.0
    assert difference(np.roll(barred, (2, -2), axis=(0, 1)), barred) == 0.0
    assert difference(np.roll(barred, 6, axis=1), barred) > max(TOLERANCE.values())
    assert difference(white, barred) == 0.75 * 255.0  # two pixels further down, a quarter of a tile is white
    assert difference(white[:59], white) == 255.0
