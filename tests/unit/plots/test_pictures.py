"""Every plot looks as it did: its picture is compared with the one that is stored for it.

If a change was meant to be seen, store the pictures anew and look at them: see ``pictures.py``.
"""

import numpy as np
import pytest

from unit.plots.pictures import BASELINE, PICTURES, difference, figure_of, pixels_of, settings, stored
from whyodd.plots import PLOTS

# Of 255. Other hinting moves letters by several pixels, much more than another version of FreeType without
# it does, and what makes room for them changes the pictures by up to 20 (see the test of it). One dot of
# beeswarm, the smallest thing drawn, makes 30 or more.
TOLERANCE = 25.0


@pytest.fixture(autouse=True)
def _settings():
    with settings():
        yield


@pytest.mark.parametrize("name", PICTURES)
def test_looks_as_it_did_and_a_change_would_be_seen(name):
    figure = figure_of(name)
    assert difference(pixels_of(figure), stored(name)) <= TOLERANCE
    PICTURES[name].change(figure)
    assert difference(pixels_of(figure), stored(name)) > TOLERANCE


# The three that other letters change at all.
@pytest.mark.parametrize("name", ["beeswarm", "strangest", "text"])
def test_other_letters_are_no_change(name):
    with settings(**{"text.hinting": "default"}):
        assert difference(pixels_of(figure_of(name)), stored(name)) <= TOLERANCE


@pytest.mark.parametrize("name", PICTURES)
def test_other_colours_would_be_seen(name):
    """What is drawn today, with red for blue: a plot that has lost its colours would pass for itself."""
    drawn = pixels_of(figure_of(name))
    assert difference(drawn[..., ::-1], stored(name)) > TOLERANCE


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
    assert difference(np.roll(barred, 6, axis=1), barred) > TOLERANCE
    assert difference(white, barred) == 0.75 * 255.0  # two pixels further down, a quarter of a tile is white
    assert difference(white[:59], white) == 255.0
