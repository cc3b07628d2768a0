"""Kernel PCA as a detector: Hoffmann's examples, the number of components, rows that are drawn."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

import whyodd
from whyodd.adapters.sklearn_kernel_pca import error_in_feature_space

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))


def ring(n, rng, noise=0.05):
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(n, 2))


class TestRing:
    model = whyodd.KernelPCA(sigma=0.4).fit(ring(300, np.random.default_rng(1)))

    def test_points_inside_and_outside_are_outliers(self):
        assert list(self.model.predict([[0.0, 0.0], [0.5, 0.0], [0.0, 1.6], [-2.0, 2.0]])) == [-1] * 4

    def test_about_a_tenth_of_new_rows_are(self):
        share = np.mean(self.model.predict(ring(2000, np.random.default_rng(2))) == -1)
        assert 0.06 < share < 0.15

    @pytest.mark.parametrize("radius", [0.6, 1.5, 4.0])
    def test_expected_is_the_nearest_point_of_the_ring(self, radius):
        angle = np.linspace(0.1, 6.1, 12)
        around = np.column_stack([np.cos(angle), np.sin(angle)])
        z = self.model.network_.expected(radius * around)
        # The noise, and rows that are not spread evenly, leave a few hundredths of the radius.
        assert np.abs(z - around).max() < (0.15 if radius < 2.0 else 2.1)
        np.testing.assert_allclose(np.hypot(*z.T), 1.0, atol=0.1)

    def test_the_variable_that_leaves_the_ring_is_to_blame(self):
        e = whyodd.explain(self.model, [[0.0, 1.6], [1.6, 0.0], [0.5, 0.0]])
        np.testing.assert_array_equal(e.relevance.argmax(axis=1), [1, 0, 0])
        assert (e.relevance.max(axis=1) > 0.9 * e.outlierness).all()
        assert "expected about" in str(e)


def test_is_scikit_learns_with_the_same_parameters():
    own = whyodd.KernelPCA(7, sigma=1.5).fit(X)
    theirs = KernelPCA(7, kernel="rbf", gamma=0.5 / 1.5**2).fit(X)
    new = 2.0 * RNG.normal(size=(40, 3))
    np.testing.assert_allclose(
        own.outlierness(new), error_in_feature_space(theirs, new), rtol=1e-9, atol=1e-13
    )
    variance = theirs.eigenvalues_ / theirs.eigenvalues_.sum()
    np.testing.assert_allclose(
        own.explained_variance_ratio_ / own.explained_variance_ratio_.sum(), variance, rtol=1e-9
    )


def test_share_of_the_variance_takes_as_many_components_as_it_needs():
    counts = []
    for share in (0.3, 0.7, 0.95):
        model = whyodd.KernelPCA(share).fit(X)
        held = model.explained_variance_ratio_
        assert held.sum() >= share > held[:-1].sum()
        assert model.n_components_ == model.network_.n_components == held.size
        counts.append(held.size)
    assert counts == sorted(set(counts))


def test_more_components_than_there_is_variance():
    rows = np.repeat(X[:6], 5, axis=0)
    model = whyodd.KernelPCA(20).fit(rows)
    assert model.n_components_ == 5
    assert np.all(model.outlierness(rows) < 1e-12)


def test_rows_that_are_all_equal_have_no_components():
    model = whyodd.KernelPCA(sigma=1.0).fit(np.ones((5, 2)))
    assert model.n_components_ == 0
    np.testing.assert_allclose(model.outlierness([[1.0, 1.0], [9.0, 9.0]]), [0.0, 2.0], atol=1e-12)
    assert list(model.predict([[1.0, 1.0], [9.0, 9.0]])) == [1, -1]


def test_of_many_rows_some_are_drawn():
    rows = RNG.normal(size=(3000, 3))
    model = whyodd.KernelPCA(max_rows=200).fit(rows)
    assert model.network_.n_centers == 200
    again = whyodd.KernelPCA(max_rows=200).fit(rows[::-1])
    np.testing.assert_array_equal(again.outlierness(rows[:9]), model.outlierness(rows[:9]))
    other = whyodd.KernelPCA(max_rows=200, random_state=1).fit(rows)
    assert not np.array_equal(other.network_.centers, model.network_.centers)
    share = np.mean(model.predict(RNG.normal(size=(4000, 3))) == -1)
    assert 0.07 < share < 0.13  # 2,000 rows put it within 0.007, one standard deviation


@pytest.mark.parametrize("value", [0, -3, 1.0, 1.5, 0.0, np.nan, "all", None, True])
def test_number_of_components_that_is_none_is_told(value):
    with pytest.raises(ValueError, match=r"n_components=.*: expected a whole number of components"):
        whyodd.KernelPCA(value).fit(X)


@pytest.mark.parametrize("value", [1, 0, 2.5, None, True])
def test_number_of_rows_that_is_none_is_told(value):
    with pytest.raises(ValueError, match=r"max_rows=.*: expected a whole number of rows, at least 2"):
        whyodd.KernelPCA(max_rows=value).fit(X)
