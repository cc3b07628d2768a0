"""The commands of the README do what it shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import whyodd
from whyodd.cli.app import app
from whyodd.explainers.registry import EXPLAINERS
from whyodd.kernels import KERNELS

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
LINES = [
    line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line
]
# Single commands, without what comments on them.
COMMANDS = [part for line in LINES for part in re.split(r"&&|\|", line.split("  #")[0])]
CALLS = [command for command in COMMANDS if command.split()[:1] == ["whyodd"]]


def lines_of(start):
    return [line for line in LINES if line.startswith(start)]


@pytest.mark.full
def test_the_first_table(tmp_path):
    (make,), (explain,) = lines_of("python -c"), lines_of("whyodd explain wine.csv")
    shown = README.split(explain)[1].split("```text\n")[1].split("```")[0]
    # Wherever the package is found here, also relative to another folder.
    environment = os.environ | {"COLUMNS": "100", "PYTHONPATH": str(Path(whyodd.__file__).parents[1])}
    for command in (make, explain):
        words = shlex.split(command)
        program = [sys.executable] if words[0] == "python" else [sys.executable, "-m", "whyodd"]
        run = subprocess.run(
            [*program, *words[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
    assert [line.rstrip() for line in run.stdout.splitlines()] == shown.splitlines()
    assert (tmp_path / "wine.html").stat().st_size > 10_000


@pytest.mark.parametrize("call", CALLS)
def test_commands_and_options_exist(call):
    name, *words = shlex.split(call)[1:]
    command = get_command(app).commands[name]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_all_commands_are_shown():
    assert {shlex.split(call)[1] for call in CALLS} == set(get_command(app).commands)


@pytest.mark.parametrize("name", EXPLAINERS)
def test_what_is_registered_is_listed(name):
    assert re.search(rf"[`\"]{name}\b", README)


@pytest.mark.parametrize("kernel", KERNELS.values())
def test_kernels_are_listed(kernel):
    assert re.search(rf"\b{kernel.__name__}\b", README)
