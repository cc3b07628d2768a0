"""Below the dense limit: what skipping centers saves, and that what is skipped is as certified.

Run: python benchmarks/pruned.py [--quick] [--soft]

The dense limit of a neighbour search, and of scores, is the bare product of rows with all centers; that of an
explanation by soft pooling is its three products, in the fastest way that BLAS offers. Nearest neighbours are
compared with all distances, soft results with those without a tolerance.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import whyodd
from explain import bare_products
from realdata import adbench, cifar_patches, data_dir, nearest_neighbour_quantile
from sidebyside import best_of_turns, machine, print_table
from whyodd.compute.hard.search import ExactSearch
from whyodd.kernels import Exponential

NEIGHBORS, TOLERANCE, CHECKED = 5, 1e-6, 200


def correlated(n: int, seed: int) -> np.ndarray:
    """20 columns of full rank, correlated, with two modes: as tables of measurements are."""
    mixing = np.random.default_rng(0).standard_normal((20, 20)) / 20**0.5
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20)) @ mixing
    X[rng.random(n) < 0.3] += 2.0
    return X


def low_rank(n: int, seed: int) -> np.ndarray:
    """20 columns that five numbers tell, but for a little noise."""
    mixing = np.random.default_rng(0).standard_normal((5, 20))
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 5)) @ mixing + 0.1 * rng.standard_normal((n, 20))


def independent(n: int, seed: int) -> np.ndarray:
    """20 columns that have nothing to do with each other: hardly anything can be skipped."""
    return np.random.default_rng(seed).standard_normal((n, 20))


def neighbour_cases(n: int, rows: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    made = {
        "correlated columns": correlated,
        "five numbers and noise": low_rank,
        "independent columns": independent,
    }
    cases = {f"{n:,} x 20, {name}": (make(rows, 2), make(n, 1)) for name, make in made.items()}
    if data_dir() is not None:
        cover = adbench("10_cover")
        cover = (cover - cover.mean(axis=0)) / cover.std(axis=0)
        cover = cover[np.random.default_rng(0).permutation(len(cover))]
        cases[f"cover, {n:,} x 10"] = cover[:rows], cover[rows : rows + n]
        cases["patches, 25,000 x 147"] = cifar_patches(rows, seed=1), cifar_patches(25_000)
    return {name: (X.astype(np.float64), U.astype(np.float64)) for name, (X, U) in cases.items()}


def one_product(X: np.ndarray, U: np.ndarray) -> dict[str, object]:
    """X Uᵀ by BLAS in tiles of rows: their products stay in cache."""

    def tiles(size: int) -> None:
        tile = np.empty((size, len(U)), X.dtype)
        for start in range(0, len(X), size):
            part = X[start : start + size]
            np.matmul(part, U.T, out=tile[: len(part)])

    return {f"tiles of {size}": partial(tiles, size) for size in (64, 256)}


def neighbours(quick: bool, turns: int) -> None:
    rows = []
    for name, (X, U) in neighbour_cases(100_000, 2_000 if quick else 20_000).items():
        search, network = (
            ExactSearch(U, None),
            whyodd.neuralize(whyodd.KNearestNeighbors(n_neighbors=NEIGHBORS).fit(U)),
        )
        limits = one_product(X, U)
        seconds = best_of_turns(
            limits
            | {"explain": partial(network.decompose, X), "search": partial(search.nearest, X[:CHECKED], 5)},
            turns,
        )
        limit = min(seconds[one] for one in limits)
        found = search.nearest(X[:CHECKED], NEIGHBORS)[0]
        all_ = np.array([np.sort(np.sqrt(((U - x) ** 2).sum(axis=1)))[:NEIGHBORS] for x in X[:CHECKED]])
        rows.append(
            (
                name,
                "no" if search._leaves is None else "yes",
                f"{1e6 * seconds['explain'] / len(X):.0f}",
                f"{limit / seconds['explain']:.1f}",
                f"{np.abs(found - all_).max() / all_.max():.0e}",
            )
        )
    columns = ("", "leaves", "µs a row", "one product / explain", f"error of {CHECKED} rows")
    print_table(f"{NEIGHBORS} nearest neighbours explained, float64; {machine()}", columns, rows)


def needed_centers(X: np.ndarray, U: np.ndarray, sigma: float) -> np.ndarray:
    """How many centers hold all but the tolerance of an assignment, for some rows: no way needs fewer."""
    some = X[:CHECKED].astype(np.float64)
    d2 = np.sort((some**2).sum(axis=1)[:, None] + (U**2).sum(axis=1) - 2.0 * some @ U.T, axis=1)
    p = np.exp((d2[:, :1] - d2) / (2.0 * sigma**2))
    left = 1.0 - np.cumsum(p, axis=1) / p.sum(axis=1, keepdims=True)
    return np.argmax(left <= TOLERANCE, axis=1) + 1


def soft(quick: bool, turns: int) -> None:
    if data_dir() is None:
        print("Peaked soft minimum: left out, no data folder (set WHYODD_DATA).")
        return
    X, U = cifar_patches(1_000 if quick else 5_000, seed=1), cifar_patches(25_000)
    sigma, rows = nearest_neighbour_quantile(U[:5_000], 0.1), []
    for factor in (0.1, 0.3, 1, 10):
        for dtype in (np.float32, np.float64):
            x, u = X.astype(dtype), U.astype(dtype)
            network = whyodd.DistanceNetwork(u, None, Exponential(2, factor * sigma))
            limits, products = bare_products(x, u), one_product(x, u)
            seconds = best_of_turns(
                limits
                | {f"one: {name}": run for name, run in products.items()}
                | {
                    "explain": partial(network.decompose, x, tolerance=TOLERANCE),
                    "score": partial(network.assign, x, tolerance=TOLERANCE),
                    "all": partial(network.decompose, x),
                },
                turns,
            )
            got, exact = network.decompose(x, tolerance=TOLERANCE), network.decompose(x)
            three, one = min(map(seconds.get, limits)), min(seconds[f"one: {name}"] for name in products)
            rows.append(
                (
                    f"σ = {factor} x nn rule, {np.dtype(dtype).name}",
                    f"{np.median(needed_centers(x, u, factor * sigma)):,.0f}",
                    f"{np.mean(got.discarded > 0.0):.0%}",
                    f"{three / seconds['explain']:.2f}",
                    f"{one / seconds['score']:.2f}",
                    f"{seconds['all'] / seconds['explain']:.2f}",
                    f"{np.abs(got.outlierness - exact.outlierness).max():.0e}",
                )
            )
    columns = (
        "",
        "centers that count (median row)",
        "rows by few centers",
        "three products / explain",
        "one product / score",
        "without tolerance / explain",
        "difference of o",
    )
    print_table(f"CIFAR-10 patches, 25,000 centers, tolerance {TOLERANCE:g}; {machine()}", columns, rows)


def main() -> None:
    quick = "--quick" in sys.argv
    turns = 2 if quick else 3
    if "--soft" not in sys.argv:
        neighbours(quick, turns)
    soft(quick, turns)


if __name__ == "__main__":
    main()
