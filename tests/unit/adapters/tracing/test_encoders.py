"""Categories read back from encoders, in all the ways these can be set."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

from whyodd.adapters.tracing import trace
from whyodd.adapters.tracing.encoders import INFREQUENT

COLORS = np.array([["red"]] * 6 + [["blue"]] * 5 + [["gray"]] * 2 + [["pink"]], dtype=object)


def read(step, Z, variable=0):
    codes, values = trace([("step", step)], ["color"]).decode(Z).categories[variable]
    return [values[code] if code >= 0 else "?" for code in codes]


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({}, ["red", "blue", "gray", "pink"]),
        ({"drop": "first"}, ["red", "blue", "gray", "pink"]),
        ({"drop": ["red"]}, ["red", "blue", "gray", "pink"]),
        ({"min_frequency": 3}, ["red", "blue", INFREQUENT, INFREQUENT]),
        ({"max_categories": 3, "sparse_output": False}, ["red", "blue", INFREQUENT, INFREQUENT]),
        ({"min_frequency": 3, "drop": ["red"]}, ["red", "blue", INFREQUENT, INFREQUENT]),
    ],
)
def test_one_hot_with_dropped_and_infrequent_categories(keywords, expected):
    encoder = OneHotEncoder(**keywords).fit(COLORS)
    Z = encoder.transform([["red"], ["blue"], ["gray"], ["pink"]])
    assert read(encoder, Z) == expected


@pytest.mark.parametrize("drop", ["first", "if_binary"])
def test_one_hot_of_which_the_first_category_is_rare(drop):
    X = [["amber"]] + [["blue"]] * 5 + [["red"]] * 6
    for rows in (X, X[:6]):
        encoder = OneHotEncoder(drop=drop, min_frequency=3, sparse_output=False).fit(rows)
        expected = [INFREQUENT if color == ["amber"] else color[0] for color in rows]
        assert read(encoder, encoder.transform(rows)) == expected


def test_one_hot_means_go_to_the_largest_and_zeros_are_unknown():
    encoder = OneHotEncoder(sparse_output=False).fit(COLORS)
    assert read(encoder, [[0.1, 0.2, 0.4, 0.3], [0.0, 0.0, 0.0, 0.0]]) == ["pink", "?"]


def test_one_hot_dropped_category_has_what_is_left_of_one():
    encoder = OneHotEncoder(drop="first", sparse_output=False).fit([["a"], ["b"], ["c"]])
    assert read(encoder, [[0.2, 0.3], [0.2, 0.5], [0.0, 0.0]]) == ["a", "c", "a"]


def test_values_keep_their_python_types():
    X = pd.DataFrame({"flag": [True, False, True], "rooms": [2, 3, 2], "note": ["a", None, "b"]})
    encoder = OneHotEncoder().fit(X)
    decoded = trace([("encode", encoder)], X.columns).decode(encoder.transform(X))
    found = {v: [values[code] for code in codes] for v, (codes, values) in decoded.categories.items()}
    assert found == {0: [True, False, True], 1: [2, 3, 2], 2: ["a", None, "b"]}
    assert [type(each[0]) for each in found.values()] == [bool, int, str]


def test_missing_category_that_is_dropped():
    X = pd.DataFrame({"note": ["a", None, "a", None]})
    encoder = OneHotEncoder(drop=[None]).fit(X.astype(object).where(X.notna(), None).to_numpy())
    assert read(encoder, [[1.0], [0.0]]) == ["a", None]


def test_one_hot_of_which_columns_were_selected_away():
    encoder = OneHotEncoder(sparse_output=False)
    steps = make_pipeline(encoder, VarianceThreshold(0.1)).fit(COLORS)
    decoded = trace(steps.steps, ["color"]).decode(steps.transform([["red"], ["blue"], ["pink"]]))
    codes, values = decoded.categories[0]
    assert [values[code] if code >= 0 else "?" for code in codes] == ["red", "blue", "?"]


def test_one_hot_of_which_all_columns_were_selected_away():
    X = np.column_stack([COLORS, np.arange(14)]).astype(object)
    last = SelectKBest(lambda X, _: np.arange(X.shape[1]), k=2)
    steps = make_pipeline(OneHotEncoder(sparse_output=False), last)
    steps.fit(X, np.zeros(14))
    assert list(trace(steps.steps, ["color", "row"]).decode(steps.transform(X)).categories) == [1]


@pytest.mark.parametrize("whiten", [True, False])
def test_categories_through_scaler_and_projection(whiten):
    X = np.column_stack([COLORS, np.repeat([["u"], ["v"]], 7, axis=0)])
    steps = make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler(), PCA(3, whiten=whiten)).fit(X)
    codes, values = trace(steps.steps, ["color", "half"]).decode(steps.transform(X)).categories[1]
    assert [values[code] for code in codes] == X[:, 1].tolist()


def test_dropped_category_is_not_guessed_if_others_were_selected_away():
    encoder = OneHotEncoder(drop=["red"], sparse_output=False)
    steps = make_pipeline(encoder, VarianceThreshold(0.1)).fit(COLORS)  # pink is too rare
    decoded = trace(steps.steps, ["color"]).decode(steps.transform([["blue"], ["red"], ["pink"]]))
    codes, values = decoded.categories[0]
    assert [values[code] if code >= 0 else "?" for code in codes] == ["blue", "?", "?"]


class TestOrdinal:
    def test_rounds_and_knows_no_others(self):
        encoder = OrdinalEncoder().fit(COLORS)
        assert read(encoder, [[0.2], [1.4], [2.6], [7.0], [-1.0]]) == ["blue", "gray", "red", "?", "?"]

    def test_unknown_and_missing_values(self):
        X = np.array([["a"], ["b"], [np.nan]], dtype=object)
        encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        ).fit(X)
        new = np.array([["b"], [np.nan], ["z"]], dtype=object)
        assert read(encoder, encoder.transform(new)) == ["b", None, "?"]

    def test_infrequent(self):
        encoder = OrdinalEncoder(min_frequency=3).fit(COLORS)
        assert read(encoder, encoder.transform([["red"], ["pink"]])) == ["red", INFREQUENT]

    def test_missing_values_that_stay_so(self):
        X = np.array([["a"], ["b"], [np.nan]], dtype=object)
        encoder = OrdinalEncoder().fit(X)
        assert read(encoder, encoder.transform(X)) == ["a", "b", "?"]


def test_numbers_as_categories_go_back_through_steps_of_numbers():
    X = np.linspace(0.0, 9.0, 10)[:, None]
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    steps = make_pipeline(bins, OneHotEncoder(sparse_output=False)).fit(X)
    decoded = trace(steps.steps, ["x"]).decode(steps.transform(X))
    np.testing.assert_allclose(decoded.numbers[0], [1.5] * 3 + [4.5] * 3 + [7.5] * 4)


def test_bins_are_read_as_their_middle_also_of_blurred_columns():
    X = np.linspace(0.0, 9.0, 10)[:, None]
    bins = KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform").fit(X)
    decoded = trace([("bins", bins)], ["x"]).decode([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    np.testing.assert_allclose(decoded.numbers[0], [1.5, 7.5])
    numbered = KBinsDiscretizer(3, encode="ordinal", strategy="uniform").fit(X)
    decoded = trace([("bins", numbered)], ["x"]).decode([[0.6], [1.4], [-1.0], [5.0]])
    np.testing.assert_allclose(decoded.numbers[0], [4.5, 4.5, 1.5, 7.5])


def test_target_encoder_reads_the_nearest_mean():
    y = np.arange(14.0) + 0.25
    encoder = TargetEncoder(smooth=0.0).fit(COLORS, y)
    assert read(encoder, [[2.0], [9.1], [13.0]]) == ["red", "blue", "pink"]


def test_imputed_categories():
    X = np.array([["a"], ["b"], [np.nan], ["b"]], dtype=object)
    steps = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()).fit(X)
    codes, values = trace(steps.steps, ["x"]).decode(steps.transform(X)).categories[0]
    assert [values[code] for code in codes] == ["a", "b", "b", "b"]
