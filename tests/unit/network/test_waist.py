"""A member of the waist with nothing but outlierness and decompose goes all the way."""

import json
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from made_up.members import SumOfSquares
from whyodd.evaluation import compare, conservation_gap, flip, stability, unexplained_share
from whyodd.explainers.explaining import explained_by
from whyodd.explainers.registry import EXPLAINERS
from whyodd.network.forest import ForestScore
from whyodd.network.waist import CAPABILITIES, Decomposition, is_score, offers, once_per_member
from whyodd.plots import PLOTS

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(40, 3))
ODD = pd.DataFrame([[0.1, 3.0, -0.5], [4.0, 0.0, 1.0]], columns=["speed", "load", "heat"])
WITH_DISTANCES = [name for name, method in EXPLAINERS.items() if "distances" in method.needs]
# They ask for the outlierness of rows, and for normal rows.
WITH_NORMAL = [name for name in EXPLAINERS if EXPLAINERS[name].needs & {"centers", "expected"}]
WITH_NOTHING = [name for name in EXPLAINERS if not EXPLAINERS[name].needs]
OF_OTHER_THINGS = {"events", "flipping", "heatmap", "heatmaps", "series", "strangest", "text"}


@pytest.fixture
def e():
    return whyodd.explain(SumOfSquares(), ODD)


def test_is_neuralized_as_it_is():
    member = SumOfSquares()
    assert whyodd.neuralize(member) is member
    assert is_score(member)
    assert not is_score(SumOfSquares)
    assert not is_score(whyodd.OneClassSVM())
    assert not any(offers(member, name) for name in CAPABILITIES)


def test_capabilities_have_known_names():
    network = whyodd.DistanceNetwork(NORMAL)
    committee = whyodd.Committee().fit(NORMAL).network_
    assert network.capabilities | committee.capabilities | ForestScore.capabilities == CAPABILITIES.keys()
    with pytest.raises(KeyError, match="There is no capability 'neighbours'"):
        offers(network, "neighbours")


def test_what_a_decomposition_leaves_out_is_filled_in():
    parts = Decomposition(np.ones((2, 3)), np.zeros(2), np.array([3.0, 3.0]))
    np.testing.assert_array_equal(parts.log_inlierness, [-3.0, -3.0])
    np.testing.assert_array_equal(parts.discarded, [0.0, 0.0])


def test_is_explained_with_what_it_knows(e):
    np.testing.assert_array_equal(e.relevance, ODD.to_numpy() ** 2)
    np.testing.assert_array_equal(e.outlierness, e.relevance.sum(axis=1))
    assert e.exactness == "exact"
    assert np.isnan(e.expected).all()
    assert not e.direction.any()
    assert e.neighbors() == [[], []]
    assert e.threshold is e.is_odd is None
    assert e.names == ("row 0", "row 1")


def test_sentences_do_without_what_is_expected(e):
    assert e.why(1, k=1) == "speed is unusual (4): 94 % of the outlierness; 0 % belongs to no single variable"
    assert [reason.words for reason in e.reasons(0, 1)] == ["load is unusual (3)"]
    grouped = whyodd.explain(SumOfSquares(), ODD, groups={"engine": ["speed", "load"]})
    assert grouped.reasons(1, 1)[0].words == "engine is unusual (speed 4, load 0)"


def test_views(e):
    assert "oddest is row 1: speed is unusual (4)" in repr(e)
    assert "speed" in e._repr_html_()
    assert e.to_frame()["expected"].isna().all()
    told = json.loads(json.dumps(e.to_dict(), allow_nan=False))
    assert told["rows"][0]["expected"] == [None] * 3


def test_stands_behind_the_steps_of_a_pipeline():
    steps = StandardScaler().fit(NORMAL + np.array([5.0, 0.0, 0.0]))
    e = whyodd.explain(make_pipeline(steps, SumOfSquares()), ODD.to_numpy())
    np.testing.assert_allclose(e.outlierness, (steps.transform(ODD.to_numpy()) ** 2).sum(axis=1))
    assert e.data[1, 0] == 4.0


@pytest.mark.filterwarnings("ignore")  # of shap, when it is imported
@pytest.mark.parametrize("method", WITH_NORMAL)
def test_methods_that_compare_need_normal_rows(method):
    options = {"normal": NORMAL} | ({"background": 5} if method == "shap" else {})
    other = whyodd.explain(SumOfSquares(), ODD.to_numpy(), method=method, options=options, random_state=0)
    assert other.relevance.argmax(axis=1).tolist() == [1, 0]
    with pytest.raises(
        whyodd.UnsupportedModelError,
        match=r"A SumOfSquares (keeps no normal|has no expected) rows\. .*'normal': rows",
    ):
        whyodd.explain(SumOfSquares(), ODD.to_numpy(), method=method)


@pytest.mark.parametrize("method", WITH_DISTANCES)
def test_methods_of_distances_refuse(method):
    with pytest.raises(whyodd.UnsupportedModelError, match="SumOfSquares measures no distances"):
        whyodd.explain(SumOfSquares(), ODD, method=method, options={"normal": NORMAL})


@pytest.mark.parametrize("method", WITH_NOTHING)
def test_methods_that_need_nothing_work(method):
    options = {"shape": (1, 3)} if method == "sobel" else {}
    other = whyodd.explain(SumOfSquares(), ODD.to_numpy(), method=method, options=options, random_state=0)
    assert np.isfinite(other.relevance).all()


@pytest.mark.filterwarnings("ignore")  # of shap, when it is imported
def test_additive_methods_account_for_all_of_it():
    options = {"normal": NORMAL, "background": 5}
    e = whyodd.explain(SumOfSquares(), ODD.to_numpy(), method="shap", options=options, random_state=0)
    np.testing.assert_allclose(e.summed_relevance + e.unexplained, e.outlierness)


class TestEvaluation:
    def test_what_needs_no_more_works(self, e):
        np.testing.assert_array_equal(conservation_gap(e), [0.0, 0.0])
        np.testing.assert_array_equal(unexplained_share(e), [0.0, 0.0])
        assert explained_by(e, "random", random_state=0).method == "random"
        moved = stability(SumOfSquares(), ODD.to_numpy(), random_state=0)
        assert (moved.mean > 0.0).all()
        table = compare(SumOfSquares(), ODD, ["dtd", "random"], metrics=["agreement"], random_state=0)
        assert table["agreement"][0] == 1.0

    def test_flipping_is_refused_in_one_sentence(self, e):
        with pytest.raises(whyodd.UnsupportedModelError, match="SumOfSquares measures no distances"):
            flip(SumOfSquares(), ODD, e)

    def test_metrics_that_do_not_apply_are_left_out(self):
        table = compare(SumOfSquares(), ODD, ["dtd", "random"], random_state=0)
        assert "area" not in table.columns
        with pytest.raises(ValueError, match="metric 'area' removes variables"):
            compare(SumOfSquares(), ODD, ["dtd"], metrics=["area"])


@pytest.mark.parametrize("name", sorted(PLOTS.keys() - OF_OTHER_THINGS))
def test_pictures_of_tables(e, name):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    drawn = PLOTS[name](e)
    drawn.figure.canvas.draw()
    plt.close("all")


def test_what_is_computed_once_goes_with_its_member():
    calls = []
    count = once_per_member(lambda member: calls.append(type(member)) or len(calls))
    one, two = SumOfSquares(), SumOfSquares()
    assert [count(one), count(two), count(one)] == [1, 2, 1]
    gone = weakref.ref(one)
    del one
    assert gone() is None
