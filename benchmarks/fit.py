"""Training a one-class SVM: whyodd against scikit-learn's libsvm, side by side, and growth with n.

Run: python benchmarks/fit.py [--quick] [--tables]

--tables: only the comparison on the tabular sets.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn.svm

import whyodd
from realdata import (
    adbench,
    adbench_names,
    cifar_patches,
    data_dir,
    mnist_class,
    mnist_test,
    nearest_neighbour_quantile,
)
from sidebyside import best_of_turns, print_table
from whyodd.models.bandwidth.rules import bandwidth
from whyodd.network.waist import center_of_rows

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS = {1_000: 15, 3_000: 5, 10_000: 2}
# Of each tabular set at most so many rows, in the quick and the full form, with these bandwidths and shares.
MOST_ROWS = {True: 3_000, False: 20_000}
RULES, SHARES = ("median", "scale"), (0.05, 0.1, 0.5)
# Rows that a model of a sample learns from.
MAX_SAMPLES = 20_000


@dataclass(frozen=True)
class Problem:
    """Data, ν and bandwidth of one comparison."""

    name: str
    X: np.ndarray
    sigma: float
    nu: float = 0.1
    new: np.ndarray | None = None  # rows to compare decision values on


def table(n: int) -> np.ndarray:
    """Correlated columns on three scales with two modes: what a table of measurements looks like."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20)) @ rng.standard_normal((20, 20)) / 20**0.5
    X[rng.random(n) < 0.3] += 2.0
    return X


def problems(quick: bool) -> list[Problem]:
    found = []
    if data_dir() is not None:
        for n in (1_000, 3_000, 10_000) if quick else (1_000, 3_000, 10_000, 30_000):
            X = cifar_patches(n)
            sigma = nearest_neighbour_quantile(X, 0.1)
            new = cifar_patches(2_000, seed=1)
            found += [
                Problem(f"patches {n:,}, σ nn", X, sigma, new=new),
                Problem(f"patches {n:,}, σ 10 nn", X, 10 * sigma, new=new),
            ]
        found.append(Problem("MNIST 0, σ 400", mnist_class(0), 400.0, nu=0.01, new=mnist_test()))
    else:
        print("Patches and MNIST: left out, no data folder (set WHYODD_DATA).")
    X, new = np.split(table(7_000 if quick else 52_000), [-2_000])
    sigma = 10 * nearest_neighbour_quantile(X[:5_000], 0.1)
    found.append(Problem(f"table {len(X):,} x 20", X, sigma, new=new))
    return found


def ours(problem: Problem) -> whyodd.OneClassSVM:
    return whyodd.OneClassSVM(sigma=problem.sigma, nu=problem.nu)


def sampled(problem: Problem) -> whyodd.OneClassSVM:
    return ours(problem).set_params(max_samples=MAX_SAMPLES)


def libsvm(problem: Problem) -> sklearn.svm.OneClassSVM:
    return sklearn.svm.OneClassSVM(gamma=0.5 / problem.sigma**2, nu=problem.nu, cache_size=2000)


def train_both(problem: Problem, turns: int) -> tuple[dict[str, float], Any, Any, float]:
    """Seconds of both, both models, and libsvm's objective on our scale."""
    fitted = {}

    def train(make: Callable[[Problem], Any]) -> Callable[[], None]:
        return lambda: fitted.update({make: make(problem).fit(problem.X)})

    contenders = {make.__name__: train(make) for make in (ours, libsvm)}
    best = best_of_turns(contenders, turns)
    network = whyodd.neuralize(fitted[libsvm])
    objective = 0.5 * float(network.weights @ network.inlierness(network.centers))
    return best, fitted[ours], fitted[libsvm], objective


def compare(problem: Problem) -> tuple[str, ...]:
    best, mine, theirs, objective = train_both(problem, TURNS.get(len(problem.X), 1))
    network = whyodd.neuralize(theirs)
    g, reference = mine.inlierness(problem.new), network.inlierness(problem.new)
    return (
        problem.name,
        f"{best['ours']:.3f}",
        f"{best['libsvm']:.3f}",
        f"{best['libsvm'] / best['ours']:.1f}",
        f"{len(mine.support_)} / {len(theirs.support_)}",
        f"{mine.dual_objective_ / objective - 1:+.0e}",
        f"{mine.violation_:.1e}",
        f"{np.abs(g - reference).max() / np.ptp(reference):.0e}",
    )


def tables(quick: bool) -> None:
    """All tabular sets: libsvm's time over ours for each bandwidth and ν, and how the objectives differ."""
    rows, ratios, worst = [], [], -np.inf
    for name in adbench_names():
        X = adbench(name)[: MOST_ROWS[quick]]
        found, excess = [], -np.inf
        for rule in RULES:
            sigma = bandwidth(rule, X)
            for nu in SHARES:
                turns = int(np.clip(30_000 // len(X), 1, 30))
                best, mine, _, objective = train_both(Problem(name, X, sigma, nu), turns)
                found.append(best["libsvm"] / best["ours"])
                excess = max(excess, mine.dual_objective_ / objective - 1.0)
        ratios += found
        worst = max(worst, excess)
        rows.append((f"{name}, {len(X):,} x {X.shape[1]}", *(f"{r:.2f}" for r in found), f"{excess:+.0e}"))
    columns = ("", *(f"{rule}, ν {nu:g}" for rule in RULES for nu in SHARES), "objective, relative, at worst")
    print_table("libsvm's time over whyodd's, tol=1e-3", columns, rows)
    print(f"Smallest ratio {min(ratios):.2f}, median {np.median(ratios):.1f}; {worst:+.0e} at worst.\n")


def repeated(times: int = 7, nu: float = 0.5) -> None:
    """A table in which every row occurs several times: as few centers as rows differ, or all copies."""
    rng = np.random.default_rng(0)
    X = rng.permutation(np.repeat(table(1_600), times, axis=0))
    model = ours(Problem("", X, bandwidth("median", X), nu)).fit(X)
    merged = whyodd.neuralize(model)
    copies = whyodd.DistanceNetwork(
        X[model.support_], kernel=model.kernel_, log_weights=np.log(model.weights_)
    )
    own = {"merged": center_of_rows(merged), "copies": np.full(len(X), -1)}
    own["copies"][model.support_] = np.arange(copies.n_centers)
    networks = {"merged": merged, "copies": copies}
    rows = []
    for what in ("outlierness", "decompose"):
        for leaving in (False, True):
            runs = {
                name: partial(getattr(one, what), X, own=own[name] if leaving else None)
                for name, one in networks.items()
            }
            seconds = best_of_turns(runs, 3)
            first, second = (np.asarray(getattr(run(), "outlierness", run())) for run in runs.values())
            rows.append(
                (
                    ("scored" if what == "outlierness" else "explained")
                    + (", each row without itself" if leaving else ""),
                    f"{seconds['copies'] / seconds['merged']:.1f}",
                    f"{np.abs(first - second).max():.0e}",
                )
            )
    sizes = f"{copies.n_centers:,} support vectors, {merged.n_centers:,} centers"
    print_table(
        f"{len(X):,} rows, each {times} times: {sizes}", ("", "all copies / whyodd", "difference of o"), rows
    )


MEMORY_PROBE = """
import sys, pathlib, time
sys.path.insert(0, {folder!r})
import numpy as np, fit

def megabytes(field):
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

problem = {problem}
fit.ours(fit.Problem("", problem.X[:300], problem.sigma)).fit(problem.X[:300])
before = megabytes("VmRSS")
pathlib.Path("/proc/self/clear_refs").write_text("5")  # forget earlier peaks
start = time.perf_counter()
model = fit.{maker}(problem).fit(problem.X)
seconds, memory = time.perf_counter() - start, megabytes("VmHWM") - before
print(seconds, memory, len(model.support_), getattr(model, "gap_", 0.0))
"""


def in_a_process(maker: str, problem: str) -> tuple[float, float, int, float]:
    """Seconds, peak memory in MB beyond the data, support vectors and gap of a fit in its own process."""
    probe = MEMORY_PROBE.format(folder=__file__.rpartition("/")[0], problem=problem, maker=maker)
    result = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout
    seconds, memory, support, gap = result.split()
    return float(seconds), float(memory), int(support), float(gap)


def peak_memory(quick: bool) -> None:
    n = 10_000 if quick else 30_000
    sigma = nearest_neighbour_quantile(cifar_patches(n), 0.1)
    problem = f"fit.Problem('', fit.cifar_patches({n}), {sigma})"
    rows = [
        (maker, *(f"{value:.0f}" for value in in_a_process(maker, problem)[1:3]))
        for maker in ("ours", "libsvm")
    ]
    print_table(f"Peak memory beyond the data, patches {n:,}, σ nn", ("", "MB", "support vectors"), rows)


def growth(quick: bool) -> None:
    """Time and memory from few rows to many: learning from all of them, and from a sample."""
    sigma = 10 * nearest_neighbour_quantile(table(5_000), 0.1)
    columns = ("", "seconds", "of n log n", "peak MB", "support vectors", "gap")
    for maker in ("ours", "sampled"):
        rows, first = [], 0.0
        for n in (5_000, 20_000, 40_000) if quick else (10_000, 31_600, 100_000, 316_000, 1_000_000):
            seconds, memory, support, gap = in_a_process(maker, f"fit.Problem('', fit.table({n}), {sigma})")
            per_row = seconds / (n * np.log(n))
            first = first or per_row
            numbers = (
                f"{seconds:.2f}",
                f"{per_row / first:.2f}",
                f"{memory:.0f}",
                str(support),
                f"{gap:.0e}",
            )
            rows.append((f"{n:,} x 20", *numbers))
        which = "all rows" if maker == "ours" else f"max_samples={MAX_SAMPLES}"
        print_table(f"Growth with n, {which}, memory_mb=2000", columns, rows)


def main() -> None:
    quick = "--quick" in sys.argv
    if data_dir() is not None:
        tables(quick)
    if "--tables" in sys.argv:
        return
    repeated()
    columns = (
        "",
        "whyodd s",
        "libsvm s",
        "libsvm / whyodd",
        "support vectors",
        "objective, relative",
        "violation",
        "new rows, g / range",
    )
    print_table("whyodd.OneClassSVM against libsvm, tol=1e-3", columns, list(map(compare, problems(quick))))
    if data_dir() is not None:
        peak_memory(quick)
    growth(quick)


if __name__ == "__main__":
    main()
