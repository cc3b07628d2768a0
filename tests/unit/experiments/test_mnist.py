"""External validation on MNIST, at a size that takes a moment."""

import json
from collections import Counter

import numpy as np
import pytest

from whyodd.experiments.data import Source
from whyodd.experiments.mnist.experiment import (
    EXPERIMENT,
    TYPES,
    joined,
    measure_class,
    points_to_explain,
    share_left,
    sides,
    training_images,
)
from whyodd.experiments.run import Run, carry_out

SMALL = {
    "train_per_class": 20,
    "test_per_class": 4,
    "embedded_per_type": 4,
    "regularizations": (1.0, 1e6),
}


def random_digits(n_per_class=6):
    """Noise in the place of digits: no two of them are equal."""
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), n_per_class)
    draw = lambda: random.integers(0, 256, (labels.size, 28, 28), dtype=np.uint8)  # noqa: E731
    return {"x_train": draw(), "y_train": labels, "x_test": draw(), "y_test": labels}


def small_run(tmp_path, **parameters):
    return Run("mnist", tmp_path, parameters={**EXPERIMENT.parameters_of("default"), **SMALL, **parameters})


@pytest.fixture(scope="module")
def outcome(data_dir, tmp_path_factory):
    """Folder and report of a small run."""
    folder = tmp_path_factory.mktemp("mnist")
    report = carry_out("mnist", EXPERIMENT, folder, Source(data_dir), parameters=SMALL, say=lambda _: None)
    return folder, report


def step_of(folder, digit):
    return dict(np.load(folder / ".steps" / f"class-{digit}.npz"))


def test_sides_are_sums_of_pixels():
    relevance = np.random.default_rng(0).random((2, 3, 28 * 56))
    both = sides(relevance)
    for point in np.ndindex(2, 3):
        left = right = 0.0
        for i, value in enumerate(relevance[point]):
            if i % 56 < 28:
                left += value
            else:
                right += value
        # Sums of 784 numbers below 1, in another order.
        np.testing.assert_allclose(both[point], [left, right], rtol=1e-12)
        assert share_left(both)[point] == pytest.approx(left / (left + right), rel=1e-12)


def test_a_blank_beside_a_digit_has_the_right_side():
    digit = np.full((1, 28, 28), 7, dtype=np.uint8)
    np.testing.assert_array_equal(sides(joined(digit, 0 * digit)), [[7 * 784, 0]])


def test_training_images_are_digits_of_the_class_beside_a_blank(tmp_path):
    data = random_digits()
    images = training_images(small_run(tmp_path), data, 3).reshape(-1, 28, 56)
    np.testing.assert_array_equal(images[:, :, :28], data["x_train"][data["y_train"] == 3])
    assert not images[:, :, 28:].any()
    assert len(training_images(small_run(tmp_path, train_per_class=2), data, 3)) == 2


def test_types_share_their_halves(tmp_path):
    data = random_digits()
    points = points_to_explain(small_run(tmp_path), data, 3).reshape(3, 4, 28, 56)
    inlier, first, second = points
    class_of = {image.tobytes(): label for image, label in zip(data["x_test"], data["y_test"], strict=True)}
    label = lambda half: class_of[half.astype(np.uint8).tobytes()]  # noqa: E731
    np.testing.assert_array_equal(inlier[:, :, :28], first[:, :, :28])
    np.testing.assert_array_equal(first[:, :, 28:], second[:, :, 28:])
    assert not inlier[:, :, 28:].any()
    assert {label(half) for half in inlier[:, :, :28]} == {3}
    assert 3 not in {label(half) for half in (*first[:, :, 28:], *second[:, :, :28])}


def test_other_classes_are_drawn_alike(tmp_path):
    data = random_digits(n_per_class=300)
    points = points_to_explain(small_run(tmp_path, test_per_class=300), data, 0).reshape(3, 300, 28, 56)
    class_of = {image.tobytes(): label for image, label in zip(data["x_test"], data["y_test"], strict=True)}
    counts = Counter(class_of[half.astype(np.uint8).tobytes()] for half in points[2, :, :, :28])
    # 300/9 = 33 expected of each, with a standard deviation of 5.4.
    assert len(counts) == 9
    assert 12 <= min(counts.values()) <= max(counts.values()) <= 55


@pytest.mark.full
@pytest.mark.data
def test_both_sides_and_what_is_unexplained_make_up_the_outlierness(outcome):
    step = step_of(outcome[0], 5)
    assert step["sides"].shape == (2, 3, 4, 2)
    np.testing.assert_allclose(
        step["sides"][0].sum(axis=-1) + step["unexplained"], step["outlierness"], rtol=1e-9
    )


@pytest.mark.full
@pytest.mark.data
def test_mvn_is_the_formula_of_the_paper(outcome, data_dir, tmp_path):
    data, run = Source(data_dir).mnist(), small_run(tmp_path)
    train, points = training_images(run, data, 5), points_to_explain(run, data, 5)
    center = train.sum(axis=0) / len(train)
    spread = ((train - center) ** 2).sum(axis=0) / len(train) + 1.0
    expected = sides((points - center) ** 2 / (2 * spread))
    np.testing.assert_allclose(step_of(outcome[0], 5)["sides"][1], expected, rtol=1e-9)


@pytest.mark.data
def test_numbers_are_those_of_the_points(outcome):
    folder, _ = outcome
    results = json.loads((folder / "mnist.json").read_text())["results"]
    both = np.array([step_of(folder, digit)["sides"] for digit in range(10)])
    shares = both[..., 0] / both.sum(axis=-1)
    for m, method in enumerate(("dtd", "mvn")):
        for t, kind in enumerate(TYPES):
            told = results["classes"]["7"][method][kind]
            assert told["left"] == pytest.approx(both[7, m, t, :, 0].mean())
            assert told["right"] == pytest.approx(both[7, m, t, :, 1].mean())
            assert results["mean"][method][kind]["share_left"] == pytest.approx(shares[:, m, t].mean())
    ratio = both[2, 0, 1, :, 0].mean() / both[2, 0, 0, :, 0].mean()
    assert results["classes"]["2"]["left_beside_blank"]["dtd"]["ratio_of_means"] == pytest.approx(ratio)
    # The λ that is used is among those that are tried.
    used, many = np.array(results["regularization"]["share_left"]["type II"])
    assert used == pytest.approx(results["mean"]["mvn"]["type II"]["share_left"])
    assert many > used


@pytest.mark.data
def test_the_paper_is_right_even_on_few_digits(outcome):
    _, report = outcome
    assert [statement.verdict for statement in report.statements] == ["holds"] * 4


@pytest.mark.data
def test_page_has_all_classes_and_figures(outcome):
    folder, report = outcome
    page = (folder / "mnist.md").read_text()
    for picture in report.pictures:
        assert f"({picture.name}.png)" in page
        assert (folder / f"{picture.name}.png").stat().st_size > 5000
    for digit in range(10):
        assert f"| {digit} | MVN | type II |" in page
    assert "λ of MVN" in page


@pytest.mark.data
def test_a_class_alone_is_the_same(outcome, data_dir, tmp_path):
    """So an interrupted run ends as one that was not."""
    alone = measure_class(small_run(tmp_path), Source(data_dir).mnist(), 4)
    for name, value in alone.items():
        np.testing.assert_array_equal(value, step_of(outcome[0], 4)[name])
