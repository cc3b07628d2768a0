"""Figures of the experiment on MNIST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.plots.figures import blank_figure

if TYPE_CHECKING:
    from whyodd.experiments.page import Picture
    from whyodd.experiments.run import Run, Step

_NAMES = {"dtd": "One-Class DTD", "mvn": "MVN"}
# Colours that colour-blind people can distinguish (Okabe and Ito), and markers for those who see none.
_LOOKS = {
    "training": ("#999999", "."),
    "inlier": ("#009E73", "o"),
    "type I": ("#0072B2", "^"),
    "type II": ("#D55E00", "s"),
}
_TYPES = ("inlier", "type I", "type II")
_THUMBNAILS = 4  # images of each kind in the embedding
_GREY = "#555555"


def draw_embedding(run: Run, embedding: Step) -> Picture:
    """Principal components, with some of the images at their places."""
    figure = blank_figure((7.0, 5.2))
    ax = figure.subplots()
    for kind, (name, (colour, marker)) in enumerate(_LOOKS.items()):
        x, y = embedding["places"][embedding["kinds"] == kind].T
        ax.scatter(x, y, s=14, color=colour, marker=marker, label=name, alpha=0.7, linewidths=0)
    _add_thumbnails(ax, embedding)
    ax.set(xlabel="first principal component", ylabel="second principal component")
    ax.margins(0.12)
    _add_legend_below(figure, ax)
    return run.draw(
        "embedding",
        figure,
        "Random subset of the images for the class of zeros in the plane of their first two principal "
        "components. Training and explaining use the original pixels.",
    )


def _add_thumbnails(ax: Any, embedding: Step) -> None:
    """Images at the places of some points, framed in the colour of their kind."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    colours = [colour for colour, _ in _LOOKS.values()]
    for index in _apart(embedding["places"], embedding["kinds"]):
        picture = OffsetImage(255 - embedding["images"][index], zoom=0.75, cmap="gray")
        frame = {"edgecolor": colours[embedding["kinds"][index]], "linewidth": 1.2}
        ax.add_artist(AnnotationBbox(picture, embedding["places"][index], pad=0.1, bboxprops=frame))


def _apart(places: Any, kinds: Any) -> list[int]:
    """Points of the three types in turn, each the farthest from those before it."""
    # Thumbnails are twice as wide as high.
    spread = places * (0.5, 1.0)
    chosen = [int(np.flatnonzero(kinds)[0])]
    for turn in range(1, 3 * _THUMBNAILS):
        members = np.flatnonzero(kinds == 1 + turn % 3)
        gaps = np.abs(spread[members, None] - spread[chosen]).max(axis=2).min(axis=1)
        chosen.append(int(members[gaps.argmax()]))
    return chosen


def draw_examples(run: Run, examples: Step) -> Picture:
    """An image of each type with both explanations."""
    figure = blank_figure((7.8, 3.9))
    grid = figure.add_gridspec(
        3,
        4,
        width_ratios=(1, 1, 1, 0.04),
        left=0.04,
        right=0.92,
        top=0.93,
        bottom=0.03,
        hspace=0.12,
        wspace=0.06,
    )
    for column, content in enumerate(("images", *_NAMES)):
        highest = examples[content].max()
        for row, kind in enumerate(_TYPES):
            ax = figure.add_subplot(grid[row, column])
            colours = "gray_r" if content == "images" else "magma"
            shown = ax.imshow(examples[content][row], cmap=colours, vmin=0, vmax=highest)
            ax.axvline(27.5, color=_GREY, linewidth=0.8, linestyle=":")
            ax.set(xticks=[], yticks=[])
            if column == 0:
                ax.set_ylabel(kind)
            if row == 0:
                ax.set_title(_NAMES.get(content, "image"), fontsize=10)
        if content == "dtd":
            bar = shown
    colourbar = figure.colorbar(bar, cax=figure.add_subplot(grid[:, 3]), ticks=[0.0, bar.norm.vmax])
    colourbar.ax.set_yticklabels(["0", "largest"])
    return run.draw(
        "examples",
        figure,
        "One example of each type and its explanations. All three heatmaps of a method share one scale, from "
        f"0 to its largest relevance: {examples['dtd'].max():.3g} for DTD, {examples['mvn'].max():,.3g} "
        "for MVN.",
    )


def draw_sides(run: Run, measured: list[Step]) -> Picture:
    """Relevance on the left over that on the right, a mark for every point of the ten classes."""
    figure = blank_figure((9.0, 4.7))
    both = np.concatenate([step["sides"] for step in measured], axis=2)
    for ax, name, points in zip(figure.subplots(1, 2), _NAMES.values(), both, strict=True):
        for kind, of_kind in zip(_TYPES, points, strict=True):
            colour, marker = _LOOKS[kind]
            ax.scatter(
                of_kind[:, 1],
                of_kind[:, 0],
                s=9,
                color=colour,
                marker=marker,
                alpha=0.45,
                linewidths=0,
                label=kind,
            )
        highest = 1.04 * points.max()
        ax.plot([0, highest], [0, highest], ":", color=_GREY, linewidth=1)
        ax.set(xlim=(-0.02 * highest, highest), ylim=(-0.02 * highest, highest), aspect="equal", title=name)
        ax.set(xlabel=r"$H_\mathrm{right}$", ylabel=r"$H_\mathrm{left}$")
        ax.ticklabel_format(scilimits=(-3, 4))
    _add_legend_below(figure, ax)
    return run.draw(
        "sides",
        figure,
        "Relevance on the left and on the right of every image, all ten classes, a model for each. Dotted: "
        "as much on either side.",
    )


def draw_shares(run: Run, results: dict[str, Any]) -> Picture:
    """Mean share on the left by type and method, and every class as a point."""
    figure = blank_figure((6.4, 4.0))
    ax = figure.subplots()
    for m, (method, name) in enumerate(_NAMES.items()):
        places = np.arange(len(_TYPES)) + (m - 0.5) * 0.36
        means = [results["mean"][method][kind]["share_left"] for kind in _TYPES]
        ax.bar(places, means, 0.34, color=("#0072B2", "#E69F00")[m], label=name)
        for place, mean, kind in zip(places, means, _TYPES, strict=True):
            shares = [one[method][kind]["share_left"] for one in results["classes"].values()]
            ax.plot(place + np.linspace(-0.1, 0.1, 10), shares, ".", color="black", markersize=3)
            told = f"{mean:.2f}" if mean >= 0.005 else f"{mean:.4f}"
            ax.text(place, max(shares) + 0.05, told, ha="center", fontsize=9, backgroundcolor="white")
    ax.axhline(0.5, color=_GREY, linestyle=":", linewidth=1, zorder=0)
    ax.set_xticks(range(len(_TYPES)), _TYPES)
    ax.set(ylabel="share of relevance on the left", ylim=(0, 1.13))
    _add_legend_below(figure, ax)
    return run.draw(
        "shares",
        figure,
        "Mean share of relevance on the left (bars: over the ten classes; dots: each class). Dotted: a half.",
    )


def draw_regularization(run: Run, results: dict[str, Any]) -> Picture:
    """Share on the left under MVN as λ grows, beside that of DTD, which has no λ."""
    figure = blank_figure((6.8, 4.2))
    ax = figure.subplots()
    varied = results["regularization"]
    for kind in _TYPES[1:]:
        colour, marker = _LOOKS[kind]
        ax.plot(
            varied["values"],
            varied["share_left"][kind],
            color=colour,
            marker=marker,
            markersize=4,
            label=f"MVN, {kind}",
        )
        level = results["mean"]["dtd"][kind]["share_left"]
        ax.axhline(level, color=colour, linestyle="--", linewidth=1.2, label=f"DTD, {kind}")
    ax.axvline(
        varied["used"], color=_GREY, linestyle=":", linewidth=1, label=f"λ = {varied['used']:g}, used here"
    )
    ax.set(xscale="log", xlabel="λ, added to each variance of MVN", ylabel="share of relevance on the left")
    ax.set_ylim(bottom=0)
    _add_legend_below(figure, ax, columns=3)
    return run.draw(
        "regularization",
        figure,
        "How MVN's share on the left depends on λ, which the paper leaves open (pixel values from 0 to 255, "
        "mean over the ten classes). As λ grows beyond all variances, MVN becomes the plain squared "
        "difference from the mean.",
    )


def _add_legend_below(figure: Any, ax: Any, columns: int = 4) -> None:
    figure.set_layout_engine("constrained", h_pad=0.08)
    legend = figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        markerscale=1.6,
    )
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)
