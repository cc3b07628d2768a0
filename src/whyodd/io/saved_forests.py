"""Trees of saved isolation forests, checked because compiled code follows their numbers anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.io.saved_requirements import columns_of, expect, expect_shape, expect_whole, is_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAF = -1


def check_forest(model: Any) -> None:
    """Raise a ``ValueError`` if a tree of an ``IsolationForest`` uses columns that it does not receive."""
    if not hasattr(model, "estimators_"):
        return
    columns = columns_of(model)
    expect_whole(model, "_max_features", 1, columns)
    n = len(model.estimators_)
    expect("estimators_features_ of an IsolationForest", len(model.estimators_features_) == n)
    for place, (tree, features) in enumerate(zip(model.estimators_, model.estimators_features_, strict=True)):
        expect("estimators_features_ of an IsolationForest", is_places(features, columns))
        check_tree_model(tree)
        expect("a tree of an IsolationForest", hasattr(tree, "tree_") and columns_of(tree) == len(features))
        if model._max_features == columns:  # it is given all columns as they are
            expect("a tree of an IsolationForest", len(features) == columns)
        for name in ("_average_path_length_per_tree", "_decision_path_lengths"):
            shape = np.shape(getattr(model, name)[place])
            expect(f"{name} of an IsolationForest", shape == (tree.tree_.node_count,))


def check_tree_model(model: Any) -> None:
    """Raise a ``ValueError`` if a walk through a fitted tree would never end, or leave its arrays."""
    if not hasattr(model, "tree_"):
        return
    tree, what = model.tree_, f"tree_ of a {type(model).__name__}"
    # Only after this do the arrays below match their true sizes.
    expect(what, tree.node_count == tree.capacity >= 1 and tree.n_features == columns_of(model))
    expect(what, tree.n_outputs == 1 and tree.n_classes.tolist() == [1])
    expect_shape(tree, "value", (tree.node_count, 1, 1))
    left, right = tree.children_left, tree.children_right
    inner = left != _LEAF
    expect(what, bool(np.array_equal(inner, right != _LEAF)))
    expect(what, is_places(tree.feature[inner], tree.n_features))
    children = np.sort(np.concatenate([left[inner], right[inner]]))
    # Every node but the first has one parent, which comes before it, so a walk cannot go in circles.
    expect(what, bool(np.array_equal(children, np.arange(1, tree.node_count))))
    parents = np.flatnonzero(inner)
    expect(what, bool(np.all(left[inner] > parents) and np.all(right[inner] > parents)))
    expect(what, tree.max_depth == _depth(left, right))


def _depth(left: NDArray[np.intp], right: NDArray[np.intp]) -> int:
    depth, level = -1, np.array([0])
    while level.size:
        depth += 1
        level = level[left[level] != _LEAF]
        level = np.concatenate([left[level], right[level]])
    return depth
