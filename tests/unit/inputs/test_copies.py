"""Rows that are equal, in every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from whyodd.inputs.copies import copy_counts, first_copies, first_near_copies, repeated

COLUMNS = {"a": [1.0, 2.0, 1.0, np.nan, np.nan], "b": ["x", "y", "x", None, None]}


@pytest.mark.parametrize("package", [pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_and_the_first_they_are_equal_to(package):
    first = first_copies(package(COLUMNS))
    assert first.tolist() == [0, 1, 0, 3, 3]
    assert copy_counts(first).tolist() == [2, 1, 2, 2, 2]
    assert repeated(first) == 1


def test_arrays_of_numbers_and_of_objects():
    X = np.array([[1.0, 2.0], [3.0, np.nan], [1.0, 2.0], [3.0, np.nan]])
    assert first_copies(X).tolist() == first_copies(X.astype(object)).tolist() == [0, 1, 0, 1]
    assert repeated(first_copies(X)) == 2


def test_cells_that_cannot_be_compared_have_no_copies():
    assert first_copies(pd.DataFrame({"a": [[1], [1]]})).tolist() == [0, 1]


@pytest.mark.parametrize("package", [pd.DataFrame, pl.DataFrame])
def test_rows_that_are_equal_but_for_rounding(package):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    twice = package({"a": [*a, *a + 1e-9], "b": [*b, *b - 1e-9], "c": ["x"] * 100})
    assert copy_counts(first_copies(twice)).max() == 1
    # Some lie where rounding goes up for the one and down for the other.
    assert np.mean(copy_counts(first_near_copies(twice)) == 2) > 0.95
