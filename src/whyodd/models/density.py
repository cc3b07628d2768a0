"""What detectors that estimate a density share: the log-density."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sklearn.utils.metaestimators import available_if

from whyodd.models.base import DistanceDetector
from whyodd.network.judged import learned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whyodd.compute.work import Scores
    from whyodd.kernels import Kernel


def log_normaliser(kernel: Kernel, d: int) -> float:
    """-log ∫ k(‖x‖) dx over d dimensions: -infinity if the integral is infinite, NaN if unknown."""
    try:
        return -kernel.log_volume(d)
    except NotImplementedError:
        return math.nan


def _may_have_a_density(model: Any) -> bool:
    """Whether nothing yet shows that the kernel cannot be normalised."""
    return not hasattr(model, "network_") or math.isfinite(model.network_.offset)


class DensityDetector(DistanceDetector):
    """Detector with a density: log p(x) = b + log g(x) = b - o(x) with b = ``network_.offset``.

    The last equality holds for kernels with o = -log g, Gaussians among them. The offset is not finite if the
    kernel cannot be normalised, or does not say how.
    """

    @available_if(_may_have_a_density)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: None = None) -> float:  # noqa: ARG002
        """Mean log-density of the rows: what a search over parameters maximises.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : None
            Ignored, for scikit-learn's sake.
        """
        return float(self.log_density(X).mean())

    def log_density(self, X: Any) -> NDArray[np.float64]:
        """Log-density log p(x) (n,), normalised over the whole space; without feedback."""
        values = self._checked(X)
        if math.isnan(self.network_.offset):
            self.network_.kernel.log_volume(self.n_features_in_)  # raises an error that says why
        if not math.isfinite(self.network_.offset):
            raise ValueError(
                f"{self.network_.kernel} has an infinite integral over {self.n_features_in_} dimension(s), "
                "so there is no density. Use a kernel that falls off faster."
            )
        scores: Scores = learned(self.network_).assign(values)
        return self.network_.offset + scores.log_inlierness
