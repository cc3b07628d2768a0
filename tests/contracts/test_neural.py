"""What every neural detector must keep to, against PyOD itself; each test needs torch.

PyOD computes in single precision, 6e-8 of every number: some hundred roundings are below 1e-5 of the score.
"""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from contracts.neural import NEURAL, Neural
from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.registry import ADAPTERS

pytestmark = [
    pytest.mark.torch,
    # What PyOD and torch warn of is not ours to mend.
    pytest.mark.filterwarnings("ignore"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)) @ RNG.normal(size=(4, 4))
ROWS = np.vstack([X[:5], X[5:10] * 3, RNG.normal(size=(5, 4)), np.full((1, 4), 20.0)])
CASES = [case for cases in NEURAL.values() for case in cases]
_SINGLE = 1e-5


def _name(case):
    return f"{case.path.rpartition('.')[2]}-{'-'.join(map(str, case.parameters.values()))}"


def is_signed(case):
    """Whether larger distances may make a row more normal, as what this one has learned of few rows says."""
    return case.parameters.get("model_type") == "SCORE"


def own_scores(model, rows):
    return find_entry(ADAPTERS, model).own(model, rows)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Networks this small are faster so, above all beside other tests. Not every model has a seed."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def fitted():
    """Each model fitted once to X."""
    known = {}

    def of(case):
        if id(case) not in known:
            known[id(case)] = case.fit(X)
        return known[id(case)]

    return of


@pytest.mark.parametrize("case", CASES, ids=_name)
class TestNeuralDetector:
    def test_gives_back_the_models_own_scores(self, case, fitted):
        model = fitted(case)
        member = whyodd.neuralize(model)
        own = own_scores(model, ROWS)
        recovered = member.verdict.scale.score(member.outlierness(ROWS))
        np.testing.assert_allclose(recovered, own, rtol=_SINGLE, atol=_SINGLE * np.abs(own).max())

    def test_conserves_the_outlierness(self, case, fitted):
        e = whyodd.explain(fitted(case), ROWS)
        assert e.exactness == "exact"
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        assert (e.outlierness >= 0).all()
        assert is_signed(case) or (e.relevance >= 0).all()

    def test_threshold_and_training_scores_stay_with_it(self, case, fitted):
        model = fitted(case)
        e = whyodd.explain(whyodd.neuralize(model), ROWS)
        assert e.threshold is not None
        assert whyodd.neuralize(model).verdict.contamination == model.contamination
        if not case.path.endswith("VAE"):  # whose scores are random
            np.testing.assert_allclose(e.probability, model.predict_proba(ROWS)[:, 1], rtol=0, atol=1e-4)

    def test_frames_and_pipelines_go_in(self, case, fitted):
        names = ["a", "b", "c", "d"]
        plain = whyodd.explain(fitted(case), pd.DataFrame(ROWS, columns=names))
        assert list(plain.feature_names) == names
        piped = make_pipeline(StandardScaler(), case.make()).fit(X)
        e = whyodd.explain(piped, pd.DataFrame(ROWS, columns=names))
        own = own_scores(piped[-1], piped[0].transform(ROWS))
        scale = whyodd.neuralize(piped[-1]).verdict.scale
        np.testing.assert_allclose(
            scale.score(e.outlierness), own, rtol=_SINGLE, atol=_SINGLE * np.abs(own).max()
        )
        assert is_signed(case) or "expected about" in e.why(15)

    def test_a_refit_is_noticed_and_so_is_a_changed_weight(self, case):
        model = case.fit(X)
        first = whyodd.neuralize(model)
        assert whyodd.neuralize(model) is first
        model.fit(X * 2 + 1)
        second = whyodd.neuralize(model)
        assert second is not first
        name = next(name for name in ("model", "model_", "network") if hasattr(model, name))
        for part in getattr(model, name).parameters():
            part.data.mul_(1.5)
        third = whyodd.neuralize(model)
        assert (third.outlierness(ROWS) != second.outlierness(ROWS)).any()

    def test_does_not_hold_on_to_the_model(self, case):
        model = case.fit(X)
        member, gone = whyodd.neuralize(model), weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None
        assert np.isfinite(member.outlierness(ROWS)).all()

    def test_is_saved_and_loaded(self, case, fitted, tmp_path):
        member = whyodd.neuralize(fitted(case))
        whyodd.save(member, tmp_path / "member.whyodd")
        loaded = whyodd.load(tmp_path / "member.whyodd")
        np.testing.assert_array_equal(loaded.decompose(ROWS).relevance, member.decompose(ROWS).relevance)

    def test_unfitted_model_says_to_fit(self, case):
        with pytest.raises(NotFittedError, match=r"This \w+ is not fitted yet: call fit"):
            whyodd.neuralize(case.make())


@pytest.mark.parametrize("case", [case for case in CASES if not is_signed(case)], ids=_name)
def test_over_what_is_usual_it_conserves_and_is_1_on_average(case, fitted):
    e = whyodd.explain(fitted(case), ROWS, normal=ROWS[5:])
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
    np.testing.assert_allclose(e.outlierness[5:].mean(), 1.0, rtol=1e-9)


_WITHOUT_TORCH = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "pyod"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import numpy, whyodd
folder = sys.argv[1]
rows = numpy.load(folder + "/rows.npy")
for number in range(int(sys.argv[2])):
    member = whyodd.load(f"{folder}/{number}.whyodd")
    numpy.save(f"{folder}/{number}.npy", whyodd.explain(member, rows).relevance)
"""


def test_what_was_saved_needs_no_torch(fitted, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    for number, case in enumerate(CASES):
        whyodd.save(whyodd.neuralize(fitted(case)), tmp_path / f"{number}.whyodd")
    subprocess.run([sys.executable, "-c", _WITHOUT_TORCH, tmp_path, str(len(CASES))], check=True)
    for number, case in enumerate(CASES):
        expected = whyodd.explain(whyodd.neuralize(fitted(case)), ROWS).relevance
        found = np.load(tmp_path / f"{number}.npy")
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.data
@pytest.mark.parametrize("path", NEURAL)
def test_ranks_rows_it_has_not_seen_as_the_model_does(path, data_dir):
    table = np.load(data_dir / "adbench" / "6_cardio.npz")["X"]
    rng = np.random.default_rng(0)
    order = rng.permutation(len(table))
    parameters = NEURAL[path][0].parameters
    if "n_features" in parameters:
        parameters = {**parameters, "n_features": table.shape[1]}
    model = Neural(path, parameters).fit(table[order[:800]])
    unseen = table[order[800:]]
    own = own_scores(model, unseen)
    # Of a thousand scores in single precision a few are equal that in truth are not.
    assert spearmanr(whyodd.neuralize(model).outlierness(unseen), own).statistic > 1 - 1e-6


def test_random_scores_of_a_variational_autoencoder_scatter_around_ours():
    model = NEURAL["pyod.models.vae.VAE"][0].fit(X)
    drawn = np.mean([model.decision_function(X) for _ in range(200)], axis=0)
    o = whyodd.neuralize(model).outlierness(X)
    assert (model.decision_function(X) != model.decision_function(X)).any()
    assert spearmanr(drawn, o).statistic > 0.95


def planted(seed):
    """Rows of correlated columns, with one cell each moved by 3 to 6 of its standard deviations."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(600, 3)) @ rng.normal(size=(3, 8)) + 0.3 * rng.normal(size=(600, 8))
    table = table * np.exp(rng.normal(size=8)) + 5 * rng.normal(size=8)
    rows, columns = table[:100].copy(), rng.integers(8, size=100)
    moved = rng.choice([-1, 1], 100) * rng.uniform(3, 6, 100) * table.std(axis=0)[columns]
    rows[np.arange(100), columns] += moved
    return table, rows, columns


@pytest.mark.parametrize(
    ("path", "parameters", "least"),
    [
        ("pyod.models.auto_encoder.AutoEncoder", {"epoch_num": 30, "verbose": 0}, 0.9),
        (
            "pyod.models.deep_svdd.DeepSVDD",
            {"n_features": 8, "epochs": 30, "verbose": 0, "random_state": 0},
            0.9,
        ),
        ("pyod.models.lunar.LUNAR", {"n_epochs": 50, "random_state": 0}, 0.9),
    ],
)
def test_planted_cells_come_first(path, parameters, least):
    table, rows, columns = planted(0)
    e = whyodd.explain(Neural(path, parameters).fit(table), rows)
    assert (e.relevance.argmax(axis=1) == columns).mean() >= least


def refused(path, parameters, X=X):
    with pytest.raises(whyodd.UnsupportedModelError) as told:
        whyodd.neuralize(Neural(path, parameters).fit(X))
    return str(told.value)


def test_what_cannot_be_read_is_told():
    from sklearn.preprocessing import MinMaxScaler, QuantileTransformer

    lunar = "pyod.models.lunar.LUNAR"
    quick = {"n_epochs": 2, "random_state": 0}
    assert "expected Euclidean" in refused(lunar, {**quick, "metric": "manhattan"})
    assert "QuantileTransformer" in refused(lunar, {**quick, "scaler": QuantileTransformer(n_quantiles=5)})
    assert "without clip" in refused(lunar, {**quick, "scaler": MinMaxScaler(clip=True)})


def test_a_score_that_falls_with_the_distance_is_told():
    model = NEURAL["pyod.models.lunar.LUNAR"][0].fit(X)
    model.network.final_norm.weight.data.fill_(-1.0)
    with pytest.raises(whyodd.UnsupportedModelError, match="falls as neighbours get further away"):
        whyodd.neuralize(model)


def test_a_layer_of_another_kind_is_told():
    import torch

    model = NEURAL["pyod.models.auto_encoder.AutoEncoder"][0].fit(X)
    model.model.encoder.append(torch.nn.GELU())
    with pytest.raises(
        whyodd.UnsupportedModelError, match=r"layer torch\.nn\.modules\.activation\.GELU, expected"
    ):
        whyodd.neuralize(model)
