"""What all tests share: where the real data are, how hypothesis runs, and what the quick run leaves out."""

import importlib.util
import os
import random
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a compiled function takes seconds. A failure prints how to reproduce it anywhere.
settings.register_profile("whyodd", deadline=None, print_blob=True)
settings.load_profile("whyodd")

_BESIDE_THE_REPOSITORY = Path(__file__).parents[2] / "shared" / "data"


def _find_data() -> Path | None:
    """Folder of WHYODD_DATA, or ../shared/data beside the repository, or None if there is neither."""
    named = os.environ.get("WHYODD_DATA")
    if named:
        folder = Path(named).expanduser().resolve()
        if not folder.is_dir():
            raise pytest.UsageError(f"WHYODD_DATA={named} is not a folder. Correct it, or unset it.")
        return folder
    return _BESIDE_THE_REPOSITORY if _BESIDE_THE_REPOSITORY.is_dir() else None


def pytest_configure():
    _find_data()  # a wrong WHYODD_DATA is told before the first test, not by the test that needs it


@pytest.fixture(scope="session")
def data_dir():
    """Folder with the real data; a test that asks for it is marked ``data``, and skipped without them."""
    folder = _find_data()
    if folder is None:
        pytest.skip("no real data: set WHYODD_DATA to their folder, or put them into ../shared/data")
    return folder


# What a marked test needs: whether it is there, and what to call it.
_NEEDS = {
    "data": (lambda: _find_data() is not None, "the real data are"),
    "torch": (lambda: importlib.util.find_spec("torch") is not None, "torch is"),
}


def pytest_runtest_setup(item):
    """A test that is marked torch imports it, so it is skipped without."""
    if item.get_closest_marker("torch") and not _NEEDS["torch"][0]():
        pytest.skip("no torch: pip install '.[torch]'")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where the real data, or torch, are there, skipping a test that needs them is a failure."""
    report = yield
    needs = [_NEEDS[mark] for mark in _NEEDS if item.get_closest_marker(mark)]
    is_skipped = report.skipped and not hasattr(report, "wasxfail")
    if is_skipped and needs and all(is_there() for is_there, _ in needs):
        report.outcome = "failed"
        why = f"was skipped although {' and '.join(name for _, name in needs)} there: {call.excinfo.value}"
        report.longrepr = f"{item.nodeid} {why}"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """A test that asks for the real data without the mark would escape the check above."""
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("data"):
            raise pytest.UsageError(f"{item.nodeid} uses data_dir: mark it with @pytest.mark.data.")
    _thin_out(items)


# A test over several lists (cases x kernels x dtypes x layouts) repeats itself. With more cases than this
# the quick run takes as many as it needs to meet every value of every list; `-m full` has the others.
_MOST_CASES = 6


def _thin_out(items):
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for name, some in cases.items():
        if len(some) > _MOST_CASES:
            for item in _repeating(name, some):
                item.add_marker("full")


def _repeating(name, items):
    """Those whose every value another one has, taken in an order that is random but always the same."""
    met = set()
    for item in random.Random(name).sample(items, len(items)):
        values = {(argument, _key(value)) for argument, value in item.callspec.params.items()}
        if values <= met:
            yield item
        met |= values


def _key(value):
    """What tells one value of a list from another."""
    return repr(value) if isinstance(value, str | int | float | type | None) else id(value)
