"""What is released: one version, a changelog in the usual form, a complete wheel and a complete sdist."""

import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import whyodd

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
EXTRAS = PROJECT["project"]["optional-dependencies"]
SECTIONS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


class TestVersion:
    def test_is_written_in_one_place(self):
        assert PROJECT["project"]["dynamic"] == ["version"]
        assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/whyodd/version.py"

    def test_is_the_one_to_cite(self):
        (cited,) = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
        assert cited == whyodd.__version__

    def test_every_supported_python_is_named_and_in_the_matrix(self):
        named = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["project"]["classifiers"]), re.M)
        matrix = re.search(r"^PYTHONS = \[(.*)\]$", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.M)
        assert named == re.findall(r"3\.\d+", matrix[1])
        assert PROJECT["project"]["requires-python"] == f">={named[0]}"
        workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
        assert all(f"build-{version}" in workflow for version in named)

    def test_the_oldest_versions_are_those_of_the_dependencies(self):
        """The files in tests/ pin what pyproject.toml allows: raising one without the other is noticed."""
        told = "".join((ROOT / "tests" / name).read_text() for name in ("oldest.txt", "oldest-extras.txt"))
        pinned = re.findall(r"^([\w.-]+)==([\d.]+)\.\*$", told, re.M)
        installed = re.search(r'^EXTRAS = "(.*)"$', (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.M)
        required = [*PROJECT["project"]["dependencies"]]
        for extra in installed[1].split(","):
            required += EXTRAS[extra]
        assert {tuple(re.match(r"([\w.-]+)>=([\d.]+)", each).groups()) for each in required} <= set(pinned)

    @pytest.mark.parametrize("extra", EXTRAS)
    def test_an_extra_names_each_package_once(self, extra):
        names = [re.match(r"[\w.-]+", requirement)[0].lower() for requirement in EXTRAS[extra]]
        assert len(set(names)) == len(names)


class TestChangelog:
    def test_headings_are_those_of_keep_a_changelog(self):
        first, *released = re.findall(r"^## (.*)$", CHANGELOG, re.M)
        assert first == "[Unreleased]"
        assert released
        for heading in released:
            assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading)

    def test_versions_go_down(self):
        versions = [
            tuple(map(int, v.split("."))) for v in re.findall(r"^## \[(\d+\.\d+\.\d+)\]", CHANGELOG, re.M)
        ]
        assert versions == sorted(versions, reverse=True)
        current = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", whyodd.__version__)
        assert versions[0] <= tuple(map(int, current.groups()))

    def test_sections_are_the_six_known_ones_once_each(self):
        for version in re.split(r"^## ", CHANGELOG, flags=re.M)[1:]:
            sections = re.findall(r"^### (.*)$", version, re.M)
            assert sections
            assert set(sections) <= SECTIONS
            assert len(set(sections)) == len(sections)

    def test_every_version_is_a_link(self):
        headings = re.findall(r"^## \[(.*?)\]", CHANGELOG, re.M)
        links = re.findall(r"^\[(.*?)\]: \S+$", CHANGELOG, re.M)
        assert links == headings


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist of this checkout, made as for a release."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def package_files():
    """What of the package belongs into a wheel: code, templates and the mark that it has types."""
    folder = ROOT / "src"
    return {
        str(file.relative_to(folder).as_posix())
        for file in (folder / "whyodd").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


@pytest.mark.full
class TestBuilt:
    def test_names_have_the_version(self, built):
        wheel, sdist = built
        assert wheel.name == f"whyodd-{whyodd.__version__}-py3-none-any.whl"
        assert sdist.name == f"whyodd-{whyodd.__version__}.tar.gz"

    def test_the_wheel_holds_the_package_and_nothing_else(self, built):
        names = set(zipfile.ZipFile(built[0]).namelist())
        about = {name for name in names if ".dist-info/" in name}
        assert names - about == package_files()
        assert {Path(name).name for name in about} == {
            "METADATA",
            "WHEEL",
            "entry_points.txt",
            "LICENSE",
            "RECORD",
        }

    @pytest.mark.parametrize(
        "name",
        [
            "whyodd/py.typed",
            "whyodd/report/templates/page.html",
            "whyodd/report/templates/style.css",
            "whyodd/web/templates/web.js",
        ],
    )
    def test_the_wheel_holds_what_is_no_code(self, built, name):
        assert name in zipfile.ZipFile(built[0]).namelist()

    def test_the_sdist_holds_what_builds_and_tests_it(self, built):
        top = f"whyodd-{whyodd.__version__}/"
        with tarfile.open(built[1]) as archive:
            names = {name.removeprefix(top) for name in archive.getnames()}
        assert {f"src/{name}" for name in package_files()} <= names
        wanted = {
            "pyproject.toml",
            "README.md",
            "CHANGELOG.md",
            "LICENSE",
            "SECURITY.md",
            "CITATION.cff",
            "noxfile.py",
            "tests/conftest.py",
            "tests/oldest.txt",
            "docs/index.md",
            "Dockerfile",
            ".ci/run",
            ".github/workflows/ci.yml",
        }
        assert wanted <= names

    def test_neither_holds_what_nobody_needs(self, built):
        with tarfile.open(built[1]) as archive:
            names = [*archive.getnames(), *zipfile.ZipFile(built[0]).namelist()]
        junk = re.compile(r"__pycache__|\.py[co]$|\.nb[ic]$|\.git/|\.env$|_cache/|\.DS_Store|/shared/|\.nox")
        assert not [name for name in names if junk.search(name)]
        wheel, sdist = built
        assert wheel.stat().st_size < 3e6
        assert sdist.stat().st_size < 15e6

    def test_a_program_that_uses_it_passes_mypy(self, built, tmp_path):
        """pyright has its turn in nox -s types."""
        done = check_consumer(installed(built[0], tmp_path))
        assert done.returncode == 0, done.stdout + done.stderr

    def test_without_the_mark_there_are_no_types(self, built, tmp_path):
        """The test above would notice if py.typed were missing."""
        site = installed(built[0], tmp_path)
        (site / "whyodd" / "py.typed").unlink()
        assert "py.typed marker" in check_consumer(site).stdout


def installed(wheel, folder):
    """Site-packages of a new environment with the wheel, and what this environment has besides."""
    venv.create(folder / "venv", with_pip=False)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    others = folder / "others"
    others.mkdir()
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if "whyodd" not in package.name:  # neither this package as it is installed here, nor its types
            (others / package.name).symlink_to(package)
    (site / "others.pth").write_text(str(others))
    return site


def check_consumer(site):
    """mypy on a program that uses the installed package."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={site / 'cache'}"]
    command += ["--python-executable", str(site.parents[2] / "bin" / "python")]
    consumer = ROOT / "tests" / "typing" / "consumer.py"
    # Neither PYTHONPATH nor MYPYPATH may help.
    return subprocess.run(
        [*command, str(consumer)],
        capture_output=True,
        text=True,
        check=False,
        cwd=site.parents[3],
        env={"PATH": ""},
    )
