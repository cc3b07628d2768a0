"""The main member of the waist: a one-class model as a small network of distances and soft min-pooling."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse

from whyodd.compute.hard.neighbors import Neighbors
from whyodd.compute.mapped.components import Components, factors_of
from whyodd.compute.mapped.rows import Mapped
from whyodd.compute.points import heaviest, to_dense
from whyodd.compute.soft.soft_min import SoftMin
from whyodd.compute.work import Work
from whyodd.inputs.matrices import as_matrix
from whyodd.kernels import Exponential, Kernel
from whyodd.maths.hard_poolings import Pooling
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.flipping import NetworkFlipping
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from whyodd.compute.flipping.removals import Removals
    from whyodd.compute.points import Points
    from whyodd.compute.work import Scores
    from whyodd.maths.linear_maps import LinearMap
    from whyodd.maths.metrics import Metric
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.floating]
    Passes = SoftMin | Neighbors | Components | Mapped


# Up to this many centers, or coordinates of them, a metric is applied to the differences to each: exact, and
# as fast as a mixture scores. With more, rows are mapped first.
_FEW_CENTERS, _FEW_COORDINATES = 32, 8192
# The distance d itself, which a hard pooling pools, as the energy of this kernel.
_DISTANCE_ITSELF = Exponential(q=1.0, sigma=1.0)


class DistanceNetwork:
    """Distance network: v_j = log α_j + log k(‖x - u_j‖), log g = LSE_j(v_j), o a function of log g.

    Layer 1 measures the distances of a point to the centers, layer 2 pools them. The output is
    redistributed onto centers and from there onto input variables, conserving the sum (Kauffmann, Müller and
    Montavon, sections "Explaining Inlierness" and "Explaining Outlierness").

    Parameters
    ----------
    centers : array-like or CSR matrix of shape (m, d)
        Centers u_j, finite.
    weights : array-like of shape (m,), optional
        Weights α_j ≥ 0 that sum to 1; equal weights by default.
    kernel : Kernel, optional
        One of ``whyodd.kernels``, or your own (see ``whyodd.kernels.Kernel``); a Gaussian of bandwidth 1 by
        default.
    log_weights : array-like of shape (m,), optional
        log α_j instead of ``weights``, for weights too small for a float. Normalised inside.
    pooling : whyodd.maths.hard_poolings.Pooling, optional
        Hard pooling of the nearest distances themselves, without kernel and weights: o is the pooled distance
        and g = exp(-o). Soft min-pooling over the kernel by default.
    metric : whyodd.maths.metrics.LinearMetric or ComponentMetric, optional
        Distances after a linear map, d_j = ‖A (x - u_j)‖; a map per center is for soft pooling only.
        Single relevances may then be negative (a broken correlation), unless the map is diagonal.
    offset : float, default 0.0
        Constant from which the score of the original model follows (each adapter says how).
    rows : array-like of int of shape (m,), optional
        Training row that each center stands for.
    n_rows : int, optional
        Number of rows the model was trained on.
    copies : array-like of int of shape (c, 2), optional
        Further training rows that are equal to a center, each with that center. A center that stands for k
        equal rows has the sum of their weights. Each row takes a k-th of it away if it is left out.
    verdict : Verdict, optional
        What the original model says about its own scores.

    Notes
    -----
    Every method takes these keywords. ``own``: array of int (n,), for each row of X the one center to leave
    out (-1: none), or the row's part of one with ``copies``; the other weights are renormalised. ``n_jobs``:
    threads (None: all cores). ``memory_mb``: bound on the memory for work, beyond input and output.
    ``progress``: called with the number of rows done.

    Examples
    --------
    >>> import whyodd
    >>> network = whyodd.DistanceNetwork([[0.0, 0.0], [1.0, 0.0]])
    >>> network.outlierness([[0.5, 2.0]]).round(3)
    array([2.125])
    >>> network.input_relevance([[0.5, 2.0]]).round(3)
    array([[0.125, 2.   ]])
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {
            *("centers", "consume", "copies", "distances", "expected", "flip", "leave_out", "neighbors"),
            *("save", "through", "work"),
        }
    )

    centers: Floats | sparse.csr_array
    weights: NDArray[np.float64]
    log_weights: NDArray[np.float64]
    kernel: Kernel
    pooling: Pooling | None
    metric: Metric | None
    offset: float
    rows: NDArray[np.intp] | None
    n_rows: int | None
    copies: NDArray[np.intp] | None
    verdict: Verdict | None

    def __init__(
        self,
        centers: ArrayLike | sparse.csr_array,
        weights: ArrayLike | None = None,
        kernel: Kernel | None = None,
        *,
        log_weights: ArrayLike | None = None,
        pooling: Pooling | None = None,
        metric: Metric | None = None,
        offset: float = 0.0,
        rows: ArrayLike | None = None,
        n_rows: int | None = None,
        copies: ArrayLike | None = None,
        verdict: Verdict | None = None,
    ) -> None:
        points = _frozen_copy(as_matrix(centers, dtype=np.float64, what="centers").values)
        logs = _frozen_copy(_checked_log_weights(weights, log_weights, points.shape[0]))
        if pooling is not None:
            _check_pooling(pooling, metric, points.shape[0])
            _check_unused(weights, log_weights, kernel, copies)
            kernel = _DISTANCE_ITSELF
        if metric is not None:
            _check_metric(metric, *points.shape)
        fields = {
            "centers": points,
            "log_weights": logs,
            "weights": _frozen_copy(np.exp(logs)),
            "kernel": _checked_kernel(kernel),
            "pooling": pooling,
            "metric": metric,
            "offset": float(offset),
            "rows": None if rows is None else _checked_rows(rows, points.shape[0]),
            "n_rows": n_rows,
            "copies": None if copies is None else _checked_copies(copies, points.shape[0]),
            "verdict": verdict,
        }
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A DistanceNetwork is frozen: cannot set {name!r}. Build a new one instead.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A DistanceNetwork is frozen: cannot delete {name!r}.")

    def __getstate__(self) -> dict[str, Any]:
        # Only the constructor's arguments: compiled state is rebuilt on loading.
        names = ["centers", "metric", "offset", "rows", "n_rows", "copies", "verdict"]
        names += ["log_weights", "kernel"] if self.pooling is None else ["pooling"]
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if sparse.issparse(state["centers"]):
            state["centers"].check_format()  # compiled code trusts the indices
        self.__dict__.update(DistanceNetwork(**state).__dict__)
        if self.pooling is None:
            # Normalising weights twice may round, so weights that are already normalised keep their bits.
            logs = np.asarray(state["log_weights"], dtype=np.float64)
            if np.allclose(logs, self.log_weights, rtol=0.0, atol=1e-9):
                self.__dict__.update(log_weights=_frozen_copy(logs), weights=_frozen_copy(np.exp(logs)))

    def __repr__(self) -> str:
        parts = [f"{self.n_centers} centers", f"{self.n_features} variables"]
        parts.append(repr(self.kernel if self.pooling is None else self.pooling))
        parts += [] if self.metric is None else [repr(self.metric)]
        return f"DistanceNetwork({', '.join(parts)})"

    def with_rows_of(self, chosen: NDArray[np.intp], n_rows: int) -> Self:
        """The same network, with training rows that were ``chosen`` among ``n_rows``."""
        rows = None if self.rows is None else _checked_rows(chosen[self.rows], self.n_centers)
        copies = self.copies
        if copies is not None:
            copies = _checked_copies(np.column_stack([chosen[copies[:, 0]], copies[:, 1]]), self.n_centers)
        return self._but(rows=rows, n_rows=n_rows, copies=copies)

    def with_verdict(self, verdict: Verdict) -> Self:
        """The same network, with what the original model says about its scores."""
        return self._but(verdict=verdict)

    def _but(self, **fields: Any) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, **fields)
        return other

    @property
    def n_centers(self) -> int:
        """Number of centers m."""
        return int(self.centers.shape[0])

    @property
    def n_features(self) -> int:
        """Number of input variables d."""
        return int(self.centers.shape[1])

    def outlierness(self, X: Any, **keywords: Any) -> NDArray[np.float64]:
        """Outlierness o(x) (n,), defined by the kernel: -log g for exponential ones, m / g for Student's."""
        return self.assign(X, **keywords).outlierness

    def inlierness(self, X: Any, **keywords: Any) -> NDArray[np.float64]:
        """Inlierness i(x) = g(x) = Σ_j α_j k(‖x - u_j‖) (n,)."""
        return np.exp(self.assign(X, **keywords).log_inlierness)

    def assignment(self, X: Any, **keywords: Any) -> Floats:
        """Soft assignment p_j = α_j k_j / g (n, m); each row sums to 1."""
        return self._per_center(X, lambda scores: np.ones(scores.outlierness.size), **keywords)

    def center_relevance(self, X: Any, **keywords: Any) -> Floats:
        """Relevance R_j = p_j o of each center for the outlierness (n, m)."""
        return self._per_center(X, lambda scores: scores.outlierness, **keywords)

    def inlier_relevance(self, X: Any, **keywords: Any) -> Floats:
        """Relevance R_j = α_j k_j of each center for the inlierness (n, m)."""
        return self._per_center(X, lambda scores: np.exp(scores.log_inlierness), **keywords)

    def input_relevance(self, X: Any, **keywords: Any) -> Floats:
        """Relevance R_i = Σ_j Δ_j (x_i - u_ji)² / d²_j of each input variable for the outlierness (n, d)."""
        return self.decompose(X, **keywords).relevance

    def decompose(
        self,
        X: Any,
        *,
        own: ArrayLike | None = None,
        through: LinearMap | None = None,
        consume: Callable[[Any, Any], None] | None = None,
        **work: Any,
    ) -> Decomposition:
        """Everything about the outlierness in one pass: o, R_i and what belongs to no variable.

        ``through``: a linear map that made X from other variables; relevance (n, through.n_inputs) is then
        theirs. ``consume``: receives the assignments, as in :meth:`assign`; hard pooling need not search
        twice for it. ``tolerance``: share of each row's soft assignment that may be discarded, 0 by default.
        If few centers are left (a peaked soft-min), this is several times faster. Only soft pooling under the
        plain distance makes use of it.
        """
        values, left_out = self._checked_input(X, own)
        if through is not None and through.n_outputs != self.n_features:
            raise ValueError(f"{through} must end in the {self.n_features} variable(s) of the network.")
        relevance: Floats
        if consume is not None and isinstance(self._passes, Neighbors):
            relevance, scores = self._passes.decompose(values, left_out, Work(**work), through, consume)
        else:
            relevance, scores = self._passes.decompose(values, left_out, Work(**work), through)
            if consume is not None:
                self._passes.assign(values, left_out, Work(**work), consume)
        _check_representable(scores.outlierness)
        with np.errstate(over="ignore"):
            relevance = relevance.astype(values.dtype, copy=False)
        _check_fits(relevance)
        return Decomposition(
            relevance, scores.unexplained, scores.outlierness, scores.log_inlierness, scores.discarded
        )

    def expected(self, X: Any, **keywords: Any) -> Floats:
        """Expected point Σ_j p_j u_j (n, d): what a normal point like this one looks like."""
        values = as_matrix(X).values
        out = np.empty(values.shape, dtype=values.dtype)

        def fill(rows: Any, p: Any) -> None:
            out[rows] = self.average(p)

        self.assign(values, fill, **keywords)
        return out

    def average(self, p: Any) -> Floats:
        """Σ_j p_j u_j (n, d) for assignments p (n, m), an array or CSR array."""
        p = p.astype(np.float64, copy=False)
        nearest = to_dense(self.centers[heaviest(p)])
        # The rounding error of Σ_j p_j = 1 goes to the nearest center, which may be far from the origin.
        lost = 1.0 - np.asarray(p.sum(axis=1)).reshape(-1, 1)
        return np.asarray(to_dense(p @ self.centers) + lost * nearest)

    def assign(
        self,
        X: Any,
        consume: Callable[[Any, Any], None] | None = None,
        *,
        own: ArrayLike | None = None,
        **work: Any,
    ) -> Scores:
        """Scores of each row; ``consume(rows, p)`` receives soft assignments p (rows, m) block by block.

        They come from several threads, as arrays, or as CSR arrays for a hard pooling.
        """
        values, left_out = self._checked_input(X, own)
        scores = self._passes.assign(values, left_out, Work(**work), consume)
        _check_representable(scores.outlierness)
        return scores

    def nearest(self, X: Any, k: int, **keywords: Any) -> tuple[NDArray[np.intp], Floats, Floats]:
        """The k centers that count most, descending: index, p_j and p_j g (α_j k_j), each (n, k).

        They are those with the largest assignment, or the nearest ones for a hard pooling.
        """
        if not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(
                f"k={k!r}: expected the number of centers to return, a whole number of at least 1."
            )
        values = as_matrix(X).values
        find = self._nearest_by_assignment if self.pooling is None else self._nearest_by_distance
        index, p, scores = find(values, min(int(k), self.n_centers), **keywords)
        return index, p, p * np.exp(scores.log_inlierness)[:, None]

    def flip(
        self,
        X: Points,
        removals: Removals,
        own: NDArray[np.intp] | None = None,
        *,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> NDArray[np.float64]:
        """Outlierness o(Ψ) of rows before and after each of S steps that remove variables (n, S + 1).

        A variable that is removed has the difference 0 from all centers. ``own`` (n,) is the center to leave
        out for each row, or -1; ``progress`` receives the number of finished rows.
        """
        return self._flipping.curves(X, removals, self.checked_own(own, X.shape[0]), n_jobs, progress)

    @cached_property
    def _flipping(self) -> NetworkFlipping:
        return NetworkFlipping(
            self.centers, self.log_weights, self.kernel, self._kept, self.metric, self.pooling
        )

    @cached_property
    def _kept(self) -> NDArray[np.float64]:
        """(m,) share of its weight that each center keeps if one of its rows leaves it."""
        if self.copies is None:
            return np.zeros(self.n_centers)
        n_rows = 1.0 + np.bincount(self.copies[:, 1], minlength=self.n_centers)
        return np.asarray(1.0 - 1.0 / n_rows, dtype=np.float64)

    def _nearest_by_assignment(
        self, values: Points, k: int, **keywords: Any
    ) -> tuple[NDArray[np.intp], Floats, Scores]:
        index = np.empty((values.shape[0], k), dtype=np.intp)
        p_nearest = np.empty((values.shape[0], k), dtype=values.dtype)

        def select(rows: Any, p: Floats) -> None:
            index[rows] = _largest(p, k)
            p_nearest[rows] = np.take_along_axis(p, index[rows], axis=1)

        scores = self.assign(values, select, **keywords)
        return index, p_nearest, scores

    def _nearest_by_distance(
        self, values: Points, k: int, *, own: ArrayLike | None = None, **work: Any
    ) -> tuple[NDArray[np.intp], Floats, Scores]:
        values, left_out = self._checked_input(values, own)
        # If a row's own center is left out, there is one fewer to return.
        k = min(k, self.n_centers - bool(left_out.max() >= 0))
        passes: Any = self._passes
        index, p, scores = passes.nearest(values, left_out, Work(**work), k)
        return index, p, scores

    @cached_property
    def _passes(self) -> Passes:
        """The arithmetic: which passes over the rows this network needs."""
        matrix = self.metric.matrix if isinstance(self.metric, LinearMetric) else None
        if self.pooling is not None:
            return Neighbors(self.centers, self.pooling, matrix)
        if self.metric is None:
            return self._soft(self.centers)
        if matrix is not None and not self._has_few_centers:
            return Mapped.of(self.centers, matrix, self._soft)
        factors = factors_of(self.metric, self.n_centers)
        points = np.asarray(to_dense(self.centers), dtype=np.float64)
        return Components(points, self.log_weights, self.kernel, factors, self._kept)

    @property
    def _has_few_centers(self) -> bool:
        return self.n_centers <= _FEW_CENTERS or self.n_centers * self.n_features <= _FEW_COORDINATES

    def _soft(self, points: Points) -> SoftMin:
        return SoftMin(points, self.log_weights, self.kernel, self._kept)

    def _per_center(self, X: Any, factor: Callable[[Scores], Floats], **keywords: Any) -> Floats:
        values = as_matrix(X).values
        out = np.empty((values.shape[0], self.n_centers), dtype=values.dtype)

        def copy(rows: Any, p: Any) -> None:
            out[rows] = to_dense(p)

        scores = self.assign(values, copy, **keywords)
        out *= factor(scores)[:, None]
        return out

    def _checked_input(self, X: Any, own: ArrayLike | None) -> tuple[Floats, NDArray[np.intp]]:
        values = as_matrix(X).values
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the network has {self.n_features} variable(s). "
                "Pass the same columns as in the centers, in the same order."
            )
        return values, self.checked_own(own, values.shape[0])

    def checked_own(self, own: ArrayLike | None, n: int) -> NDArray[np.intp]:
        """(n,) the center to leave out for each of ``n`` rows, -1 for none; an error if none is left."""
        if own is None:
            return np.full(n, -1, dtype=np.intp)
        left_out = np.asarray(own)
        if left_out.shape != (n,) or left_out.dtype.kind not in "iu":
            raise ValueError(
                f"Expected own with one integer per row, ({n},), got shape {left_out.shape} and type "
                f"{left_out.dtype}."
            )
        if left_out.min() < -1 or left_out.max() >= self.n_centers:
            raise ValueError(f"Expected own between -1 (none) and {self.n_centers - 1}, the last center.")
        self._check_some_left(left_out)
        return left_out.astype(np.intp)

    def _check_some_left(self, left_out: NDArray[np.integer]) -> None:
        if self.pooling is not None:
            if self.n_centers <= self.pooling.k and left_out.max() >= 0:
                raise ValueError(
                    f"Without a row's own center only {self.n_centers - 1} are left, but the pooling needs "
                    f"{self.pooling.k} neighbours. Use a model with more rows, or do not exclude the row "
                    "itself (exclude_self=False)."
                )
            return
        lone = np.isneginf(np.delete(self.log_weights, int(np.argmax(self.log_weights)))).all()
        heaviest = int(np.argmax(self.log_weights))
        if lone and self._kept[heaviest] == 0.0 and np.any(left_out == heaviest):
            raise ValueError(
                "Leaving out the only center with a weight leaves nothing to compare with. "
                "Use a model with more centers, or do not exclude the row itself (exclude_self=False)."
            )


def _frozen_copy(values: Any) -> Any:
    """A copy that nobody can write to."""
    values = values.copy()
    for array in (values.data, values.indices, values.indptr) if sparse.issparse(values) else (values,):
        array.flags.writeable = False
    return values


def _checked_log_weights(
    weights: ArrayLike | None, log_weights: ArrayLike | None, m: int
) -> NDArray[np.float64]:
    if weights is not None and log_weights is not None:
        raise ValueError("Expected weights or log_weights, got both. Pass one of them.")
    if log_weights is not None:
        logs = _checked_vector(log_weights, "log_weights", m)
        if not -np.inf < logs.max() < np.inf:  # neither if one of them is NaN
            raise ValueError("log_weights must be numbers below infinity, and not all -infinity.")
        return np.asarray(logs - np.logaddexp.reduce(logs))
    if weights is None:
        return np.full(m, -np.log(m))
    alpha = _checked_vector(weights, "weights", m)
    if not np.isfinite(alpha).all() or (alpha < 0.0).any():
        raise ValueError(f"weights must be finite and not negative, but the smallest is {alpha.min()}.")
    total = float(alpha.sum())
    # Rounding of m terms, or of weights that were stored in float32.
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"weights must sum to 1, but sum to {total:.6g}. Divide them by their sum.")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(alpha) - np.log(total))


def _checked_vector(values: ArrayLike, what: str, m: int) -> NDArray[np.float64]:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers: {error}.") from error
    if vector.shape != (m,):
        raise ValueError(f"Expected {what} with one number per center, ({m},), got shape {vector.shape}.")
    return vector


def _checked_kernel(kernel: Kernel | None) -> Kernel:
    if kernel is None:
        return Exponential()
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"Expected kernel as a whyodd.kernels.Kernel, like Exponential(), got {type(kernel).__name__}."
        )
    return kernel


def _check_pooling(pooling: object, metric: Metric | None, m: int) -> None:
    if not isinstance(pooling, Pooling):
        raise TypeError(f"Expected a pooling from whyodd.maths.hard_poolings, got {type(pooling).__name__}.")
    if isinstance(metric, ComponentMetric):
        message = "A metric per center works only with soft pooling. Pass a LinearMetric, or no pooling."
        raise ValueError(message)  # noqa: TRY004 - a metric, but not for this pooling
    pooling.check(m)


def _check_unused(*arguments: object) -> None:
    if any(argument is not None for argument in arguments):
        raise ValueError(
            "A hard pooling uses neither weights nor a kernel nor copies. Leave them out, or the pooling."
        )


def _check_metric(metric: object, m: int, d: int) -> None:
    if not isinstance(metric, (LinearMetric, ComponentMetric)):
        raise TypeError(f"Expected a metric from whyodd.maths.metrics, got {type(metric).__name__}.")
    metric.check(m, d)


def _checked_rows(rows: ArrayLike, m: int) -> NDArray[np.intp]:
    index = np.asarray(rows)
    if index.shape != (m,) or index.dtype.kind not in "iu":
        raise ValueError(f"Expected rows with one row number per center, ({m},), got shape {index.shape}.")
    return np.asarray(_frozen_copy(index.astype(np.intp)))


def _checked_copies(copies: ArrayLike, m: int) -> NDArray[np.intp]:
    pairs = np.asarray(copies)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"Expected copies as pairs of row and center, (c, 2), got shape {pairs.shape}.")
    if pairs.size and (pairs.min() < 0 or pairs[:, 1].max() >= m):
        raise ValueError(f"Expected copies of centers between 0 and {m - 1}, got {pairs[:, 1].max()}.")
    return np.asarray(_frozen_copy(pairs.astype(np.intp)))


def _check_representable(outlierness: NDArray[np.float64]) -> None:
    if not np.isfinite(outlierness).all():
        row = int(np.argmin(np.isfinite(outlierness)))
        raise OverflowError(
            f"Row {row} of X is so far from every center that its outlierness exceeds the largest float. "
            "Check the row's values, or use a larger bandwidth or a smaller q."
        )


def _check_fits(relevance: Floats) -> None:
    # A sum is finite unless a term is not, or it overflowed: one pass, and a second one only then.
    with np.errstate(over="ignore", invalid="ignore"):
        total = relevance.sum()
    if not np.isfinite(total) and not np.isfinite(relevance).all():
        row = int(np.argmin(np.isfinite(relevance).all(axis=1)))
        raise OverflowError(
            f"The relevance of row {row} of X exceeds the largest {relevance.dtype}. Pass X in float64."
        )


def _largest(p: Floats, k: int) -> NDArray[np.intp]:
    """Indices of the k largest entries of each row, in descending order."""
    chosen = np.sort(np.argpartition(-p, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(-np.take_along_axis(p, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)
