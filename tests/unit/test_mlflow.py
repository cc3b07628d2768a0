"""Models in MLflow: logged without pickle, loaded elsewhere, scored and explained there as here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd

# MLflow and Spark warn of their own code.
pytestmark = pytest.mark.filterwarnings("ignore")

_random = np.random.default_rng(0)
NORMAL = pd.DataFrame(_random.normal(size=(80, 3)), columns=["speed", "load", "t"])
ROWS = NORMAL.iloc[5:9].set_axis(["a", "b", "c", "d"]).assign(load=[9.0, 8.0, -9.0, 0.0])
SCORES = ["outlierness", "p_value", "is_odd", "unexplained"]

# Run by a process of its own: whatever is unpickled while a model is loaded is an error.
ELSEWHERE = """
import pickle, sys
import mlflow.pyfunc, pandas as pd, whyodd.mlflow
loading = True
def watch(event, arguments):
    if loading and event == "pickle.find_class":
        raise AssertionError(f"unpickles {arguments}")
sys.addaudithook(watch)
kept = pickle.load, pickle.loads
def refuse(*arguments, **keywords):
    raise AssertionError("unpickles")
pickle.load = pickle.loads = refuse
uri, rows, told = sys.argv[1:]
scorer, model = mlflow.pyfunc.load_model(uri), whyodd.mlflow.load_model(uri)
loading, (pickle.load, pickle.loads) = False, kept  # numba's cache of compiled loops is made of pickles
scorer.predict(pd.read_parquet(rows)).to_parquet(told)
print(type(model).__name__)
"""


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    """MLflow that keeps its runs in a folder, and tells nobody of them."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    import mlflow.pyfunc

    return mlflow


@pytest.fixture(scope="module")
def model():
    return make_pipeline(StandardScaler(), whyodd.Committee(random_state=0)).fit(NORMAL)


def scorer(model, tmp_path, mlflow, **options):
    whyodd.mlflow.save_model(model, tmp_path / "model", **options)
    return mlflow.pyfunc.load_model(str(tmp_path / "model"))


def test_logged_and_loaded_in_a_fresh_process_without_pickle(model, tmp_path, mlflow):
    info = whyodd.mlflow.log_model(model, "odd", input_example=ROWS.head(2))
    rows, told = tmp_path / "rows.parquet", tmp_path / "told.parquet"
    ROWS.to_parquet(rows)
    run = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, info.model_uri, rows, told],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "Pipeline"
    here = mlflow.pyfunc.load_model(info.model_uri).predict(ROWS)
    pd.testing.assert_frame_equal(pd.read_parquet(told), here, check_exact=True)
    stored = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert "model.whyodd" in stored
    assert not [name for name in stored if name.endswith((".pkl", ".pickle"))]


def test_what_is_told_is_what_whyodd_says(model, tmp_path, mlflow):
    told = scorer(model, tmp_path, mlflow, top=2).predict(ROWS)
    e = whyodd.explain(model, ROWS)
    assert list(told.index) == list(ROWS.index)
    per_reason = [f"{name}_{rank}" for rank in (1, 2) for name in ("reason", "share", "value", "expected")]
    assert list(told.columns) == SCORES + per_reason
    np.testing.assert_array_equal(told["outlierness"], e.outlierness)
    np.testing.assert_array_equal(told["is_odd"], e.is_odd)
    np.testing.assert_array_equal(told["p_value"], model[-1].distribution_.p_values(e.outlierness))
    for row in range(len(ROWS)):
        for rank, reason in enumerate(e.reasons(row)[:2], start=1):
            line = told.iloc[row]
            assert line[f"reason_{rank}"] == reason.feature
            assert line[f"share_{rank}"] == pytest.approx(reason.share)


def test_fewer_reasons_than_asked_for(tmp_path, mlflow):
    model = whyodd.DistanceNetwork(NORMAL[["load"]])
    told = scorer(model, tmp_path, mlflow, top=2).predict(pd.DataFrame({"load": [9.0]}))
    assert told.loc[0, "reason_1"] == "load"
    assert told.loc[0, ["reason_2", "share_2", "value_2", "expected_2"]].tolist() == ["", 0.0, "", ""]
    assert np.isnan(told.loc[0, "p_value"])  # a network alone knows neither of them
    assert told.loc[0, "is_odd"] is None


def test_categories_and_dates(tmp_path, mlflow):
    frame = NORMAL.assign(
        kind=np.where(NORMAL["t"] > 0.0, "pump", "fan"),
        day=pd.date_range("2024-01-01", periods=len(NORMAL)),
    )
    odd = frame.iloc[:2].assign(kind=["valve", "fan"])
    told = scorer(whyodd.auto(frame), tmp_path, mlflow).predict(odd)
    assert told.loc[0, "reason_1"] == "kind"
    assert told.loc[0, "value_1"] == "valve"
    assert told.loc[0, "expected_1"] in ("pump", "fan")


def test_rows_as_an_array(tmp_path, mlflow):
    model = whyodd.Gaussian().fit(NORMAL.to_numpy())
    told = scorer(model, tmp_path, mlflow).predict(ROWS.to_numpy())
    np.testing.assert_array_equal(told["outlierness"], model.outlierness(ROWS.to_numpy()))
    assert told.loc[0, "reason_1"] == "x1"


def test_columns_are_those_of_training_of_any_type(tmp_path, mlflow):
    found = scorer(whyodd.Gaussian().fit(NORMAL), tmp_path, mlflow)
    assert found.metadata.get_input_schema().input_names() == ["speed", "load", "t"]
    assert len(found.predict(ROWS.round().astype(int))) == len(ROWS)
    shuffled = ROWS[["t", "speed", "load"]]
    pd.testing.assert_frame_equal(found.predict(shuffled), found.predict(ROWS))
    with pytest.raises(Exception, match="t"):
        found.predict(ROWS.drop(columns="t"))


def test_an_example_tells_their_types(tmp_path, mlflow):
    found = scorer(whyodd.Gaussian().fit(NORMAL), tmp_path, mlflow, input_example=ROWS.head(1))
    types = [str(column.type) for column in found.metadata.get_input_schema()]
    assert types == ["DataType.double"] * 3
    outputs = {column.name: str(column.type) for column in found.metadata.get_output_schema()}
    assert list(outputs)[:5] == [*SCORES, "reason_1"]
    assert [outputs[name] for name in ("outlierness", "is_odd", "reason_1", "share_1")] == [
        "DataType.double",
        "DataType.boolean",
        "DataType.string",
        "DataType.double",
    ]
    assert (tmp_path / "model" / "input_example.json").exists()


def test_requirements_are_pinned(tmp_path, mlflow):
    scorer(whyodd.Gaussian().fit(NORMAL), tmp_path, mlflow, extra_pip_requirements=["polars"])
    required = (tmp_path / "model" / "requirements.txt").read_text().split()
    assert f"whyodd[mlflow]=={whyodd.__version__}" in required
    assert f"scikit-learn=={sklearn.__version__}" in required
    assert "polars" in required


def test_what_cannot_be_explained_is_refused_before_anything_is_written(tmp_path, mlflow):
    del mlflow
    with pytest.raises(whyodd.UnsupportedModelError):
        whyodd.mlflow.save_model(object(), tmp_path / "model")
    with pytest.raises(ValueError, match="reasons"):
        whyodd.mlflow.save_model(whyodd.Gaussian().fit(NORMAL), tmp_path / "model", top=0)
    assert not (tmp_path / "model").exists()


def test_a_model_of_another_flavour_is_told(tmp_path, mlflow):
    mlflow.pyfunc.save_model(str(tmp_path / "other"), loader_module="json", pip_requirements=["numpy"])
    with pytest.raises(ValueError, match=r"was not logged by whyodd\.mlflow, but as 'python_function'"):
        whyodd.mlflow.load_model(str(tmp_path / "other"))


def test_without_mlflow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'whyodd\[mlflow\]'"):
        whyodd.mlflow.save_model(whyodd.Gaussian().fit(NORMAL), tmp_path / "model")


def test_the_example_of_the_docs(tmp_path, mlflow, monkeypatch, capsys):
    del mlflow
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "production.md").read_text(encoding="utf-8")
    (example,) = [
        block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "log_model" in block
    ]
    exec(example, {})
    assert "reason_1" in capsys.readouterr().out


@pytest.mark.spark
def test_spark_udf(model, tmp_path, mlflow, monkeypatch):
    """A struct of all columns by default, the outlierness as a number; the same figures as here."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import struct

    here = scorer(model, tmp_path, mlflow).predict(ROWS)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    try:
        frame = spark.createDataFrame(ROWS)
        explain = mlflow.pyfunc.spark_udf(spark, str(tmp_path / "model"))
        told = frame.select(explain("speed", "load", "t").alias("why")).select("why.*").toPandas()
        score = mlflow.pyfunc.spark_udf(spark, str(tmp_path / "model"), result_type="double")
        scores = frame.select(score(struct("t", "load", "speed")).alias("o")).toPandas()
    finally:
        spark.stop()
    pd.testing.assert_frame_equal(told, here.reset_index(drop=True), check_dtype=False, check_exact=True)
    np.testing.assert_array_equal(scores["o"], here["outlierness"])
