"""Random relevance: what any explanation must do better than."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task


def random(task: Task) -> NDArray[np.float64]:
    """Relevance drawn from [0, 1), the same for the same ``random_state``."""
    return np.asarray(task.random.random(task.X.shape))


def random_item(values: NDArray[np.floating], generator: np.random.Generator) -> NDArray[np.float64]:
    """Random relevance of an image or a series (*shape, C)."""
    return generator.random(values.shape)
