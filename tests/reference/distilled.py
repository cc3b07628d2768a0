"""A student as plain loops, written from the formulas."""

import math

import numpy as np


def shapes_of_value(x, center, scale, values):
    """φ_1, ..., φ_8 of one value, given the normal values of its column."""
    z, n = (x - center) / scale, len(values)
    found = []
    for side in (max(z, 0.0), max(-z, 0.0)):
        found += [side, side**2, 1.0 - math.exp(-(side**2) / 8.0)]
    at_least = sum(v >= x for v in values)
    at_most = sum(v <= x for v in values)
    return [*found, -math.log((at_least + 1) / (n + 1)), -math.log((at_most + 1) / (n + 1))]


def terms_relevance(X, center, scale, values, weights):
    """R_i = Σ_b w_ib φ_b(x_i) (n, d)."""
    return np.array(
        [
            [
                sum(
                    w * phi
                    for w, phi in zip(
                        weights[i], shapes_of_value(x[i], center[i], scale[i], values[:, i]), strict=True
                    )
                )
                for i in range(len(x))
            ]
            for x in X
        ]
    )


def bent(s, level, weights):
    """h(s) = w_1 s + w_2 s² + w_3 (1 - exp(-s/l)) + w_4 (1 - exp(-s/4l))."""
    shapes = [s, s * s, 1.0 - math.exp(-s / level), 1.0 - math.exp(-s / (4.0 * level))]
    return sum(w * phi for w, phi in zip(weights, shapes, strict=True))


def nearest_mean(x, centers, per_column, k):
    """Mean distance s to the k nearest centers, and its relevance Σ_j d_j/k (δ_i²/d_j²)."""
    gaps = [[(a - b) * w for a, b, w in zip(x, u, per_column, strict=True)] for u in centers]
    near = sorted(gaps, key=lambda gap: math.dist(gap, [0.0] * len(gap)))[:k]
    distances = [math.hypot(*gap) for gap in near]
    relevance = [
        sum(gap[i] ** 2 / d / k for gap, d in zip(near, distances, strict=True) if d > 0.0)
        for i in range(len(x))
    ]
    return sum(distances) / k, relevance
