"""Tables as people write them against the same tables as plain numbers: time to read, and memory.

``python benchmarks/written.py [rows]`` writes two CSV files of 20 columns. In one of them six columns are
percentages, four prices with thousands apart, and four dates with the day first; in the other all are plain
numbers and ISO dates. Each is read in processes of their own, in turn: the file, then its columns recognised
and made numbers, as ``whyodd.auto`` does before it learns.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROUNDS = 5
READ = """
import resource, sys, time
usage = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
from whyodd.automatic.reading import read_table as as_table
from whyodd.automatic.written import find_written
from whyodd.io.tables import read_table
import polars
start, used = time.perf_counter(), usage()
frame = read_table(sys.argv[1])
read = time.perf_counter()
step, known = find_written(as_table(frame))
found = time.perf_counter()
if step is not None:
    frame = step.transform_known(frame, known)
done, used = time.perf_counter(), usage() - used
texts = sum(kind == polars.String for kind in frame.dtypes)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(read - start, found - read, done - found, used, memory, texts)
"""


def main() -> None:
    """Print times, memory and their ratios."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.csv" for name in ("plain", "written")}
        _write(paths, n)
        runs = {name: [] for name in paths}
        for _ in range(ROUNDS):
            for name, path in paths.items():
                told = subprocess.run(
                    [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
                ).stdout
                runs[name].append([float(number) for number in told.split()])
        sizes = {name: path.stat().st_size / 1e6 for name, path in paths.items()}
    print(f"{n:,} rows x 20 columns, median of {ROUNDS} runs")
    heads = {"": 10, "file MB": 9, "read s": 9, "recognise s": 13, "convert s": 11, "all s": 8, "CPU s": 8}
    heads |= {"peak MB": 9, "texts": 7}
    print("".join(f"{head:>{width}}" for head, width in heads.items()))
    totals = {}
    for name, numbers in runs.items():
        read, found, done, used, memory, texts = np.median(numbers, axis=0)
        totals[name] = read + found + done, used, memory
        print(
            f"{name:10}{sizes[name]:9.0f}{read:9.2f}{found:13.2f}{done:11.2f}{totals[name][0]:8.2f}"
            f"{used:8.2f}"
            f"{memory:9.0f}{texts:7.0f}"
        )
    time, used, memory = (totals["written"][i] / totals["plain"][i] for i in range(3))
    print(f"ratio written / plain: time {time:.2f}, CPU time {used:.2f}, peak memory {memory:.2f}")


def _write(paths: dict[str, Path], n: int) -> None:
    rng = np.random.default_rng(0)
    block = 100_000
    for path in paths.values():
        path.write_text(",".join(f"c{i}" for i in range(20)) + "\n", encoding="utf-8")
    for start in range(0, n, block):
        m = min(block, n - start)
        shares, prices = rng.uniform(0.0, 99.0, (m, 6)), rng.lognormal(7.0, 1.0, (m, 4))
        days = np.datetime64("2015-01-01") + rng.integers(0, 4000, (m, 4))
        others = rng.normal(50.0, 10.0, (m, 6))
        with (
            paths["plain"].open("a", encoding="utf-8") as plain,
            paths["written"].open("a", encoding="utf-8") as written,
        ):
            for i in range(m):
                rest = [f"{x:.3f}" for x in others[i]]
                dates = [str(day) for day in days[i]]
                plain.write(
                    ",".join(
                        [*(f"{x:.1f}" for x in shares[i]), *(f"{x:.2f}" for x in prices[i]), *dates, *rest]
                    )
                )
                plain.write("\n")
                cells = [*(f"{x:.1f}%" for x in shares[i]), *(f'"${x:,.2f}"' for x in prices[i])]
                cells += [f"{d[8:]}.{d[5:7]}.{d[:4]}" for d in dates]
                written.write(",".join([*cells, *rest]))
                written.write("\n")


if __name__ == "__main__":
    main()
