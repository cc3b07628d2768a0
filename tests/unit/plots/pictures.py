"""A small picture of each plot, how it is compared with the one stored for it, and how to store it anew.

After a change that was meant to be seen: ``python tests/unit/plots/pictures.py`` (all, or those named), and
look at what it wrote to ``baseline/`` before it is committed.
"""

from __future__ import annotations

import itertools
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from PIL import Image
from scipy.ndimage import uniform_filter

import whyodd
from whyodd import plots
from whyodd.findings.series import find_in_series
from whyodd.plots.reasons import BLUE, VERMILLION

if TYPE_CHECKING:
    from collections.abc import Callable

BASELINE = Path(__file__).parent / "baseline"
SETTINGS = {"figure.dpi": 60, "font.family": ["DejaVu Sans"], "text.hinting": "no_hinting"}
TILE, STEP, SHIFT = 8, 2, 2  # pixels


def wavy(n, d, pace):
    """Numbers (n, d) between -1 and 1 without a pattern, the same in every version of everything."""
    return np.sin(pace * np.arange(1, n * d + 1) ** 1.5).reshape(n, d)


def table():
    """40 rows, some of which are odd in one or two variables, too high or too low."""
    names = [
        "amount",
        "duration",
        "bytes_out",
        "bytes_in",
        "age",
        "a name of more letters than there is room for",
    ]
    rows = wavy(40, 6, 2.3)
    rows[:12, 0] += 4.0
    rows[6:18, 1] -= 3.0 + 0.1 * np.arange(12)
    rows[18:26, 2] += 5.0
    rows[26:30, 4] -= 4.0
    network = whyodd.DistanceNetwork(wavy(60, 6, 1.7))
    return whyodd.explain(network, pd.DataFrame(rows, columns=names))


def images():
    """A striped picture with a scratch, and one without."""
    stripes = np.tile([40.0, 40.0, 200.0, 200.0], (20, 6)) + 5.0 * wavy(20, 24, 1.1)
    scratched = stripes.copy()
    scratched[8:11, 4:16] = 255.0
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=60.0), patch=(4, 4))
    return model.fit([stripes]).explain([scratched, stripes], names=["scratched.png", "calm.png"])


def channels():
    """A series of two channels, one of which stops for a while."""
    steps = np.arange(120)[:, None]
    normal = np.hstack([np.sin(steps / 4), np.cos(steps / 7)]) + 0.05 * wavy(120, 2, 1.3)
    odd = normal.copy()
    odd[60:72, 0] = 0.0
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=0.5), patch=(8,))
    return model.fit([normal]).explain([odd], names=["pump 7"])


def events():
    """A series of two channels, one of which is too high for a while and stands still later."""
    steps = np.arange(400)[:, None]
    normal = np.hstack([np.sin(steps / 4), np.cos(steps / 7)]) + 0.1 * wavy(400, 2, 1.3)
    odd = normal.copy()
    odd[120:140, 0] += 3.0
    odd[300:330, 1] = 0.3
    return find_in_series(odd, normal).explanation


def messages():
    """A message with words that are usual, rare, and new."""
    usual = ["the meeting is on monday", "send the figures to the office", "the office is closed on monday"]
    model = whyodd.TextModel(min_df=1, paper=True).fit([*usual * 4, "please send the budget"])
    return model.explain(["please send\nfigures\nto the\nwrong office,\nyou fool\non monday"])


def curves():
    """How outlierness falls by a good method and by a bad one."""
    steps = np.linspace(1.0, 0.0, 11)
    spread = 1.0 + 0.1 * wavy(20, 1, 1.9)
    return {"dtd": 5.0 * steps ** (3.0 * spread), "random": 5.0 * steps ** (0.9 * spread)}


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


class Picture(NamedTuple):
    """An example of a plot, and a real change of it that must be seen."""

    draw: Callable[[], Any]
    change: Callable[[Any], None]


PICTURES = {
    "bars": Picture(lambda: plots.bars(table(), 8, k=4), swap_colours),
    "beeswarm": Picture(lambda: plots.beeswarm(table(), k=4), remove_one_dot),
    "events": Picture(lambda: plots.events(events()), remove_last("patches")),
    "expected": Picture(lambda: plots.expected(table(), 8, k=4), remove_last("lines")),
    "flipping": Picture(lambda: plots.flipping(curves()), other_colour),
    "heatmap": Picture(lambda: plots.heatmap(images()), other_limit),
    "heatmaps": Picture(lambda: plots.heatmaps(images()), other_limit),
    "patterns": Picture(lambda: plots.patterns(table()), remove_last("patches")),
    "reasons_map": Picture(lambda: plots.reasons_map(table()), remove_one_dot),
    "scores": Picture(lambda: plots.scores(table(), threshold=3.0), remove_last("patches")),
    "series": Picture(lambda: plots.series(channels(), marks=[(60, 72)]), remove_last("collections")),
    "strangest": Picture(lambda: plots.strangest(channels()), remove_last("patches")),
    "text": Picture(lambda: plots.text(messages()), unshade_a_word),
    "waterfall": Picture(lambda: plots.waterfall(table(), 8, k=4), remove_last("patches")),
}


def figure_of(name):
    """A new figure with the picture of that plot."""
    drawn = PICTURES[name].draw()
    return getattr(drawn, "figure", drawn)


def pixels_of(figure):
    """Pixels (height, width, 3) of a figure without letters and legends, 0 to 255.

    Every version of FreeType draws letters a little differently, and layouts make room for them. What they
    say is tested word by word beside this.
    """
    figure.canvas.draw()
    for legend in figure.findobj(mpl.legend.Legend):
        legend.set_visible(False)
    for text in figure.findobj(mpl.text.Text):
        if text.get_bbox_patch() is not None and text.get_bbox_patch().get_facecolor() != (1, 1, 1, 1):
            text.set_alpha(0.0)  # the shade around a word stays
        else:
            text.set_text("")
    for axis in figure.findobj(mpl.axis.Axis):
        axis.set_major_formatter(mpl.ticker.NullFormatter())
        axis.set_minor_formatter(mpl.ticker.NullFormatter())
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(np.float64)


def stored(name):
    """Pixels of the picture that is stored for that plot."""
    return np.asarray(Image.open(BASELINE / f"{name}.png").convert("RGB")).astype(np.float64)


def difference(one, other):
    """The largest difference of the mean colours of two pictures in a tile of 8 × 8 pixels, 0 to 255.

    Other versions of matplotlib and FreeType draw letters a little differently, and what makes room for them
    is a pixel or two elsewhere: tiles may lie up to two pixels apart in both directions.
    """
    if one.shape != other.shape:
        return 255.0
    blurred, moving = (uniform_filter(pixels, (TILE, TILE, 0)) for pixels in (one, other))
    fixed = blurred[::STEP, ::STEP]
    moving = np.pad(moving, [(SHIFT, SHIFT)] * 2 + [(0, 0)], "edge")
    height, width = one.shape[:2]
    gaps = [
        np.abs(fixed - moving[y : y + height : STEP, x : x + width : STEP]).max(axis=2)
        for y, x in itertools.product(range(2 * SHIFT + 1), repeat=2)
    ]
    return float(np.min(gaps, axis=0).max())


def store(name):
    """Write the picture of that plot."""
    picture = Image.fromarray(pixels_of(figure_of(name)).astype(np.uint8))
    picture.save(BASELINE / f"{name}.png", optimize=True)


@contextmanager
def settings(**other):
    """Settings under which pictures are drawn, whatever the user has; figures are closed at the end."""
    mpl.use("Agg")
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS | other)
        yield
        plt.close("all")


if __name__ == "__main__":
    with settings():
        for name in sys.argv[1:] or PICTURES:
            store(name)
