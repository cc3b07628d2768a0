"""PyOD's sums over variables, projections and points, against PyOD itself."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.hbos import HBOS
from pyod.models.loda import LODA
from pyod.models.mad import MAD
from pyod.models.pca import PCA
from pyod.models.sampling import Sampling
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from reference import sums
from whyodd.adapters.pyod_sums import row_by_row

RNG = np.random.default_rng(0)
WINE = load_wine(as_frame=True).data
# In the order of rows: in another one PyOD rounds otherwise, and training rows lie on edges of bins.
TRAIN, ROWS = (np.ascontiguousarray(WINE.to_numpy()[start::2]) for start in (0, 1))
FAR = np.vstack([ROWS, ROWS * RNG.uniform(0.4, 2.0, ROWS.shape), -ROWS])
HALF = RNG.normal(size=(30, 3))
# Columns without skewness but for rounding, constant ones, and few rows.
HARD = {
    "symmetric": np.concatenate([HALF, -HALF]) + 1000.0,
    "tenths": RNG.choice([0.1, 0.2, 0.3], size=(40, 3)),
    "constant": np.column_stack([np.full(40, 0.1), RNG.normal(size=40), np.full(40, 7.0)]),
    "one column": RNG.choice([0.1, 0.2, 0.3], size=(40, 1)),
    "one row": np.array([[0.1, 0.7]]),
    "two rows": np.array([[0.1, 0.7], [0.3, 0.9]]),
}


@pytest.fixture(autouse=True)
def _always_the_same_projections():
    np.random.seed(0)  # noqa: NPY002 - all that LODA of PyOD 2.0 draws from


TAILS = {ECOD: sums.ecod_terms, COPOD: sums.copod_terms}


@pytest.mark.parametrize("kind", TAILS)
class TestTails:
    def test_terms_are_those_of_the_plain_loops(self, kind):
        e = whyodd.explain(kind().fit(TRAIN), FAR[::5])
        np.testing.assert_allclose(e.relevance, [TAILS[kind](TRAIN, x) for x in FAR[::5]], rtol=1e-12)
        assert not e.unexplained.any()

    def test_training_rows_without_themselves_have_the_scores_of_fit(self, kind):
        model = kind().fit(TRAIN)
        scores = model.decision_scores_.copy()
        np.testing.assert_allclose(whyodd.explain(model, TRAIN).outlierness, scores, rtol=1e-12)

    @pytest.mark.filterwarnings("ignore:Precision loss occurred:RuntimeWarning")  # SciPy's, in PyOD
    @pytest.mark.parametrize("table", HARD.values(), ids=HARD)
    def test_rounding_decides_on_the_skewness_as_in_pyod(self, kind, table):
        model = kind().fit(table)
        rows = np.vstack([table[:9], table[:9] + 0.1, table.mean(axis=0), np.median(table, axis=0)])
        own, scores = row_by_row(model, rows), model.decision_scores_.copy()
        network = whyodd.neuralize(model)
        np.testing.assert_allclose(network.outlierness(rows), own, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            network.outlierness(table, own=network.rows), scores, rtol=1e-12, atol=1e-12
        )

    def test_scoring_leaves_the_explanation_as_it_is(self, kind):
        model = kind().fit(TRAIN)
        before = whyodd.explain(model, FAR)
        model.decision_function(FAR)  # writes to the model
        np.testing.assert_array_equal(whyodd.explain(model, FAR).relevance, before.relevance)

    def test_a_row_does_not_depend_on_the_others(self, kind):
        model = kind().fit(TRAIN)
        np.testing.assert_array_equal(
            whyodd.explain(model, FAR[:1]).relevance, whyodd.explain(model, FAR).relevance[:1]
        )

    def test_works_in_parallel(self, kind):
        # PyOD tells each of its parallel steps, and that there are few.
        one, two = kind().fit(TRAIN), kind(n_jobs=2).fit(TRAIN)
        np.testing.assert_array_equal(whyodd.explain(two, FAR).relevance, whyodd.explain(one, FAR).relevance)


@pytest.mark.parametrize("settings", [{}, {"n_bins": 25, "tol": 0.0001}, {"n_bins": "auto", "alpha": 0.5}])
def test_hbos_is_that_of_the_plain_loops(settings):
    model = HBOS(**settings).fit(TRAIN)
    e = whyodd.explain(model, FAR)
    densities = model.hist_ if isinstance(model.hist_, list) else model.hist_.T
    edges = model.bin_edges_ if isinstance(model.bin_edges_, list) else model.bin_edges_.T
    terms = np.array([sums.hbos_terms(edges, densities, model.alpha, model.tol, x) for x in FAR])
    least = np.array([-np.log2(max(d) + model.alpha) for d in densities])
    np.testing.assert_allclose(e.relevance, terms - least, rtol=1e-9, atol=1e-12)
    own = whyodd.neuralize(model).verdict.scale.score(e.outlierness)
    np.testing.assert_allclose(own, model.decision_function(FAR), rtol=1e-9)


@pytest.mark.parametrize("model", [HBOS(), HBOS(n_bins="auto"), LODA(), ECOD(), COPOD()])
def test_rows_at_the_threshold_are_no_outliers(model):
    """Scores of bins and ranks are equal for many rows, and the threshold is often one of them."""
    table = np.round(TRAIN / TRAIN.std(axis=0))
    model.fit(table)
    model.threshold_ = np.sort(model.decision_scores_)[-8]
    labels = model.decision_scores_ > model.threshold_
    e = whyodd.explain(model, table)
    np.testing.assert_array_equal(e.outlierness > e.threshold, labels)


class TestLODA:
    def test_relevance_starts_from_the_mean_of_the_training_rows(self):
        model = LODA().fit(TRAIN)
        expected = whyodd.neuralize(model).expected(FAR[:1])[0]
        # Histograms tell means to a part of a bin, a tenth of the range.
        assert np.all(np.abs(expected - TRAIN.mean(axis=0)) < 0.01 * np.ptp(TRAIN, axis=0))

    def test_is_that_of_the_plain_loops(self):
        model = LODA(n_random_cuts=20).fit(TRAIN)
        e, reference = whyodd.explain(model, FAR), whyodd.neuralize(model).reference
        for x, relevance, o in zip(FAR[::9], e.relevance[::9], e.outlierness[::9], strict=True):
            costs = [
                (-np.log(h)[min(int(np.sum(limits < w @ x)), h.size - 1)] + np.log(h.max())) / 20**2
                for w, limits, h in zip(model.projections_, model.limits_, model.histograms_, strict=True)
            ]
            expected, rest = sums.spread(costs, model.projections_, x - reference, np.zeros(20))
            np.testing.assert_allclose(relevance, expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(o, sum(costs), rtol=1e-9)
            assert rest == 0.0

    @pytest.mark.parametrize("settings", [{"n_bins": "auto"}, {"n_bins": 3}, {"n_random_cuts": 4}])
    def test_scores_are_pyods(self, settings):
        model = LODA(**settings).fit(TRAIN)
        network = whyodd.neuralize(model)
        own = network.verdict.scale.score(network.outlierness(FAR))
        np.testing.assert_allclose(own, model.decision_function(FAR), rtol=1e-9)
        own = network.verdict.scale.score(network.outlierness(TRAIN))
        np.testing.assert_allclose(own, model.decision_scores_, rtol=1e-9)

    def test_expects_nothing_that_its_projections_do_not_tell(self):
        model = LODA(n_random_cuts=4).fit(TRAIN)
        e = whyodd.explain(model, FAR[:2])
        assert np.isnan(e.expected).all()
        assert "expected" not in e.why(0)

    def test_finds_the_variable_that_was_changed(self):
        """One value of each row is moved by 8 standard deviations: most often that is the first reason."""
        rng = np.random.default_rng(0)
        normal = rng.normal(size=(1000, 12)) * 10.0 ** rng.integers(-3, 4, size=12)
        rows, changed = normal[:200].copy(), rng.integers(0, 12, size=200)
        rows[np.arange(200), changed] += 8.0 * normal.std(axis=0)[changed]
        scaled = make_pipeline(StandardScaler(), LODA()).fit(normal[200:])
        first = whyodd.explain(scaled, rows).relevance.argmax(axis=1)
        assert np.mean(first == changed) > 0.9


def test_pca_is_that_of_the_plain_loops():
    model = PCA(n_selected_components=5).fit(TRAIN)
    e = whyodd.explain(model, FAR)
    z = model.scaler_.transform(FAR)
    expected = [
        sums.weighted_distances(model.selected_components_, 1 / model.selected_w_components_, x) for x in z
    ]
    np.testing.assert_allclose(e.relevance, [relevance for relevance, _ in expected], rtol=1e-9)
    np.testing.assert_allclose(e.outlierness, model.decision_function(FAR), rtol=1e-9)


def test_pca_that_divides_by_0_is_refused():
    twice = np.column_stack([TRAIN[:, :2], TRAIN[:, :2]])
    model = PCA(svd_solver="full").fit(twice)
    model.selected_w_components_ = np.array([0.9, 0.1, 0.0, 0.0])  # where rounding leaves nothing
    with pytest.raises(whyodd.UnsupportedModelError, match=r"2 selected component\(s\) whose variance is 0"):
        whyodd.neuralize(model)


# PyOD divides by 0 here, and averages what comes of it.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_mad_of_equal_values_is_refused():
    model = MAD().fit(np.array([[1.0], [1.0], [1.0], [5.0]]))
    with pytest.raises(whyodd.UnsupportedModelError, match="at least half are equal"):
        whyodd.neuralize(model)


def test_mad_keeps_its_threshold():
    model = MAD(threshold=2.5).fit(TRAIN[:, [0]])
    e = whyodd.explain(model, FAR[:, [0]])
    assert e.threshold == pytest.approx(2.5)
    np.testing.assert_allclose(e.outlierness, model.decision_function(FAR[:, [0]]), rtol=1e-12)


def test_sampling_with_another_distance_is_refused():
    with pytest.raises(
        whyodd.UnsupportedModelError, match="Sampling measures distances with metric='manhattan'"
    ):
        whyodd.neuralize(Sampling(metric="manhattan", random_state=0).fit(TRAIN))


@pytest.mark.parametrize("model", [ECOD(), COPOD(), HBOS(), LODA(), PCA(), Sampling(random_state=0)])
def test_a_frame_behind_a_scaler_is_told_in_its_units(model):
    pipeline = make_pipeline(StandardScaler(), model).fit(WINE[::2])
    row = WINE[1::2][:1].assign(proline=9000.0)
    e = whyodd.explain(pipeline, row)
    assert e.relevance.shape == (1, 13)
    assert "proline is too high (9000, expected about " in e.why(0, k=13)
    assert abs(e.expected[0, -1] - WINE["proline"].mean()) < 3 * WINE["proline"].std()


class TestTampered:
    """Files in which a number or a length was changed are refused when they are loaded."""

    @pytest.fixture
    def parts(self, tmp_path):
        whyodd.save(whyodd.neuralize(HBOS(n_bins=4).fit(TRAIN[:, :2])), tmp_path / "model.whyodd")
        with zipfile.ZipFile(tmp_path / "model.whyodd") as file:
            return {name: file.read(name) for name in file.namelist()}

    def test_lengths(self, parts, tmp_path):
        for name in [name for name in parts if name.endswith(".npy")]:
            array = np.load(io.BytesIO(parts[name]))
            if name == self.training(parts):
                continue
            for wrong in (array[:-1], np.full_like(array, np.nan), array.reshape(-1, 1)):
                changed = io.BytesIO()
                np.save(changed, wrong)
                with zipfile.ZipFile(tmp_path / "wrong.whyodd", "w") as file:
                    for other, data in parts.items():
                        file.writestr(other, changed.getvalue() if other == name else data)
                with pytest.raises(ValueError, match="is damaged and cannot be loaded"):
                    whyodd.load(tmp_path / "wrong.whyodd")

    @staticmethod
    def training(parts):
        """The file with the training scores, which is not ours to check."""
        schema = json.loads(parts["schema.json"])
        verdict = schema["content"]["content"]["verdict"]["content"]["content"]
        return verdict["training"].get("file")


def test_frame_and_array_are_explained_alike():
    model = ECOD().fit(WINE[::2])
    frame = whyodd.explain(model, WINE[1::2])
    np.testing.assert_array_equal(frame.relevance, whyodd.explain(model, ROWS).relevance)
    assert list(frame.feature_names) == list(WINE.columns)
    assert isinstance(frame.to_frame(), pd.DataFrame)
