"""Isolation forests of scikit-learn, PyOD and isotree, tree by tree; none of them is imported."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_fitted
from whyodd.network.verdict import AffineScale, ExponentialScale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from whyodd.network.forest import ForestScore
    from whyodd.network.verdict import Scale

    Floats = NDArray[np.float64]
    Tree = dict[str, NDArray[Any]]


def from_isolation_forest(model: Any) -> ForestScore:
    """Score of a fitted ``sklearn.ensemble.IsolationForest``.

    h(x) is the mean over the trees of the depth of the leaf of x, and of what an average tree of the n
    training rows in it would go on, c(n). ``score_samples`` = -2^(-h/c) = -2^((o - L)/c), with L the longest
    path of the forest and c that of ``max_samples_`` rows.

    Parameters
    ----------
    model : sklearn.ensemble.IsolationForest
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import IsolationForest
    >>> from whyodd import neuralize
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = IsolationForest(random_state=0).fit(X)
    >>> forest = neuralize(model)
    >>> np.allclose(forest.verdict.scale.score(forest.outlierness(X)), -model.score_samples(X))
    True
    """
    require_fitted(model, "estimators_")
    trees = [
        _sklearn_tree(estimator.tree_, np.asarray(columns))
        for estimator, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    return _joined(trees, model.n_features_in_, is_single=True)


def scale_of_isolation_forest(model: Any, member: ForestScore) -> Scale:
    """-``score_samples`` = 2^((o - L) / c)."""
    usual = float(average_path_length(model.max_samples_))
    return _scale(member, usual, shift=0.0)


def from_pyod_iforest(model: Any) -> ForestScore:
    """Score of a fitted ``pyod.models.iforest.IForest``.

    That of its isolation forest: ``decision_function`` = 2^((o - L) / c) + ``model.detector_.offset_``.
    """
    require_fitted(model, "decision_scores_")
    return from_isolation_forest(model.detector_)


def scale_of_pyod_iforest(model: Any, member: ForestScore) -> Scale:
    """``decision_function`` = 2^((o - L) / c) + ``detector_.offset_``."""
    usual = float(average_path_length(model.detector_.max_samples_))
    return _scale(member, usual, shift=float(model.detector_.offset_))


def from_isotree(model: Any) -> ForestScore:
    """Score of a fitted ``isotree.IsolationForest(ndim=1)``.

    ``decision_function`` = 2^(-h / c) = 2^((o - L) / c), with c isotree's own expected depth.
    """
    require_fitted(model, "sample_size_")
    _require_plain_trees(model)
    sizes = model.get_num_nodes()[0]
    trees = [_isotree_tree(model, index, int(size)) for index, size in enumerate(sizes)]
    return _joined(trees, model._ncols_numeric)


def scale_of_isotree(model: Any, member: ForestScore) -> Scale:
    """``decision_function`` = 2^((o - L) / c)."""
    return _scale(member, float(model._cpp_obj.get_expected_isolation_depth()), shift=0.0)


def own_score_of_isotree(model: Any, X: Any) -> Floats:
    """``decision_function`` of isotree, which is high for outliers."""
    return np.asarray(model.decision_function(X), dtype=np.float64)


def average_path_length(n: ArrayLike) -> Floats:
    """c(n) = 2 (log(n - 1) + γ) - 2 (n - 1) / n: mean depth of a leaf in a random tree of n rows.

    0 for one row and 1 for two, as scikit-learn has it.

    Examples
    --------
    >>> from whyodd.adapters.forests import average_path_length
    >>> average_path_length([1, 2, 256]).round(4)
    array([ 0.    ,  1.    , 10.2448])
    """
    n = np.asarray(n, dtype=np.float64)
    many = np.maximum(n, 3.0)
    mean = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(n > 2.0, mean, np.where(n > 1.0, 1.0, 0.0))


def _scale(member: ForestScore, usual: float, shift: float) -> Scale:
    if usual == 0.0:  # trees of one row: every score is one half, and every o is 0
        return AffineScale(shift=0.5 + shift)
    rate = math.log(2.0) / usual
    return ExponentialScale(rate, log_slope=-rate * member.longest_path, shift=shift)


def _sklearn_tree(tree: Any, columns: NDArray[Any]) -> Tree:
    left, right = tree.children_left, tree.children_right
    is_leaf = left < 0
    depth = np.zeros(tree.node_count)
    for node in np.flatnonzero(~is_leaf):  # parents come first
        depth[[left[node], right[node]]] = depth[node] + 1.0
    return {
        "feature": np.where(is_leaf, -1, columns[np.where(is_leaf, 0, tree.feature)]),
        "threshold": np.where(is_leaf, 0.0, tree.threshold),
        "left": left,
        "right": right,
        "cover": tree.n_node_samples,
        "path": depth + average_path_length(tree.n_node_samples),
    }


# What makes isotree's trees split single variables, and score by depth alone.
_PLAIN = {"ndim": 1, "scoring_metric": "depth", "penalize_range": False}


def _require_plain_trees(model: Any) -> None:
    for name, wanted in _PLAIN.items():
        given = getattr(model, name)
        if given != wanted:
            raise UnsupportedModelError(
                f"isotree.IsolationForest({name}={given!r}) does not score by the depth of single-variable "
                f"splits: expected {name}={wanted!r}. Fit it again with {name}={wanted!r}."
            )
    if model._ncols_categ > 0:
        raise UnsupportedModelError(
            "isotree.IsolationForest was fitted on categories, which its trees split in their own way: "
            "expected numbers only. Encode the categories before fitting."
        )


def _isotree_tree(model: Any, index: int, size: int) -> Tree:
    """One tree, node by node as ``to_treelite`` takes them: ``to_json`` rounds to six decimals."""
    nodes = np.empty((size, 6))
    for node in range(size):
        model._cpp_obj.get_node(index, node, nodes[node])
    # A leaf has its path, other nodes the variable, the threshold, where missing values go, the children.
    is_leaf = nodes[:, 0] == 1.0
    column, threshold, left, right = nodes[:, [1, 2, 4, 5]].T
    return {
        "feature": np.where(is_leaf, -1.0, column).astype(np.int64),
        "threshold": np.where(is_leaf, 0.0, threshold),
        "left": np.where(is_leaf, -1.0, left).astype(np.int64),
        "right": np.where(is_leaf, -1.0, right).astype(np.int64),
        "cover": np.asarray(model._cpp_obj.get_expected_node_weights(model.sample_size_, index)),
        "path": np.where(is_leaf, column, 0.0),
    }


def _joined(trees: Iterable[Tree], n_features: int, *, is_single: bool = False) -> ForestScore:
    """Trees one after the other; children are counted from the first node of all."""
    from whyodd.network.forest import ForestScore

    trees = list(trees)
    ends = np.cumsum([tree["feature"].size for tree in trees])
    roots = np.concatenate([[0], ends[:-1]])
    parts: dict[str, Any] = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
    for name in ("left", "right"):
        shifted = [tree[name] + root for tree, root in zip(trees, roots, strict=True)]
        parts[name] = np.where(parts["feature"] < 0, -1, np.concatenate(shifted))
    return ForestScore(**parts, roots=roots, n_features=n_features, is_single=is_single)
