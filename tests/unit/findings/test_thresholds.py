"""Where oddness begins: what may be asked for, and how many normal rows are then called odd."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from whyodd.findings.findings import WITHOUT_THRESHOLD, oddest_threshold
from whyodd.findings.thresholds import Limit, discovery_threshold, distribution_of, own_threshold
from whyodd.models.tail import ScoreDistribution

RNG = np.random.default_rng(0)
KNOWN = ScoreDistribution(RNG.exponential(size=100_000))
X = RNG.normal(size=(200, 3))


def discoveries(p, level):
    """Benjamini and Hochberg as a plain loop: how many of the smallest p-values are discoveries."""
    ranked = sorted(p)
    return max((k for k in range(1, len(p) + 1) if ranked[k - 1] <= level * k / len(p)), default=0)


class TestLimit:
    @pytest.mark.parametrize("name", ["share", "false_alarms", "fdr"])
    @pytest.mark.parametrize("value", [0.0, -0.1, 0.51, 1.0, float("nan")])
    def test_is_a_part_of_the_rows(self, name, value):
        with pytest.raises(ValueError, match=f"{name}=.*: expected a share of the rows"):
            Limit(**{name: value})

    def test_is_one_at_most(self):
        assert Limit() == Limit(None, None, None)
        with pytest.raises(ValueError, match="Expected one threshold option, got false_alarms and fdr"):
            Limit(false_alarms=0.1, fdr=0.1)

    def test_needs_a_model_that_knows_normal_rows(self):
        for limit in (Limit(fdr=0.1), Limit(false_alarms=0.1)):
            with pytest.raises(ValueError, match=r"such as whyodd\.Committee. Pass share instead"):
                limit.of_normal_rows(np.ones(3), None)

    @pytest.mark.parametrize("share", [0.2, 0.05, 0.01])
    def test_so_many_normal_rows_are_odd(self, share):
        new = np.random.default_rng(1).exponential(size=20_000)
        value, source = Limit(false_alarms=share).of_normal_rows(new, KNOWN)
        assert np.mean(new > value) == pytest.approx(share, rel=0.25)
        assert source == f"about {100 * share:g} % of normal rows exceed it"

    def test_of_those_found_so_many_are_normal(self):
        """The share of normal rows among those found, over many tables: a twentieth of the rows is odd."""
        rng, wrong, found = np.random.default_rng(2), 0, 0
        for _ in range(200):
            scores = np.concatenate([rng.exponential(size=190), 8.0 + rng.exponential(size=10)])
            value, _ = Limit(fdr=0.2).of_normal_rows(scores, KNOWN)
            wrong, found = wrong + np.count_nonzero(scores[:190] > value), found + np.sum(scores > value)
        assert found > 0.9 * 200 * 10
        assert 0.1 < wrong / found < 0.25


class TestDiscoveries:
    @pytest.mark.parametrize("level", [0.01, 0.1, 0.5])
    @pytest.mark.parametrize("seed", range(5))
    def test_as_many_as_a_plain_loop_finds(self, level, seed):
        rng = np.random.default_rng(seed)
        scores = rng.exponential(size=100) * np.where(np.arange(100) < 10 * seed, 5.0, 1.0)
        p = np.exp(-scores)
        threshold = discovery_threshold(scores, p, level)
        assert np.count_nonzero(scores > threshold) == discoveries(p, level)

    def test_none(self):
        scores = np.array([1.0, 3.0, 2.0])
        assert not (scores > discovery_threshold(scores, np.array([0.9, 0.5, 0.7]), 0.1)).any()

    def test_all(self):
        scores = np.array([1.0, 3.0, 2.0])
        assert (scores > discovery_threshold(scores, np.full(3, 1e-9), 0.1)).all()


class TestOwnThreshold:
    def test_of_a_committee_and_of_a_pipeline_that_ends_in_one(self):
        committee = whyodd.Committee(false_alarms=0.02).fit(X)
        pipeline = make_pipeline(StandardScaler(), whyodd.Committee(false_alarms=0.02)).fit(X)
        for model, last in ((committee, committee), (pipeline, pipeline[-1])):
            assert distribution_of(model) is last.distribution_
            value = last.distribution_.threshold(0.02)
            told = own_threshold(np.ones(3), value, model)
            assert told == (value, "about 2 % of normal rows exceed it")

    def test_of_a_model_that_does_not_know_normal_rows(self):
        model = whyodd.KernelDensity().fit(X)
        assert distribution_of(model) is None
        assert own_threshold(np.ones(3), 1.5, model) == (1.5, "the model's own")

    def test_of_a_model_without_any(self):
        scores = np.arange(100.0)
        assert own_threshold(scores, None, object()) == (oddest_threshold(scores), WITHOUT_THRESHOLD)
