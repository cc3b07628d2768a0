"""whyodd watch in a process pinned to one core, fed through a pipe: rows a second, and how long answers take.

Run: python benchmarks/watch.py [--rows 100000] [--quick] [--only neighbours] [--rates 100 1000 5000]

20 columns of numbers; models with 10,000 centers (neighbours, and a kernel density, which is as a one-class
SVM is) and the committee that ``whyodd.auto`` learns. About a hundredth of the rows is odd. At full speed the
pipe is kept full; at a fixed rate each row is sent by the clock, and its latency is the time until its answer
can be read. Rows per second of processor time are what a core that has nothing else to do gives; the clock's
rows per second are lower where the machine is busy.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
import polars as pl
import psutil

import whyodd
from sidebyside import machine, print_table

COLUMNS, CENTERS = 20, 10_000
NAMES = [f"column_{i}" for i in range(COLUMNS)]
RATES = (100, 1_000, 5_000)
# Every so many rows one is odd for sure, so that it is answered whatever is asked for; counted from the first
# such row after so many.
ODD_EVERY, WARM_UP = 200, 10_000
ROW, LONGEST_ANSWER = re.compile(rb'{"row":(\d+),'), 2_000


def rows(n: int, seed: int) -> np.ndarray:
    """Correlated numbers; one in two hundred has a column that is far off."""
    mixing = np.eye(COLUMNS) + 0.3 * np.random.default_rng(0).normal(size=(COLUMNS, COLUMNS))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS)) @ mixing
    if seed > 1:
        X[::ODD_EVERY, 3] += 12.0
    return X.round(5)


def models(only: str | None) -> dict[str, object]:
    normal, others = (pl.DataFrame(rows(CENTERS, seed), schema=NAMES) for seed in (0, 1))
    learn = {
        "neighbours": lambda: whyodd.KNearestNeighbors().fit(normal),
        "kernel density": lambda: whyodd.KernelDensity().fit(normal),
        "auto": lambda: whyodd.auto(normal),
        "auto, trusted": lambda: whyodd.auto(normal, trusted=True),
    }
    found = {name: learned() for name, learned in learn.items() if only in (None, name)}
    for name in {"neighbours", "kernel density"} & found.keys():  # as many false alarms as auto allows
        found[name].threshold_ = float(np.quantile(found[name].outlierness(others), 0.99))
    return found


def lines(X: np.ndarray, form: str) -> list[bytes]:
    if form == "csv":
        return [
            ",".join(NAMES).encode() + b"\n",
            *(",".join(map(str, row)).encode() + b"\n" for row in X.tolist()),
        ]
    return [json.dumps(dict(zip(NAMES, row, strict=True))).encode() + b"\n" for row in X.tolist()]


class Watched:
    """The command, pinned to one core."""

    def __init__(self, model: Path, *options: str) -> None:
        core = min(os.sched_getaffinity(0))
        environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), sys.executable, "-m", "whyodd", "watch", "--model", model, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            bufsize=0,
        )
        self.process.stderr.readline()  # it is ready
        self._before = self._seconds()

    def _seconds(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def used(self) -> float:
        """Processor time since it was ready."""
        return self._seconds() - self._before


def full_speed(model: Path, data: list[bytes], *options: str) -> tuple[float, float]:
    """Rows a second by the clock and by processor time, from an odd row near the beginning to the last."""
    watched = Watched(model, *options)
    source, sink = watched.process.stdin, watched.process.stdout

    def feed() -> None:
        view = memoryview(b"".join(data))
        while view:
            view = view[source.write(view[: 1 << 20]) :]

    threading.Thread(target=feed, daemon=True).start()
    marks, last_row, tail = [], -1, b""
    for wanted in (WARM_UP, len(data) // ODD_EVERY * ODD_EVERY - ODD_EVERY):
        while last_row < wanted:
            tail = tail[-LONGEST_ANSWER:] + sink.read(1 << 20)
            last_row = int(ROW.findall(tail)[-1])
        marks.append((last_row, time.perf_counter(), watched.used()))
    source.close()
    while sink.read(1 << 20):
        pass
    watched.process.wait()
    (first, began, used), (last, ended, used_in_all) = marks
    return (last - first) / (ended - began), (last - first) / (used_in_all - used)


def latencies(model: Path, data: list[bytes], rate: float, *options: str) -> tuple[np.ndarray, float]:
    """Milliseconds (n,) from when each row is sent to when its answer is there, and the share of the core."""
    watched = Watched(model, *options)
    source, sink = watched.process.stdin, watched.process.stdout
    sent, came = np.empty(len(data)), np.empty(len(data))

    def feed() -> None:
        start = time.perf_counter() + 0.1
        for place, line in enumerate(data):
            due = start + place / rate
            while (wait := due - time.perf_counter()) > 0:
                time.sleep(wait)
            sent[place] = time.perf_counter()
            source.write(line)

    began = time.perf_counter()
    threading.Thread(target=feed, daemon=True).start()
    answered = 0
    while answered < len(data):
        new = sink.read(1 << 20).count(b"\n")
        came[answered : answered + new] = time.perf_counter()
        answered += new
    busy = watched.used() / (time.perf_counter() - began)
    source.close()
    watched.process.wait()
    return 1e3 * (came - sent), busy


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--only", help="one of the models")
    parser.add_argument("--rates", type=int, nargs="*", default=RATES, help="rows a second to send")
    options = parser.parse_args()
    n = options.rows // 10 if options.quick else options.rows
    X = rows(n, 2)
    speeds, waits = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models(options.only).items():
            path = Path(folder) / "model.whyodd"
            whyodd.save(model, path)
            for form, extra in (("jsonl", ()), ("csv", ()), ("jsonl", ("--odd-only",))):
                clock, processor = full_speed(path, lines(X, form), *extra)
                told = f"{processor:,.0f} rows / s of processor time, {clock:,.0f} by the clock"
                print(name, form, *extra, told, file=sys.stderr)
                speeds.append((name, " ".join([form, *extra]), f"{processor:,.0f}", f"{clock:,.0f}"))
            for rate in options.rates:
                data = lines(X[: min(n, 20 * rate)], "jsonl")
                found, busy = latencies(path, data, rate)
                shares = np.quantile(found, [0.5, 0.9, 0.99, 1.0])
                print(name, f"{rate:,} rows / s: {shares.round(1).tolist()} ms", file=sys.stderr)
                waits.append(
                    (name, f"{rate:,}", f"{100 * busy:.0f} %", *(f"{value:.1f}" for value in shares))
                )
    print_table(
        f"whyodd watch, {n:,} rows of {COLUMNS} columns at full speed; one core of: {machine()}",
        ("model", "lines", "rows / s of processor time", "rows / s by the clock"),
        speeds,
    )
    print_table(
        "latency in milliseconds, JSON lines at a fixed rate",
        ("model", "rows / s", "core in use", "median", "90 %", "99 %", "largest"),
        waits,
    )


if __name__ == "__main__":
    main()
