"""Drawing of models in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Measured = Mapping[str, Any]

# Okabe and Ito's colours, which colour-blind people can distinguish.
_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")
_PARTS = (("first variable", "#0072B2"), ("second variable", "#E69F00"), ("unexplained", "#BBBBBB"))
_TITLES = ("inlierness i(x)", "outlierness o(x)", "soft min-pooling", "flow of relevance", "parts of o")
_NAMES = {"exponential": "Gaussian", "student": "Student"}
_LETTERS = "ABCD"
_SMALL = 8  # points
_ARROW = 2.2  # length of an arrow that has all of the outlierness
_FAINT = 0.02  # shares below are not drawn


def prototypes_figure(measured: Mapping[str, Measured], points: Floats, reach: float) -> Any:
    """A row of five panels for each family of kernels."""
    from whyodd.plots.figures import blank_figure

    figure = blank_figure((14.0, 2.75 * len(measured) + 0.5))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(measured), len(_TITLES), squeeze=False, width_ratios=(1, 1, 1, 1, 0.75))
    for axes, (family, one) in zip(grid, measured.items(), strict=True):
        _draw_row(figure, axes, one, points, reach)
        axes[0].set_ylabel(f"{_NAMES[family]} kernel\n$x_2$", fontsize=_SMALL + 1)
    for ax, title in zip(grid[0], _TITLES, strict=True):
        ax.set_title(title, fontsize=_SMALL + 2)
    for ax in grid[-1, :4]:
        ax.set_xlabel("$x_1$", fontsize=_SMALL)
    return figure


def _draw_row(figure: Any, axes: Sequence[Any], one: Measured, points: Floats, reach: float) -> None:
    _draw_field(figure, axes[0], one["inlierness"], reach, "Blues")
    _draw_field(figure, axes[1], one["outlierness"], reach, "Reds")
    _draw_assignment(axes[2], one, reach)
    _draw_flow(axes[3], one, points)
    _draw_parts(axes[4], one)
    for ax in axes[:2]:
        ax.plot(*points.T, ".", color="black", markersize=2)
    for ax in axes[:3]:
        ax.plot(*one["centers"].T, "o", markerfacecolor="none", markeredgecolor="black", markersize=5)
    for ax in axes[:4]:
        ax.set(
            xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=(-4, 0, 4), yticks=(-4, 0, 4)
        )
        ax.tick_params(labelsize=_SMALL - 1)


def _draw_field(figure: Any, ax: Any, values: Floats, reach: float, colours: str) -> None:
    side = np.linspace(-reach, reach, values.shape[0])
    filled = ax.contourf(side, side, values, levels=12, cmap=colours)
    bar = figure.colorbar(filled, ax=ax, shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=_SMALL - 1)


def _draw_assignment(ax: Any, one: Measured, reach: float) -> None:
    """Each place in the colour of the center with the largest share; the paler, the less it has."""
    from matplotlib.colors import to_rgb

    palette = np.array([to_rgb(colour) for colour in _COLOURS])
    colour = palette[one["nearest"] % len(palette)]
    lone = 1.0 / len(one["centers"])
    strength = ((one["share"] - lone) / (1.0 - lone))[..., None]
    ax.imshow(1.0 - strength * (1.0 - colour), extent=(-reach, reach, -reach, reach), origin="lower")


def _draw_flow(ax: Any, one: Measured, points: Floats) -> None:
    """Lines to centers by their share of relevance, arrows by the shares of the two variables."""
    ax.plot(*points.T, ".", color="#999999", markersize=2)
    for k, outlier in enumerate(one["outliers"]):
        for center, p in zip(one["centers"], one["outlier_p"][k], strict=True):
            if p >= _FAINT:
                ax.plot(*np.stack([outlier, center]).T, "-", color="#777777", linewidth=4.0 * p, alpha=0.6)
        _draw_arrows(ax, outlier, one, k)
        ax.plot(*outlier, "s", color="black", markersize=4)
        ax.annotate(
            _LETTERS[k],
            outlier,
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=_SMALL,
            fontweight="bold",
        )
    ax.plot(*one["centers"].T, "o", markerfacecolor="white", markeredgecolor="black", markersize=4)


def _draw_arrows(ax: Any, outlier: Floats, one: Measured, k: int) -> None:
    """Towards what was expected, as long as the share of each variable."""
    away = np.sign(outlier - one["outlier_expected"][k])
    lengths = _ARROW * one["outlier_relevance"][k] / one["outlier_o"][k] * away
    for axis, (_, colour) in enumerate(_PARTS[:2]):
        if abs(lengths[axis]) < _FAINT * _ARROW:
            continue
        tip = outlier - lengths[axis] * np.eye(2)[axis]
        ax.annotate(
            "",
            tip,
            xytext=outlier,
            arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2.0, "shrinkA": 0, "shrinkB": 0},
        )


def _draw_parts(ax: Any, one: Measured) -> None:
    """What the outlierness of each outlier is made of, as stacked bars."""
    parts = (
        np.column_stack([one["outlier_relevance"], one["outlier_unexplained"]]) / one["outlier_o"][:, None]
    )
    rows, left = np.arange(len(parts)), np.zeros(len(parts))
    for column, (name, colour) in enumerate(_PARTS):
        ax.barh(rows, parts[:, column], left=left, color=colour, label=name, height=0.6)
        left = left + parts[:, column]
    ax.set_yticks(
        rows, [f"{_LETTERS[k]}: o = {o:,.0f}" for k, o in enumerate(one["outlier_o"])], fontsize=_SMALL
    )
    ax.set(xlim=(0.0, 1.0), ylim=(len(parts) - 0.5, -1.9), xticks=(0.0, 0.5, 1.0))
    ax.set_xlabel("share of o", fontsize=_SMALL)
    ax.tick_params(labelsize=_SMALL - 1)
    ax.legend(fontsize=_SMALL - 1, loc="upper center", frameon=False, borderpad=0.1, labelspacing=0.2)
    ax.spines[["top", "right"]].set_visible(False)
