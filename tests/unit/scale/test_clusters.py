"""Dask and Spark give what one machine gives, also when workers die: the same contract for both."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import typer

import whyodd
from made_up.clusters import DaskCluster, SparkCluster
from whyodd.cli.parts import PartsCommand
from whyodd.io.parts import find_parts
from whyodd.scale.batches import BatchExplainer

ENGINES = {"dask": DaskCluster, "spark": SparkCluster}
PARTS, ROWS = 24, 400


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[getattr(pytest.mark, name)]) for name in ENGINES]
)
def engine(request):
    cluster = ENGINES[request.param]()
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def parts():
    """Parts with numbers, gaps and categories; one without rows, one of one row, a land that one part has."""
    rng = np.random.default_rng(0)
    sizes = [ROWS] * PARTS
    sizes[3], sizes[5] = 0, 1
    lands = ["at", "de", "fr"]
    found, start = [], 0
    for number, size in enumerate(sizes):
        amounts = rng.normal(100.0, 10.0, size)
        amounts[rng.random(size) < 0.05] = np.nan
        part = pd.DataFrame(
            {
                "order": np.arange(start, start + size),
                "amount": amounts,
                "weight": rng.gamma(3.0, size=size),
                "land": pd.array(rng.choice(lands, size), dtype="string[pyarrow]"),
            }
        )
        if number == 7:
            part.loc[2, "land"] = "pt"
            part.loc[3, "amount"] = 900.0
        found.append(part)
        start += size
    return found


@pytest.fixture(scope="module")
def frame(engine, parts):
    return engine.frame(parts)


@pytest.fixture(scope="module")
def model(engine, frame):
    """What one machine learns from the same partitions."""
    summaries = [
        whyodd.TableSummary.of(part.drop_columns(["order"]), part=number)
        for number, part in enumerate(engine.parts(frame))
    ]
    whole = summaries[0]
    for summary in summaries[1:]:
        whole = whole.merge(summary)
    return whole.fit()


@pytest.fixture(scope="module")
def on_one_machine(engine, frame, model):
    parts = engine.parts(frame)
    explainer = BatchExplainer(model, id_column="order", inputs=parts[0].schema)
    return by_id([row for part in parts for row in explainer(part).to_pylist()])


def by_id(rows):
    return sorted(rows, key=lambda row: row["id"])


class TestClusters:
    def test_explains_to_the_last_digit(self, engine, model, frame, on_one_machine):
        found = engine.module.explain(model, frame, id_column="order")
        assert by_id(engine.rows(found)) == on_one_machine

    def test_fits_what_one_machine_fits(self, engine, model, parts):
        fitted = engine.module.fit(engine.frame([part.drop(columns="order") for part in parts]))
        rows = parts[7].drop(columns="order")
        np.testing.assert_array_equal(fitted.score_samples(rows), model.score_samples(rows))

    def test_every_row_once_when_workers_die(self, engine, model, frame, on_one_machine):
        found = engine.module.explain(model, frame, id_column="order")
        assert by_id(engine.rows_in_trouble(found)) == on_one_machine

    def test_without_ids(self, engine, model, parts):
        rows = parts[7].drop(columns="order")
        found = engine.rows(engine.module.explain(model, engine.frame([rows]), top=1, relevance=True))
        assert len(found) == ROWS
        assert found[3]["reasons"][0]["name"] == "amount"
        assert found[3]["relevance"]["amount"] > found[0]["relevance"]["amount"]

    def test_a_column_is_missing(self, engine, model, parts):
        frame = engine.frame([parts[0].drop(columns="weight")])
        with pytest.raises(ValueError, match="weight"):
            engine.module.explain(model, frame, id_column="order")

    def test_no_frame_of_the_engine(self, engine, model, parts):
        with pytest.raises(TypeError, match=r"of type DataFrame, expected a (Dask|Spark) DataFrame"):
            engine.module.explain(model, parts[0])
        with pytest.raises(TypeError, match=r"of type DataFrame, expected a (Dask|Spark) DataFrame"):
            engine.module.fit(parts[0])

    def test_no_rows(self, engine, parts):
        with pytest.raises(ValueError, match="no rows, expected at least two"):
            engine.module.fit(engine.frame([parts[3]]))


@pytest.mark.dask
class TestCommand:
    """``whyodd explain --cluster``."""

    @pytest.mark.parametrize("engine", ["dask"], indirect=True)
    def test_the_files_are_those_of_one_machine(self, engine, parts, tmp_path):
        folder = tmp_path / "orders"
        folder.mkdir()
        for number, part in enumerate(parts[:5]):
            part.to_csv(folder / f"{number}.csv", index=False)
        (folder / "9.csv").write_text("order,amount\n1,2\n")
        for name, address in (("here", None), ("there", engine.client.scheduler.address)):
            found = find_parts([folder])
            command = PartsCommand(found, tmp_path / name, id_column="order", cluster=address, quiet=True)
            with pytest.raises(typer.Exit):  # of 9.csv, which lacks columns
                command.run()
        here, there = (sorted((tmp_path / name).glob("*.parquet")) for name in ("here", "there"))
        assert [path.stem for path in here] == [path.stem for path in there] == ["0", "1", "2", "3", "4"]
        for one, other in zip(here, there, strict=True):
            assert pq.read_table(one).equals(pq.read_table(other))

    def test_no_scheduler(self, tmp_path, parts):
        parts[0].to_csv(tmp_path / "orders.csv", index=False)
        command = PartsCommand(
            find_parts([tmp_path / "orders.csv"]), tmp_path / "out", cluster="tcp://127.0.0.1:9"
        )
        with pytest.raises(ConnectionError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"):
            command.run()
