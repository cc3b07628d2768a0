"""Draw the figures of docs/how-it-works.md, from whyodd's own networks.

Run it from anywhere, with whyodd and matplotlib installed: ``python docs/how_figures.py``. The same versions
of the packages give the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import drawing
import numpy as np
from drawing import BLUE, FAINT, GREEN, GREY, INK, ORANGE

import whyodd
from whyodd.explanations.sentences import number, percent
from whyodd.kernels import Exponential
from whyodd.network.waist import decompose_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOLD: dict[str, Any] = {
    "color": "white",
    "weight": "bold",
    "ha": "center",
    "bbox": {"boxstyle": "round", "facecolor": ORANGE, "edgecolor": "none"},
}
NEW_ROW = np.array([[1.5, 2.1]])


def known_rows() -> np.ndarray:
    """40 rows to compare with."""
    return np.random.default_rng(3).normal(size=(40, 2)) * (0.8, 0.5)


def draw_soft_minimum(ax: Axes) -> None:
    """Outlierness on a line between two known rows, beside the energies that it pools."""
    x = np.linspace(-2.5, 4.5, 400)[:, None]
    centers = np.array([[0.0], [2.0]])
    network = whyodd.DistanceNetwork(centers, kernel=Exponential(sigma=0.7))
    energies = (x - centers.T) ** 2 / (2 * 0.7**2)
    ax.plot(x, energies, color=GREY, linestyle="--", linewidth=1.2)
    ax.plot(x, network.outlierness(x), color=BLUE, linewidth=2.4)
    ax.plot(centers, [0, 0], "o", color=INK, clip_on=False, zorder=3)
    ax.annotate("known rows", (1.0, -0.25), ha="center", va="top", annotation_clip=False)
    ax.text(-2.4, 0.5, "energies", color=FAINT)
    line = {"arrowstyle": "-", "color": BLUE}
    ax.annotate(
        "outlierness", (1.0, 1.1), (1.0, 4.6), ha="center", color=BLUE, weight="bold", arrowprops=line
    )
    ax.set(ylim=(0, 6), xlim=(-2.5, 4.5), xticks=[], ylabel="energy, outlierness", title="A soft minimum")


def draw_neighbours(ax: Axes) -> None:
    """Contours of the outlierness among known rows, and which of them count for a new one."""
    network = whyodd.DistanceNetwork(known_rows(), kernel=Exponential(sigma=0.45))
    draw_contours(ax, network.outlierness, (-2.6, 2.6), (-2.0, 2.8))
    p = network.assignment(NEW_ROW)[0]
    for share, row in zip(p, known_rows(), strict=True):
        ax.plot(*zip(NEW_ROW[0], row, strict=True), color=ORANGE, linewidth=6 * share, zorder=2)
    draw_rows(ax)
    ax.set(title="Who counts for a new row?", xticks=[], yticks=[])


def draw_contours(ax: Axes, outlierness: Any, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Filled contours of a score over a square."""
    across, up = np.meshgrid(np.linspace(*x, 140), np.linspace(*y, 140))
    o = outlierness(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    ax.contourf(across, up, o, levels=10, cmap="Blues", alpha=0.75)


def draw_rows(ax: Axes) -> None:
    """Known rows and the new one."""
    ax.plot(*known_rows().T, "o", color=INK, markersize=3.5, zorder=3)
    ax.plot(*NEW_ROW.T, "D", color=ORANGE, markersize=9, zorder=4, markeredgecolor="white")
    ax.annotate("new row", NEW_ROW[0], (8, 6), textcoords="offset points", color=ORANGE, weight="bold")


def draw_differences(ax: Axes) -> None:
    """The new row, what is expected of it, and the difference in each column."""
    network = whyodd.DistanceNetwork(known_rows(), kernel=Exponential(sigma=0.45))
    draw_contours(ax, network.outlierness, (-2.6, 2.6), (-2.0, 2.8))
    draw_rows(ax)
    (x, y), (width, height) = network.expected(NEW_ROW)[0], NEW_ROW[0]
    ax.plot(x, y, "s", color=BLUE, markersize=9, zorder=4, markeredgecolor="white")
    ax.annotate("expected", (x, y), (8, -14), textcoords="offset points", color=BLUE, weight="bold")
    for start, end, color in [((x, y), (width, y), GREEN), ((width, y), (width, height), ORANGE)]:
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 2.5, "shrinkA": 0, "shrinkB": 4}
        ax.annotate("", end, start, arrowprops=arrow, zorder=5)
    ax.set(xlabel="width", ylabel="height", xticks=[], yticks=[], title="What differs from what is expected?")


def draw_parts(ax: Axes) -> None:
    """The outlierness as one bar, divided into its parts."""
    network = whyodd.DistanceNetwork(known_rows(), kernel=Exponential(sigma=0.45))
    parts = network.decompose(NEW_ROW)
    o = float(parts.outlierness[0])
    names = ["height", "width", "no single column"]
    values = [parts.relevance[0, 1], parts.relevance[0, 0], parts.unexplained[0]]
    start = 0.0
    for name, value, color in zip(names, values, (ORANGE, GREEN, GREY), strict=True):
        ax.bar(0, value, bottom=start, color=color, width=0.5)
        text = f"{name}: {number(float(value))} ({percent(float(value) / o)})"
        ax.text(0.32, start + value / 2, text, va="center")
        start += value
    ax.set(xlim=(-0.35, 1.5), xticks=[], ylabel="outlierness", title=f"The parts of {number(o)} add up")


def draw_views(axes: Any) -> None:
    """What each view of a committee finds, over its usual size, on the same rows."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=500)
    rows = np.column_stack([first, 0.9 * first + 0.35 * rng.normal(size=500)])
    committee = whyodd.Committee(trusted=False).fit(rows).network_
    odd = np.array([[1.2, -1.2]])
    across, up = np.meshgrid(np.linspace(-3, 3, 90), np.linspace(-3, 3, 90))
    grid = np.column_stack([across.ravel(), up.ravel()])
    levels = [0, 1, 2, 4, 8, 16, 32]
    for ax, view in zip(axes.flat, committee.views, strict=True):
        at, usual, here = (_found(committee, view, of) for of in (grid, rows, odd))
        ratio = (at / usual.mean()).reshape(across.shape)
        filled = ax.contourf(across, up, ratio, levels=levels, cmap="Blues", extend="max", alpha=0.85)
        ax.plot(*rows[:250].T, "o", color=INK, markersize=1.6, alpha=0.6)
        ax.plot(*odd.T, "D", color=ORANGE, markersize=9, markeredgecolor="white")
        times = f"{number(float(here[0] / usual.mean()))} × usual"
        ax.annotate(times, odd[0], (0, -22), textcoords="offset points", **TOLD)
        ax.set(title=view.name, xticks=[], yticks=[], aspect="equal", xlim=(-3, 3), ylim=(-3, 3))
    ax.figure.colorbar(filled, ax=axes, label="times what is usual", ticks=levels, shrink=0.8)


def _found(committee: Any, view: Any, rows: np.ndarray) -> np.ndarray:
    """What a view has found in each of these rows."""
    parts = decompose_rows(view.score, committee.scaled(rows)).relevance / view.usual
    return np.asarray(parts.sum(axis=1))


def main() -> None:
    """Draw all figures and write the PNGs."""
    plt = drawing.begin(**{"axes.titlelocation": "left", "axes.titleweight": "bold"})
    pairs = {
        "how-pooling.png": (draw_soft_minimum, draw_neighbours),
        "how-decomposition.png": (draw_differences, draw_parts),
    }
    for name, (draw_left, draw_right) in pairs.items():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9), layout="constrained")
        draw_left(left)
        draw_right(right)
        drawing.save(figure, name, dpi=130)
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 7.2), layout="constrained")
    draw_views(axes)
    drawing.save(figure, "how-committee.png", dpi=130)


if __name__ == "__main__":
    main()
