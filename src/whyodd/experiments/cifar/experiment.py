"""Internal validation on CIFAR-10: which explanation lets outlierness fall fastest as pixels are flipped."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from whyodd.evaluation.flipping import flip
from whyodd.experiments.cifar.figures import draw_curves, draw_heatmaps
from whyodd.experiments.cifar.page import choices, tables
from whyodd.experiments.cifar.statements import statements
from whyodd.experiments.cifar.summary import METHODS, summarize
from whyodd.experiments.page import Outcome
from whyodd.experiments.run import Experiment
from whyodd.explainers.explaining import explain
from whyodd.models.registry import OneClassSVM
from whyodd.patches import PatchModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.experiments.run import Run, Step

    Images = NDArray[np.float32]
    Data = dict[str, Any]

_PATCH = (7, 7)
_CLASSES = 10

_PARAMETERS: dict[str, dict[str, Any]] = {
    "default": {
        "n_patches": 10_000,
        "n_images": 50,
        "images_per_step": 10,
        "checkpoints": 32,
        "nu": 0.1,
        "degrees": (1, 2, 4),
        "sigma": "nn",
        "student_a": 1.0,
        "literal_sigma": 1.0,
    },
    "quick": {"n_patches": 1000, "n_images": 4},
    "full": {"n_patches": 30_000, "n_images": 100},
}


@dataclass(frozen=True)
class TriedKernel:
    """A kernel of the experiment: ``sigma`` is a bandwidth, or the rule for one."""

    family: str
    q: int
    sigma: float | str
    is_literal: bool = False

    @property
    def key(self) -> str:
        """Its name in steps and in the JSON."""
        return f"{self.family}-q{self.q}{'-literal' if self.is_literal else ''}"


def tried_kernels(run: Run) -> list[TriedKernel]:
    """The six of the paper with one rule for the bandwidth, then Student's with the paper's very formula."""
    six = [
        TriedKernel(family, q, run["sigma"]) for family in ("exponential", "student") for q in run["degrees"]
    ]
    return six + [TriedKernel("student", q, run["literal_sigma"], is_literal=True) for q in run["degrees"]]


def perform(run: Run, data: Data) -> Outcome:
    """For each kernel: train on patches, explain test images by all methods, and flip their pixels."""
    images = chosen_images(run, data)
    kernels = tried_kernels(run)
    measured = {}
    with run.bar(len(kernels) * len(images), "Flipping images") as report:
        for position, kernel in enumerate(kernels):
            before = position * len(images)
            measured[kernel.key] = _measure_kernel(run, data, kernel, images, _from(before, report))
    results = summarize(measured)
    return Outcome(
        results=results,
        statements=statements(results),
        choices=choices(results, len(data["x_train"])),
        pictures=[
            draw_heatmaps(run, images[0], measured["exponential-q2"][0]["heatmaps"]),
            draw_curves(run, results),
        ],
        tables=tables(results),
    )


def _from(before: int, report: Callable[[int], None]) -> Callable[[int], None]:
    return lambda done: report(before + done)


def chosen_images(run: Run, data: Data) -> Images:
    """Random test images, class after class in turn: as many of each, and first an airplane."""
    random = run.random("images")
    orders = [random.permutation(np.flatnonzero(data["y_test"] == label)) for label in range(_CLASSES)]
    fewest, needed = min(map(len, orders)), -(-run["n_images"] // _CLASSES)
    if fewest < needed:
        raise ValueError(
            f"Of some class the data have {fewest} test image(s), expected {needed} of each. "
            "Pass all test images of CIFAR-10, or choose a smaller size."
        )
    chosen = [orders[i % _CLASSES][i // _CLASSES] for i in range(run["n_images"])]
    return np.asarray(data["x_test"][chosen], dtype=np.float32)


def _measure_kernel(
    run: Run, data: Data, kernel: TriedKernel, images: Images, report: Callable[[int], None]
) -> list[Step]:
    """Steps of some images each; the model is trained when the first of them is not finished yet."""
    trained = cache(partial(train, run, data, kernel))
    steps, size = [], run["images_per_step"]
    for start in range(0, len(images), size):
        some = images[start : start + size]
        compute = partial(measure_images, run, trained, some, start)
        steps.append(run.step(f"{kernel.key}-from-{start}", compute))
        report(start + len(some))
    return steps


def train(run: Run, data: Data, kernel: TriedKernel) -> PatchModel:
    """Model of random patches of the training images."""
    svm = OneClassSVM(kernel=kernel.family, q=kernel.q, a=run["student_a"], nu=run["nu"], sigma=kernel.sigma)
    model = PatchModel(svm, patch=_PATCH, max_patches=run["n_patches"], random_state=run.seed)
    with warnings.catch_warnings():
        # With q = 4 training may end early: how far from optimal it is stands in the results.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(np.asarray(data["x_train"], dtype=np.float32))


def measure_images(run: Run, trained: Callable[[], PatchModel], images: Images, start: int) -> Step:
    """Curves of all methods (methods, n, checkpoints + 1), and heatmaps of the first image."""
    model = trained()
    svm = model.scales_[0].model
    seed = int(run.random(f"random-{start}").integers(2**31))
    explained = {
        method: explain(model, images, method=method, exclude_self=False, random_state=seed)
        for method in METHODS
    }
    curves = flip(model, images, explained, checkpoints=run["checkpoints"], exclude_self=False)
    dtd = explained["dtd"]
    return {
        "curves": np.stack([curves[method] for method in METHODS]),
        "heatmaps": np.stack([explained[method].relevance[0].sum(axis=-1) for method in METHODS]),
        "unexplained": np.asarray(dtd.unexplained) / np.asarray(dtd.outlierness),
        "sigma": float(svm.kernel_.sigma),
        "n_support": len(svm.support_),
        "n_patches": run["n_patches"],
        "largest_weight": float(svm.weights_.max() * len(svm.weights_)),
        "violation": float(svm.violation_),
    }


EXPERIMENT = Experiment(
    title="CIFAR-10: which pixels make an image odd?",
    parameters=_PARAMETERS,
    load=lambda source: source.cifar10(),
    perform=perform,
)
