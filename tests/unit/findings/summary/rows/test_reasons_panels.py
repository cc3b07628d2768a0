"""Panels on the reasons that are named, and on the rows they come from, against the explanation itself."""

import numpy as np
import pytest

import whyodd
from whyodd.explanations.sentences import percent
from whyodd.findings.summary.rows.known_rows import nearest_centers, outlierness_of_centers
from whyodd.findings.summary.rows.reasons_panels import few_reasons_panel, named_shares, normal_rows_panel

RNG = np.random.default_rng(0)


def test_the_share_is_that_of_the_three_first_reasons():
    X = RNG.normal(size=(60, 6))
    e = whyodd.explain(whyodd.KernelDensity().fit(X), 2.0 * X)
    shares = [sum(reason.share for reason in e.reasons(i, 3)) for i in range(len(e))]
    np.testing.assert_allclose(named_shares(e), shares, rtol=1e-12)
    found = few_reasons_panel(e)
    assert found["value_text"] == percent(float(np.median(shares)))
    assert found["verdict"] == ("good" if np.median(shares) >= 0.5 else "fair")


@pytest.mark.parametrize(("n_odd", "verdict"), [(1, "good"), (200, "poor")])
def test_many_small_reasons_are_poor(n_odd, verdict):
    x = np.zeros((5, 200))
    x[:, :n_odd] = 3.0
    e = whyodd.explain(whyodd.DistanceNetwork(np.zeros((1, 200))), x)
    assert few_reasons_panel(e)["verdict"] == verdict


def test_pairs_of_odd_rows_are_compared_with_each_other():
    normal = RNG.normal(size=(200, 2))
    pairs = np.repeat([[30.0, 0.0], [0.0, 30.0], [-30.0, 0.0]], 2, axis=0) + RNG.normal(size=(6, 2))
    X = np.vstack([normal, pairs])
    model = whyodd.KernelDensity(sigma=0.5).fit(X)
    e = whyodd.explain(model, X)
    # Centers are judged without themselves, as training rows are.
    np.testing.assert_allclose(outlierness_of_centers(e, np.arange(len(X))), e.outlierness, rtol=1e-9)
    odd = e[200:]
    nearest = nearest_centers(odd)
    assert all(abs(row - other) == 1 for row, other in zip(odd.rows, nearest, strict=True))
    found = normal_rows_panel(odd, e.threshold)
    assert (found["verdict"], found["value_text"]) == ("poor", "0 %")
    assert "known to be normal" in found["sentence"]


@pytest.mark.parametrize("rows", [[[0.1, 0.1], [0.0, -0.2]], [[9.0, 0.0], [0.0, -9.0]]], ids=["near", "far"])
def test_rows_near_and_far_are_compared_with_normal_ones(rows):
    X = RNG.normal(size=(300, 2))
    e = whyodd.explain(whyodd.KernelDensity(sigma=0.5).fit(X), rows)
    assert normal_rows_panel(e, e.threshold)["verdict"] == "good"


def test_support_vectors_are_judged_as_the_model_does():
    model = whyodd.OneClassSVM(nu=0.1, sigma="median").fit(RNG.normal(size=(200, 2)))
    e = whyodd.explain(model, [[3.0, 3.0]])
    centers = np.arange(e.network.n_centers)
    np.testing.assert_allclose(
        outlierness_of_centers(e, centers), model.outlierness(e.network.centers), rtol=1e-9
    )


def test_nothing_to_judge_by():
    X = RNG.normal(size=(20, 2))
    e = whyodd.explain(whyodd.KernelDensity().fit(X), X)
    assert normal_rows_panel(e, None)["verdict"] == "unknown"
    assert normal_rows_panel(e[:0], 1.0)["verdict"] == "unknown"
    assert few_reasons_panel(e[:0])["verdict"] == "unknown"
