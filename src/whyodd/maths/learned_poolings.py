"""Poolings that a network has learned: functions of the distances to the k nearest centers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from whyodd.maths.hard_poolings import Pooling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.maths.dense_stack import DenseStack

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Nodes of the integral over distances. The networks are smooth (tanh): beyond this nothing changes.
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPooling(Pooling):
    """A pooling whose weights a network computes from the distances.

    Parameters
    ----------
    network : DenseStack
    """

    network: DenseStack

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: what was pickled is checked.
        return type(self), (self.network,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k})"

    @property
    def k(self) -> int:
        """How many neighbours count."""
        return self.network.n_inputs

    def assignment(self) -> Floats:
        """Assignment p = 1/k: which neighbours a row is compared with, not what they weigh for it."""
        return np.full(self.k, 1.0 / self.k)

    def slope(self, d: Floats) -> Floats:
        """Slopes ∂o/∂d_r (n, k)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class LearnedMean(LearnedPooling):
    """Weighted mean of the k smallest distances, the weights learned: o = Σ_r w_r(d) d_(r), Δ_r = w_r d_(r).

    As :class:`whyodd.maths.hard_poolings.Nearest`, with weights that depend on the row. Nothing is left
    unexplained.

    Parameters
    ----------
    network : DenseStack
        The k distances, ascending, to k weights ≥ 0 that sum to 1: its last activation is a softmax.
    """

    def __post_init__(self) -> None:
        last = self.network.layers[-1].then[-1:]
        if self.network.n_outputs != self.k or [name for name, _ in last] != ["softmax"]:
            raise ValueError(f"{self.network!r}: expected a weight for each distance, by a softmax.")

    def outlierness(self, d: Floats, neighbors: Indices) -> Floats:
        """Outlierness o = Σ_r w_r d_(r)."""
        return np.asarray(self.explained(d, neighbors).sum(axis=1))

    def explained(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Assignment p = 1/k: it names the neighbours that a row is compared with, not their weights."""
        return np.asarray(self.network.forward(d) * d)

    def unexplained(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Nothing."""
        return np.zeros(len(d))

    def slope(self, d: Floats) -> Floats:
        """Slopes w + (∂w/∂d)ᵀ d."""
        return np.asarray(self.network.forward(d) + self.network.gradient(d, d))


@dataclass(frozen=True, eq=False, repr=False)
class LearnedScore(LearnedPooling):
    """Score f of the k smallest distances as a log-probability: o = log(1 + e^f(d)), -log P(normal).

    Integrated gradients from a row that its neighbours are copies of (d = 0): Δ_r = d_r ∫₀¹ ∂o/∂d_r(t d) dt.
    Single Δ_r are below 0 where a larger distance makes a row more normal. o(0) belongs to no distance.

    Parameters
    ----------
    network : DenseStack
        The k distances, ascending, to the one number f.
    """

    def __post_init__(self) -> None:
        if self.network.n_outputs != 1:
            raise ValueError(f"{self.network!r}: expected one number for the distances of a row.")

    def outlierness(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Outlierness o = log(1 + e^f)."""
        return np.logaddexp(0.0, self.network.forward(d)[:, 0])

    def explained(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Δ_r = d_r ∫₀¹ ∂o/∂d_r(t d) dt."""
        total = np.zeros_like(d)
        for node, weight in zip((_NODES + 1.0) / 2.0, _NODE_WEIGHTS / 2.0, strict=True):
            total += weight * self.slope(node * d)
        return d * total

    def unexplained(self, d: Floats, neighbors: Indices) -> Floats:
        """Outlierness at distances of 0."""
        return np.broadcast_to(self.outlierness(np.zeros((1, self.k)), neighbors), (len(d),)).copy()

    def slope(self, d: Floats) -> Floats:
        """Slopes σ(f) ∂f/∂d."""
        return self.network.gradient(d, special.expit(self.network.forward(d)))
