"""Real data for benchmarks, from the folder of WHYODD_DATA (default: ../shared/data)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

# Rows of a table that are drawn at most; of fewer anomalies than these some are put in.
MAX_ROWS, FEWEST_ANOMALIES, PUT_IN = 3_000, 3, 5


def data_dir() -> Path | None:
    """The folder with the data sets, or None if there is none."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("WHYODD_DATA", default))
    return folder if folder.is_dir() else None


def _file(name: str) -> Path:
    folder = data_dir()
    if folder is None:
        raise FileNotFoundError(f"no data folder: set WHYODD_DATA to the folder that holds {name}")
    return folder / name


@cache
def _arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(_file(name)) as archive:
        return dict(archive)


def cifar_patches(n: int, *, size: int = 7, seed: int = 0) -> np.ndarray:
    """Random square patches (n, size * size * 3) of CIFAR-10 images, values 0 to 255."""
    images = _arrays("cifar10/cifar10_subset.npz")["x_train"]
    rng = np.random.default_rng(seed)
    corner = 32 - size + 1
    which, top, left = (
        rng.integers(len(images), size=n),
        rng.integers(corner, size=n),
        rng.integers(corner, size=n),
    )
    offsets = np.arange(size)
    rows, columns = top[:, None, None] + offsets[:, None], left[:, None, None] + offsets
    return images[which[:, None, None], rows, columns].reshape(n, -1).astype(np.float64)


def nearest_neighbour_quantile(X: np.ndarray, quantile: float) -> float:
    """Quantile of the distances of points to their nearest other point."""
    distances, _ = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X)
    return float(np.quantile(distances[:, 1], quantile))


def mnist_class(digit: int) -> np.ndarray:
    """Training images of one digit (n, 784), values 0 to 255."""
    mnist = _arrays("mnist/mnist.npz")
    return mnist["x_train"][mnist["y_train"] == digit].reshape(-1, 784).astype(np.float64)


def mnist_test() -> np.ndarray:
    """The first 2,000 test images of all digits (2000, 784), values 0 to 255."""
    return _arrays("mnist/mnist.npz")["x_test"][:2_000].reshape(-1, 784).astype(np.float64)


def adbench(name: str) -> np.ndarray:
    """Rows of one of the tabular sets, in an order without labels in it."""
    X = _arrays(f"adbench/{name}.npz")["X"].astype(np.float64)
    return X[np.random.default_rng(0).permutation(len(X))]


def adbench_names() -> list[str]:
    """Names of all tabular sets, sorted."""
    return sorted(file.stem for file in _file("adbench").glob("*.npz"))


def labelled_adbench(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one of the tabular sets (n, d), as they are stored, and which are anomalies (n,)."""
    arrays = _arrays(f"adbench/{name}.npz")
    return arrays["X"].astype(np.float64, order="C"), arrays["y"].astype(bool)


def draw(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """At most ``MAX_ROWS`` rows, a few anomalies among them."""
    if len(X) <= MAX_ROWS:
        return X, y
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(X), MAX_ROWS, replace=False)
    if np.count_nonzero(y[drawn]) < FEWEST_ANOMALIES:
        normal = drawn[~y[drawn]]
        drawn = np.concatenate([normal[:-PUT_IN], rng.choice(np.flatnonzero(y), PUT_IN, replace=False)])
    return X[drawn], y[drawn]


def nsl_kdd() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Network connections, 41 raw columns: normal ones to train on, the test file, which are attacks."""
    train, test = (pd.read_csv(_file(f"nsl_kdd/{name}.csv.gz")) for name in ("train_20percent", "test"))
    normal, is_attack = train[train["attack"] == "normal"], (test["attack"] != "normal").to_numpy()
    labels = ["attack", "difficulty"]
    return normal.drop(columns=labels), test.drop(columns=labels), is_attack
