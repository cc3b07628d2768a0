"""``whyodd warm-up``: where compiled code goes, what it says, and that it misses nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whyodd.cli import warm_up
from whyodd.cli.app import app

COMMAND = [sys.executable, "-c", "from whyodd.cli.app import main; main()"]
# In a new process: all functions of the package that numba keeps, and that nothing was compiled of.
MISSED = """
import importlib, pkgutil
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher
import whyodd.compute
from whyodd.cli.warm_up import tasks
for _, task in tasks():
    task()
for found in pkgutil.walk_packages(whyodd.compute.__path__, "whyodd.compute."):
    for name, value in vars(importlib.import_module(found.name)).items():
        is_kept = isinstance(value, Dispatcher) and not isinstance(value._cache, NullCache)
        if is_kept and value.py_func.__module__ == found.name and not value.signatures:
            print(found.name, name)
"""


def run(*command, **env):
    env = os.environ | env
    return subprocess.run([*command, "warm-up"], capture_output=True, text=True, check=False, env=env)


def test_says_what_it_does_and_where_the_cache_is(monkeypatch, tmp_path):
    done = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "made"))
    monkeypatch.setattr(warm_up, "tasks", lambda: [("one", lambda: done.append(1)), ("two", lambda: None)])
    result = CliRunner().invoke(app, ["warm-up"])
    assert (result.exit_code, done) == (0, [1])
    assert "[1/2] one" in result.stderr
    assert str(tmp_path / "made") in result.stdout
    assert "[1/2]" not in CliRunner().invoke(app, ["warm-up", "--quiet"]).stderr


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    done = run(*COMMAND, NUMBA_CACHE_DIR=str(folder))
    assert done.returncode == 1
    assert f"NUMBA_CACHE_DIR={folder} cannot be written: Not a directory." in done.stderr
    assert "Traceback" not in done.stderr


def test_no_folder_at_all_is_told(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    code = (
        "from numba.core import caching; caching.CacheImpl._locator_classes = []; "
        "from whyodd.cli.app import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "warm-up"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Compiled code cannot be kept" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_folder_of_numba_is_named(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    named = warm_up.cache_folder()
    package = str(Path(warm_up.__file__).parents[1])
    assert named == f"__pycache__ folders below {package}" or Path(named).is_dir()


@pytest.mark.full
def test_nothing_is_left_to_compile(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MISSED],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert done.stdout == ""
