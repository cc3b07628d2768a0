"""Models as ONNX files against whyodd itself: the largest deviation on real tables, and the time both take.

Run: python benchmarks/onnx_export.py [--quick]

Every model is fitted on rows of each table of `adbench` after each scaler, exported, and run by onnxruntime
on rows that it has learned and others, in float32; `whyodd.explain` is given the same numbers in float64.
Deviations of outlierness and of what is unexplained are relative to the row's outlierness, those of relevance
to its largest relevance. Copies of centers may have next to nothing of either, less than a billionth of the
usual outlierness (of kernels at least 1) or of their own: deviations are relative to that. If two neighbours
are equally far, each may count: such rows are counted, and only an outlierness that does not depend on the
choice is compared. Far rows whose outlierness float32 cannot hold must come out as infinite.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnxruntime
from scipy.spatial.distance import cdist
from sklearn import covariance, mixture, neighbors, svm
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import whyodd
from realdata import data_dir
from sidebyside import best_of_turns, machine, print_table
from whyodd.compute.points import to_dense
from whyodd.maths.hard_poolings import Nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCALERS: dict[str, Sequence[Any]] = {
    "standard": [StandardScaler()],
    "robust": [RobustScaler()],
    "min-max": [MinMaxScaler()],
    "max-abs": [MaxAbsScaler()],
    "whitened": [StandardScaler(), PCA(0.99, whiten=True)],
}
MODELS: dict[str, Any] = {
    "OneClassSVM, gaussian": whyodd.OneClassSVM(),
    "OneClassSVM, laplacian": whyodd.OneClassSVM(kernel="laplacian"),
    "OneClassSVM, exponential q=4": whyodd.OneClassSVM(kernel="exponential", q=4.0),
    "OneClassSVM, student q=4": whyodd.OneClassSVM(kernel="student", q=4.0, a=0.5),
    "SVDD, cauchy": whyodd.SVDD(kernel="cauchy"),
    "KernelDensity": whyodd.KernelDensity(),
    "ExemplarMixture, rational": whyodd.ExemplarMixture(kernel=whyodd.kernels.RationalQuadratic(2.0)),
    "KNearestNeighbors, mean": whyodd.KNearestNeighbors(5),
    "KNearestNeighbors, kth": whyodd.KNearestNeighbors(5, measure="kth"),
    "KNearestNeighbors, mean vector": whyodd.KNearestNeighbors(5, measure="mean_vector"),
    "LocalOutlierFactor": whyodd.LocalOutlierFactor(),
    "Gaussian": whyodd.Gaussian(),
    "GaussianMixture, full": whyodd.GaussianMixture(4, random_state=0),
    "GaussianMixture, diag": whyodd.GaussianMixture(4, covariance_type="diag", random_state=0),
    "GaussianMixture, tied": whyodd.GaussianMixture(4, covariance_type="tied", random_state=0),
    "sklearn OneClassSVM": svm.OneClassSVM(nu=0.2),
    "sklearn KernelDensity": neighbors.KernelDensity(bandwidth=0.5),
    "sklearn LocalOutlierFactor": neighbors.LocalOutlierFactor(novelty=True),
    "sklearn GaussianMixture": mixture.GaussianMixture(4, random_state=0),
    "sklearn EllipticEnvelope": covariance.EllipticEnvelope(random_state=0),
}
# Distances that differ by less are equal but for rounding; what is below this part is next to nothing.
SAME_DISTANCE, NOTHING = 1e-9, 1e-9


class Deviation(NamedTuple):
    """Largest deviations from whyodd, over rows that are not undecided, and how many of these there are."""

    outlierness: float
    relevance: float
    unexplained: float
    n_other_verdicts: int
    n_undecided: int

    @classmethod
    def worst(cls, some: Sequence[Deviation]) -> Deviation:
        """The largest of several."""
        *largest, verdicts, undecided = zip(*some, strict=True)
        return cls(*map(max, largest), sum(verdicts), sum(undecided))


def session_of(model: Any, path: Path, **options: Any) -> onnxruntime.InferenceSession:
    """The model as onnxruntime has it."""
    whyodd.onnx.export(model, path, **options)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, settings)


def outputs(session: onnxruntime.InferenceSession, X: np.ndarray) -> dict[str, np.ndarray]:
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X}), strict=True))


def deviation(model: Any, found: Mapping[str, np.ndarray], X: np.ndarray) -> Deviation:
    """How far the outputs of an exported model are from what whyodd says of the same rows."""
    e = whyodd.explain(model, X.astype(np.float64), exclude_self=False)
    o = e.outlierness
    fits = o <= np.finfo(found["outlierness"].dtype).max
    if not np.isposinf(found["outlierness"][~fits]).all():
        raise AssertionError("what is too large for float32 must come out as infinite")
    tied = undecided(e)
    compared = fits & ~tied
    # Outlierness of a kernel is in units of its own, that of neighbours in those of the data.
    usual = max(np.median(o), 1.0 if getattr(e.network, "pooling", None) is None else 0.0)
    nothing = NOTHING * np.maximum(o, usual)
    size = np.maximum(o, nothing)
    largest = np.maximum(np.abs(e.relevance).max(axis=1), nothing)
    differences = {
        "outlierness": _over(np.abs(found["outlierness"] - o), size),
        "relevance": _over(np.abs(found["relevance"] - e.relevance).max(axis=1), largest),
        "unexplained": _over(np.abs(found["unexplained"] - e.unexplained), size),
    }
    verdicts = 0
    if e.threshold is not None:
        # A row at the threshold itself is on either side of it by rounding.
        is_clear = np.abs(o - e.threshold) > SAME_DISTANCE * e.threshold
        verdicts = int(((found["is_odd"] != (o > e.threshold)) & is_clear & ~tied).sum())
    worst = [float(each[compared].max(initial=0.0)) for each in differences.values()]
    if isinstance(getattr(e.network, "pooling", None), Nearest):
        worst[0] = float(differences["outlierness"][fits].max(initial=0.0))
    return Deviation(*worst, n_other_verdicts=verdicts, n_undecided=int(tied.sum()))


def undecided(e: Any) -> np.ndarray:
    """Rows (n,) for which rounding decides which of several neighbours count."""
    pooling = getattr(e.network, "pooling", None)
    if pooling is None:
        return np.zeros(len(e), dtype=bool)
    d = np.sort(cdist(*_mapped(e)), axis=1)[:, : pooling.k + 1]
    gaps = np.diff(d, axis=1) <= SAME_DISTANCE * d[:, 1:]
    changes = np.diff(np.append(pooling.assignment(), 0.0)) != 0.0
    return (gaps & changes[: gaps.shape[1]]).any(axis=1)


def _over(difference: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Relative differences; 0 differs from 0 by nothing."""
    return difference / np.where((size == 0.0) & (difference == 0.0), 1.0, size)


def _mapped(e: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows and centers where their distance is the usual one."""
    rows, centers = (to_dense(points) for points in (e.inputs, e.network.centers))
    if e.network.metric is None:
        return rows, centers
    return rows @ e.network.metric.matrix.T, centers @ e.network.metric.matrix.T


def rows_of(table: Path, n_train: int, n_test: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn, and rows to explain in float32: new ones, learned ones, and some that are far away."""
    with np.load(table) as archive:
        X = archive["X"].astype(np.float64)
    order = np.random.default_rng(0).permutation(len(X))[: n_train + n_test]
    train, test = X[order[: min(n_train, len(order) // 2)]], X[order[min(n_train, len(order) // 2) :]]
    far = test[:3] + 1e6 * np.array([[1.0], [-1.0], [0.0]]) * np.eye(X.shape[1])[:1]
    return train, np.concatenate([test, train[: n_test // 2], far]).astype(np.float32)


def main() -> None:
    quick = "--quick" in sys.argv
    folder = data_dir()
    if folder is None:
        sys.exit("no data folder: set WHYODD_DATA to the folder that holds adbench")
    tables = sorted((folder / "adbench").glob("*.npz"))
    tables = tables[:: len(tables) // 4] if quick else tables
    sizes = (200, 100) if quick else (1000, 500)
    rows = []
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models that do not converge, and columns of one value
        path = Path(scratch) / "model.onnx"
        for name, model in MODELS.items():
            found, ratios, n_rows = [], [], 0
            for table in tables:
                train, X = rows_of(table, *sizes)
                for scaler, steps in SCALERS.items():
                    fitted = make_pipeline(*map(clone, steps), clone(model)).fit(train)
                    session = session_of(fitted, path)
                    found.append(deviation(fitted, outputs(session, X), X))
                    n_rows += len(X)
                    if max(found[-1][:3]) > 1e-5:
                        print(name, table.stem, scaler, found[-1])
                    if scaler == "standard":
                        ratios.append(_ratio(fitted, session, X))
            worst = Deviation.worst(found)
            rows.append(
                [
                    name,
                    *(f"{each:.1e}" for each in worst[:3]),
                    *map(str, worst[3:]),
                    f"{np.median(ratios):.2f}",
                ]
            )
    print_table(
        f"Largest deviation over {len(tables)} tables x {len(SCALERS)} scalers, {n_rows} rows; time over "
        f"that of whyodd.explain, one thread each, median over tables ({machine()})",
        ["model", "outlierness", "relevance", "unexplained", "other verdicts", "undecided rows", "time"],
        rows,
    )


def _ratio(model: Any, session: onnxruntime.InferenceSession, X: np.ndarray) -> float:
    wide = X.astype(np.float64)
    seconds = best_of_turns(
        {
            "onnx": lambda: outputs(session, X),
            "whyodd": lambda: whyodd.explain(model, wide, exclude_self=False, n_jobs=1),
        },
        turns=3,
    )
    return seconds["onnx"] / seconds["whyodd"]


if __name__ == "__main__":
    main()
