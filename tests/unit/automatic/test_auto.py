"""A default pipeline for raw tables of every kind, and clear words for those that cannot be used."""

import datetime as dt
import logging
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import whyodd
from whyodd.automatic.auto import AutoReport

N = 120
START = dt.datetime(2024, 1, 1)


def raw_columns(n=N, seed=0):
    """Columns of every kind as plain lists, gaps as None: shifts in a factory."""
    rng = np.random.default_rng(seed)
    speed = rng.normal(50.0, 5.0, n)
    load = np.exp(rng.normal(3.0, 3.0, n))
    machine = rng.choice(["lathe", "mill", "press"], n)
    hours = rng.permutation(n) * 24 + rng.integers(8, 18, n)
    return {
        "number": list(range(1000, 1000 + n)),
        "speed": [None if i % 15 == 4 else float(v) for i, v in enumerate(speed)],
        "load": load.tolist(),
        "parts": rng.poisson(20, n).tolist(),
        "machine": [None if i % 20 == 7 else str(v) for i, v in enumerate(machine)],
        "night": (rng.random(n) < 0.3).tolist(),
        "when": [START + dt.timedelta(hours=int(h)) for h in hours],
        "plant": ["Ulm"] * n,
    }


def as_pandas(columns):
    return pd.DataFrame(columns)


def as_nullable_pandas(columns):
    return pd.DataFrame(columns).convert_dtypes()


def as_categorical_pandas(columns):
    return pd.DataFrame(columns).astype({"machine": "category", "plant": "category"})


FRAMES = {
    "pandas": as_pandas,
    "nullable pandas": as_nullable_pandas,
    "categorical pandas": as_categorical_pandas,
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


@pytest.fixture(scope="module")
def pipeline():
    return whyodd.auto(pd.DataFrame(raw_columns()))


def row(**changed):
    """One ordinary shift, with some values changed."""
    usual = {
        "number": 2000, "speed": 50.0, "load": 20.0, "parts": 20, "machine": "mill", "night": False,
        "when": dt.datetime(2024, 3, 5, 12), "plant": "Ulm",
    }  # fmt: skip
    return pd.DataFrame([usual | changed])


def kinds(pipeline):
    return {column.name: column.kind for column in pipeline.auto_report_.columns}


def test_is_a_fitted_pipeline_with_a_report(pipeline):
    assert isinstance(pipeline, Pipeline)
    assert isinstance(pipeline.auto_report_, AutoReport)
    assert pipeline.predict(row()).tolist() == [1]


def test_kinds_of_columns(pipeline):
    assert kinds(pipeline) == {
        "number": "identifier",
        "speed": "number",
        "load": "number",
        "parts": "count",
        "machine": "category",
        "night": "yes/no",
        "when": "date",
        "plant": "constant",
    }
    assert pipeline.auto_report_.set_aside["plant"] == "it is always Ulm"


@pytest.mark.parametrize(
    ("column", "odd"),
    [
        ("speed", 90.0),
        ("load", 1e9),
        ("parts", 60),
        ("machine", "robot"),
        ("when", dt.datetime(2024, 3, 5, 2)),
    ],
)
def test_blames_the_odd_column(pipeline, column, odd):
    e = whyodd.explain(pipeline, row(**{column: odd}))
    assert e.feature_names == tuple(raw_columns())
    assert e.reasons(0)[0].feature == column
    assert pipeline.score_samples(row(**{column: odd})) < pipeline.score_samples(row())


def test_tells_expected_values_in_raw_units(pipeline):
    e = whyodd.explain(pipeline, row(speed=90.0, load=1e9))
    expected = dict(zip(e.feature_names, e.expected[0], strict=True))
    assert 40.0 < expected["speed"] < 60.0
    assert 0.0 < expected["load"] < 1e6
    assert expected["machine"] in ("lathe", "mill", "press")


def test_a_constant_that_deviates_is_told_as_such(pipeline):
    assert "plant never varied in training" in whyodd.explain(pipeline, row(plant="Bonn")).why(0)


def test_what_is_set_aside_need_not_be_there(pipeline):
    e = whyodd.explain(pipeline, row().drop(columns="number"))
    np.testing.assert_array_equal(e.outlierness, whyodd.explain(pipeline, row()).outlierness)


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same_scores(pipeline, kind):
    columns = raw_columns()
    frame = FRAMES[kind](columns)
    other = whyodd.auto(frame)
    assert kinds(other) == kinds(pipeline)
    np.testing.assert_allclose(
        other.score_samples(frame), pipeline.score_samples(pd.DataFrame(columns)), rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["nullable pandas", "polars", "arrow"])
def test_scores_frames_of_another_kind(pipeline, kind):
    columns = raw_columns(seed=1)
    np.testing.assert_allclose(
        pipeline.score_samples(FRAMES[kind](columns)), pipeline.score_samples(pd.DataFrame(columns))
    )


def test_takes_a_dict_of_columns(pipeline):
    columns = raw_columns()
    scores = whyodd.auto(columns).score_samples(pd.DataFrame(columns))
    np.testing.assert_array_equal(scores, pipeline.score_samples(pd.DataFrame(columns)))


@pytest.mark.parametrize("make", [np.array, list], ids=["array", "list"])
def test_takes_arrays(make):
    X = np.random.default_rng(0).normal(size=(60, 3))
    pipeline = whyodd.auto(make(X.tolist()))
    odd = [[0.0, 0.0, 0.0], [0.0, 9.0, 0.0]]
    assert pipeline.predict(odd).tolist() == [1, -1]
    assert whyodd.explain(pipeline, np.array(odd)).reasons(1)[0].feature == "x1"


def test_takes_an_array_of_objects():
    rng = np.random.default_rng(0)
    rows = [
        [float(v), str(c), None] for v, c in zip(rng.normal(size=60), rng.choice(["a", "b"], 60), strict=True)
    ]
    pipeline = whyodd.auto(rows)
    assert kinds(pipeline) == {"x0": "number", "x1": "category", "x2": "constant"}
    assert pipeline.predict([[0.0, "a", None], [9.0, "a", None]]).tolist() == [1, -1]


def test_same_seed_same_bytes_another_seed_other_rows():
    frame = pd.DataFrame(raw_columns())
    first, second = (whyodd.auto(frame, max_rows=60, random_state=3) for _ in range(2))
    assert str(first.auto_report_) == str(second.auto_report_)
    assert first.score_samples(frame).tobytes() == second.score_samples(frame).tobytes()
    other = whyodd.auto(frame, max_rows=60, random_state=4)
    assert set(other[-1].network_.rows) != set(first[-1].network_.rows)


def test_survives_pickle_and_clone(pipeline):
    frame = pd.DataFrame(raw_columns())
    scores = pipeline.score_samples(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pipeline)).score_samples(frame), scores)
    np.testing.assert_allclose(clone(pipeline).fit(frame).score_samples(frame), scores)


def test_the_report_says_what_and_why(pipeline, caplog):
    text = str(pipeline.auto_report_)
    for words in (
        "120 rows",
        "set aside:",
        "plant: it is always Ulm",
        "when: used: time elapsed, hour of the day, day of the week",
        "(the model is learned from 96 of them)",
        "model: a committee that looks at neighbours, columns, residuals, pairs.",
    ):
        assert words in text
    with caplog.at_level(logging.INFO, logger="whyodd"):
        whyodd.auto(pd.DataFrame({"a": [1.0, 2.0, 4.0]}))
    assert "a" in caplog.text
    assert "model: a committee that looks at neighbours, columns." in caplog.text


def test_progress_goes_to_standard_error(capsys):
    whyodd.auto(pd.DataFrame({"a": [1.0, 2.0, 4.0]}), progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "auto" in captured.err


def test_the_name_stays_a_function_beside_its_package():
    import whyodd.automatic.auto

    assert whyodd.auto is whyodd.automatic.auto.auto


@pytest.mark.parametrize(("trusted", "n_fitted"), [(False, 40), (True, 50)])
def test_training_rows_are_recognised_among_a_sample(trusted, n_fitted):
    """Of rows that are not trusted the oddest fifth is left out."""
    frame = pd.DataFrame(raw_columns())
    pipeline = whyodd.auto(frame, max_rows=50, trusted=trusted)
    assert pipeline.auto_report_.n_fitted == n_fitted
    assert pipeline["model"].network_.rows.size == n_fitted
    assert (whyodd.explain(pipeline, frame)._own >= 0).sum() == n_fitted


# Gaps, new values, odd columns


def test_gaps_are_filled_and_marked():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=100), "b": rng.normal(size=100)})
    frame.loc[3, "a"] = np.nan
    pipeline = whyodd.auto(frame)
    assert pipeline["columns"].transform(frame).shape[1] == 3
    rare, usual = pd.DataFrame({"a": [np.nan], "b": [0.0]}), pd.DataFrame({"a": [0.0], "b": [0.0]})
    assert pipeline.score_samples(rare)[0] < pipeline.score_samples(usual)[0]
    assert whyodd.explain(pipeline, rare).reasons(0)[0].feature == "a"


def test_gaps_and_categories_that_training_did_not_have(pipeline):
    gappy = row(load=None, parts=None, night=None, when=None, machine="robot")
    assert np.isfinite(pipeline.score_samples(gappy)).all()
    assert pipeline.score_samples(gappy) < pipeline.score_samples(row())


def test_a_constant_with_gaps_is_used():
    frame = pd.DataFrame({"flag": ["yes", None] * 20, "a": np.arange(40) % 7 + 0.5})
    assert kinds(whyodd.auto(frame))["flag"] == "category"


def test_mixed_types_are_compared_as_text():
    frame = pd.DataFrame({"mixed": ["a", 1, 2.5, "a"] * 15, "a": np.arange(60) % 7 + 0.5})
    pipeline = whyodd.auto(frame)
    assert kinds(pipeline)["mixed"] == "category"
    seen = pd.DataFrame({"mixed": [1, "new"], "a": [3.5, 3.5]}, dtype=object)
    known, new = pipeline.score_samples(seen)
    assert new < known


def test_many_categories_are_taken_together():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"code": rng.integers(0, 300, 600).astype(str), "a": rng.normal(size=600)})
    pipeline = whyodd.auto(frame)
    assert pipeline["columns"].transform(frame).shape[1] == 52  # one of them says how rare a category is
    assert np.isfinite(pipeline.score_samples(frame)).all()


def test_cells_that_hold_objects_are_set_aside():
    frame = pd.DataFrame({"list": [[1], [2], [3]], "a": [1.0, 2.0, 4.0]})
    assert "list" in whyodd.auto(frame).auto_report_.set_aside["list"]
    lists = pl.DataFrame({"list": [[1], [2], [3]], "a": [1.0, 2.0, 4.0]})
    assert "list" in whyodd.auto(lists).auto_report_.set_aside["list"]


def test_a_column_without_values_is_set_aside():
    frame = pd.DataFrame({"empty": [None, None, None], "nan": [np.nan] * 3, "a": [1.0, 2.0, 4.0]})
    assert set(whyodd.auto(frame).auto_report_.set_aside) == {"empty", "nan"}


def test_decimals_are_numbers():
    frame = pl.DataFrame({"price": [Decimal("1.50"), Decimal("2.25"), None, Decimal("9.75")]})
    pipeline = whyodd.auto(frame)
    assert kinds(pipeline) == {"price": "number"}
    assert np.isfinite(pipeline.score_samples(frame)).all()


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("heavy", [False, True])
def test_objects_that_are_numbers_with_every_kind_of_gap(gap, heavy):
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(0.0, 4.0, 100)) if heavy else rng.normal(size=100)
    objects = [gap if i % 9 == 0 else Decimal(str(v)) if i % 2 else float(v) for i, v in enumerate(values)]
    as_frame, as_array = pd.DataFrame({"a": objects}, dtype=object), np.array(objects, dtype=object)[:, None]
    plain = pd.DataFrame({"a": [np.nan if i % 9 == 0 else v for i, v in enumerate(values)]})
    expected = whyodd.auto(plain).score_samples(plain)
    for table in (as_frame, as_array):
        pipeline = whyodd.auto(table)
        np.testing.assert_allclose(pipeline.score_samples(table), expected)
        assert "a is" in whyodd.explain(pipeline, as_frame).why(3)


@pytest.mark.parametrize("value", ["many", np.inf, START, [1]])
def test_new_rows_without_a_number_are_named(pipeline, value):
    new = pd.concat([row(), row(parts=value)], ignore_index=True)
    for call in (pipeline.predict, lambda X: whyodd.explain(pipeline, X)):
        with pytest.raises(ValueError, match=r"^Column 'parts' has .* in row 1, expected a finite number"):
            call(new)


def test_texts_that_read_as_numbers_are_numbers(pipeline):
    given, read = whyodd.explain(pipeline, row(parts="21")), whyodd.explain(pipeline, row(parts=21))
    np.testing.assert_array_equal(given.relevance, read.relevance)


def test_what_is_masked_is_missing():
    X = np.random.default_rng(0).normal(size=(80, 2))
    gaps = np.where(X < -1.0, np.nan, X)
    masked = np.ma.masked_array(np.where(X < -1.0, 1e6, X), mask=X < -1.0)
    given, expected = whyodd.auto(masked), whyodd.auto(gaps)
    np.testing.assert_allclose(
        whyodd.explain(given, masked).relevance, whyodd.explain(expected, gaps).relevance
    )


def test_names_that_are_numbers():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)))
    pipeline = whyodd.auto(frame)
    assert pipeline.predict(pd.DataFrame([[0.0, 9.0]])).tolist() == [-1]


def test_two_rows_are_enough():
    pipeline = whyodd.auto(pd.DataFrame({"a": [1.0, 2.0]}))
    assert pipeline.auto_report_.n_fitted == 2
    near, far = pipeline.score_samples(pd.DataFrame({"a": [1.5, 10.0]}))
    assert far < near


@pytest.mark.full
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_more_than_a_million_rows(monkeypatch, kind):
    fit, n_prepared = whyodd.Committee.fit, []
    monkeypatch.setattr(whyodd.Committee, "fit", lambda self, Z: n_prepared.append(len(Z)) or fit(self, Z))
    rng = np.random.default_rng(0)
    X = kind(rng.normal(size=(1_000_100, 2)))
    pipeline = whyodd.auto(X, max_rows=500)
    assert pipeline.auto_report_.n_rows == 1_000_100
    assert n_prepared == [200_000]
    assert pipeline["model"].network_.n_centers <= 500
    odd = np.array([[0.0, 0.0], [8.0, 0.0]])
    assert pipeline.predict(kind(odd)).tolist() == [1, -1]


# What cannot be used


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"a": []}), "0 rows"),
        (pl.DataFrame({"a": []}), "0 rows"),
        (pd.DataFrame(index=range(3)), "0 columns"),
        (np.empty((0, 3)), "0 rows"),
        (pd.DataFrame({"a": [1.0]}), "one row"),
        (pd.DataFrame({"a": [2, 2], "b": ["x", "x"]}), "No column of frame can be used.*'a': it is always 2"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "more than one column named 'a'"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", 1]), "a column name that is not text"),
        (pd.DataFrame({"a": [1.0, np.inf, 2.0]}), "Column 'a' holds inf in row 1.*missing"),
        (pd.DataFrame({"a": [1.0, None, 1e200]}), r"Column 'a' holds 1e\+200 in row 2.*unit"),
        (np.array([1.0, 2.0]), "must be a table"),
        ("table.csv", "must be a table"),
        (pd.DataFrame, "must be a table"),
        (sparse.csr_array(np.eye(3)), "sparse"),
        (pl.LazyFrame({"a": [1.0, 2.0]}), "lazy"),
        (pd.DataFrame({"a": [1e-200, 2e-200]}), "Column 'a' varies by only 1e-200"),
        ({"a": [1, 2], "b": [1]}, "different lengths"),
        ({"a": 5}, r"5 \(int\) for the column 'a', expected a list of values"),
        ({"a": "text"}, "'text' .* for the column 'a', expected a list of values"),
        ({1: [1, 2], "1": [1, 2]}, "several columns with the same name"),
    ],
)
def test_says_what_is_wrong_with_a_table(frame, words):
    with pytest.raises(ValueError, match=f"(?s){words}"):
        whyodd.auto(frame)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"max_rows": 1}, "max_rows=1"),
        ({"max_rows": 1e4}, "max_rows=10000.0"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": None}, "random_state=None"),
    ],
)
def test_says_what_is_wrong_with_an_option(option, words):
    with pytest.raises(ValueError, match=words):
        whyodd.auto(pd.DataFrame({"a": [1.0, 2.0]}), **option)


def test_names_a_missing_column(pipeline):
    with pytest.raises(ValueError, match="speed"):
        whyodd.explain(pipeline, row().drop(columns="speed"))


@pytest.mark.parametrize(("trusted", "n_centers"), [(False, 96), (True, 120)])
def test_rows_of_a_large_table_are_known_by_their_places(monkeypatch, trusted, n_centers):
    monkeypatch.setattr("whyodd.automatic.auto._PREPARED_ROWS", 120)
    frame = pd.DataFrame({"a": np.arange(300) % 50 + np.linspace(0, 0.4, 300), "b": list("xyz") * 100})
    pipeline = whyodd.auto(frame, trusted=trusted)
    network = pipeline[-1].network_
    assert (network.n_rows, network.n_centers) == (300, n_centers)
    np.testing.assert_allclose(pipeline[:-1].transform(frame.iloc[network.rows]), network.centers, atol=1e-12)
    e = whyodd.explain(pipeline, frame)
    assert (e.excluded >= 0).sum() == n_centers  # none of them is judged by itself


def test_a_scikit_learn_that_cannot_select_columns_of_polars_is_told(monkeypatch):
    """scikit-learn 1.6 to 1.8 beside Polars 2 ends in an AttributeError about ``get_loc``."""
    frame = pl.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), schema=["a", "b"])
    monkeypatch.setattr("sklearn.__version__", "1.8.0")
    monkeypatch.delattr(pl.DataFrame, "__dataframe__", raising=False)
    with pytest.raises(ValueError, match=r"1\.9 or newer"):
        whyodd.auto(frame)
    whyodd.auto(frame.to_pandas())
