"""What a cluster costs and gains: three workers of one thread each against one process of one thread.

Run: OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/clusters.py [--engine dask|spark] [--rows 400000]

All explain the same partitions of 20 columns with the same model (``whyodd.auto``). The partitions are in
files of Parquet, which workers read themselves. The engine's overhead is the time of one worker over that of
the bare process: by the clock, and by the processor time of all processes. The latter minds less who else
works on the machine, but engines keep house all the time that they are up. Where others come and go between
the runs of one table, only a quiet machine gives a ratio. On two cores three workers cannot be more than
twice as fast as one process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import whyodd
from sidebyside import machine, print_table
from whyodd.scale.batches import BatchExplainer
from whyodd.scale.workers import explained

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS, PART = 20, 20_000
# Seconds by the clock, and of the processor.
Taken = tuple[float, float]


def write_parts(folder: Path, rows: int) -> list[Path]:
    """Files of 20,000 rows each."""
    mixing = np.random.default_rng(0).normal(size=(COLUMNS, COLUMNS)) / 4 + np.eye(COLUMNS)
    paths = []
    for number in range(rows // PART):
        X = np.random.default_rng([1, number]).normal(size=(PART, COLUMNS)) @ mixing
        paths.append(folder / f"part-{number:04}.parquet")
        pq.write_table(pa.table({f"x{i}": X[:, i] for i in range(COLUMNS)}), paths[-1])
    return paths


def processor_seconds() -> float:
    """Processor time of this process and of all that it has started."""
    this = psutil.Process()
    times = [one.cpu_times() for one in (this, *this.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def taken(work: Callable[[], object]) -> Taken:
    start, used = time.perf_counter(), processor_seconds()
    work()
    return time.perf_counter() - start, processor_seconds() - used


def alone(packed: bytes, paths: list[Path]) -> Taken:
    """One process, one thread."""

    def run() -> None:
        for path in paths:
            for _ in explained(packed, pq.read_table(path)):
                pass

    return taken(run)


def on_dask(model, paths: list[Path], workers: int) -> Taken:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):

        def run(files: list[Path]) -> Taken:
            found = whyodd.dask.explain(model, dd.read_parquet([str(path) for path in files]))
            return taken(lambda: found["outlierness"].max().compute())

        run(paths[: 2 * workers])  # imports and compiled code
        return run(paths)


def on_spark(model, paths: list[Path], workers: int) -> Taken:
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(f"local-cluster[{workers},1,1024]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        .getOrCreate()
    )

    def run(files: list[Path]) -> Taken:
        found = whyodd.spark.explain(model, session.read.parquet(*map(str, files)))
        return taken(lambda: found.agg({"outlierness": "max"}).collect())

    try:
        run(paths[: 2 * workers])
        return run(paths)
    finally:
        session.stop()


ENGINES = {"dask": on_dask, "spark": on_spark}


def main() -> None:
    parser = argparse.ArgumentParser(description="Three workers against one process.")
    parser.add_argument("--engine", choices=ENGINES, default="dask")
    parser.add_argument("--rows", type=int, default=400_000)
    wanted = parser.parse_args()
    if not os.environ.get("OMP_NUM_THREADS") == os.environ.get("NUMBA_NUM_THREADS") == "1":
        parser.error("set OMP_NUM_THREADS=1 and NUMBA_NUM_THREADS=1: one thread for each process")
    with tempfile.TemporaryDirectory() as folder:
        paths = write_parts(Path(folder), wanted.rows)
        model = whyodd.auto(pq.read_table(paths[0]).to_pandas())
        packed = BatchExplainer(model, inputs=pq.read_schema(paths[0])).to_bytes()
        alone(packed, paths[:2])
        bare = alone(packed, paths)
        found = {"one process, no engine": bare}
        for workers in (1, 3):
            found[f"{wanted.engine}, {workers} worker(s)"] = ENGINES[wanted.engine](model, paths, workers)
    print(f"{machine()}; one thread per process\n")
    lines = [
        (name, f"{wanted.rows / clock:,.0f}", f"{bare[0] / clock:.2f} x", f"{used / bare[1]:.2f} x")
        for name, (clock, used) in found.items()
    ]
    columns = ("", "rows/s", "speed of one process", "processor time of one process")
    print_table(f"{wanted.rows:,} rows x {COLUMNS}, explained", columns, lines)


if __name__ == "__main__":
    main()
