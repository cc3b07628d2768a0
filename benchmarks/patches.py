"""Explaining an image by its patches: whyodd against the straightforward way, growth, and memory.

Run: python benchmarks/patches.py [--quick]

The straightforward way is scikit-learn's OneClassSVM on extracted patches, and a loop in NumPy over all
windows that follows the formulas, vectorised over the support vectors. It is timed on windows drawn at
random and scaled to all of them; everything else is timed as it is. Its fits take so long that they are
timed once; ours are the best of three.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import skimage.data
import sklearn.svm
from PIL import Image

import whyodd
from explain import bare_products
from realdata import nearest_neighbour_quantile
from sidebyside import best_of_turns, print_table

if TYPE_CHECKING:
    from collections.abc import Callable

NU, PATCH, TURNS = 0.1, 7, 3
# Windows that the loop is timed on, and rows that the bare products are.
LOOP_WINDOWS, PRODUCT_ROWS = 1_000, 2_048
# Promised: times faster than the straightforward way, and MB beyond image and model.
PROMISED_RATIO, PROMISED_MB = 15.0, 512.0


def brick(size: int) -> np.ndarray:
    """scikit-image's picture of a wall of bricks, grey, reduced to (size, size) with anti-aliasing."""
    picture = Image.fromarray(skimage.data.brick())
    return np.asarray(picture.resize((size, size), Image.Resampling.LANCZOS, reducing_gap=3.0))


def patch_model(max_patches: int, patch: int = PATCH, model: Any = None) -> whyodd.PatchModel:
    detector = whyodd.OneClassSVM(nu=NU) if model is None else model
    return whyodd.PatchModel(detector, patch=(patch, patch), max_patches=max_patches, random_state=0)


def all_windows(image: np.ndarray, patch: int = PATCH) -> np.ndarray:
    """What every window holds (windows, patch²)."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (patch, patch))
    return windows.reshape(-1, patch * patch).astype(np.float64)


@dataclass(frozen=True)
class Straightforward:
    """scikit-learn's model of some windows of an image, with what the formulas need."""

    model: sklearn.svm.OneClassSVM
    centers: np.ndarray
    log_weights: np.ndarray
    sigma: float
    own: dict[int, int]  # window -> the center that it is

    @classmethod
    def fit(cls, image: np.ndarray, trained_on: np.ndarray) -> Straightforward:
        """Bandwidth by the same rule, then libsvm with a cache that holds its matrix."""
        patches = all_windows(image)[trained_on]
        sigma = nearest_neighbour_quantile(patches, 0.1)
        model = sklearn.svm.OneClassSVM(nu=NU, gamma=0.5 / sigma**2, cache_size=2000).fit(patches)
        weights = model.dual_coef_[0] / model.dual_coef_.sum()
        own = {int(trained_on[row]): j for j, row in enumerate(model.support_)}
        return cls(model, model.support_vectors_, np.log(weights), sigma, own)

    def explain(self, shape: tuple[int, ...], windows: np.ndarray, some: np.ndarray | range) -> np.ndarray:
        """Relevance of the pixels of an image by ``some`` of its windows, one after the other."""
        relevance = np.zeros(shape)
        for t in some:
            row, column = divmod(int(t), shape[1] - PATCH + 1)
            part = self.explain_window(windows[t], self.own.get(int(t)))
            relevance[row : row + PATCH, column : column + PATCH] += part.reshape(PATCH, PATCH)
        return relevance

    def explain_window(self, x: np.ndarray, own: int | None) -> np.ndarray:
        """R_i = Σ_j Δ_j (x_i - u_ji)² / d²_j with Δ_j = p_j min(o, d²_j / 2σ²); the own center left out."""
        squares = (x - self.centers) ** 2
        d2 = squares.sum(axis=1)
        energy = d2 / (2.0 * self.sigma**2)
        v = self.log_weights - energy
        if own is not None:  # the others have all the weight
            v = v - np.log1p(-np.exp(self.log_weights[own]))
            v[own] = -np.inf
        highest = v.max()
        log_g = highest + np.log(np.exp(v - highest).sum())
        o = max(-log_g, 0.0)
        delta = np.exp(v - log_g) * np.minimum(o, energy)
        return np.divide(delta, d2, out=np.zeros_like(d2), where=d2 > 0.0) @ squares


def difference(heat: np.ndarray, reference: np.ndarray) -> str:
    """Largest difference of two heatmaps over the largest relevance."""
    return f"{np.abs(heat - reference).max() / reference.max():.0e}"


def agreement(size: int = 96, max_patches: int = 2_000) -> None:
    """Both ways give the same heatmap: within the tolerance of training, and closer with the same model."""
    image = brick(size)
    ours = patch_model(max_patches).fit(image)
    theirs = Straightforward.fit(image, ours.scales_[0].windows)
    windows = all_windows(image)
    reference = theirs.explain(image.shape, windows, range(len(windows)))
    same = sklearn.svm.OneClassSVM(**theirs.model.get_params())
    through_network = patch_model(max_patches, model=same).fit(image)
    rows = [
        ("whyodd's model", difference(ours.explain(image).heatmap(0), reference), "1e-03"),
        (
            "scikit-learn's model in PatchModel",
            difference(through_network.explain(image).heatmap(0), reference),
            "1e-04",
        ),
        ("σ", f"{abs(ours.scales_[0].model.kernel_.sigma / theirs.sigma - 1.0):.0e}", "1e-06"),
    ]
    title = f"Difference from the straightforward way over the largest relevance, brick {size} x {size}"
    print_table(title, ("", "difference", "at most"), rows)


def seconds_of(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def against_the_straightforward_way(sizes: tuple[int, ...], unrivalled: tuple[int, ...]) -> None:
    """Fit and explain of a 256 x 256 image, both ways; for the ``unrivalled`` numbers ours only."""
    image = brick(256)
    warm_up()
    rows = []
    for max_patches in (*sizes, *unrivalled):
        ours, model = seconds_of_ours(image, max_patches)
        cells = [f"{max_patches:,}", str(model.scales_[0].network.n_centers), *_seconds(ours)]
        if max_patches in unrivalled:
            rows.append((*cells, *["-"] * 6))
            continue
        theirs = seconds_of_the_straightforward_way(image, model.scales_[0].windows)
        ratios = theirs / ours
        rows.append((*cells, *_seconds(theirs), *(f"{ratio:.1f}" for ratio in ratios)))
    kinds = ("fit", "explain", "both")
    columns = [f"{kind}{what}" for what in (", s", ", straightforward") for kind in kinds]
    columns += [f"{kind}: straightforward / whyodd" for kind in kinds]
    title = (
        f"brick 256 x 256, 7 x 7 patches (promised: {PROMISED_RATIO:g} times faster for both together; the "
        f"straightforward explain is scaled from {LOOP_WINDOWS:,} windows to all)"
    )
    print_table(title, ["patches", "centers", *columns], rows)


def seconds_of_ours(image: np.ndarray, max_patches: int) -> tuple[np.ndarray, whyodd.PatchModel]:
    """Fit, explain, and both, the best of three; the fitted model."""
    model = patch_model(max_patches)
    runs = partial(model.fit, image), partial(model.explain, image)
    fit, explain = (min(seconds_of(run)[0] for _ in range(TURNS)) for run in runs)
    return np.array([fit, explain, fit + explain]), model


def seconds_of_the_straightforward_way(image: np.ndarray, trained_on: np.ndarray) -> np.ndarray:
    """Fit, explain, and both; explain from some windows."""
    fit, rival = seconds_of(partial(Straightforward.fit, image, trained_on))
    windows = all_windows(image)
    some = np.random.default_rng(0).choice(len(windows), LOOP_WINDOWS, replace=False)
    on_some, _ = seconds_of(partial(rival.explain, image.shape, windows, some))
    explain = on_some * len(windows) / LOOP_WINDOWS
    return np.array([fit, explain, fit + explain])


def _seconds(values: np.ndarray) -> list[str]:
    return [f"{value:.2f}" for value in values]


def warm_up() -> None:
    """Compiled code comes from the cache on disk."""
    image = brick(32)
    patch_model(500).fit(image).explain(image)


def growth(title: str, first_column: str, cases: dict[str, tuple[np.ndarray, int, int]]) -> None:
    """Time to explain images (image, centers, patch) over that of the bare products of the same size.

    All patches that are trained on are centers in a kernel density, so that their number is the one wanted.
    """
    rows = []
    for name, (image, centers, patch) in cases.items():
        model = patch_model(centers, patch, whyodd.KernelDensity(sigma="nn")).fit(image)
        network, windows = model.scales_[0].network, all_windows(image, patch).astype(np.float32)
        some = windows[np.random.default_rng(0).integers(len(windows), size=PRODUCT_ROWS)]
        products = bare_products(some, np.asarray(network.centers, dtype=np.float32))
        limit = min(best_of_turns(products, turns=3).values()) * len(windows) / PRODUCT_ROWS
        seconds = best_of_turns({"": partial(model.explain, image)}, turns=1)[""]
        micro = 1e6 * seconds / len(windows)
        pairs = micro * 1e3 / network.n_centers
        rows.append(
            (
                name,
                f"{len(windows):,}",
                f"{network.n_centers:,}",
                f"{seconds:.2f}",
                f"{micro:.1f}",
                f"{pairs:.1f}",
                f"{seconds / limit:.2f}",
            )
        )
    columns = (
        first_column,
        "windows",
        "centers",
        "explain s",
        "s per million windows",
        "ns per window and center",
        "over bare products",
    )
    print_table(title, columns, rows)


def growth_tables(quick: bool) -> None:
    sizes = (64, 128, 256) if quick else (64, 128, 256, 512)
    growth(
        "Growth with the image, 3,000 centers", "image", {f"{s} x {s}": (brick(s), 3_000, 7) for s in sizes}
    )
    image = brick(128 if quick else 256)
    counts = (1_000, 3_000, 10_000) if quick else (1_000, 2_000, 5_000, 10_000, 20_000)
    growth("Growth with the centers", "patches", {f"{m:,}": (image, m, 7) for m in counts})
    patches = (3, 7, 15) if quick else (3, 5, 7, 11, 15)
    growth(
        "Growth with the patch, 3,000 centers", "patch", {f"{p} x {p}": (image, 3_000, p) for p in patches}
    )


MEMORY_PROBE = """
import pathlib, sys
sys.path.insert(0, {folder!r})
import patches

def megabytes(field):  # VmRSS: memory in use, VmHWM: its peak
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

def beyond(run):
    before = megabytes("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # forget earlier peaks
    run()
    return megabytes("VmHWM") - before

patches.warm_up()
image, model = patches.brick({size}), patches.patch_model({max_patches})
print(beyond(lambda: model.fit(image)), beyond(lambda: model.explain(image)))
"""


def memory(cases: list[tuple[int, int]]) -> None:
    """Peak memory of fit and explain, each in a process of its own."""
    rows = []
    for size, max_patches in cases:
        folder = __file__.rpartition("/")[0]
        probe = MEMORY_PROBE.format(folder=folder, size=size, max_patches=max_patches)
        told = subprocess.run(
            [sys.executable, "-c", probe], check=True, capture_output=True, text=True
        ).stdout
        rows.append(
            (f"{size} x {size}, {max_patches:,} patches", *(f"{float(mb):.0f}" for mb in told.split()))
        )
    title = f"Peak memory beyond image and model (promised: at most {PROMISED_MB:g} MB)"
    print_table(title, ("", "fit MB", "explain MB"), rows)


def main() -> None:
    quick = "--quick" in sys.argv
    agreement()
    if quick:
        against_the_straightforward_way((2_000,), (10_000,))
    else:
        against_the_straightforward_way((5_000, 10_000), (20_000,))
    growth_tables(quick)
    memory([(256, 5_000)] if quick else [(256, 5_000), (256, 20_000), (256, 30_000), (512, 5_000)])


if __name__ == "__main__":
    main()
