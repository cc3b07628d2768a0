"""Deep Taylor decomposition: the exact way back through the distance network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyodd.explainers.method import Method
from whyodd.network.waist import decompose_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task
    from whyodd.network.waist import Decomposition


def deep_taylor(task: Task) -> NDArray[np.floating]:
    """Relevance R_i = Σ_j Δ_j (x_i - u_ji)² / d_j² of the input variables, conserving o(x).

    Notes
    -----
    Section "Explaining Outlierness" and appendix A of Kauffmann, Müller and Montavon.
    """
    return _decomposed(task).relevance


@dataclass(frozen=True)
class DeepTaylor(Method):
    """The method that knows its own unexplained part, and the way through a linear map."""

    @property
    def compares_with_normal(self) -> bool:
        """No: it compares with the centers, and normal rows only calibrate its relevance."""
        return False

    def exactness_of(self, network: Any) -> str:
        """The exactness of the member's own decomposition."""
        return getattr(network, "exactness", "exact")

    def decompose(self, task: Task, options: Mapping[str, Any]) -> Decomposition:  # noqa: ARG002 - has none
        """Relevance, and unexplained summed on its own, in one pass."""
        return _decomposed(task)


def _decomposed(task: Task) -> Decomposition:
    return decompose_rows(
        task.network, task.X, own=task.own, through=task.through, n_jobs=task.n_jobs, progress=task.report
    )
