"""The page of the experiment on CIFAR-10: what was chosen, and the numbers."""

from __future__ import annotations

from typing import Any

from whyodd.experiments.cifar.summary import METHODS, OTHERS, kernel_name
from whyodd.experiments.page import OpenPoint, Table


def choices(results: dict[str, Any], n_train: int) -> list[OpenPoint]:
    """Choices that the paper leaves open."""
    one = next(iter(results["kernels"].values()))
    literal = results["literal"]
    weights = ", ".join(
        f"{value['n_support']:,} of {value['n_patches']:,} patches for {kernel_name(key).split(', ')[1]}"
        for key, value in literal.items()
    )
    return [
        OpenPoint(
            "Windows of an image: 625 in the paper, but a 32×32 image has 26 · 26 = 676 of 7×7 pixels.",
            "All 676, one pixel apart.",
        ),
        OpenPoint(
            "Bandwidth of the Student kernels: 1 / (a + d^q) has none, and d is in the hundreds.",
            "The same as for the exponential kernels, σ = 0.1 quantile of distances to the nearest "
            "neighbour, 1 / (a + (d/σ)^q) with a = 1. Taken literally (σ = 1) the kernel matrix of these "
            "patches is nearly the identity and training chooses little or nothing (support vectors: "
            f"{weights}), while the paper finds it nearly singular for q = 4. A table below has the literal "
            "kernels, too.",
        ),
        OpenPoint("Number of test images.", f"{one['n_images']}, at random, of the ten classes in turn."),
        OpenPoint(
            "Training patches: 30,000 of 50,000 images.",
            f"{one['n_patches']:,} of {n_train:,} images, at random; the same ones for all kernels.",
        ),
        OpenPoint(
            "Whether a pixel is flipped as a whole.",
            "With all its channels, by the sum of their relevance; the outlierness is recorded at "
            f"{len(one['curves']['dtd']['mean']) - 1} steps of equally many pixels.",
        ),
        OpenPoint(
            "What sums up a curve.",
            "The area below it, by trapezoids, over its first value and with an axis from 0 to 1.",
        ),
        OpenPoint(
            "SA for a sum over windows.",
            "The squared gradient of the sum over all windows with respect to each pixel and channel.",
        ),
        OpenPoint(
            "q = 4, where the exponential kernel is indefinite.",
            "Training ends in a stationary point; a table has what is left of the violation of conditions.",
        ),
    ]


def tables(results: dict[str, Any]) -> list[Table]:
    """Areas, tests and models."""
    kernels, literal = results["kernels"], results["literal"]
    return [
        _area_table("Area below the curve, mean ± standard error", kernels),
        _test_table("DTD against each other method: p of Wilcoxon's test (of the paired t-test)", kernels),
        _model_table("Models", {**kernels, **literal}),
        _area_table("Student kernels as the formula has them, σ = 1: area", literal),
        _test_table("Student kernels as the formula has them, σ = 1: p", literal),
    ]


def _area_table(title: str, kernels: dict[str, Any]) -> Table:
    rows = [(kernel_name(key), *_area_cells(one["area"])) for key, one in kernels.items()]
    return Table(title, ("kernel", *METHODS.values()), rows)


def _area_cells(areas: dict[str, Any]) -> list[str]:
    smallest = min(float(value["mean"]) for value in areas.values())
    cells = {
        method: f"{areas[method]['mean']:.4f} ± {areas[method]['standard_error']:.4f}" for method in METHODS
    }
    return [
        f"**{cell}**" if float(areas[method]["mean"]) == smallest else cell for method, cell in cells.items()
    ]


def _test_table(title: str, kernels: dict[str, Any]) -> Table:
    rows = [
        (kernel_name(key), *(_test_cell(one["tests"][method], one["n_images"]) for method in OTHERS))
        for key, one in kernels.items()
    ]
    return Table(title, ("kernel", *(METHODS[method] for method in OTHERS)), rows)


def _test_cell(test: dict[str, Any], n_images: int) -> str:
    return f"{test['wilcoxon_p']:.1g} ({test['t_p']:.1g}); better on {test['smaller']} of {n_images}"


def _model_table(title: str, kernels: dict[str, Any]) -> Table:
    columns = (
        "kernel",
        "σ",
        "support vectors",
        "largest weight over the mean",
        "violation",
        "unexplained by DTD",
        "o with nothing left, over o",
    )
    return Table(title, columns, [_model_row(key, one) for key, one in kernels.items()])


def _model_row(key: str, one: dict[str, Any]) -> tuple[str, ...]:
    return (
        kernel_name(key),
        f"{one['sigma']:.1f}",
        f"{one['n_support']:,} of {one['n_patches']:,}",
        f"{one['largest_weight_over_mean']:.2f}",
        f"{one['violation']:.1e}",
        f"{one['unexplained_share']:.3f}",
        f"{one['end_over_start']:.4f}",
    )
