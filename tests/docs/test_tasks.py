"""A stranger's test: the ten tasks of docs/tasks.md succeed as written, each in a fresh folder."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import whyodd

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
TASKS = {
    int(number): (title, body)
    for number, title, body in re.findall(
        r"^## (\d+)\. (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE
    )
}
BLOCKS = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.site


@pytest.fixture
def carry_out(tmp_path):
    """Run the blocks of a task, and give what each printed; a block of text says what the last one prints."""
    folder = tmp_path / "fresh"
    folder.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "whyodd"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m whyodd "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(whyodd.__file__).parents[1]),
        "COLUMNS": "100",
    }

    def run(number):
        printed = []
        for language, code in BLOCKS.findall(TASKS[number][1]):
            if language == "text":
                assert printed[-1].strip() == code.strip()
                continue
            if language == "python":
                (tmp_path / "script.py").write_text(code, encoding="utf-8")
            command = (
                [sys.executable, str(tmp_path / "script.py")]
                if language == "python"
                else ["bash", "-ec", code]
            )
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout)
        return folder, printed[-1]

    return run


def rows_of(file):
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_there_are_ten():
    assert list(TASKS) == list(range(1, 11))
    tested = {name for name in globals() if re.fullmatch(r"test_task_\d+", name)}
    assert tested == {f"test_task_{number}" for number in TASKS}


def test_task_1(carry_out):
    _, printed = carry_out(1)
    assert printed.splitlines()[0] == "121 ash"
    assert len(printed.splitlines()) == 3


def test_task_2(carry_out):
    folder, printed = carry_out(2)
    assert "A-0041" in printed
    assert "weight" in printed
    assert "A-0041" in (folder / "odd.html").read_text(encoding="utf-8")
    oddest = max(rows_of(folder / "odd.csv"), key=lambda row: float(row["outlierness"]))
    assert "A-0041" in oddest.values()


def test_task_3(carry_out):
    folder, _ = carry_out(3)  # the page says what is printed
    assert list((folder / "reasons").glob("*.parquet"))


def test_task_4(carry_out):
    folder, _ = carry_out(4)
    after = json.loads((folder / "after.json").read_text(encoding="utf-8"))
    assert after["counts"]["odd"] >= 1  # other rows are as odd as before
    assert not {0, 1, 2, 3} & {row["row"] for row in after["anomalies"]}


def test_task_5(carry_out):
    folder, printed = carry_out(5)
    scores = [float(row["outlierness"]) for row in rows_of(folder / "scores.csv")]
    assert scores.index(max(scores)) == 123
    assert "123" in printed
    assert "amount is too high" in printed


def test_task_6(carry_out):
    folder, printed = carry_out(6)
    assert "amount rose" in printed
    assert "In rows with plan" in printed
    assert rows_of(folder / "changes.csv")
    assert (folder / "changes.html").stat().st_size > 10_000


def test_task_7(carry_out):
    folder, _ = carry_out(7)
    (alarm,) = map(json.loads, (folder / "alarms.jsonl").read_text(encoding="utf-8").splitlines())
    assert alarm["row"] == 2
    assert alarm["reasons"][0]["name"] == "heat"


def test_task_8(carry_out):
    carry_out(8)  # the page says what is printed


def test_task_9(carry_out):
    folder, printed = carry_out(9)
    assert {"0.png", "1.png"} <= {file.name for file in (folder / "heatmaps").iterdir()}
    assert "1.png" in printed
    assert (folder / "odd.html").exists()


def test_task_10(carry_out):
    carry_out(10)  # the page says what is printed
