"""Internal validation on CIFAR-10, at a size that takes a moment."""

import itertools
import json
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import whyodd
from whyodd.evaluation.flipping import area
from whyodd.experiments.cifar.experiment import (
    EXPERIMENT,
    chosen_images,
    measure_images,
    train,
    tried_kernels,
)
from whyodd.experiments.cifar.statements import statements
from whyodd.experiments.cifar.summary import METHODS, OTHERS, summarize, summary_of
from whyodd.experiments.data import Source
from whyodd.experiments.run import Run, carry_out

SMALL = {"n_patches": 80, "n_images": 3, "images_per_step": 2, "checkpoints": 5, "degrees": (2,)}
# 200 images of each part: reading patches of all takes most of the time.
FEW = replace(
    EXPERIMENT, load=lambda source: {name: values[:200] for name, values in source.cifar10().items()}
)
KEYS = [f"{family}-q{q}" for family in ("exponential", "student") for q in (1, 2, 4)]


@pytest.fixture(scope="module")
def outcome(data_dir, tmp_path_factory):
    """Folder and report of a small run."""
    folder = tmp_path_factory.mktemp("cifar")
    report = carry_out("cifar", FEW, folder, Source(data_dir), parameters=SMALL, say=lambda _: None)
    return folder, report


def curves_of(folder, key):
    """Curves (methods, images, checkpoints + 1) of all steps of a kernel."""
    parts = [np.load(folder / ".steps" / f"{key}-from-{start}.npz")["curves"] for start in (0, 2)]
    return np.concatenate(parts, axis=1)


def made_up(areas):
    """Steps of a kernel on ten images whose curves have nearly these areas, by method."""
    wiggle = 1e-4 * np.arange(10)[:, None] * np.arange(1, 7)[:, None, None] ** 2
    level = np.array([areas[method] for method in METHODS])[:, None, None] + wiggle
    curves = np.concatenate([np.ones((6, 10, 1)), level, 2 * level - 1], axis=2)
    model = {"sigma": 1.0, "n_support": 5, "n_patches": 9, "largest_weight": 2.0, "violation": 0.0}
    return [{"curves": 3.0 * curves[:, :4], "unexplained": np.zeros(4), **model},
            {"curves": 3.0 * curves[:, 4:], "unexplained": np.ones(6), **model}]  # fmt: skip


def six_kernels(best="dtd", at="student-q4"):
    areas = dict(zip(METHODS, (0.60, 0.65, 0.62, 0.70, 0.80, 0.90), strict=True))
    measured = {key: made_up(areas) for key in [*KEYS, "student-q1-literal"]}
    if best != "dtd":
        measured[at] = made_up({**areas, best: 0.58})
    return summarize(measured)


def exact_wilcoxon(differences):
    """Two-sided p by all ways to choose signs."""
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    middle = ranks.sum() / 2
    seen = abs(ranks[differences > 0].sum() - middle)
    signs = itertools.product((0, 1), repeat=len(ranks))
    return np.mean([abs(np.dot(ranks, sign) - middle) >= seen for sign in signs])


def test_images_are_of_all_classes_in_turn(tmp_path):
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 4))
    images = np.broadcast_to(np.arange(40, dtype=np.uint8)[:, None, None, None], (40, 32, 32, 3))
    run = Run("cifar", tmp_path, parameters={"n_images": 23})
    chosen = chosen_images(run, {"x_test": images, "y_test": labels})[:, 0, 0, 0].astype(int)
    np.testing.assert_array_equal(labels[chosen], np.arange(23) % 10)
    assert len(set(chosen)) == 23
    assert set(chosen) != set(
        chosen_images(replace(run, seed=1), {"x_test": images, "y_test": labels})[:, 0, 0, 0]
    )


def test_summary_by_hand():
    random = np.random.default_rng(0)
    steps = made_up(dict.fromkeys(METHODS, 0.5))
    for step in steps:
        step["curves"] = random.uniform(1.0, 2.0, step["curves"].shape)
    found = summary_of(steps)
    curves = np.concatenate([step["curves"] for step in steps], axis=1)
    areas = {}
    for m, method in enumerate(METHODS):
        areas[method] = np.array([(c[0] / 2 + c[1] + c[2] / 2) / 2 / c[0] for c in curves[m]])
        assert found["area"][method]["mean"] == pytest.approx(areas[method].sum() / 10)
        error = np.sqrt(((areas[method] - areas[method].mean()) ** 2).sum() / 9 / 10)
        assert found["area"][method]["standard_error"] == pytest.approx(error)
        normalised = np.array([c / c[0] for c in curves[m]])
        np.testing.assert_allclose(found["curves"][method]["mean"], normalised.mean(axis=0))
        np.testing.assert_allclose(found["curves"][method]["standard_error"][0], 0.0, atol=1e-15)
    for method in OTHERS:
        differences = areas["dtd"] - areas[method]
        test = found["tests"][method]
        assert test["wilcoxon_p"] == pytest.approx(exact_wilcoxon(differences))
        assert test["smaller"] == (differences < 0).sum()
        assert test["mean_difference"] == pytest.approx(differences.mean())
    assert found["unexplained_share"] == pytest.approx(0.6)
    assert found["n_images"] == 10


def test_verdicts_follow_the_areas():
    assert [one.verdict for one in statements(six_kernels())][:3] == ["holds"] * 3
    beaten = statements(six_kernels(best="sensitivity"))
    assert [one.verdict for one in beaten][:3] == ["holds in part", "holds", "holds"]
    assert "5 of 6 kernels" in beaten[0].measured
    assert "SA before DTD for Student, q = 4 (DTD 0.6" in beaten[0].measured
    assert "Too close" not in beaten[0].measured
    weak = statements(six_kernels(best="nearest", at="exponential-q2"))
    assert weak[1].verdict == "does not hold"


def test_what_is_too_close_to_tell_is_said():
    results = six_kernels()
    results["kernels"]["student-q4"]["tests"]["sensitivity"]["wilcoxon_p"] = 0.4
    smallest = statements(results)[0]
    assert smallest.verdict == "holds"
    assert "Too close to tell: DTD before SA for Student, q = 4" in smallest.measured


def test_few_images_prove_nothing():
    results = six_kernels()
    for one in results["kernels"].values():
        one["n_images"] = 7
        one["tests"]["random"]["wilcoxon_p"] = 2.0**-6
    assert statements(results)[1].verdict == "too few images to tell"


def test_convergence_of_the_nearest_neighbour_is_measured():
    results = six_kernels()
    for q, gap in ((1, 0.05), (2, 0.03), (4, -0.01)):
        areas = results["kernels"][f"exponential-q{q}"]["area"]
        areas["nearest"]["mean"] = areas["dtd"]["mean"] * (1 + gap)
    converging = statements(results)[3]
    assert converging.verdict == "holds"
    assert "5.0 % (q = 1), 3.0 % (q = 2), -1.0 % (q = 4)" in converging.measured
    results["kernels"]["exponential-q4"]["area"]["nearest"]["mean"] *= 1.1
    assert statements(results)[3].verdict == "does not hold"


@pytest.mark.full
@pytest.mark.data
def test_curves_begin_with_the_outlierness(outcome, data_dir, tmp_path):
    data = FEW.load(Source(data_dir))
    run = Run("cifar", tmp_path, parameters={**EXPERIMENT.parameters_of("default"), **SMALL})
    svm = whyodd.OneClassSVM(kernel="student", q=2, nu=0.1, sigma="nn")
    model = whyodd.PatchModel(svm, patch=(7, 7), max_patches=80, random_state=0)
    images = chosen_images(run, data).astype(np.float64)
    expected = model.fit(data["x_train"].astype(np.float64)).outlierness(images)
    curves = curves_of(outcome[0], "student-q2")
    assert curves.shape == (6, 3, 6)
    # The run is in float32, whose results are right to 1e-4.
    np.testing.assert_allclose(curves[:, :, 0], np.broadcast_to(expected, (6, 3)), rtol=1e-4)
    # With nothing left all patches are at distance 0 from all centers, whatever came first.
    np.testing.assert_allclose(curves[:, :, -1], np.broadcast_to(curves[0, :1, -1], (6, 3)), rtol=1e-4)


@pytest.mark.data
def test_areas_are_those_of_the_curves(outcome):
    folder, _ = outcome
    results = json.loads((folder / "cifar.json").read_text())["results"]
    assert list(results["kernels"]) == ["exponential-q2", "student-q2"]
    for key, one in (*results["kernels"].items(), *results["literal"].items()):
        for method, curves in zip(METHODS, curves_of(folder, key), strict=True):
            # The JSON has ten digits.
            np.testing.assert_allclose(one["areas"][method], area(curves), rtol=1e-9)
    assert results["literal"]["student-q2-literal"]["sigma"] == 1.0
    assert results["kernels"]["student-q2"]["sigma"] == results["kernels"]["exponential-q2"]["sigma"]


@pytest.mark.data
def test_relevant_pixels_first_beats_any_order(outcome):
    folder, _ = outcome
    for key in ("exponential-q2", "student-q2"):
        dtd, *_, random = curves_of(folder, key)
        assert (area(dtd) < area(random)).all()


@pytest.mark.data
def test_page_says_where_the_paper_is_silent(outcome):
    folder, report = outcome
    page = (folder / "cifar.md").read_text()
    assert "676" in page
    assert "Bandwidth of the Student kernels" in page
    row = next(line for line in page.splitlines() if line.startswith("| exponential, q = 2 |"))
    results = json.loads((folder / "cifar.json").read_text())["results"]
    assert f"{results['kernels']['exponential-q2']['area']['dtd']['mean']:.4f} ±" in row
    for picture in report.pictures:
        assert (folder / f"{picture.name}.png").stat().st_size > 5000


@pytest.mark.data
def test_some_images_alone_are_the_same(outcome, data_dir, tmp_path):
    """So an interrupted run ends as one that was not."""
    folder, _ = outcome
    data = FEW.load(Source(data_dir))
    run = Run("cifar", tmp_path, parameters={**EXPERIMENT.parameters_of("default"), **SMALL})
    *_, kernel = tried_kernels(run)
    trained = cache(partial(train, run, data, kernel))
    alone = measure_images(run, trained, chosen_images(run, data)[2:], 2)
    kept = np.load(folder / ".steps" / f"{kernel.key}-from-2.npz")
    assert kernel.key == "student-q2-literal"
    for name, value in alone.items():
        np.testing.assert_array_equal(value, kept[name])


def test_a_class_without_images_is_told(tmp_path):
    run = Run("cifar", tmp_path, parameters={**EXPERIMENT.parameters_of("default"), "n_images": 20})
    data = {"y_test": np.arange(19) % 10, "x_test": np.zeros((19, 32, 32, 3))}
    with pytest.raises(
        ValueError, match=r"Of some class the data have 1 test image\(s\), expected 2 of each"
    ):
        chosen_images(run, data)
