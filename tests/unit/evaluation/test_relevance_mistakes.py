"""Relevance, masks and names as people mistake them: matched by name, or told in one sentence."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import whyodd
from whyodd.evaluation import agreement, area, causes, compare, flip, hit_rate, roc_auc

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(40, 3))
X = RNG.normal(size=(4, 3)) + 3.0 * np.eye(4, 3)
MASK = np.eye(4, 3, dtype=bool)
MASK[3, 2] = True
MODEL = whyodd.KernelDensity(sigma=1.0).fit(pd.DataFrame(NORMAL, columns=["a", "b", "c"]))
E = whyodd.explain(MODEL, pd.DataFrame(X, columns=["a", "b", "c"]))
ITEMS = RNG.normal(size=(2, 6, 6))
PATCHES = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(2, 2)).fit(RNG.normal(size=(6, 6)))


def shuffled(table):
    return pd.DataFrame(table, columns=["a", "b", "c"])[["c", "a", "b"]]


class TestFramesInAnotherOrder:
    def test_flip(self):
        np.testing.assert_array_equal(flip(MODEL, shuffled(X), shuffled(E.relevance)), flip(MODEL, X, E))

    @pytest.mark.parametrize("scores", [E, pd.DataFrame(E.relevance, columns=["a", "b", "c"])])
    def test_mask(self, scores):
        np.testing.assert_array_equal(roc_auc(scores, shuffled(MASK)), roc_auc(E, MASK))
        np.testing.assert_array_equal(causes(scores, shuffled(MASK)).roc_auc, roc_auc(E, MASK))

    def test_agreement(self):
        table = agreement({"frame": shuffled(E.relevance), "same": E})
        assert table["frame"].tolist() == [1.0, 1.0]


class TestOtherRows:
    def test_of_a_table(self):
        with pytest.raises(ValueError, match="other rows than X"):
            flip(MODEL, X, E[::-1])
        np.testing.assert_array_equal(flip(MODEL, X[::-1], E[::-1]), flip(MODEL, X, E)[::-1])

    def test_in_float32_are_the_same(self):
        flip(MODEL, X, whyodd.explain(MODEL, X, dtype=np.float32))

    def test_of_images(self):
        e = whyodd.explain(PATCHES, ITEMS)
        with pytest.raises(ValueError, match="other items"):
            flip(PATCHES, ITEMS[::-1], e)


NO_PATCHES = "^Expected relevance as a PatchExplanation or a list with one array per item, got"


@pytest.mark.parametrize(
    ("wrong", "of_images"),
    [
        (None, f"{NO_PATCHES} NoneType"),
        (3, f"{NO_PATCHES} int"),
        ("a", f"{NO_PATCHES} str"),
        ([[1.0, 2.0], [3.0]], r"^The relevance of item 0 has shape \(2,\), expected the item's shape"),
        (np.full((4, 3), "a"), r"^Expected one relevance array for each of 2 item\(s\), got 4"),
        ({"a": MASK}, f"{NO_PATCHES} dict"),
    ],
)
def test_what_is_no_relevance(wrong, of_images):
    with pytest.raises(ValueError, match="Expected mask as numbers"):
        roc_auc(E, wrong)
    with pytest.raises(ValueError, match=r"^Expected relevance as numbers, an array with a row for each row"):
        flip(MODEL, X, {"method": wrong})
    with pytest.raises((TypeError, ValueError), match=of_images):
        flip(PATCHES, ITEMS, {"method": wrong})


def test_sparse_relevance_and_masks():
    np.testing.assert_array_equal(flip(MODEL, X, sparse.csr_array(E.relevance)), flip(MODEL, X, E))
    np.testing.assert_array_equal(roc_auc(E, sparse.csr_array(MASK)), roc_auc(E, MASK))


def test_no_rows_have_no_area():
    assert roc_auc(np.empty((0, 3)), np.empty((0, 3), dtype=bool)).shape == (0,)


def test_more_places_than_whole_numbers():
    np.testing.assert_array_equal(hit_rate(E, MASK, 1e300), 1.0)


def test_curves_of_several_methods():
    with pytest.raises(TypeError, match="one method"):
        area(flip(MODEL, X, {"dtd": E}))


@pytest.mark.parametrize("explanations", [[E, E], None, {}, {"method": E}])
def test_agreement_needs_names(explanations):
    with pytest.raises(ValueError, match="Expected a dictionary of names"):
        agreement(explanations)


def test_agreement_names_what_does_not_fit():
    with pytest.raises(ValueError, match=r"part has 2 item\(s\), all 4"):
        agreement({"all": E, "part": E[:2]})


class TestCompare:
    def test_of_one_row_has_no_jump(self):
        table = compare(MODEL, X[:1], ["dtd"], random_state=0)
        assert table["largest_jump"].isna().all()
        assert table["stability"].notna().all()

    def test_methods_of_any_kind_of_list(self):
        table = compare(MODEL, X, np.array(["dtd", "mean"]), metrics=["area"])
        assert table["method"].tolist() == ["dtd", "mean"]

    @pytest.mark.parametrize(
        ("keywords", "message"),
        [
            ({"metrics": "area"}, "metrics='area': expected a list"),
            ({"methods": ["nearest"], "options": {"nearest": NORMAL}}, "Expected options as a dictionary"),
            ({"options": [1]}, "Expected options as a dictionary"),
        ],
    )
    def test_what_is_wrong_is_told(self, keywords, message):
        with pytest.raises((TypeError, ValueError), match=message):
            compare(MODEL, X, **keywords)

    def test_all_methods_are_checked_before_the_first_works(self):
        with pytest.raises(ValueError, match="method='medium' is unknown"):
            compare(None, None, ["dtd", "medium"])


def test_texts_cannot_be_flipped():
    model = whyodd.TextModel(min_df=1).fit(["the pump is on", "the fan is off"])
    with pytest.raises(whyodd.UnsupportedModelError, match="got TextModel"):
        flip(model, ["the pump burns"], model.explain(["the pump burns"]))
