"""A committee of one: a score whose relevance is divided by that of normal rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.work import Scores
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.waist import Decomposition, decompose_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Added to each variable's usual relevance, as a part of the mean, since some are never relevant.
_FLOOR = 1e-3
# Capabilities that a new outlierness does not affect.
_HANDED_ON = frozenset(
    {
        *("centers", "weights", "n_centers", "n_features", "metric", "rows", "n_rows", "copies"),
        *("expected", "nearest", "neighborhood", "partner", "scaled", "usual", "cuts", "n_trees"),
    }
)
# These refer to the former outlierness: derivatives of distances, variables set to 0, splits of trees.
# Assignments are requested separately.
_LOST = frozenset({"consume", "distances", "flip", "splits"})


@dataclass(frozen=True, eq=False)
class CalibratedScore:
    """Relevance over what is usual: R'_i = f_i R_i, R'_0 = f_0 R_0, and o' = Σ_i R'_i + R'_0.

    Made by ``whyodd.explain(model, X, normal=rows)``; :func:`usual_factors` has the factors, with which o' is
    1 on a usual row. What the member knows of centers, neighbours and expected values stays as it is, and so
    does the inlierness g.

    Attributes
    ----------
    score : member of the waist
        What is calibrated.
    factors : ndarray of shape (d,)
        f_i, of the columns that have relevance.
    rest : float
        f_0, of what belongs to no variable.
    through : LinearMap, optional
        The map before the member, if these columns stand before it.
    """

    score: Any
    factors: Floats
    rest: float
    through: LinearMap | None = None

    @property
    def capabilities(self) -> frozenset[str]:
        """The member's capabilities that do not treat its outlierness as a function of distances."""
        return frozenset(getattr(self.score, "capabilities", ())) - _LOST

    def __getattr__(self, name: str) -> Any:
        if name in _HANDED_ON:
            return getattr(self.score, name)
        raise AttributeError(f"A CalibratedScore has no {name!r}.")

    def outlierness(self, X: Any, **keywords: Any) -> Floats:
        """Outlierness o' (n,): how many times as odd as a usual row each one is."""
        return self.decompose(X, through=self.through, **keywords).outlierness

    def decompose(
        self,
        X: Any,
        *,
        own: Indices | None = None,
        through: LinearMap | None = None,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Decomposition:
        """Relevance over what is usual, in float64: ratios may leave the range of float32.

        ``through`` is the map that it was calibrated behind, if there is one.
        """
        if _columns_before(through) != _columns_before(self.through):
            raise ValueError(
                f"It was calibrated behind {self.through}, but the call is behind {through}. Calibrate "
                "it again."
            )
        parts = decompose_rows(self.score, X, own=own, through=self.through, n_jobs=n_jobs, progress=progress)
        relevance, rest = parts.relevance * self.factors, parts.unexplained * self.rest
        return Decomposition(
            relevance,
            rest,
            relevance.sum(axis=1) + rest,
            parts.log_inlierness,
            parts.discarded,
            None if parts.by_kind is None else parts.by_kind * self.factors[:, None],
        )

    def before_its_map(self, score: Any) -> CalibratedScore:
        """The same in the variables before its map, where ``score`` is the member.

        What no variable reaches comes last there, as variables of its own: behind the map it is unexplained.
        """
        outside = np.full(score.n_features - self.factors.size, self.rest)
        return CalibratedScore(score, np.concatenate([self.factors, outside]), self.rest)

    def assign(self, X: Any, consume: Callable[[Any, Any], None] | None = None, **keywords: Any) -> Scores:
        """Scores of each row; ``consume`` is handed the assignments of the member."""
        if consume is not None:
            self.score.assign(X, consume, **keywords)
        parts = self.decompose(X, through=self.through, **keywords)
        return Scores(parts.outlierness, parts.log_inlierness, parts.unexplained, parts.discarded)


def usual_factors(relevance: Any, outlierness: Floats, *, mixed: bool = False) -> tuple[Floats, float]:
    """Factors of relevance, f_i = s/(ū_i D), and of the rest, f_0 = 1/ō, which make o average 1.

    ū_i is the mean of R_i over normal rows, and a thousandth of its mean over i for variables that are never
    relevant. D is the mean of Σ_i R_i/ū_i: about the number of variables that are ever relevant. ō is the
    mean of o, and s the share of it that belongs to variables.

    So only relevance is reweighted, variable against variable. The rest has nothing to be weighed against:
    it is the same in units of ō, and keeps its share of what is usual. With a single variable, or several
    that are equally relevant on normal rows, o' is o/ō. So it is also where relevance has both signs: what
    cancels, and makes o ≥ 0, must go on to cancel.

    Parameters
    ----------
    relevance : ndarray of shape (N, d)
        R_i of normal rows that were not learned.
    outlierness : ndarray of shape (N,)
        o of the same rows: what of it is no relevance belongs to no variable.
    mixed : bool, default False
        Whether relevance has both signs, even if not on these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.calibrated import usual_factors
    >>> factors, rest = usual_factors(np.array([[1.0, 10.0], [3.0, 30.0]]), np.array([13.0, 37.0]))
    >>> (factors * [2.0, 20.0]).round(2), round(rest * 3.0, 2)
    (array([0.44, 0.44]), 0.12)
    """
    R = np.asarray(relevance, dtype=np.float64)
    if (outlierness < 0.0).any():
        raise ValueError(
            f"The outlierness of normal rows goes down to {outlierness.min():.3g}: a score that can be "
            "negative has no usual size. Leave normal out."
        )
    means, whole = R.mean(axis=0), float(outlierness.mean())
    if mixed or (R < 0.0).any():
        return np.full(means.shape, 1.0 / whole), 1.0 / whole
    explained = float(means.sum())
    if not explained > 0.0:
        raise ValueError(
            f"No variable has relevance on the {len(R)} normal row(s), so no usual size is known. Pass more "
            "of them, which the model was not trained on."
        )
    usual = means + _FLOOR * means.mean()
    return explained / whole / (means / usual).sum() / usual, 1.0 / whole


def mixes_variables(score: Any, through: LinearMap | None) -> bool:
    """Whether a member's distances, behind a map, are not sums of squares of single variables."""
    metric = getattr(score, "metric", None)
    if isinstance(metric, ComponentMetric):
        return through is not None or not metric.is_diagonal
    if isinstance(metric, LinearMetric):
        through = LinearMap(metric.matrix) if through is None else through.then(metric.matrix)
    return through is not None and not bool(through.squares.all())


def _columns_before(through: LinearMap | None) -> int | None:
    return None if through is None else through.n_inputs
