"""Networks of dense layers as plain loops, written from the formulas."""

import math

import numpy as np

FUNCTIONS = {
    "elu": lambda h, p: h if h > 0 else p * (math.exp(h) - 1),
    "leaky_relu": lambda h, p: h if h > 0 else p * h,
    "relu": lambda h, _: max(h, 0.0),
    "sigmoid": lambda h, _: 1 / (1 + math.exp(-h)),
    "softplus": lambda h, p: math.log(1 + math.exp(p * h)) / p,
    "tanh": lambda h, _: math.tanh(h),
}


def activated(h, name, p):
    """What an activation makes of the values of one layer."""
    if name == "softmax":
        raised = [math.exp(value) for value in h]
        return [value / sum(raised) for value in raised]
    if name == "layer_norm":
        mean = sum(h) / len(h)
        variance = sum((value - mean) ** 2 for value in h) / len(h)
        return [(value - mean) / math.sqrt(variance + p) for value in h]
    return [FUNCTIONS[name](value, p) for value in h]


def through(stack, x):
    """[(a, h)] of each layer, what it takes and what it makes of it before the activation; and the output."""
    a, seen = list(x), []
    for layer in stack.layers:
        h = [
            sum(w * value for w, value in zip(row, a, strict=True)) + b
            for row, b in zip(layer.weight, layer.bias, strict=True)
        ]
        seen.append((a, h))
        a = h
        for name, p in layer.then:
            a = activated(a, name, p)
    return seen, a


def relevance(stack, x, of_output, sign):
    """The z⁺ rule, neuron by neuron, and what no input has."""
    seen, _ = through(stack, x)
    found, left = list(of_output), 0.0
    for at in range(len(stack.layers) - 1, -1, -1):
        layer, (a, _) = stack.layers[at], seen[at]
        inputs = [0.0] * len(a)
        for j, (row, b) in enumerate(zip(layer.weight, layer.bias, strict=True)):
            pushed = [max(sign[j] * w * value, 0.0) for w, value in zip(row, a, strict=True)]
            by_bias = max(sign[j] * b, 0.0)
            total = sum(pushed) + by_bias
            if total == 0.0:
                left += found[j]
                continue
            left += found[j] * by_bias / total
            for i, push in enumerate(pushed):
                inputs[i] += found[j] * push / total
        found = inputs
        if at:
            sign = [1.0 if h >= 0 else -1.0 for h in seen[at - 1][1]]
    return np.array(found), left
