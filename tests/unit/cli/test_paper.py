"""The command ``whyodd paper``."""

import json

import pytest
from typer.testing import CliRunner

from whyodd.cli.app import app
from whyodd.experiments.registry import EXPERIMENTS


def run(*arguments):
    return CliRunner().invoke(app, ["paper", *map(str, arguments)], env={"COLUMNS": "200"})


def test_without_a_name_all_are_listed():
    done = run()
    assert done.exit_code == 0
    for name, summary in EXPERIMENTS.items():
        assert name in done.stdout
        assert summary in done.stdout


def test_unknown_name_lists_all_and_is_wrong_usage():
    done = run("nope")
    assert done.exit_code == 2
    for name in EXPERIMENTS:
        assert name in done.stderr
    assert "'nope': expected one of" in done.stderr


def test_help_has_an_example_and_the_names():
    done = run("--help")
    assert done.exit_code == 0
    assert "Example: whyodd paper" in done.stdout
    assert all(name in done.stdout for name in EXPERIMENTS)


@pytest.mark.full
def test_prototypes_and_again(tmp_path):
    first = run("prototypes", "--quick", "--out", tmp_path, "--seed", 3, "--quiet")
    assert first.exit_code == 0
    assert first.stderr == ""
    assert "the paper states" in first.stdout
    assert "prototypes.md" in first.stdout
    content = (tmp_path / "prototypes.json").read_bytes()
    assert json.loads(content)["seed"] == 3
    again = run("prototypes", "--quick", "--out", tmp_path, "--seed", 3)
    assert "Resumed from" in again.stderr
    assert (tmp_path / "prototypes.json").read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("prototypes", "--quick", "--full"), 2, "not both"),
        (("prototypes", "--seed", "-1"), 2, "Invalid value"),
        (("textures", "--data", "absent"), 1, "Error: absent (--data) is not a folder"),
        (("detox", "--data", "."), 1, "has no attack_annotated_comments.tsv and attack_annotations.tsv"),
        (("prototypes", "--out", "file"), 1, "Error: file is a file"),
    ],
)
def test_clear_errors(tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    done = run(*arguments)
    assert done.exit_code == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
