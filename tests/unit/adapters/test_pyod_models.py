"""PyOD's detectors against their networks."""

import subprocess
import sys

import numpy as np
import pytest
from pyod.models.cblof import CBLOF
from pyod.models.kde import KDE
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.ocsvm import OCSVM
from sklearn.cluster import AffinityPropagation, Birch, BisectingKMeans, MeanShift

import whyodd

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(80, 3)), RNG.normal(size=(4, 3)) + 9.0])
ROWS = RNG.normal(size=(20, 3)) * 4


@pytest.mark.parametrize(
    "model", [LOF(n_neighbors=6), *(KNN(method=method) for method in ("largest", "mean", "median"))]
)
def test_training_rows_without_themselves_have_the_scores_of_fit(model):
    model.fit(X)
    np.testing.assert_allclose(whyodd.explain(model, X).outlierness, model.decision_scores_, rtol=1e-12)


def test_cblof_measures_to_large_clusters_only():
    model = CBLOF(n_clusters=3, random_state=0).fit(X)
    assert len(model.small_cluster_labels_) > 0
    network = whyodd.neuralize(model)
    assert network.n_centers == len(model.large_cluster_labels_)
    np.testing.assert_allclose(network.outlierness(X), model.decision_scores_, rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        CBLOF(n_clusters=3, use_weights=True, random_state=0),
        CBLOF(n_clusters=3, clustering_estimator=Birch(n_clusters=3)),
        CBLOF(n_clusters=3, clustering_estimator=Birch(n_clusters=3), use_weights=True),
        CBLOF(n_clusters=2, clustering_estimator=MeanShift(bandwidth=5.0)),
        CBLOF(
            n_clusters=2,
            clustering_estimator=AffinityPropagation(damping=0.9, preference=-300.0, random_state=0),
        ),
    ],
    ids=["weights", "birch", "birch with weights", "mean shift", "affinity propagation"],
)
# PyOD tells that Birch has no centers and takes the means.
@pytest.mark.filterwarnings("ignore:The chosen clustering for CBLOF does not have:UserWarning")
def test_cblof_that_jumps_where_clusters_meet_is_explained_on_each_side(model):
    model.fit(X)
    for rows in (X, ROWS):
        e = whyodd.explain(model, rows)
        np.testing.assert_allclose(e.outlierness, model.decision_function(rows), rtol=1e-12)
        np.testing.assert_allclose(e.relevance.sum(axis=1), e.outlierness, rtol=1e-12)
        assert (e.relevance >= 0.0).all()
    assert not np.isnan(e.expected).any()


def test_cblof_with_a_clustering_of_its_own_says_what_to_use():
    model = CBLOF(n_clusters=3, clustering_estimator=BisectingKMeans(3, random_state=0)).fit(X)
    with pytest.raises(
        whyodd.UnsupportedModelError, match=r"BisectingKMeans does not assign .*expected k-means"
    ):
        whyodd.neuralize(model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OCSVM(kernel="poly"), r"OneClassSVM\(kernel='poly'\)"),
        (KNN(metric="braycurtis"), "NearestNeighbors measures distances with metric='braycurtis'"),
        (KDE(metric="manhattan"), "KernelDensity measures distances with metric='manhattan'"),
        (LOF(metric="braycurtis"), "LocalOutlierFactor measures distances with metric='braycurtis'"),
    ],
)
def test_what_is_inside_is_named(model, message):
    with pytest.raises(whyodd.UnsupportedModelError, match=message):
        whyodd.neuralize(model.fit(X))


@pytest.mark.full
def test_pyod_is_not_imported():
    code = (
        "import sys, numpy as np, whyodd; from sklearn.svm import OneClassSVM; X = np.eye(3); "
        "whyodd.explain(OneClassSVM().fit(X), X); print('pyod' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
