"""One benchmark of two checkouts by turns, in processes of their own: new seconds over old ones.

Run: python benchmarks/versions.py OLD_CHECKOUT explain [--rounds 3] [--quick]

Everything that the benchmark times by ``best_of_turns`` is compared, rivals included: their ratios should be
1, and tell how noisy the machine is. The best of all rounds counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from sidebyside import print_table

HERE = Path(__file__).resolve().parent.parent

# Runs a benchmark, and notes the seconds of every contender under the table they are for.
RECORDER = """
import json, runpy, sys
import sidebyside

script, output, *sys.argv[1:] = sys.argv[1:]
tables, calls = [], []
time_turns, show = sidebyside.best_of_turns, sidebyside.print_table

def best_of_turns(*arguments, **options):
    seconds = time_turns(*arguments, **options)
    calls.append(seconds)
    return seconds

def print_table(title, columns, rows):
    tables.append((title, list(calls)))
    calls.clear()
    show(title, columns, rows)

sidebyside.best_of_turns, sidebyside.print_table = best_of_turns, print_table
runpy.run_path(script, run_name="__main__")
json.dump(tables, open(output, "w"))
"""


def seconds_of(checkout: Path, benchmark: str, options: list[str]) -> dict[tuple[str, int, str], float]:
    """Seconds by table, number of the measurement in it, and contender."""
    folders = [str(checkout / "benchmarks"), str(checkout / "src")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "seconds.json"
        script = str(checkout / "benchmarks" / f"{benchmark}.py")
        command = [sys.executable, "-c", RECORDER, script, str(output), *options]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        tables = json.loads(output.read_text())
    return {
        (title, number, name): seconds
        for title, calls in tables
        for number, call in enumerate(calls, 1)
        for name, seconds in call.items()
    }


def best(rounds: list[dict[tuple[str, int, str], float]]) -> dict[tuple[str, int, str], float]:
    return {key: min(one[key] for one in rounds) for key in rounds[0]}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("benchmark")
    parser.add_argument("--rounds", type=int, default=3)
    arguments, options = parser.parse_known_args()
    old, new = [], []
    for _ in range(arguments.rounds):
        old.append(seconds_of(arguments.old.resolve(), arguments.benchmark, options))
        new.append(seconds_of(HERE, arguments.benchmark, options))
    before, after = best(old), best(new)
    for title in dict.fromkeys(key[0] for key in before):
        rows = [
            (
                str(number),
                name,
                f"{1e3 * before[table, number, name]:.1f}",
                f"{1e3 * seconds:.1f}",
                f"{seconds / before[table, number, name]:.2f}",
            )
            for (table, number, name), seconds in after.items()
            if table == title and (table, number, name) in before
        ]
        print_table(title, ("measurement", "contender", "old, ms", "new, ms", "new / old"), rows)


if __name__ == "__main__":
    main()
