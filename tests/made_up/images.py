"""Small images of grain, and scratches in them."""

import numpy as np


def grain(seed, shape=(64, 64)):
    """Grey noise around 128, as 8 bits."""
    noise = np.random.default_rng(seed).normal(128.0, 10.0, size=shape)
    return np.clip(np.round(noise), 0, 255).astype(np.uint8)


def scratched(seed, shape=(64, 64), rows=slice(20, 24), columns=slice(10, 40)):
    """The same with a white scratch."""
    image = grain(seed, shape)
    image[rows, columns] = 255
    return image
