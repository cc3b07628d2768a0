"""How far an explanation is from bare matrix products, and from the usual ways to get one.

Run: python benchmarks/explain.py [--quick]
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from sklearn.svm import OneClassSVM

import whyodd
from sidebyside import best_of_turns, clock_rate, print_table
from whyodd.compute.blocks import count_threads, single_threaded_blas
from whyodd.kernels import Exponential, Student

SHAPES = [(4096, 4096, 147), (4096, 1000, 784), (20000, 500, 20), (4096, 4096, 49)]
DTYPES = [np.float32, np.float64]
LOOP_ROWS = 4
TILES = (128, 256, 512)


def normal_data(n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.standard_normal((m, d))


def all_support_vectors(U: np.ndarray) -> OneClassSVM:
    """With ν so close to 1 every training row is a support vector: a model of exactly the size wanted."""
    model = OneClassSVM(nu=1.0 - 0.5 / len(U), gamma=1.0 / (2.0 * U.shape[1])).fit(U)
    if len(model.support_) != len(U):
        raise RuntimeError(f"expected {len(U)} support vectors, got {len(model.support_)}")
    return model


def bare_products(X: np.ndarray, U: np.ndarray, explained: bool = True) -> dict[str, object]:
    """The products an explanation or a score cannot do without, in the ways that BLAS offers.

    X Uᵀ and, to explain, W [U, U²] with W in the place of X Uᵀ: threaded by BLAS over the whole, or one tile
    per thread with BLAS held to one thread.
    """
    (n, d), m = X.shape, len(U)
    stacked = np.hstack([U, U * U])
    whole, out = np.empty((n, m), X.dtype), np.empty((n, 2 * d), X.dtype)

    def threaded_by_blas() -> None:
        np.matmul(X, U.T, out=whole)
        if explained:
            np.matmul(whole, stacked, out=out)

    def tiles(size: int) -> None:
        threads = count_threads(None)

        def work(first: int) -> None:
            tile = np.empty((size, m), X.dtype)
            for start in range(first * size, n, threads * size):
                rows = slice(start, min(start + size, n))
                part = tile[: rows.stop - start]
                np.matmul(X[rows], U.T, out=part)
                if explained:
                    np.matmul(part, stacked, out=out[rows])

        with single_threaded_blas(), ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))

    return {"blas": threaded_by_blas} | {f"tiles of {size}": partial(tiles, size) for size in TILES}


def cycles_per_pair(seconds: float, n_pairs: int) -> str:
    """Cycles of one core per pair of row and center at the clock that the system names; else nothing."""
    clock = clock_rate()
    return f"{seconds * count_threads(None) * clock / n_pairs:.1f}" if clock else ""


def plain_loop(network: whyodd.DistanceNetwork, X: np.ndarray) -> np.ndarray:
    """Relevance row by row in NumPy, as the formulas say."""
    U, kernel = network.centers, network.kernel
    relevance = np.empty_like(X)
    for i, x in enumerate(X):
        squares = (x - U) ** 2
        d2 = squares.sum(axis=1)
        v = network.log_weights + kernel.log_similarity(d2)
        log_g = np.logaddexp.reduce(v)
        o = kernel.outlierness(log_g, len(U))
        delta = np.exp(v - log_g) * kernel.explained(d2, o)
        relevance[i] = (delta / d2) @ squares
    return relevance


def against_the_limit(turns: int) -> None:
    rows, passes = [], []
    for shape in SHAPES:
        for dtype in DTYPES:
            X, U = (part.astype(dtype) for part in normal_data(*shape))
            model = all_support_vectors(U)
            network = whyodd.neuralize(model)
            few = X[:LOOP_ROWS]
            limits = bare_products(X, U)
            products = {f"one: {way}": run for way, run in bare_products(X, U, explained=False).items()}
            seconds = best_of_turns(
                limits
                | products
                | {
                    "explain": partial(whyodd.explain, network, X),
                    "score": partial(network.outlierness, X),
                    "loop": partial(plain_loop, network, few),
                },
                turns,
            )
            sklearn = best_of_turns({"sklearn": partial(model.score_samples, X)}, turns=1)["sklearn"]
            limit_name = min(limits, key=seconds.__getitem__)
            limit, ours, score = seconds[limit_name], seconds["explain"], seconds["score"]
            product = min(seconds[way] for way in products)
            loop = seconds["loop"] * len(X) / len(few)
            label, n_pairs = f"{shape} {np.dtype(dtype).name}", len(X) * len(U)
            rows.append(
                (
                    label,
                    f"{1e3 * limit:.1f} ({limit_name})",
                    f"{1e3 * ours:.1f}",
                    f"{ours / limit:.2f}",
                    f"{score / product:.2f}",
                    f"{loop / ours:.0f}",
                    f"{sklearn / ours:.1f}",
                )
            )
            passes.append(
                (label, cycles_per_pair(ours - limit, n_pairs), cycles_per_pair(score - product, n_pairs))
            )
    columns = (
        "(n, m, d)",
        "limit ms (fastest way)",
        "explain ms",
        "explain / limit",
        "score / its product",
        "NumPy loop / explain",
        "score_samples / explain",
    )
    print_table("Gaussian data and kernel: explanation against the three bare products", columns, rows)
    print_table(
        "Cycles of a core per pair of row and center, beyond the products",
        ("(n, m, d)", "explain", "score"),
        passes,
    )


def real_patches(turns: int) -> None:
    """Patches of photographs lie in dense clusters far from each other: float32 must take more care there."""
    from realdata import cifar_patches, data_dir, nearest_neighbour_quantile

    if data_dir() is None:
        print("Real patches: left out, no data folder (set WHYODD_DATA).")
        return
    X, U = cifar_patches(4096, seed=0), cifar_patches(4096, seed=1)
    sigma = nearest_neighbour_quantile(U, 0.1)
    rows = []
    for factor in (1, 10):
        for dtype in DTYPES:
            x, u = X.astype(dtype), U.astype(dtype)
            network = whyodd.DistanceNetwork(u, None, Exponential(2, factor * sigma))
            limits = bare_products(x, u)
            seconds = best_of_turns(limits | {"explain": partial(network.decompose, x)}, turns)
            limit = min(seconds[name] for name in limits)
            rows.append(
                (f"σ = {factor} x nn rule, {np.dtype(dtype).name}", f"{seconds['explain'] / limit:.2f}")
            )
    print_table("CIFAR-10 patches of 7 x 7 x 3, 4096 against 4096", ("", "explain / limit"), rows)


def other_kernels(turns: int) -> None:
    rows = []
    n, m, d = SHAPES[0]
    for dtype in DTYPES:
        X, U = (part.astype(dtype) for part in normal_data(n, m, d))
        for kernel in (
            Exponential(1, d**0.5),
            Exponential(4, d**0.5),
            Student(2, 1, d**0.5),
            Exponential(3, d**0.5),
        ):
            network = whyodd.DistanceNetwork(U, None, kernel)
            limits = bare_products(X, U)
            seconds = best_of_turns(limits | {"explain": partial(network.decompose, X)}, turns)
            limit = min(seconds[name] for name in limits)
            rows.append((f"{kernel} {np.dtype(dtype).name}", f"{seconds['explain'] / limit:.2f}"))
    print_table(f"Other kernels at {SHAPES[0]}", ("kernel", "explain / limit"), rows)


def against_shap(n_rows: int = 3) -> None:
    import shap

    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 20))
    model = OneClassSVM(nu=0.1, gamma="scale").fit(X)
    background, few = shap.sample(X, 100, random_state=0), X[:n_rows]
    network = whyodd.neuralize(model)
    permutation = shap.PermutationExplainer(model.score_samples, shap.maskers.Independent(background), seed=0)
    kernel = shap.KernelExplainer(model.score_samples, background)
    seconds = best_of_turns(
        {
            "whyodd.explain": partial(whyodd.explain, network, X),
            "shap PermutationExplainer": lambda: permutation(few, silent=True),
            "shap KernelExplainer": lambda: kernel.shap_values(few, silent=True),
        },
        turns=2,
    )
    per_row = {
        name: total / (len(X) if name == "whyodd.explain" else n_rows) for name, total in seconds.items()
    }
    ours = per_row["whyodd.explain"]
    rows = [(name, f"{1e6 * value:.1f}", f"{value / ours:,.0f}") for name, value in per_row.items()]
    title = f"Per row, 5,000 x 20, {network.n_centers} support vectors, 100 background rows for shap"
    print_table(title, ("method", "microseconds per row", "times ours"), rows)


def growth(turns: int) -> None:
    base = (20000, 1000, 50)
    rows = []
    for axis, name in enumerate("nmd"):
        for factor in (1, 2, 4, 8):
            shape = tuple(size * factor if k == axis else size for k, size in enumerate(base))
            X, U = (part.astype(np.float32) for part in normal_data(*shape))
            network = whyodd.DistanceNetwork(U, None, Exponential(2, shape[2] ** 0.5))
            seconds = best_of_turns({"explain": partial(network.decompose, X)}, turns)["explain"]
            if factor == 1:
                first = seconds
            rows.append(
                (f"{name} = {shape[axis]}", f"{1e3 * seconds:.1f}", f"{seconds / first:.2f}", str(factor))
            )
    print_table(
        f"Growth from (n, m, d) = {base}, float32", ("", "ms", "times the first", "times the size"), rows
    )


MEMORY_PROBE = """
import pathlib
import numpy as np, whyodd
from whyodd.kernels import Exponential

def megabytes(field):  # VmRSS: memory in use, VmHWM: its peak
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

n, m, d = {n}, 500, 20
rng = np.random.default_rng(0)
network = whyodd.DistanceNetwork(rng.standard_normal((m, d)), None, Exponential(2, d ** 0.5))
X = rng.standard_normal((n, d))
network.decompose(X[:1000])  # compiled code and prepared centers are not work memory
before = megabytes("VmRSS")
pathlib.Path("/proc/self/clear_refs").write_text("5")  # forget earlier peaks
parts = network.decompose(X)
arrays = (parts.relevance, parts.unexplained, parts.outlierness, parts.log_inlierness)
print(megabytes("VmHWM") - before - sum(a.nbytes for a in arrays) / 2**20)
"""


def memory(n: int) -> None:
    probe = [sys.executable, "-c", MEMORY_PROBE.format(n=n)]
    beyond = float(subprocess.run(probe, check=True, capture_output=True, text=True).stdout)
    print_table(
        "Peak memory beyond input and output", ("n", "MB"), [(f"{n:,} x 20, 500 centers", f"{beyond:.0f}")]
    )


def main() -> None:
    quick = "--quick" in sys.argv
    turns = 3 if quick else 9
    against_the_limit(turns)
    real_patches(turns)
    other_kernels(turns)
    against_shap()
    growth(turns)
    memory(100_000 if quick else 1_000_000)


if __name__ == "__main__":
    main()
