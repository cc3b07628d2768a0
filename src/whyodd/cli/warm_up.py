"""``whyodd warm-up``: compile everything now, for images of containers and before a first large table."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from whyodd.cli.table_options import Quiet  # noqa: TC001 - typer reads it

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whyodd.network.distance_network import DistanceNetwork

    Task = Callable[[], object]


def warm_up(quiet: Quiet = False) -> None:
    """Compile everything now instead of when it is first used, and keep it. Takes a few minutes, once.

    Small tables need no compiled code. For a container, set NUMBA_CACHE_DIR to a folder that the program can
    write, when the image is built and when it runs.

    Example: NUMBA_CACHE_DIR=/var/cache/whyodd whyodd warm-up
    """
    folder = cache_folder()
    started, console = perf_counter(), Console(stderr=True)
    all_tasks = list(tasks())
    for number, (name, task) in enumerate(all_tasks, start=1):
        if not quiet:
            console.print(f"[{number}/{len(all_tasks)}] {name}", markup=False, highlight=False)
        task()
    typer.echo(f"Compiled in {perf_counter() - started:.0f} s. The compiled code is kept in {folder}")


def cache_folder() -> str:
    """Where numba keeps what it compiles; an error if it cannot."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        _check_writable(Path(given))
        return given
    try:
        from whyodd.compute.soft.block import pool_block
    except RuntimeError as error:  # numba finds no folder at all
        raise OSError(
            "Compiled code cannot be kept: neither the folder of the package nor the user's cache can be "
            "written. Set NUMBA_CACHE_DIR to a folder that can."
        ) from error
    place = Path(pool_block.stats.cache_path)
    here = Path(__file__).parents[1]
    return f"__pycache__ folders below {here}" if place.is_relative_to(here) else str(place.parent)


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"NUMBA_CACHE_DIR={folder} cannot be written: {error.strerror}. Set it to a folder that can."
        ) from error


def tasks() -> Iterator[tuple[str, Task]]:
    """What there is to compile: a name, and work that needs it and is just too large for NumPy alone."""
    import numpy as np
    from scipy import sparse
    from sklearn.ensemble import IsolationForest

    from whyodd.compute import plain
    from whyodd.kernels import KERNELS
    from whyodd.maths.hard_poolings import Nearest
    from whyodd.models.bandwidth.rules import bandwidth
    from whyodd.models.gaussian_mixture import GaussianMixture
    from whyodd.models.one_class_svm import OneClassSVM
    from whyodd.network.distance_network import DistanceNetwork

    m, d = 200, 20
    X = np.random.default_rng(0).normal(size=(max(plain.MOST_DIFFERENCES // (m * d) + 1, m), d))
    wide = np.random.default_rng(0).normal(size=(5_000, 70))  # products of it are worth storing
    many = np.linspace(0.0, 1e3, 5_000)[:, None] * np.ones(d)  # so that nearly all can be skipped
    for layout, given in (("arrays", np.asarray), ("sparse matrices", sparse.csr_array)):
        for name, kernel in KERNELS.items():
            network = DistanceNetwork(given(X[:m]), kernel=kernel())
            for dtype in ("float64", "float32"):
                yield f"{name} kernel, {layout}, {dtype}", partial(network.decompose, given(X.astype(dtype)))
        nearest = DistanceNetwork(given(X[:m]), pooling=Nearest((0.5, 0.5)))
        yield f"nearest neighbours, {layout}", partial(nearest.decompose, given(X))
    nearest = DistanceNetwork(many, pooling=Nearest((0.5, 0.5)))
    yield "nearest neighbours, many", partial(nearest.decompose, many[:m])
    for name, kernel in KERNELS.items():
        peaked = DistanceNetwork(many, kernel=kernel())
        yield f"{name} kernel, many centers", partial(peaked.decompose, many[:m], tolerance=1e-6)
        yield f"flipping, {name} kernel", partial(_flip, DistanceNetwork(X[:m], kernel=kernel()), X)
        yield f"training, {name} kernel", partial(OneClassSVM(kernel(), nu=0.1).fit, X)
        yield f"training, {name} kernel, many rows", partial(OneClassSVM(kernel(), nu=0.5).fit, wide)
    yield "bandwidths", partial(bandwidth, "nn", wide)
    few = DistanceNetwork(X[:10], pooling=Nearest((0.5, 0.5)))
    yield (
        "nearest neighbours, few",
        partial(few.decompose, np.tile(X, (plain.MOST_DIFFERENCES // X.size + 1, 1))),
    )
    mixture = GaussianMixture(2, covariance_type="diag").fit(X)
    yield "mixtures", partial(_explain, mixture, np.repeat(X, plain.MOST_DIFFERENCES // X.size + 1, axis=0))
    forest = IsolationForest(n_estimators=5, random_state=0).fit(X)
    yield "forests", partial(_explain, forest, X)
    yield "forests, by splits", partial(_explain, forest, X, method="splits")
    yield "words", partial(_sides, np.tile(X, (20, 1)))
    yield "tables", partial(_find, X)


def _flip(network: DistanceNetwork, X: Any) -> None:
    from whyodd.evaluation.flipping import flip

    flip(network, X, X * X)


def _explain(model: Any, X: Any, **options: Any) -> None:
    from whyodd.explainers.explaining import explain

    explain(model, X, **options).why(0)


def _sides(X: Any) -> None:
    import numpy as np

    from whyodd.explanations.sides import sides_of

    alike = np.tile(np.arange(10), (len(X), 1))
    sides_of(X, alike, np.ones(X.shape, dtype=bool), X[:10].T.copy(), (0.1, 0.9))


def _find(X: Any) -> None:
    from whyodd.findings.find import find

    find(X).to_dict()
