"""Distance to a center in the space of a network: the score of deep one-class models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.inputs.standardizing import Standardizing
    from whyodd.maths.dense_stack import DenseStack
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EmbeddedDistance:
    """Squared distance to a center in the space of a network: o = ‖φ(z) - c‖² = Σ_k (φ_k - c_k)².

    Deep Taylor decomposition: each output k has the relevance (φ_k - c_k)², which goes back through the
    layers by the z⁺ rule (``DenseStack.relevance``): to what raised an output above its center, or lowered it
    below. R_i ≥ 0, relative to z = 0, which for standardised columns is the training mean. Shares of biases
    and of outputs that nothing drove are unexplained.

    The z⁺ rule rather than a path integral: it needs no rows to compare with, which these models do not
    keep; it conserves o exactly, whatever the activations; and from z = 0, the one point known, a path
    integral finds fewer causes and leaves o(0), often half of o, unexplained.

    Parameters
    ----------
    network : DenseStack
        φ.
    center : array of shape (k,)
        c.
    entry : Standardizing
        x to z.
    verdict : Verdict, optional
        Where the model cuts.

    Examples
    --------
    >>> from whyodd.inputs.standardizing import Standardizing
    >>> from whyodd.maths.dense_stack import DenseLayer, DenseStack
    >>> from whyodd.network.neural.embedded_distance import EmbeddedDistance
    >>> phi = DenseStack([DenseLayer([[1.0, 1.0], [1.0, -1.0]], [0.0, 0.0], [("relu", 0.0)])])
    >>> score = EmbeddedDistance(phi, [1.0, 1.0], Standardizing([0.0, 0.0], [1.0, 1.0]))
    >>> parts = score.decompose([[3.0, 1.0]])
    >>> parts.relevance, parts.unexplained, parts.outlierness
    (array([[7.75, 2.25]]), array([0.]), array([10.]))
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "save"})

    network: DenseStack
    center: Floats
    entry: Standardizing
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        center = np.array(self.center, dtype=np.float64)
        center.flags.writeable = False
        object.__setattr__(self, "center", center)

    @property
    def n_features(self) -> int:
        """Number of input variables d."""
        return self.entry.n_features

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = ‖φ(z) - c‖² (n,)."""
        gaps = self.network.forward(self.entry.forward(X)) - self.center
        return np.asarray((gaps**2).sum(axis=1))

    def decompose(self, X: Any) -> Decomposition:
        """Relevance by the z⁺ rule (n, d), what it leaves, and o."""
        z = self.entry.forward(X)
        gaps = self.network.forward(z) - self.center
        relevance, left = self.network.relevance(z, gaps**2, np.where(gaps > 0.0, 1.0, -1.0))
        return Decomposition(relevance, left, (gaps**2).sum(axis=1))

    def expected(self, X: Any) -> Floats:
        """Reference of relevance (n, d): the training mean, or 0 if columns are not standardised."""
        z = self.entry.forward(X)
        return self.entry.backward(np.zeros_like(z))
