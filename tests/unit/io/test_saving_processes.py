"""Saving as it is used: written by one process and read by another, killed half-way, on a full disk.

Run as a program this file is the other process: ``explain`` loads all files of a folder and explains,
``kill`` kills processes that save.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import whyodd

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 4))
NEW = RANDOM.normal(size=(9, 4)) * 2.0
IMAGES = RANDOM.random((3, 12, 10))
TEXTS = ["one two three", "two three five", "one three four", "four one two", "five two"] * 2


def frame(n, seed):
    """Numbers, categories, dates, and gaps in each of them."""
    random = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "amount": random.lognormal(size=n),
            "height": random.normal(size=n),
            "color": random.choice(["red", "green", "blue"], n),
            "time": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**6, n), unit="s"),
            "flag": random.random(n) > 0.5,
        }
    )
    for place, column in enumerate(["height", "color", "time"]):
        made.loc[random.choice(n, 2 + place, replace=False), column] = None
    return made


def models():
    plain = {
        "one_class_svm": whyodd.OneClassSVM(),
        "nearest_neighbors": whyodd.KNearestNeighbors(),
        "local_outlier_factor": whyodd.LocalOutlierFactor(),
        "gaussian": whyodd.Gaussian(),
        "gaussian_mixture": whyodd.GaussianMixture(2, random_state=0),
        "kernel_density": whyodd.KernelDensity(),
    }
    patches = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3, 3), random_state=0)
    return {
        **{name: model.fit(X) for name, model in plain.items()},
        "automatic": whyodd.auto(frame(120, seed=1)),
        "patches": patches.fit(IMAGES),
        "texts": whyodd.TextModel(nu=0.5, min_df=1).fit(TEXTS),
    }


ROWS = {"automatic": frame(8, seed=2), "patches": IMAGES * 0.5, "texts": ["one six", "two three"]}


def explanations(folder):
    """Explanations by what is in the folder, in the order of the names."""
    for file in sorted(folder.glob("*.whyodd")):
        loaded = whyodd.load(file)
        if hasattr(loaded, "relevance"):
            yield file.stem, loaded
        elif hasattr(loaded, "explain"):
            yield file.stem, loaded.explain(ROWS[file.stem])
        else:
            yield file.stem, whyodd.explain(loaded, ROWS.get(file.stem, NEW))


def numbers(e):
    """Numbers of an explanation by name, as the bytes that they are; other values as text."""
    parts = {"outlierness": e.outlierness}
    if isinstance(e.relevance, np.ndarray):
        parts |= {"relevance": e.relevance, "expected": e.expected, "unexplained": e.unexplained}
    else:
        parts |= {f"relevance {i}": part for i, part in enumerate(e.relevance)}
    return {name: text_of_bytes(np.asarray(part)) for name, part in parts.items()}


def text_of_bytes(values):
    return repr(values.tolist()) if values.dtype == object else values.tobytes().hex()


def write_numbers(folder):
    for name, e in explanations(folder):
        for part, content in numbers(e).items():
            (folder / f"{name} {part}.txt").write_text(content)


def other_process(*arguments, cwd, **environment):
    command = [sys.executable, __file__, *map(str, arguments)]
    source = str(Path(whyodd.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source} | environment
    ended = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.full
def test_another_process_explains_with_the_same_bytes(tmp_path):
    """Whatever its folder, its order of sets and its number of threads.

    A process that has compiled a loop itself may differ in the last bit from those that load it from disk:
    numba lets functions that it has just compiled call copies that were optimised on their own. So both are
    other processes, and compile nothing.
    """
    fitted = models()
    for name, model in fitted.items():
        whyodd.save(model, tmp_path / f"{name}.whyodd")
    mixed = whyodd.explain(fitted["automatic"], ROWS["automatic"])
    whyodd.save(mixed, tmp_path / "explanation.whyodd")
    whyodd.save(fitted["texts"].explain(ROWS["texts"]), tmp_path / "of_texts.whyodd")
    whyodd.save(fitted["patches"].explain(ROWS["patches"]), tmp_path / "of_patches.whyodd")

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    threads = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"], "1")
    told = []
    other_process("explain", tmp_path, cwd=elsewhere)  # compiles what no process has so far
    for environment in ({}, {"PYTHONHASHSEED": "7", **threads}):
        other_process("explain", tmp_path, cwd=elsewhere, **environment)
        told.append({file.stem: file.read_text() for file in tmp_path.glob("*.txt")})
    first, second = told
    assert first == second
    assert {name.split()[0] for name in first} == fitted.keys() | {"explanation", "of_texts", "of_patches"}
    assert first["explanation outlierness"] == text_of_bytes(mixed.outlierness)


# ---- killed -----------------------------------------------------------------------------------------------

# Shares of the new file that are written when the process is killed.
MOMENTS = (0.0, 0.2, 0.5, 0.8)


def large(seed):
    """An explanation of some 20 MB in several parts, so that writing it takes a while."""
    rows = np.random.default_rng(seed).normal(size=(40_000, 20))
    model = whyodd.Gaussian("diagonal").fit(rows[:100])
    return whyodd.explain(model, rows)


def kill_while_saving(folder):
    path, other = folder / "model.whyodd", folder / "other"
    explanation = large(1)
    whyodd.save(explanation, other)
    new = other.read_bytes()
    other.unlink()
    whyodd.save(large(0), path)
    old = path.read_bytes()
    for moment in MOMENTS:
        for _ in range(100):
            if killed_at(moment, explanation, path, len(new)):
                break
            assert path.read_bytes() == new  # it was faster than we
            path.write_bytes(old)
        else:
            raise AssertionError(f"never killed while {moment:.0%} of the file were written")
        assert path.read_bytes() == old
    print("left", *sorted(file.name for file in folder.iterdir()))
    whyodd.save(explanation, path)
    assert path.read_bytes() == new


def killed_at(moment, explanation, path, size):
    """Kill a process that saves once a share of the file is written; whether it was still writing."""
    process = os.fork()
    if process == 0:
        whyodd.save(explanation, path)
        os._exit(0)
    while not any(size_of(draft) > moment * size for draft in drafts_of(process, path)):
        if os.waitpid(process, os.WNOHANG)[0]:
            return False
        time.sleep(0.0001)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return bool(drafts_of(process, path))


def drafts_of(process, path):
    return list(path.parent.glob(f".{process}.*.{path.name}"))


def size_of(draft):
    """Bytes of a draft, which may just have taken its place."""
    return draft.stat().st_size if draft.exists() else -1


@pytest.mark.full
@pytest.mark.race
def test_a_killed_process_leaves_the_old_file(tmp_path):
    told = other_process("kill", tmp_path, cwd=tmp_path)
    left = told.split()[1:]
    # What was written until then stays beside it, hidden; the next save does not mind.
    assert left.count("model.whyodd") == 1
    assert len(left) == 1 + len(MOMENTS)
    assert all(name.startswith(".") and name.endswith(".model.whyodd") for name in left[:-1])


# ---- full -------------------------------------------------------------------------------------------------


@contextmanager
def files_at_most(size):
    """No file of this process may grow larger."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def disk_of(size, folder):
    """A disk of its own."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only an administrator can make a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def check_old_file_stays(path, reason):
    """Saving what is too large fails with one sentence, and everything is as it was before."""
    before = path.read_bytes()
    too_large = whyodd.KernelDensity(sigma=1.0).fit(RANDOM.normal(size=(8_000, 10)))
    with pytest.raises(OSError, match=rf"^cannot write {path}: {reason}\. Choose another place\.$"):
        whyodd.save(too_large, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    assert repr(whyodd.load(path)) == "Gaussian()"


def test_a_full_disk(tmp_path):
    with disk_of(200_000, tmp_path):
        whyodd.save(whyodd.Gaussian().fit(X), tmp_path / "model.whyodd")
        check_old_file_stays(tmp_path / "model.whyodd", "No space left on device")


def test_files_that_may_not_grow(tmp_path):
    whyodd.save(whyodd.Gaussian().fit(X), tmp_path / "model.whyodd")
    with files_at_most(200_000):
        check_old_file_stays(tmp_path / "model.whyodd", "File too large")


if __name__ == "__main__":
    task, place = sys.argv[1], Path(sys.argv[2])
    {"explain": write_numbers, "kill": kill_while_saving}[task](place)
