"""Scores of the steps of a series, window by window in plain loops."""

import numpy as np


def nearest_relevance(window, centers, k):
    """Mean distance to the k nearest centers, and its parts (w, C): Σ over them of (x - u)² / d / k."""
    distances = np.array([np.sqrt(((window - center) ** 2).sum()) for center in centers])
    nearest = np.argsort(distances, kind="stable")[:k]
    parts = np.zeros(window.shape)
    for j in nearest:
        if distances[j] > 0:
            parts += (window - centers[j]) ** 2 / distances[j] / k
    return parts


def spread_relevance(window, center, size, centers, k):
    """The same in the logarithms of the standard deviations of channels: parts (1, C)."""
    row = (np.log(window.std(axis=0) + 0.01) - center) / size
    return nearest_relevance(row[None], centers[:, None, :], k)


def step_scores(values, looks, factors):
    """Relevance (G, C) of the steps: means over covering windows, then over the views that cover a step.

    ``looks``: for each view its width, its stride, and the relevance of a window as a function.
    """
    length, n_channels = values.shape
    relevance = np.full((length, n_channels), np.nan)
    seen = [
        {start: look(values[start : start + width]).sum(axis=0) for start in starts_of(values, width, stride)}
        for width, stride, look in looks
    ]
    for step in range(length):
        means = []
        for (width, _, _), windows, factor in zip(looks, seen, factors, strict=True):
            parts = [part * factor for start, part in windows.items() if start <= step < start + width]
            if parts:
                means.append(np.mean(parts, axis=0))
        if means:
            relevance[step] = np.mean(means, axis=0)
    return relevance


def starts_of(values, width, stride):
    """Windows without a gap at every ``stride``-th step, and the first and last of each stretch."""
    whole = [
        start for start in range(len(values) - width + 1) if not np.isnan(values[start : start + width]).any()
    ]
    return [
        start for start in whole if start % stride == 0 or start - 1 not in whole or start + 1 not in whole
    ]
