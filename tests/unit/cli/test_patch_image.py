"""``whyodd image --paper`` as people run it: files in, heatmaps and a table out, clear words if it cannot."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from typer.testing import CliRunner

from whyodd.cli.app import app
from whyodd.cli.image import Border
from whyodd.cli.patch_files import unique_stems, write_results
from whyodd.cli.patch_image import show
from whyodd.findings.patch_pictures import Settings, explain_pictures
from whyodd.io.images import read_image, resized
from whyodd.io.terminal import printable
from whyodd.patches.colours import common_limit, overlay
from whyodd.patches.grid import BORDERS

FAST = ("--max-patches", "300", "--patch", "5")
QUICK = Settings(patch=5, max_patches=300)


def run(*arguments):
    return CliRunner().invoke(app, ["image", "--paper", *map(str, arguments)], env={"COLUMNS": "100"})


def stripes(seed, shape=(20, 24)):
    noise = np.random.default_rng(seed).integers(0, 20, shape)
    return (np.tile([40, 40, 200, 200], (shape[0], shape[1] // 4)) + noise).astype(np.uint8)


def save(array, path):
    Image.fromarray(array).save(path)
    return path


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Two folders: three normal pictures; and a scratched, a normal and a strangely named one."""
    normal, test = tmp_path_factory.mktemp("normal"), tmp_path_factory.mktemp("test")
    for i in range(3):
        save(stripes(i), normal / f"good{i}.png")
    odd = stripes(7)
    odd[5:8, 4:16] = 255
    save(odd, test / "scratched.png")
    save(stripes(8), test / "calm.png")
    save(stripes(9), test / "<script>'[bold]'.png")
    return normal, test


@pytest.fixture(scope="module")
def result(pictures):
    return explain_pictures(*pictures, QUICK)


def size_of(path):
    with Image.open(path) as picture:
        picture.verify()
        return picture.size


class TestResults:
    def test_table_heatmaps_and_strangest_windows(self, pictures, tmp_path):
        out = tmp_path / "deep" / "heatmaps"
        done = run(*pictures, *FAST, "--out", out, "--report", tmp_path / "odd.html")
        assert done.exit_code == 0, done.output
        assert (tmp_path / "odd.html").read_text(encoding="utf-8").count('src="data:image/png') == 6
        names = {"calm.png", "scratched.png", "_script___bold__.png"}
        assert {path.name for path in out.iterdir()} == {
            "scores.csv",
            *names,
            *(f"strangest-{name}" for name in names),
        }
        for path in out.glob("*.png"):
            assert size_of(path)[0] > 600
        assert "<script>'[bold]'.png" in done.stdout
        assert str(out) in done.stdout.replace("\n", "")
        assert "Reading 3 pictures" in done.stderr
        assert "Training" not in done.stdout

    def test_scores_are_those_of_the_explanation(self, result, tmp_path):
        write_results(result, tmp_path / "out", top=1)
        with (tmp_path / "out" / "scores.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        assert list(lines[0]) == [*result.explanation.table(), "file", "heatmap"]
        assert lines[0]["item"] == "scratched.png"
        assert [float(line["outlierness"]) for line in lines] == pytest.approx(
            result.explanation.outlierness.tolist()
        )
        assert [line["file"] for line in lines] == [str(file) for file in result.files]
        assert [line["heatmap"] for line in lines] == [str(tmp_path / "out" / "scratched.png"), "", ""]

    def test_json_is_all_of_standard_output_and_top_limits_the_drawings(self, pictures, tmp_path):
        done = run(*pictures, *FAST, "--out", tmp_path / "out", "--top", 1, "--json")
        lines = json.loads(done.stdout)
        assert lines[0]["item"] == "scratched.png"
        assert lines[0]["where"].startswith("rows ")
        assert {path.name for path in (tmp_path / "out").iterdir()} == {
            "scores.csv",
            "scratched.png",
            "strangest-scratched.png",
        }
        assert [line["heatmap"] is None for line in lines] == [False, True, True]

    def test_same_seed_same_bytes_and_quiet_says_nothing_but_results(self, pictures, tmp_path):
        for name in ("a", "b"):
            done = run(*pictures, *FAST, "--top", 1, "--out", tmp_path / name, "--quiet")
            assert done.stderr == ""
        first, second = ((tmp_path / name / "scratched.png").read_bytes() for name in ("a", "b"))
        assert first == second

    @pytest.mark.full
    def test_as_a_process(self, pictures, tmp_path):
        command = [sys.executable, "-c", "from whyodd.cli.app import main; main()", "image", "--paper"]
        done = subprocess.run(
            [*command, pictures[1] / "scratched.png", *FAST, "--out", tmp_path / "out"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0
        assert "scratched.png" in done.stdout
        assert "\x1b" not in done.stdout + done.stderr  # no bar where nobody watches
        assert (tmp_path / "out" / "strangest-scratched.png").exists()

    def test_help_has_an_example(self):
        text = " ".join(run("--help").stdout.split())
        assert "whyodd image normal/ test/ --paper --patch 7 --out heatmaps/" in text


class TestSelf:
    def test_picture_without_its_own_patches(self, pictures, tmp_path):
        result = explain_pictures(pictures[1] / "scratched.png", settings=QUICK)
        assert result.explanation.twins == (0,)
        row, column = np.unravel_index(result.explanation.heatmap(0).argmax(), (20, 24))
        assert 5 <= row < 8
        assert 4 <= column < 16
        write_results(result, tmp_path)
        assert (tmp_path / "scratched.png").exists()

    def test_folder_together(self, pictures):
        result = explain_pictures(pictures[1], settings=QUICK)
        assert sorted(result.explanation.twins) == [0, 1, 2]
        assert result.n_trained == 3
        assert result.files[0].name == "scratched.png"


class TestScale:
    def test_limit_is_that_of_the_set_or_of_normal_pictures(self, result, pictures):
        normal = explain_pictures(pictures[0], settings=QUICK).explanation
        limits = common_limit(result.explanation.relevance), common_limit(normal.relevance)
        assert limits[0] > 2 * limits[1]
        assert result.limit == pytest.approx(limits[0])

    def test_normal_pictures_stay_calm(self, pictures, tmp_path):
        save(stripes(8)[:, :16], tmp_path / "calm.png")
        calm = explain_pictures(pictures[0], tmp_path, QUICK)
        e = calm.explanation
        drawn = overlay(e.data[0], e.heatmap(0), calm.limit).astype(int)
        colourful = drawn.max(axis=-1) - drawn.min(axis=-1)
        assert np.mean(colourful > 60) < 0.05
        usual = common_limit(explain_pictures(pictures[0], settings=QUICK).explanation.relevance)
        assert calm.limit == pytest.approx(2 * usual)

    def test_settings_reach_the_model(self):
        chosen = Settings(scale=(1, 2), border="edge", stride=3, contrast=True, nu=0.2, q=1.0, seed=4)
        model = chosen.model()
        assert (model.scale, model.border, model.stride, model.random_state) == ([1, 2], "edge", 3, 4)
        assert (model.model.nu, model.model.q, model.patch) == (0.2, 1.0, (7, 7))
        assert model.prepare is not None

    def test_several_scales_width_and_contrast_run(self, pictures, tmp_path):
        options = (
            "--scale",
            "1,2",
            "--width",
            30,
            "--contrast",
            "--border",
            "reflect",
            "--stride",
            2,
            "--q",
            1,
        )
        done = run(*pictures, *FAST, *options, "--out", tmp_path / "out")
        assert done.exit_code == 0, done.output

    def test_counts_windows_as_the_model_does(self, pictures):
        settings = Settings(patch=5, scale=(1, 3), stride=2, border="reflect", max_patches=100)
        e = explain_pictures(pictures[0], settings=settings).explanation
        assert settings.n_windows(e.data[0]) == e.table()["windows"][0]

    def test_borders_are_those_of_the_grid(self):
        assert [border.value for border in Border] == list(BORDERS)


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
        (tmp_path / "empty").mkdir()
        self.check(run(pictures[0], tmp_path / "empty", *out), "empty holds no pictures")
        assert not (tmp_path / "out").exists()

    def test_the_only_file_is_broken(self, tmp_path):
        (tmp_path / "note.png").write_text("hello")
        self.check(run(tmp_path / "note.png", "--out", tmp_path / "out"), "note.png", "it is not a picture")

    def test_broken_and_small_ones_among_many_are_left_out(self, pictures, tmp_path):
        whole = save(stripes(3), tmp_path / "fine.png").read_bytes()
        (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
        (tmp_path / "text.png").write_text("hello")
        save(stripes(4)[:3], tmp_path / "flat.png")
        done = run(pictures[0], tmp_path, *FAST, "--out", tmp_path / "out", "--json")
        assert done.exit_code == 0, done.output
        warned = [line for line in done.stderr.splitlines() if line.startswith("Warning: left out: ")]
        assert len(warned) == 3
        for name, line in zip(("cut.png", "flat.png", "text.png"), warned, strict=True):
            assert name in line
        assert "24×3 pixels, expected at least 5×5" in warned[1]
        assert [line["item"] for line in json.loads(done.stdout)] == ["fine.png"]

    def test_all_too_small(self, pictures, tmp_path):
        for i in range(2):
            save(stripes(i)[:3], tmp_path / f"flat{i}.png")
        self.check(
            run(pictures[0], tmp_path, *FAST, "--out", tmp_path / "out"),
            "can be used",
            "flat0.png is smaller",
        )

    def test_too_small_at_its_scale(self, pictures, tmp_path):
        self.check(run(pictures[0], *FAST, "--scale", "1,9", "--out", tmp_path / "o"), "at scale 9")

    def test_one_colour(self, tmp_path):
        save(np.full((20, 20), 7, dtype=np.uint8), tmp_path / "grey.png")
        self.check(run(tmp_path / "grey.png", "--out", tmp_path / "out"), "only one colour")

    @pytest.mark.parametrize("source", ["folder", "file"])
    def test_never_onto_the_pictures(self, tmp_path, source):
        path = save(stripes(0), tmp_path / "a.png")
        before = path.read_bytes()
        given = tmp_path if source == "folder" else path
        self.check(run(given, *FAST, "--out", tmp_path), "holds the pictures themselves")
        assert path.read_bytes() == before

    def test_out_is_a_file(self, pictures, tmp_path):
        (tmp_path / "out").touch()
        self.check(run(pictures[0], *FAST, "--out", tmp_path / "out"), "is a file: expected a folder")
        self.check(run(pictures[0], *FAST, "--out", tmp_path / "out" / "in"), "cannot make the folder")

    @pytest.mark.parametrize("missing", ["PIL", "matplotlib.figure"])
    def test_missing_extras(self, pictures, tmp_path, monkeypatch, missing):
        monkeypatch.setitem(sys.modules, missing, None)
        self.check(run(*pictures, "--out", tmp_path / "out"), "pip install 'whyodd[plots]'")

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("--patch", "0"),
            ("--scale", "2,x"),
            ("--scale", "0"),
            ("--border", "round"),
            ("--nu", "0"),
            ("--top", "0"),
            ("--colour", "red"),
        ],
    )
    def test_wrong_usage(self, pictures, arguments):
        assert run(*([pictures[0]] if arguments else []), *arguments).exit_code == 2


class TestMixtures:
    def test_grey_and_colour_are_made_alike(self, pictures, tmp_path):
        save(np.stack([stripes(5)] * 3, axis=-1), tmp_path / "colour.png")
        result = explain_pictures(pictures[0], tmp_path, QUICK)
        assert result.explanation.data[0].shape == (20, 24, 3)
        result = explain_pictures(tmp_path, pictures[1], QUICK)
        assert {image.shape for image in result.explanation.data} == {(20, 24, 3)}

    def test_sixteen_bits(self, tmp_path):
        deep = save(stripes(0).astype(np.uint16) * 100, tmp_path / "deep.png")
        done = run(deep, *FAST, "--out", tmp_path / "out")
        assert done.exit_code == 0, done.output

    def test_different_sizes_are_told(self, pictures, tmp_path):
        save(stripes(0), tmp_path / "a.png")
        save(stripes(1, (30, 40)), tmp_path / "b.png")
        result = explain_pictures(pictures[0], tmp_path, QUICK)
        console = Console(file=io.StringIO(), width=80)
        show(result, console)
        assert "differ in size" in console.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_table_fits_the_terminal(result, width):
    console = Console(width=width, file=io.StringIO())
    show(result, console)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "differ in size" not in text
    for whole in ("scratched", "rows", "columns"):
        assert whole in text


class TestNames:
    def test_outputs_never_meet(self, tmp_path):
        names = [
            "a.png",
            "a.jpg",
            "A.bmp",
            "strangest-a.png",
            "a-2.png",
            "...png",
            "?.png",
            "*.png",
            "x" * 250,
        ]
        stems = unique_stems([tmp_path / name for name in names])
        outputs = [f"{start}{stem}.png".casefold() for stem in stems for start in ("", "strangest-")]
        assert len(set(outputs)) == 2 * len(names)
        for output in outputs:
            assert not set(output) & set("/\\<>:\"'|?*\n")
            assert len(output.encode()) < 200
            assert not output.startswith(".")

    def test_letters_of_any_script_are_kept(self, tmp_path):
        assert unique_stems([tmp_path / "фото 1.png", tmp_path / ("写" * 200)]) == ["фото_1", "写" * 53]

    def test_what_a_terminal_would_obey_is_not_printed(self):
        assert printable("a\x1b[31m\n\udcff.png") == "a?[31m??.png"

    @pytest.mark.skipif(sys.platform != "linux", reason="needs names that are no text")
    def test_names_that_are_no_text(self, tmp_path):
        save(stripes(0), tmp_path / "a.png").rename(tmp_path / os.fsdecode(b"\xff\x1b\n.png"))
        done = run(tmp_path, *FAST, "--out", tmp_path / "out")
        assert done.exit_code == 0, done.output
        assert "\x1b" not in done.stdout
        assert len(list((tmp_path / "out").iterdir())) == 3


@pytest.mark.data
def test_a_crack_is_where_people_say(data_dir, tmp_path):
    tiles = data_dir / "magnetic_tile"
    for file in sorted(tiles.glob("free*.jpg"))[:8]:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    cracked = tiles / "crack__exp1_num_32128.jpg"
    result = explain_pictures(tmp_path, cracked, Settings(width=80, contrast=True, max_patches=1500))
    heat = result.explanation.heatmap(0)
    is_crack = resized(read_image(cracked.with_suffix(".png")), 80) > 127
    assert heat[is_crack].mean() > 3 * heat[~is_crack].mean()


def test_a_stamp_in_all_pictures_is_told(tmp_path):
    for name in ("normal", "test"):
        (tmp_path / name).mkdir()
    for i in range(3):
        save(stripes(i, (32, 32)), tmp_path / "normal" / f"{i}.png")
    for i in range(6):
        stamped = stripes(10 + i, (32, 32))
        stamped[24:28, 24:28] = 255
        save(stamped, tmp_path / "test" / f"[b]{i}.png")
    shown = run(tmp_path / "normal", tmp_path / "test", *FAST, "--out", tmp_path / "out", "--quiet")
    assert shown.exit_code == 0
    assert "In 6 of 6 images most of the relevance above usual" in " ".join(shown.stdout.split())
    assert "the lower right corner" in " ".join(shown.stdout.split())
    assert "examples: [b]" in " ".join(shown.stdout.split())
