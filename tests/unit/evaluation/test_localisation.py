"""Relevance against a mask, compared with plain counting and with scikit-learn."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from whyodd import KernelDensity, explain
from whyodd.evaluation.localisation import average_precision, hit_rate, roc_auc

RNG = np.random.default_rng(0)
# Few distinct values, so that ties are frequent.
SCORES = RNG.integers(0, 4, size=(60, 7)).astype(float)
MASK = RNG.random((60, 7)) < 0.4
BOTH = MASK.any(axis=1) & ~MASK.all(axis=1)


def plain_auc(scores, mask):
    pairs = [
        (s, t)
        for s, m in zip(scores, mask, strict=True)
        if m
        for t, o in zip(scores, mask, strict=True)
        if not o
    ]
    return sum(1.0 if s > t else 0.5 if s == t else 0.0 for s, t in pairs) / len(pairs)


def plain_hit_rate(scores, mask, share):
    """Mean over every order of the variables, each sorted by score with ties left as they come."""
    k = sum(mask)
    rates = []
    for order in permutations(range(len(scores))):
        ranking = sorted(order, key=lambda i: -scores[i])
        rates.append(sum(mask[i] for i in ranking[: int(share * k)]) / k)
    return float(np.mean(rates))


def test_areas_are_shares_of_pairs():
    expected = [plain_auc(s, m) for s, m in zip(SCORES[BOTH], MASK[BOTH], strict=True)]
    np.testing.assert_allclose(roc_auc(SCORES, MASK)[BOTH], expected, rtol=1e-12)
    np.testing.assert_allclose(
        expected, [roc_auc_score(m, s) for s, m in zip(SCORES[BOTH], MASK[BOTH], strict=True)], rtol=1e-12
    )


def test_average_precision_is_that_of_scikit_learn():
    expected = [average_precision_score(m, s) for s, m in zip(SCORES[BOTH], MASK[BOTH], strict=True)]
    np.testing.assert_allclose(average_precision(SCORES, MASK)[BOTH], expected, rtol=1e-12)


@pytest.mark.parametrize("share", [0.5, 1.0, 1.5, 3.0])
def test_hit_rate_is_the_mean_over_all_orders_of_ties(share):
    scores, mask = SCORES[BOTH][:8, :6], MASK[BOTH][:8, :6]
    told = mask.any(axis=1) & ~mask.all(axis=1)
    expected = [plain_hit_rate(s, m, share) for s, m in zip(scores[told], mask[told], strict=True)]
    np.testing.assert_allclose(hit_rate(scores, mask, share)[told], expected, rtol=1e-12)


def test_hit_rate_counts_places_as_published():
    scores = np.array([[9.0, 8.0, 7.0, 6.0, 5.0, 4.0]])
    mask = np.array([[0, 1, 0, 1, 0, 1]])
    # Three to blame: the first 3 places hold one of them, the first ⌊4.5⌋ = 4 two.
    assert hit_rate(scores, mask)[0] == pytest.approx(1 / 3)
    assert hit_rate(scores, mask, 1.5)[0] == pytest.approx(2 / 3)


def test_rounding_of_the_share_loses_no_place():
    scores = -np.arange(200.0)[None]
    mask = np.zeros((1, 200), dtype=bool)
    mask[0, :99] = mask[0, 150] = True
    # 0.29 · 100 is 28.999999999999996 in floating point.
    assert hit_rate(scores, mask, 0.29)[0] == pytest.approx(0.29)


@pytest.mark.parametrize("judge", [roc_auc, average_precision, hit_rate])
def test_rows_without_both_kinds_are_undefined(judge):
    found = judge(np.eye(3), np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1]]))
    assert np.isnan(found).tolist() == [True, True, False]
    assert found[2] == 1.0


@pytest.mark.parametrize("judge", [roc_auc, average_precision, hit_rate])
def test_constant_scores_are_chance(judge):
    mask = np.array([[1, 0, 0, 1, 0]])
    assert judge(np.zeros((1, 5)), mask)[0] == pytest.approx(0.5 if judge is roc_auc else 0.4)


def test_heatmaps_of_their_own_shapes_are_judged_one_by_one():
    heat = [RNG.random((5, 4)), RNG.random((3, 6))]
    masks = [h > 0.6 for h in heat]
    noisy = [h + RNG.random(h.shape) for h in heat]
    expected = [roc_auc_score(m.ravel(), h.ravel()) for h, m in zip(noisy, masks, strict=True)]
    np.testing.assert_allclose(roc_auc(noisy, masks), expected, rtol=1e-12)
    np.testing.assert_array_equal(
        roc_auc(np.array(noisy[:1]), np.array(masks[:1])), roc_auc(noisy, masks)[:1]
    )


def test_channels_are_summed_where_the_mask_has_none():
    heat = RNG.random((5, 4, 3))
    mask = RNG.random((5, 4)) < 0.5
    np.testing.assert_array_equal(roc_auc([heat], [mask]), roc_auc([heat.sum(axis=-1)], [mask]))
    np.testing.assert_array_equal(roc_auc(heat[None], mask[None]), roc_auc([heat], [mask]))


def test_explanations_and_frames_are_taken():
    pd = pytest.importorskip("pandas")
    e = explain(KernelDensity(sigma=1.0).fit(RNG.normal(size=(50, 3))), [[0.0, 6.0, 0.0]])
    assert roc_auc(e, pd.DataFrame([[False, True, False]], columns=list("abc")))[0] == 1.0


@pytest.mark.parametrize(
    ("scores", "mask", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), "different shapes"),
        (np.zeros((2, 3)), np.zeros((3, 3)), "2 item.* 3"),
        (np.zeros((2, 3)), np.full((2, 3), 2), "true and false"),
        (np.full((2, 3), np.nan), np.eye(2, 3), "NaN"),
    ],
)
def test_what_cannot_be_judged_is_told(scores, mask, message):
    with pytest.raises(ValueError, match=message):
        roc_auc(scores, mask)


@pytest.mark.parametrize("share", [0.0, -1.0, np.inf, True, "1"])
def test_a_share_is_a_positive_number(share):
    with pytest.raises(ValueError, match="share="):
        hit_rate(SCORES, MASK, share)
