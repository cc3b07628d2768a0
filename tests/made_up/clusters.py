"""Real clusters of three worker processes on this machine, one class each with the same methods."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_LOCAL = "127.0.0.1"
_PAUSE = 3.0
_PATIENCE = 120.0  # seconds until a cluster that makes no progress is given up


class DaskCluster:
    """Three nannied processes of one thread each."""

    def __init__(self):
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            host=_LOCAL,
            dashboard_address=None,
            # Without a dashboard there is a server for its port all the same: any port that is free.
            scheduler_kwargs={"dashboard_address": f"{_LOCAL}:0"},
            memory_limit="2GB",
        )
        self.client = Client(self.cluster)

    def frame(self, parts):
        import dask.dataframe as dd

        return dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])

    def parts(self, frame):
        """The partitions as Arrow tables."""
        return [pa.Table.from_pandas(part.compute(), preserve_index=False) for part in frame.partitions]

    @property
    def module(self):
        import whyodd.dask

        return whyodd.dask

    def rows(self, found):
        """What was explained, as a list of dicts."""
        return pa.Table.from_pandas(found.compute(), preserve_index=False).to_pylist()

    def rows_in_trouble(self, found):
        """The same, with one worker killed and one stopped for some seconds in the middle."""
        futures = self.client.compute(found.to_delayed())
        _wait_until(lambda: sum(future.done() for future in futures) >= 3)
        killed, stopped, _ = self.client.run(os.getpid).values()
        os.kill(killed, signal.SIGKILL)
        os.kill(stopped, signal.SIGSTOP)
        assert not all(future.done() for future in futures)
        threading.Timer(_PAUSE, os.kill, (stopped, signal.SIGCONT)).start()
        parts = self.client.gather(futures)
        return pa.Table.from_pandas(pd.concat(parts), preserve_index=False).to_pylist()

    def close(self):
        self.client.close()
        self.cluster.close()


class SparkCluster:
    """A master, three workers and an executor each, as processes of their own."""

    def __init__(self):
        os.environ |= {"SPARK_LOCAL_IP": _LOCAL, "PYSPARK_PYTHON": sys.executable}
        from pyspark.sql import SparkSession

        settings = {
            "spark.driver.host": _LOCAL,
            "spark.driver.bindAddress": _LOCAL,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.task.maxFailures": "8",
            "spark.sql.files.openCostInBytes": "134217728",  # each file is a partition
            "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }
        builder = SparkSession.builder.master("local-cluster[3,1,1024]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.scratch = tempfile.TemporaryDirectory()

    def frame(self, parts):
        folder = Path(tempfile.mkdtemp(dir=self.scratch.name))
        for number, part in enumerate(parts):
            pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"{number:03}.parquet")
        return self.session.read.parquet(str(folder))

    def parts(self, frame):
        """The partitions as Arrow tables; there are none without rows."""
        from pyspark.sql.functions import spark_partition_id

        rows = frame.withColumn("part", spark_partition_id()).toArrow()
        numbers = rows["part"].unique().to_pylist()
        return [rows.filter(pc.field("part") == number).drop_columns(["part"]) for number in numbers]

    @property
    def module(self):
        import whyodd.spark

        return whyodd.spark

    def rows(self, found):
        return found.toArrow().to_pylist()

    def rows_in_trouble(self, found):
        """What was explained, with one executor killed in the middle."""
        collected = []
        job = threading.Thread(target=lambda: collected.extend(self.rows(found)))
        job.start()
        _wait_until(lambda: self._tasks_done() >= 3)
        assert not collected
        os.kill(self._executors()[0], signal.SIGKILL)
        job.join()
        return collected

    def _tasks_done(self):
        tracker = self.session.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return sum(stage.numCompletedTasks for stage in stages if stage is not None)

    def _executors(self):
        found = subprocess.run(
            ["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True, check=True
        )
        return [int(pid) for pid in found.stdout.split()]

    def close(self):
        self.session.stop()
        self.scratch.cleanup()


def _wait_until(is_done):
    end = time.monotonic() + _PATIENCE
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError("The cluster made no progress.")
        time.sleep(0.02)
