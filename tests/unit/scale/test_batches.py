"""Batches explained one by one are what ``whyodd.explain`` says of them, row by row."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture

import whyodd
from whyodd.explanations.sentences import distinct_numbers, is_missing, is_number, number, value_texts
from whyodd.explanations.variables import _as_float, as_numbers, deviates, deviating
from whyodd.scale.batches import BatchExplainer, explain_batches
from whyodd.scale.number_texts import distinct_texts, number_texts
from whyodd.scale.reasons import NEW_VALUE

_COLUMNS = 5


def _numbers(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, _COLUMNS)) @ rng.normal(size=(_COLUMNS, _COLUMNS))
    X[::17] *= 4.0
    return pl.DataFrame({f"c{i}": X[:, i] for i in range(_COLUMNS)})


def _mixed(n, seed):
    """Numbers, categories, dates, durations, texts that are numbers, a constant; gaps everywhere."""
    rng = np.random.default_rng(seed)
    start = dt.datetime(2024, 1, 1)
    amount = np.round(rng.lognormal(3.0, 1.0, n), 2)
    return pl.DataFrame(
        {
            "amount": [
                None if gap else a for a, gap in zip(amount.tolist(), rng.random(n) < 0.05, strict=True)
            ],
            "items": rng.poisson(3.0, n),
            "order": np.arange(n) + 1000,
            "country": rng.choice(["DE", "FR", "US", None], n, p=[0.6, 0.3, 0.08, 0.02]),
            "when": [start + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 200_000, n)],
            "lasted": [dt.timedelta(seconds=float(s)) for s in rng.exponential(100.0, n)],
            "discount": [f"{d}%" for d in rng.integers(0, 40, n)],
            "currency": ["EUR"] * (n - 1) + ["USD" if seed else "EUR"],
            "is_new": rng.random(n) < 0.5,
        }
    )


def _fitted(name):
    numbers = _numbers(300, 0)
    if name == "auto":
        return whyodd.auto(_mixed(400, 0)), _mixed(200, 1)
    model = {
        "auto_numbers": lambda: whyodd.auto(numbers),
        "neighbours": lambda: whyodd.KNearestNeighbors().fit(numbers),
        "svm": lambda: whyodd.OneClassSVM().fit(numbers),
        "mixture": lambda: whyodd.GaussianMixture(n_components=2, random_state=0).fit(numbers),
        "sklearn_mixture": lambda: GaussianMixture(2, random_state=0).fit(numbers.to_numpy()),
        "forest": lambda: IsolationForest(n_estimators=20, random_state=0).fit(numbers.to_pandas()),
    }[name]()
    return model, _numbers(200, 1)


MODELS = ("auto", "auto_numbers", "neighbours", "svm", "mixture", "sklearn_mixture", "forest")


def _told(reason):
    """A reason of ``whyodd.explain`` as a batch has it, but for texts."""
    return {
        "name": reason.name,
        "share": reason.share,
        "value_number": _number(reason.value),
        "expected_number": _number(reason.expected),
        "direction": reason.direction,
        "kind": NEW_VALUE if reason.never_varied else reason.kind,
    }


def _without_texts(reason):
    return {key: value for key, value in reason.items() if key not in ("value", "expected")}


def _number(value):
    if isinstance(value, dt.timedelta):  # which rounds to microseconds
        return pytest.approx(value.total_seconds(), rel=1e-12, abs=1e-6)
    return float(value) if is_number(value) else None


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_has_what_explain_says_of_its_rows(name):
    model, rows = _fitted(name)
    explained = pl.from_arrow(BatchExplainer(model, relevance=True, inputs=rows.to_arrow().schema)(rows))
    e = whyodd.explain(model, rows, exclude_self=False)
    np.testing.assert_array_equal(explained["outlierness"], e.outlierness)
    np.testing.assert_array_equal(explained["unexplained"], e.unexplained)
    np.testing.assert_array_equal(explained["relevance"].struct.unnest().to_numpy(), e.relevance)
    assert explained["row"].to_list() == list(range(len(rows)))
    if e.threshold is None:
        assert explained["is_odd"].null_count() == len(rows)
    else:
        assert explained["is_odd"].to_list() == e.is_odd.tolist()
    _ = e.direction  # of all rows at once, as a batch has it: one row alone rounds differently
    for i, told in enumerate(explained["reasons"].to_list()):
        expected = [_told(r) for r in e.odd_row(i, 3).reasons if r.share > 0.0 or r.never_varied]
        assert [_without_texts(reason) for reason in told] == expected


def test_batches_come_out_in_their_order_and_numbered_on():
    model, rows = _fitted("svm")
    parts = [rows[:50], rows[50:50], rows[50:51], rows[51:]]
    together = pa.Table.from_batches(explain_batches(model, parts))
    assert together["row"].to_pylist() == list(range(len(rows)))
    np.testing.assert_allclose(together["outlierness"], model.outlierness(rows), rtol=1e-12)


def test_bytes_give_the_same_explainer():
    model, rows = _fitted("auto")
    explainer = BatchExplainer(model, top=2, id_column="order", relevance=True, inputs=rows.to_arrow().schema)
    again = BatchExplainer.from_bytes(explainer.to_bytes())
    assert again(rows).equals(explainer(rows))
    assert again.schema == explainer.schema


def test_a_row_that_was_learned_is_no_evidence_for_itself():
    rows = _numbers(300, 0)
    model = whyodd.KNearestNeighbors().fit(rows)
    explained = BatchExplainer(model, exclude_self=True)(rows[100:])
    e = whyodd.explain(model, rows)
    assert (e.excluded >= 0).all()
    np.testing.assert_allclose(explained["outlierness"], e.outlierness[100:], rtol=1e-12)


def test_the_index_of_pandas_is_no_column():
    rows = pd.DataFrame({"speed": [0.1, 0.2, 9.0], "load": [0.3, 0.1, 0.2]}, index=["x", "y", "z"])
    model = whyodd.Gaussian().fit(rows)
    found = next(whyodd.explain_batches(model, [rows]))
    assert found.num_rows == 3


def test_values_read_from_columns_of_any_mix_are_the_same_numbers():
    """Columns are looked at by the types of their values: as each value by itself."""
    mixed = [
        1,
        2.5,
        True,
        None,
        "3",
        dt.timedelta(seconds=90),
        dt.datetime(2024, 1, 1),
        np.float64(4.0),
        np.nan,
    ]
    for count in range(1, len(mixed) + 1):
        for column in (mixed[:count], mixed[-count:], [mixed[count - 1]] * 3):
            values = np.empty(len(column), dtype=object)
            values[:] = column
            alone = [_as_float(value) for value in column]
            np.testing.assert_array_equal(as_numbers(values[:, None])[:, 0], alone)


@pytest.mark.parametrize("constant", [3.0, 0.0, None, "EUR", dt.date(2024, 1, 1)])
def test_new_values_of_a_constant_are_those_of_each_value(constant):
    values = [3.0, 3.0 * (1 + 1e-12), 3.1, 0.0, None, np.nan, "EUR", "USD", dt.date(2024, 1, 1), True]
    column = np.empty(len(values), dtype=object)
    column[:] = values
    assert deviating(column, constant).tolist() == [deviates(value, constant) for value in values]
    floats = np.array([3.0, 3.0 * (1 + 1e-12), 3.1, 0.0, np.nan, -3.0])
    assert deviating(floats, constant).tolist() == [deviates(value, constant) for value in floats]


def test_texts_are_those_that_sentences_have():
    """Of numbers; what stands in a cell comes without quotation marks, and nothing as null."""
    model, rows = _fitted("auto")
    e = whyodd.explain(model, rows, exclude_self=False)
    _ = e.direction
    seen = set()
    for i, told in enumerate(BatchExplainer(model)(rows)["reasons"].to_pylist()):
        alone = [r for r in e.odd_row(i, 3).reasons if r.share > 0.0 or r.never_varied]
        for reason, wanted in zip(told, alone, strict=True):
            texts = value_texts(wanted)
            for name, text, value in zip(
                ("value", "expected"), texts, (wanted.value, wanted.expected), strict=True
            ):
                assert reason[name] == (None if is_missing(value) else text.strip("'"))
            seen.add((reason["name"], reason["value"] is None))
    assert {
        ("amount", False),
        ("amount", True),
        ("country", False),
        ("when", False),
        ("lasted", False),
    } <= seen


NUMBERS = st.one_of(
    st.floats(-1e300, 1e300),
    st.decimals(-1000, 1000, places=3).map(float),
    st.integers(-(10**12), 10**12).map(float),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20), st.floats(-1e-4, 1e-4))
def test_many_numbers_are_written_as_each_alone(pairs, apart):
    values, others = np.array(pairs).T
    others = np.concatenate([others, values * (1.0 + apart)])
    values = np.concatenate([values, values])
    assert number_texts(values).to_pylist() == [number(value) for value in values.tolist()]
    found = zip(*(texts.to_pylist() for texts in distinct_texts(values, others)), strict=True)
    assert list(found) == [
        distinct_numbers(*pair) for pair in zip(values.tolist(), others.tolist(), strict=True)
    ]


@pytest.mark.parametrize("name", ["auto", "auto_numbers"])
def test_each_row_that_a_committee_keeps_is_known_by_its_bytes(name):
    """Also behind dates, categories and gaps, whatever batch it comes in."""
    rows = _mixed(400, 0) if name == "auto" else _numbers(300, 0)
    model = whyodd.auto(rows)
    e = whyodd.explain(model, rows)
    explainer = BatchExplainer(model, exclude_self=True)
    found = pa.Table.from_batches([explainer(rows[start : start + 70]) for start in range(0, len(rows), 70)])
    assert (e.excluded >= 0).sum() > 100
    np.testing.assert_allclose(found["outlierness"], e.outlierness, rtol=1e-9)


def test_the_schema_is_that_of_every_batch():
    model, rows = _fitted("auto")
    explainer = BatchExplainer(model, id_column="order", relevance=True)
    for batch in (rows, rows[:1], rows[:0], rows.to_pandas(), rows.to_arrow()):
        assert explainer(batch).schema == explainer.schema
    assert explainer(rows)["id"].to_pylist()[:2] == ["1000", "1001"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.drop("order"), "The batch has no column 'order', which names the rows"),
        (lambda rows: rows.drop("amount"), "missing 'amount'"),
        (lambda rows: rows.to_dicts(), "expected an Arrow batch or table, or a data frame"),
    ],
)
def test_what_is_no_batch_of_the_model_is_named(change, message):
    model, rows = _fitted("auto")
    with pytest.raises((TypeError, ValueError), match=message):
        BatchExplainer(model, id_column="order")(change(rows))
