"""A folder of Parquet larger than memory, explained by the command: peak memory, and speed beside memory.

The command runs in a process of its own, and so does the same model in memory on a million rows. Speed is
told as a ratio of seconds per row, by the clock and by the processor's own time: the latter does not mind who
else works on the machine.

Run: python benchmarks/batches.py [--rows 50000000] [--model committee | neighbours | svm] [--folder where]

5,000,000 rows on a busy AMD EPYC (Milan) with 2 cores: 43 µs of processor time a row, 1.14 times as long as
``explain_batches`` in memory and 1.15 times as long as ``explain`` (0.91 and 1.17 by the clock, which others
move), at a peak of 969 MB.

50,000,000 rows by a one-class SVM (``--model svm``) on a busy AMD EPYC with 2 cores: 22 µs of processor time
a row, 1.30 times as long as ``explain_batches`` (1.20 by the clock), at a peak of 783 MB. ``explain`` alone,
which writes no reasons in words, takes a sixth of that: the rest is reading, words and writing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import whyodd
from sidebyside import print_table

COLUMNS, PART_ROWS, IN_MEMORY = 20, 500_000, 1_000_000
MOST_MEMORY, MOST_TIMES = 1.5e9, 1.3
MODELS = {
    "committee": lambda rows: whyodd.auto(rows),
    "neighbours": lambda rows: whyodd.KNearestNeighbors().fit(rows.slice(0, 400)),
    "svm": lambda rows: whyodd.OneClassSVM().fit(rows.slice(0, 400)),
}


def table(rows: int, seed: int) -> pa.Table:
    """Numbers that depend on each other; one row in 100,000 has a value far off."""
    mixing = np.random.default_rng(0).normal(size=(COLUMNS, COLUMNS)) / 3.0 + np.eye(COLUMNS)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, COLUMNS)) @ mixing
    odd = rng.choice(rows, max(rows // 100_000, 1), replace=False)
    values[odd, rng.integers(COLUMNS, size=odd.size)] += 30.0
    return pa.table({f"c{i}": values[:, i] for i in range(COLUMNS)})


def write_parts(folder: Path, rows: int) -> None:
    """Parts of half a million rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, PART_ROWS)):
        path, size = folder / f"part-{number:05d}.parquet", min(PART_ROWS, rows - start)
        if not path.exists() or pq.read_metadata(path).num_rows != size:
            pq.write_table(table(size, number + 1), path)


def measured(arguments: list[str]) -> tuple[float, float, float]:
    """Seconds by the clock, seconds of the processor and peak memory of a process."""
    began = time.perf_counter()
    process = subprocess.Popen(arguments)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024.0


def in_memory(folder: Path, model: Path) -> None:
    """What a process of its own does: a million rows that are in memory, by each way to explain them."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))[: IN_MEMORY // PART_ROWS]]
    rows, learned = pa.concat_tables(tables).combine_chunks(), whyodd.load(model)

    def by_batches() -> None:
        for _ in whyodd.explain_batches(learned, rows.to_batches(max_chunksize=20_000)):
            pass

    def at_once() -> None:
        whyodd.explain(learned, rows, exclude_self=False)

    for name, explain in (("explain_batches", by_batches), ("explain", at_once)):
        whyodd.explain(learned, rows.slice(0, 5_000), exclude_self=False)  # compiled before the clock runs
        began, worked = time.perf_counter(), time.process_time()
        explain()
        seconds = (time.perf_counter() - began, time.process_time() - worked)
        print(name, rows.num_rows, *seconds, flush=True)


def check_results(folder: Path, out: Path) -> int:
    """Every row of every part once; how many rows."""
    total = 0
    for path in sorted(folder.glob("*.parquet")):
        rows = pq.read_table(out / path.name, columns=["row"])["row"].to_numpy()
        assert np.array_equal(rows, np.arange(pq.read_metadata(path).num_rows)), path
        total += rows.size
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--model", choices=MODELS, default="committee")
    parser.add_argument("--folder", type=Path, help="where the parts are, or are made; kept afterwards")
    parser.add_argument("--in-memory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_memory is not None:
        in_memory(options.folder, options.in_memory)
        return
    place = Path(mkdtemp(prefix="whyodd-batches-"))
    folder = options.folder or place / "parts"
    try:
        run(folder, place, options)
    finally:
        shutil.rmtree(place)


def run(folder: Path, place: Path, options: argparse.Namespace) -> None:
    write_parts(folder, options.rows)
    saved = place / "model.whyodd"
    whyodd.save(MODELS[options.model](table(PART_ROWS, 0)), saved)
    here = [sys.executable, __file__, "--folder", str(folder), "--in-memory", str(saved)]
    told = subprocess.run(here, check=True, capture_output=True, text=True).stdout
    passes = {name: list(map(float, rest)) for name, *rest in map(str.split, told.splitlines())}
    command = [sys.executable, "-m", "whyodd", "explain", str(folder), "--model", str(saved)]
    clock, worked, memory = measured([*command, "--out", str(place / "out")])
    n = check_results(folder, place / "out")
    size = sum(path.stat().st_size for path in (place / "out").glob("*.parquet")) / n
    lines = [
        [f"the command, {n:,} rows", n / clock, 1e6 * clock / n, 1e6 * worked / n, "", ""],
    ]
    for name, (rows, seconds, processor) in passes.items():
        by_clock, by_processor = clock / n / (seconds / rows), worked / n / (processor / rows)
        lines.append(
            [name, rows / seconds, 1e6 * seconds / rows, 1e6 * processor / rows, by_clock, by_processor]
        )
    print_table(
        f"{options.model}, {COLUMNS} columns: rows a second, µs a row, and times as long as in memory",
        ["", "rows/s", "µs", "µs of processor", "× by the clock", "× by the processor"],
        [[cell if isinstance(cell, str) else f"{cell:,.2f}" for cell in line] for line in lines],
    )
    print(f"peak memory {memory / 1e6:,.0f} MB (at most {MOST_MEMORY / 1e6:,.0f}); {size:.0f} bytes a row")


if __name__ == "__main__":
    main()
