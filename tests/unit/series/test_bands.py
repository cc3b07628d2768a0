"""Relevance by frequency: conserved, and as by a linear map before the network."""

import numpy as np
import pytest

import whyodd
from whyodd.maths.linear_maps import LinearMap
from whyodd.series.bands import frequencies, waves
from whyodd.series.passes import network_of
from whyodd.series.views import Values
from whyodd.series.windows import cut


@pytest.mark.parametrize("width", [1, 2, 7, 8, 32])
def test_waves_are_orthonormal_and_pure(width):
    Q = waves(width)
    np.testing.assert_allclose(Q @ Q.T, np.eye(width), atol=1e-12)
    for row, k in zip(Q, frequencies(width), strict=True):
        power = np.abs(np.fft.rfft(row)) ** 2
        assert power.argmax() == k
        assert power.sum() - power[k] < 1e-20 * width + 1e-12


@pytest.fixture(scope="module")
def judged():
    random, steps = np.random.default_rng(0), np.arange(600)
    train = np.column_stack([np.sin(steps / 6), np.cos(steps / 11)]) + random.normal(scale=0.1, size=(600, 2))
    new = train[:200] + random.normal(scale=0.05, size=(200, 2))
    new[100:116, 0] += 1.5 * np.where(steps[:16] % 2, 1, -1)
    return whyodd.SeriesDetector(windows=16, trusted=True).fit(train), new


def test_against_a_linear_map_before_the_network(judged):
    model, new = judged
    found = model.bands(new, 100, 116)
    values = model.units_.scaled(new).astype(np.float32)
    network = network_of(model.values_, model.starts_[0], Values(16))
    # x = Qᵀ y: the coefficients y are the variables before the network.
    through = LinearMap(np.kron(waves(16).T, np.eye(2)))
    window = cut(values, np.array([100]), 16).astype(np.float64)
    parts = network.decompose(window, through=through).relevance.reshape(16, 2) * model.factors_[0]
    k = frequencies(16)
    for (shortest, longest), row in zip(found.periods, found.relevance, strict=True):
        inside = (
            k == 0
            if np.isinf(longest)
            else (k > 0) & (16 / np.maximum(k, 1) >= shortest) & (16 / np.maximum(k, 1) <= longest)
        )
        np.testing.assert_allclose(row, parts[inside].sum(axis=0), rtol=1e-5, atol=1e-9)


def test_conserved_and_at_the_right_period(judged):
    model, new = judged
    found = model.bands(new, 100, 116)
    values = model.units_.scaled(new).astype(np.float32)
    whole = network_of(model.values_, model.starts_[0], Values(16)).decompose(
        cut(values, np.array([100]), 16)
    )
    by_channel = whole.relevance.reshape(16, 2).sum(axis=0) * model.factors_[0]
    np.testing.assert_allclose(found.relevance.sum(axis=0), by_channel, rtol=1e-5)
    assert max(found.shares, key=found.shares.get) == "period of 2 steps"
    assert sum(found.shares.values()) == pytest.approx(1.0)


def test_rows_that_are_not_there(judged):
    model, new = judged
    with pytest.raises(ValueError, match="of 200 rows"):
        model.bands(new, 190, 210)
