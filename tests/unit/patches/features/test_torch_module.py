"""Relevance by gradients; the rule without torch, and a module of torch where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whyodd
from whyodd.patches.features import TorchFeatures
from whyodd.patches.features.axes import smooth_cells
from whyodd.patches.features.torch_module import spread_by_weights


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(0, 20), st.booleans())
def test_relevance_is_kept(height, width, step, seed, is_flat):
    rng = np.random.default_rng(seed)
    relevance = rng.exponential(size=(height, width))
    weights = rng.exponential(size=(height * step, width * step)) * (not is_flat)
    heat = spread_by_weights(relevance, weights)
    assert (heat >= 0.0).all()
    np.testing.assert_allclose(heat.sum(), relevance.sum(), rtol=1e-10)


def test_rule_is_the_plain_one():
    rng = np.random.default_rng(0)
    relevance, weights = rng.exponential(size=(2, 3)), rng.exponential(size=(8, 9))
    rows, columns = smooth_cells(8, 2, 4.0), smooth_cells(9, 3, 3.0)
    plain = np.zeros((8, 9))
    for i in range(2):
        for j in range(3):
            shares = np.outer(rows[:, i], columns[:, j]) * weights
            plain += relevance[i, j] * shares / shares.sum()
    # Every pixel has a millionth of the largest weight on top.
    np.testing.assert_allclose(spread_by_weights(relevance, weights), plain, atol=1e-5 * relevance.max())


@pytest.mark.torch
def test_module_of_torch():
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 4, stride=4), torch.nn.BatchNorm2d(5), torch.nn.ReLU())
    images = np.random.default_rng(0).integers(0, 256, size=(3, 24, 32, 3)).astype(np.uint8)
    model = whyodd.PatchModel(whyodd.KNearestNeighbors(1), features=module).fit(images[:2])
    assert isinstance(model.features_, TorchFeatures)
    e = model.explain(images[2])
    assert e.heatmap(0).shape == (24, 32, 3)
    np.testing.assert_allclose(e.summed_relevance + e.unexplained, e.outlierness, rtol=1e-5)
    assert module.training
    assert all(parameter.grad is None for parameter in module.parameters())


@pytest.mark.torch
def test_module_of_the_wrong_shape_is_told():
    import torch

    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(3))
    with pytest.raises(ValueError, match=r"must return a feature map \(1, F, h, w\), got \(1, 3\)"):
        TorchFeatures(module)(np.zeros((8, 8, 3)))
