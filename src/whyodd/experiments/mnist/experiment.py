"""External validation on MNIST: digits beside a blank, where it is known which side makes an image odd."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.neuralize import neuralize
from whyodd.experiments.mnist.figures import (
    draw_embedding,
    draw_examples,
    draw_regularization,
    draw_shares,
    draw_sides,
)
from whyodd.experiments.mnist.page import CHOICES, statements, tables
from whyodd.experiments.page import Outcome
from whyodd.experiments.run import Experiment
from whyodd.explainers.explaining import explain
from whyodd.explainers.method import Task
from whyodd.explainers.methods.mvn import mvn
from whyodd.models.registry import OneClassSVM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.experiments.run import Run, Step
    from whyodd.explanations.table import Explanation

    Floats = NDArray[np.floating]
    Digits = NDArray[np.uint8]
    Data = dict[str, Any]

METHODS = ("dtd", "mvn")
TYPES = ("inlier", "type I", "type II")
_SIDE = 28  # pixels of a digit; an image is two of them wide
_SHOWN = 0  # the class of the embedding and the examples, as in the paper

_PARAMETERS: dict[str, dict[str, Any]] = {
    "default": {
        "sigma": 400.0,
        "nu": 0.01,
        "regularization": 1.0,
        "regularizations": tuple(float(f"{10**exponent:.3g}") for exponent in np.arange(-2, 6.5, 0.5)),
        "train_per_class": 10_000,  # more than there are
        "test_per_class": 100,
        "embedded_per_type": 100,
    },
    "quick": {"train_per_class": 500, "test_per_class": 20, "embedded_per_type": 20},
    "full": {"test_per_class": 10_000},
}


def perform(run: Run, data: Data) -> Outcome:
    """Train on each class, explain inliers and both types of outliers, and measure the two sides."""
    measured = []
    with run.bar(10, "Explaining classes") as report:
        for digit in range(10):
            measured.append(run.step(f"class-{digit}", partial(measure_class, run, data, digit)))
            report(digit + 1)
    examples = run.step("examples", lambda: _examples(run, data))
    embedding = run.step("embedding", lambda: _embedding(run, data))
    results = summarize(measured, run)
    return Outcome(
        results=results,
        statements=statements(results),
        choices=CHOICES,
        pictures=[
            draw_embedding(run, embedding),
            draw_examples(run, examples),
            draw_sides(run, measured),
            draw_shares(run, results),
            draw_regularization(run, results),
        ],
        tables=tables(results),
    )


def joined(left: Digits, right: Digits) -> Floats:
    """Images (n, 28 · 56) of digits beside each other."""
    return np.concatenate([left, right], axis=2).reshape(len(left), -1).astype(np.float64)


def training_images(run: Run, data: Data, digit: int) -> Floats:
    """Digits of a class beside a blank."""
    digits = data["x_train"][data["y_train"] == digit]
    chosen = _some(run.random(f"train-{digit}"), len(digits), run["train_per_class"])
    return joined(digits[chosen], np.zeros_like(digits[chosen]))


def points_to_explain(run: Run, data: Data, digit: int) -> Floats:
    """Inliers, outliers of type I and of type II (3, n, 28 · 56); point by point they share their halves."""
    random = run.random(f"test-{digit}")
    digits = data["x_test"][data["y_test"] == digit]
    own = digits[_some(random, len(digits), run["test_per_class"])]
    right, left = (_of_another_class(random, data, digit, len(own)) for _ in range(2))
    return np.stack([joined(own, np.zeros_like(own)), joined(own, right), joined(left, right)])


def sides(relevance: Floats) -> Floats:
    """Relevance (..., 2) on the left and on the right of images (..., 28 · 56)."""
    return np.asarray(relevance.reshape(*relevance.shape[:-1], _SIDE, 2, _SIDE).sum(axis=(-3, -1)))


def share_left(both: Floats) -> Floats:
    """Share of the relevance of both sides (..., 2) that is on the left."""
    return np.asarray(both[..., 0] / both.sum(axis=-1))


def _some(random: np.random.Generator, n: int, most: int) -> NDArray[np.intp]:
    return np.sort(random.choice(n, min(n, most), replace=False))


def _of_another_class(random: np.random.Generator, data: Data, digit: int, n: int) -> Digits:
    """Random test digits (n, 28, 28) of random classes other than ``digit``."""
    classes = random.choice([other for other in range(10) if other != digit], n)
    places = [np.flatnonzero(data["y_test"] == other) for other in range(10)]
    return np.asarray(data["x_test"][[random.choice(places[other]) for other in classes]])


def measure_class(run: Run, data: Data, digit: int) -> Step:
    """Both sides by method, type and point; and what they are for other λ."""
    train, points = training_images(run, data, digit), points_to_explain(run, data, digit)
    model = _fitted(run, train)
    dtd = _explained(model, points)
    by_mvn = {
        added: sides(_by_mvn(model, points, train, added))
        for added in {run["regularization"], *run["regularizations"]}
    }
    return {
        "sides": np.stack([sides(np.reshape(dtd.relevance, points.shape)), by_mvn[run["regularization"]]]),
        "outlierness": dtd.outlierness.reshape(points.shape[:2]),
        "unexplained": dtd.unexplained.reshape(points.shape[:2]),
        "shares_by_regularization": np.array(
            [share_left(by_mvn[added]).mean(axis=1) for added in run["regularizations"]]
        ),
        "n_train": len(train),
        "n_support": len(model.support_),
    }


def _fitted(run: Run, train: Floats) -> OneClassSVM:
    return OneClassSVM(kernel="gaussian", sigma=run["sigma"], nu=run["nu"]).fit(train)


def _explained(model: OneClassSVM, points: Floats) -> Explanation:
    with warnings.catch_warnings():
        # Pixels share their unit, whatever their variances.
        warnings.filterwarnings("ignore", message="The variance of", category=UserWarning)
        explanation: Explanation = explain(model, _rows(points), exclude_self=False)
    return explanation


def _by_mvn(model: OneClassSVM, points: Floats, train: Floats, added: float) -> Floats:
    """Like ``explain(..., method="mvn")``, but without the outlierness, which does not depend on λ."""
    task = Task(neuralize(model), _rows(points), given=train)
    return mvn(task, regularization=added).reshape(points.shape)


def _rows(points: Floats) -> Floats:
    return points.reshape(-1, points.shape[-1])


def _examples(run: Run, data: Data) -> Step:
    """The first point of each type, with both explanations."""
    train = training_images(run, data, _SHOWN)
    points = points_to_explain(run, data, _SHOWN)[:, :1]
    model, shape = _fitted(run, train), (len(TYPES), _SIDE, 2 * _SIDE)
    return {
        "images": points.reshape(shape).astype(np.uint8),
        "dtd": np.reshape(_explained(model, points).relevance, shape),
        "mvn": _by_mvn(model, points, train, run["regularization"]).reshape(shape),
    }


def _embedding(run: Run, data: Data) -> Step:
    """The first two principal components of some training images and some of each type."""
    from sklearn.decomposition import PCA

    train, points = training_images(run, data, _SHOWN), points_to_explain(run, data, _SHOWN)
    most = run["embedded_per_type"]
    chosen = _some(run.random("embedding"), len(train), most)
    shown = np.concatenate([train[chosen], *points[:, :most]])
    kinds = np.repeat(np.arange(4), [len(chosen)] + 3 * [min(most, points.shape[1])])
    return {
        "places": PCA(2, svd_solver="full").fit_transform(shown),
        "kinds": kinds,
        "images": shown.reshape(-1, _SIDE, 2 * _SIDE).astype(np.uint8),
    }


def summarize(measured: list[Step], run: Run) -> dict[str, Any]:
    """Means of every class, and over the classes."""
    classes = [_summary(step) for step in measured]
    by_regularization = np.mean([step["shares_by_regularization"] for step in measured], axis=0)
    return {
        "classes": {str(digit): summary for digit, summary in enumerate(classes)},
        "mean": _mean_over(classes),
        "regularization": {
            "used": run["regularization"],
            "values": run["regularizations"],
            "share_left": dict(zip(TYPES, by_regularization.T, strict=True)),
        },
    }


def _summary(step: Step) -> dict[str, Any]:
    unexplained = step["unexplained"] / step["outlierness"]
    methods: dict[str, Any] = {
        method: {kind: _means(step["sides"][m, t]) for t, kind in enumerate(TYPES)}
        for m, method in enumerate(METHODS)
    }
    for t, kind in enumerate(TYPES):
        methods["dtd"][kind]["unexplained_share"] = float(unexplained[t].mean())
    return {
        "n_train": step["n_train"],
        "n_test": step["sides"].shape[2],
        "n_support": step["n_support"],
        **methods,
        "left_beside_blank": {method: _kept(step["sides"][m, :, :, 0]) for m, method in enumerate(METHODS)},
    }


def _means(both: Floats) -> dict[str, float]:
    left, right = both.mean(axis=0)
    return {"left": float(left), "right": float(right), "share_left": float(share_left(both).mean())}


def _kept(left: Floats) -> dict[str, float]:
    """Relevance on the left of type I over that of the same digits beside a blank."""
    ratios = left[1] / left[0]
    return {
        "ratio_of_means": float(left[1].mean() / left[0].mean()),
        "median_ratio": float(np.median(ratios)),
    }


def _mean_over(summaries: list[Any]) -> Any:
    """Nested means of what has the same keys."""
    if isinstance(summaries[0], dict):
        return {key: _mean_over([summary[key] for summary in summaries]) for key in summaries[0]}
    return float(np.mean(summaries))


EXPERIMENT = Experiment(
    title="MNIST: which half of the image is odd?",
    parameters=_PARAMETERS,
    load=lambda source: source.mnist(),
    perform=perform,
)
