"""What the paper states of the experiment on CIFAR-10, beside the numbers."""

from __future__ import annotations

from typing import Any

from whyodd.experiments.cifar.summary import METHODS, OTHERS, kernel_name
from whyodd.experiments.page import Statement

_SIGNIFICANT = 0.01


def statements(results: dict[str, Any]) -> list[Statement]:
    """What the paper states of this experiment, beside the numbers."""
    kernels = results["kernels"]
    return [
        _smallest(kernels, results["literal"]),
        _significant(kernels),
        _most_reliable(kernels),
        _converging(kernels),
        _mean_before_edges(kernels),
    ]


def _areas(one: dict[str, Any]) -> dict[str, float]:
    return {method: float(value["mean"]) for method, value in one["area"].items()}


def _smallest(kernels: dict[str, Any], literal: dict[str, Any]) -> Statement:
    won = _wins(kernels)
    return Statement(
        "Deep Taylor decomposition is superior for all considered kernels.",
        f"DTD has the smallest mean area for {_told(kernels)} With the Student kernels taken literally "
        f"(σ = 1, see below): for {_told(literal)}",
        "holds" if won == len(kernels) else "holds in part" if won else "does not hold",
    )


def _wins(kernels: dict[str, Any]) -> int:
    """For how many kernels no other method has a smaller mean area."""
    return sum(_areas(one)["dtd"] == min(_areas(one).values()) for one in kernels.values())


def _told(kernels: dict[str, Any]) -> str:
    beaten, alike = _beaten(kernels), _alike(kernels)
    exceptions = f" Not so: {'; '.join(beaten)}." if beaten else ""
    exceptions += f" Too close to tell: {'; '.join(alike)}." if alike else ""
    return f"{_wins(kernels)} of {len(kernels)} kernels.{exceptions}"


def _beaten(kernels: dict[str, Any]) -> list[str]:
    """Where another method has a smaller mean area."""
    return [
        f"{METHODS[method]} before DTD {_compared(key, one, method)}"
        for key, one in kernels.items()
        for method in OTHERS
        if one["tests"][method]["mean_difference"] > 0.0
    ]


def _alike(kernels: dict[str, Any]) -> list[str]:
    """Where DTD has the smaller mean area, but not significantly."""
    return [
        f"DTD before {METHODS[method]} {_compared(key, one, method)}"
        for key, one in kernels.items()
        for method in OTHERS
        if one["tests"][method]["mean_difference"] <= 0.0
        and one["tests"][method]["wilcoxon_p"] >= _SIGNIFICANT
        and not _is_small(one["n_images"])
    ]


def _compared(key: str, one: dict[str, Any], method: str) -> str:
    areas, p = _areas(one), one["tests"][method]["wilcoxon_p"]
    return (
        f"for {kernel_name(key)} (DTD {areas['dtd']:.4f}, {METHODS[method]} {areas[method]:.4f}, p = {p:.1g})"
    )


def _is_small(n_images: int) -> bool:
    """Whether so few pairs can have no significant p: the smallest is 2^(1 - n)."""
    return 2.0 ** (1 - n_images) >= _SIGNIFICANT


def _significant(kernels: dict[str, Any]) -> Statement:
    tests = {
        (key, method): test
        for key, one in kernels.items()
        if not key.endswith("q4")
        for method, test in one["tests"].items()
    }
    (key, method), weakest = max(tests.items(), key=lambda item: item[1]["wilcoxon_p"])
    holds = all(test["wilcoxon_p"] < _SIGNIFICANT and test["mean_difference"] < 0 for test in tests.values())
    n_images = kernels[key]["n_images"]
    return Statement(
        "The same, tested (the paper has no test): for q of 1 and 2, DTD is better than each other method.",
        f"Wilcoxon's signed-rank test of {n_images} pairs of areas: p of at most {weakest['wilcoxon_p']:.2g} "
        f"({METHODS[method]}, {kernel_name(key)}).",
        "holds" if holds else "too few images to tell" if _is_small(n_images) else "does not hold",
    )


def _most_reliable(kernels: dict[str, Any]) -> Statement:
    excess = {
        method: max(_areas(one)[method] / min(_areas(one).values()) for one in kernels.values())
        for method in METHODS
    }
    told = ", ".join(f"{METHODS[method]} {100 * (value - 1):.1f} %" for method, value in excess.items())
    return Statement(
        "Overall, DTD performs most reliably over all cases.",
        f"Area above that of the best method, at the kernel where this is largest: {told}.",
        "holds" if min(excess, key=excess.__getitem__) == "dtd" else "does not hold",
    )


def _converging(kernels: dict[str, Any]) -> Statement:
    gaps = {
        key: _areas(one)["nearest"] / _areas(one)["dtd"] - 1.0
        for key, one in kernels.items()
        if key.startswith("exponential")
    }
    told = ", ".join(
        f"{100 * gap:.1f} % ({key.split('-')[1].replace('q', 'q = ')})" for key, gap in gaps.items()
    )
    sizes = [abs(gap) for gap in gaps.values()]
    return Statement(
        "NN and DTD tend to converge to the same performance for the exponential kernels (as q grows).",
        f"Area of NN above that of DTD: {told}.",
        "holds" if sizes == sorted(sizes, reverse=True) else "does not hold",
    )


def _mean_before_edges(kernels: dict[str, Any]) -> Statement:
    won = sum(
        _areas(one)["mean"] < min(_areas(one)["sobel"], _areas(one)["random"]) for one in kernels.values()
    )
    return Statement(
        "EV is still better than Sobel and Random.",
        f"EV has a smaller mean area than both for {won} of {len(kernels)} kernels.",
        "holds" if won == len(kernels) else "holds in part" if won else "does not hold",
    )
