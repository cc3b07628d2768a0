"""``whyodd watch`` in processes of its own: rows as they come, signals, kills, and wrong options."""

import json
import os
import random
import signal
import time

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
from made_up.command import start
from whyodd.cli.app import app
from whyodd.scale.stream import Watcher

NAMES = ["load", "wait"]
PATIENCE = 120.0  # seconds until something is wrong


def rows(n, seed=1):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    X[::10] *= 6.0
    return [dict(zip(NAMES, row, strict=True)) for row in X.round(6).tolist()]


def line(record):
    return json.dumps(record).encode() + b"\n"


@pytest.fixture(scope="module")
def models():
    frame = pl.DataFrame(rows(300, 0))
    return [model.fit(frame) for model in (whyodd.Gaussian(), whyodd.KNearestNeighbors(contamination=0.1))]


@pytest.fixture
def saved(models, tmp_path):
    path = tmp_path / "model.whyodd"
    whyodd.save(models[0], path)
    return path


def wait_for(condition):
    """Until a condition holds; what it gives."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def answers(path):
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


class Command:
    """The command in a process, reading from a pipe or a file."""

    def __init__(self, folder, *arguments, source=None):
        self.output, self.errors = folder / "output", folder / "errors"
        self.pipe = folder / "pipe" if source is None else None
        if self.pipe is not None:
            os.mkfifo(self.pipe)
        self.process = start(["watch", *arguments], self.output, self.errors, source or self.pipe)
        self._input = None if self.pipe is None else os.open(self.pipe, os.O_WRONLY)

    def send(self, data):
        os.write(self._input, data)

    def close(self):
        os.close(self._input)

    def signal(self, number):
        os.kill(self.process.pid, number)

    def ended(self):
        """Exit code, once it has ended."""
        self.process.join(PATIENCE)
        return self.process.exitcode

    def said(self, words):
        return self.errors.exists() and words in self.errors.read_text()


@pytest.mark.race
def test_rows_are_answered_as_they_come_and_signals_are_heard(tmp_path, models, saved):
    rejects, events = tmp_path / "rejects.jsonl", tmp_path / "events.jsonl"
    command = Command(
        tmp_path, "--model", saved, "--rejects", rejects, "--events", events, "--drift-every", 3
    )
    first, second, third, fourth, last = rows(5)
    # Each row is answered while the pipe is open.
    command.send(line(first))
    wait_for(lambda: len(answers(command.output)) == 1)
    command.send(line(second)[:10])
    command.send(
        line(second)[10:] + b"no row\n\n" + b"x" * 2_000_000 + b"\n" + line({**first, "load": "much"})
    )
    wait_for(lambda: len(answers(rejects)) == 3)
    assert [bad["line"] for bad in answers(rejects)] == [3, 5, 6]
    assert [bad["reason"] for bad in answers(rejects)[1:]] == [
        "the line is longer than 1,000,000 bytes",
        "'load': expected a number, got 'much'",
    ]
    # A model that is damaged is told, and the old one stays.
    content = saved.read_bytes()
    saved.write_bytes(content[: len(content) // 2])
    command.signal(signal.SIGHUP)
    wait_for(lambda: command.said("The model could not be loaded again, so the old one stays"))
    command.send(line(third))
    wait_for(lambda: len(answers(command.output)) == 3)
    told = [Watcher(models[0]).explain_one(record) for record in (first, second, third)]
    assert answers(command.output) == [{"row": row, **one} for row, one in zip((0, 1, 5), told, strict=True)]
    # Another one is used from the next row on that comes when it is loaded.
    whyodd.save(models[1], saved)
    command.signal(signal.SIGHUP)
    by_second = Watcher(models[1]).explain_one(fourth)
    sent = 3

    def is_by_second():
        nonlocal sent
        command.send(line(fourth))
        sent += 1
        return answers(command.output)[-1]["outlierness"] == by_second["outlierness"]

    wait_for(is_by_second)
    wait_for(lambda: len(answers(command.output)) == sent)
    assert command.said("The model was loaded again from")
    assert [event["event"] for event in answers(events) if event["event"] != "drift"] == ["model"]
    # The row at hand is finished, half of one is not.
    command.send(line(last) + b'{"load": 1')
    command.signal(signal.SIGTERM)
    assert command.ended() == 0
    assert len(answers(command.output)) in (sent, sent + 1)  # or it was still in the pipe
    assert command.said(" odd, 3 bad, see ")


@pytest.mark.race
def test_an_interrupt_ends_with_what_there_is(tmp_path, models, saved):
    command = Command(tmp_path, "--model", saved, "--odd-only", "--id-column", "name")
    cells = [f"{i};{record['load']};{record['wait']}" for i, record in enumerate(rows(40))]
    command.send(("name;load;wait\n" + "\n".join([*cells, "x;y", "\n"])).encode())
    expected = [row for row, told in enumerate(Watcher(models[0]).watch(rows(40)).told) if told["is_odd"]]
    told = wait_for(lambda: len(answers(command.output)) == len(expected) and answers(command.output))
    assert [answer["row"] for answer in told] == expected
    assert all(answer["is_odd"] and answer["id"] == str(answer["row"]) for answer in told)
    command.signal(signal.SIGINT)
    assert command.ended() == 130
    assert command.said("41 rows: ")
    assert command.said("1 bad.\nInterrupted.")


@pytest.mark.race
def test_it_ends_quietly_when_nobody_listens(tmp_path, saved):
    (tmp_path / "rows.jsonl").write_bytes(b"".join(map(line, rows(50_000))))
    os.mkfifo(tmp_path / "output")
    command = Command(tmp_path, "--model", saved, source=tmp_path / "rows.jsonl")
    with (tmp_path / "output").open("rb") as output:
        assert json.loads(output.readline())["row"] == 0
    assert command.ended() == 1
    assert not command.said("Error")
    assert not command.said("Traceback")


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def play_with_kills(folder, saved, n_rows, kills, seed):
    """A stream from a file, killed at random moments and begun again; what is written in the end."""
    records = [line(record) for record in rows(n_rows)]
    records[n_rows // 3] = b"no row\n"
    records[n_rows // 2] = b'{"load": "much", "wait": 1}\n'
    (folder / "rows.jsonl").write_bytes(b"".join(records))
    out, rejects = folder / "out.jsonl", folder / "rejects.jsonl"
    arguments = ("--model", saved, "--out", out, "--rejects", rejects, "--resume")
    chance, killed = random.Random(seed), 0
    for attempt in range(kills + 1):
        (folder / str(attempt)).mkdir()
        size = size_of(out)
        command = Command(folder / str(attempt), *arguments, source=folder / "rows.jsonl")
        if attempt < kills:
            wait_for(lambda size=size, c=command: not c.process.is_alive() or size_of(out) > size)
            time.sleep(chance.uniform(0.0, 0.05))
            killed += command.process.is_alive()
            command.process.kill()
            command.ended()
        else:
            assert command.ended() == 0
    return answers(out), answers(rejects), killed


def check_every_row_once(folder, saved, n_rows, kills, seed):
    told, refused, killed = play_with_kills(folder, saved, n_rows, kills, seed)
    bad = [n_rows // 3, n_rows // 2]
    assert [answer["row"] for answer in told] == [row for row in range(n_rows) if row not in bad]
    assert [entry["line"] - 1 for entry in refused] == bad
    assert killed, "it was never killed: take more rows"


@pytest.mark.race
def test_a_run_that_is_killed_goes_on_with_every_row_once(tmp_path, saved):
    check_every_row_once(tmp_path, saved, 40_000, kills=2, seed=0)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.race
def test_however_often_it_is_killed(tmp_path, saved, seed):
    check_every_row_once(tmp_path, saved, 100_000, kills=8, seed=seed)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--resume"], "--resume continues the file of --out"),
        (["--save", "live.whyodd"], "--save keeps the model learned with --forget"),
        (["--out", "out.csv"], "expected a name that ends in .jsonl"),
        (["--format", "xml"], "xml"),
        (["--top", "0"], "--top"),
    ],
)
def test_options_that_do_not_go_together_are_told(saved, options, told):
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["watch", "--model", str(saved), *options])
    assert result.exit_code in (1, 2)
    assert told in result.output + str(result.exception)


def test_a_model_that_is_not_there_is_told(tmp_path):
    result = CliRunner().invoke(app, ["watch", "--model", str(tmp_path / "none.whyodd")])
    assert result.exit_code == 1
    assert "There is no file" in result.output
