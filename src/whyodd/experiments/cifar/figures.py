"""Figures of the experiment on CIFAR-10."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.experiments.cifar.summary import METHODS, kernel_name
from whyodd.plots.figures import blank_figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.experiments.page import Picture
    from whyodd.experiments.run import Run

# Colours that colour-blind people can distinguish (Okabe and Ito), and dashes for those who see none.
_LOOKS: dict[str, tuple[str, Any]] = {
    "dtd": ("#D55E00", "-"),
    "sensitivity": ("#0072B2", "--"),
    "nearest": ("#009E73", "-."),
    "mean": ("#CC79A7", (0, (5, 1))),
    "sobel": ("#E69F00", (0, (1, 1))),
    "random": ("#777777", ":"),
}
_CLIPPED = 0.99  # quantile of a heatmap that has the brightest colour


def draw_heatmaps(run: Run, image: NDArray[np.float32], heatmaps: NDArray[np.float64]) -> Picture:
    """An image beside its heatmap by each method."""
    figure = blank_figure((10.5, 1.9))
    axes = figure.subplots(1, 1 + len(METHODS))
    figure.subplots_adjust(left=0.01, right=0.99, top=0.84, bottom=0.02, wspace=0.06)
    axes[0].imshow(image.astype(np.uint8))
    axes[0].set_title("airplane")
    for ax, name, heatmap in zip(axes[1:], METHODS.values(), heatmaps, strict=True):
        ax.imshow(heatmap, cmap="magma", vmin=0.0, vmax=np.quantile(heatmap, _CLIPPED))
        ax.set_title(name)
    for ax in axes:
        ax.set_axis_off()
    return run.draw(
        "heatmaps",
        figure,
        "Test image of the class airplane, and its relevance by each method for the Gaussian kernel, summed "
        "over channels. Each heatmap has a scale of its own, from 0 (black) to its 99 % quantile.",
    )


def draw_curves(run: Run, results: dict[str, Any]) -> Picture:
    """Flipping curves of the six kernels, with standard errors."""
    figure = blank_figure((10.0, 6.4))
    figure.set_layout_engine("constrained", h_pad=0.08)
    kernels = results["kernels"]
    axes = figure.subplots(2, len(kernels) // 2, sharex=True, sharey=True, squeeze=False)
    for ax, (key, one) in zip(axes.flat, kernels.items(), strict=True):
        _draw_kernel(ax, one["curves"])
        ax.set_title(kernel_name(key), fontsize=10)
    for ax in axes[-1]:
        ax.set_xlabel("share of pixels flipped")
    for ax in axes[:, 0]:
        ax.set_ylabel("outlierness, over that of the image")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(METHODS), frameon=False)
    n_images = next(iter(kernels.values()))["n_images"]
    return run.draw(
        "curves",
        figure,
        f"Outlierness while pixels are flipped, the most relevant first: mean of {n_images} test images, "
        "shaded: ± one standard error. Lower is better.",
    )


def _draw_kernel(ax: Any, curves: dict[str, Any]) -> None:
    for method, name in METHODS.items():
        colour, dashes = _LOOKS[method]
        mean, error = curves[method]["mean"], curves[method]["standard_error"]
        share = np.linspace(0.0, 1.0, len(mean))
        ax.fill_between(share, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
        width = 2.2 if method == "dtd" else 1.5
        ax.plot(share, mean, color=colour, linestyle=dashes, linewidth=width, label=name)
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
