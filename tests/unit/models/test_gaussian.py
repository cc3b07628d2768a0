"""One Gaussian: scikit-learn's Mahalanobis distances, the paper's baseline, columns that do not vary."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import EmpiricalCovariance, MinCovDet

import whyodd
from whyodd import Gaussian
from whyodd.maths.metrics import ComponentMetric

over_covariances = pytest.mark.parametrize("covariance", ["full", "diagonal", "robust"])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def training_rows(rng):
    return rng.standard_normal((200, 4)) @ rng.standard_normal((4, 4)) + 3.0


@pytest.fixture
def new(rng):
    return 5.0 * rng.standard_normal((50, 4))


def test_full_is_half_of_mahalanobis(X, new):
    model, theirs = Gaussian().fit(X), EmpiricalCovariance().fit(X)
    np.testing.assert_allclose(2.0 * model.outlierness(new), theirs.mahalanobis(new), rtol=1e-9)
    np.testing.assert_allclose(model.location_, theirs.location_)
    np.testing.assert_allclose(model.covariance_, theirs.covariance_)


@pytest.mark.parametrize("support_fraction", [None, 0.9])
def test_robust_is_the_minimum_covariance_determinant(X, new, support_fraction):
    X[:20] += 50.0  # outliers that the others must not be measured with
    model = Gaussian("robust", support_fraction=support_fraction, random_state=0).fit(X)
    theirs = MinCovDet(support_fraction=support_fraction, random_state=0).fit(X)
    np.testing.assert_allclose(2.0 * model.outlierness(new), theirs.mahalanobis(new), rtol=1e-9)
    assert np.all(model.predict(X[:20]) == -1)
    assert np.median(Gaussian().fit(X).outlierness(X[:20])) < 0.1 * np.median(model.outlierness(X[:20]))


@pytest.mark.data
@pytest.mark.parametrize("name", ["6_cardio", "12_fault"])
def test_mahalanobis_on_real_data(data_dir, name):
    X = np.load(data_dir / "adbench" / f"{name}.npz")["X"].astype(np.float64)
    varies = X[:, X.std(axis=0) > 0]
    centred = (varies - varies.mean(axis=0)) / varies.std(axis=0)
    model = Gaussian().fit(X)
    # Plain: the squared scores of all principal components with a variance, each over that variance.
    _, values, axes = np.linalg.svd(centred, full_matrices=False)
    kept = values > 1e-6 * values[0]
    expected = 0.5 * len(X) * ((centred @ axes[kept].T / values[kept]) ** 2).sum(axis=1)
    # Variances of a covariance matrix are right to rounding of the largest: those far below it lose digits.
    rounding = np.finfo(np.float64).eps * (values[0] / values[kept].min()) ** 2
    np.testing.assert_allclose(model.outlierness(X), expected, rtol=max(rounding, 1e-12))


@pytest.mark.parametrize("regularization", [0.0, 0.5])
def test_diagonal_is_the_papers_baseline(X, new, regularization):
    """σ_i = 1/n Σ (x_i - μ_i)² + λ, and R_i = (x_i - μ_i)² / (2 σ_i)."""
    model = Gaussian("diagonal", regularization=regularization).fit(X)
    variances = [sum((x - sum(c) / len(c)) ** 2 for x in c) / len(c) + regularization for c in X.T]
    columns = list(zip(X.mean(axis=0), variances, strict=True))
    expected = [[(x - m) ** 2 / (2 * v) for x, (m, v) in zip(row, columns, strict=True)] for row in new]
    e = whyodd.explain(model, new)
    np.testing.assert_allclose(e.relevance, expected, rtol=1e-9)
    np.testing.assert_allclose(e.outlierness, np.sum(expected, axis=1), rtol=1e-9)
    np.testing.assert_allclose(e.unexplained, 0.0, atol=1e-9)
    assert isinstance(model.network_.metric, ComponentMetric)


@over_covariances
@pytest.mark.parametrize("regularization", [0.0, 0.3])
def test_log_density_is_that_of_a_normal_distribution(X, new, covariance, regularization):
    model = Gaussian(covariance, regularization=regularization, random_state=0).fit(X)
    expected = multivariate_normal(model.location_, model.covariance_).logpdf(new)
    np.testing.assert_allclose(model.log_density(new), expected, rtol=1e-9)
    np.testing.assert_allclose(model.network_.offset - model.outlierness(new), expected, rtol=1e-9)


@over_covariances
def test_a_tenth_of_the_training_rows_are_outliers(X, covariance):
    model = Gaussian(covariance, random_state=0).fit(X)
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.1)


@over_covariances
def test_columns_in_other_units(X, new, covariance):
    """Up to 1e±8: no column's digits are lost in another's."""
    units = np.array([1e-8, 1.0, 1e4, 1e8])
    expected = Gaussian(covariance, random_state=0).fit(X).outlierness(new)
    model = Gaussian(covariance, random_state=0).fit(X * units)
    # The minimum covariance determinant searches among rounded determinants, the others only round.
    rtol = 1e-5 if covariance == "robust" else 1e-9
    np.testing.assert_allclose(model.outlierness(new * units), expected, rtol=rtol)


def test_full_does_not_depend_on_the_axes(X, new, rng):
    turn = rng.standard_normal((4, 4))
    expected = Gaussian().fit(X).outlierness(new)
    np.testing.assert_allclose(Gaussian().fit(X @ turn).outlierness(new @ turn), expected, rtol=1e-7)


# ---- no variance ------------------------------------------------------------------------------------------


@over_covariances
@pytest.mark.parametrize("value", [0.0, 1 / 3, 1e6])
def test_constant_columns_do_not_count(X, new, covariance, value):
    wide, deviating = np.insert(X, 2, value, axis=1), np.insert(new, 2, value + 5.0, axis=1)
    model = Gaussian(covariance, random_state=0).fit(wide)
    without = Gaussian(covariance, random_state=0).fit(X)
    np.testing.assert_array_equal(model.constant_, [False, False, True, False, False])
    np.testing.assert_allclose(model.outlierness(deviating), without.outlierness(new), rtol=1e-9)
    np.testing.assert_allclose(model.log_density(deviating), without.log_density(new), rtol=1e-9)
    e = whyodd.explain(model, deviating)
    np.testing.assert_allclose(e.relevance[:, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(e.expected[:, 2], value)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_constant_columns_count_with_regularization(X, covariance):
    """As in the paper, where a blank half of the images has a variance of λ."""
    model = Gaussian(covariance, regularization=0.1).fit(np.insert(X, 2, 7.0, axis=1))
    row = np.insert(X.mean(axis=0), 2, 8.0)
    assert model.constant_[2]
    assert model.outlierness([row])[0] == pytest.approx(0.5 / 0.1)


def test_directions_without_variance_do_not_count(X, new):
    """A column that is a sum of others adds nothing, and the density is that on the plane of the rows."""
    wide = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = Gaussian().fit(wide)
    rows = np.column_stack([new, new[:, 0] + new[:, 1]])
    np.testing.assert_allclose(model.outlierness(rows), Gaussian().fit(X).outlierness(new), rtol=1e-7)
    on_plane = multivariate_normal(wide.mean(axis=0), np.cov(wide, rowvar=False, ddof=0), allow_singular=True)
    np.testing.assert_allclose(model.log_density(rows), on_plane.logpdf(rows), rtol=1e-7)


def test_fewer_rows_than_columns(rng):
    X = rng.standard_normal((10, 30))
    model = Gaussian().fit(X)
    # n points in general position: Mahalanobis' squared distance is n - 1 for each of them.
    np.testing.assert_allclose(2.0 * model.outlierness(X), 9.0, rtol=1e-9)


def test_data_that_does_not_vary():
    with pytest.raises(ValueError, match="Every column of X is constant"):
        Gaussian().fit(np.ones((10, 2)))


# ---- weights and wrong input ------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_weighted_moments(X, new, rng, covariance):
    weights = rng.random(200)
    model = Gaussian(covariance).fit(X, sample_weight=weights)
    mean = (weights[:, None] * X).sum(axis=0) / weights.sum()
    full = (weights[:, None] * (X - mean)).T @ (X - mean) / weights.sum()
    np.testing.assert_allclose(model.location_, mean)
    np.testing.assert_allclose(model.covariance_, full if covariance == "full" else np.diag(np.diag(full)))
    scaled = Gaussian(covariance).fit(X, sample_weight=1000.0 * weights)
    np.testing.assert_allclose(scaled.outlierness(new), model.outlierness(new), rtol=1e-9)


def test_robust_weights_are_counts(X):
    with pytest.raises(ValueError, match="Gaussian counts rows"):
        Gaussian("robust").fit(X, sample_weight=np.full(200, 0.5))


def test_rows_without_weight_do_not_make_a_column_vary(X):
    X[:, 1] = 0.0
    X[0, 1] = 9.0
    weights = np.ones(200)
    weights[0] = 0.0
    assert Gaussian().fit(X, sample_weight=weights).constant_[1]
    assert not Gaussian().fit(X).constant_[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"covariance": "round"}, "covariance='round': expected one of 'diagonal', 'full', 'robust'"),
        ({"regularization": -1.0}, "regularization=-1.0: expected a variance of at least 0 to add"),
        ({"regularization": np.nan}, "regularization=nan"),
        ({"regularization": None}, "regularization=None"),
        ({"covariance": "robust", "support_fraction": 3.0}, "support_fraction"),
    ],
    ids=str,
)
def test_wrong_parameters(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        Gaussian(**parameters).fit(X)
