"""Panels on what an explanation accounts for, against the explanation's own numbers."""

import json
from dataclasses import replace

import numpy as np
import pytest

import whyodd
from whyodd.explanations.sentences import percent
from whyodd.findings.summary.panels import conservation_panel, unexplained_panel

RANDOM = np.random.default_rng(3)
MODEL = whyodd.OneClassSVM(sigma="median").fit(RANDOM.normal(size=(60, 4)))
ROWS = RANDOM.normal(size=(11, 4)) * 3.0
NORMAL = ["the pump runs and the valve is open", "the pump stands and the valve is shut"] * 10
PANELS = pytest.mark.parametrize("make", [conservation_panel, unexplained_panel])


def explained_rows():
    return whyodd.explain(MODEL, ROWS)


def explained_images():
    images = list(RANDOM.random((3, 12, 12)))
    model = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(3, 3), tolerance=0.0, random_state=0)
    return model.fit(images[:2]).explain(images[2:])


def explained_series():
    model = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(4,), tolerance=0.0, random_state=0)
    return model.fit(RANDOM.normal(size=(100, 2))).explain(RANDOM.normal(size=(40, 2)))


def explained_messages():
    return whyodd.TextModel(sigma=1.0).fit(NORMAL).explain(["the pump explodes", "open the valve", ""])


KINDS = pytest.mark.parametrize(
    ("explained", "part"),
    [
        (explained_rows, "variable"),
        (explained_images, "pixel"),
        (explained_series, "time step"),
        (explained_messages, "word"),
    ],
)


@KINDS
def test_every_kind_of_explanation_adds_up_and_says_so_in_its_own_words(explained, part):
    found = conservation_panel(explained())
    assert found["verdict"] == "good", found
    assert f"{part}s" in found["sentence"]


@KINDS
def test_the_unexplained_share_is_that_of_the_typical_one(explained, part):
    e = explained()
    share = float(np.median(e.unexplained / e.outlierness))
    found = unexplained_panel(e)
    assert [bar["value"] for bar in found["bars"]] == pytest.approx([1.0 - share, share])
    assert found["value_text"] == percent(1.0 - share)
    assert f"{percent(share)} of the outlierness belongs to no single {part}" in found["sentence"]


@pytest.mark.parametrize(
    ("lost", "verdict"), [(0.0, "good"), (1e-7, "good"), (1e-5, "fair"), (1e-2, "poor"), (-0.5, "poor")]
)
def test_one_row_that_does_not_add_up_is_enough(lost, verdict):
    e = explained_rows()
    gaps = np.zeros(len(e))
    gaps[4] = lost
    assert (
        conservation_panel(replace(e, unexplained=e.unexplained + gaps * e.outlierness))["verdict"] == verdict
    )


def test_relevance_of_messages_that_gets_lost_is_found():
    e = explained_messages()
    assert (
        conservation_panel(replace(e, parts=replace(e.parts, absent=0.9 * e.parts.absent)))["verdict"]
        == "poor"
    )


@pytest.mark.parametrize(("share", "verdict"), [(0.1, "good"), (0.4, "fair"), (0.6, "poor")])
def test_the_more_is_unexplained_the_worse(share, verdict):
    e = explained_rows()
    assert unexplained_panel(replace(e, unexplained=share * e.outlierness))["verdict"] == verdict


@PANELS
def test_a_method_in_other_units_cannot_be_judged(make):
    found = make(whyodd.explain(MODEL, ROWS, method="sensitivity"))
    assert found["verdict"] == "unknown"
    assert "sensitivity" in found["sentence"]
    assert "dtd" in found["sentence"]


@PANELS
def test_of_nothing_there_is_nothing_to_say(make):
    found = make(explained_rows()[:0])
    assert (found["verdict"], found["bars"]) == ("unknown", None)


def test_rows_that_are_not_odd_have_no_share():
    network = whyodd.DistanceNetwork(np.zeros((1, 2)))
    e = whyodd.explain(network, np.zeros((1, 2)), exclude_self=False)
    assert unexplained_panel(e)["verdict"] == "unknown"
    assert conservation_panel(e)["verdict"] == "good"


@PANELS
def test_panels_are_ready_for_json(make):
    for explained in (explained_rows, explained_images, explained_messages):
        json.dumps(make(explained()), allow_nan=False)
