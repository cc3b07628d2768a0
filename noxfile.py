"""The release matrix: nox --list shows the sessions, nox -s build-3.13 runs one of them."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]

# What shows within minutes whether an installed package works: kernels, network, models, pipelines, commands.
QUICK = [
    "tests/unit/kernels",
    "tests/unit/maths",
    "tests/unit/adapters/tracing/test_errors.py",
    "tests/unit/adapters/tracing/test_composition.py",
    "tests/unit/network/test_distance_network.py",
    "tests/unit/models/test_gaussian.py",
    "tests/unit/cli/test_demo.py",
    "tests/unit/cli/test_explain.py",
    "tests/unit/cli/test_fit.py",
    "tests/unit/test_release.py",
]
EXTRAS = "files,report,pandas,saving,plots"
# pytest and what the quick tests import. The test extra holds gigabytes more, and packages to compile.
TESTERS = [
    "hypothesis>=6.120",
    "mpmath>=1.3",
    "openpyxl>=3.1",
    "orjson>=3.10",
    "pyarrow>=18",
    "pytest>=8.3",
    "pytest-rerunfailures>=15.0",
    "pytest-xdist>=3.6",
]

# A matrix with a hole is not a matrix: an interpreter that is not there is an error.
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["tests", "types", "build"]


def _build(session: nox.Session, where: Path) -> tuple[Path, Path]:
    """Wheel and sdist, as ``python -m build`` makes them."""
    session.install("build")
    shutil.rmtree(where, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(where), silent=True)
    return next(where.glob("*.whl")), next(where.glob("*.tar.gz"))


def _quick_tests(session: nox.Session, package: Path, sdist: Path, constraints: list[str]) -> None:
    """Install ``package`` alone, and run the quick tests of the sdist where nothing else can be imported."""
    elsewhere = Path(session.create_tmp()).resolve() / f"{package.stem}-tests"
    shutil.rmtree(elsewhere, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(elsewhere, filter="data")
    unpacked = next(elsewhere.iterdir())
    shutil.rmtree(unpacked / "src")

    session.run("pip", "uninstall", "--yes", "--quiet", "whyodd")
    session.install(*constraints, f"{package}[{EXTRAS}]", *TESTERS)
    os.environ.pop("PYTHONPATH", None)
    with session.chdir(unpacked):
        session.run("whyodd", "--version")
        session.run("whyodd", "demo", "--top", "1")
        session.run("pytest", "-q", "-n", "0", *QUICK)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All that ``pytest`` runs, from this checkout."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)


@nox.session(python=OLDEST)
def oldest(session: nox.Session) -> None:
    """The contracts of all models with the oldest versions of the dependencies."""
    session.install("-c", "tests/oldest.txt", ".[test]")
    session.run("pytest", *(session.posargs or ["tests/contracts"]))


@nox.session(python=NEWEST)
def newest(session: nox.Session) -> None:
    """The contracts of all models with the newest versions, those before their release among them."""
    session.install("--upgrade", "--pre", "--only-binary", ":all:", "numpy", "scipy", "scikit-learn", "numba")
    session.install(".[test]")
    session.run("pytest", *(session.posargs or ["tests/contracts"]))


@nox.session(python=PYTHONS)
def build(session: nox.Session) -> None:
    """Wheel and sdist, each installed alone, pass the quick tests with the latest dependencies."""
    wheel, sdist = _build(session, Path(session.create_tmp()).resolve() / "dist")
    for package in (wheel, sdist):
        _quick_tests(session, package, sdist, [])


@nox.session(python=OLDEST)
def build_oldest(session: nox.Session) -> None:
    """The same with the oldest dependencies, which are older than the newer Pythons."""
    wheel, sdist = _build(session, Path(session.create_tmp()).resolve() / "dist")
    for package in (wheel, sdist):
        _quick_tests(session, package, sdist, ["-c", "tests/oldest.txt", "-c", "tests/oldest-extras.txt"])


@nox.session(python=OLDEST)
def types(session: nox.Session) -> None:
    """The package under mypy, and a program that uses it under mypy and pyright."""
    session.install(".[test]", "pyright[nodejs]")
    session.run("mypy")
    session.run("mypy", "--strict", "tests/typing/consumer.py")
    session.run("pyright", "--project", "tests/typing")


@nox.session(python=OLDEST)
def docs(session: nox.Session) -> None:
    """The examples of the README and of the guides."""
    session.install(".[test]")
    session.run("pytest", "README.md", *sorted(map(str, Path("docs").glob("*.md"))))
