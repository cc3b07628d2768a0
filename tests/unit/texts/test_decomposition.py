"""Relevance of terms some rows at a time."""

import numpy as np
import pytest
from scipy import sparse

from whyodd.network.distance_network import DistanceNetwork
from whyodd.texts import decomposition
from whyodd.texts.decomposition import decompose
from whyodd.texts.vocabulary import Vocabulary


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return sparse.csr_array((random.random((70, 40)) < 0.2).astype(float))


@pytest.fixture
def network(rows):
    return DistanceNetwork(rows[:30])


def test_blocks_do_not_matter(rows, network, monkeypatch):
    whole = decompose(rows, None, None, lambda some, own: network.decompose(some, own=own))
    monkeypatch.setattr(decomposition, "_BLOCK_BYTES", 1)
    seen = []
    parts = decompose(rows, None, seen.append, lambda some, own: network.decompose(some, own=own))
    assert seen == [16, 32, 48, 64, 70]
    np.testing.assert_allclose(parts.present.toarray(), whole.present.toarray(), rtol=1e-12)
    np.testing.assert_allclose(parts.absent, whole.absent, rtol=1e-12)


def test_the_largest_absent_terms_come_first(rows, network, monkeypatch):
    monkeypatch.setattr(decomposition, "_MOST_ABSENT", 5)
    parts = decompose(rows, None, None, lambda some, own: network.decompose(some, own=own))
    dense = network.decompose(rows).relevance
    for i in range(rows.shape[0]):
        has = set(rows[[i]].indices.tolist())
        lacking = sorted((dense[i, c] for c in range(39) if c not in has), reverse=True)[:5]
        np.testing.assert_allclose(parts.absent_relevance[i], lacking, rtol=1e-12)
        np.testing.assert_allclose(dense[i, parts.absent_columns[i]], lacking, rtol=1e-12)
        assert parts.absent[i] == pytest.approx(sum(dense[i, c] for c in range(40) if c not in has))


def test_vocabulary_rows():
    vocabulary = Vocabulary.of([["a", "b", "a"], ["b"], ["b", "c"]], 1)
    assert vocabulary.terms == ("a", "b", "c")
    assert Vocabulary.of([["a", "b", "a"], ["b"], ["b", "c"]], 2).terms == ("b",)
    encoded = vocabulary.encode([["c", "x", "c", "y", "z"], [], ["a"]])
    np.testing.assert_allclose(encoded.toarray(), [[0, 0, 1, 3**0.5], [0, 0, 0, 0], [1, 0, 0, 0]])
    assert vocabulary.encode([["x"]], unseen=False).nnz == 0
    assert encoded.indices.dtype == np.int32
