"""Modules of torch read as stacks of dense layers: weights copied out, torch itself never imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.class_paths import class_path, find_entry
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.maths.dense_stack import DenseLayer, DenseStack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# The modules inside a module, in the order in which rows pass through them.
_CONTAINERS: dict[str, Callable[[Any], list[Any]]] = {
    "pyod.utils.torch_utility.LinearBlock": lambda block: [
        block.linear,
        *([block.bn] if block.batch_norm else []),
        *([block.activation] if block.has_act else []),
    ],
    "torch._dynamo.eval_frame.OptimizedModule": lambda compiled: [compiled._orig_mod],
    "torch.nn.modules.container.Sequential": list,
}
# Modules that do nothing once a model is fitted.
_IDLE = {"torch.nn.modules.dropout.Dropout": True, "torch.nn.modules.linear.Identity": True}
# How dense layers call an activation of torch, and its parameter.
_ACTIVATIONS: dict[str, Callable[[Any], tuple[str, float]]] = {
    "torch.nn.modules.activation.ELU": lambda module: ("elu", module.alpha),
    "torch.nn.modules.activation.LeakyReLU": lambda module: ("leaky_relu", module.negative_slope),
    "torch.nn.modules.activation.ReLU": lambda _: ("relu", 0.0),
    "torch.nn.modules.activation.Sigmoid": lambda _: ("sigmoid", 0.0),
    "torch.nn.modules.activation.Softmax": lambda _: ("softmax", 0.0),
    "torch.nn.modules.activation.Softplus": lambda module: ("softplus", module.beta),
    "torch.nn.modules.activation.Tanh": lambda _: ("tanh", 0.0),
}
_LINEAR = "torch.nn.modules.linear.Linear"
_BATCH_NORM = "torch.nn.modules.batchnorm.BatchNorm1d"
_LAYER_NORM = "torch.nn.modules.normalization.LayerNorm"


def to_numpy(tensor: Any) -> Floats:
    """A copy of a tensor, on whatever device it is."""
    return np.array(tensor.detach().cpu().double().numpy())


def dense_stack(*modules: Any) -> DenseStack:
    """Stack of what rows pass through, module after module, as it is once training is over.

    A batch norm becomes part of the linear layer before it, the scale of a layer norm part of the one after
    it; dropout does nothing.
    """
    parts = list(_parts(modules))
    layers: list[DenseLayer] = []
    for at, part in enumerate(parts):
        if class_path(type(part)) == _LINEAR:
            before = parts[at - 1] if at else None
            following = parts[at + 1 :]
            ends = [n for n, other in enumerate(following) if class_path(type(other)) == _LINEAR]
            layers.append(_layer(part, following[: ends[0]] if ends else following, before))
        elif not layers and at == 0:
            raise _unknown(part)
    return DenseStack(layers)


def _parts(modules: Any) -> Iterator[Any]:
    for module in modules:
        within = find_entry(_CONTAINERS, module)
        if within is not None:
            yield from _parts(within(module))
        elif not find_entry(_IDLE, module):
            yield module


def _layer(linear: Any, following: list[Any], before: Any) -> DenseLayer:
    """A linear module with what follows it up to the next one."""
    weight = to_numpy(linear.weight)
    bias = np.zeros(len(weight)) if linear.bias is None else to_numpy(linear.bias)
    if before is not None and class_path(type(before)) == _LAYER_NORM and before.weight is not None:
        offset = 0.0 if before.bias is None else to_numpy(before.bias)
        bias = bias + weight @ np.broadcast_to(offset, weight.shape[1:])
        weight = weight * to_numpy(before.weight)
    then: list[tuple[str, float]] = []
    for module in following:
        path = class_path(type(module))
        if path in _ACTIVATIONS:
            then.append(_ACTIVATIONS[path](module))
        elif path == _LAYER_NORM and module is following[-1]:
            then.append(("layer_norm", module.eps))
        elif path == _BATCH_NORM and not then and module.running_mean is not None:
            slope = 1.0 / np.sqrt(to_numpy(module.running_var) + module.eps)
            if module.weight is not None:
                slope = slope * to_numpy(module.weight)
            bias = slope * (bias - to_numpy(module.running_mean))
            if module.bias is not None:
                bias = bias + to_numpy(module.bias)
            weight = slope[:, None] * weight
        else:
            raise _unknown(module)
    return DenseLayer(weight, bias, then)


def _unknown(module: Any) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The model has the layer {class_path(type(module))}, expected linear layers with batch norm, "
        "dropout and the usual activations. Pass the torch module itself: whyodd.explain(module, X, "
        "normal=rows)."
    )
