"""Every adapter gives back its model's own scores on real data."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import whyodd
from contracts.fitted import FITTED, LINEAR, Known

CASES = [case for cases in FITTED.values() for case in cases]


@pytest.fixture(scope="module")
def cardiotocograms(data_dir):
    """500 normal rows of 21 measurements to fit, and 500 others to score, 150 of them pathologic."""
    with np.load(data_dir / "adbench" / "6_cardio.npz") as file:
        X, is_odd = file["X"], file["y"].astype(bool)
    rng = np.random.default_rng(0)
    normal, odd = rng.permutation(X[~is_odd]), rng.permutation(X[is_odd])
    scaler = StandardScaler().fit(normal[:500])
    return scaler.transform(normal[:500]), scaler.transform(np.vstack([normal[500:850], odd[:150]]))


def _name(case):
    return f"{type(case.model).__module__}.{type(case.model).__name__}"


# One of the columns is the difference of two others: what scikit-learn says of such covariances is true.
@pytest.mark.full
@pytest.mark.filterwarnings("ignore:The covariance matrix associated to your dataset is not full rank")
@pytest.mark.filterwarnings("ignore:Determinant has increased:RuntimeWarning")
@pytest.mark.data
@pytest.mark.parametrize("case", CASES, ids=_name)
def test_own_scores_follow_from_offset_and_outlierness(case, cardiotocograms):
    train, rows = cardiotocograms
    model = case.fit(train)
    network = whyodd.neuralize(model)
    o = network.outlierness(rows)
    assert np.ptp(o) > 0
    for score in case.scores:
        own = score.own(model, rows)
        np.testing.assert_allclose(
            score.recovered(Known(model, network.offset, o)), own, rtol=1e-9, atol=1e-12 * np.abs(own).max()
        )


@pytest.mark.data
@pytest.mark.parametrize("case", LINEAR.values(), ids=_name)
def test_own_scores_follow_from_a_linear_score(case, cardiotocograms):
    train, rows = cardiotocograms
    model = case.fit(train)
    linear = whyodd.neuralize(model)
    for score in case.scores:
        own = score.own(model, rows)
        recovered = score.recovered(Known(model, linear.offset, linear.outlierness(rows)))
        # libsvm sums products with all support vectors, of which only 1e-3 remains: their rounding shows.
        products = np.abs(rows @ train.T).max()
        np.testing.assert_allclose(recovered, own, rtol=1e-9, atol=1e-13 * products)
