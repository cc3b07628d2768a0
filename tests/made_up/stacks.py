"""Made-up networks of dense layers."""

import numpy as np

from whyodd.maths.dense_stack import DenseLayer, DenseStack


def stack(widths, names, seed=0, *, biases=True):
    """Random layers of these widths, each followed by the activation of its name, or by several."""
    rng = np.random.default_rng(seed)
    layers = []
    for before, after, name in zip(widths, widths[1:], names, strict=False):
        then = [name] if isinstance(name, str) else name
        layers.append(
            DenseLayer(
                rng.normal(size=(after, before)) / np.sqrt(before),
                rng.normal(size=after) if biases else np.zeros(after),
                [(each, PARAMETERS.get(each, 0.0)) for each in then],
            )
        )
    return DenseStack(layers)


PARAMETERS = {"elu": 0.7, "layer_norm": 1e-5, "leaky_relu": 0.1, "softplus": 1.5}
