"""All speed benchmarks in their quick form: ratios with the machine, compared with an earlier ledger.

Run: python benchmarks/ledger.py --out ledger.json [--only explain fit] [--against earlier.json ...]

Each benchmark runs in a process of its own. The ledger keeps what was measured side by side: the columns of
their tables whose names read "this / that". Such a ratio is good when it is high if whyodd is what stands
below, and when it is low if whyodd stands above. ``--against`` names the ratios that got worse by more than a
quarter, and ends with status 1 if there are any; with ledgers of several machines a ratio is worse only if it
is beyond all of them. ``--table`` prints the range of each ratio over all ledgers, for the pages on speed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from sidebyside import LEDGER, machine, print_table

HERE = Path(__file__).parent
# What is run, with its arguments.
BENCHMARKS = {
    "explain": ("explain.py", "--quick"),
    "models": ("models.py", "--quick"),
    "patches": ("patches.py", "--quick"),
    "flipping": ("flipping.py", "--quick"),
    "fit": ("fit.py", "--quick"),
    "detectors": ("detectors.py", "--quick", "--only", "speed"),
    "report": ("report.py", "--quick"),
}
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")
# Machines are noisy: less than this is no news.
WORSE = 1.25
_OURS = re.compile(r"\b(explain|explanation|whyodd|ours)\b")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class Ratio:
    """One number of a table."""

    benchmark: str
    table: str
    row: str
    column: str
    value: float

    @property
    def name(self) -> str:
        """What it is the ratio of, whichever machine it is of."""
        return f"{self.benchmark}: {self.table}: {self.row}: {self.column}"

    @property
    def is_better_high(self) -> bool:
        """Whether whyodd is what others are divided by."""
        return bool(_OURS.search(self.column.rpartition("/")[2].lower()))

    def times_worse_than(self, others: list[float]) -> float:
        """How many times worse than the worst of some others; below 1 if it is better."""
        return min(others) / self.value if self.is_better_high else self.value / max(others)


def ratios_of(benchmark: str, table: dict[str, list[list[str]]]) -> list[Ratio]:
    """Ratios of a printed table: numbers in columns named "this / that"."""
    columns, title = [str(name) for name in table["columns"]], str(table["title"])
    title = re.sub(r"\s+", " ", title)
    found = []
    for label, *cells in table["rows"]:
        for column, cell in zip(columns[1:], cells, strict=False):
            number = _NUMBER.match(str(cell))
            if " / " in column and number is not None:
                value = float(number.group().replace(",", ""))
                found.append(Ratio(benchmark, title, str(label), column, value))
    return found


def measured(benchmark: str) -> tuple[list[Ratio], bool]:
    """Run one benchmark, read the tables that it prints, and say whether it went well."""
    script, *arguments = BENCHMARKS[benchmark]
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "tables.jsonl"
        environment = {**os.environ, LEDGER: str(lines)}
        done = subprocess.run([sys.executable, str(HERE / script), *arguments], check=False, env=environment)
        tables = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    return [ratio for table in tables for ratio in ratios_of(benchmark, table)], done.returncode == 0


def read_ledger(path: Path) -> list[Ratio]:
    """The ratios of a ledger, or one sentence on what is wrong with it."""
    try:
        return [Ratio(**one) for one in json.loads(path.read_text())["ratios"]]
    except (KeyError, TypeError, ValueError) as error:
        raise SystemExit(
            f"{path} is no ledger: expected what --out of this script wrote ({error})."
        ) from None


def got_worse(now: list[Ratio], before: list[list[Ratio]]) -> list[tuple[Ratio, float]]:
    """What is worse by more than a quarter than in all earlier ledgers, the worst first."""
    known: dict[str, list[float]] = {}
    for ratio in (one for ledger in before for one in ledger):
        known.setdefault(ratio.name, []).append(ratio.value)
    times = [(one, one.times_worse_than(known[one.name])) for one in now if one.name in known]
    return sorted(((one, factor) for one, factor in times if factor > WORSE), key=lambda pair: -pair[1])


def print_ranges(ledgers: list[list[Ratio]]) -> None:
    """The range of each ratio over all ledgers."""
    values: dict[str, list[float]] = {}
    for ratio in (one for ledger in ledgers for one in ledger):
        values.setdefault(ratio.name, []).append(ratio.value)
    rows = [
        (name, f"{min(all_):g}" if min(all_) == max(all_) else f"{min(all_):g} to {max(all_):g}")
        for name, all_ in values.items()
    ]
    print_table(f"Ratios over {len(ledgers)} ledger(s)", ("ratio", "range"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="the ledger to write")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--against", type=Path, nargs="+", default=[], help="earlier ledgers")
    parser.add_argument("--table", action="store_true", help="measure nothing: print what --against holds")
    wanted = parser.parse_args()
    before = [read_ledger(path) for path in wanted.against]
    if wanted.table:
        print_ranges(before)
        return 0
    now, failed = [], []
    for benchmark in wanted.only:
        ratios, went_well = measured(benchmark)
        now += ratios
        failed += [] if went_well else [benchmark]
    if wanted.out is not None:
        kept = {
            "machine": machine(),
            "date": datetime.now(UTC).date().isoformat(),
            "versions": {name: version(name) for name in ("whyodd", *PACKAGES)},
            "ratios": [asdict(ratio) for ratio in now],
        }
        wanted.out.write_text(json.dumps(kept, indent=1))
    print_ranges([now])
    worse = got_worse(now, before)
    for ratio, times in worse:
        print(f"{times:.2f} times worse than before: {ratio.name} is {ratio.value:g}.")
    for benchmark in failed:
        print(f"{benchmark} failed: see above. Its last ratios are missing.", file=sys.stderr)
    return 1 if worse or failed else 0


if __name__ == "__main__":
    sys.exit(main())
