"""Flipping the pixels of an image: whyodd against scoring all windows anew at every checkpoint.

Run: python benchmarks/flipping.py [--quick]

One CIFAR-10 image of 32 x 32 x 3, 7 x 7 patches, 32 checkpoints. The straightforward way sets differences to
the centers to 0 and computes o(Ψ) from them, in blocks of windows that fit into memory; it takes so long that
it is timed once. The clever way makes squared distances of masked matrix products. Both are NumPy, in the
same single precision as ours, and give the same curve, which is checked. What the model takes to score the
image as often, nothing flipped, is told too.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import whyodd
from realdata import data_dir
from sidebyside import best_of_turns, print_table
from whyodd.evaluation.flipping import flip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATCH, CHECKPOINTS, TURNS = 7, 32, 3
# Windows whose differences to all centers are in memory at a time.
WINDOWS_AT_A_TIME = 8
PROMISED_RATIO = 50.0
# Of the curve's first value: what single precision is promised to keep.
AGREEMENT = 1e-4
KERNELS = {
    "Laplacian": {"kernel": "laplacian"},
    "Gaussian": {"kernel": "gaussian"},
    "Student q = 2": {"kernel": "student", "q": 2.0},
}


@dataclass(frozen=True)
class Rival:
    """The network of a model of patches, and an image with the step in which each pixel goes."""

    centers: np.ndarray
    log_weights: np.ndarray
    kernel: whyodd.kernels.Kernel
    windows: np.ndarray  # (n, patch * patch * 3)
    stages: np.ndarray  # the same shape

    @classmethod
    def of(cls, model: whyodd.PatchModel, image: np.ndarray, relevance: np.ndarray) -> Rival:
        """A fitted model, an image and the relevance of its values."""
        network = model.scales_[0].network
        return cls(
            centers=np.asarray(network.centers, dtype=np.float32),
            log_weights=network.log_weights.astype(np.float32),
            kernel=network.kernel,
            windows=patches_of(image).astype(np.float32),
            stages=patches_of(np.repeat(stages_of(relevance)[..., None], 3, axis=2)),
        )

    def some(self, count: int) -> Rival:
        """The same with some of the windows."""
        chosen = np.random.default_rng(0).choice(len(self.windows), count, replace=False)
        return Rival(self.centers, self.log_weights, self.kernel, self.windows[chosen], self.stages[chosen])

    def straightforward(self) -> np.ndarray:
        """O at every checkpoint from differences of which those that are gone are 0."""
        return np.array([sum(self._by_differences(step)) for step in range(CHECKPOINTS + 1)])

    def _by_differences(self, step: int) -> Iterator[float]:
        for start in range(0, len(self.windows), WINDOWS_AT_A_TIME):
            part = slice(start, start + WINDOWS_AT_A_TIME)
            left = (self.stages[part] > step)[:, None, :]
            psi = (self.windows[part, None, :] - self.centers) * left
            yield self._pooled(np.einsum("ijk,ijk->ij", psi, psi))

    def clever(self) -> np.ndarray:
        """O at every checkpoint from matrix products of what is left."""
        squares, transposed = (self.centers**2).T.copy(), -2.0 * self.centers.T
        return np.array([self._by_products(step, squares, transposed) for step in range(CHECKPOINTS + 1)])

    def _by_products(self, step: int, squares: np.ndarray, transposed: np.ndarray) -> float:
        left = (self.stages > step).astype(np.float32)
        rest = left * self.windows
        d2 = rest @ transposed
        d2 += left @ squares
        d2 += np.einsum("ij,ij->i", rest, rest)[:, None]
        return self._pooled(np.maximum(d2, 0.0, out=d2))

    def _pooled(self, d2: np.ndarray) -> float:
        v = self.kernel.log_similarity(d2) + self.log_weights
        highest = v.max(axis=1, keepdims=True)
        log_g = highest[:, 0] + np.log(np.exp(v - highest).sum(axis=1, dtype=np.float64))
        return float(self.kernel.outlierness(log_g, len(self.centers)).sum())


def cifar_images(count: int) -> np.ndarray:
    """The first CIFAR-10 images (count, 32, 32, 3)."""
    folder = data_dir()
    if folder is None:
        raise FileNotFoundError("no data folder: set WHYODD_DATA to the folder that holds cifar10")
    with np.load(folder / "cifar10" / "cifar10_subset.npz") as archive:
        return archive["x_train"][:count]


def patches_of(image: np.ndarray) -> np.ndarray:
    """What every window holds (windows, patch * patch * channels)."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (PATCH, PATCH), axis=(0, 1))
    return np.moveaxis(windows, 2, -1).reshape(-1, PATCH * PATCH * image.shape[2])


def stages_of(relevance: np.ndarray) -> np.ndarray:
    """(H, W) the checkpoint from which on each pixel is gone."""
    order = np.argsort(-relevance.sum(axis=2).ravel(), kind="stable")
    stages = np.empty(order.size, dtype=int)
    stages[order] = 1 + np.arange(order.size) * CHECKPOINTS // order.size  # 1,024 pixels: 32 at a time
    return stages.reshape(relevance.shape[:2])


def check_agreement(curve: np.ndarray, reference: np.ndarray, what: str) -> None:
    difference = np.abs(curve - reference).max() / reference[0]
    assert difference <= AGREEMENT, f"{what} differs by {difference:.0e} of the first value"


def against_scoring_anew(n_centers: int, n_windows: int | None) -> None:
    """Seconds and ratios for each kernel; the straightforward way on some windows, and scaled to all."""
    images = cifar_images(101)
    rows = []
    for name, keywords in KERNELS.items():
        detector = whyodd.KernelDensity(**keywords, sigma="nn")
        model = whyodd.PatchModel(detector, patch=(PATCH, PATCH), max_patches=n_centers, random_state=0)
        e = model.fit(images[:100]).explain(images[100])
        rival = Rival.of(model, images[100], e.relevance[0])
        few = rival if n_windows is None else rival.some(n_windows)
        ours = partial(flip, model, images[100], e)
        curve = ours()[0]
        check_agreement(curve, rival.clever(), "the clever way")
        start = time.perf_counter()
        slow_curve = few.straightforward()
        slow = (time.perf_counter() - start) * len(rival.windows) / len(few.windows)
        check_agreement(few.clever(), slow_curve, "the straightforward way")
        contenders: dict[str, Callable[[], object]] = {
            "ours": ours,
            "one thread": partial(ours, n_jobs=1),
            "clever": rival.clever,
            "scores": lambda model=model: [model.outlierness(images[100]) for _ in range(CHECKPOINTS + 1)],
        }
        seconds = best_of_turns(contenders, TURNS)
        rows.append(
            (
                name,
                f"{seconds['ours']:.3f}",
                f"{seconds['one thread']:.3f}",
                f"{slow:.1f}",
                f"{slow / seconds['ours']:.0f}",
                f"{seconds['clever']:.2f}",
                f"{seconds['clever'] / seconds['ours']:.1f}",
                f"{seconds['scores'] / seconds['ours']:.1f}",
            )
        )
    scaled = "" if n_windows is None else f"; the straightforward way on {n_windows} windows, scaled to all"
    print_table(
        f"A 32 x 32 x 3 image, {n_centers:,} centers, {CHECKPOINTS} checkpoints (promised: "
        f"{PROMISED_RATIO:g} times faster than straightforward{scaled})",
        (
            "kernel",
            "ours, s",
            "one thread, s",
            "straightforward, s",
            "straightforward / ours",
            "matrix products, s",
            "matrix products / ours",
            f"{CHECKPOINTS + 1} scores / ours",
        ),
        rows,
    )


def growth(counts: tuple[int, ...]) -> None:
    """Time of ours by the number of centers, and by the number of methods that are compared."""
    images, rows = cifar_images(101), []
    for count in counts:
        detector = whyodd.KernelDensity(sigma="nn")
        model = whyodd.PatchModel(detector, patch=(PATCH, PATCH), max_patches=count, random_state=0)
        e = model.fit(images[:100]).explain(images[100])
        heat = np.random.default_rng(0).random((5, 1, 32, 32))
        six = {"dtd": e, **{str(i): list(values) for i, values in enumerate(heat)}}
        contenders = {
            "one": partial(flip, model, images[100], e),
            "six": partial(flip, model, images[100], six),
        }
        seconds = best_of_turns(contenders, TURNS)
        windows = (32 - PATCH + 1) ** 2
        rows.append(
            (
                f"{count:,}",
                f"{seconds['one']:.3f}",
                f"{seconds['six']:.3f}",
                f"{1e9 * seconds['one'] / (windows * count):.1f}",
            )
        )
    columns = ("centers", "one method, s", "six methods, s", "ns per window and center")
    print_table("Growth with the centers, Gaussian", columns, rows)


def main() -> None:
    quick = "--quick" in sys.argv
    against_scoring_anew(5_000, 32 if quick else None)
    growth((1_000, 5_000) if quick else (1_000, 5_000, 10_000, 30_000))


if __name__ == "__main__":
    main()
