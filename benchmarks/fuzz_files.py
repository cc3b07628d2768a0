"""Damaged files of every kind: each must give an answer or one sentence, never a crash, a hang or all memory.

Real small files (``tests/files/tables``) are damaged at random: bits flipped, parts cut off, put in, repeated
or swapped. What is packed is also damaged within and packed again, since checksums would hide it. Files are
read in a child process with limits of memory and time; files that fail are kept in ``--keep``.

    python benchmarks/fuzz_files.py --count 20000
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import resource
import select
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path

TABLES = Path(__file__).parents[1] / "tests" / "files" / "tables"
# Kind -> the files it begins with.
SEEDS = {
    "csv": (
        "excel-utf8.csv",
        "bank-statement.csv",
        "instrument.dat",
        "jira.csv",
        "sap-list.txt",
        "salesforce.csv",
    ),
    "utf-16": ("excel-unicode.txt",),
    "json": ("array.json",),
    "lines": ("mongoexport.json",),
    "gzip": ("packed.csv.gz",),
    "zstd": ("packed.jsonl.zst",),
    "parquet": ("spark.parquet",),
    "arrow": ("pandas.feather", "stream.arrow"),
    "xlsx": ("workbook.xlsx", "two-sheets.xlsx"),
    "xls": ("excel-97.xls",),
    "ods": ("libreoffice.ods",),
    "sqlite": ("browser.sqlite",),
    "duckdb": ("orders.duckdb",),
    "npy": ("array.npy",),
    "npz": ("array.npz",),
}
# What a child may use: bytes of memory beyond what it has when it begins, and seconds for a file.
MEMORY, SECONDS = 3 << 30, 20
ANSWER, SENTENCE, CRASH, HANG = "answer", "sentence", "crash", "hang"
# A sentence before which a reader in Rust prints what it stumbled over.
PANIC = "panic"


# ---- damage -----------------------------------------------------------------------------------------------


def seed_file(name):
    """Content of a file to begin with."""
    if not name.endswith((".npy", ".npz")):
        return (TABLES / name).read_bytes()
    import numpy as np

    buffer, array = io.BytesIO(), np.arange(60.0).reshape(20, 3)
    np.save(buffer, array) if name.endswith("y") else np.savez(buffer, array)
    return buffer.getvalue()


def damaged(content, rng):
    """A file with one to four damages."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        rng.choice(DAMAGES)(content, rng)
    return bytes(content)


def flip_bits(content, rng):
    for _ in range(rng.choice((1, 1, 4, 20))):
        if content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def set_bytes(content, rng):
    for _ in range(rng.choice((1, 4))):
        if content:
            content[rng.randrange(len(content))] = rng.choice(
                (0, 255, 127, 128, 10, 34, 44, rng.randrange(256))
            )


def cut_off(content, rng):
    del content[rng.randrange(len(content) + 1) :]


def cut_out(content, rng):
    start = rng.randrange(len(content) + 1)
    del content[start : start + rng.choice((1, 8, 100, 1000))]


def put_in(content, rng):
    place = rng.randrange(len(content) + 1)
    content[place:place] = rng.randbytes(rng.choice((1, 8, 100)))


def repeat(content, rng):
    start = rng.randrange(len(content) + 1)
    part = content[start : start + rng.choice((4, 50, 500))]
    content[start:start] = part * rng.choice((1, 2, 30))


def swap(content, rng):
    size = rng.choice((1, 4, 64))
    if len(content) > 2 * size:
        a, b = (rng.randrange(len(content) - size) for _ in range(2))
        content[a : a + size], content[b : b + size] = content[b : b + size], content[a : a + size]


def put_number(content, rng):
    """A size or a place that is far too large, or negative."""
    if len(content) > 8:
        number = rng.choice((2**31 - 1, 2**31, 2**32 - 1, 2**16, 2**24, 0))
        place = rng.randrange(len(content) - 4)
        content[place : place + 4] = number.to_bytes(4, rng.choice(("little", "big")))


DAMAGES = (flip_bits, set_bytes, cut_off, cut_out, put_in, repeat, swap, put_number)


def damaged_within(content, kind, rng):
    """What is packed, damaged and packed again."""
    if kind == "gzip":
        return gzip.compress(damaged(gzip.decompress(content), rng), mtime=0)
    if kind == "zstd":
        from backports import zstd

        return zstd.compress(damaged(zstd.decompress(content), rng))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    # Sheets are what is read.
    names = [name for name in members if "sheet" in name or name == "content.xml"] or list(members)
    chosen = rng.choice(names if rng.random() < 0.7 else list(members))
    members[chosen] = damaged(members[chosen], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return buffer.getvalue()


PACKED = ("gzip", "zstd", "xlsx", "ods", "npz")


def damaged_file(kind, number):
    """Name and content of one file; the same number gives the same."""
    rng = random.Random(f"{kind} {number}")
    name = rng.choice(SEEDS[kind])
    content = seed_file(name)
    if kind in PACKED and rng.random() < 0.6:
        return name, damaged_within(content, kind, rng)
    return name, damaged(content, rng)


# ---- the child --------------------------------------------------------------------------------------------


def outcome(path):
    """What reading a file gives, and in which words if it is not a table."""
    from whyodd.io.tables import read_table

    try:
        read_table(path)
    except (ValueError, OSError) as error:
        text = str(error)
        is_sentence = "\n" not in text and text.endswith(".") and len(text) < 2000
        return (SENTENCE if is_sentence else CRASH), text[:300]
    except BaseException as error:  # noqa: BLE001 - panics of readers are no Exceptions
        return CRASH, f"{type(error).__name__}: {error}"[:300]
    return ANSWER, ""


def read_some(kind, numbers, folder):
    """Read files and print a line for each, before and after."""
    import polars as pl

    pl.read_csv(b"a\n1\n")  # threads and their memory are there before the limit
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for number in numbers:
        name, content = damaged_file(kind, number)
        path = Path(folder) / name
        path.write_bytes(content)
        print(json.dumps([number]), flush=True)
        print(json.dumps([number, *outcome(path)]), flush=True)


# ---- the parent -------------------------------------------------------------------------------------------


def fuzz(kind, count, first=0):
    """Outcomes of damaged files of one kind: how many of each, and the failures."""
    counts, failures, number, last = Counter(), [], first, first + count
    while number < last:
        number = _run_child(kind, number, min(last, number + 2000), counts, failures)
    return counts, failures


def _run_child(kind, first, last, counts, failures):
    """Read files in a child until it is done or dead; returns the number of the next file."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
        command = [sys.executable, __file__, "--child", kind, str(first), str(last), folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as child:
            began, done = first, first
            while True:
                ready, _, _ = select.select([child.stdout], [], [], SECONDS)
                line = child.stdout.readline() if ready else None
                if not line:
                    break
                told = json.loads(line)
                began = told[0]
                if len(told) > 1:
                    done = began + 1
                    counts[told[1]] += 1
                    if told[1] == CRASH:
                        failures.append((began, CRASH, told[2]))
            hangs = line is None
            if hangs:
                child.kill()
            errors.seek(0)
            printed = errors.read().decode(errors="replace")
            counts[PANIC] += printed.count(" panicked at ")
            if done == last:
                return last
            why = "" if hangs else printed[-3000:][:300]
            counts[HANG if hangs else CRASH] += 1
            failures.append((began, HANG if hangs else CRASH, why))
            return began + 1


def main():
    if sys.argv[1:2] == ["--child"]:
        kind, first, last, folder = sys.argv[2:]
        read_some(kind, range(int(first), int(last)), folder)
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="files of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--kinds", default=",".join(SEEDS), help="as in csv,xlsx")
    parser.add_argument("--keep", type=Path, help="folder for files that fail")
    asked = parser.parse_args()
    print(f"{'kind':<8} {'answer':>8} {'sentence':>8} {'crash':>6} {'hang':>6} {'panic':>6} {'seconds':>8}")
    for kind in asked.kinds.split(","):
        began = time.perf_counter()
        counts, failures = fuzz(kind, asked.count, asked.first)
        cells = f"{counts[ANSWER]:>8} {counts[SENTENCE]:>8} " + " ".join(
            f"{counts[bad]:>6}" for bad in (CRASH, HANG, PANIC)
        )
        print(f"{kind:<8} {cells} {time.perf_counter() - began:>8.0f}", flush=True)
        for number, how, why in failures[:20]:
            print(f"  {number} {how}: {why!r}", flush=True)
            if asked.keep is not None:
                asked.keep.mkdir(exist_ok=True)
                name, content = damaged_file(kind, number)
                (asked.keep / f"{number}-{name}").write_bytes(content)


if __name__ == "__main__":
    main()
