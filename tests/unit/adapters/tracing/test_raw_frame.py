"""What people pass: columns in another order, too many, too few, arrays for frames and the reverse."""

import datetime as dt
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import whyodd
from whyodd.adapters.tracing import match_columns, raw_values, trace, transform

FITTED = ["age", "city"]
FRAME = pd.DataFrame({"city": ["Bonn", None], "label": [0, 1], "age": [30.0, np.nan]})


@pytest.fixture(params=["pandas", "polars", "arrow"])
def frame(request):
    return {
        "pandas": lambda: FRAME,
        "polars": lambda: pl.from_pandas(FRAME),
        "arrow": lambda: pa.Table.from_pandas(FRAME),
    }[request.param]()


class TestFramesOfAFittedFrame:
    def test_are_put_in_order_without_what_was_not_there(self, frame):
        matched = match_columns(frame, FITTED)
        assert list(matched.columns) == FITTED
        assert matched["city"].to_list()[0] == "Bonn"
        assert type(matched).__module__.split(".")[0] == (
            "pandas" if isinstance(frame, pd.DataFrame) else "polars"
        )

    def test_missing_columns_are_named(self, frame):
        with pytest.raises(
            ValueError,
            match=r"X has 3 columns, the pipeline was fitted on 4: missing 'street', 'zip'. Pass the columns",
        ):
            match_columns(frame, ["age", "street", "city", "zip"])

    def test_columns_that_no_step_reads_may_be_missing(self, frame):
        matched = match_columns(frame, ["id", *FITTED], unread=("id",))
        assert list(matched.columns) == ["id", *FITTED]
        assert pd.isna(matched["id"].to_list()[0])

    def test_arrow_needs_another_package(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        monkeypatch.setitem(sys.modules, "polars", None)
        with pytest.raises(
            ModuleNotFoundError, match=r"X is an Arrow table\. .*pandas or Polars.*whyodd\[pandas\]"
        ):
            match_columns(pa.table({"age": [1.0], "city": ["Ulm"]}), FITTED)

    def test_arrow_to_polars_without_pandas(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        assert isinstance(match_columns(pa.table({"city": ["Ulm"], "age": [1.0]}), FITTED), pl.DataFrame)


class TestArraysOfAFittedFrame:
    @pytest.mark.parametrize(
        "X", [np.array([[30.0, "Ulm"], [None, "Kiel"]], dtype=object), [[30.0, "Ulm"], [None, "Kiel"]]]
    )
    def test_get_its_names(self, X):
        matched = match_columns(X, FITTED)
        assert list(matched.columns) == FITTED
        assert matched["age"].dtype == np.float64
        assert matched["age"][0] == 30.0
        assert np.isnan(matched["age"][1])
        assert matched["city"].tolist() == ["Ulm", "Kiel"]

    def test_of_numbers(self):
        matched = match_columns(np.eye(2, dtype=np.float32), FITTED)
        np.testing.assert_array_equal(matched.to_numpy(), np.eye(2))

    def test_without_a_package_for_frames(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        monkeypatch.setitem(sys.modules, "polars", None)
        with pytest.raises(
            ModuleNotFoundError, match=r"X is an array\. scikit-learn needs a pandas or Polars frame"
        ):
            match_columns(np.eye(2), FITTED)

    def test_wrong_number_of_columns(self):
        with pytest.raises(ValueError, match=r"X has 3 columns, .* with 2 columns: 'age', 'city'\. Pass"):
            match_columns(np.eye(3), FITTED)

    def test_one_dimension(self):
        with pytest.raises(ValueError, match=r"X has 1 dimension\(s\)"):
            match_columns(np.ones(2), FITTED)

    def test_sparse(self):
        with pytest.raises(
            ValueError, match="X is a sparse matrix, but the pipeline was fitted on a data frame"
        ):
            match_columns(sparse.eye_array(2), FITTED)

    def test_long_lists_of_names_are_cut(self):
        with pytest.raises(ValueError, match="'c9' and 20 more"):
            match_columns(np.eye(3), [f"c{i}" for i in range(30)])


class TestFittedArray:
    def test_frame_counts_by_position(self, frame):
        values = match_columns(frame, None)
        assert isinstance(values, np.ndarray)
        assert values[0].tolist() == ["Bonn", 0, 30.0]
        assert np.isnan(values[1, 2])
        assert np.isnan(values[1, 0])

    def test_frame_of_numbers(self):
        values = match_columns(pl.DataFrame({"a": [1, None], "b": [0.5, 2.5]}), None)
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, [[1.0, 0.5], [np.nan, 2.5]])

    @pytest.mark.parametrize("X", [np.eye(2), sparse.eye_array(2), [[1, 2]], ["some text"], [{"a": 1}]])
    def test_all_else_stays(self, X):
        assert match_columns(X, None) is X

    def test_explain_gives_the_same_for_frame_and_array(self, people):
        data = people[["income", "rooms"]]
        model = whyodd.OneClassSVM().fit(StandardScaler().fit_transform(data.to_numpy()))
        pipeline = Pipeline([("scale", StandardScaler().fit(data.to_numpy())), ("model", model)])
        frame, array = whyodd.explain(pipeline, data[:5]), whyodd.explain(pipeline, data.to_numpy()[:5])
        assert frame.feature_names == ("income", "rooms")
        assert array.feature_names == ("x0", "x1")
        np.testing.assert_array_equal(frame.relevance, array.relevance)


class TestRawValues:
    def test_mixed_frame(self, frame):
        names, values = raw_values(frame)
        assert names == ("city", "label", "age")
        assert values.tolist() == [["Bonn", 0, 30.0], [None, 1, None]]

    def test_frame_of_numbers(self):
        names, values = raw_values(pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [0.5, 2.5]}))
        assert names == ("a", "b")
        np.testing.assert_array_equal(values, [[1.0, 0.5], [np.nan, 2.5]])

    def test_booleans_dates_and_categories_keep_their_values(self):
        day = dt.datetime(2024, 2, 29)
        frame = pd.DataFrame(
            {"flag": [True, None], "day": pd.to_datetime([day, None]), "kind": pd.Categorical(["a", None])}
        )
        assert raw_values(frame)[1].tolist() == [[True, day, "a"], [None, None, None]]

    @pytest.mark.parametrize(
        "X", [np.eye(2), np.eye(2, dtype=bool), [[1, 0], [0, 1]], np.eye(2).astype(object)]
    )
    def test_arrays_of_numbers(self, X):
        names, values = raw_values(X)
        assert names == ("x0", "x1")
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, np.eye(2))

    def test_array_of_objects(self):
        values = raw_values([["a", 1.0], [np.nan, np.nan]])[1]
        assert values.tolist() == [["a", 1.0], [None, None]]

    def test_sparse(self):
        X = sparse.eye_array(3, format="csr")
        names, values = raw_values(X)
        assert names == ("x0", "x1", "x2")
        assert values is X

    @pytest.mark.parametrize("X", [["a b", "c"], np.array(["a b", "c"]), pd.Series(["a b", "c"])])
    def test_texts(self, X):
        names, values = raw_values(X)
        assert names == ("text",)
        assert values.tolist() == [["a b"], ["c"]]

    def test_dicts(self):
        assert raw_values([{"a": 1}])[1].tolist() == [[{"a": 1}]]

    @pytest.mark.parametrize("X", [None, 3, "a text", {"a": [1]}, iter(["a text"])])
    def test_what_holds_no_rows(self, X):
        came = "None" if X is None else type(X).__name__
        with pytest.raises(ValueError, match=f"X must be a table .* got {came}"):
            raw_values(X)

    @pytest.mark.parametrize(
        "X",
        [
            pd.DataFrame({"price": [Decimal("1.5"), None], "kind": ["a", "b"]}),
            pl.DataFrame({"price": [Decimal("1.5"), None], "kind": ["a", "b"]}),
            [[Decimal("1.5"), "a"], [None, "b"]],
        ],
    )
    def test_decimals_are_numbers(self, X):
        assert raw_values(X)[1].tolist() == [[1.5, "a"], [None, "b"]]

    def test_what_is_masked_is_missing(self):
        X = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
        np.testing.assert_array_equal(raw_values(X)[1], [[1.0, np.nan], [3.0, 4.0]])
        np.testing.assert_array_equal(match_columns(X, None), [[1.0, np.nan], [3.0, 4.0]])
        words = np.ma.masked_array([["a", "b"]], mask=[[True, False]])
        assert raw_values(words)[1].tolist() == match_columns(words, None).tolist() == [[None, "b"]]


class TestValuesThatStepsRefuse:
    @pytest.fixture
    def columns(self, people):
        columns = [("n", StandardScaler(), ["age", "income"]), ("c", OneHotEncoder(), ["city"])]
        return [("columns", ColumnTransformer(columns).fit(people))]

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("much", r"^Column 'income' has 'much' in row 2, expected a number.*leave such rows out\.$"),
            (np.inf, r"^Column 'income' has inf in row 2, expected finite numbers.*leave such rows out\.$"),
            (pd.NA, r"^Step 'columns' \(ColumnTransformer\) cannot transform X: .*NAType.*same kinds"),
            ([1], r"^Step 'columns' \(ColumnTransformer\) cannot transform X: setting .*same kinds"),
        ],
    )
    def test_are_named_with_column_and_row_where_they_can_be_told(self, columns, people, value, message):
        new = people.astype({"income": object})
        new.at[2, "income"] = value
        with pytest.raises(ValueError, match=message):
            transform(columns, new, trace(columns, people.columns))

    def test_missing_values(self, people):
        steps = [("pca", PCA(1).fit(people[["rooms", "income"]]))]
        new = people[["rooms", "income"]].astype(float)
        new.loc[4, "income"] = np.nan
        with pytest.raises(ValueError, match=r"Column 'income' has a missing value in row 4, .* imputer"):
            transform(steps, new, trace(steps, new.columns))

    def test_no_column_is_named_where_two_have_the_value(self, columns, people):
        new = people.astype({"income": object})
        new.at[2, "income"] = "Bonn"
        with pytest.raises(ValueError, match=r"Step 'columns' .* could not convert .*'Bonn'\."):
            transform(columns, new, trace(columns, people.columns))


class TestUnseenCategories:
    @pytest.fixture
    def steps(self, people):
        columns = ColumnTransformer(
            [("n", StandardScaler(), ["income"]), ("c", OneHotEncoder(), ["member", "city"])]
        )
        return [("columns", columns.fit(people))]

    def test_are_named_with_column_row_and_remedy(self, steps, people):
        new = people.copy()
        new.loc[7, "city"] = "Rome"
        with pytest.raises(
            ValueError,
            match=r"Column 'city' has 'Rome' in row 7, .* expected one of 'Bonn', 'Kiel', 'Ulm'\. "
            r"Leave such rows out, or fit again with OneHotEncoder\(handle_unknown='ignore'\)",
        ):
            transform(steps, new, trace(steps, people.columns))

    def test_column_is_the_one_that_did_not_have_the_value(self, people):
        both = people.assign(home=["Rome", *people["city"][1:]])
        columns = ColumnTransformer([("a", OneHotEncoder(), ["home"]), ("b", OneHotEncoder(), ["city"])])
        steps = [("columns", columns.fit(both))]
        new = both.copy()
        new.loc[2, "city"] = "Rome"
        with pytest.raises(ValueError, match="Column 'city' has 'Rome' in row 2"):
            transform(steps, new, trace(steps, both.columns))

    def test_missing_values_are_called_so(self, steps, people):
        new = people.copy()
        new.loc[3, "city"] = None
        with pytest.raises(ValueError, match="Column 'city' has a missing value in row 3"):
            transform(steps, new, trace(steps, people.columns))

    def test_numbers(self):
        X = np.array([[1], [2]])
        steps = [("encode", OrdinalEncoder().fit(X))]
        with pytest.raises(ValueError, match=r"Column 'x0' has 7 in row 1, .*fit again with OrdinalEncoder"):
            transform(steps, np.array([[1], [7]]), trace(steps, ("x0",)))

    def test_values_that_a_step_before_has_changed_are_left_to_scikit_learn(self):
        upper = FunctionTransformer(np.char.upper, feature_names_out="one-to-one")
        X = np.array([["a"], ["b"]])
        steps = [("upper", upper.fit(X)), ("encode", OrdinalEncoder().fit(np.char.upper(X)))]
        with pytest.raises(ValueError, match=r"Found unknown categories \[.*'C'.*\] in column 0"):
            transform(steps, np.array([["a"], ["c"]]), trace(steps, ("x",)))

    def test_ignored_categories_are_blamed_on_their_column(self, people):
        columns = ColumnTransformer(
            [("n", StandardScaler(), ["income"]), ("c", OneHotEncoder(handle_unknown="ignore"), ["city"])]
        )
        pipeline = make_pipeline(columns, whyodd.OneClassSVM()).fit(people)
        new = people.iloc[:1].assign(city="Rome", income=people["income"].median())
        e = whyodd.explain(pipeline, new)
        assert e.feature_names[np.argmax(e.relevance[0])] == "city"
