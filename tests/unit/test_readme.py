"""The commands of the README and of the guides do what these show, and links lead somewhere."""

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

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = {file.name: file.read_text(encoding="utf-8") for file in sorted((ROOT / "docs").glob("*.md"))}
PAGES = {"README.md": README} | {f"docs/{name}": text for name, text in GUIDES.items()}
LINKED = PAGES | {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
}


def lines_of(text):
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def calls_of(text):
    """Single commands of whyodd, without what comments on them."""
    commands = [part for line in lines_of(text) for part in re.split(r"&&|\|", line.split("  #")[0])]
    return [command for command in commands if command.split()[:1] == ["whyodd"]]


def headings_of(text):
    """Addresses of headings, as GitHub makes them."""
    without_code = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)
    }


CALLS = [call for text in PAGES.values() for call in calls_of(text)]


@pytest.mark.full
def test_the_first_table(tmp_path):
    (make,), (explain,) = (
        [line for line in lines_of(README) if line.startswith(start)]
        for start in ("python -c", "whyodd explain wine.csv")
    )
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


def test_the_readme_is_short():
    assert len(README.split()) <= 1_000


@pytest.mark.parametrize("call", sorted(set(CALLS)))
def test_commands_and_options_exist(call):
    name, *words = shlex.split(call)[1:]
    command = get_command(app).commands[name]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_all_commands_are_shown():
    listed = {shlex.split(call)[1] for call in calls_of(GUIDES["index.md"])}
    assert listed == set(get_command(app).commands)


@pytest.mark.parametrize("name", GUIDES)
def test_all_guides_are_listed(name):
    assert name == "index.md" or f"]({name})" in GUIDES["index.md"]


@pytest.mark.parametrize("page", LINKED)
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```", "", LINKED[page], flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if target.startswith("https://"):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), target
        assert not heading or heading in headings_of(file.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("name", EXPLAINERS)
def test_what_is_registered_is_listed(name):
    assert re.search(rf"[`\"]{name}\b", GUIDES["judging.md"])


@pytest.mark.parametrize("kernel", KERNELS.values())
def test_kernels_are_listed(kernel):
    assert re.search(rf"\b{kernel.__name__}\b", GUIDES["training.md"])
