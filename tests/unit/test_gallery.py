"""The gallery: every example tells a story, and runs silently with a picture and a sentence."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
sys.path.insert(0, str(GALLERY))
import gallery_data  # noqa: E402

EXAMPLES = gallery_data.examples()
NAMES = [f"{example.parent.name}/{example.stem}" for example in EXAMPLES]
FOLDERS = sorted({example.parent for example in EXAMPLES})
# Runs an example as a script does, without windows, and tells how many figures it left.
RUN = """
import runpy, sys
import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot
pyplot.show = lambda: None
runpy.run_path(sys.argv[1], run_name="__main__")
print("figures:", len(pyplot.get_fignums()))
"""


# shap loads its plots by a name of matplotlib that will be replaced one day.
SHAP_LOADS = "ignore::PendingDeprecationWarning:shap.plots.colors._colors"


def run(example, **settings):
    paths = [str(GALLERY), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": os.pathsep.join(paths), **settings}
    command = [sys.executable, "-W", "error", "-W", SHAP_LOADS, "-c", RUN, str(example)]
    # Announcements of compiled code go to standard error once on a machine: they are no part of the story.
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def case(example, name):
    """The example, marked if it needs data beyond those of packages."""
    marks = [pytest.mark.data] if gallery_data.data_sets(example) else []
    return pytest.param(example, id=name, marks=marks)


CASES = [case(example, name) for example, name in zip(EXAMPLES, NAMES, strict=True)]


def test_there_are_enough():
    assert len(EXAMPLES) >= 20
    assert {folder.name for folder in FOLDERS} == {"images", "messages", "models", "series", "tables"}
    assert len(set(NAMES)) == len({example.stem for example in EXAMPLES})  # pages are named by them


@pytest.mark.parametrize("folder", [GALLERY, *FOLDERS], ids=lambda folder: folder.name)
def test_each_folder_has_a_title_and_a_sentence(folder):
    title, line, empty, *words = (folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
    assert title
    assert line in ("=" * len(title), "-" * len(title))
    assert not empty
    assert " ".join(words).endswith(".")


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_each_example_is_a_story(example):
    source = example.read_text(encoding="utf-8")
    title, line, empty, *story = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    assert line == "=" * len(title), "the line below the title must be as long as it"
    assert not empty
    assert len(" ".join(story).split()) >= 25, "the story begins in the docstring"
    headings = re.findall(r"^# (\S.*)\n# (-+)$", source, flags=re.MULTILINE)
    assert len(headings) >= 2
    assert all(len(heading) == len(line) for heading, line in headings)
    assert "**What to do next:**" in source
    assert source.rstrip().endswith("plt.show()")


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_data_sets_have_an_address(example):
    assert set(gallery_data.data_sets(example)) <= set(gallery_data.ORIGINALS)


def test_every_address_is_of_a_data_set_that_is_used():
    used = {name for example in EXAMPLES for name in gallery_data.data_sets(example)}
    assert used == set(gallery_data.ORIGINALS)


def test_without_data_an_example_says_where_to_get_them(tmp_path):
    example = GALLERY / "tables" / "plot_context.py"
    done = run(example, WHYODD_DATA=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("This example needs nab/nyc_taxi.csv.gz")
    assert "github.com/numenta/NAB" in done.stdout
    assert "figures:" not in done.stdout


def test_examples_without_their_data_are_shown_but_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("WHYODD_DATA", str(tmp_path))
    pattern = gallery_data.filename_pattern()
    assert re.search(pattern, str(GALLERY / "tables" / "plot_wine.py"))
    assert not re.search(pattern, str(GALLERY / "tables" / "plot_context.py"))


@pytest.mark.full
@pytest.mark.parametrize("example", CASES)
def test_runs_with_a_picture_and_a_sentence(example, request):
    if request.node.get_closest_marker("data"):
        request.getfixturevalue("data_dir")
    done = run(example)
    assert done.returncode == 0, done.stderr
    *told, figures = done.stdout.splitlines()
    assert int(figures.removeprefix("figures: ")) >= 1
    assert any(len(line.split()) >= 4 for line in told)
    assert "Warning" not in done.stderr
