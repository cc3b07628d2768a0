"""The experiments at a tiny size: every one runs, writes what it promises, and keeps to its laws."""

import json
from itertools import pairwise

import numpy as np
import pytest

from whyodd.experiments import detox, prototypes, textures
from whyodd.experiments.circle import KINDS, RADIUS, contrast, hidden_circle
from whyodd.experiments.data import Source
from whyodd.experiments.registry import EXPERIMENTS, find_experiment
from whyodd.experiments.run import carry_out
from whyodd.experiments.shaded import message_pieces, plain_pieces, set_lines, shaded_figure
from whyodd.experiments.textures import on_edges


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_says_what_it_is_and_has_its_sizes(name):
    experiment = find_experiment(name)
    assert experiment.title
    default = experiment.parameters_of("default")
    for size in ("quick", "full"):
        assert experiment.parameters_of(size).keys() == default.keys()
    assert experiment.parameters_of("quick") != default


def carried_out(name, experiment, folder, source, parameters, **keywords):
    report = carry_out(
        name, experiment, folder, source, parameters=parameters, say=lambda _: None, **keywords
    )
    for picture in report.pictures:
        assert (folder / f"{picture.name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{picture.name}.pdf").read_bytes().startswith(b"%PDF")
    assert report.statements
    assert report.choices
    assert (folder / f"{name}.md").is_file()
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["results"], report


def test_prototypes_keep_the_laws(tmp_path):
    found, report = carried_out(
        "prototypes", prototypes.EXPERIMENT, tmp_path, Source(), {"grid": 21, "n_points": 30}
    )
    for family in ("exponential", "student"):
        assert found[family]["gap_centers"] < 1e-9
        assert found[family]["gap_inputs"] < 1e-9
        assert found[family]["outside_pooling_bounds"] == 0.0
        # A is off to the side and B above: each by one variable.
        (a1, a2), (b1, b2) = found[family]["outlier_relevance"][:2]
        assert a1 > 5 * a2
        assert b2 > 5 * b1
    for name, constant in found["constants"].items():
        q = float(name.rpartition("q")[2])
        assert found["slopes"][name][-1] == pytest.approx(constant, rel=2e-3 * q)
    assert not [one for one in report.statements if one.verdict == "does not hold"]


def test_textures_without_data_has_the_grids(tmp_path, monkeypatch):
    monkeypatch.delenv("WHYODD_DATA", raising=False)
    parameters = {"max_patches": 1_500, "pictures": ("grid, circle shifted", "chequered_0048")}
    found, report = carried_out(
        "textures", textures.EXPERIMENT, tmp_path, Source(None, tmp_path / "none"), parameters
    )
    (grid,) = found["pictures"].values()
    assert grid["circle_dtd"] > 5.0
    assert grid["circle_sobel"] < 1.2
    assert grid["on_edges_dtd"] < 1.5  # far from the circle, edges recur
    assert grid["conservation_gap"] < 1e-6
    assert "chequered_0048" in report.notes[0]
    assert report.statements[0].verdict == "holds"


def test_textures_of_a_folder_that_has_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="has neither dtd_textures"):
        carry_out("textures", textures.EXPERIMENT, tmp_path / "out", Source(tmp_path))


@pytest.mark.data
def test_textures_of_the_data(tmp_path, data_dir):
    parameters = {"max_patches": 400, "pictures": ("parkinglot07",), "width": 64}
    found, report = carried_out("textures", textures.EXPERIMENT, tmp_path, Source(data_dir), parameters)
    assert list(found["pictures"]) == ["parkinglot07"]
    assert not report.notes
    assert len(json.loads((tmp_path / "textures.json").read_text())["data"]) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_circle_is_a_disk_and_the_same_for_the_same_seed(kind):
    image, is_inside = hidden_circle(kind, np.random.default_rng(3))
    assert is_inside.sum() == pytest.approx(np.pi * RADIUS**2, rel=0.02)
    np.testing.assert_array_equal(image, hidden_circle(kind, np.random.default_rng(3))[0])


def test_contrast_and_edges():
    heat, inside = np.array([[4.0, 4.0], [1.0, 1.0]]), np.array([[True, True], [False, False]])
    assert contrast(heat, inside) == 4.0
    edges = np.arange(10.0)
    assert on_edges(np.ones(10), edges) == 1.0
    assert on_edges(edges, edges) == 2.0


WORDS = ("pump", "valve", "engine", "filter", "motor", "gear")


def write_comments(folder):
    """A corpus as small as it can be, in the files of the original."""
    random = np.random.default_rng(0)
    folder = folder / "wikipedia_toxicity"
    folder.mkdir()
    neutral = [" ".join(random.choice(WORDS, size=12)) + " runs" for _ in range(1_100)]
    attacks = ["you [fool] of a $pump$, " + " ".join(random.choice(WORDS, size=20)) for _ in range(5)]
    comments = "".join(f"{i}\t{text}\n" for i, text in enumerate(neutral + attacks))
    votes = "".join(f"{i}\t{int(i >= len(neutral))}\n" for i in range(len(neutral) + len(attacks)))
    (folder / "attack_annotated_comments.tsv").write_text(f"rev_id\tcomment\n{comments}")
    (folder / "attack_annotations.tsv").write_text(f"rev_id\tattack\n{votes}")


def test_detox_on_a_small_corpus(tmp_path):
    write_comments(tmp_path)
    found, _ = carried_out(
        "detox", detox.EXPERIMENT, tmp_path / "out", Source(tmp_path), {"words_harmless": (5, 50)}
    )
    assert found["n_neutral"] == 100
    attack = found["messages"]["attack"]
    shares = [attack[f"share_{part}"] for part in ("there", "missing", "unexplained")]
    assert sum(shares) == pytest.approx(1.0, abs=1e-6)
    assert {"you", "fool"} <= set(attack["there"])
    words = [attack["text"][s:e] for s, e in zip(attack["starts"], attack["ends"], strict=True)]
    assert words[:5] == ["you", "fool", "of", "a", "pump"]
    assert np.all(np.diff(found["growth"]) > 0.0)


@pytest.mark.data
def test_detox_of_the_data(tmp_path, data_dir):
    parameters = {"n_train": 500, "n_explained": 100}
    found, report = carried_out("detox", detox.EXPERIMENT, tmp_path, Source(data_dir), parameters)
    assert found["share_rare"] > found["share_common"]
    assert "offensive" in report.notes[0]


def test_words_that_no_message_has(tmp_path):
    write_comments(tmp_path)
    with pytest.raises(ValueError, match="no message has 900 to 901 words"):
        carry_out(
            "detox",
            detox.EXPERIMENT,
            tmp_path / "out",
            Source(tmp_path),
            parameters={"words_attack": (900, 901)},
        )


def test_message_is_cut_without_losing_a_letter():
    text = "¡Hey!  you,\nthe-one " + "x" * 95 + " ..."
    places = [(1, 4, 0.5), (7, 10, 1.0), (12, 15, 0.0), (16, 19, 0.1), (20, 115, 0.2)]
    pieces = message_pieces(text, places)
    joined = "".join(("" if piece.is_glued else " ") + piece.text for piece in pieces)
    assert joined.split() == text.split()
    assert [piece.shade for piece in pieces if piece.text == "you"] == [1.0]
    assert max(len(piece.text) for piece in pieces) <= 40


def test_lines_end_before_the_margin_and_words_do_not_overlap():
    """Measured on the drawn figure, not by what the setting itself believes."""
    text = "Wide Words MMMMMM iiiii, " * 12
    places = [(i, i + 4, 0.5) for i in range(0, len(text), 25)]
    figure = shaded_figure([plain_pieces("Heading of it", is_bold=True), message_pieces(text, places)])
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [one.get_window_extent(renderer) for one in figure.axes[0].texts]
    assert max(box.x1 for box in boxes) <= figure.bbox.width
    for before, after in pairwise(boxes):
        assert after.x0 >= before.x1 - 1.0 or after.y1 <= before.y0 + 1.0  # a pixel for hinting
    assert min(box.y0 for box in boxes) >= 0.0
    assert len(set_lines(message_pieces(text, places))) > 1
