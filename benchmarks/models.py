"""Time to explain rows over the time the model itself takes to score them, for every adapter and own model.

Run: python benchmarks/models.py [--quick]

Both are what people call: `whyodd.explain(model, X)`, reading the model included, and the model's own
`score_samples` or `decision_function`, as fitted with its defaults. explain() uses all cores, most models
one: the last column has the ratio with explain() held to one thread.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

from pyod.models.cblof import CBLOF
from pyod.models.gmm import GMM
from pyod.models.kde import KDE
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.mcd import MCD
from pyod.models.ocsvm import OCSVM
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.covariance import EllipticEnvelope, EmpiricalCovariance
from sklearn.metrics import roc_auc_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from realdata import adbench, nsl_kdd
from sidebyside import best_of_turns, print_table
from whyodd.models.registry import MODELS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

# Kind of model -> the ratio it must not exceed, as promised.
LIMITS = {"kernel": 3.0, "neighbours": 4.0, "mixture": 4.0, "centroids": 4.0}
# Name, standing for (rows, columns): few columns, where trees find neighbours, and many, where products do.
DATA = ["32_shuttle", "25_musk"]


def score_samples(model: Any, X: np.ndarray) -> np.ndarray:
    return model.score_samples(X)


def decision_function(model: Any, X: np.ndarray) -> np.ndarray:
    return model.decision_function(X)


def neighbour_distances(model: Any, X: np.ndarray) -> np.ndarray:
    return model.kneighbors(X)[0].mean(axis=1)


def centroid_distances(model: Any, X: np.ndarray) -> np.ndarray:
    return model.transform(X).min(axis=1)


def mahalanobis(model: Any, X: np.ndarray) -> np.ndarray:
    return model.mahalanobis(X)


# Name -> kind, unfitted model, its own way to score.
FOREIGN: dict[str, tuple[str, Any, Callable[[Any, np.ndarray], np.ndarray]]] = {
    "sklearn OneClassSVM": ("kernel", OneClassSVM(nu=0.5), score_samples),
    "sklearn KernelDensity, gaussian": ("kernel", KernelDensity(bandwidth="scott"), score_samples),
    "sklearn KernelDensity, exponential": ("kernel", KernelDensity(kernel="exponential"), score_samples),
    "sklearn LocalOutlierFactor": ("neighbours", LocalOutlierFactor(novelty=True), score_samples),
    "sklearn NearestNeighbors": ("neighbours", NearestNeighbors(), neighbour_distances),
    "sklearn GaussianMixture, full": ("mixture", GaussianMixture(5, random_state=0), score_samples),
    "sklearn GaussianMixture, tied": ("mixture", GaussianMixture(5, covariance_type="tied"), score_samples),
    "sklearn GaussianMixture, diag": ("mixture", GaussianMixture(5, covariance_type="diag"), score_samples),
    "sklearn GaussianMixture, spherical": (
        "mixture",
        GaussianMixture(5, covariance_type="spherical"),
        score_samples,
    ),
    "sklearn BayesianGaussianMixture": ("mixture", BayesianGaussianMixture(n_components=5), score_samples),
    "sklearn EllipticEnvelope": ("mixture", EllipticEnvelope(support_fraction=0.9), score_samples),
    "sklearn EmpiricalCovariance": ("mixture", EmpiricalCovariance(), mahalanobis),
    "sklearn KMeans": ("centroids", KMeans(n_clusters=8, random_state=0), centroid_distances),
    "sklearn MiniBatchKMeans": ("centroids", MiniBatchKMeans(random_state=0), centroid_distances),
    "PyOD OCSVM": ("kernel", OCSVM(), decision_function),
    "PyOD KDE": ("kernel", KDE(), decision_function),
    "PyOD KNN, largest": ("neighbours", KNN(), decision_function),
    "PyOD KNN, mean": ("neighbours", KNN(method="mean"), decision_function),
    "PyOD KNN, median": ("neighbours", KNN(method="median"), decision_function),
    "PyOD LOF": ("neighbours", LOF(), decision_function),
    "PyOD CBLOF": ("centroids", CBLOF(random_state=0), decision_function),
    "PyOD GMM": ("mixture", GMM(n_components=5), decision_function),
    "PyOD MCD": ("mixture", MCD(support_fraction=0.9), decision_function),
}
OWN_KINDS = {
    "committee": "neighbours",
    "exemplar_mixture": "kernel",
    "gaussian": "mixture",
    "gaussian_mixture": "mixture",
    "kernel_pca": "kernel",
    "k_nearest_neighbors": "neighbours",
    "kernel_density": "kernel",
    "local_outlier_factor": "neighbours",
    "one_class_svm": "kernel",
    "svdd": "kernel",
}


def all_models() -> dict[str, tuple[str, Any, Callable[[Any, np.ndarray], np.ndarray]]]:
    """Models of other packages, and every own one."""
    own = {
        f"whyodd {model.__name__}": (OWN_KINDS[key], model(), score_samples) for key, model in MODELS.items()
    }
    return FOREIGN | own


def measure(
    model: Any, own: Callable[[Any, np.ndarray], np.ndarray], X: np.ndarray, turns: int
) -> dict[str, float]:
    return best_of_turns(
        {
            "own": lambda: own(model, X),
            "explain": lambda: whyodd.explain(model, X, exclude_self=False),
            "one thread": lambda: whyodd.explain(model, X, exclude_self=False, n_jobs=1),
        },
        turns,
    )


def attacks_in_raw_columns() -> None:
    """`auto` on NSL-KDD: how well it detects attacks, and explaining 1,000 of them over scoring them."""
    normal, test, is_attack = nsl_kdd()
    pipeline = whyodd.auto(normal, trusted=True)
    auc = roc_auc_score(is_attack, -pipeline.score_samples(test))
    print(f"NSL-KDD, auto fitted on {len(normal)} normal rows: ROC AUC on the test file {auc:.3f}\n")
    rows = test[is_attack].head(1_000)
    seconds = best_of_turns(
        {
            "pipeline.score_samples": lambda: pipeline.score_samples(rows),
            "whyodd.explain": lambda: whyodd.explain(pipeline, rows),
            "whyodd.explain, with expected values": lambda: whyodd.explain(pipeline, rows).expected,
        }
    )
    own = seconds["pipeline.score_samples"]
    lines = [(name, f"{1e3 * took:.0f}", f"{took / own:.2f}") for name, took in seconds.items()]
    print_table("NSL-KDD, 1,000 attacks (promised: below 10)", ["", "ms", "ratio"], lines)


def main(quick: bool) -> None:
    attacks_in_raw_columns()
    warnings.simplefilter("ignore")  # of models that have not converged: they are timed, not used
    for name in DATA:
        rows = StandardScaler().fit_transform(adbench(name))
        rows = rows[:, rows.std(axis=0) > 0][: 2_000 if quick else 10_000]
        train, new = rows[::2], rows[1::2]
        lines, worst = [], dict.fromkeys(LIMITS, 0.0)
        for title, (kind, model, own) in all_models().items():
            seconds = measure(model.fit(train), own, new, turns=3 if quick else 5)
            ratio = seconds["explain"] / seconds["own"]
            worst[kind] = max(worst[kind], ratio)
            alone = seconds["one thread"] / seconds["own"]
            cells = (
                f"{1e6 * seconds['own'] / len(new):.1f}",
                f"{ratio:.2f}",
                f"{LIMITS[kind]:g}",
                f"{alone:.2f}",
            )
            lines.append((title, kind, *cells))
        columns = ["model", "kind", "own scoring, µs/row", "explain / scoring", "promised", "on one thread"]
        print_table(
            f"{name}: {len(new)} rows, {len(train)} trained on, {train.shape[1]} columns", columns, lines
        )
        print(
            "Worst:",
            ", ".join(f"{kind} {ratio:.2f} (≤ {LIMITS[kind]:g})" for kind, ratio in worst.items()),
            "\n",
        )


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
