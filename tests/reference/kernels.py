"""The formulas of the kernels, written once more, for any arithmetic: 60 digits, or Python's floats.

``d`` is a distance, ``o`` an outlierness; both are numbers of the arithmetic. Of kernels only parameters are
read. A test with a kernel of its own adds its formulas to ``FORMULAS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Arithmetic(NamedTuple):
    """The numbers to compute with, and the three functions that the formulas need."""

    number: Callable[[float], Any]
    exp: Callable[[Any], Any]
    log: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]


class Formulas(NamedTuple):
    log_similarity: Callable[[Any, Any, Arithmetic], Any]  # of d
    outlierness: Callable[[Any, int, Any, Arithmetic], Any]  # of log g and m
    explained: Callable[[Any, Any, Any, Arithmetic], Any]  # Δ_j/p_j of d and o


def formulas_of(kernel: Any) -> Formulas:
    return FORMULAS[type(kernel).__name__]


def energy(d: Any, kernel: Any, arithmetic: Arithmetic) -> Any:
    return (d / arithmetic.number(kernel.sigma)) ** arithmetic.number(kernel.q)


def _square(d: Any, kernel: Any, arithmetic: Arithmetic) -> Any:
    """x = d² / (2βσ²)."""
    scale = arithmetic.number(kernel.sigma)
    return d * d / (2 * arithmetic.number(kernel.beta) * scale * scale)


def _rational_share(d: Any, o: Any, kernel: Any, arithmetic: Arithmetic) -> Any:
    x = _square(d, kernel, arithmetic)
    return o * x / (1 + x)


def _student_share(d: Any, o: Any, kernel: Any, arithmetic: Arithmetic) -> Any:
    e = energy(d, kernel, arithmetic)
    return o * e / (arithmetic.number(kernel.a) + e)


def minus_log(log_g: Any, m: int, kernel: Any, arithmetic: Arithmetic) -> Any:
    """-log g of a kernel with k(0) = 1."""
    del m, kernel
    return max(-log_g, arithmetic.number(0))


FORMULAS = {
    "Exponential": Formulas(
        lambda d, k, A: -energy(d, k, A) / A.number(k.q),
        minus_log,
        lambda d, o, k, A: min(o, energy(d, k, A) / A.number(k.q)),
    ),
    "RationalQuadratic": Formulas(
        lambda d, k, A: -A.number(k.beta) * A.log(1 + _square(d, k, A)),
        lambda log_g, m, k, A: A.exp((A.log(A.number(m)) - log_g) / A.number(k.beta)),
        _rational_share,
    ),
    "Student": Formulas(
        lambda d, k, A: -A.log(A.number(k.a) + energy(d, k, A)),
        lambda log_g, m, k, A: m * A.exp(-log_g),  # noqa: ARG005 - all take the same
        _student_share,
    ),
}
