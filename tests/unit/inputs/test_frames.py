"""Data frames of whichever kind people use, in and out."""

from __future__ import annotations

import sys

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from whyodd.inputs.frames import as_frame, build_frame

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_recognised(make):
    frame = as_frame(make({"a": [1, 2], "b": [3, 4]}))
    assert isinstance(frame, nw.DataFrame)
    assert frame.columns == ["a", "b"]


@pytest.mark.parametrize(
    "X", [np.zeros((2, 2)), [[1, 2]], None, 3, "text", {"a": [1]}, pd.Series([1]), pl.Series([1]), object()]
)
def test_anything_else_is_no_frame(X):
    assert as_frame(X) is None


def test_a_lazy_frame_is_a_clear_error_and_nothing_else():
    with pytest.raises(ValueError, match=r"lazy frame, expected one with data in it\. Pass X\.collect\(\)"):
        as_frame(pl.LazyFrame({"a": [1]}))


TWICE = {
    "pandas": (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "b"]), "'b'"),
    "pandas, as text": (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1'"),
    "arrow": (pa.table([[1], [2]], names=["a", "a"]), "'a'"),
}


@pytest.mark.parametrize(
    "name",
    [
        "pandas",
        "pandas, as text",
        "arrow",
    ],
)
def test_two_columns_of_one_name_are_a_clear_error(name):
    X, column = TWICE[name]
    with pytest.raises(
        ValueError, match=f"more than one column named {column}. Give every column its own name"
    ):
        as_frame(X)


def test_an_arrow_table_of_equal_columns_is_fine():
    frame = as_frame(pa.table({"a": [1, 2], "b": [1, 2]}))
    assert frame.columns == ["a", "b"]


def test_any_object_may_have_columns():
    class Board:
        columns = 3

    assert as_frame(Board()) is None


@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_built_of_the_kind_asked_for(kind):
    columns = {"row": np.arange(2), "value": np.array([1.5, np.nan]), "name": ["x", "y"]}
    frame = build_frame(columns, kind)
    assert isinstance(frame, KINDS[kind])
    built = nw.from_native(frame)
    assert built.columns == ["row", "value", "name"]
    assert built["value"].null_count() == 1
    assert built["value"].to_list()[0] == 1.5
    assert built["row"].dtype.is_integer()


def test_frames_without_floats_are_built():
    assert build_frame({"a": [1, 2]}, "pandas")["a"].tolist() == [1, 2]


def test_a_kind_taken_from_a_frame_is_accepted():
    kind = as_frame(pl.DataFrame({"a": [1]})).implementation
    assert isinstance(build_frame({"a": [1.0]}, kind), pl.DataFrame)


@pytest.mark.parametrize("missing", [(), ("pandas",), ("pandas", "polars")])
def test_the_first_package_installed_is_used(missing, monkeypatch):
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    expected = next(KINDS[kind] for kind in KINDS if kind not in missing)
    assert isinstance(build_frame({"a": [1.0]}, None), expected)


def test_no_package_installed_names_the_extra(monkeypatch):
    for package in KINDS:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'whyodd\[pandas\]'"):
        build_frame({"a": [1.0]}, None)
