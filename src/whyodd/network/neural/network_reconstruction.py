"""The reconstruction error of an autoencoder, by variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.inputs.standardizing import Standardizing
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]


class Network(Protocol):
    """A function of rows."""

    def forward(self, X: Any) -> Floats:
        """The output (n, k) for rows (n, d)."""


@dataclass(frozen=True, eq=False)
class NetworkReconstruction:
    """Distance of a row to its reconstruction: o = ‖z - ẑ‖, R_i = (z_i - ẑ_i)² / o.

    z is the row as the network takes it, ẑ what it gives back. A row that is given back as it is has no
    relevance anywhere. Nothing is left unexplained.

    Parameters
    ----------
    network : DenseStack or other Network
        z (n, d) to ẑ (n, d).
    entry : Standardizing
        x to z.
    verdict : Verdict, optional
        Where the model cuts.

    Examples
    --------
    >>> from whyodd.inputs.standardizing import Standardizing
    >>> from whyodd.maths.dense_stack import DenseLayer, DenseStack
    >>> from whyodd.network.neural.network_reconstruction import NetworkReconstruction
    >>> mean = DenseStack([DenseLayer([[0.5, 0.5], [0.5, 0.5]], [0.0, 0.0])])
    >>> score = NetworkReconstruction(mean, Standardizing([0.0, 0.0], [1.0, 1.0]))
    >>> parts = score.decompose([[1.0, 3.0]])
    >>> parts.relevance.round(3), parts.outlierness.round(3), score.expected([[1.0, 3.0]])
    (array([[0.707, 0.707]]), array([1.414]), array([[2., 2.]]))
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "save"})

    network: Network
    entry: Standardizing
    verdict: Verdict | None = None

    @property
    def n_features(self) -> int:
        """Number of input variables d."""
        return self.entry.n_features

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = ‖z - ẑ‖ (n,)."""
        return self.decompose(X).outlierness

    def decompose(self, X: Any) -> Decomposition:
        """R_i = (z_i - ẑ_i)² / o (n, d), and o."""
        z = self.entry.forward(X)
        gaps = z - self.network.forward(z)
        o = np.linalg.norm(gaps, axis=1)
        shares = np.divide(gaps, o[:, None], out=np.zeros_like(gaps), where=o[:, None] > 0.0)
        return Decomposition(shares * gaps, np.zeros(len(o)), o)

    def expected(self, X: Any) -> Floats:
        """The reconstruction (n, d), in the units of X."""
        return self.entry.backward(self.network.forward(self.entry.forward(X)))
