"""Timing by turns in one run: every contender gets the same noise, the best of several turns counts."""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


# Short contenders take more turns than asked for, until all turns together take this many seconds.
_LEAST_SECONDS, _MOST_TURNS = 2.0, 30
# Threads of BLAS wait for more work for some 30 ms on a core that whoever comes next could use.
_QUIET = 0.05
# Short contenders run again and again in each turn for this long: first runs after a pause find cold caches.
_TURN = 0.02


def best_of_turns(contenders: Mapping[str, Callable[[], object]], turns: int = 7) -> dict[str, float]:
    """Seconds of each contender: each is called once to warm up, then all take turns."""
    for run in contenders.values():
        run()
    seconds = dict.fromkeys(contenders, float("inf"))
    began = time.perf_counter()
    for turn in range(max(turns, _MOST_TURNS)):
        if turn >= turns and time.perf_counter() - began > _LEAST_SECONDS:
            break
        for name, run in contenders.items():
            time.sleep(_QUIET)
            start = time.perf_counter()
            end = start + _TURN
            while start < end:
                run()
                now = time.perf_counter()
                seconds[name] = min(seconds[name], now - start)
                start = now
    return seconds


# Names the file to which every printed table is added, as a line of JSON: how ledger.py reads benchmarks.
LEDGER = "WHYODD_LEDGER"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, wide enough for all its columns even where the output is a file."""
    if LEDGER in os.environ:
        with Path(os.environ[LEDGER]).open("a") as file:
            table_of_text = {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]}
            file.write(json.dumps(table_of_text) + "\n")
    console = Console(width=None if os.isatty(1) else 160)
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name == columns[0] else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()


def machine() -> str:
    """What it was measured on."""
    names = _processor("model name")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.processor()}, {cores} cores"


def clock_rate() -> float | None:
    """Cycles per second of a core as the system names them, if it does."""
    rates = _processor("cpu MHz")
    return 1e6 * float(rates[0]) if rates else None


def _processor(field: str) -> list[str]:
    """What Linux says of every core."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(field)]
