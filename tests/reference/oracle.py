"""The method as plain loops over rows, centers and variables: slow, obvious, and independent of whyodd.

Written from the formulas alone (design, section 2; Kauffmann, Müller and Montavon, appendix). The arithmetic
is an argument: ``FLOATS`` are Python's floats; ``digits(60)`` computes with 60 decimal digits, and is the
truth where float64 itself is not good enough (an outlierness near 0, weights of 1e-300, distances of 1e8
bandwidths). The inputs are taken as exactly the numbers they are, float32 or float64. Weights are normalised
exactly, because the formulas hold for weights that sum to 1.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from reference.kernels import Arithmetic, formulas_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


FLOATS = Arithmetic(float, math.exp, math.log, math.sqrt)


@functools.cache
def digits(n: int) -> Arithmetic:
    """Arithmetic with ``n`` decimal digits and an unbounded exponent."""
    context = mpmath.mp.clone()
    context.dps = n
    return Arithmetic(lambda value: context.mpf(float(value)), context.exp, context.log, context.sqrt)


@dataclass(frozen=True)
class Reference:
    """All quantities of the method, for one row (numbers and lists) or for many (arrays)."""

    log_g: Any
    assignment: Any  # p_j
    outlierness: Any  # o
    inlier_relevance: Any  # α_j k_j
    center_relevance: Any  # p_j o
    explained: Any  # Δ_j
    relevance: Any  # R_i
    unexplained: Any  # Σ_j D_j⁺, a sum of its own
    expected: Any  # Σ_j p_j u_j


def explain(
    X: ArrayLike,
    centers: ArrayLike,
    kernel: Any,
    *,
    weights: ArrayLike | None = None,
    log_weights: ArrayLike | None = None,
    own: ArrayLike | None = None,
    arithmetic: Arithmetic = FLOATS,
) -> Reference:
    """All quantities for the rows of ``X``, rounded to float64 at the end; ``own[r]`` as in ``left_out``."""
    X, centers = np.asarray(X), np.asarray(centers)
    own = [-1] * len(X) if own is None else own
    rows = [
        explain_row(x, centers, kernel, weights, log_weights, left_out=int(j), arithmetic=arithmetic)
        for x, j in zip(X, own, strict=True)
    ]
    return Reference(*(_stack([getattr(row, field.name) for row in rows]) for field in fields(Reference)))


def explain_row(
    x: Sequence[float],
    centers: Sequence[Sequence[float]],
    kernel: Any,
    weights: Sequence[float] | None = None,
    log_weights: Sequence[float] | None = None,
    *,
    left_out: int = -1,
    arithmetic: Arithmetic = FLOATS,
) -> Reference:
    """All quantities for one row ``x``, without the center ``left_out`` (-1: with all of them)."""
    number, exp, _, sqrt = arithmetic
    x = [number(value) for value in x]
    centers = [[number(value) for value in center] for center in centers]
    formulas = formulas_of(kernel)
    kept = [j for j in range(len(centers)) if j != left_out]
    log_alpha = _log_alpha(len(centers), weights, log_weights, kept, arithmetic)

    squares = [[(xi - ui) * (xi - ui) for xi, ui in zip(x, u, strict=True)] for u in centers]
    d2 = [sum(row, number(0)) for row in squares]
    distances = [sqrt(value) for value in d2]
    v = [log_alpha[j] + formulas.log_similarity(d, kernel, arithmetic) for j, d in enumerate(distances)]
    log_g = _log_sum_exp(v, arithmetic)
    o = formulas.outlierness(log_g, len(kept), kernel, arithmetic)
    p = [exp(value - log_g) for value in v]
    parts = [formulas.explained(d, o, kernel, arithmetic) for d in distances]
    delta = [p[j] * parts[j] for j in range(len(centers))]

    relevance = [number(0) for _ in x]
    for j in range(len(centers)):
        if d2[j] == 0:
            continue
        for i in range(len(x)):
            relevance[i] += delta[j] / d2[j] * squares[j][i]

    return Reference(
        log_g=log_g,
        assignment=p,
        outlierness=o,
        inlier_relevance=[exp(value) for value in v],
        center_relevance=[value * o for value in p],
        explained=delta,
        relevance=relevance,
        unexplained=sum((p[j] * (o - parts[j]) for j in range(len(centers))), number(0)),
        expected=[sum((p[j] * u[i] for j, u in enumerate(centers)), number(0)) for i in range(len(x))],
    )


def _log_alpha(
    m: int,
    weights: Sequence[float] | None,
    log_weights: Sequence[float] | None,
    kept: Sequence[int],
    arithmetic: Arithmetic,
) -> list[Any]:
    number = arithmetic.number
    if log_weights is not None:
        raw = [number(value) for value in log_weights]
    else:
        values = [1.0] * m if weights is None else weights
        raw = [arithmetic.log(number(value)) if value > 0 else number(-math.inf) for value in values]
    masked = [raw[j] if j in kept else number(-math.inf) for j in range(m)]
    total = _log_sum_exp(masked, arithmetic)
    return [value - total for value in masked]


def _log_sum_exp(values: Sequence[Any], arithmetic: Arithmetic) -> Any:
    top = max(values)
    return top + arithmetic.log(sum(arithmetic.exp(value - top) for value in values))


def _stack(values: Sequence[Any]) -> NDArray[np.float64]:
    return np.asarray(
        [[float(v) for v in value] if isinstance(value, list) else float(value) for value in values],
        dtype=np.float64,
    )
