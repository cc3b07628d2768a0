"""What a command needs beyond the base install is told at once."""

import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whyodd.cli.app import app
from whyodd.cli.extras import EXTRAS, check_installed

NUMBERS = "a\n" + "".join(f"{i % 5}\n" for i in range(60))


@pytest.mark.parametrize(
    ("command", "missing", "extras"),
    [
        ("series", ["polars"], "files"),
        ("series", ["polars", "matplotlib"], "files,plots"),
        ("text", ["regex", "snowballstemmer"], "text"),
        ("text", ["polars", "snowballstemmer"], "files,text"),
    ],
)
def test_all_that_is_missing_is_told_in_one_sentence(tmp_path, monkeypatch, command, missing, extras):
    (tmp_path / "a.csv").write_text(NUMBERS)
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    done = CliRunner().invoke(app, [command, str(tmp_path / "a.csv")])
    assert done.exit_code == 1
    assert " ".join(done.stderr.split()) == (
        f"Error: This command needs {' and '.join(missing)} to be installed. "
        f"Run: pip install 'whyodd[{extras}]'"
    )


def test_nothing_is_said_if_all_is_there():
    check_installed(*EXTRAS)


def test_the_extras_exist_and_bring_the_packages():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    names = {"PIL": "pillow", "python_multipart": "python-multipart"}
    for package, extra in EXTRAS.items():
        brought = project["optional-dependencies"][extra]
        assert any(line.startswith(names.get(package, package)) for line in brought)
