"""Laws of the score of a forest, for random trees of random depth, shares and lengths."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference.forests import explain_forest
from whyodd.network.forest import ForestScore

law = settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def grown(rng, d, most):
    """A tree by splitting random leaves; in preorder or not, children come after their parents."""
    feature, left, right, cover = [-1], [-1], [-1], [1.0]
    for _ in range(rng.integers(0, most + 1)):
        leaves = [node for node, variable in enumerate(feature) if variable < 0]
        node = int(rng.choice(leaves))
        feature[node], left[node], right[node] = int(rng.integers(d)), len(feature), len(feature) + 1
        share = rng.uniform(1e-3, 1.0 - 1e-3)
        feature += [-1, -1]
        left += [-1, -1]
        right += [-1, -1]
        cover += [share * cover[node], (1.0 - share) * cover[node]]
    m = len(feature)
    # On a lattice, as the rows, so that values meet thresholds.
    return feature, rng.integers(-3, 4, size=m) / 2.0, left, right, cover, rng.uniform(0.0, 9.0, size=m)


@st.composite
def forests(draw, most=12):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, n_trees = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    trees = [grown(rng, d, draw(st.integers(0, most))) for _ in range(n_trees)]
    roots = np.cumsum([0, *(len(tree[0]) for tree in trees[:-1])])
    columns = [np.concatenate(parts) for parts in zip(*trees, strict=True)]
    shift = np.repeat(roots, [len(tree[0]) for tree in trees])
    for k in (2, 3):
        columns[k] = np.where(columns[k] < 0, -1, columns[k] + shift)
    rows = rng.integers(-4, 5, size=(draw(st.integers(1, 7)), d)) / 2.0
    return ForestScore(*columns, roots, n_features=d), rows


@law
@given(forests())
def test_shapley_values_are_those_of_all_sets(case):
    forest, rows = case
    parts, (relevance, unexplained, o) = forest.decompose(rows), explain_forest(rows, forest)
    np.testing.assert_allclose(parts.relevance, relevance, rtol=0, atol=1e-11)
    np.testing.assert_allclose(parts.unexplained, unexplained, rtol=0, atol=1e-12)
    np.testing.assert_allclose(parts.outlierness, o, rtol=0, atol=1e-12)


@law
@given(forests(most=60))
def test_relevance_and_splits_conserve(case):
    forest, rows = case
    parts = forest.decompose(rows)
    assert (parts.outlierness >= 0.0).all()
    assert (parts.unexplained >= -1e-12).all()
    for relevance in (parts.relevance, forest.splits(rows)):
        np.testing.assert_allclose(relevance.sum(axis=1) + parts.unexplained, parts.outlierness, atol=1e-11)


@law
@given(forests(most=40))
def test_a_variable_without_splits_has_no_relevance(case):
    forest, rows = case
    unused = sorted(set(range(forest.n_features)) - set(forest.feature.tolist()))
    assert not forest.decompose(rows).relevance[:, unused].any()
    assert not forest.splits(rows)[:, unused].any()
    assert not forest.cuts(rows).trees[:, unused].any()


@law
@given(forests(most=30))
def test_renamed_variables_are_renamed_in_the_relevance(case):
    forest, rows = case
    order = np.arange(forest.n_features)[::-1]
    feature = np.where(forest.feature < 0, -1, order[forest.feature])
    turned = ForestScore(
        feature,
        forest.threshold,
        forest.left,
        forest.right,
        forest.cover,
        forest.path,
        forest.roots,
        n_features=forest.n_features,
    )
    np.testing.assert_allclose(
        turned.decompose(rows[:, ::-1]).relevance[:, ::-1], forest.decompose(rows).relevance, atol=1e-12
    )


@law
@given(forests(most=30))
def test_cuts_stand_beside_their_values(case):
    forest, rows = case
    low, high, trees = forest.cuts(rows)
    assert (np.isnan(low) | (low < rows)).all()
    assert (np.isnan(high) | (high >= rows)).all()
    np.testing.assert_array_equal(trees == 0, np.isnan(low) & np.isnan(high))
    assert (trees <= forest.n_trees).all()
