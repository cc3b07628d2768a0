"""The run of an experiment: steps that are kept, resumed and refused, and what is written."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from whyodd.experiments.data import Source
from whyodd.experiments.page import OpenPoint, Outcome, Statement, Table
from whyodd.experiments.run import Experiment, Run, carry_out, plain, versions

TOY = """
import os, time
import numpy as np
from whyodd.experiments.page import Outcome, Statement
from whyodd.experiments.run import Experiment

def load(source):
    return None

def second(run):
    print("in the second step", flush=True)
    time.sleep(float(os.environ.get("WAIT", 0)))
    return {"b": run.random("b").standard_normal(3), "text": "naïve"}

def perform(run, data):
    one = run.step("one", lambda: {"a": run.random("a").standard_normal((2, 2)), "n": run["n"]})
    two = run.step("two", lambda: second(run))
    return Outcome({**one, **two, "missing": float("nan")}, [Statement("p", "m", "holds")])

TOY = Experiment("Toy", {"default": {"n": 3, "q": (1.0, 2.0)}, "quick": {"n": 1}}, load, perform)
"""


@pytest.fixture
def toy():
    names = {}
    exec(textwrap.dedent(TOY), names)  # the same code as in the process that is interrupted
    return names["TOY"]


@pytest.fixture
def run(tmp_path):
    (tmp_path / ".steps").mkdir()
    return Run("toy", tmp_path)


def run_toy(toy, folder, **keywords):
    said = []
    carry_out("toy", toy, folder, Source(), say=said.append, **keywords)
    return (folder / "toy.json").read_bytes(), said


def test_json_holds_all_that_results_depend_on(toy, tmp_path):
    content = json.loads(run_toy(toy, tmp_path, seed=7, size="quick")[0])
    assert content["experiment"] == "toy"
    assert content["seed"] == 7
    assert content["size"] == "quick"
    assert content["parameters"] == {"n": 1, "q": [1.0, 2.0]}
    assert content["data"] == {}
    assert content["versions"] == versions()
    assert {"whyodd", "python", "numpy", "scipy", "scikit-learn", "numba"} == set(content["versions"])
    assert content["results"]["n"] == 1
    assert content["results"]["text"] == "naïve"
    assert content["results"]["missing"] is None
    assert set(json.loads((tmp_path / "seconds.json").read_text())) == {"one", "two"}


def test_same_seed_gives_the_same_bytes_and_another_does_not(toy, tmp_path):
    first = run_toy(toy, tmp_path / "a")[0]
    assert run_toy(toy, tmp_path / "b")[0] == first
    assert run_toy(toy, tmp_path / "c", seed=1)[0] != first


@pytest.mark.race
def test_interrupted_process_is_resumed_with_the_same_bytes(toy, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        TOY + "from pathlib import Path\nfrom whyodd.experiments.data import Source\n"
        "from whyodd.experiments.run import carry_out\n"
        f"carry_out('toy', TOY, Path({str(tmp_path / 'cut')!r}), Source())\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "WAIT": "60", "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert "second" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=30)[1]
    assert [file.name for file in (tmp_path / "cut" / ".steps").iterdir()] == ["one.npz"]
    before = (tmp_path / "cut" / ".steps" / "one.npz").stat().st_mtime_ns
    resumed, said = run_toy(toy, tmp_path / "cut")
    assert (tmp_path / "cut" / ".steps" / "one.npz").stat().st_mtime_ns == before
    assert len(said) == 1
    assert "one" in said[0]
    assert "--fresh" in said[0]
    assert resumed == run_toy(toy, tmp_path / "whole")[0]


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"size": "quick"}, {"parameters": {"n": 4}}, {"fresh": True}]
)
def test_steps_of_another_run_are_computed_anew(toy, tmp_path, change):
    run_toy(toy, tmp_path)
    before = (tmp_path / ".steps" / "one.npz").stat().st_mtime_ns
    said = run_toy(toy, tmp_path, **change)[1]
    assert (tmp_path / ".steps" / "one.npz").stat().st_mtime_ns != before
    assert not any("Resumed" in line for line in said)


def test_fingerprint_changes_with_each_part(tmp_path):
    def fingerprint(**change):
        given = {"experiment": "toy", "folder": tmp_path, "parameters": {"n": 1}, "checksums": {"a": "1"}}
        return Run(**{**given, **change}).fingerprint

    changes = [
        {},
        {"experiment": "other"},
        {"seed": 1},
        {"size": "full"},
        {"parameters": {"n": 2}},
        {"parameters": {"n": 1, "k": 1}},
        {"checksums": {"a": "2"}},
        {"checksums": {"b": "1"}},
    ]
    assert len({fingerprint(**change) for change in changes}) == len(changes)
    assert fingerprint(folder=tmp_path / "elsewhere") == fingerprint()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"\x80\x04pickle"])
def test_broken_step_is_computed_anew(toy, tmp_path, content):
    first = run_toy(toy, tmp_path)[0]
    (tmp_path / ".steps" / "two.npz").write_bytes(content)
    again, said = run_toy(toy, tmp_path)
    assert again == first
    assert any("one" in line for line in said)
    assert any("computed again" in line for line in said)


def test_step_gives_the_same_kinds_whether_computed_or_read(run):
    given = {"array": np.arange(3), "number": np.float64(0.1), "text": "x", "words": ["a", "bc"], "yes": True}
    computed, read = (Run("toy", run.folder).step("one", lambda: given) for _ in range(2))
    for found in (computed, read):
        assert found["number"] == 0.1
        assert type(found["number"]) is float
        assert found["text"] == "x"
        assert found["yes"] is True
        assert found["words"].tolist() == ["a", "bc"]
        np.testing.assert_array_equal(found["array"], np.arange(3))


def test_steps_are_refused_that_cannot_be_kept(run):
    with pytest.raises(TypeError, match="expected arrays, numbers or strings"):
        run.step("one", lambda: {"a": {1, 2}})
    with pytest.raises(ValueError, match="of its own"):
        run.step("../escape", dict)
    run.step("two", dict)
    with pytest.raises(ValueError, match="of its own"):
        run.step("two", dict)


def test_failed_step_leaves_nothing(run):
    with pytest.raises(ZeroDivisionError):
        run.step("one", lambda: {"a": 1 / 0})
    assert list(run.steps.iterdir()) == []


def test_unknown_parameter_and_file_in_the_way(toy, tmp_path):
    with pytest.raises(ValueError, match=r"no such parameter: m\. There are: n, q"):
        run_toy(toy, tmp_path, parameters={"m": 1})
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileExistsError, match="is a file"):
        run_toy(toy, tmp_path / "file")
    with pytest.raises(OSError, match="cannot make the folder"):
        run_toy(toy, tmp_path / "file" / "below")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="every folder here can be written to")
def test_folder_that_cannot_be_written_to(toy):
    with pytest.raises(OSError, match="cannot make the folder"):
        run_toy(toy, Path("/proc/out"))


def test_plain_is_valid_json():
    value = {"a": np.array([1.0, np.inf]), 2: (np.int64(1), None), "b": np.bool_(True), "c": [float("nan")]}
    assert (
        json.dumps(plain(value), allow_nan=False)
        == '{"a": [1.0, null], "2": [1, null], "b": true, "c": [null]}'
    )


def test_figures_have_the_same_bytes(run, tmp_path):
    from whyodd.plots.figures import blank_figure

    def drawn(name):
        figure = blank_figure((2.0, 2.0))
        figure.subplots().plot([1, 2], [3, 1])
        run.draw(name, figure, "A line.")
        return [(tmp_path / f"{name}.{ending}").read_bytes() for ending in ("png", "pdf")]

    assert drawn("a") == drawn("b")
    assert b"CreationDate" not in drawn("a")[1]


def test_page_has_statements_pictures_choices_and_origin(tmp_path):
    def perform(run, _):
        from whyodd.plots.figures import blank_figure

        picture = run.draw("line", blank_figure((1.0, 1.0)), "A line.")
        return Outcome(
            {},
            [Statement("it | falls", "it\nrises", "does not hold")],
            [OpenPoint("the slope", "0.5")],
            [picture],
            [Table("Numbers", ("a", "b"), [("1", "2")])],
            ["Beware."],
        )

    toy = Experiment(
        "Toy", {"default": {"n": (1, 2)}}, lambda source: source.checksums.update(f="00"), perform
    )
    run_toy(toy, tmp_path, size="full")
    page = (tmp_path / "toy.md").read_text(encoding="utf-8")
    for line in (
        "# Toy",
        "Beware.",
        r"| it \| falls | it rises | **does not hold** |",
        "![A line.](line.png)",
        "| the slope | 0.5 |",
        "| 1 | 2 |",
        "| `n` | 1, 2 |",
        "| `f` | `00` |",
    ):
        assert line in page.splitlines(), line
    assert "whyodd paper toy --full --seed 0" in page
    assert all((tmp_path / name).is_file() for name in ("line.png", "line.pdf"))
    assert not [
        file for file in Path(tmp_path).iterdir() if file.name.startswith(".") and file.name != ".steps"
    ]
