"""A forest of trees that isolate rows: the earlier a row is isolated, the odder it is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from whyodd.compute.trees import passes
from whyodd.compute.trees.nodes import Nodes, check_nodes, path_sizes
from whyodd.inputs.matrices import as_matrix
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

_INDICES, _NUMBERS = ("feature", "left", "right", "roots"), ("threshold", "cover", "path")


class Cuts(NamedTuple):
    """Where the values of rows are cut off from those of others.

    Attributes
    ----------
    low, high : ndarray of shape (n, d)
        The cut below a value that is cut off as high, the one above a value that is low; both of a value in a
        gap. NaN where there is none.
    trees : ndarray of int of shape (n, d)
        In how many trees a value is cut off like this.
    """

    low: Floats
    high: Floats
    trees: NDArray[np.int32]

    @property
    def direction(self) -> NDArray[np.int8]:
        """(n, d) +1 of a high value, -1 of a low one, 0 of one in a gap or without cuts."""
        return np.isfinite(self.low).astype(np.int8) - np.isfinite(self.high).astype(np.int8)


@dataclass(frozen=True, eq=False)
class ForestScore:
    """Score of an isolation forest, by how much paths fall short of the longest: o = mean_t (L_t - h_t(x)).

    h_t(x) is the length of the path of x through tree t, L_t that of its longest path. o is linear in the
    mean path, and at least 0. Relevance are the Shapley values of minus the mean path, where a variable that
    is not known goes both ways at its splits, by the shares of the training rows ("path-dependent"; Lundberg
    et al. 2020). So Σ_i R_i = E - h(x), by how much the mean path falls short of that of an average row; R_i
    is below 0 for a variable that keeps the row from being isolated. Unexplained is L - E, the same for all.

    Parameters
    ----------
    feature : array of int of shape (m,)
        The variable that each node splits, -1 of a leaf; the trees come one after the other.
    threshold : array of shape (m,)
        A row goes left where its value is at most this.
    left, right : array of int of shape (m,)
        The children of a node, which come after it in its tree; -1 of a leaf.
    cover : array of shape (m,)
        Training rows in each node.
    path : array of shape (m,)
        Length of the path that ends in each leaf; of other nodes it does not matter.
    roots : array of int of shape (T,)
        The first node of each tree.
    n_features : int
        Number of input variables d.
    is_single : bool, default False
        Whether values are rounded to float32 before they are compared, as scikit-learn does.
    verdict : Verdict, optional
        What the model says of its own scores.

    Examples
    --------
    One tree with one split, at 5, that has one of four training rows above it:

    >>> from whyodd.network.forest import ForestScore
    >>> tree = {"feature": [0, -1, -1], "threshold": [5.0, 0, 0], "left": [1, -1, -1], "right": [2, -1, -1]}
    >>> forest = ForestScore(**tree, cover=[4, 3, 1], path=[0, 2, 1], roots=[0], n_features=2)
    >>> parts = forest.decompose([[9.0, 0.0], [1.0, 0.0]])
    >>> parts.outlierness, parts.relevance[:, 0], parts.unexplained
    (array([1., 0.]), array([ 0.75, -0.25]), array([0.25, 0.25]))
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"cuts", "save", "splits", "work"})

    feature: Indices
    threshold: Floats
    left: Indices
    right: Indices
    cover: Floats
    path: Floats
    roots: Indices
    n_features: int
    is_single: bool = False
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        for names, kind in ((_INDICES, np.int64), (_NUMBERS, np.float64)):
            for name in names:
                values = np.array(getattr(self, name), dtype=kind, order="C")
                values.flags.writeable = False
                object.__setattr__(self, name, values)
        object.__setattr__(self, "n_features", int(self.n_features))
        object.__setattr__(self, "is_single", bool(self.is_single))
        check_nodes(*self._arrays, n_features=self.n_features)

    def __getstate__(self) -> dict[str, Any]:
        # Only the constructor's arguments; the rest is recomputed.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.roots.size

    @cached_property
    def longest_path(self) -> float:
        """Mean over the trees of the longest path, L, which no row exceeds."""
        return float(self._longest.mean())

    @cached_property
    def average_path(self) -> float:
        """Mean over the trees of the path of an average training row, E."""
        return float(self._nodes.path[self.roots].mean())

    def outlierness(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """Outlierness o = L - h(x) (n,)."""
        return self._outlierness(self._checked(X), n_jobs)

    def decompose(
        self, X: Any, *, n_jobs: int | None = None, progress: Callable[[int], None] | None = None
    ) -> Decomposition:
        """Shapley values of minus the mean path; unexplained L - E."""
        values = self._checked(X)
        sums = passes.shapley(self._nodes, self._sizes, values, self._dtype, n_jobs, progress)
        return Decomposition(
            relevance=(sums / self.n_trees).astype(values.dtype, copy=False),
            unexplained=np.full(values.shape[0], self.longest_path - self.average_path),
            outlierness=self._outlierness(values, n_jobs),
        )

    def splits(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """(n, d) how much the splits of each variable shorten the paths of rows, as rows reach them.

        A split takes the mean path of a node's training rows to that of a child's. Over a path this adds up
        to E - h(x), too; of the variables on a path those that come late are favoured.
        """
        sums = passes.splits(self._nodes, self._checked(X), self._dtype, n_jobs)
        return np.asarray(sums / self.n_trees)

    def cuts(self, X: Any, *, n_jobs: int | None = None) -> Cuts:
        """Where each value is cut off: from below, from above, or both if either shortens paths alike.

        Only splits that shorten the path count, of each tree the tightest; the cut is their median.
        """
        return Cuts(*passes.cuts(self._nodes, self._checked(X), self._dtype, n_jobs))

    @property
    def _arrays(self) -> tuple[Indices, Floats, Indices, Indices, Floats, Floats, Indices]:
        return self.feature, self.threshold, self.left, self.right, self.cover, self.path, self.roots

    @cached_property
    def _nodes(self) -> Nodes:
        return Nodes.of(*self._arrays)

    @cached_property
    def _sizes(self) -> tuple[int, int, int]:
        return path_sizes(self._nodes)

    @cached_property
    def _longest(self) -> Floats:
        of_leaves = np.where(self.feature < 0, self.path, -np.inf)
        return np.asarray(np.maximum.reduceat(of_leaves, self.roots))

    @property
    def _dtype(self) -> type:
        return np.float32 if self.is_single else np.float64

    def _outlierness(self, values: Any, n_jobs: int | None) -> Floats:
        return passes.shortfalls(self._nodes, self._longest, values, self._dtype, n_jobs) / self.n_trees

    def _checked(self, X: Any) -> Any:
        values = as_matrix(X).values
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the model was fitted on {self.n_features}. "
                "Pass the columns used in fit."
            )
        return values
