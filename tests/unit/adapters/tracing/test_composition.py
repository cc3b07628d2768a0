"""Steps made of steps: selections, blocks, weights, and linear maps in all places."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import whyodd
from reference.traced import column_squares, linear_squares
from whyodd.adapters.tracing import trace
from whyodd.adapters.tracing.composition import find_positions

WINE = load_wine(as_frame=True).data.iloc[:, :5]
NAMES = tuple(WINE.columns)


def owners_of(found):
    return [found.names[i] for i in found.origin]


def prefix_owners(transformer, names):
    """Owners by the names scikit-learn gives its columns: block__name, name_category, and the like."""
    given = transformer.get_feature_names_out()
    plain = [each.split("__")[-1].removeprefix("missingindicator_") for each in given]
    return [max((n for n in names if each == n or each.startswith(f"{n}_")), key=len) for each in plain]


@pytest.fixture
def mixed(people):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = ColumnTransformer(
        [
            ("numbers", numbers, ["income", "age"]),
            (
                "labels",
                OneHotEncoder(drop="if_binary"),
                make_column_selector(dtype_exclude="number"),
            ),
            ("rooms", KBinsDiscretizer(3, strategy="uniform"), ["rooms"]),
        ]
    )
    return columns.fit(people)


class TestColumnTransformer:
    def test_relevance_by_the_names_of_scikit_learn(self, mixed, people, relevance):
        found = trace([("columns", mixed)], people.columns)
        Z = mixed.transform(people)
        assert owners_of(found) == prefix_owners(mixed, people.columns)
        expected = [column_squares(z, Z[0], owners_of(found), people.columns) for z in Z[1:9]]
        np.testing.assert_allclose(relevance(found, Z[1:9], Z[0]), expected, rtol=1e-9, atol=1e-9)

    def test_reads_back_the_table(self, mixed, people):
        decoded = trace([("columns", mixed)], people.columns).decode(mixed.transform(people))
        there = people["age"].notna()
        np.testing.assert_allclose(decoded.numbers[1][there], people["age"][there], rtol=1e-12)
        np.testing.assert_allclose(decoded.numbers[1][~there], people["age"].mean(), rtol=1e-12)
        np.testing.assert_allclose(decoded.numbers[2], people["income"], rtol=1e-9)
        for variable, name in ((3, "city"), (4, "member")):
            codes, values = decoded.categories[variable]
            assert [values[code] for code in codes] == people[name].tolist()
        assert decoded.numbers.keys() == {1, 2, 5}
        assert np.abs(decoded.numbers[5] - people["rooms"]).max() <= 1.0

    def test_columns_that_no_step_reads_are_told(self, mixed, people):
        assert trace([("columns", mixed)], people.columns).unread == ("id",)

    def test_columns_of_the_frame_in_another_order(self, mixed, people):
        order = ["city", "rooms", "age", "id", "income", "member"]
        found = trace([("columns", mixed)], order)
        assert found.names == tuple(order)
        assert owners_of(found) == prefix_owners(mixed, people.columns)
        decoded = found.decode(mixed.transform(people))
        np.testing.assert_allclose(decoded.numbers[4], people["income"], rtol=1e-9)

    @pytest.mark.parametrize(
        ("selection", "expected"),
        [
            (["c", "a"], [2, 0]),
            (slice("b", "c"), [1, 2]),
            (slice(None, "b"), [0, 1]),
            (slice("c", None), [2, 3]),
            ([-1, 0], [3, 0]),
            (slice(1, 3), [1, 2]),
            (slice(None, -1), [0, 1, 2]),
            ([True, False, False, True], [0, 3]),
            (np.array([False, True, False, False]), [1]),
            (pd.Index(["d"]), [3]),
        ],
    )
    def test_selections_as_scikit_learn_understands_them(self, selection, expected):
        X = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=list("abcd"))
        columns = ColumnTransformer([("some", "passthrough", selection)])
        np.testing.assert_array_equal(columns.fit_transform(X), X.to_numpy()[:, expected])
        assert trace([("columns", columns)], list("abcd")).origin.tolist() == expected

    @pytest.mark.parametrize(("selection", "expected"), [("b", [1]), (2, [2]), ([], []), (np.int64(3), [3])])
    def test_selections_of_one_or_none(self, selection, expected):
        assert find_positions(selection, list("abcd"), 4).tolist() == expected

    def test_selections_of_an_array(self):
        X = np.arange(12.0).reshape(3, 4)
        columns = ColumnTransformer([("a", "passthrough", [-1]), ("b", "passthrough", slice(0, 2))]).fit(X)
        assert trace([("columns", columns)], list("abcd")).origin.tolist() == [3, 0, 1]

    @pytest.mark.parametrize("remainder", ["passthrough", StandardScaler(), "drop"])
    def test_remainder(self, remainder):
        columns = ColumnTransformer([("last", RobustScaler(), [NAMES[4]])], remainder=remainder).fit(WINE)
        found = trace([("columns", columns)], NAMES)
        assert owners_of(found) == [NAMES[4], *(NAMES[:4] if remainder != "drop" else ())]
        assert found.unread == (NAMES[:4] if remainder == "drop" else ())
        decoded = found.decode(columns.transform(WINE))
        for variable, values in decoded.numbers.items():
            np.testing.assert_allclose(values, WINE.iloc[:, variable], rtol=1e-12)

    def test_selector_functions(self):
        chosen = ("some", "passthrough", lambda X: [name for name in X if "alc" in name])
        columns = ColumnTransformer([chosen]).fit(WINE)
        assert set(owners_of(trace([("columns", columns)], NAMES))) == {n for n in NAMES if "alc" in n}

    def test_column_in_several_blocks_has_their_relevance_summed(self, relevance):
        columns = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", MinMaxScaler(), [1, 2])])
        Z = columns.fit_transform(WINE.to_numpy())
        found = trace([("columns", columns)], NAMES)
        assert owners_of(found) == [NAMES[0], NAMES[1], NAMES[1], NAMES[2]]
        part = (Z[1] - Z[0]) ** 2
        expected = [part[0], part[1] + part[2], part[3], 0.0, 0.0]
        np.testing.assert_allclose(relevance(found, Z[1:2], Z[0])[0], expected, rtol=1e-9)

    @pytest.mark.parametrize("weight", [3.0, 0.0])
    def test_weights(self, weight, relevance):
        columns = ColumnTransformer(
            [("a", PCA(2), [0, 1, 2]), ("b", StandardScaler(), [3])], transformer_weights={"a": weight}
        )
        Z = columns.fit_transform(WINE.to_numpy())
        found = trace([("columns", columns)], NAMES)
        pca = columns.named_transformers_["a"]
        center, z = pca.transform(WINE.to_numpy()[:2, :3])
        expected = weight**2 * linear_squares(
            pca.components_,
            z,
            center,
            NAMES[:3],
            NAMES,
        )
        expected[3] = (Z[1, 2] - Z[0, 2]) ** 2
        np.testing.assert_allclose(relevance(found, Z[1:2], Z[0])[0], expected, rtol=1e-8, atol=1e-12)
        decoded = found.decode(Z)
        assert (0 in decoded.numbers) == (weight != 0)

    def test_sparse_blocks(self, people):
        columns = ColumnTransformer(
            [
                ("a", OneHotEncoder(), ["city"]),
                ("b", StandardScaler(), ["income"]),
                ("c", OneHotEncoder(), ["rooms"]),
            ],
            sparse_threshold=1.0,
        )
        Z = columns.fit_transform(people)
        decoded = trace([("columns", columns)], people.columns).decode(Z)
        np.testing.assert_allclose(decoded.numbers[2], people["income"], rtol=1e-9)
        codes, values = decoded.categories[5]
        assert [values[code] for code in codes] == people["rooms"].tolist()

    @pytest.mark.parametrize("output", ["pandas", "polars"])
    def test_second_one_after_frames(self, people, output):
        first = ColumnTransformer(
            [
                ("n", StandardScaler(), ["income", "rooms"]),
                ("c", OneHotEncoder(sparse_output=False), ["city"]),
            ]
        ).set_output(transform=output)
        second = ColumnTransformer(
            [("n", MinMaxScaler(), ["n__rooms"]), ("c", "passthrough", slice("c__city_Bonn", None))],
        )
        data = people if output == "pandas" else pl.from_pandas(people)
        steps = make_pipeline(first, second).fit(data)
        found = trace(steps.steps, people.columns)
        assert owners_of(found) == ["rooms", "city", "city", "city"]
        decoded = found.decode(steps.transform(data))
        np.testing.assert_allclose(decoded.numbers[5], people["rooms"], rtol=1e-12)
        assert 3 in decoded.categories

    def test_polars_frame(self, people):
        frame = pl.from_pandas(people)
        columns = ColumnTransformer(
            [("n", StandardScaler(), ["income"]), ("c", OneHotEncoder(), ["city", "member"])]
        ).fit(frame)
        found = trace([("columns", columns)], frame.columns)
        codes, values = found.decode(columns.transform(frame)).categories[4]
        assert [values[code] for code in codes] == people["member"].tolist()

    def test_whatever_is_made_of_one_column_belongs_to_it(self, people):
        def waves(X):
            return np.column_stack([np.sin(X), np.cos(X)])

        columns = ColumnTransformer(
            [
                ("waves", make_pipeline(FunctionTransformer(waves), StandardScaler()), ["income"]),
                ("powers", PolynomialFeatures(3), ["rooms"]),
                ("plain", FunctionTransformer(waves), ["id"]),
            ]
        ).fit(people)
        found = trace([("columns", columns)], people.columns)
        assert owners_of(found) == ["income"] * 2 + ["rooms"] * 4 + ["id"] * 2
        assert found.decode(columns.transform(people)).numbers == {}


class TestLinearMaps:
    def test_scaler_before_pca_gives_relevance_in_scaled_columns(self, relevance):
        steps = make_pipeline(StandardScaler(), PCA(2)).fit(WINE)
        Z = steps.transform(WINE)
        found = trace(steps.steps, NAMES)
        expected = [linear_squares(steps[-1].components_, z, Z[0], NAMES, NAMES) for z in Z[1:9]]
        got = relevance(found, Z[1:9], Z[0])
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)
        assert (got >= -1e-12).all()

    @pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()])
    def test_scaler_after_pca_multiplies(self, scaler, relevance):
        steps = make_pipeline(StandardScaler(), PCA(3), scaler).fit(WINE)
        Z = steps.transform(WINE)
        scale = scaler.scale_ if isinstance(scaler, MinMaxScaler) else 1.0 / scaler.scale_
        matrix = scale[:, None] * steps[1].components_
        found = trace(steps.steps, NAMES)
        np.testing.assert_allclose(found.linear.matrix.toarray(), matrix, rtol=1e-12)
        expected = [linear_squares(matrix, z, Z[0], NAMES, NAMES) for z in Z[1:9]]
        np.testing.assert_allclose(relevance(found, Z[1:9], Z[0]), expected, rtol=1e-8, atol=1e-10)

    def test_block_of_a_column_transformer_then_a_scaler(self, relevance):
        columns = ColumnTransformer(
            [("mixed", make_pipeline(StandardScaler(), PCA(2)), [0, 1, 2]), ("plain", RobustScaler(), [3, 0])]
        )
        steps = make_pipeline(columns, StandardScaler()).fit(WINE.to_numpy())
        Z = steps.transform(WINE.to_numpy())
        found = trace(steps.steps, NAMES)
        matrix = columns.named_transformers_["mixed"][-1].components_ / steps[-1].scale_[:2, None]
        expected = [
            linear_squares(matrix, z[:2], Z[0, :2], NAMES[:3], NAMES)
            + column_squares(z[2:], Z[0, 2:], [NAMES[3], NAMES[0]], NAMES)
            for z in Z[1:9]
        ]
        got = relevance(found, Z[1:9], Z[0])
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(got.sum(axis=1), ((Z[1:9] - Z[0]) ** 2).sum(axis=1), rtol=1e-9)

    @pytest.mark.parametrize("other", [StandardScaler(), "passthrough"])
    def test_union_of_pca_and_columns_is_the_sum_of_both(self, other, relevance):
        union = FeatureUnion([("mixed", PCA(2)), ("plain", other), ("none", "drop")]).fit(WINE)
        Z = union.transform(WINE)
        found = trace([("union", union)], NAMES)
        components = union.transformer_list[0][1].components_
        expected = [
            linear_squares(components, z[:2], Z[0, :2], NAMES, NAMES)
            + column_squares(z[2:], Z[0, 2:], NAMES, NAMES)
            for z in Z[1:9]
        ]
        np.testing.assert_allclose(relevance(found, Z[1:9], Z[0]), expected, rtol=1e-8, atol=1e-10)

    def test_components_parted_and_joined_again_are_one_map(self, relevance):
        parted = ColumnTransformer([("a", StandardScaler(), [2]), ("b", "passthrough", [0, 1])])
        steps = make_pipeline(StandardScaler(), PCA(3), parted).fit(WINE)
        Z = steps.transform(WINE)
        components = steps[1].components_
        scale = parted.named_transformers_["a"].scale_
        matrix = np.vstack([components[2] / scale, components[0], components[1]])
        expected = [linear_squares(matrix, z, Z[0], NAMES, NAMES) for z in Z[1:9]]
        got = relevance(trace(steps.steps, NAMES), Z[1:9], Z[0])
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)

    def test_two_maps_in_a_row(self, relevance):
        steps = make_pipeline(StandardScaler(), PCA(4), TruncatedSVD(2, random_state=0)).fit(WINE)
        Z = steps.transform(WINE)
        matrix = steps[2].components_ @ steps[1].components_
        expected = [linear_squares(matrix, z, Z[0], NAMES, NAMES) for z in Z[1:9]]
        got = relevance(trace(steps.steps, NAMES), Z[1:9], Z[0])
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)

    def test_selected_components(self):
        steps = make_pipeline(StandardScaler(), PCA(4), SelectKBest(k=2)).fit(WINE, np.arange(len(WINE)) > 60)
        found = trace(steps.steps, NAMES)
        kept = steps[2].get_support()
        np.testing.assert_allclose(found.linear.matrix.toarray(), steps[1].components_[kept], rtol=1e-12)
        Z = steps.transform(WINE)
        filled = np.zeros((len(Z), 4))
        filled[:, kept] = Z
        back = steps[:2].inverse_transform(filled)
        for variable in range(5):
            np.testing.assert_allclose(found.decode(Z).numbers[variable], back[:, variable], rtol=1e-9)

    def test_one_hot_columns_are_mixed_and_summed_to_theirs(self, people, relevance):
        columns = ColumnTransformer(
            [
                ("n", StandardScaler(), ["income", "rooms"]),
                ("c", OneHotEncoder(sparse_output=False), ["city", "member"]),
            ]
        )
        steps = make_pipeline(columns, PCA(4)).fit(people)
        Z = steps.transform(people)
        found = trace(steps.steps, people.columns)
        owners = prefix_owners(columns, people.columns)
        assert owners_of(found) == owners
        expected = [linear_squares(steps[1].components_, z, Z[0], owners, people.columns) for z in Z[1:9]]
        np.testing.assert_allclose(relevance(found, Z[1:9], Z[0]), expected, rtol=1e-8, atol=1e-9)

    # scikit-learn 1.6 says so on the way back, where there are no names.
    @pytest.mark.filterwarnings("ignore:X does not have valid feature names")
    def test_full_pca_is_read_back_exactly(self):
        steps = make_pipeline(QuantileTransformer(n_quantiles=100), PCA(), StandardScaler()).fit(WINE)
        decoded = trace(steps.steps, NAMES).decode(steps.transform(WINE))
        for variable in range(5):
            np.testing.assert_allclose(decoded.numbers[variable], WINE.iloc[:, variable], rtol=1e-6)


@pytest.mark.parametrize("vague", [KBinsDiscretizer(2, strategy="uniform"), PCA(1)])
def test_exact_values_are_read_before_vague_ones(vague):
    for blocks in (
        [("vague", vague), ("exact", StandardScaler())],
        [("exact", StandardScaler()), ("vague", vague)],
    ):
        union = FeatureUnion(blocks).fit(WINE)
        decoded = trace([("union", union)], NAMES).decode(union.transform(WINE))
        for variable in range(5):
            np.testing.assert_allclose(decoded.numbers[variable], WINE.iloc[:, variable], rtol=1e-12)


@pytest.mark.parametrize("passing", ["passthrough", None])
def test_nothing_and_passthrough(passing):
    assert trace([], NAMES).origin.tolist() == [0, 1, 2, 3, 4]
    found = trace([("a", passing), ("b", StandardScaler().fit(WINE))], tuple(reversed(NAMES)))
    assert owners_of(found) == list(NAMES)
    assert found.unread == ()


def test_survives_pickle(mixed, people):
    found = trace([("columns", mixed)], people.columns)
    again = pickle.loads(pickle.dumps(found))
    Z = mixed.transform(people)
    assert again.names == found.names
    np.testing.assert_array_equal(again.decode(Z).numbers[2], found.decode(Z).numbers[2])


def test_explain_gives_the_summed_relevance_and_conserves(mixed, people):
    steps = make_pipeline(mixed, PowerTransformer(), whyodd.OneClassSVM()).fit(people)
    e = whyodd.explain(steps, people.iloc[:20], exclude_self=False)
    assert e.feature_names == tuple(people.columns)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
    Z = steps[:-1].transform(people.iloc[:20])
    at_columns = whyodd.neuralize(steps[-1]).input_relevance(Z)
    owners = prefix_owners(mixed, people.columns)
    for variable, name in enumerate(people.columns):
        mine = [column for column, owner in enumerate(owners) if owner == name]
        np.testing.assert_allclose(e.relevance[:, variable], at_columns[:, mine].sum(axis=1), atol=1e-9)
