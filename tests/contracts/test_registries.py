"""What every registered model, adapter and explainer and every public name must keep to."""

import gc
import importlib
import inspect
import json
import subprocess
import sys
import weakref
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from contracts.every import EVERY, MEMBERS
from contracts.fitted import FITTED, LINEAR, Case, own_scores, said
from contracts.fitted_ensembles import ENSEMBLES
from contracts.neural import NEURAL
from reference import ensembles, pooled
from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.registry import ADAPTERS
from whyodd.explainers import EXPLAINERS
from whyodd.maths.hard_poolings import LocalReach
from whyodd.models.registry import MODELS
from whyodd.network.waist import offers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4)) @ RNG.normal(size=(4, 4))
ROWS = np.vstack([X[:5], X[5:10] * 3, RNG.normal(size=(5, 4)), np.full((1, 4), 20.0)])

# Every adapter with each of its fitted models, every own model as it is constructed by default.
NETWORKS = [case for cases in FITTED.values() for case in cases] + [Case(cls()) for cls in MODELS.values()]
ADAPTED = [case for cases in EVERY.values() for case in cases]


def _name(case):
    return f"{type(case.model).__module__}.{type(case.model).__name__}"


def test_every_adapter_has_a_fitted_model():
    assert EVERY.keys() | LINEAR.keys() | NEURAL.keys() == ADAPTERS.keys()
    assert all(EVERY.values())
    assert all(NEURAL.values())


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=pytest.mark.torch) if path in NEURAL else path for path in ADAPTERS]
)
def test_key_is_the_path_of_the_class(path):
    module, _, name = path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    assert f"{cls.__module__}.{cls.__qualname__}" == path


@pytest.mark.parametrize("adapter", ADAPTERS.values())
def test_adapter_says_how_the_models_own_score_is_recovered(adapter):
    doc = inspect.getdoc(adapter.read)
    assert any(score in doc for score in ("score_samples", "decision_function", "kneighbors", "transform"))


@pytest.mark.parametrize("path", EVERY)
def test_fitted_models_are_those_of_the_adapter(path):
    assert all(find_entry(ADAPTERS, case.model) is ADAPTERS[path] for case in EVERY[path])


@pytest.mark.parametrize("case", ADAPTED, ids=_name)
class TestAdapter:
    def test_gives_back_the_models_own_scores(self, case):
        model = case.fit(X)
        network, adapter = whyodd.neuralize(model), find_entry(ADAPTERS, model)
        rows = case.rows(ROWS)
        own, recovered = adapter.own(model, rows), own_scores(model, network, rows)
        np.testing.assert_allclose(recovered, own, rtol=1e-9, atol=1e-12 * np.abs(own).max())

    def test_threshold_and_training_scores_stay_with_it(self, case):
        model = case.fit(X)
        rows = case.rows(ROWS)
        e, alone = (whyodd.explain(each, rows) for each in (model, whyodd.neuralize(model)))
        if find_entry(ADAPTERS, model).is_kept:
            assert alone.threshold == e.threshold
        if not hasattr(model, "decision_scores_"):
            return
        chances = said(model, "predict_proba", rows)[:, 1]
        np.testing.assert_allclose(alone.probability, chances, rtol=1e-9, atol=1e-9)
        verdict = whyodd.neuralize(model).verdict
        assert verdict.contamination == model.contamination
        n_scores = len(model.decision_scores_)  # of the rows that were drawn, if some were
        n_above = [(verdict.training >= o).sum() for o in alone.outlierness]
        np.testing.assert_allclose(alone.p_value, (1 + np.array(n_above)) / (1 + n_scores), rtol=1e-15)

    def test_columns_of_a_frame_are_matched_by_name(self, case):
        names = ["a", "b", "c", "d"]
        rows = case.rows(pd.DataFrame(ROWS, columns=names))
        model = case.fit(pd.DataFrame(X, columns=names))
        e = whyodd.explain(model, rows)
        names = list(rows.columns)
        assert list(e.feature_names) == names
        if not _name(case).startswith("pyod."):  # PyOD does not keep the names
            turned = whyodd.explain(model, rows[names[::-1]])
            np.testing.assert_array_equal(turned.relevance, e.relevance)

    def test_is_saved_and_loaded(self, case, tmp_path):
        member, rows = whyodd.neuralize(case.fit(X)), case.rows(ROWS)
        whyodd.save(member, tmp_path / "member.whyodd")
        again = whyodd.load(tmp_path / "member.whyodd")
        np.testing.assert_array_equal(again.decompose(rows).relevance, member.decompose(rows).relevance)
        assert whyodd.explain(again, rows).threshold == whyodd.explain(member, rows).threshold

    def test_unfitted_model_says_to_fit(self, case):
        with pytest.raises(NotFittedError, match=r"This \w+ is not fitted yet: call fit"):
            whyodd.neuralize(clone(case.model))


@pytest.mark.parametrize("case", NETWORKS, ids=_name)
class TestNetworkOfAModel:
    def test_is_explained_as_the_plain_loops_have_it(self, case):
        model = case.fit(X)
        network = whyodd.neuralize(model)
        assert_agrees(whyodd.explain(model, ROWS), pooled.explain_network(ROWS, network), network)

    def test_conserves_the_outlierness(self, case):
        e = whyodd.explain(case.fit(X), ROWS)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)

    def test_over_what_is_usual_it_conserves_and_is_1_on_average(self, case):
        model, others = case.fit(X), ROWS[5:]
        e = whyodd.explain(model, ROWS, normal=others)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        np.testing.assert_allclose(e.outlierness[5:].mean(), 1.0, rtol=1e-9)

    def test_training_rows_that_are_centers_are_explained_without_themselves(self, case):
        model = case.fit(X)
        network = whyodd.neuralize(model)
        own = np.full(len(X), -1)
        if network.rows is not None:
            own[network.rows] = np.arange(network.n_centers)
        assert_agrees(whyodd.explain(model, X), pooled.explain_network(X, network, own), network)


@pytest.mark.parametrize("case", [case for cases in MEMBERS.values() for case in cases], ids=_name)
class TestMemberOfAModel:
    """What becomes neither a distance network nor a linear score."""

    def test_conserves_the_outlierness(self, case):
        e = whyodd.explain(case.fit(X), case.rows(ROWS))
        assert (e.outlierness >= 0.0).all()
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)

    def test_over_what_is_usual_it_conserves_and_is_1_on_average(self, case):
        model, rows = case.fit(X), case.rows(ROWS)
        e = whyodd.explain(model, rows, normal=rows[5:])
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        np.testing.assert_allclose(e.outlierness[5:].mean(), 1.0, rtol=1e-9)

    def test_behind_a_map_it_conserves_and_is_in_the_units_before(self, case):
        if not offers(whyodd.neuralize(case.fit(X)), "through") or case.columns is not None:
            return
        names = ["a", "b", "c", "d"]
        steps = make_pipeline(StandardScaler(), PCA(4), clone(case.model))
        pipeline = steps.fit(pd.DataFrame(X + 100.0, columns=names))
        e = whyodd.explain(pipeline, pd.DataFrame(ROWS + 100.0, columns=names))
        assert list(e.feature_names) == names
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-7)
        told = e.expected[~np.isnan(e.expected)]
        assert np.all(np.abs(told - 100.0) < 10.0 * np.abs(ROWS).max())
        if offers(e.network, "expected"):
            other = whyodd.explain(pipeline, pd.DataFrame(ROWS + 100.0, columns=names), method="occlusion")
            np.testing.assert_allclose(other.outlierness, e.outlierness, rtol=1e-7)
            assert np.isfinite(other.relevance).all()

    @pytest.mark.full
    def test_is_shown_in_every_way(self, case, tmp_path):
        e = whyodd.explain(case.fit(X), case.rows(ROWS))
        whyodd.write_report(e, tmp_path / "page.html")
        told = (tmp_path / "page.html").read_text(encoding="utf-8"), e._repr_html_(), repr(e)
        first = e.top(1).reasons(0, 1)[0].name
        assert all(first in text for text in told)
        assert json.loads(json.dumps(e.to_dict()))["exactness"] == "exact"
        assert len(e.to_frame()) == len(e) * (e.relevance.shape[1] + 1)

    def test_does_not_hold_on_to_the_model(self, case):
        model = case.fit(X)
        member, gone = whyodd.neuralize(model), weakref.ref(model)
        before = member.outlierness(case.rows(ROWS))
        del model
        gc.collect()
        assert gone() is None
        np.testing.assert_array_equal(member.outlierness(case.rows(ROWS)), before)


@pytest.mark.parametrize("case", [case for cases in ENSEMBLES.values() for case in cases], ids=_name)
class TestEnsemble:
    def test_is_explained_as_the_plain_loops_have_it(self, case):
        model = case.fit(X)
        member, e = whyodd.neuralize(model), whyodd.explain(model, ROWS)
        for row, x in enumerate(ROWS):
            found = ensembles.explain(member, x)
            size = np.abs(found.relevance).max()
            np.testing.assert_allclose(e.relevance[row], found.relevance, rtol=1e-9, atol=1e-9 * size)
            np.testing.assert_allclose(e.outlierness[row], found.outlierness, rtol=1e-9)
            rounding = 1e-9 * found.outlierness
            np.testing.assert_allclose(e.unexplained[row], found.unexplained, rtol=1e-9, atol=rounding)


@pytest.mark.parametrize("path", LINEAR)
class TestLinearModel:
    def test_gives_back_the_models_own_scores(self, path):
        model = LINEAR[path].fit(X)
        recovered = own_scores(model, whyodd.neuralize(model), ROWS)
        np.testing.assert_allclose(recovered, ADAPTERS[path].own(model, ROWS), rtol=1e-9, atol=1e-12)

    def test_is_decomposed_onto_the_variables_with_their_signs(self, path):
        model = LINEAR[path].fit(X)
        linear, e = whyodd.neuralize(model), whyodd.explain(model, ROWS)
        for x, relevance, unexplained, o in zip(ROWS, e.relevance, e.unexplained, e.outlierness, strict=True):
            terms = [-w * value for w, value in zip(linear.coef, x, strict=True)]
            np.testing.assert_allclose(relevance, terms, rtol=1e-15)
            np.testing.assert_allclose(sum(terms) + unexplained, o, rtol=1e-12, atol=1e-12)

    def test_unfitted_model_says_to_fit(self, path):
        with pytest.raises(NotFittedError, match=r"This \w+ is not fitted yet: call fit"):
            whyodd.neuralize(clone(LINEAR[path].model))


def assert_agrees(e, expected, network):
    """Within 1e-9 of the row's largest relevance, of o, and of the largest value of the data."""
    o = expected.outlierness
    relevance = 1e-9 * np.abs(expected.relevance).max(axis=1)
    if isinstance(getattr(network, "pooling", None), LocalReach):
        # d - κ cancels where a neighbour's reach ends at the row: what is left is the rounding of d.
        relevance = relevance + 1e-14 * o
    assert_within(e.relevance, expected.relevance, relevance[:, None])
    assert_within(e.outlierness, o, 1e-9 * o)
    assert_within(e.unexplained, expected.unexplained, 1e-9 * o)
    assert_within(e.inlierness, np.exp(expected.log_g), 1e-9)
    assert_within(e.expected, expected.expected, 1e-9 * np.abs(X).max())


def assert_within(values, expected, tolerance):
    assert values.shape == expected.shape
    assert np.all(np.abs(values - expected) <= tolerance), np.max(np.abs(values - expected))


# What a method needs to be told to explain rows of 4 variables. shap compiles for its permutations anew in
# every process, which takes many seconds.
OPTIONS = {"shap": {"algorithm": "kernel"}, "sobel": {"shape": (2, 2)}}
# One-center models have no points that a row could be told from, or whose spread could be taken.
ONE_CENTER = {"coin", "micenkova", "mvn"}


# shap itself warns when it is imported, which is not ours to mend.
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("method", EXPLAINERS)
class TestExplainer:
    rows = X[:7] + 1

    def member(self, method, centers=X):
        """One that offers what the method needs."""
        if "splits" in EXPLAINERS[method].needs:
            return whyodd.neuralize(IsolationForest(n_estimators=5, random_state=0).fit(centers))
        return whyodd.DistanceNetwork(centers)

    def explained(self, method, model, rows=rows, **keywords):
        return whyodd.explain(model, rows, method=method, options=OPTIONS.get(method, {}), **keywords)

    def test_explains(self, method):
        network = self.member(method)
        e = self.explained(method, network)
        assert e.relevance.shape == (7, 4)
        assert e.relevance.dtype == np.float64
        assert e.outlierness.shape == e.unexplained.shape == e.inlierness.shape == (7,)
        assert np.isfinite(e.relevance).all()
        assert e.method == method
        np.testing.assert_allclose(e.outlierness, network.outlierness(self.rows), rtol=1e-12)

    @pytest.mark.parametrize("name", MODELS)
    def test_explains_every_model(self, method, name):
        model = MODELS[name]().fit(X)
        if not offers(whyodd.neuralize(model), *EXPLAINERS[method].needs):
            with pytest.raises(
                whyodd.UnsupportedModelError, match=f"method='{method}' does not work with this model"
            ):
                self.explained(method, model, self.rows[:1])
            return
        if method in ONE_CENTER and whyodd.neuralize(model).n_centers == 1:
            with pytest.raises(ValueError, match=r"options=\{'normal'"):
                self.explained(method, model, self.rows[:1])
            return
        assert np.isfinite(self.explained(method, model, self.rows[:1]).relevance).all()

    def test_adds_up_if_it_says_so(self, method):
        e = self.explained(method, self.member(method))
        assert e.is_additive == EXPLAINERS[method].is_additive
        if e.is_additive:
            np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        else:
            assert np.isnan(e.unexplained).all()

    def test_is_the_same_for_a_seed(self, method):
        es = [self.explained(method, self.member(method), random_state=3) for _ in range(2)]
        np.testing.assert_array_equal(es[0].relevance, es[1].relevance)

    def test_leaves_rows_and_centers_as_they_are(self, method):
        rows, centers = self.rows.copy(), X.copy()
        self.explained(method, self.member(method, centers), rows)
        np.testing.assert_array_equal(rows, self.rows)
        np.testing.assert_array_equal(centers, X)

    def test_is_documented_with_all_its_options(self, method):
        doc = inspect.getdoc(EXPLAINERS[method].relevance)
        assert all(f"\n{option} : " in doc for option in EXPLAINERS[method].options)

    def test_unknown_option_names_those_there_are(self, method):
        with pytest.raises(ValueError, match=f"method='{method}' has no option 'colour'. It takes: ") as told:
            whyodd.explain(self.member(method), X, method=method, options={"colour": 1})
        assert all(repr(option) in str(told.value) for option in EXPLAINERS[method].options)


def test_explainers_are_in_order():
    assert list(EXPLAINERS) == sorted(EXPLAINERS)


class TestPublicNames:
    def test_are_all_there_and_once(self):
        assert len(whyodd.__all__) == len(set(whyodd.__all__))
        assert set(whyodd.__all__) <= set(dir(whyodd))

    @pytest.mark.parametrize("name", whyodd.__all__)
    def test_are_documented_in_all_their_parts(self, name):
        value = getattr(whyodd, name)
        assert inspect.getdoc(value)
        for part, member in inspect.getmembers(value) if inspect.isclass(value) else []:
            if not part.startswith("_") and callable(member) and part in vars(value):
                assert inspect.getdoc(member), f"{name}.{part} has no docstring"

    def test_unknown_name_is_an_attribute_error(self):
        with pytest.raises(AttributeError, match="no attribute 'explode'"):
            _ = whyodd.explode

    def test_version_is_that_of_the_installed_package(self):
        assert whyodd.__version__ == version("whyodd")

    def test_import_loads_nothing_heavy(self):
        heavy = ("numba", "numpy", "scipy", "sklearn")
        code = f"import sys, whyodd; print([name for name in {heavy} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
