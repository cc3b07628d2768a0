"""Causes: relevance judged per outlier or per segment, and the readers of the data sets."""

import numpy as np
import pytest

from blamed import detector_cases, hidden_cases, series_cases, standardised, union
from whyodd import KernelDensity, KNearestNeighbors, explain
from whyodd.evaluation.causes import (
    best_threshold,
    causes,
    causes_of_found,
    mean_and_error,
    sum_segments,
)
from whyodd.evaluation.localisation import hit_rate, roc_auc

RNG = np.random.default_rng(0)


def test_outliers_are_judged_one_by_one():
    relevance, truth = RNG.random((30, 6)), RNG.random((30, 6)) < 0.3
    found = causes(relevance, truth)
    np.testing.assert_array_equal(found.roc_auc, roc_auc(relevance, truth))
    np.testing.assert_array_equal(found.hit_rate_100, hit_rate(relevance, truth, 1.0))
    np.testing.assert_array_equal(found.hit_rate_150, hit_rate(relevance, truth, 1.5))
    assert len(found) == len(found.to_frame()) == 30


def test_segments_are_summed_and_judged_once():
    relevance = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 9.0]])
    truth = [[False, True, False], [False, False, True]]
    found = causes(relevance, truth, segments=[[0, 3], [3, 4]])
    # Single rows would blame the first variable in row 0; the segment as a whole blames the second.
    np.testing.assert_array_equal(found.hit_rate_100, [1.0, 1.0])
    np.testing.assert_array_equal(sum_segments(relevance, [[0, 3]]), [[3.0, 4.0, 0.0]])


def test_mean_and_error_leave_out_what_is_undefined():
    found = causes([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1, 0], [0, 1], [1, 1], [0, 1]])
    assert found.mean()["roc_auc"] == pytest.approx(0.5)
    values = np.array([1.0, 0.0, 0.5])
    assert found.standard_error()["roc_auc"] == pytest.approx(values.std(ddof=1) / np.sqrt(3))
    assert np.isnan(mean_and_error(np.array([np.nan]))).all()


def test_explanations_find_what_was_moved():
    model = KernelDensity().fit(RNG.normal(size=(200, 5)))
    truth = RNG.random((40, 5)) < 0.3
    e = explain(model, RNG.normal(size=(40, 5)) + 9.0 * truth)
    # Nine standard deviations are far beyond chance in one variable or in several.
    assert causes(e, truth).mean()["roc_auc"] > 0.99


def plain_adjusted_f1(o, truth, threshold):
    """F1 after each stretch of anomalies with one row at or above the threshold is called odd whole."""
    called = o >= threshold
    start = 0
    while start < len(o):
        stop = start
        while stop < len(o) and truth[stop]:
            stop += 1
        if called[start:stop].any():
            called[start:stop] = True
        start = max(stop, start + 1)
    hits = (called & truth).sum()
    return 2 * hits / (called.sum() + truth.sum())


@pytest.mark.parametrize("seed", range(20))
def test_the_best_threshold_is_that_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    # Few values, so that many are equal; stretches at both ends, and of one row.
    truth = np.repeat(rng.random(12) < 0.4, rng.integers(1, 6, 12))
    truth[0] = True
    o = rng.integers(0, 8, len(truth)) + 2.0 * truth
    found = best_threshold(o, truth)
    best = max(plain_adjusted_f1(o, truth, threshold) for threshold in o)
    assert plain_adjusted_f1(o, truth, found) == pytest.approx(best, rel=1e-12)


def test_no_threshold_finds_what_is_not_there():
    with pytest.raises(ValueError, match="false everywhere"):
        best_threshold([1.0, 2.0], [0, 0])


def test_found_segments_are_judged_by_their_found_rows_and_weighed_by_these():
    """A plain reference: a list of hit rates, each as often as its segment has found rows."""
    rng = np.random.default_rng(0)
    relevance, is_found = rng.random((60, 5)), rng.random(60) < 0.4
    segments = np.array([[0, 7], [7, 9], [20, 45], [50, 60]])
    is_found[7:9] = False
    truth = np.array([[1, 0, 0, 1, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 1, 1, 0]], dtype=bool)
    expected = []
    for (start, stop), blamed in zip(segments, truth, strict=True):
        rows = [relevance[t] for t in range(start, stop) if is_found[t]]
        if rows:
            strongest = [max(row[i] for row in rows) for i in range(5)]
            k = int(blamed.sum())
            first = sorted(range(5), key=lambda i: -strongest[i])[:k]
            expected += [sum(blamed[i] for i in first) / k] * len(rows)
    found = causes_of_found(relevance, is_found, truth, segments)
    np.testing.assert_allclose(found.hit_rate_100, expected, rtol=1e-12)


def test_nothing_found_is_nothing_judged():
    found = causes_of_found(np.eye(3), np.zeros(3), np.eye(3, dtype=bool)[:1], [[0, 3]])
    assert len(found) == 0


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([[0, 0]], "is empty"),
        ([[0, 9]], "reaches beyond the 4 rows"),
        ([[-1, 2]], "reaches beyond the 4 rows"),
        ([0, 2], "shape"),
        ([[0.0, 2.0]], "whole numbers"),
    ],
)
def test_segments_that_are_none_are_told(segments, message):
    with pytest.raises(ValueError, match=message):
        causes(np.eye(4), np.eye(4, dtype=bool)[:1], segments)


def test_relevance_is_a_table():
    with pytest.raises(ValueError, match="table"):
        causes(np.zeros((2, 3, 3)), np.zeros((2, 3, 3)))


def test_an_outlier_in_two_subspaces_is_one_outlier_to_blame_on_both():
    places, relevant = np.array([7, 3, 7]), np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    outliers, truth = union(places, relevant)
    assert outliers.tolist() == [3, 7]
    assert truth.tolist() == [[False, True, False, False], [True, False, True, False]]


def test_columns_that_never_varied_keep_their_unit():
    train, test = standardised(np.array([[1.0, 2.0], [1.0, 4.0]]), np.array([[1.5, 3.0]]))
    np.testing.assert_allclose(train, [[0.0, -1.0], [0.0, 1.0]])
    np.testing.assert_allclose(test, [[0.5, 0.0]])


@pytest.mark.data
@pytest.mark.parametrize("name", ["smd", "asd"])
def test_segments_of_series_are_read_with_their_rows(data_dir, name):
    case = series_cases(data_dir, name, n_train=300)[0]
    with np.load(data_dir / name / f"{case.name}.npz") as data:
        first, last = data["segments"][0], data["segments"][-1]
        (_, test) = standardised(data["train"], data["test"])
    start, stop = case.segments[-1]
    assert case.segments[0].tolist() == [0, first[1] - first[0]]
    assert stop == len(case.rows)
    np.testing.assert_array_equal(case.rows[start:stop], test[slice(*last)])
    np.testing.assert_array_equal(case.of_segments(case.series), case.rows)
    # Measured 0.82 and 0.83, with standard errors of 0.03 and 0.05; a wrong reader would be at 0.5.
    assert causes(np.abs(case.rows), case.truths[""], case.segments).mean()["roc_auc"] > 0.65


@pytest.mark.data
def test_outliers_are_read_with_their_variables(data_dir):
    hidden = hidden_cases(data_dir, "hics")[0]
    assert hidden.train.shape == (1000, 10)
    assert len(hidden.rows) == 19
    np.testing.assert_array_equal(hidden.rows, hidden.train[hidden.places])
    e = explain(KNearestNeighbors().fit(hidden.train), hidden.train)[hidden.places]
    # Measured 0.87; chance is 0.5 with a standard error of 0.05 for 19 outliers.
    assert causes(e, hidden.truths[""]).mean()["roc_auc"] > 0.7


@pytest.mark.data
def test_each_detector_has_a_truth_of_its_own(data_dir):
    case = next(case for case in detector_cases(data_dir) if case.name == "vertebral")
    # As the table in the description of the data has it.
    sizes = {who: round(float(truth.sum(axis=1).mean()), 2) for who, truth in case.truths.items()}
    assert sizes == {"copod": 2.03, "hbos": 1.13, "iforest": 1.8}
    np.testing.assert_array_equal(case.rows, case.train[case.places])
