"""Whatever people pass as data: accepted as finite floats with names, or refused with a clear error."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from whyodd.inputs.matrices import as_matrix

VALUES = np.array([[1.0, 0.0, 3.0], [0.0, -5.0, 0.0]])

ARRAYS = {
    "list": VALUES.tolist(),
    "list of tuples": [tuple(row) for row in VALUES],
    "list of arrays": list(VALUES),
    "int8": VALUES.astype(np.int8),
    "int64": VALUES.astype(np.int64),
    "float16": VALUES.astype(np.float16),
    "float64": VALUES,
    "long double": VALUES.astype(np.longdouble),
    "big endian": VALUES.astype(">f8"),
    "objects": VALUES.astype(object),
    "mixed objects": np.array([[1, 0.0, np.float32(3)], [False, np.int8(-5), Decimal(0)]], dtype=object),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_numbers_become_float64(name):
    matrix = as_matrix(ARRAYS[name])
    assert type(matrix.values) is np.ndarray
    assert matrix.values.dtype == np.float64
    assert matrix.names is None
    np.testing.assert_array_equal(matrix.values, VALUES)


def test_booleans_become_zeros_and_ones():
    np.testing.assert_array_equal(as_matrix([[True, False]]).values, [[1.0, 0.0]])
    np.testing.assert_array_equal(as_matrix(np.array([[True, False]])).values, [[1.0, 0.0]])


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "pandas with nullable types": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": lambda columns: pl.DataFrame(columns),
    "arrow": lambda columns: pa.table(columns),
}
COLUMNS = {"a": [1, 2], "b": [0.5, -1.5], "c": [True, False]}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("names", [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("a", "b", "c")])
def test_frames_of_numbers_keep_their_names(kind, names):
    matrix = as_matrix(FRAMES[kind]({name: COLUMNS[name] for name in names}))
    assert matrix.names == names
    assert matrix.values.dtype == np.float64
    np.testing.assert_array_equal(matrix.values, np.array([COLUMNS[name] for name in names], dtype=float).T)


def test_frames_of_float32_stay_float32():
    for frame in (
        pd.DataFrame({"a": np.ones(2, np.float32)}),
        pl.DataFrame({"a": pl.Series([1.0], dtype=pl.Float32)}),
    ):
        assert as_matrix(frame).values.dtype == np.float32


@pytest.mark.parametrize("numbers", [range(3), [10, "x", ("k", 1)]])
def test_column_names_that_are_not_text_become_text(numbers):
    matrix = as_matrix(pd.DataFrame(VALUES, columns=list(numbers)))
    assert matrix.names == tuple(str(name) for name in numbers)


def test_the_index_of_a_frame_is_no_column():
    matrix = as_matrix(pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"]))
    assert matrix.values.shape == (2, 1)


GAPS = {
    "pandas float": pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]}),
    "pandas nullable int": pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], dtype="Int64")}),
    "pandas nullable bool": pd.DataFrame({"a": [1, 2], "b": pd.array([True, None], dtype="boolean")}),
    "pandas nullable float": pd.DataFrame({"a": [1, 2], "b": pd.array([1.5, None], dtype="Float64")}),
    "polars int": pl.DataFrame({"a": [1, 2], "b": [1, None]}),
    "polars bool": pl.DataFrame({"a": [1, 2], "b": [True, None]}),
    "polars float": pl.DataFrame({"a": [1, 2], "b": [1.0, None]}),
    "arrow int": pa.table({"a": [1, 2], "b": [1, None]}),
    "arrow bool": pa.table({"a": [1, 2], "b": [True, None]}),
}


@pytest.mark.parametrize("name", GAPS)
def test_gaps_in_frames_are_named_by_row_and_column(name):
    with pytest.raises(
        ValueError, match=r"row 1, column 'b' is NaN \(a missing value\).* \(1 such entries in all\)"
    ):
        as_matrix(GAPS[name])


@pytest.mark.parametrize("fill", [None, np.nan])
def test_gaps_in_objects_are_missing_values(fill):
    with pytest.raises(ValueError, match=r"row 0, column 1 is NaN \(a missing value\)"):
        as_matrix(np.array([[1, fill]], dtype=object))


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [(0, 0), (2, 1), (3, 4)])
def test_the_first_entry_that_is_not_finite_is_named(value, kind, layout, dtype, place):
    X = np.zeros((4, 5), dtype=dtype)
    X[1, 3] = 2.0
    X[place] = value
    X[3, 4] = value
    with pytest.raises(
        ValueError, match=rf"X must be finite, but row {place[0]}, column {place[1]} is {kind}"
    ):
        as_matrix(layout(X))


def test_infinities_that_cancel_are_found():
    with pytest.raises(ValueError, match="2 such entries in all"):
        as_matrix([[np.inf, -np.inf]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_whose_sum_overflows_are_finite(dtype):
    X = np.full((3, 3), np.finfo(dtype).max)
    np.testing.assert_array_equal(as_matrix(X).values, X)


SPARSE = [
    sparse.csr_array,
    sparse.csr_matrix,
    sparse.csc_array,
    sparse.csc_matrix,
    sparse.coo_array,
    sparse.coo_matrix,
    sparse.lil_array,
    sparse.dok_array,
    sparse.bsr_array,
    sparse.dia_array,
]


@pytest.mark.parametrize("layout", SPARSE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, bool])
def test_sparse_matrices_of_every_kind_become_csr(layout, dtype):
    X = VALUES.astype(dtype)
    matrix = as_matrix(layout(X))
    assert isinstance(matrix.values, sparse.csr_array)
    assert matrix.values.dtype == (dtype if dtype == np.float32 else np.float64)
    assert matrix.names is None
    np.testing.assert_array_equal(matrix.values.toarray(), X.astype(float))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_csr_with_duplicates_and_unsorted_indices_is_put_in_order_without_touching_it(index):
    indices = np.array([2, 0, 2, 1], dtype=index)
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), indices, np.array([0, 3, 4], dtype=index)), shape=(2, 3)
    )
    before = indices.copy()
    values = as_matrix(X).values
    assert values.has_canonical_format
    np.testing.assert_array_equal(values.toarray(), [[2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    np.testing.assert_array_equal(X.indices, before)
    assert X.nnz == 4


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_not_copied(make, dtype):
    X = make(VALUES.astype(dtype))
    values = as_matrix(X).values
    assert np.shares_memory(
        values if make is np.asarray else values.data, X if make is np.asarray else X.data
    )


@pytest.mark.parametrize("given", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("wanted", [np.float32, "float32", np.float64, "float64", "f4", np.dtype("f8")])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, pd.DataFrame], ids=["dense", "csr", "frame"])
def test_the_wanted_dtype_is_given(given, wanted, make):
    assert as_matrix(make(VALUES.astype(given)), dtype=wanted).values.dtype == np.dtype(wanted)


@pytest.mark.parametrize("dtype", ["float16", int, complex, "longdouble", object])
def test_another_dtype_is_a_clear_error(dtype):
    with pytest.raises(ValueError, match=r"dtype=.*: expected 'float32', 'float64' or None"):
        as_matrix(VALUES, dtype=dtype)


def test_a_dtype_that_does_not_exist_is_the_same_clear_error():
    with pytest.raises(ValueError, match=r"dtype='decimal': expected"):
        as_matrix(VALUES, dtype="decimal")


def test_a_number_too_large_for_the_wanted_dtype_is_a_clear_error():
    with pytest.raises(ValueError, match="float32"):
        as_matrix([[1e300]], dtype=np.float32)


WRONG = {
    "text": ([["a", "b"]], r"must hold numbers, got .*'a'.* \(str.*\)\. Drop such columns or encode"),
    "numbers as text": ([["1", "2"]], r"must hold numbers, got .*'1'"),
    "mixed objects": (np.array([[1, "b"]], dtype=object), r"must hold numbers, got 'b' \(str\)\."),
    "bytes": (np.array([[b"a"]]), r"must hold numbers, got .*b'a'"),
    "objects of no kind": (np.array([[1, {}]], dtype=object), r"must hold numbers, got \{\} \(dict\)\."),
    "complex": (np.array([[1j]]), r"must hold numbers, got complex ones\. Pass real and"),
    "complex objects": (np.array([[1, 2j]], dtype=object), r"must hold numbers, got 2j \(complex\)\."),
    "dates": (np.array([["2020-01-01"]], dtype="datetime64[D]"), r"must hold numbers, got .*2020-01-01"),
    "time spans": (np.array([[3]], dtype="timedelta64[s]"), r"must hold numbers, got .*timedelta64"),
    "records": (np.zeros(2, dtype=[("a", float), ("b", float)]), r"must hold numbers"),
    "one number": (3.0, r"must be a table of shape \(rows, columns\), got float\. Pass a data frame"),
    "nothing": (None, r"must be a table of shape \(rows, columns\), got None"),
    "a path": ("rows.csv", r"must be a table of shape \(rows, columns\), got str"),
    "rows that come once": (iter([[1.0]]), r"must be a table .*, got list_iterator"),
    "columns": ({"a": [1.0]}, r"got dict\. Pass pandas\.DataFrame\(X\)"),
    "an array of texts": (np.array([["a"]]), r"must hold numbers, got 'a' \(str\)\."),
    "one row": ([1.0, 2.0], r"has 1 dimension\(s\)\. Pass a single row as a table of one row"),
    "one row, sparse": (sparse.coo_array(np.array([1.0, 2.0])), r"has 1 dimension"),
    "a series": (pd.Series([1.0, 2.0]), r"has 1 dimension"),
    "three dimensions": (np.zeros((2, 2, 2)), r"has 3 dimension"),
    "rows of unequal length": ([[1.0], [1.0, 2.0]], r"must be a table with rows of equal length"),
    "no rows": (np.zeros((0, 3)), r"at least one row and one column, but has 0 row\(s\) and 3 column\(s\)"),
    "no columns": (np.zeros((3, 0)), r"but has 3 row\(s\) and 0 column\(s\)"),
    "no rows, sparse": (sparse.csr_array((0, 3)), r"but has 0 row\(s\) and 3 column\(s\)"),
    "no rows, frame": (pd.DataFrame({"a": np.zeros(0)}), r"but has 0 row\(s\) and 1 column\(s\)"),
    "no columns, frame": (pd.DataFrame(index=[0, 1]), r"but has 2 row\(s\) and 0 column\(s\)"),
    "empty frame": (pl.DataFrame(), r"but has 0 row\(s\) and 0 column\(s\)"),
    "empty list": ([], r"has 1 dimension"),
    "text column": (pd.DataFrame({"a": [1], "b": ["x"]}), r"these columns do not: 'b' \(String\)\. Drop"),
    "categories": (pd.DataFrame({"b": pd.Categorical(["x"])}), r"these columns do not: 'b' \(Categorical"),
    "dates column": (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"])}), r"columns do not: 't' \(Datetime"),
    "polars dates": (pl.DataFrame({"t": pl.Series([0]).cast(pl.Date)}), r"columns do not: 't' \(Date\)"),
    "arrow text": (pa.table({"s": ["x"]}), r"columns do not: 's' \(String\)"),
    "object column": (pd.DataFrame({"o": [1, "x"]}, dtype=object), r"columns do not: 'o' \(Object\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_table_of_numbers_is_a_clear_error(name):
    X, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        as_matrix(X)


def test_at_most_five_wrong_columns_are_named():
    frame = pd.DataFrame({f"column {i}": ["x"] for i in range(9)})
    with pytest.raises(ValueError, match="'column 4'") as error:
        as_matrix(frame)
    assert "column 5" not in str(error.value)


@pytest.mark.parametrize("X", [[["a"]], [1.0], [[np.nan]], np.zeros((0, 1)), [[1j]], [[1], [1, 2]]])
def test_errors_name_what_was_passed(X):
    with pytest.raises(ValueError, match=r"^centers must "):
        as_matrix(X, what="centers")


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_sparse_complex_numbers_are_a_clear_error():
    with pytest.raises(ValueError, match="must hold numbers"):
        as_matrix(sparse.csr_array(np.array([[1j, 1.0]])))


def test_masked_entries_are_missing_values():
    with pytest.raises(ValueError, match="row 0, column 0"):
        as_matrix(np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]))


def test_whole_numbers_beyond_all_floats_are_a_clear_error():
    with pytest.raises(ValueError, match="must"):
        as_matrix([[10**400]])
