"""Any module of torch: scores by integrated gradients, autoencoders by variable. Most of it needs torch."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import whyodd
from whyodd.network.neural.torch_module import module_score

RNG = np.random.default_rng(5)
NORMAL = RNG.normal(size=(200, 4))
ROWS = np.vstack([NORMAL[:5], RNG.normal(size=(10, 4)) * 4])


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch


def scoring(torch, activation="ReLU", dtype="float64", shape=(-1,)):
    """A module that scores rows by where it puts them, with dropout that only training may see."""

    class Scoring(torch.nn.Module):
        def __init__(self):
            super().__init__()
            act = getattr(torch.nn, activation)
            self.inner = torch.nn.Sequential(
                torch.nn.Linear(4, 30), act(), torch.nn.Dropout(0.5), torch.nn.Linear(30, 10), act()
            )

        def forward(self, x):
            return (self.inner(x) ** 2).sum(dim=1).reshape(shape)

    return Scoring().to(getattr(torch, dtype))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("activation", ["ReLU", "Tanh"])
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
class TestModuleThatScores:
    def test_adds_up_with_a_gap_below_a_thousandth(self, torch, activation, dtype, shape):
        e = whyodd.explain(scoring(torch, activation, dtype, shape), ROWS, normal=NORMAL)
        np.testing.assert_allclose(
            e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9, atol=1e-12
        )
        assert e.exactness == "exact"
        assert e.fidelity["gap"] < 1e-3

    def test_outlierness_is_its_score_over_the_least(self, torch, activation, dtype, shape):
        module = scoring(torch, activation, dtype, shape)
        e = whyodd.explain(module, ROWS, normal=NORMAL)
        module.eval()
        with torch.no_grad():
            own, usual = (
                module(torch.tensor(rows, dtype=getattr(torch, dtype))).reshape(-1).double().numpy()
                for rows in (ROWS, NORMAL)
            )
        # One product may round otherwise than another.
        tolerance = 1e-12 if dtype == "float64" else 1e-5
        np.testing.assert_allclose(
            e.outlierness, own - usual.min(), rtol=tolerance, atol=tolerance * own.max()
        )


@pytest.mark.torch
def test_relevance_is_that_of_many_small_steps(torch):
    module = scoring(torch)
    score = module_score(module, NORMAL)
    parts, start = score.decompose(ROWS), score.expected(ROWS)
    t = (np.arange(20_000) + 0.5)[:, None] / 20_000
    for row, r, relevance, o in zip(ROWS, start, parts.relevance, parts.outlierness, strict=True):
        slopes = score.network.gradient(r + t * (row - r)).mean(axis=0)
        np.testing.assert_allclose(relevance, (row - r) * slopes, rtol=0, atol=1e-3 * max(o, score.usual))


@pytest.mark.torch
def test_is_compared_with_the_nearest_of_the_more_normal_half(torch):
    score = module_score(scoring(torch), NORMAL)
    o = score.outlierness(NORMAL)
    half, spread = NORMAL[o <= np.median(o)], NORMAL[o <= np.median(o)].std(axis=0)
    for row, found in zip(ROWS, score.expected(ROWS), strict=True):
        nearest = half[(((half - row) / spread) ** 2).sum(axis=1).argmin()]
        np.testing.assert_array_equal(found, nearest)


@pytest.mark.torch
def test_a_jump_is_missed_and_told(torch):
    class Jump(torch.nn.Module):
        def forward(self, x):
            return (x[:, 0] > 2.5) * 1.0 + x[:, 1] ** 2

    far = np.zeros((1, 4))
    far[0, 0] = 10.0
    e = whyodd.explain(Jump(), far, normal=NORMAL[NORMAL[:, 0] < 2])
    assert e.exactness == "sampled"
    assert e.fidelity["gap"] > 0.5
    assert "of the outlierness not found" in e.why()


@pytest.mark.torch
def test_autoencoder_is_explained_by_its_reconstruction(torch):
    module = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Tanh(), torch.nn.Linear(2, 4)).double()
    names = ["a", "b", "c", "d"]
    e = whyodd.explain(module, pd.DataFrame(ROWS, columns=names), normal=pd.DataFrame(NORMAL, columns=names))
    with torch.no_grad():
        given_back = module(torch.tensor(ROWS)).numpy()
    o = np.linalg.norm(ROWS - given_back, axis=1)
    np.testing.assert_allclose(e.outlierness, o, rtol=1e-12)
    np.testing.assert_allclose(e.relevance, (ROWS - given_back) ** 2 / o[:, None], rtol=1e-9)
    np.testing.assert_allclose(e.expected, given_back, rtol=1e-12)
    assert e.exactness == "exact"


@pytest.mark.torch
def test_module_stays_as_it_is_and_the_score_as_it_was(torch):
    module = scoring(torch).train()
    score = module_score(module, NORMAL)
    before = score.decompose(ROWS).relevance
    assert module.training
    assert all(part.grad is None for part in module.parameters())
    with torch.no_grad():
        for part in module.parameters():
            part.mul_(2.0)
    np.testing.assert_array_equal(score.decompose(ROWS).relevance, before)


@pytest.mark.torch
def test_planted_cells_come_first(torch):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 6)) + 0.2 * rng.normal(size=(500, 6))
    precision = torch.tensor(np.linalg.inv(np.cov(table.T)))

    class Mahalanobis(torch.nn.Module):
        def forward(self, x):
            return ((x @ precision.to(x.dtype)) * x).sum(dim=1)

    rows, columns = table[:60].copy(), rng.integers(6, size=60)
    rows[np.arange(60), columns] += rng.choice([-1, 1], 60) * 4 * table.std(axis=0)[columns]
    e = whyodd.explain(Mahalanobis(), rows, normal=table[60:])
    assert (e.relevance.argmax(axis=1) == columns).mean() > 0.9


@pytest.mark.torch
def test_what_is_no_score_is_told(torch):
    with pytest.raises(ValueError, match="expected normal=rows"):
        whyodd.explain(scoring(torch), ROWS)
    with pytest.raises(ValueError, match=r"returns values of shape \(200, 3\)"):
        module_score(torch.nn.Linear(4, 3), NORMAL)
    with pytest.raises(ValueError, match="NaN or infinite"):
        module_score(torch.nn.Sequential(torch.nn.Linear(4, 1), Rooted(torch)), NORMAL)
    with pytest.raises(TypeError, match="returns tuple for rows, expected a tensor"):
        module_score(Pair(torch), NORMAL)
    with pytest.raises(ValueError, match=r"X has 2 column\(s\)"):
        module_score(scoring(torch), NORMAL).decompose(ROWS[:, :2])


def Rooted(torch):  # noqa: N802 - a class that is made
    class Rooted(torch.nn.Module):
        def forward(self, x):
            return x.sqrt()

    return Rooted()


def Pair(torch):  # noqa: N802 - a class that is made
    class Pair(torch.nn.Module):
        def forward(self, x):
            return x, x

    return Pair()


@pytest.mark.torch
def test_cannot_be_saved_and_says_so_but_is_pickled(torch, tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    score = module_score(module, NORMAL)
    with pytest.raises(ValueError, match="cannot store this ModuleScore: a torch module is code"):
        whyodd.save(score, tmp_path / "score.whyodd")
    again = pickle.loads(pickle.dumps(score))
    np.testing.assert_array_equal(again.outlierness(ROWS), score.outlierness(ROWS))


def test_without_torch_the_extra_is_named():
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch':\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import whyodd\n"
        "class Module:\n"
        "    def eval(self):\n"
        "        return self\n"
        "Module.__module__ = 'torch.nn.modules.module'\n"
        "whyodd.explain(Module(), [[1.0]], normal=[[1.0]])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    told = "ModuleNotFoundError: A torch module needs torch. Run: pip install 'whyodd[torch]'"
    assert done.stderr.strip().splitlines()[-1] == told
