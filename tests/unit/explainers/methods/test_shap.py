"""Shapley values by shap: the law of their sum, and what is exact where variables add up."""

import sys

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import whyodd
from whyodd.explainers.method import Task
from whyodd.explainers.methods.shap import shapley
from whyodd.kernels import Exponential

RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(30, 4))
ROWS = CENTERS[:2] + np.array([[0, 0, 6, 0], [5, 0, 0, -5]])
NETWORK = whyodd.DistanceNetwork(CENTERS, RNG.dirichlet(np.ones(30)), Exponential(1.5, 0.8))
ALGORITHMS = ["permutation", "kernel"]
# shap itself warns when it is imported, which is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=ALGORITHMS)
def algorithm(request):
    return request.param


@pytest.fixture(autouse=True)
def _shap_in_python(monkeypatch):
    """The loops of shap as they are, but not compiled, which takes many seconds in every process."""
    from shap.maskers import _tabular
    from shap.utils import _masked_model

    for module in (_tabular, _masked_model):
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher):
                monkeypatch.setattr(module, name, value.py_func)


def explained(network=NETWORK, rows=ROWS, seed=0, **options):
    return whyodd.explain(network, rows, method="shap", options=options, random_state=seed)


class TestShap:
    def test_sums_to_the_rise_over_the_background(self, algorithm):
        """All centers in the background: what is left unexplained is their mean outlierness."""
        e = explained(algorithm=algorithm, background=30)
        np.testing.assert_allclose(e.unexplained, NETWORK.outlierness(CENTERS).mean(), rtol=1e-9)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-12)
        assert e.relevance[0].argmax() == 2
        assert set(np.argsort(e.relevance[1])[-2:]) == {0, 3}

    def test_is_exact_where_variables_add_up(self, algorithm):
        """O = Σ_i (x_i - u_i)² / 2: φ_i = its own term less the mean of it over the background."""
        network = whyodd.DistanceNetwork(np.zeros((1, 4)))
        normal = RNG.normal(size=(12, 4))
        e = explained(network, algorithm=algorithm, normal=normal)
        np.testing.assert_allclose(e.relevance, ROWS**2 / 2 - (normal**2 / 2).mean(axis=0), atol=1e-9)

    def test_own_centers_are_left_out(self, algorithm):
        task = Task(NETWORK, CENTERS[:2], own=np.array([0, -1]), random=np.random.default_rng(0))
        values = shapley(task, algorithm=algorithm, background=30)
        for row, own in enumerate([0, -1]):
            left_out = None if own < 0 else np.full(30, own)
            usual = NETWORK.outlierness(CENTERS, own=left_out).mean()
            assert values[row].sum() + usual == pytest.approx(task.scores.outlierness[row], rel=1e-9)

    def test_is_the_same_for_a_seed_and_leaves_the_global_one_alone(self, algorithm):
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        first, again, other = (explained(seed=seed, algorithm=algorithm, background=5) for seed in (0, 0, 1))
        np.testing.assert_array_equal(first.relevance, again.relevance)
        assert np.all(first.relevance != other.relevance)
        np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002

    def test_gives_an_explanation_of_shap_back(self, algorithm):
        e = explained(algorithm=algorithm)
        np.testing.assert_array_equal(e.to_shap().values, e.relevance)

    def test_a_row_like_all_others_has_none(self, algorithm):
        network = whyodd.DistanceNetwork(np.ones((5, 4)))
        np.testing.assert_array_equal(explained(network, np.ones((1, 4)), algorithm=algorithm).relevance, 0.0)

    def test_one_variable(self, algorithm):
        network = whyodd.DistanceNetwork(np.zeros((2, 1)))
        e = explained(network, np.full((1, 1), 3.0), algorithm=algorithm)
        np.testing.assert_allclose(e.relevance, 4.5)

    def test_is_quiet(self, algorithm, capsys):
        explained(algorithm=algorithm)
        assert capsys.readouterr() == ("", "")

    def test_more_evaluations_are_nearer_to_the_truth(self):
        few, many = (explained(max_evals=n, background=30).relevance for n in (9, 900))
        truth = explained(algorithm="kernel", background=30).relevance  # all 14 subsets: exact
        assert np.abs(many - truth).max() < 0.25 * np.abs(few - truth).max()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"algorithm": "tree"}, "algorithm='tree': expected 'permutation' or 'kernel'"),
            ({"background": 0}, "background=0: expected a whole number of at least 1"),
            ({"max_evals": 8}, "max_evals=8: expected a whole number of at least 9"),
            ({"max_evals": "many"}, "max_evals='many': expected a whole number"),
        ],
    )
    def test_wrong_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            explained(**options)

    def test_missing_package_names_the_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "shap", None)  # as if it were not installed
        with pytest.raises(
            ModuleNotFoundError, match=r"method='shap' needs shap. Run: pip install 'whyodd\[s"
        ):
            explained()
