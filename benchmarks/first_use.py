"""Where the time of a command goes on a machine that never ran it: a new environment, empty caches.

    python benchmarks/first_use.py                      # makes an environment; needs pip's index
    python benchmarks/first_use.py --python venv/bin/python   # one that has whyodd[files,report] from a wheel

Each command runs in a folder of its own with no cache of numba, then again. *imports* is the time inside
outermost import statements, *compiling* what numba takes to compile and to load what it has compiled, *work*
the rest inside the program, *Python* what comes before and after it; *processor* is without that clock.
The goal is 4 s the first time and 1.5 s later.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {"--help": ["--help"], "demo": ["demo"], "explain wine.csv": ["explain", "wine.csv"]}
# Runs a command with a clock in __import__ and one in numba's events, and prints both at the end.
CLOCK = """
import atexit, builtins, json, sys, threading, time
started, spent, depth = time.perf_counter(), {"imports": 0.0, "compiling": 0.0}, 0
plain_import = builtins.__import__

def listen():
    from numba.core import event
    class Clock(event.Listener):
        depth = 0
        def on_start(self, _):
            self.depth += 1
            self.since = self.since if self.depth > 1 else time.perf_counter()
        def on_end(self, _):
            self.depth -= 1
            if self.depth == 0:
                spent["compiling"] += time.perf_counter() - self.since
    clock = Clock()
    event.register("numba:compile", clock)

def timed(*arguments, **keywords):
    global depth
    if depth or threading.current_thread() is not threading.main_thread():
        return plain_import(*arguments, **keywords)
    depth, since, had_numba = 1, time.perf_counter(), "numba" in sys.modules
    try:
        return plain_import(*arguments, **keywords)
    finally:
        spent["imports"] += time.perf_counter() - since
        if "numba" in sys.modules and not had_numba:
            listen()
        depth = 0

def report():
    total = time.perf_counter() - started
    print("CLOCK", json.dumps({**spent, "inside": total}), file=sys.stderr)

builtins.__import__ = timed
atexit.register(report)
from whyodd.cli.app import main
main()
"""
WINE = """
import csv, sys
from sklearn.datasets import load_wine
wine = load_wine()
with open(sys.argv[1], "w", newline="") as file:
    csv.writer(file).writerows([wine.feature_names, *wine.data.tolist()])
"""


def make_environment(folder: Path) -> Path:
    """Install this checkout from a wheel into a new environment; returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    source = Path(__file__).parents[1]
    subprocess.run([python, "-m", "pip", "install", "-q", f"{source}[files,report]"], check=True)
    return python


def run(command: list[str | Path], folder: Path) -> tuple[float, float, str]:
    """Seconds, seconds of the processor, and what was said on standard error."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA"))}
    env |= {"NUMBA_CACHE_DIR": str(folder / "cache"), "HOME": str(folder)}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, processor, done.stderr


def measure(python: Path, arguments: list[str], repeats: int) -> list[tuple[float, ...]]:
    """The first run and the fastest of later ones, each with and without the clock."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        plain, clocked = Path(one), Path(other)
        for folder in (plain, clocked):
            subprocess.run([python, "-c", WINE, folder / "wine.csv"], check=True)
        rows = []
        for times in (1, repeats):
            total, processor, _ = min(
                run([python.with_name("whyodd"), *arguments], plain) for _ in range(times)
            )
            said = min(
                (run([python, "-c", CLOCK, *arguments], clocked) for _ in range(times)), key=lambda r: r[0]
            )
            clock = json.loads(said[2].rpartition("CLOCK ")[2])
            work = clock["inside"] - clock["imports"] - clock["compiling"]
            parts = clock["imports"], clock["compiling"], work, said[0] - clock["inside"]
            rows.append((total, processor, *parts))
        return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, help="Python of an environment that has whyodd installed.")
    parser.add_argument("--repeats", type=int, default=3, help="Later runs, of which the fastest counts.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = options.python.absolute() if options.python else make_environment(Path(folder) / "venv")
        columns = ("total", "processor", "imports", "compiling", "work", "Python")
        print(f"{'seconds':18} {'run':6}" + "".join(f"{name:>11}" for name in columns))
        for name, arguments in COMMANDS.items():
            rows = measure(python, arguments, options.repeats)
            for which, row in zip(("first", "later"), rows, strict=True):
                print(f"{name:18} {which:6}" + "".join(f"{seconds:11.2f}" for seconds in row), flush=True)


if __name__ == "__main__":
    main()
