"""What all tests share: where the real data are, how hypothesis runs, and what the quick run leaves out."""

import importlib.util
import os
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
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


@pytest.fixture(autouse=True)
def _same_random_numbers():
    """A model without a random_state of its own draws the same numbers in every run."""
    np.random.seed(0)  # noqa: NPY002 - scikit-learn's default generator


@pytest.fixture(scope="session")
def data_dir():
    """Folder with the real data; a test that asks for it is marked ``data``, and skipped without them."""
    folder = _find_data()
    if folder is None:
        pytest.skip("no real data: set WHYODD_DATA to their folder, or put them into ../shared/data")
    return folder


@pytest.fixture(scope="module")
def compiled_only():
    """Nothing is left to NumPy because it is small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whyodd.compute.plain.MOST_DIFFERENCES", 0)
        yield


@pytest.fixture(scope="module", params=["plain", "compiled"])
def both_ways(request):
    """Small problems in NumPy, as usual, and once more in compiled code."""
    if request.param == "compiled":
        request.getfixturevalue("compiled_only")


# What a marked test needs: whether it is there, and what to call it.
_NEEDS = {
    "data": (lambda: _find_data() is not None, "the real data are"),
    "torch": (lambda: importlib.util.find_spec("torch") is not None, "torch is"),
    "spark": (lambda: importlib.util.find_spec("pyspark") is not None, "pyspark is"),
}


def pytest_runtest_setup(item):
    """A test that is marked torch or spark imports it, so it is skipped without."""
    for extra in ("torch", "spark"):
        if item.get_closest_marker(extra) and not _NEEDS[extra][0]():
            pytest.skip(f"no {extra}: pip install '.[{extra}]'")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where the real data, torch or pyspark are there, skipping a test that needs them is a failure."""
    report = yield
    needs = [_NEEDS[mark] for mark in _NEEDS if item.get_closest_marker(mark)]
    is_skipped = report.skipped and not hasattr(report, "wasxfail")
    if is_skipped and needs and all(is_there() for is_there, _ in needs):
        report.outcome = "failed"
        why = f"was skipped although {' and '.join(name for _, name in needs)} there: {call.excinfo.value}"
        report.longrepr = f"{item.nodeid} {why}"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """A test that asks for the real data without the mark would escape the check above."""
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("data"):
            raise pytest.UsageError(f"{item.nodeid} uses data_dir: mark it with @pytest.mark.data.")
        if item.get_closest_marker("race"):
            item.add_marker(pytest.mark.flaky(reruns=2))
    repeats = _mark_repeats(items)
    if config.getoption("--part"):
        left_out = _outside_part(items, repeats, int(config.getoption("--part")))
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        help="With -m 'full or repeats': this one of ten parts of the repeats, of three of the others.",
    )


def _outside_part(items, repeats, part):
    """What another part has; files stay whole, since their tests share what takes long."""
    repeated = set(repeats)
    slow = [item for item in items if item.get_closest_marker("full") and item not in repeated]
    files = sorted({item.path for item in slow})
    others = {path for place, path in enumerate(files) if (place - part) % 3}
    return {item for place, item in enumerate(repeats) if (place - part) % 10} | {
        item for item in slow if item.path in others
    }


# A test over several lists (cases x kernels x dtypes x layouts) repeats itself. With more cases than this
# the quick run takes as many as it needs to meet every value of every list; `-m repeats` has the others.
_MOST_CASES = 6


def _mark_repeats(items):
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.nodeid.partition("[")[0]].append(item)
    repeats = [
        item for name, some in cases.items() if len(some) > _MOST_CASES for item in _repeating(name, some)
    ]
    for item in repeats:
        item.add_marker("repeats")
    return repeats


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
