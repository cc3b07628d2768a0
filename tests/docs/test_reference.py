"""The reference is complete: every public name, every command and every option."""

import importlib
import re
import types
from pathlib import Path

import pytest
from site_commands import commands_page
from typer.main import get_command

import whyodd
from whyodd.cli.app import app

ROOT = Path(__file__).parents[2]
INDEX = (ROOT / "docs" / "reference" / "index.rst").read_text(encoding="utf-8")
LISTED = re.findall(r"^   ([\w.]+)$", INDEX, re.MULTILINE)
COMMANDS = get_command(app).commands
# MLflow's convention: these three are public, other names of that module are its own.
MLFLOW = {"mlflow.save_model", "mlflow.log_model", "mlflow.load_model"}


def public_names():
    """Names of ``whyodd.__all__``; of submodules in it the names of their own ``__all__``."""
    names = set()
    for name in whyodd.__all__:
        value = getattr(whyodd, name)
        if not isinstance(value, types.ModuleType):
            names.add(name)
        elif hasattr(value, "__all__"):
            names |= {f"{name}.{inner}" for inner in value.__all__}
    return names | MLFLOW


def test_every_public_name_is_listed_once():
    # PatchModel is a name of whyodd and of whyodd.patches: the same class.
    same = {"patches.PatchModel"}
    assert sorted(LISTED) == sorted(public_names() - same)
    assert whyodd.patches.PatchModel is whyodd.PatchModel


def test_every_submodule_says_what_is_public():
    modules = {name for name in whyodd.__all__ if isinstance(getattr(whyodd, name), types.ModuleType)}
    silent = {name for name in modules if not hasattr(getattr(whyodd, name), "__all__")}
    assert silent == {"mlflow"}


@pytest.mark.parametrize("name", LISTED)
def test_every_listed_name_is_described(name):
    module, _, inner = f"whyodd.{name}".rpartition(".")
    value = getattr(importlib.import_module(module), inner)
    assert isinstance(value, dict) or value.__doc__


def section_of(name):
    return re.search(
        rf"^## whyodd {name}\n(.*?)(?=^## |\Z)", commands_page(), re.DOTALL | re.MULTILINE
    ).group(1)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_listed_with_its_help(name):
    section = section_of(name)
    terms = re.findall(r"^`([^`]+)`\n: (\S.*)$", section, re.MULTILINE)
    shown = {word.strip("[]<>.,/") for term, _ in terms for word in re.split(r"[ ,/]+", term)}
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert {*parameter.opts, *parameter.secondary_opts} <= shown
    assert len(terms) == len(COMMANDS[name].params)
    assert not [term for term, text in terms if text == "No help."]


def test_all_commands_have_a_section():
    assert re.findall(r"^## whyodd ([\w-]+)$", commands_page(), re.MULTILINE) == list(COMMANDS)
