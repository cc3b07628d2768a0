"""The one-class SVM: min ½ αᵀKα subject to 0 ≤ α_i ≤ C_i = s_i/(ν Σs), Σα = 1, for any radial kernel.

The solver is a decomposition method with problems of three sizes, each solved in the way that suits it:

- up to 4,096 points, or with few enough support vectors: pairwise steps (`pair_steps`) on those rows of K
  that they need, computed in float64 when they first do;
- as many as fit in memory in 16 bits: as long as thousands of coefficients are wrong, projected gradient on a
  coarse K (`spectral_steps`); then working sets of the first size;
- more: working sets of the second size.

For the last two the gradient Kα of all points is kept up to date by products that compute K tile by tile in
float32 and never store it; the coarse matrix only proposes a point to go on from. If the violation in float64
turns out to be larger than allowed, products go on in float64.

Inside, as in libsvm, α is on the scale 0 ≤ α_i ≤ s_i, Σα = ν Σs; so are the gradient and the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whyodd.compute.soft.centers import Centers, prepare
from whyodd.compute.soft.passes import assign
from whyodd.compute.training.dual_problem import DualProblem
from whyodd.compute.training.gram import (
    ROUGHEST,
    CoarseGram,
    Float64Array,
    GramRows,
    IndexArray,
    RadialPoints,
)
from whyodd.compute.training.pair_steps import descend_by_pairs
from whyodd.compute.training.spectral_steps import project, spectral_steps
from whyodd.compute.work import Work

if TYPE_CHECKING:
    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel

# Largest problem of which all rows of K may be kept: 128 MB of float64. Of larger ones as many numbers.
_DENSE = 4096
# Smallest and largest working set with a dense K: choosing one costs a pass over all points, which should
# serve for more than a few steps; 16 MB stay within the third-level cache.
_LEAST, _MOST = 512, 2048
# With more violators and support vectors than this, moving all coefficients at once pays for a coarse matrix.
_MANY = 2 * _MOST
# Points of the trial problem that a cold start is made from.
_TRIAL = 1024
# Of smaller problems the trial is one in so many points, if these are enough to tell anything.
_ROWS_PER_TRIAL, _LEAST_TRIAL = 8, 128
# A working set is solved to this share of the violation it starts with: more precision is lost again when the
# other points move.
_INNER = 0.02
# Bounds on one call of compiled code, on a slow approach, and on an endless sequence of working sets.
_STEPS_AT_ONCE, _SPECTRAL_STEPS, _ROUNDS = 5_000, 80, 1_000
# Rows of K that may come to be needed for each support vector of the start.
_SPARE_ROWS = 1.5
# With more variables products in float32 are much faster than differences in float64.
_FEW_VARIABLES = 64
# What rounding may have moved a coefficient off its bound, in shares of that.
_BLUR = 1e-11
# Memory that does not grow with n: each thread's tiles, the rows of K of a working set.
_FIXED_BYTES = 64e6
# What of the tolerance is left for the violation seen with float32 similarities; how often it is checked in
# float64 and gone on from, and with how many rows at first.
_FLOAT32_SHARE, _CHECKS, _EXTREME_ROWS = 0.9, 20, 256

Progress = Callable[[int, float], Any]


@dataclass(frozen=True)
class OneClassSolution:
    """Coefficients of the one-class SVM and how they were reached.

    Attributes
    ----------
    alpha : ndarray (n,)
        Σα = 1.
    n_iter : int
        Pairwise and projected gradient steps.
    objective : float
        ½ αᵀKα.
    violation : float
        max {g_i : α_i > 0} - min {g_i : α_i < C_i} on libsvm's scale, g = ν Σs · Kα.
    rho : float
        Threshold on Kα: its mean over 0 < α_i < C_i, or the middle of its bounds when there is no such i;
        lower if more than a share ν of the rows, by weight, would lie below it.
    converged : bool
        Whether the violation is within the tolerance.
    """

    alpha: Float64Array
    n_iter: int
    objective: float
    violation: float
    rho: float
    converged: bool


def solve_one_class(
    X: Points,
    kernel: Kernel,
    nu: float,
    *,
    sample_weight: npt.ArrayLike | None = None,
    alpha: npt.ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    memory_mb: float = 2000.0,
    progress: Progress | None = None,
) -> OneClassSolution:
    """One-class SVM: α = argmin ½ αᵀKα over 0 ≤ α_i ≤ s_i/(ν Σs), Σα = 1 (Schölkopf et al. 2001).

    Parameters
    ----------
    X : ndarray (n, d) or CSR array
        Training points.
    kernel : kernel of whyodd.kernels
        An indefinite one (exponential with q > 2) ends in a stationary point.
    nu : float
        In (0, 1]: upper bound on the share of outliers, lower bound on that of support vectors.
    sample_weight : array (n,), optional
        s ≥ 0; ones by default.
    alpha : array (n,), optional
        Where to start, Σα = 1; made feasible first.
    tol : float
        Largest violation of the optimality conditions, on libsvm's scale.
    max_iter : int
        Largest number of steps.
    memory_mb : float
        Bound on the memory beyond ``X``; at least some 200 MB and a few copies of ``X`` are used in any case.
    progress : callable, optional
        Called as ``progress(iteration, violation)`` every so often; may raise to stop.

    Returns
    -------
    OneClassSolution
    """
    n = X.shape[0]
    upper = np.ones(n) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
    total = nu * float(upper.sum())
    # Inside, similarities are relative to k(0).
    height = math.exp(kernel.log_height)
    goal = tol / height
    # Where the rows of K that count can be kept, float64 costs little. Else rounding of similarities by a
    # tenth of the tolerance is not noticed.
    in_rows = n <= _DENSE or (X.shape[1] <= _FEW_VARIABLES and _room(n, nu * n) > 0)
    points = RadialPoints.of(X, kernel, 0.0 if in_rows else min(0.1 * tol, ROUGHEST))
    run = _Run.within(points, memory_mb, max_iter, progress)
    if alpha is None:
        problem = _cold_start(points, upper, total, goal, run)
    else:
        start = _at_bounds(project(total * np.asarray(alpha), upper, total), upper)
        problem = _problem_at(points, upper, start)
    while True:
        is_exact = problem.points.is_precise
        # float32 similarities may hide a little of the violation.
        _solve(problem, goal if is_exact else _FLOAT32_SHARE * goal, run)
        if is_exact:
            return _solution(problem, problem.violation(), goal, run, height)
        exact = _Exact.of(X, problem, kernel, height)
        in_all_rows = run.checks > 0 or n <= _DENSE
        if in_all_rows:
            problem.gradient = exact.gradient(np.arange(n))
        violation = problem.violation() if in_all_rows else exact.violation()
        run.checks += 1
        if violation <= goal or run.exhausted:
            return _solution(problem, violation, goal, run, height)
        # On in float64.
        if problem.points.dtype == np.float32:
            points = RadialPoints.of(X, kernel, 0.0)
            problem = DualProblem.at(points, upper, problem.alpha)
        elif not in_all_rows:
            problem.gradient = exact.gradient(np.arange(n))


def _room(n: int, support: float) -> int:
    """How many rows of K to keep if those of so many support vectors are needed; 0 for none."""
    if n <= _DENSE:
        return n
    room = _DENSE**2 // n
    return room if _SPARE_ROWS * support <= room else 0


def _at_bounds(alpha: Float64Array, upper: Float64Array) -> Float64Array:
    """Coefficients that rounding has taken off their bounds put back.

    Where a start comes from logarithms, or another scale, each of them would look as if it could move.
    """
    return np.where(alpha >= upper * (1.0 - _BLUR), upper, np.where(alpha <= upper * _BLUR, 0.0, alpha))


@dataclass(frozen=True)
class _Exact:
    """The gradient at a solution with similarities in float64, computed as explanations compute them."""

    X: Points
    problem: DualProblem
    centers: Centers
    scale: float

    @classmethod
    def of(cls, X: Points, problem: DualProblem, kernel: Kernel, height: float) -> _Exact:
        support, total = np.flatnonzero(problem.alpha), float(problem.alpha.sum())
        wide = np.dtype(np.float64)
        log_weights = np.log(problem.alpha[support] / total)
        centers = prepare(X[support].astype(wide), log_weights, kernel, dtype=wide)
        return cls(X, problem, centers, total / height)

    def gradient(self, rows: IndexArray) -> Float64Array:
        """Kα in some rows, relative to k(0)."""
        nobody = np.full(rows.size, -1, dtype=np.intp)
        return np.exp(assign(self.X[rows], nobody, self.centers, Work()).log_inlierness) * self.scale

    def violation(self) -> float:
        """Violation in float64.

        Only rows with extreme gradients can matter: enough of them are computed for the differences from
        their float32 values, and from those of rows picked at random, to tell that no other is more extreme.
        """
        gradient, alpha = self.problem.gradient, self.problem.alpha
        grow, shrink = np.flatnonzero(alpha < self.problem.upper), np.flatnonzero(alpha)
        if grow.size == 0:  # ν = 1: nothing can move
            return 0.0
        others = np.random.default_rng(0).integers(alpha.size, size=_EXTREME_ROWS)
        count = _EXTREME_ROWS
        while True:
            low = grow[np.argsort(gradient[grow], kind="stable")[:count]]
            high = shrink[np.argsort(-gradient[shrink], kind="stable")[:count]]
            rows = np.concatenate([low, high, others])
            exact = self.gradient(rows)
            blur = 3.0 * float(np.abs(exact - gradient[rows]).max())
            lowest, highest = float(exact[: low.size].min()), float(exact[low.size : -others.size].max())
            low_is_safe = low.size == grow.size or gradient[low[-1]] - blur >= lowest
            high_is_safe = high.size == shrink.size or gradient[high[-1]] + blur <= highest
            if low_is_safe and high_is_safe:
                return max(highest - lowest, 0.0)
            count *= 4


def _solution(
    problem: DualProblem, violation: float, goal: float, run: _Run, height: float
) -> OneClassSolution:
    """From libsvm's scale to Σα = 1, and from similarities relative to k(0) to those of the kernel."""
    scale = float(problem.alpha.sum())
    return OneClassSolution(
        alpha=problem.alpha / scale,
        n_iter=run.steps,
        objective=0.5 * height * float(problem.alpha @ problem.gradient) / scale**2,
        violation=height * violation,
        rho=height * problem.threshold() / scale,
        converged=violation <= goal,
    )


@dataclass
class _Run:
    """What a fit may use, what it has used, and whom to tell."""

    size: int
    capacity: int
    max_steps: int
    progress: Progress | None
    steps: int = 0
    rounds: int = 0
    checks: int = 0
    violation: float = np.inf

    @classmethod
    def within(cls, points: RadialPoints, memory_mb: float, max_iter: int, progress: Progress | None) -> _Run:
        """Room for the coarse Gram matrix of ``capacity`` points."""
        # The points are held up to three times: all, a working set, and those of it that moved.
        free = 1e6 * memory_mb - _FIXED_BYTES - 3 * points.n_bytes
        return cls(len(points), max(CoarseGram.capacity(free), _DENSE), max_iter, progress)

    @property
    def exhausted(self) -> bool:
        """Whether to give up."""
        return self.steps >= self.max_steps or self.rounds >= _ROUNDS or self.checks >= _CHECKS

    def report(self, problem: DualProblem, steps: int, violation: float) -> None:
        """Count steps, and tell the violation of the whole problem, also from within a working set."""
        self.steps += steps
        if len(problem) == self.size:
            self.violation = violation
        if self.progress is not None:
            self.progress(self.steps, self.violation)


def _solve(problem: DualProblem, tol: float, run: _Run) -> None:
    """Descend until the violation is within ``tol``, in the way that suits the size of the problem."""
    if len(problem) <= _DENSE or problem.rows is not None:
        _solve_by_rows(problem, tol, run)
        problem.rows = None
        if len(problem) <= _DENSE:
            return
    approached = False
    while (violation := problem.violation()) > tol and not run.exhausted:
        run.report(problem, 0, violation)
        violators = problem.count_violators(tol)
        is_many = min(violators, int(np.count_nonzero(problem.alpha))) > _MANY
        # Once the float64 gradient is known a coarse K has nothing to add.
        if is_many and len(problem) <= run.capacity and not approached and run.checks == 0:
            _approach(problem, tol, run)
            approached = True
            continue
        largest = run.capacity if is_many and len(problem) > run.capacity else _MOST
        index = problem.working_set(min(largest, max(_LEAST, 4 * violators)))
        part = problem.restricted_to(index)
        _solve(part, max(0.5 * tol, _INNER * violation), run)
        problem.adopt(part, index)
        run.rounds += 1


def _solve_by_rows(problem: DualProblem, tol: float, run: _Run) -> None:
    """Pairwise steps on the rows of K that they need, until there is no room for another.

    They come in bursts that leave time to show progress and to be interrupted.
    """
    rows = problem.rows or GramRows(problem.points, _room(len(problem), 0))
    violation = np.inf
    while violation > tol and not run.exhausted:
        burst = min(_STEPS_AT_ONCE, run.max_steps - run.steps)
        steps, violation, missing = descend_by_pairs(
            rows.values, rows.slots, problem.alpha, problem.upper, problem.gradient, tol, burst
        )
        run.report(problem, steps, violation)
        if missing >= 0:
            if rows.is_full:
                return
            rows.add(problem.next_rows(missing, rows))


def _approach(problem: DualProblem, tol: float, run: _Run) -> None:
    """Spectral steps on a coarse K from where the problem stands, then the exact gradient."""
    guess = DualProblem(problem.points, problem.upper, problem.alpha.copy(), problem.gradient.copy())
    _spectral_descent(guess, CoarseGram(problem.points), tol, run)
    problem.move_to(guess.alpha)


def _spectral_descent(guess: DualProblem, coarse: CoarseGram, tol: float, run: _Run) -> None:
    """Projected gradient steps until a dense working set can hold all violators, or too many of them."""
    steps = spectral_steps(coarse.product, guess.alpha, guess.upper, guess.gradient)
    allowed = min(_SPECTRAL_STEPS, run.max_steps - run.steps)
    for _, _ in zip(range(allowed), steps, strict=False):
        run.report(guess, 1, guess.violation())
        if guess.count_violators(tol) <= _MOST:
            return


def _cold_start(
    points: RadialPoints, upper: Float64Array, total: float, tol: float, run: _Run
) -> DualProblem:
    """Coefficients to start from.

    A small sample tells what the solution will be like. With thousands of free support vectors every point is
    close to its own share; otherwise those at the bound are the points of least density under the sample's
    solution. The latter also beyond the memory bound, as the gradient of few coefficients is soon computed.
    """
    n = len(points)
    size = _TRIAL if n > _DENSE else n // _ROWS_PER_TRIAL
    if n <= _DENSE and size < _LEAST_TRIAL:
        return _problem_at(points, upper, _fill(np.arange(n), upper, total))
    sample = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    bounds = upper[sample]
    alpha = _fill(np.arange(size), bounds, total * float(bounds.sum() / upper.sum()))
    trial = _problem_at(points.take(sample), bounds, alpha)
    _solve_by_rows(trial, tol, run)
    free = np.count_nonzero((trial.alpha > 0.0) & (trial.alpha < trial.upper))
    if n > _DENSE and free * n > _MANY * _TRIAL and n <= run.capacity:
        return _problem_at(points, upper, _inverse_density_start(points, upper, total, tol, run))
    support = np.flatnonzero(trial.alpha)
    density = points.product(trial.points.take(support), trial.alpha[support])
    return _problem_at(points, upper, _fill(np.argsort(density, kind="stable"), upper, total))


def _problem_at(points: RadialPoints, upper: Float64Array, alpha: Float64Array) -> DualProblem:
    """Keep rows of K if they are few, and if they are in float64 or all of them fit."""
    n = len(points)
    in_rows = n <= _DENSE or points.dtype == np.float64
    return DualProblem.at(points, upper, alpha, _room(n, int(np.count_nonzero(alpha))) if in_rows else 0)


def _fill(order: IndexArray, upper: Float64Array, total: float) -> Float64Array:
    """Coefficients at their bounds, in this order, until their sum is reached: the last takes the remainder.

    In the order of the rows it is where libsvm starts.
    """
    bounds, alpha = upper[order], np.empty(len(upper))
    alpha[order] = np.minimum(np.maximum(total - (np.cumsum(bounds) - bounds), 0.0), bounds)
    return alpha


def _inverse_density_start(
    points: RadialPoints, upper: Float64Array, total: float, tol: float, run: _Run
) -> Float64Array:
    """Spectral steps from α_i ∝ s_i / Σ_j s_j k(‖x_i - x_j‖), the solution for tight clusters far apart."""
    coarse = CoarseGram(points)
    density = coarse.product(upper)
    inverse = np.divide(upper, density, out=np.zeros_like(upper), where=density > 0.0)
    alpha = project(inverse * (total / inverse.sum()), upper, total)
    guess = DualProblem(points, upper, alpha, coarse.product(alpha))
    _spectral_descent(guess, coarse, tol, run)
    return guess.alpha
