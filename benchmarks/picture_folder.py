"""A folder of many pictures: what ``whyodd image`` needs for 10,000 of them beside 300.

Run: python benchmarks/picture_folder.py [--pictures 300 10000] [--features auto|contrast]

Small pictures of grain are made, one in a hundred with a scratch. The command learns from the folder and
judges all of it, in a process of its own, whose peak memory is told. It reads pictures one by one, so that
memory should not grow with their number.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from sidebyside import machine, print_table

SIZE, ONE_IN = 64, 100


def make_pictures(folder: Path, count: int) -> None:
    """Pictures of grain; every hundredth has a white scratch, and a name that says so."""
    folder.mkdir()
    random = np.random.default_rng(0)
    for i in range(count):
        pixels = np.clip(random.normal(128.0, 10.0, size=(SIZE, SIZE)), 0, 255).astype(np.uint8)
        is_scratched = i % ONE_IN == 0
        if is_scratched:
            top, left = random.integers(4, SIZE - 24, size=2)
            pixels[top : top + 4, left : left + 20] = 255
        Image.fromarray(pixels).save(folder / f"{'scratch' if is_scratched else 'grain'}{i:06d}.png")


def measured(count: int, features: str) -> tuple[str, ...]:
    """A line of the table: what the command took, and which pictures it called odd."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        make_pictures(root / "pictures", count)
        command = [sys.executable, "-m", "whyodd", "image", "pictures", "--out", "out", "--quiet"]
        start = time.perf_counter()
        done = subprocess.Popen([*command, "--features", features], cwd=root, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(done.pid, 0)  # the peak of this process alone
        elapsed = time.perf_counter() - start
        if status != 0:
            raise SystemExit(f"whyodd image ended with status {status} on {count} pictures.")
        with (root / "out" / "scores.csv").open(newline="") as file:
            odd = [Path(row["file"]).name for row in csv.DictReader(file) if row["is_odd"] == "True"]
    scratched = sum(name.startswith("scratch") for name in odd)
    n_scratched = -(-count // ONE_IN)
    return (
        f"{count:,}",
        f"{used.ru_maxrss / 1024:.0f} MB",
        f"{elapsed:.0f} s",
        f"{scratched} of {n_scratched}",
        f"{(len(odd) - scratched) / (count - n_scratched):.1%}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="What whyodd image needs for a folder of many pictures.")
    parser.add_argument("--pictures", type=int, nargs="+", default=[300, 10_000])
    parser.add_argument("--features", choices=("auto", "contrast"), default="auto")
    wanted = parser.parse_args()
    print(machine())
    names = ("pictures", "peak memory", "time", "scratches called odd", "grain called odd")
    print_table(f"{SIZE} × {SIZE} pixels", names, [measured(n, wanted.features) for n in wanted.pictures])


if __name__ == "__main__":
    main()
