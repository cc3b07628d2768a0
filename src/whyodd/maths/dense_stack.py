"""Stacks of dense layers, the form of neural detectors: values forward, gradients and relevance back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# Rows for which the values of all layers are held at once.
_BLOCK = 4096


class Activation(NamedTuple):
    """An activation: f(h), and its derivative.

    Attributes
    ----------
    value : callable
        ``value(h, p)``: f (n, k) of h (n, k) with the parameter p.
    pull : callable
        ``pull(h, f, g, p)``: the gradient by h (n, k) of what has the gradient g (n, k) by f.
    """

    value: Callable[[Floats, float], Floats]
    pull: Callable[[Floats, Floats, Floats, float], Floats]


def _elu(h: Floats, p: float) -> Floats:
    return np.where(h > 0.0, h, p * np.expm1(np.minimum(h, 0.0)))


def _layer_norm(h: Floats, p: float) -> Floats:
    return np.asarray((h - h.mean(axis=1, keepdims=True)) / np.sqrt(h.var(axis=1, keepdims=True) + p))


def _pull_layer_norm(h: Floats, f: Floats, g: Floats, p: float) -> Floats:
    inner = g - g.mean(axis=1, keepdims=True) - f * (f * g).mean(axis=1, keepdims=True)
    return np.asarray(inner / np.sqrt(h.var(axis=1, keepdims=True) + p))


def _softmax(h: Floats, p: float) -> Floats:  # noqa: ARG001
    raised = np.exp(h - h.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


# The parameter is α of ELU, the slope below 0, β of softplus, ε of the norm; others have none.
ACTIVATIONS: dict[str, Activation] = {
    "elu": Activation(_elu, lambda h, f, g, p: g * np.where(h > 0.0, 1.0, f + p)),
    "layer_norm": Activation(_layer_norm, _pull_layer_norm),
    "leaky_relu": Activation(
        lambda h, p: np.where(h > 0.0, h, p * h), lambda h, _f, g, p: g * np.where(h > 0.0, 1.0, p)
    ),
    "relu": Activation(lambda h, _: np.maximum(h, 0.0), lambda h, _f, g, _p: g * (h > 0.0)),
    "sigmoid": Activation(lambda h, _: special.expit(h), lambda _h, f, g, _p: g * f * (1.0 - f)),
    "softmax": Activation(_softmax, lambda _h, f, g, _p: f * (g - (f * g).sum(axis=1, keepdims=True))),
    "softplus": Activation(
        lambda h, p: np.logaddexp(0.0, p * h) / p, lambda h, _f, g, p: g * special.expit(p * h)
    ),
    "tanh": Activation(lambda h, _: np.tanh(h), lambda _h, f, g, _p: g * (1.0 - f**2)),
}


@dataclass(frozen=True, eq=False)
class DenseLayer:
    """One layer: h = W a + b, then activations one after the other.

    Parameters
    ----------
    weight : array of shape (k, d)
        W.
    bias : array of shape (k,)
        b.
    then : sequence of (str, float)
        Names in ``ACTIVATIONS`` with their parameters; none is the identity.
    """

    weight: Floats
    bias: Floats
    then: Sequence[tuple[str, float]] = ()

    def __post_init__(self) -> None:
        weight = np.array(self.weight, dtype=np.float64)
        bias = np.array(self.bias, dtype=np.float64)
        then = tuple((str(name), float(parameter)) for name, parameter in self.then)
        unknown = {name for name, _ in then} - ACTIVATIONS.keys()
        if unknown:
            raise ValueError(
                f"There is no activation {min(unknown)!r}. Choose among: {', '.join(ACTIVATIONS)}."
            )
        if weight.ndim != 2 or bias.shape != weight.shape[:1]:
            raise ValueError(
                f"Expected a layer's weight (k, d) and bias (k,), got {weight.shape} and {bias.shape}."
            )
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError("The weights of a layer must be finite: has the training diverged?")
        weight.flags.writeable = bias.flags.writeable = False
        self.__dict__.update(weight=weight, bias=bias, then=then)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: what was pickled is checked, and comes back read-only.
        return DenseLayer, (self.weight, self.bias, self.then)

    def values(self, a: Floats) -> list[Floats]:
        """h, and what each activation makes of it, the last being what the layer gives: (n, k) each."""
        found = [np.asarray(a @ self.weight.T + self.bias)]
        for name, parameter in self.then:
            found.append(ACTIVATIONS[name].value(found[-1], parameter))
        return found

    def pull(self, values: list[Floats], gradient: Floats) -> Floats:
        """Gradient by a (n, d) of what has the ``gradient`` (n, k) by what the layer gives."""
        for (name, parameter), h, f in reversed(list(zip(self.then, values, values[1:], strict=False))):
            gradient = ACTIVATIONS[name].pull(h, f, gradient, parameter)
        return np.asarray(gradient @ self.weight)

    def spread(self, a: Floats, sign: Floats, relevance: Floats) -> tuple[Floats, Floats]:
        """Relevance of neurons onto the inputs that drove them there, and what is left (n,).

        R_i = Σ_j R_j [s_j w_ji a_i]⁺ / (Σ_i [s_j w_ji a_i]⁺ + [s_j b_j]⁺): the z⁺ rule of deep Taylor
        decomposition, for neurons that are high (s_j = 1) as for those that are low (s_j = -1). The share of
        the bias belongs to no input.

        Parameters
        ----------
        a : array of shape (n, d)
        sign : array of shape (n, k)
            s, 1 or -1.
        relevance : array of shape (n, k)
            At least 0.
        """
        raised, lowered = np.maximum(self.weight, 0.0), np.minimum(self.weight, 0.0)
        above, below = np.maximum(a, 0.0), np.minimum(a, 0.0)
        up = above @ raised.T + below @ lowered.T
        down = -(above @ lowered.T + below @ raised.T)
        is_up = sign > 0.0
        total = np.where(is_up, up, down) + np.maximum(sign * self.bias, 0.0)
        share = np.divide(relevance, total, out=np.zeros_like(total), where=total > 0.0)
        of_up, of_down = share * is_up, share * ~is_up
        found = above * (of_up @ raised - of_down @ lowered) + below * (of_up @ lowered - of_down @ raised)
        left = share * np.maximum(sign * self.bias, 0.0) + np.where(total > 0.0, 0.0, relevance)
        return np.asarray(found), np.asarray(left.sum(axis=1))


@dataclass(frozen=True, eq=False)
class DenseStack:
    """Dense layers one after the other, as a function of rows.

    Parameters
    ----------
    layers : sequence of DenseLayer

    Examples
    --------
    >>> from whyodd.maths.dense_stack import DenseLayer, DenseStack
    >>> stack = DenseStack([DenseLayer([[1.0, -1.0]], [0.5], [("relu", 0.0)])])
    >>> stack.forward([[3.0, 1.0], [0.0, 1.0]])
    array([[2.5],
           [0. ]])
    >>> stack.gradient([[3.0, 1.0], [0.0, 1.0]], [[1.0], [1.0]])
    array([[ 1., -1.],
           [ 0.,  0.]])
    """

    layers: Sequence[DenseLayer]

    def __post_init__(self) -> None:
        layers = tuple(self.layers)
        if not layers:
            raise ValueError("Expected at least one layer for a stack, got none.")
        for before, after in pairwise(layers):
            if after.weight.shape[1] != len(before.bias):
                raise ValueError(
                    f"A layer takes {after.weight.shape[1]} values, but the layer before it gives "
                    f"{len(before.bias)}."
                )
        self.__dict__.update(layers=layers)

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseStack, (self.layers,)

    def __repr__(self) -> str:
        widths = [self.n_inputs, *(len(layer.bias) for layer in self.layers)]
        return f"DenseStack({' → '.join(map(str, widths))})"

    @property
    def n_inputs(self) -> int:
        """Number of values it takes."""
        return int(self.layers[0].weight.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of values it gives."""
        return len(self.layers[-1].bias)

    def forward(self, X: Any) -> Floats:
        """What the last layer gives (n, k) for rows (n, d)."""
        rows = np.asarray(X, dtype=np.float64)
        return np.concatenate([self._values(rows[part])[-1][-1] for part in _blocks(len(rows))])

    def gradient(self, X: Any, by_output: Any) -> Floats:
        """Gradient by rows (n, d) of what has the gradient ``by_output`` (n, k) by the output."""
        rows, given = np.asarray(X, dtype=np.float64), np.asarray(by_output, dtype=np.float64)
        return np.concatenate([self._pulled(rows[part], given[part]) for part in _blocks(len(rows))])

    def relevance(self, X: Any, of_output: Floats, sign: Floats) -> tuple[Floats, Floats]:
        """Relevance (n, d) of the inputs, and what belongs to none of them (n,), layer by layer.

        Parameters
        ----------
        X : array of shape (n, d)
        of_output : array of shape (n, k)
            Relevance of the outputs, at least 0.
        sign : array of shape (n, k)
            1 where an output is relevant because it is high, -1 where because it is low. Inside, a neuron is
            relevant as far as it is away from 0, to its side.
        """
        rows = np.asarray(X, dtype=np.float64)
        found = [self._spread(rows[part], of_output[part], sign[part]) for part in _blocks(len(rows))]
        return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])

    def _values(self, rows: Floats) -> list[list[Floats]]:
        found: list[list[Floats]] = []
        for layer in self.layers:
            found.append(layer.values(found[-1][-1] if found else rows))
        return found

    def _pulled(self, rows: Floats, gradient: Floats) -> Floats:
        for layer, values in zip(reversed(self.layers), reversed(self._values(rows)), strict=True):
            gradient = layer.pull(values, gradient)
        return gradient

    def _spread(self, rows: Floats, relevance: Floats, sign: Floats) -> tuple[Floats, Floats]:
        values = self._values(rows)
        left = np.zeros(len(rows))
        for layer, before in zip(reversed(self.layers[1:]), reversed(values[:-1]), strict=True):
            relevance, more = layer.spread(before[-1], sign, relevance)
            left += more
            sign = np.where(before[0] >= 0.0, 1.0, -1.0)
        relevance, more = self.layers[0].spread(rows, sign, relevance)
        return relevance, left + more


def _blocks(n: int) -> list[slice]:
    """Rows in small batches, so that the values of all layers are held for few rows at a time."""
    return [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)] or [slice(0, 0)]
