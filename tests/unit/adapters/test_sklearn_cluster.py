"""scikit-learn's k-means against its network."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans

import whyodd

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))


@pytest.mark.parametrize("cls", [KMeans, MiniBatchKMeans])
@pytest.mark.parametrize("k", [1, 4])
def test_outlierness_is_the_distance_to_the_nearest_centroid(cls, k):
    model = cls(k, random_state=0).fit(X)
    network = whyodd.neuralize(model)
    o = network.outlierness(X * 2)
    np.testing.assert_allclose(o, model.transform(X * 2).min(axis=1), rtol=1e-12)
    assert model.score(X * 2) == pytest.approx(-np.sum(o**2), rel=1e-12)
    np.testing.assert_array_equal(network.assignment(X * 2).argmax(axis=1), model.predict(X * 2))


def test_nothing_is_unexplained_and_the_centroid_is_what_is_expected():
    model = KMeans(4, random_state=0).fit(X)
    e = whyodd.explain(model, X * 2)
    assert np.all(e.unexplained == 0.0)
    np.testing.assert_allclose(e.expected, model.cluster_centers_[model.predict(X * 2)], rtol=1e-12)


def test_sparse_training_data():
    rows = sparse.random_array((50, 30), density=0.2, rng=RNG, format="csr")
    model = KMeans(3, random_state=0).fit(rows)
    np.testing.assert_allclose(
        whyodd.neuralize(model).outlierness(rows), model.transform(rows).min(axis=1), rtol=1e-9
    )


def test_a_clustering_that_is_no_k_means_is_unsupported():
    with pytest.raises(
        whyodd.UnsupportedModelError, match=r"how sklearn\.cluster\.BisectingKMeans works inside\. "
    ):
        whyodd.neuralize(BisectingKMeans(3, random_state=0).fit(X))
