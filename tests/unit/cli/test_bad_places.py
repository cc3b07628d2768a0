"""Places that cannot be written to, Ctrl-C and kills at any moment: what was there stays as it was."""

import contextlib
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import whyodd
from made_up.command import start
from made_up.orders import orders
from whyodd.cli.app import app
from whyodd.io.atomic import replacing
from whyodd.io.results import write_table

CONTROL = re.compile(r"\x1b\[[?\d;]*[a-zA-Z]")  # what moves the cursor or colours
# Command, its options that name files, and these files.
WRITING = {
    "explain": ("explain", {"--out": "reasons.csv", "--report": "report.html"}),
    "fit": ("fit", {"--out": "model.whyodd"}),
    "score": ("score", {"--out": "scores.jsonl"}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Some tables, and a model that takes its time for the large one."""
    folder = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(0)
    orders(2000).write_csv(folder / "orders.csv")
    frame = pl.DataFrame({name: random.normal(size=100_000).round(3) for name in "abcd"})
    frame.write_csv(folder / "large.csv")
    frame.head(5000).write_csv(folder / "small.csv")
    frame.head(20).write_csv(folder / "few.csv")
    model = whyodd.KernelDensity(sigma=1.0).fit(frame.head(3000).to_pandas())
    whyodd.save(model, folder / "slow.whyodd")
    whyodd.save(whyodd.Gaussian().fit(frame.head(3000).to_pandas()), folder / "quick.whyodd")
    return folder


def write_over_old_files(command, folder, place):
    """Run a command in a place where older files are; what it said, and the files it should write."""
    name, outputs = WRITING[command]
    options = [part for option, file in outputs.items() for part in (option, str(place / file))]
    done = CliRunner().invoke(app, [name, str(folder / "orders.csv"), *options, "--quiet"])
    return done, [str(place / file) for file in outputs.values()]


def put_old_files(place):
    for _, outputs in WRITING.values():
        for file in outputs.values():
            (place / file).write_text("old")


def only_old_files(place):
    """Whether nothing was added, not even a hidden draft, and nothing changed."""
    known = {file for _, outputs in WRITING.values() for file in outputs.values()}
    return {path.name: path.read_text() for path in place.iterdir()} == dict.fromkeys(known, "old")


def check_refused(done, files, reason):
    assert done.exit_code == 1, (done.output, done.exception)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert any(file in done.stderr for file in files)
    assert reason in done.stderr
    assert done.stderr.endswith("another place.\n")


# ---- disks ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def disk_of(size, place):
    """A disk of its own."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only an administrator can make a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextlib.contextmanager
def read_only(place):
    """No writing to a folder: by its permissions, or, as these do not bind an administrator, by its disk."""
    if os.geteuid() != 0:
        place.chmod(0o500)
        yield
        place.chmod(0o700)
        return
    for options in ("bind", "remount,bind,ro"):
        mount = ["mount", "-o", options, str(place), str(place)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("this administrator may not mount anything")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextlib.contextmanager
def files_at_most(size):
    """No file of this process may grow larger."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("command", WRITING)
def test_a_full_disk(folder, tmp_path, command):
    with disk_of("32k", tmp_path):
        put_old_files(tmp_path)
        done, files = write_over_old_files(command, folder, tmp_path)
        check_refused(done, files, "No space left on device")
        assert only_old_files(tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("command", WRITING)
def test_files_that_may_not_grow(folder, tmp_path, command):
    put_old_files(tmp_path)
    with files_at_most(20_000):
        done, files = write_over_old_files(command, folder, tmp_path)
    check_refused(done, files, "File too large")
    assert only_old_files(tmp_path)


@pytest.mark.parametrize("command", WRITING)
def test_a_folder_that_is_read_only(folder, tmp_path, command):
    put_old_files(tmp_path)
    with read_only(tmp_path):
        done, files = write_over_old_files(command, folder, tmp_path)
        with pytest.raises(OSError, match=r"^cannot write .*: (Read-only file system|Permission denied)\. "):
            whyodd.save(whyodd.Gaussian().fit(np.eye(3)), tmp_path / "other.whyodd")
    check_refused(done, files, "cannot be written to (")
    assert only_old_files(tmp_path)


def test_a_page_that_cannot_be_written_leaves_the_table_as_it_was(folder, tmp_path):
    """The table is small enough for the disk, the page is not."""
    table, page = tmp_path / "reasons.parquet", tmp_path / "report.html"
    table.write_text("old")
    options = ["--model", str(folder / "quick.whyodd"), "--out", str(table), "--report", str(page), "--quiet"]
    with files_at_most(40_000):
        done = CliRunner().invoke(app, ["explain", str(folder / "few.csv"), *options])
    check_refused(done, [str(page)], "File too large")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"reasons.parquet": "old"}


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "table.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("table.csv")
    write_table(pl.DataFrame({"a": [1]}), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "table.csv").read_text() == "a\n1\n"
    assert len(list(tmp_path.iterdir())) == 2


def test_drafts_of_the_same_file_do_not_meet(tmp_path):
    """As when two threads write to it; also with a name as long as file systems allow."""
    path = tmp_path / ("é" * 125 + ".csv")
    with replacing(path) as one, replacing(path) as other:
        assert one != other
        assert {one.suffix, other.suffix} == {".csv"}
        assert one.name.startswith(".")
        one.write_text("one")
        other.write_text("other")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {path.name: "one"}


# ---- pipes and what is closed -----------------------------------------------------------------------------


def shell(words):
    """Run the command as a shell does; ``W`` stands for it."""
    words = words.replace("W", f"{sys.executable} -c 'from whyodd.cli.app import main; main()'")
    environment = os.environ | {"PYTHONPATH": str(Path(whyodd.__file__).parents[1])}
    return subprocess.run(["bash", "-c", words], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.full
def test_standard_input_that_is_closed():
    done = shell("W score - --quiet <&-")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: Standard input is closed. Pass a file, or pipe a table into this command.\n"


def test_standard_error_that_is_closed(tmp_path):
    done = shell(f"W score {tmp_path}/none.csv 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_letters_that_a_terminal_lacks(tmp_path):
    pl.DataFrame({"id": ["é", "ü", "ß"], "a": [1, 2, 4]}).write_csv(tmp_path / "letters.csv")
    arguments = ["score", str(tmp_path / "letters.csv"), "--id-column", "id", "--quiet", "--out", "-"]
    done = CliRunner(charset="ascii").invoke(app, arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    written = done.stdout_bytes.decode().splitlines()[1:]
    assert [line.split(",")[1] for line in written] == ["é", "ü", "ß"]


@pytest.mark.full
@pytest.mark.parametrize("options", [(), ("--json",), ("--out", "-")], ids=["table", "json", "scores"])
def test_no_room_to_print(folder, tmp_path, options):
    arguments = ("score", folder / "small.csv", "--model", folder / "quick.whyodd", "--quiet", *options)
    process = start(arguments, "/dev/full", tmp_path / "errors")
    process.join(60)
    assert process.exitcode == 1
    said = "Error: cannot print the results: No space left on device. Choose another place.\n"
    assert (tmp_path / "errors").read_text() == said


@pytest.mark.full
@pytest.mark.parametrize("options", [("--json", "--top", "20000"), ("--out", "-")], ids=["json", "scores"])
@pytest.mark.race
def test_nobody_reads_on(folder, tmp_path, options):
    """As in ``whyodd score ... | head -1``: no error to speak of."""
    os.mkfifo(tmp_path / "pipe")
    arguments = ("score", folder / "large.csv", "--model", folder / "quick.whyodd", "--quiet", *options)
    process = start(arguments, tmp_path / "pipe", tmp_path / "errors")
    with (tmp_path / "pipe").open("rb") as pipe:
        assert pipe.read(5)
    process.join(60)
    assert process.exitcode == 1
    assert (tmp_path / "errors").read_text() == ""


# ---- Ctrl-C and kills -------------------------------------------------------------------------------------


class Started:
    """A command whose standard error is a terminal, so that it tells what it is at."""

    def __init__(self, printed, *arguments):
        self.screen, self.terminal = pty.openpty()
        self.printed = printed
        self.process = start(arguments, printed, os.ttyname(self.terminal))
        self.said = ""

    def wait_for(self, words):
        """Read the screen until it shows these words."""
        while words not in self.said:
            assert self._read(60.0), f"{words!r} never came: {self.said}"

    def press(self, number):
        os.kill(self.process.pid, number)

    def end(self):
        """Exit code, what was printed, and the last line on the screen."""
        self.process.join(60)
        while self._read(0.5):  # a terminal hands on what was written a little later
            pass
        os.close(self.terminal)
        os.close(self.screen)
        lines = CONTROL.sub("", self.said).splitlines()
        return self.process.exitcode, self.printed.read_text(), lines[-1] if lines else ""

    def _read(self, patience):
        if not select.select([self.screen], [], [], patience)[0]:
            return False
        self.said += os.read(self.screen, 10_000).decode(errors="replace")
        return True


# Arguments, with {0} for a folder, and the words on the screen at which Ctrl-C is pressed.
MOMENTS = {
    "learning": ("explain {0}/large.csv", "auto: "),
    "scoring": ("score {0}/large.csv --model {0}/slow.whyodd", "Scoring rows"),
    "explaining": ("explain {0}/small.csv --model {0}/slow.whyodd --method shap", "Explaining rows"),
    "comparing": ("evaluate {0}/small.csv --model {0}/slow.whyodd --methods shap", "Comparing methods"),
}
INTERRUPTED = (130, "", "Interrupted.")


@pytest.fixture
def place(tmp_path):
    """A folder with old files only."""
    (tmp_path / "place").mkdir()
    put_old_files(tmp_path / "place")
    return tmp_path / "place"


@pytest.mark.full
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.race
def test_interrupted(folder, tmp_path, place, moment):
    arguments, words = MOMENTS[moment]
    out = () if moment == "comparing" else ("--out", place / "reasons.csv")
    started = Started(tmp_path / "printed", *arguments.format(folder).split(), *out)
    started.wait_for(words)
    started.press(signal.SIGINT)
    assert started.end() == INTERRUPTED
    assert "Traceback" not in started.said
    assert only_old_files(place)


@pytest.mark.full
@pytest.mark.race
def test_interrupted_while_it_reads(tmp_path, place):
    os.mkfifo(tmp_path / "pipe.csv")
    started = Started(tmp_path / "printed", "fit", tmp_path / "pipe.csv", "--out", place / "model.whyodd")
    with (tmp_path / "pipe.csv").open("w") as pipe:  # waits for the reader
        pipe.write("a,b\n")
        pipe.flush()
        while started.process.is_alive():  # Python loses an interrupt that comes while it tidies up
            started.press(signal.SIGINT)
            started.process.join(2.0)
        assert started.end() == INTERRUPTED
    assert only_old_files(place)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.race
def test_ended_while_it_writes(folder, tmp_path, place, number):
    arguments = ("score", folder / "large.csv", "--model", folder / "quick.whyodd")
    for _ in range(10):
        started = Started(tmp_path / "printed", *arguments, "--out", place / "scores.jsonl")
        while started.process.is_alive() and not list(place.glob(".*")):
            time.sleep(0.0002)
        if started.process.is_alive():
            started.press(number)
        ended = started.end()
        if ended[0] != 0 and (place / "scores.jsonl").read_text() == "old":
            break
        put_old_files(place)  # it was faster than we
    else:
        raise AssertionError("never ended while it wrote")
    if number == signal.SIGKILL:
        assert ended[0] == -signal.SIGKILL
        (draft,) = place.glob(".*.scores.jsonl")  # hidden; nobody could have cleaned it up
        draft.unlink()
    else:
        assert ended == INTERRUPTED
    assert only_old_files(place)
