"""The score of an isolation forest: Shapley values against all sets of variables, splits, cuts, bad trees."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import IsolationForest

import whyodd
from reference.forests import cuts_of, explain_forest, splits_of
from whyodd.adapters.forests import from_isolation_forest
from whyodd.compute.trees.nodes import path_sizes
from whyodd.network.forest import ForestScore

RNG = np.random.default_rng(0)


def fitted(d, n=200, n_trees=5, **keywords):
    X = RNG.normal(size=(n, d)) * RNG.uniform(0.1, 10.0, size=d)
    X[: n // 4] = X[: n // 4].round()  # equal values, so that leaves have several rows
    model = IsolationForest(n_estimators=n_trees, random_state=0, **keywords).fit(X)
    return from_isolation_forest(model), np.vstack([X[:6], 3.0 * X[6:9], RNG.normal(size=(3, d))])


@pytest.fixture(scope="module")
def forest_and_rows():
    return fitted(5)


@pytest.mark.parametrize(
    ("d", "keywords"),
    [
        (1, {}),
        (2, {}),
        (3, {"max_samples": 64}),
        (5, {}),
        (8, {"n_trees": 3}),
        (6, {"max_features": 0.5}),
        (4, {"n_trees": 1}),
        (4, {"max_samples": 2}),
        (4, {"max_samples": 1}),
    ],
)
def test_is_what_all_sets_of_variables_give(d, keywords):
    forest, rows = fitted(d, **keywords)
    parts = forest.decompose(rows)
    relevance, unexplained, o = explain_forest(rows, forest)
    np.testing.assert_allclose(parts.relevance, relevance, rtol=0, atol=1e-12)
    np.testing.assert_allclose(parts.unexplained, unexplained, rtol=0, atol=1e-12)
    np.testing.assert_allclose(parts.outlierness, o, rtol=0, atol=1e-12)


def test_deep_trees_are_exact():
    forest, rows = fitted(8, n=5000, n_trees=2, max_samples=4096)
    assert path_sizes(forest._nodes)[0] == 12
    np.testing.assert_allclose(forest.decompose(rows).relevance, explain_forest(rows, forest)[0], atol=1e-12)


def comb(depth):
    """One tree that cuts off one row after the other, each by a variable of its own."""
    feature, left, right, cover, path = [], [], [], [], []
    for level in range(depth):
        feature += [level, -1]
        left += [2 * level + 1, -1]
        right += [2 * level + 2, -1]
        cover += [depth + 1.0 - level, 1.0]
        path += [0.0, level + 1.0]
    feature, left, right, cover, path = (
        [*column, last]
        for column, last in ((feature, -1), (left, -1), (right, -1), (cover, 1.0), (path, float(depth)))
    )
    return ForestScore(feature, np.zeros(2 * depth + 1), left, right, cover, path, [0], n_features=depth)


def test_a_tree_of_a_hundred_levels_conserves():
    forest = comb(100)
    rows = RNG.normal(size=(300, 100))
    rows[0], rows[1] = 1.0, -1.0
    parts = forest.decompose(rows)
    assert parts.outlierness[0] == 0.0
    np.testing.assert_allclose(parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, atol=1e-11)
    # A row that is cut off at once: variables below the first split are not to blame alike.
    assert parts.relevance[1].argmax() == 0


def test_a_comb_is_what_all_sets_of_variables_give():
    rows = RNG.normal(size=(4, 7))
    np.testing.assert_allclose(
        comb(7).decompose(rows).relevance, explain_forest(rows, comb(7))[0], rtol=0, atol=1e-12
    )


def test_splits_are_those_on_the_way(forest_and_rows):
    forest, rows = forest_and_rows
    found = forest.splits(rows)
    single = rows.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(found, [splits_of(x, forest) for x in single], rtol=0, atol=1e-12)
    parts = forest.decompose(rows)
    np.testing.assert_allclose(found.sum(axis=1) + parts.unexplained, parts.outlierness, atol=1e-12)


def test_cuts_are_medians_of_the_tightest(forest_and_rows):
    forest, rows = forest_and_rows
    found = forest.cuts(rows)
    for i, x in enumerate(rows.astype(np.float32).astype(np.float64)):
        for variable in range(5):
            low, high, trees = cuts_of(x, forest, variable)
            np.testing.assert_allclose(found.low[i, variable], low)
            np.testing.assert_allclose(found.high[i, variable], high)
            assert found.trees[i, variable] == trees
            assert found.direction[i, variable] == (not np.isnan(low)) - (not np.isnan(high))


def test_blocks_and_threads_give_the_same(forest_and_rows):
    forest, _ = forest_and_rows
    rows = RNG.normal(size=(2500, 5))
    all_at_once = forest.decompose(rows, n_jobs=1)
    steps = []
    in_threads = forest.decompose(rows, n_jobs=3, progress=steps.append)
    by_row = [forest.decompose(rows[[i]]) for i in (0, 127, 128, 1024, 2499)]
    # Vectors and what is left over may round in another order.
    np.testing.assert_allclose(in_threads.relevance, all_at_once.relevance, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(in_threads.outlierness, all_at_once.outlierness)
    for i, one in zip((0, 127, 128, 1024, 2499), by_row, strict=True):
        np.testing.assert_allclose(one.relevance[0], all_at_once.relevance[i], rtol=0, atol=1e-13)
    assert steps[-1] == 2500
    np.testing.assert_array_equal(forest.splits(rows, n_jobs=3), forest.splits(rows, n_jobs=1))


def test_sparse_rows_are_the_same_as_dense(forest_and_rows):
    forest, rows = forest_and_rows
    rows = np.where(RNG.uniform(size=rows.shape) < 0.5, rows, 0.0)
    found = forest.decompose(sparse.csr_array(rows))
    np.testing.assert_array_equal(found.relevance, forest.decompose(rows).relevance)
    np.testing.assert_array_equal(found.outlierness, forest.decompose(rows).outlierness)


def test_values_too_large_for_float32_go_right():
    forest, rows = fitted(3)
    huge, large = rows[:1].copy(), rows[:1].copy()
    huge[0, 0], large[0, 0] = 1e300, 1e30
    np.testing.assert_array_equal(forest.outlierness(huge), forest.outlierness(large))


def test_single_rows_come_in_their_precision(forest_and_rows):
    forest, rows = forest_and_rows
    found = forest.decompose(rows.astype(np.float32))
    assert found.relevance.dtype == np.float32
    assert found.outlierness.dtype == np.float64
    np.testing.assert_allclose(found.relevance, forest.decompose(rows).relevance, rtol=1e-6, atol=1e-7)


def test_other_columns_are_refused(forest_and_rows):
    with pytest.raises(ValueError, match=r"X has 4 column\(s\), the model was fitted on 5"):
        forest_and_rows[0].outlierness(np.zeros((2, 4)))


TREE = {
    "feature": [0, -1, 1, -1, -1],
    "threshold": [0.5, 0.0, 1.5, 0.0, 0.0],
    "left": [1, -1, 3, -1, -1],
    "right": [2, -1, 4, -1, -1],
    "cover": [5.0, 2.0, 3.0, 1.0, 2.0],
    "path": [0.0, 2.0, 0.0, 2.0, 3.0],
    "roots": [0],
    "n_features": 2,
}


def changed(name, place, value):
    values = np.array(TREE[name])
    values[place] = value
    return {**TREE, name: values}


CHILD = "A node has a child that does not come after it in its tree"
VARIABLE = "A node splits a variable that is not one of 2"
COVER = "Expected every node to have training rows: a finite cover above 0"
PATH = "Expected every leaf to end a path of finite length, at least 0"
ROOTS = "Expected the first nodes of the trees in growing order, beginning with 0"
DAMAGED = {
    "a child beyond the end": (changed("left", 0, 5), CHILD),
    "a huge child": (changed("right", 2, 10**9), CHILD),
    "a child below 0": (changed("left", 2, -7), CHILD),
    "no child": (changed("left", 2, -1), CHILD),
    "a circle": (changed("right", 2, 0), CHILD),
    "a child of its own": (changed("right", 2, 2), CHILD),
    "two parents": (
        changed("right", 2, 3),
        "Expected each node but the first of a tree to be the child of one node",
    ),
    "a leaf with a child": (changed("left", 3, 4), CHILD),
    "a variable that is not there": (changed("feature", 0, 2), VARIABLE),
    "a variable below -1": (changed("feature", 0, -2), VARIABLE),
    "a leaf that splits": (changed("feature", 3, 0), CHILD),
    "no rows": (changed("cover", 3, 0.0), COVER),
    "NaN rows": (changed("cover", 3, np.nan), COVER),
    "a path below 0": (changed("path", 3, -1.0), PATH),
    "an endless path": (changed("path", 3, np.inf), PATH),
    "a threshold that is none": (
        changed("threshold", 0, np.nan),
        "Expected every node to split at a finite value",
    ),
    "a root that is not the first": (changed("roots", 0, 1), ROOTS),
    "no roots": ({**TREE, "roots": []}, ROOTS),
    "roots that fall": ({**TREE, "roots": [0, 3, 1]}, ROOTS),
    "a root beyond the end": ({**TREE, "roots": [0, 9]}, ROOTS),
    "fewer thresholds": (
        {**TREE, "threshold": [0.5]},
        "Expected arrays with an entry for each node of the trees, got different lengths",
    ),
    "no variables": ({**TREE, "n_features": 0}, "A node splits a variable that is not one of 0"),
}


@pytest.mark.parametrize(("parts", "message"), DAMAGED.values(), ids=DAMAGED)
def test_what_are_no_trees_is_refused_before_compiled_code_sees_it(parts, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        ForestScore(**parts)
    forest = ForestScore(**TREE)
    state = forest.__getstate__() | parts
    with pytest.raises(ValueError, match=f"^{message}"):
        ForestScore.__new__(ForestScore).__setstate__(state)


def test_a_child_in_another_tree_is_refused():
    two = {name: [*values, *values] for name, values in TREE.items() if name not in ("roots", "n_features")}
    two |= {"left": [1, -1, 3, -1, -1, 6, -1, 8, -1, -1], "right": [2, -1, 4, -1, -1, 7, -1, 9, -1, -1]}
    assert ForestScore(**two, roots=[0, 5], n_features=2).n_trees == 2
    two["right"][0] = 7
    with pytest.raises(ValueError, match="does not come after it in its tree"):
        ForestScore(**two, roots=[0, 5], n_features=2)


def test_is_saved_loaded_and_copied(forest_and_rows, tmp_path):
    forest, rows = forest_and_rows
    forest.decompose(rows)  # what is computed on the way is not saved
    assert forest.__getstate__().keys() == {field.name for field in fields(forest)}
    whyodd.save(forest, tmp_path / "forest.whyodd")
    for again in (whyodd.load(tmp_path / "forest.whyodd"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(again.decompose(rows).relevance, forest.decompose(rows).relevance)
        np.testing.assert_array_equal(again.outlierness(rows), forest.outlierness(rows))
        assert again.is_single
    assert replace(forest, is_single=False).n_trees == 5


def test_arrays_cannot_be_changed_and_are_its_own():
    feature = np.array(TREE["feature"])
    forest = ForestScore(**{**TREE, "feature": feature})
    feature[0] = 99
    assert forest.feature[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        forest.feature[0] = 1
