"""A pipeline over a real table with numbers and categories: there, back, and into raw columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import whyodd
from whyodd.adapters.tracing import trace

CATEGORIES = ["protocol_type", "service", "flag"]


@pytest.fixture(scope="module")
def connections(data_dir):
    table = pd.read_csv(data_dir / "nsl_kdd" / "train_20percent.csv.gz", nrows=3000)
    labels = [name for name in table.columns if name in ("label", "difficulty", "attack", "class")]
    return table.drop(columns=labels)


@pytest.fixture(scope="module")
def columns(connections):
    numbers = [name for name in connections.columns if name not in CATEGORIES]
    blocks = [
        ("numbers", make_pipeline(FunctionTransformer(np.log1p), StandardScaler()), numbers),
        ("categories", OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"), CATEGORIES),
    ]
    return ColumnTransformer(blocks).fit(connections)


@pytest.mark.data
def test_table_is_read_back(columns, connections):
    found = trace([("columns", columns)], connections.columns)
    decoded = found.decode(columns.transform(connections))
    for variable, name in enumerate(connections.columns):
        if name in CATEGORIES:
            codes, values = decoded.categories[variable]
            read = np.array(values, dtype=object)[codes]
            frequent = connections[name].map(connections[name].value_counts()) >= 10
            np.testing.assert_array_equal(read[frequent], connections[name][frequent])
            assert set(read[~frequent]) <= {"(infrequent)"}
        else:
            np.testing.assert_allclose(decoded.numbers[variable], connections[name], rtol=1e-9, atol=1e-9)


@pytest.mark.data
def test_columns_that_never_varied(columns, connections):
    found = trace([("columns", columns)], connections.columns)
    constant = [name for name in connections.columns if connections[name].nunique() == 1]
    assert [found.names[variable] for variable in sorted(found.constant)] == constant
    for variable, value in found.constant.items():
        assert value == pytest.approx(connections[found.names[variable]].iloc[0])


@pytest.mark.data
def test_relevance_in_raw_columns_conserves_also_through_pca(columns, connections):
    pipeline = make_pipeline(columns, PCA(20), whyodd.OneClassSVM(nu=0.2)).fit(connections[:500])
    e = whyodd.explain(pipeline, connections[500:600])
    assert e.feature_names == tuple(connections.columns)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
    assert set(e.expected[:, list(connections.columns).index("protocol_type")]) <= {"tcp", "udp", "icmp"}
