"""The trust panels: numbers against the instruments they come from, verdicts, and what cannot be measured."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from whyodd.evaluation import area, conservation_gap, flip, stability, unexplained_share
from whyodd.explainers.explaining import explained_by
from whyodd.explanations.sentences import percent
from whyodd.findings.summary.panels import conservation_panel, unexplained_panel
from whyodd.findings.summary.rows.trust import _FLIPPED_ADVICE, _MOVED_ADVICE, Areas, _advice, trust
from whyodd.kernels import Exponential

RNG = np.random.default_rng(8)
NORMAL = RNG.normal(size=(80, 5)) * np.array([1.0, 2.0, 0.5, 1.0, 1.0])
ROWS = RNG.normal(size=(30, 5)) * 3.0
MODEL = whyodd.KernelDensity(sigma=1.0).fit(NORMAL)
E = whyodd.explain(MODEL, ROWS)


def panels(e, **keywords):
    """The panels of flipping and stability."""
    found = trust(e, **keywords)["panels"]
    by_title = {panel["title"]: panel for panel in found}
    return by_title["Points to what matters"], by_title["Holds steady"]


def test_areas_are_those_of_the_flipping_instrument():
    points, _ = panels(E, random_state=3)
    for bar, method in zip(points["bars"], ["dtd", "nearest", "random"], strict=True):
        e = whyodd.explain(MODEL, ROWS, method=method, random_state=3)
        expected = float(area(flip(MODEL, ROWS, e)).mean())
        assert bar["value"] == pytest.approx(expected, rel=1e-9), method
        assert bar["value_text"] == percent(expected)
        assert bar["value_text"] in points["sentence"]
    assert points["value_text"] == f"{points['bars'][0]['value_text']} left"


def test_what_moves_is_the_median_of_the_stability_instrument():
    _, steady = panels(E, random_state=3)
    found = stability(MODEL, ROWS, scale=0.01, n=5, random_state=3)
    share = float(np.median(0.01 * found.mean))
    assert steady["value_text"] == percent(1.0 - share)
    assert f"{percent(share)} of the relevance moves" in steady["sentence"]


def test_sums_and_reasons_are_the_panels_of_the_same_rows():
    first, second = trust(E)["panels"][:2]
    assert (first, second) == (conservation_panel(E), unexplained_panel(E))
    assert conservation_gap(E).max() < 1e-6
    assert first["verdict"] == "good"
    share = float(np.median(unexplained_share(E)))
    assert percent(share) in second["sentence"]


def test_only_the_oddest_of_many_rows_are_measured():
    found = trust(E, max_rows=12)
    oddest = E[np.argsort(-E.outlierness)[:12]]
    assert found["rows"] == 12
    assert found["panels"][2]["bars"] == trust(oddest)["panels"][2]["bars"]
    assert "the 12 oddest rows" in found["panels"][2]["sentence"]
    assert "all rows" in trust(oddest)["panels"][2]["sentence"]


def test_models_of_which_flipping_is_slow_are_flipped_in_fewer_rows():
    random = np.random.default_rng(0)
    e = whyodd.explain(whyodd.KNearestNeighbors(3).fit(random.normal(size=(12_000, 2))), ROWS[:, :2])
    found = trust(e)
    assert found["rows"] == 30
    assert "the 25 oddest rows" in found["panels"][2]["sentence"]
    assert found["panels"][2]["bars"] == trust(e.top(25))["panels"][2]["bars"]


def test_the_same_seed_gives_the_same_panels_ready_for_json():
    assert json.loads(json.dumps(trust(E))) == trust(E)


def test_a_random_explanation_is_poor_in_both():
    e = whyodd.explain(MODEL, ROWS, method="random", random_state=5)
    points, steady = panels(e)
    assert (points["verdict"], steady["verdict"]) == ("poor", "poor")
    assert "explain with 'dtd'" in points["sentence"]
    assert "explain with 'dtd'" in steady["sentence"]


def test_the_nearest_neighbour_is_fair_beside_itself():
    assert panels(explained_by(E, "nearest"))[0]["verdict"] == "fair"


def test_deep_taylor_decomposition_is_good_where_many_centers_count():
    random = np.random.default_rng(0)
    model = whyodd.KernelDensity(sigma=1.5).fit(random.normal(size=(300, 12)))
    e = whyodd.explain(model, 2.0 * random.normal(size=(60, 12)))
    points, steady = panels(e)
    assert (points["verdict"], steady["verdict"]) == ("good", "good")


def noisy(mean, spread, n=20):
    values = np.linspace(-1.0, 1.0, n) * spread
    return mean + values - values.mean()


@pytest.mark.parametrize(
    ("own", "nearest", "verdict"),
    [
        (noisy(0.2, 0.01), 0.3, "good"),
        (noisy(0.3, 0.2), 0.29, "fair"),  # above, but not clearly
        (noisy(0.3, 0.01), 0.2, "poor"),  # clearly worse than what is simpler
        (noisy(0.5, 0.2), 0.9, "poor"),  # no better than random
        (noisy(0.48, 0.4, n=4), 0.9, "unknown"),  # too few rows to tell
        (noisy(0.6, 0.01, n=4), 0.9, "poor"),  # clearly worse than random, even with few rows
        (noisy(0.1, 0.0, n=1), 0.9, "unknown"),
    ],
)
def test_verdicts_on_areas_take_the_spread_of_rows_into_account(own, nearest, verdict):
    areas = Areas(own, np.full(own.shape, nearest), np.full(own.shape, 0.5))
    assert areas.verdict == verdict


def test_one_row_has_bars_but_no_verdict_on_its_order():
    points, steady = panels(E[:1])
    assert points["verdict"] == "unknown"
    assert len(points["bars"]) == 3
    assert "too few rows" in points["sentence"]
    assert steady["verdict"] in ("good", "fair")


def test_methods_in_other_units_are_judged_by_their_order():
    for method in ("nearest", "sensitivity"):
        e = explained_by(E, method)
        assert not e.is_additive
        found = trust(e)["panels"]
        assert [panel["verdict"] for panel in found[:2]] == ["unknown", "unknown"]
        assert all(panel["verdict"] != "unknown" for panel in found[2:])


def test_slow_methods_are_moved_on_fewer_rows():
    e = explained_by(E, "integrated_gradients")
    _, steady = panels(e, random_state=1)
    oddest = ROWS[np.argsort(-E.outlierness)[:10]]
    found = stability(MODEL, oddest, method="integrated_gradients", scale=0.01, n=1, random_state=1)
    assert percent(1.0 - float(np.median(0.01 * found.mean))) == steady["value_text"]


def unknown_cases():
    """A name, an explanation, and whether flipping and stability are unknown of it."""
    one_column, equal = whyodd.KernelDensity().fit(NORMAL[:, :1]), whyodd.DistanceNetwork(np.zeros((3, 2)))
    yield "one variable", whyodd.explain(one_column, ROWS[:, :1]), (True, True)
    yield "nothing varies", whyodd.explain(equal, ROWS[:, :2]), (False, True)
    yield "not a number", replace(E, relevance=np.full(E.relevance.shape, np.nan)), (True, True)
    yield "nothing is odd", whyodd.explain(equal, np.zeros((3, 2))), (True, True)
    yield "no rows", E[:0], (True, True)


def test_what_a_model_cannot_do_is_left_out():
    """A linear score keeps no normal rows: nothing can be flipped, moved by their spread, or compared."""
    e = whyodd.explain(SGDOneClassSVM(random_state=0).fit(NORMAL), ROWS)
    titles = {panel["title"] for panel in trust(e)["panels"]}
    assert titles <= {"Parts add up", "Explained by single reasons", "Few reasons"}
    assert "Parts add up" in titles


UNKNOWN = [pytest.param(*rest, id=name) for name, *rest in unknown_cases()]


@pytest.mark.parametrize(("e", "is_unknown"), UNKNOWN)
def test_what_cannot_be_measured_is_unknown_and_says_why(e, is_unknown):
    found = trust(e)
    assert len(found["panels"]) >= 3
    for panel, expected in zip(panels(e), is_unknown, strict=True):
        assert (panel["verdict"] == "unknown") == expected, panel
        assert panel["sentence"].endswith(".")
        if expected:
            assert panel["bars"] is None
    json.dumps(found, allow_nan=False)


def test_an_error_of_an_instrument_is_told_in_the_panel():
    network = whyodd.DistanceNetwork(NORMAL[:, :2], kernel=Exponential(q=1.0))
    far = np.array([[1e25, 0.0], [1e25, 1e25]], dtype=np.float32)  # the squares of which are beyond float32
    points, steady = panels(whyodd.explain(network, far))
    assert points["verdict"] == "unknown"
    assert "exceeds the largest float32" in points["sentence"]
    assert steady["verdict"] == "good"


def test_relevance_from_elsewhere_is_flipped_but_not_moved():
    points, steady = panels(replace(E, method="by hand"))
    assert points["bars"] == panels(E)[0]["bars"]
    assert steady["verdict"] == "unknown"
    assert "by hand" in steady["sentence"]


def test_pipelines_groups_and_training_rows():
    model = make_pipeline(StandardScaler(), whyodd.KernelDensity()).fit(NORMAL)
    e = whyodd.explain(model, NORMAL, groups={"both": ["x0", "x1"]})
    assert (e.excluded >= 0).all()
    points, steady = panels(e)
    assert points["verdict"] != "unknown"
    assert steady["verdict"] != "unknown"
    expected = area(flip(model, NORMAL, {"": e})[""]).mean()
    assert points["bars"][0]["value"] == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("advice", [_FLIPPED_ADVICE, _MOVED_ADVICE])
def test_the_method_in_use_is_not_advised(advice):
    assert "explain with 'dtd'" in _advice(advice, "poor", "sensitivity")
    for verdict in advice:
        assert "dtd" not in _advice(advice, verdict, "dtd")
