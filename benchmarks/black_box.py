"""Detectors treated as black boxes: whether a student of their scores finds the reasons that they have.

Run: python benchmarks/black_box.py [--quick] [--held-out] [--tables NAME ...] [--only DETECTOR] [--no-shap]

Twelve detectors that are explained exactly are explained once more as functions, by their scores alone, on
tables of ADBench: fitted to up to 500 normal rows, standardised by them, and asked about the 10 oddest of
other rows.

- agreement: rank correlation of relevance with that of the exact explanation over the variables, mean over
  the rows;
- rank, R²: fidelity as the result itself tells it, on mixtures that the student did not see;
- rows: rows that the function was asked about; seconds of the whole explanation, one run.

Beside it ``shap.KernelExplainer`` with 20 normal rows as background, with 64, 256 and 1,024 samples for
each row, until it agrees as well. Where it never does, its columns are those of its best; "reached" is how
often it does. The last columns are ratios: rows it asks about, and seconds it takes, over the student's. Most
of the student's time goes into fitting it, about a second, however slow the function is.

The student is made of distances to neighbours, densities and covariances of normal rows, as the first seven
detectors are, which helps it; the last five are unlike it. Tables are sorted by name; every other one was
looked at while students were made (11 variants of what they are made of, by agreement and
R²), and the others are for ``--held-out``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyod.models.cblof import CBLOF
from pyod.models.ecod import ECOD
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from pyod.models.loda import LODA
from pyod.models.pca import PCA
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.covariance import EllipticEnvelope
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.svm import OneClassSVM

import whyodd
from realdata import data_dir
from sidebyside import machine, print_table
from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.registry import ADAPTERS

if TYPE_CHECKING:
    from pathlib import Path

MOST_NORMAL, N_EXPLAINED, MOST_COLUMNS = 500, 10, 40
SAMPLES, BACKGROUND = (64, 256, 1024), 20

DETECTORS = {
    "OneClassSVM": OneClassSVM(nu=0.1),
    "LocalOutlierFactor": LocalOutlierFactor(novelty=True),
    "GaussianMixture": GaussianMixture(3, reg_covar=1e-2, random_state=0),
    "EllipticEnvelope": EllipticEnvelope(random_state=0),
    "KernelDensity": KernelDensity(),
    "pyod KNN": KNN(),
    "pyod CBLOF": CBLOF(random_state=0),
    "pyod IForest": IForest(random_state=0),
    "pyod ECOD": ECOD(),
    "pyod HBOS": HBOS(),
    "pyod LODA": LODA(random_state=0),
    "pyod PCA": PCA(),
}


class Found(NamedTuple):
    """What was measured of one detector on one table."""

    agreement: float
    exactness: str
    rank: float
    r2: float
    rows: int
    seconds: float
    samples: str
    of_shap: float
    rows_ratio: float
    seconds_ratio: float


class Counted:
    """A function that counts the rows it is asked about."""

    def __init__(self, function):
        self.function, self.rows = function, 0

    def __call__(self, X):  # noqa: D102
        self.rows += len(X)
        return self.function(X)


def folder() -> Path:
    data = data_dir()
    if data is None:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds adbench.")
    return data / "adbench"


def tables(held_out: bool) -> list[str]:
    names = sorted(
        (path.stem for path in folder().glob("*.npz")), key=lambda name: name.split("_", 1)[1].lower()
    )
    return names[int(held_out) :: 2]


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows, and other rows to judge, standardised."""
    with np.load(folder() / f"{name}.npz") as file:
        X, is_odd = file["X"].astype(np.float64), file["y"] == 1
    X = X[:, X.std(axis=0) > 0.0]
    random = np.random.default_rng(0)
    normal, odd = (random.permutation(np.flatnonzero(mask)) for mask in (~is_odd, is_odd))
    half = min(MOST_NORMAL, len(normal) // 2)
    learned = X[normal[:half]]
    scale = np.where(learned.std(axis=0) > 0.0, learned.std(axis=0), 1.0)
    others = np.concatenate([X[normal[half : 2 * half]], X[odd[:half]]])
    return (learned - learned.mean(axis=0)) / scale, (others - learned.mean(axis=0)) / scale


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.nanmean([spearmanr(a, b).statistic for a, b in zip(one, other, strict=True)]))


def measure(model, normal: np.ndarray, others: np.ndarray, samples: tuple[int, ...]) -> Found:
    model = clone(model).fit(normal)
    own = find_entry(ADAPTERS, model).own
    X = others[np.argsort(-own(model, others), kind="stable")[:N_EXPLAINED]]
    exact = whyodd.explain(model, X, exclude_self=False).relevance
    asked = Counted(lambda rows: own(model, rows))
    start = time.perf_counter()
    e = whyodd.explain(asked, X, normal=normal, random_state=0)
    seconds = time.perf_counter() - start
    agrees = agreement(e.relevance, exact)
    steps = []
    for n_samples in samples:
        values, rows, took = by_kernel(lambda rows: own(model, rows), X, normal, n_samples)
        steps.append((agreement(values, exact), n_samples, rows / asked.rows, took / seconds))
        if steps[-1][0] >= agrees:
            break
    best = max(steps) if steps else (np.nan, 0, np.nan, np.nan)
    reached = "" if best[0] >= agrees else ">"
    told = e.fidelity
    return Found(
        agrees,
        e.exactness,
        told.get("rank_correlation", np.nan),
        told.get("r2", np.nan),
        asked.rows,
        seconds,
        f"{reached}{best[1]}",
        best[0],
        best[2],
        best[3],
    )


def by_kernel(function, X: np.ndarray, normal: np.ndarray, n_samples: int) -> tuple[np.ndarray, int, float]:
    import shap

    asked = Counted(function)
    np.random.seed(0)  # noqa: NPY002 - what shap draws from
    start = time.perf_counter()
    background = normal[np.random.default_rng(0).permutation(len(normal))[:BACKGROUND]]
    values = shap.KernelExplainer(asked, background).shap_values(X, nsamples=n_samples, silent=True)
    return np.asarray(values), asked.rows, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two small tables, and few samples")
    parser.add_argument("--held-out", action="store_true", help="the tables that nothing was chosen by")
    parser.add_argument("--tables", nargs="*", help="these tables only")
    parser.add_argument("--only", default="", help="detectors whose names hold this")
    parser.add_argument("--no-shap", action="store_true", help="without KernelExplainer")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = arguments.tables or tables(arguments.held_out)
    samples = () if arguments.no_shap else SAMPLES[:2] if arguments.quick else SAMPLES
    everything: dict[str, list[Found]] = {
        name: [] for name in DETECTORS if arguments.only.lower() in name.lower()
    }
    n_tables = 0
    for table in chosen:
        normal, others = read(table)
        if normal.shape[1] > MOST_COLUMNS or (arguments.quick and n_tables == 2):
            continue
        n_tables += 1
        for name in everything:
            everything[name].append(found := measure(DETECTORS[name], normal, others, samples))
            print(f"{table} ({normal.shape[1]} columns), {name}: {_told(found)}", file=sys.stderr, flush=True)
    print(machine())
    heading = ["detector", "agreement", "least", "rank", "R²", "sampled", "rows", "shap's", "reached"]
    heading += ["rows ×", "time ×"]
    rows = [_line(name, found) for name, found in everything.items() if found]
    rows.append(_line("all", [one for found in everything.values() for one in found]))
    print_table(f"Black boxes, means over {n_tables} tables (ratios: medians)", heading, rows)


def _told(found: Found) -> str:
    return (
        f"{found.exactness}, agreement {found.agreement:.2f}, R² {found.r2:.2f}, {found.rows:,} rows, "
        f"{found.seconds:.1f} s; shap {found.of_shap:.2f} at {found.samples}, rows × {found.rows_ratio:.1f}, "
        f"time × {found.seconds_ratio:.1f}"
    )


def _line(name: str, found: list[Found]) -> list[str]:
    reached = sum(not one.samples.startswith(">") for one in found)
    return [
        name,
        f"{np.mean([one.agreement for one in found]):.3f}",
        f"{min(one.agreement for one in found):.2f}",
        f"{np.nanmean([one.rank for one in found]):.3f}",
        f"{np.nanmean([one.r2 for one in found]):.3f}",
        f"{sum(one.exactness == 'sampled' for one in found)} of {len(found)}",
        f"{np.mean([one.rows for one in found]):,.0f}",
        f"{np.mean([one.of_shap for one in found]):.3f}",
        f"{reached} of {len(found)}",
        f"{np.median([one.rows_ratio for one in found]):.1f}",
        f"{np.median([one.seconds_ratio for one in found]):.1f}",
    ]


if __name__ == "__main__":
    main()
