"""The page of the experiment on MNIST: statements of the paper, numbers, and what was chosen."""

from __future__ import annotations

from typing import Any

from whyodd.experiments.page import OpenPoint, Statement, Table

CHOICES = (
    OpenPoint(
        "λ of MVN.",
        "1, on pixel values from 0 to 255, fixed beforehand. A figure shows what other values give.",
    ),
    OpenPoint(
        "What training images, and how many test points.",
        "All training digits of a class; of its test digits `test_per_class` at random, and as many outliers "
        "of either type, made of test digits only.",
    ),
    OpenPoint(
        "How a random sample of another random class is drawn.",
        "A class among the other nine, all alike, then one of its test digits; left and right of type II "
        "apart from each other.",
    ),
    OpenPoint(
        "What the share of a side is.",
        "Of each point H_left / (H_left + H_right), then the mean over points, then over the ten classes. "
        "What DTD leaves unexplained belongs to neither side and is listed separately.",
    ),
)


def statements(results: dict[str, Any]) -> list[Statement]:
    """What the paper states of this experiment, beside the numbers."""
    mean = results["mean"]
    return [
        _inliers(mean),
        _undisturbed(results),
        _both_sides(mean),
        _one_side(results),
    ]


def _inliers(mean: dict[str, Any]) -> Statement:
    shares = {
        method: _total(mean[method]["inlier"]) / _total(mean[method]["type II"]) for method in ("dtd", "mvn")
    }
    return Statement(
        "Both methods attribute a small amount of outlierness to inliers.",
        f"Mean relevance of an inlier, over that of a type II outlier: {shares['dtd']:.2f} for DTD, "
        f"{shares['mvn']:.1g} for MVN.",
        "holds" if max(shares.values()) < 0.5 else "does not hold",
    )


def _undisturbed(results: dict[str, Any]) -> Statement:
    kept = results["mean"]["left_beside_blank"]["dtd"]
    by_class = [one["left_beside_blank"]["dtd"]["ratio_of_means"] for one in results["classes"].values()]
    return Statement(
        "Type I: an explanation of the left side should not be affected by distractions on the right.",
        "DTD's relevance on the left, over that of the same digit beside a blank: "
        f"{kept['ratio_of_means']:.3f} (ratio of means, averaged over classes; {min(by_class):.3f} to "
        f"{max(by_class):.3f}); median of the ratios of single points {kept['median_ratio']:.3f}. "
        "All training images are blank on the right, so a digit there adds the same to every squared "
        "distance and leaves the assignment to support vectors as it is.",
        "holds" if all(abs(ratio - 1.0) <= 0.1 for ratio in by_class) else "does not hold",
    )


def _both_sides(mean: dict[str, Any]) -> Statement:
    share = mean["dtd"]["type II"]["share_left"]
    return Statement(
        "Type II: relevance should fall in both sides; the one-class SVM reacts equally strongly to both.",
        f"DTD has a share of {share:.3f} on the left.",
        "holds" if 0.35 <= share <= 0.65 else "does not hold",
    )


def _one_side(results: dict[str, Any]) -> Statement:
    share = results["mean"]["mvn"]["type II"]["share_left"]
    varied = results["regularization"]
    by_value = dict(zip(varied["values"], varied["share_left"]["type II"], strict=True))
    below = [value for value, left in by_value.items() if left < 0.25]
    reach = f"It is below 0.25 up to λ = {max(below):,.4g}" if below else "It is below 0.25 for no λ"
    largest, at_largest = list(by_value.items())[-1]
    return Statement(
        "Type II: MVN largely ignores outlying patterns in the left panel.",
        f"MVN with λ = {varied['used']:g} has a share of {share:.3f} on the left. {reach} of those tried, "
        f"and {at_largest:.3f} for {largest:,.7g}. Pixels that never vary in training have variance λ alone.",
        "holds" if share < 0.25 else "does not hold",
    )


def _total(means: dict[str, float]) -> float:
    return means["left"] + means["right"]


def tables(results: dict[str, Any]) -> list[Table]:
    """Numbers by class."""
    named = [*results["classes"].items(), ("mean", results["mean"])]
    return [
        Table(
            "Share of relevance on the left",
            (
                "class",
                "support vectors",
                *(f"{m} {kind}" for m in ("DTD", "MVN") for kind in ("type I", "type II")),
            ),
            [
                (
                    name,
                    f"{one['n_support']:,.0f} of {one['n_train']:,.0f}",
                    *(
                        f"{one[m][kind]['share_left']:.4f}"
                        for m in ("dtd", "mvn")
                        for kind in ("type I", "type II")
                    ),
                )
                for name, one in named
            ],
        ),
        Table(
            "Type I: relevance on the left, over that of the same digits beside a blank",
            ("class", "DTD, ratio of means", "DTD, median ratio", "MVN, ratio of means"),
            [(name, *_ratios(one["left_beside_blank"])) for name, one in named],
        ),
        Table(
            "Mean relevance by method, type and class",
            ("class", "method", "type", "left", "right", "unexplained share of o"),
            [_row(name, one, m, kind) for name, one in named for m in ("dtd", "mvn") for kind in one[m]],
        ),
    ]


def _ratios(kept: dict[str, Any]) -> tuple[str, str, str]:
    dtd, mvn = kept["dtd"], kept["mvn"]
    return f"{dtd['ratio_of_means']:.4f}", f"{dtd['median_ratio']:.4f}", f"{mvn['ratio_of_means']:.4f}"


def _row(name: str, one: dict[str, Any], method: str, kind: str) -> tuple[str, ...]:
    means = one[method][kind]
    unexplained = f"{means['unexplained_share']:.3f}" if "unexplained_share" in means else ""
    return (name, method.upper(), kind, f"{means['left']:,.4g}", f"{means['right']:,.4g}", unexplained)
