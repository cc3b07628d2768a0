"""``whyodd image`` as people run it: folders in, pictures and a table out, also after an interruption."""

import csv
import json
import os
import sys
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import whyodd
from made_up.images import grain, scratched
from whyodd.cli.app import app
from whyodd.cli.image_files import COLUMNS, Journal
from whyodd.cli.image_run import ImageRun
from whyodd.io.images import PictureFiles

SMALL = (48, 48)
HOSTILE = "<img src=x onerror=alert(1)>[bold red].png"
FAST = ("--features", "contrast")


def run(*arguments):
    return CliRunner().invoke(app, ["image", *map(str, arguments)], env={"COLUMNS": "100"})


def save(array, path):
    Image.fromarray(array).save(path)
    return path


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Two folders: six normal pictures; and a scratched, a wide calm and a strangely named one."""
    normal, test = tmp_path_factory.mktemp("normal"), tmp_path_factory.mktemp("test")
    for i in range(6):
        save(grain(i, SMALL), normal / f"good{i}.png")
    save(scratched(20, SMALL), test / "scratched.png")
    save(grain(21, (48, 60)), test / "calm.png")
    save(grain(24, SMALL), test / HOSTILE)
    return normal, test


def lines_of(out):
    with (out / "scores.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def done(pictures, tmp_path_factory):
    """A whole run, with all that it writes."""
    out = tmp_path_factory.mktemp("run")
    options = (
        *FAST,
        "--out",
        out / "heat",
        "--arrays",
        "--report",
        out / "odd.html",
        "--save",
        out / "m.whyodd",
    )
    result = run(*pictures, *options)
    assert result.exit_code == 0, result.output
    return result, out


class TestResults:
    def test_files(self, done):
        _, out = done
        stems = ("scratched", "calm", "_img_src_x_onerror_alert_1___bold_red_")
        written = {f"{stem}{end}" for stem in stems for end in (".png", ".npy", "-mask.npy")}
        assert {path.name for path in (out / "heat").iterdir()} == {
            *written,
            "scores.csv",
            "contact-sheet.png",
        }
        for picture in (out / "heat").glob("*.png"):
            with Image.open(picture) as opened:
                opened.verify()

    def test_table(self, done, pictures):
        lines = lines_of(done[1] / "heat")
        assert list(lines[0]) == list(COLUMNS)
        assert lines[0]["file"] == str(pictures[1] / "scratched.png")
        assert lines[0]["is_odd"] == "True"
        scores = [float(line["outlierness"]) for line in lines]
        assert scores == sorted(scores, reverse=True)
        # Whether a calm picture is odd is a matter of chance: six normal ones say little.
        assert float(lines[0]["p_value"]) < 0.05
        assert scores[0] > 5.0 * scores[1]
        assert int(lines[0]["regions"]) >= 1
        assert lines[0]["where"].startswith("row")

    def test_arrays_sum_to_the_outlierness(self, done):
        for line in lines_of(done[1] / "heat"):
            heat = np.load(line["heatmap"].replace(".png", ".npy"))
            mask = np.load(line["heatmap"].replace(".png", "-mask.npy"))
            with Image.open(line["file"]) as picture:
                assert heat.shape == mask.shape == picture.size[::-1]
            assert heat.sum() == pytest.approx(float(line["outlierness"]), rel=1e-9)
            assert mask.sum() == int(line["odd_pixels"])

    def test_said_in_the_terminal(self, done):
        result, out = done
        odd = sum(line["is_odd"] == "True" for line in lines_of(out / "heat"))
        assert f"{odd} of 3 pictures {'is' if odd == 1 else 'are'} odd" in result.stdout
        assert "alert(1)>[bold red].png" in result.stdout.replace("\n", "")
        assert "Reading 6 normal pictures" in result.stderr
        assert str(out / "m.whyodd") in result.stdout.replace("\n", "")
        assert max(map(len, result.stdout.splitlines())) <= 100 + len(str(out))

    def test_page(self, done):
        page = (done[1] / "odd.html").read_text(encoding="utf-8")
        assert "<img src=x" not in page
        assert "its strangest place" in page
        assert page.count("data:image/") >= 5

    def test_scores_are_those_of_the_detector(self, done, pictures):
        files = sorted(pictures[1].iterdir())
        normal = PictureFiles(sorted(pictures[0].iterdir()), in_colour=False)
        model = whyodd.ImageDetector("contrast").fit(normal)
        expected = dict(
            zip(map(str, files), model.outlierness(PictureFiles(files, in_colour=False)), strict=True)
        )
        found = {line["file"]: float(line["outlierness"]) for line in lines_of(done[1] / "heat")}
        assert found == expected

    def test_a_saved_model_says_the_same(self, done, pictures, tmp_path):
        again = run(pictures[1], "--model", done[1] / "m.whyodd", "--out", tmp_path / "again", "--quiet")
        assert again.exit_code == 0, again.output
        assert again.stderr == ""
        assert [line["outlierness"] for line in lines_of(tmp_path / "again")] == [
            line["outlierness"] for line in lines_of(done[1] / "heat")
        ]

    def test_json_is_all_of_standard_output(self, done, pictures, tmp_path):
        found = run(pictures[1], "--model", done[1] / "m.whyodd", "--out", tmp_path / "o", "--json")
        told = json.loads(found.stdout)
        assert [line["file"] for line in told["pictures"]] == [
            line["file"] for line in lines_of(done[1] / "heat")
        ]
        assert set(told["pictures"][0]) == set(COLUMNS)
        assert told["pictures"][0]["is_odd"] is True
        assert told["threshold"] == whyodd.load(done[1] / "m.whyodd").threshold_

    def test_other_false_alarms_of_a_saved_model(self, done, pictures, tmp_path):
        options = ("--model", done[1] / "m.whyodd", "--false-alarms", 0.5, "--out", tmp_path / "o", "--json")
        told = json.loads(run(pictures[1], *options).stdout)
        assert told["threshold"] < whyodd.load(done[1] / "m.whyodd").threshold_
        odd = [line["is_odd"] for line in told["pictures"]]
        assert odd == [line["outlierness"] > told["threshold"] for line in told["pictures"]]

    def test_normal_pictures_alone_and_few_of_them(self, tmp_path):
        for i in range(3):
            save(grain(i, SMALL), tmp_path / f"{i}.png")
        found = run(tmp_path, *FAST, "--out", tmp_path / "out")
        assert found.exit_code == 0, found.output
        assert "3 pictures, ranked: too few normal images" in " ".join(found.stdout.split())
        assert {line["is_odd"] for line in lines_of(tmp_path / "out")} == {""}
        assert {line["p_value"] for line in lines_of(tmp_path / "out")} == {""}


class TestInterrupted:
    """Whatever stops a run, what it has done stays, and the next run does the rest alone."""

    @pytest.fixture
    def many(self, done, tmp_path):
        folder = tmp_path / "many"
        folder.mkdir()
        for i in range(7):
            save(scratched(i, SMALL) if i == 4 else grain(40 + i, SMALL), folder / f"{i}.png")
        return folder, ("--model", done[1] / "m.whyodd", "--arrays")

    @staticmethod
    def count(monkeypatch, stop=None):
        """Let explain count what it is asked for, and stop at the k-th image as Ctrl-C does."""
        asked, explain = [], whyodd.ImageDetector.explain

        def counted(self, images, **more):
            asked.append(1)
            if len(asked) == stop:
                raise KeyboardInterrupt
            return explain(self, images, **more)

        monkeypatch.setattr(whyodd.ImageDetector, "explain", counted)
        return asked

    def test_goes_on_where_it_stopped(self, many, tmp_path, monkeypatch):
        folder, options = many
        assert run(folder, *options, "--out", tmp_path / "out").exit_code == 0
        whole = (tmp_path / "out" / "scores.csv").read_bytes()
        for path in (tmp_path / "out").iterdir():
            path.unlink()
        with monkeypatch.context() as patch:
            self.count(patch, stop=4)
            stopped = run(folder, *options, "--out", tmp_path / "out")
        assert stopped.exit_code == 130
        assert stopped.stderr.splitlines()[-1] == "Interrupted."
        lines = lines_of(tmp_path / "out")
        assert {line["file"] for line in lines} == {str(folder / f"{i}.png") for i in range(3)}
        with monkeypatch.context() as patch:
            asked = self.count(patch)
            again = run(folder, *options, "--out", tmp_path / "out")
        assert again.exit_code == 0, again.output
        assert "3 pictures were already done" in again.stderr
        assert len(asked) == 4
        assert (tmp_path / "out" / "scores.csv").read_bytes() == whole
        assert not list((tmp_path / "out").glob(".*"))

    @pytest.mark.parametrize("change", ["picture", "heatmap", "options", "journal", "names"])
    def test_what_has_changed_since_is_done_again(self, many, tmp_path, monkeypatch, change):
        folder, options = many
        out = tmp_path / "out"
        with monkeypatch.context() as patch:
            self.count(patch, stop=4)
            run(folder, *options, "--out", out)
        expected = {"picture": 5, "heatmap": 5, "options": 7, "journal": 5, "names": 8 - 2}[change]
        if change == "picture":
            save(grain(99, SMALL), folder / "0.png")
        elif change == "heatmap":
            (out / "1.png").unlink()
        elif change == "options":
            options = options[:2]
        elif change == "journal":  # cut off amid a line, as when the power fails
            journal = out / ".unfinished.jsonl"
            journal.write_bytes(journal.read_bytes()[:-20])
        else:  # another picture takes the name of one that is done
            save(grain(98, SMALL), folder / "0.bmp")
        asked = self.count(monkeypatch)
        again = run(folder, *options, "--out", out)
        assert again.exit_code == 0, again.output
        assert len(asked) == expected
        lines = lines_of(out)
        assert len({line["heatmap"] for line in lines}) == len(lines) == (8 if change == "names" else 7)

    @pytest.mark.parametrize("content", ["", "{}", "no json", '{"key": "k"}\n[1]\n{"file": "a"}\nnull\n'])
    def test_a_journal_that_is_none(self, tmp_path, content):
        (tmp_path / ".unfinished.jsonl").write_text(content)
        assert Journal(tmp_path, "k").finished() == {}


class TestTroubles:
    def check(self, done, *words):
        assert done.exit_code == 1, done.output
        assert done.stderr.splitlines()[-1].startswith("Error: ")
        for word in words:
            assert word in done.stderr
        assert "Traceback" not in done.output
        assert done.stdout == ""

    def test_missing_and_empty(self, pictures, tmp_path):
        out = ("--out", tmp_path / "out")
        self.check(run(tmp_path / "absent", *out), "absent does not exist")
        self.check(run(tmp_path / "absent", pictures[1], *out), "absent does not exist")
        (tmp_path / "empty").mkdir()
        self.check(run(pictures[0], tmp_path / "empty", *out), "empty holds no pictures")
        assert not (tmp_path / "out").exists()

    def test_broken_ones_among_many_are_left_out(self, pictures, tmp_path):
        for i in range(2):
            save(grain(i, SMALL), tmp_path / f"fine{i}.png")
        (tmp_path / "text[red].png").write_text("hello")
        save(grain(4, (8, 48)), tmp_path / "flat.png")
        done = run(pictures[0], tmp_path, *FAST, "--out", tmp_path / "out", "--json", "--quiet")
        assert done.exit_code == 0, done.output
        warned = done.stderr.splitlines()
        assert len(warned) == 2
        assert warned[0].startswith("Warning: left out: ")
        assert "too small" in warned[0]
        assert "flat.png" in warned[0]
        assert "text[red].png" in warned[1]
        assert len(json.loads(done.stdout)["pictures"]) == len(lines_of(tmp_path / "out")) == 2

    def test_a_broken_normal_one_is_left_out(self, pictures, tmp_path):
        for i in range(3):
            save(grain(i, SMALL), tmp_path / f"fine{i}.png")
        (tmp_path / "text.png").write_text("hello")
        done = run(tmp_path, pictures[1], *FAST, "--out", tmp_path / "out", "--quiet")
        assert done.exit_code == 0, done.output
        assert done.stderr.count("Warning") == 1
        assert "Learned from 3 images" in done.stdout

    def test_all_are_broken(self, pictures, tmp_path):
        for i in range(2):
            (tmp_path / f"{i}.png").write_text("hello")
        out = ("--out", tmp_path / "out")
        self.check(run(pictures[0], tmp_path, *FAST, *out), "No picture in", "can be used")
        self.check(run(tmp_path, *out), "No picture in", "it is not a picture")
        self.check(run(tmp_path / "0.png", *out), "0.png", "it is not a picture")

    def test_one_colour(self, tmp_path):
        save(np.full(SMALL, 7, dtype=np.uint8), tmp_path / "grey.png")
        self.check(run(tmp_path / "grey.png", *FAST, "--out", tmp_path / "out"), "look the same everywhere")

    def test_too_small_to_learn_from(self, tmp_path):
        save(grain(0, (8, 8)), tmp_path / "tiny.png")
        self.check(run(tmp_path / "tiny.png", *FAST, "--out", tmp_path / "out"), "8 × 8 pixels is too small")

    @pytest.mark.parametrize("source", ["folder", "file"])
    def test_never_onto_the_pictures(self, tmp_path, source):
        path = save(grain(0, SMALL), tmp_path / "a.png")
        before = path.read_bytes()
        self.check(
            run(tmp_path if source == "folder" else path, "--out", tmp_path), "holds the pictures themselves"
        )
        assert path.read_bytes() == before

    def test_out_is_a_file(self, pictures, tmp_path):
        (tmp_path / "out").touch()
        self.check(run(pictures[0], "--out", tmp_path / "out"), "is a file: expected a folder")
        self.check(run(pictures[0], "--out", tmp_path / "out" / "in"), "cannot make the folder")

    def test_a_model_of_another_kind(self, pictures, tmp_path):
        whyodd.save(whyodd.Gaussian().fit(np.eye(3)), tmp_path / "m.whyodd")
        out = ("--out", tmp_path / "out")
        self.check(run(pictures[1], "--model", tmp_path / "m.whyodd", *out), "holds a Gaussian")
        self.check(run(pictures[1], "--model", tmp_path / "absent.whyodd", *out), "absent.whyodd")

    def test_missing_pillow(self, pictures, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "PIL", None)
        self.check(run(*pictures, "--out", tmp_path / "out"), "pip install 'whyodd[plots]'")

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            (("--patch", "7"), "--paper"),
            (("--contrast",), "--paper"),
            (("--max-patches", "300", "--nu", "0.2"), "--paper"),
            (("--paper", "--arrays"), "--paper cannot be used with"),
            (("--paper", "--save", "m.whyodd"), "--paper cannot be used with"),
            (("--false-alarms", "0"), "false-alarms"),
            (("--features", "colour"), "features"),
            (("--width", "0"), "width"),
            (("--top", "0"), "top"),
        ],
    )
    def test_wrong_usage(self, pictures, arguments, word):
        done = run(pictures[0], *arguments)
        assert done.exit_code == 2, done.output
        assert word in done.output

    def test_a_model_and_two_folders(self, done, pictures):
        assert run(*pictures, "--model", done[1] / "m.whyodd").exit_code == 2


class TestPictures:
    def test_colour_depth_and_width(self, tmp_path):
        """One picture in grey and colour, with 8 and 16 bits: as odd as itself."""
        normal, test = tmp_path / "normal", tmp_path / "test"
        normal.mkdir()
        test.mkdir()
        for i in range(6):
            save(grain(i), normal / f"{i}.png")
        save(np.stack([grain(6)] * 3, axis=-1), normal / "colour.png")
        save(grain(8), test / "grey.png")
        save(np.stack([grain(8)] * 3, axis=-1), test / "colour.png")
        save(grain(8).astype(np.uint16) * 257, test / "deep.png")
        out = tmp_path / "out"
        done = run(normal, test, *FAST, "--out", out, "--width", 48, "--arrays", "--json", "--quiet")
        assert done.exit_code == 0, done.output
        scores = {
            Path(line["file"]).stem: line["outlierness"] for line in json.loads(done.stdout)["pictures"]
        }
        assert scores["colour"] == pytest.approx(scores["grey"], rel=1e-6)
        # Pictures of 16 bits are not rounded to 8 when they are made smaller.
        assert scores["deep"] == pytest.approx(scores["grey"], rel=0.05)
        assert np.load(out / "colour.npy").shape == (48, 48)

    def test_names_of_results_never_meet(self, tmp_path):
        for name in ("a.png", "a.bmp", "a-mask.png", "contact-sheet.png", "scores.png"):
            save(grain(len(name), SMALL), tmp_path / name)
        done = run(tmp_path, *FAST, "--out", tmp_path / "out", "--arrays", "--quiet")
        assert done.exit_code == 0, done.output
        for line in lines_of(tmp_path / "out"):
            heat = np.load(line["heatmap"].replace(".png", ".npy"))
            assert heat.sum() == pytest.approx(float(line["outlierness"]), rel=1e-9)
        assert len(list((tmp_path / "out").iterdir())) == 5 * 3 + 2

    @pytest.mark.skipif(sys.platform != "linux", reason="needs names that are no text")
    def test_names_that_are_no_text(self, tmp_path):
        for i in range(2):
            save(grain(i, SMALL), tmp_path / "a.png").rename(
                tmp_path / os.fsdecode(b"\xff\x1b[31m\n%d.png" % i)
            )
        done = run(tmp_path, *FAST, "--out", tmp_path / "out", "--report", tmp_path / "odd.html")
        assert done.exit_code == 0, done.output
        assert "\x1b" not in done.output
        assert "\x1b" not in (tmp_path / "odd.html").read_text(encoding="utf-8")
        assert len(lines_of(tmp_path / "out")) == 2

    def test_explanations_are_let_go(self, done, tmp_path, monkeypatch):
        """One at a time while pictures are judged."""
        made, explain = [], whyodd.ImageDetector.explain

        def watched(self, images, **more):
            assert sum(one() is not None for one in made) <= 1
            made.append(weakref.ref(found := explain(self, images, **more)))
            return found

        (tmp_path / "many").mkdir()
        for i in range(12):
            save(grain(i, SMALL), tmp_path / "many" / f"{i}.png")
        monkeypatch.setattr(whyodd.ImageDetector, "explain", watched)
        found = run(tmp_path / "many", "--model", done[1] / "m.whyodd", "--out", tmp_path / "out")
        assert found.exit_code == 0, found.output
        assert len(made) == 12

    @pytest.mark.full
    def test_many_are_not_held_together(self, done, tmp_path):
        """300 pictures; what is held at a time must not grow with them: no explanation of all is kept."""
        shape, count = (64, 64), 300
        (tmp_path / "many").mkdir()
        for i in range(count):
            save(grain(i, shape), tmp_path / "many" / f"{i}.png")
        job = ImageRun(
            tmp_path / "many",
            None,
            done[1] / "m.whyodd",
            tmp_path / "out",
            "contrast",
            None,
            None,
            0,
            quiet=True,
        )
        whyodd.load(done[1] / "m.whyodd").explain([grain(0, shape)])  # compiled and imported before it counts
        tracemalloc.start()
        try:
            job.found(top=5)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        maps = count * shape[0] * shape[1] * 8 * 2  # relevance and places, each of 8 bytes
        assert len(lines_of(tmp_path / "out")) == count
        assert peak < 0.7 * maps
