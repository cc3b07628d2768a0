"""From a CSV to the report: the command against reading, fitting and scoring alone; memory of large tables.

Run: python benchmarks/report.py [--quick] [--page [FOLDER ...]]

Both ways run in processes of their own, with compiled code cached, by turns. "Alone" counts from after the
imports; the command counts from its start to its end, imports and all. ``--page`` measures only what it takes
to tell and draw 50 rows of 60 columns, beside another ``src`` folder, such as that of an older version.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from sidebyside import print_table

TURNS = 2
ALONE = """
import sys, time
import numpy, polars, sklearn, whyodd
from whyodd.findings.scoring import ScoredRows
from whyodd.io.tables import read_table
whyodd.explain(whyodd.KernelDensity().fit([[0.0], [1.0]]), [[2.0]])  # loads compiled code
start = time.perf_counter()
frame = read_table(sys.argv[1])
read = time.perf_counter()
pipeline = whyodd.auto(frame)
fitted = time.perf_counter()
ScoredRows.of(pipeline, frame)
print(read - start, fitted - read, time.perf_counter() - fitted)
"""
PAGE = """
import sys, time
import numpy, polars, whyodd
from whyodd.io.tables import read_table
from whyodd.report.render import render
found = whyodd.find(read_table(sys.argv[1]))
found.groups
start = time.perf_counter()
summary = found.to_dict(50, checks=False)
told = time.perf_counter()
page = render(summary)
print(told - start, time.perf_counter() - told, len(page.encode()))
"""
PEAK = """
import resource, runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_module("whyodd", run_name="__main__", alter_sys=True)
except SystemExit as end:
    print("exit", end.code, file=sys.stderr)
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
"""


def table(n: int, numbers: int, categories: int) -> pl.DataFrame:
    """Columns of numbers on three scales and of categories; one row in a hundred has a few odd values."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, numbers)) @ rng.standard_normal((numbers, numbers)) / numbers**0.5
    odd = rng.random(n) < 0.01
    X[odd, rng.integers(0, numbers, odd.sum())] += 12.0
    X *= 10.0 ** rng.integers(-1, 3, numbers)
    columns = {f"number {i}": X[:, i].round(4) for i in range(numbers)}
    kinds = {f"kind {i}": rng.choice(list("abcdefgh"), n) for i in range(categories)}
    return pl.DataFrame(columns | kinds)


def seconds_alone(path: Path) -> list[float]:
    run = subprocess.run([sys.executable, "-c", ALONE, path], check=True, capture_output=True, text=True)
    return [float(part) for part in run.stdout.split()]


def seconds_of_command(path: Path, report: Path) -> float:
    start = time.perf_counter()
    command = [sys.executable, "-m", "whyodd", "explain", path, "--report", report, "--quiet"]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def compare(path: Path, n: int, title: str) -> None:
    report = path.with_name("report.html")
    alone, command = [], []
    for _ in range(TURNS):
        alone.append(seconds_alone(path))
        command.append(seconds_of_command(path, report))
    best = min(alone, key=sum)
    rows = [
        ["read the CSV", f"{best[0]:.2f} s", ""],
        ["fit (whyodd.auto)", f"{best[1]:.2f} s", ""],
        [f"score {n:,} rows", f"{best[2]:.2f} s", ""],
        ["read, fit and score alone", f"{sum(best):.2f} s", "1"],
        ["whyodd explain --report", f"{min(command):.2f} s", f"{min(command) / sum(best):.2f}"],
    ]
    print_table(f"{title}: from start to report", ["", "seconds", "report / alone"], rows)
    print(f"The report has {report.stat().st_size / 1e6:.2f} MB.\n")


def page_of_fifty_rows(path: Path, others: list[str]) -> None:
    """What it takes to tell and draw 50 rows; ``others`` are folders with another whyodd to compare with."""
    best: dict[str, list[float]] = {}
    for _ in range(2 * TURNS):
        for name in ("this", *others):
            environment = os.environ | ({} if name == "this" else {"PYTHONPATH": name})
            command = [sys.executable, "-c", PAGE, path]
            run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            found = [float(part) for part in run.stdout.split()]
            best[name] = list(map(min, best.get(name, found), found))
    whole = {name: told + drawn for name, (told, drawn, _) in best.items()}
    rows = [
        [
            name,
            f"{told:.2f} s",
            f"{drawn:.2f} s",
            f"{size / 1e6:.2f} MB",
            f"{whole[name] / whole['this']:.2f}",
        ]
        for name, (told, drawn, size) in best.items()
    ]
    head = ["", "to_dict", "render", "page", "ratio"]
    print_table("50 odd rows of 60 columns, told and drawn", head, rows)


def peaks(path: Path, frame: pl.DataFrame) -> None:
    size = frame.estimated_size("mb")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.csv"
        frame.head(1_000).write_csv(small)
        for name, data in (("the first 1,000 rows", small), (f"all {frame.height:,}", path)):
            command = [
                sys.executable,
                "-c",
                PEAK,
                "whyodd",
                "score",
                data,
                "--out",
                Path(folder) / "o.parquet",
                "--quiet",
            ]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            rows.append([name, float(run.stderr.split("peak")[-1])])
    base = rows[0][1]
    told = [[name, f"{peak:,.0f} MB", f"{(peak - base) / size:.2f}"] for name, peak in rows]
    print_table(
        f"Memory of whyodd score: the table has {size:,.0f} MB in Polars",
        ["rows", "peak", "beyond 1,000 rows, in tables"],
        told,
    )


def main() -> None:
    quick = "--quick" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        table(3_000, 48, 12).write_csv(path)
        others = sys.argv[sys.argv.index("--page") + 1 :] if "--page" in sys.argv else []
        page_of_fifty_rows(path, others)
        if "--page" in sys.argv:
            return
        n = 20_000 if quick else 100_000
        for title, numbers, categories in ((f"{n:,} x 30 numbers", 30, 0), (f"{n:,} x 30 mixed", 24, 6)):
            table(n, numbers, categories).write_csv(path)
            compare(path, n, title)
        frame = table(100_000 if quick else 1_000_000, 16, 4)
        frame.write_csv(path)
        peaks(path, frame)


if __name__ == "__main__":
    main()
