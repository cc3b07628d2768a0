"""Functions of unknown inside, and models without an adapter, explained by their scores alone."""

import logging
import pickle
import time

import numpy as np
import pandas as pd
import pytest
from pyod.models.base import BaseDetector
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.explainers.black_box import calling, functions
from whyodd.explainers.black_box.calling import Caller
from whyodd.explainers.black_box.distilling import default_budget
from whyodd.explainers.black_box.drawing import mixed

RANDOM = np.random.default_rng(0)
NORMAL = RANDOM.normal(size=(150, 4)) * [1.0, 2.0, 3.0, 0.5]
ROWS = RANDOM.normal(size=(6, 4)) * [1.0, 2.0, 3.0, 0.5]
ROWS[0, 2], ROWS[1, 0] = 30.0, -9.0


def in_scales(X):
    return np.sqrt(((np.asarray(X) / [1.0, 2.0, 3.0, 0.5]) ** 2).sum(axis=1))


def unruly(X):
    return np.sin(50.0 * np.asarray(X)).sum(axis=1)


class Squares(OutlierMixin, BaseEstimator):
    """In the way of scikit-learn: low for outliers, and a threshold."""

    offset_ = -9.0

    def fit(self, X, y=None):  # noqa: ARG002
        self.center_ = np.mean(np.asarray(X), axis=0)
        return self

    def score_samples(self, X):
        return -((np.asarray(X) - self.center_) ** 2).sum(axis=1)


class KeptRows(BaseDetector):
    """In the way of PyOD: high for outliers, and it keeps its rows."""

    def __init__(self, contamination=0.1):
        super().__init__(contamination=contamination)

    def fit(self, X, y=None):
        self._set_n_classes(y)
        self.X_train_ = np.asarray(X)
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X):
        return np.abs(X - np.median(self.X_train_, axis=0)).sum(axis=1)


def explain(model, X=ROWS, normal=NORMAL, **keywords):
    keywords.setdefault("random_state", 0)
    return whyodd.explain(model, X, normal=normal, **keywords)


class TestFunction:
    def test_own_score_and_its_sum_are_exact(self):
        e = explain(in_scales)
        assert e.exactness == "distilled"
        np.testing.assert_allclose(e.network.verdict.scale.score(e.outlierness), in_scales(ROWS), rtol=1e-9)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        assert (e.outlierness >= 0.0).all()
        others = RANDOM.normal(size=(50, 4)) * 5.0
        o = e.network.outlierness(others)
        assert spearmanr(o, in_scales(others)).statistic == pytest.approx(1.0)

    def test_finds_the_reasons(self):
        e = explain(in_scales)
        assert e.relevance[0].argmax() == 2
        assert e.relevance[1].argmax() == 0
        assert e.why(0, k=1).startswith("x2 is too high (30, expected about")
        assert "distilled (rank correlation" in e.why(0)

    def test_fidelity_is_that_on_rows_held_out(self):
        fidelity = explain(in_scales).fidelity
        assert fidelity["rank_correlation"] > 0.95
        assert fidelity["r2"] > 0.95
        assert fidelity["rows"] > 50

    @pytest.mark.parametrize("n", [1, 4, 6])
    def test_few_rows_are_enough(self, n):
        e = explain(in_scales, ROWS[:n])
        assert e.relevance[0].argmax() == 2
        assert e.fidelity["r2"] > 0.9

    def test_same_seed_same_bytes(self):
        first, second, other = (explain(in_scales, random_state=seed) for seed in (1, 1, 2))
        assert first.relevance.tobytes() == second.relevance.tobytes()
        assert first.fidelity == second.fidelity
        assert first.relevance.tobytes() != other.relevance.tobytes()

    def test_takes_frames_as_they_are(self):
        names = list("abcd")
        rows, normal = pd.DataFrame(ROWS, columns=names), pd.DataFrame(NORMAL, columns=names)
        seen = []

        def by_name(table):
            seen.append(list(table.columns))
            return table["c"].abs() + table["a"].abs()

        e = explain(by_name, rows, normal[["d", "c", "b", "a"]])
        assert all(columns == names for columns in seen)
        np.testing.assert_allclose(e.relevance[0, [1, 3]], 0.0, atol=0.02 * e.outlierness[0])
        assert e.feature_names == tuple(names)

    def test_column_of_scores_is_raveled(self):
        one, column = explain(in_scales), explain(lambda X: in_scales(X)[:, None])
        np.testing.assert_array_equal(one.relevance, column.relevance)

    def test_single_variable(self):
        e = explain(lambda X: np.abs(X[:, 0]), ROWS[:, :1], NORMAL[:, :1])
        assert e.fidelity["r2"] > 0.9
        np.testing.assert_allclose(e.relevance[:, 0] + e.unexplained, e.outlierness, rtol=1e-9)

    def test_values_whose_squares_are_too_large(self):
        e = explain(in_scales, 1e60 * ROWS)
        assert np.isfinite(e.relevance).all()
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)

    def test_precision_is_that_asked_for(self):
        assert explain(in_scales, dtype=np.float32).relevance.dtype == np.float32

    def test_other_methods_compare_with_the_normal_rows(self):
        e = explain(in_scales, method="occlusion")
        assert e.relevance[0].argmax() == 2
        np.testing.assert_allclose(e.network.verdict.scale.score(e.outlierness), in_scales(ROWS), rtol=1e-9)

    def test_a_smaller_budget_asks_about_fewer_rows(self):
        counted = []

        def counting(X):
            counted.append(len(X))
            return in_scales(X)

        explain(counting, options={"budget": 400})
        assert sum(counted) <= 400 + 8 + 64 + 2 * len(ROWS)

    def test_is_saved_with_what_was_learned_and_without_the_function(self, tmp_path):
        e = explain(in_scales)
        whyodd.save(e, tmp_path / "e.whyodd")
        loaded = whyodd.load(tmp_path / "e.whyodd")
        np.testing.assert_array_equal(loaded.relevance, e.relevance)
        assert loaded.why(0) == e.why(0)
        assert loaded.fidelity == e.fidelity
        np.testing.assert_allclose(
            loaded.network.student.decompose(ROWS).relevance, e.network.student.decompose(ROWS).relevance
        )
        with pytest.raises(ValueError, match="The explained function is not in the file"):
            loaded.network.outlierness(ROWS)


class TestUnrulyFunction:
    def test_is_sampled_with_an_error(self, tmp_path):
        e = explain(unruly, ROWS[:3])
        assert e.exactness == "sampled"
        assert 0.0 < e.fidelity["error"] < 0.5
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        # Of a sum over variables the Shapley value is the term over its mean.
        terms = np.sin(50.0 * ROWS[:3]) - np.sin(50.0 * NORMAL).mean(axis=0)
        assert np.abs(e.relevance - terms).max() < 6.0 * e.fidelity["error"] * e.outlierness.max()
        whyodd.save(e, tmp_path / "e.whyodd")
        assert whyodd.load(tmp_path / "e.whyodd").why(0) == e.why(0)

    def test_without_shap_the_student_stays_and_says_so(self, monkeypatch):
        monkeypatch.setattr(functions, "find_spec", lambda _: None)
        with pytest.warns(UserWarning, match=r"needs shap, run: pip install 'whyodd\[shap\]'"):
            e = explain(unruly, ROWS[:3])
        assert e.exactness == "distilled"
        assert e.fidelity["r2"] < 0.5

    def test_small_budget_says_that_it_is_too_small(self):
        with pytest.warns(UserWarning, match="that takes a larger budget, or fewer rows"):
            assert explain(unruly, options={"budget": 300}).exactness == "distilled"


class TestModelWithoutAnAdapter:
    def test_of_scikit_learn_is_low_for_outliers(self):
        model = Squares().fit(NORMAL)
        e = explain(model)
        np.testing.assert_allclose(
            e.network.verdict.scale.score(e.outlierness), -model.score_samples(ROWS), rtol=1e-9
        )
        np.testing.assert_array_equal(e.outlierness > e.threshold, model.score_samples(ROWS) < model.offset_)

    def test_of_pyod_needs_no_rows_if_it_keeps_them(self):
        model = KeptRows().fit(NORMAL)
        e = explain(model, normal=None)
        assert e.exactness == "distilled"
        np.testing.assert_array_equal(e.outlierness > e.threshold, model.predict(ROWS) == 1)
        np.testing.assert_allclose(e.probability, model.predict_proba(ROWS)[:, 1], rtol=1e-9)

    def test_otherwise_normal_rows_are_asked_for(self):
        with pytest.raises(
            whyodd.UnsupportedModelError,
            match=r"Squares is explained from its scores alone.* Pass normal=rows",
        ):
            explain(Squares().fit(NORMAL), normal=None)
        with pytest.raises(
            whyodd.UnsupportedModelError, match=r"in_scales\(\) is explained from its scores alone"
        ):
            explain(in_scales, normal=None)

    def test_setting_that_is_not_exact_is_distilled(self):
        model = OneClassSVM(kernel="sigmoid").fit(NORMAL)
        with pytest.raises(whyodd.UnsupportedModelError, match=r"sigmoid.*Or pass normal=rows"):
            explain(model, normal=None)
        assert explain(model).exactness in ("distilled", "sampled")
        assert explain(OneClassSVM().fit(NORMAL)).exactness == "exact"

    def test_in_a_pipeline_has_reasons_in_raw_columns(self):
        frame = pd.DataFrame(NORMAL, columns=list("abcd"))
        model = make_pipeline(StandardScaler(), Squares()).fit(frame)
        e = explain(model, pd.DataFrame(ROWS, columns=list("abcd")), frame)
        assert e.why(0, k=1).startswith("c is too high (30, expected about")
        scored = -model.score_samples(pd.DataFrame(ROWS, columns=list("abcd")))
        np.testing.assert_allclose(e.network.verdict.scale.score(e.outlierness), scored, rtol=1e-9)

    def test_after_a_step_that_mixes_columns_too(self):
        model = make_pipeline(StandardScaler(), PCA(3, whiten=True), Squares()).fit(NORMAL)
        e = explain(model)
        assert e.relevance.shape == ROWS.shape
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        assert explain(model, method="occlusion").relevance.shape == ROWS.shape

    def test_fitted_again_is_noticed(self):
        model = Squares().fit(NORMAL)
        before = explain(model)
        kept = before.relevance.copy()
        model.fit(NORMAL + 1.0)
        after = explain(model)
        np.testing.assert_allclose(
            after.network.verdict.scale.score(after.outlierness), -model.score_samples(ROWS)
        )
        assert not np.allclose(after.relevance, kept)
        np.testing.assert_array_equal(before.relevance, kept)

    def test_not_fitted_says_so(self):
        with pytest.raises(NotFittedError):
            explain(_NeverFitted())

    def test_of_another_version_says_to_fit_it_again(self):
        model = pickle.loads(pickle.dumps(OneClassSVM().fit(NORMAL)))
        del model._gamma
        with pytest.raises(
            whyodd.UnsupportedModelError,
            match=r"has no attribute '_gamma'.*another version of sklearn. Fit it again",
        ):
            whyodd.neuralize(model)


class _NeverFitted(Squares):
    def score_samples(self, X):  # noqa: ARG002
        raise NotFittedError("call fit first")


class TestBadInput:
    def test_nan_is_told_with_its_row(self):
        def gives_nan(X):
            scores = in_scales(X)
            scores[3] = np.nan
            return scores

        with pytest.raises(
            ValueError, match=r"gives_nan\(\) returned nan for normal row 3, expected finite numbers only"
        ):
            explain(gives_nan)

    def test_infinity_is_told(self):
        with pytest.raises(ValueError, match="returned inf for row to explain 0"):
            explain(lambda X: np.where(X[:, 2] > 25.0, np.inf, 1.0 + in_scales(X)))

    @pytest.mark.parametrize(
        ("function", "shape"),
        [
            (lambda X: np.ones((len(X), 2)), r"\(8, 2\)"),
            (lambda _: np.ones(3), r"\(3,\)"),
            (lambda _: 1.0, r"\(\)"),
        ],
    )
    def test_wrong_shape_is_told(self, function, shape):
        with pytest.raises(
            ValueError, match=rf"returned scores of shape {shape} for 8 rows, expected \(8,\), high for"
        ):
            explain(function)

    def test_no_numbers_are_told(self):
        with pytest.raises(TypeError, match="returned list, expected numbers: one score for each of 8 rows"):
            explain(lambda X: ["odd"] * len(X))

    def test_failing_in_the_middle_keeps_the_cause(self):
        def fails(X):
            if len(X) > 100:
                raise ZeroDivisionError("by nothing")
            return in_scales(X)

        with pytest.raises(
            RuntimeError, match=r"fails\(\) raised ZeroDivisionError on normal rows 0 to \d+: by nothing"
        ) as told:
            explain(fails)
        assert isinstance(told.value.__cause__, ZeroDivisionError)

    def test_same_score_for_all_is_told(self):
        with pytest.raises(ValueError, match="the same score: there is nothing to explain"):
            explain(lambda X: np.ones(len(X)))

    def test_another_score_each_time_is_warned_of(self):
        random = np.random.default_rng(0)
        with pytest.warns(UserWarning, match="gives a row a different score"):
            explain(lambda X: in_scales(X) + 0.1 * random.random(len(X)))

    @pytest.mark.parametrize("model", [3, "model", None, Squares, NORMAL])
    def test_no_function_at_all(self, model):
        with pytest.raises(whyodd.UnsupportedModelError, match="Expected a fitted model, got"):
            explain(model)

    def test_other_columns_in_normal_are_told(self):
        with pytest.raises(ValueError, match="X has 4 columns, the model was fitted on 3"):
            explain(in_scales, normal=NORMAL[:, :3])

    def test_too_few_normal_rows_are_told(self):
        with pytest.raises(ValueError, match=r"normal has 2 row\(s\), expected at least 5"):
            explain(in_scales, normal=NORMAL[:2])

    def test_scores_without_bounds_are_told(self):
        with pytest.raises(ValueError, match="too far apart to learn from"):
            explain(in_scales, 1e150 * ROWS)

    @pytest.mark.parametrize("budget", [3, 1.5, True])
    def test_budget_is_checked(self, budget):
        with pytest.raises(ValueError, match=r"budget=.*: expected a whole number of at least 200"):
            explain(in_scales, options={"budget": budget})

    def test_unknown_option_is_told(self):
        with pytest.raises(ValueError, match="has no option 'steps'"):
            explain(in_scales, options={"steps": 3})

    def test_interrupt_is_not_swallowed(self):
        def interrupted(X):  # noqa: ARG001
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            explain(interrupted)


class TestCost:
    def test_is_told_before_with_time_and_advice(self, caplog, monkeypatch):
        now = iter(np.arange(0.0, 1e9, 60.0))  # a minute passes between any two looks at the clock
        monkeypatch.setattr(calling.time, "perf_counter", lambda: next(now))
        ask = Caller(in_scales, "slow()")
        ask.probe(NORMAL)
        ask.tell_cost(4_000, aloud=False)
        (told,) = caplog.records
        assert told.levelno == logging.WARNING
        assert told.message.startswith("slow() will be called on about 4,000 more rows; at ")
        assert "about 4 min" in told.message
        assert "options={'budget': a smaller number of rows}" in told.message

    def test_of_quick_functions_is_told_to_those_who_ask(self, caplog):
        with caplog.at_level(logging.INFO, "whyodd"):
            explain(in_scales)
        assert [
            record.levelno for record in caplog.records if "will be called on about" in record.message
        ] == [logging.INFO]

    def test_first_answer_that_takes_long_is_waited_for_aloud(self, caplog, monkeypatch):
        monkeypatch.setattr(calling, "_PATIENCE", 0.01)

        def waits_to_be_heard(X):
            while not caplog.records:
                time.sleep(0.01)
            return in_scales(X)

        Caller(waits_to_be_heard, "f()").probe(NORMAL)
        assert caplog.records[0].message == "still waiting for the first answer of f() ..."

    def test_grows_with_rows_and_variables_to_an_end(self):
        assert default_budget(1, 5) < default_budget(50, 5) < default_budget(50, 50) <= 20_000
        assert default_budget(10**6, 5) == default_budget(50, 5)

    def test_progress_is_shown(self, capsys):
        explain(in_scales, progress=True)
        assert "Asking in_scales(): all" in capsys.readouterr().err


class TestMixtures:
    def test_have_each_value_from_the_row_or_from_one_normal_row(self):
        x, normal = np.full(4, 100.0), np.arange(40.0).reshape(10, 4)
        drawn = mixed(x, 3, normal, np.ones(4), 90, np.random.default_rng(0))
        is_own = drawn.rows == 100.0
        assert (drawn.source == 3).all()
        for row, own in zip(drawn.rows, is_own, strict=True):
            assert any((row[~own] == other[~own]).all() for other in normal)
        # A third has one value of the row, a third all but one, each variable about as often.
        assert (is_own[:30].sum(axis=1) == 1).all()
        assert (is_own[30:60].sum(axis=1) == 3).all()
        assert np.ptp(is_own[:30].sum(axis=0)) <= 2
