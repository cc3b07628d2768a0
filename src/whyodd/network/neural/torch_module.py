"""Any torch module as a member of the waist: one that scores rows, or one that reconstructs them.

torch is imported inside functions alone: who has a module has it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.inputs.matrices import as_matrix
from whyodd.inputs.standardizing import Standardizing
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import LinearMetric
from whyodd.maths.path_integrals import integrated_gradients
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.neural.network_reconstruction import NetworkReconstruction
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]

# Path of the class that identifies a module without importing torch.
MODULE = "torch.nn.modules.module.Module"
# Rows passed through a module at once.
_BLOCK = 4096
# Share of o that a piece of the path may miss; a hundred pieces with kinks miss less than a thousandth of it.
_TOLERANCE = 1e-5
# Differences of scores below this many roundings are meaningless.
_ROUNDINGS = 16.0


@dataclass(frozen=True, eq=False)
class TorchNetwork:
    """A module as a function of rows, on its own device, in its own precision, in evaluation mode.

    Parameters
    ----------
    module : torch.nn.Module
        Not changed: the copy that ``of`` makes is.
    """

    module: Any

    @classmethod
    def of(cls, module: Any) -> TorchNetwork:
        """A copy of a module, so that further training does not change the explained one."""
        return cls(copy.deepcopy(module).eval())

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # For pickle, which may run code.
        return TorchNetwork, (self.module,)

    def __reduce__(self) -> tuple[Any, ...]:
        # Refuse save(): a module is code, and no file of whyodd contains code.
        raise TypeError("a torch module is code; save it with torch.save, and explain it again after loading")

    def forward(self, X: Any) -> Floats:
        """The module's output (n, ...) for rows (n, d)."""
        torch = _torch()
        with torch.no_grad():
            found = [self.module(self._tensor(rows)) for rows in _blocks(X)]
        if not all(hasattr(part, "detach") for part in found):
            raise TypeError(
                f"The module returns {type(found[0]).__name__} for rows, expected a tensor. Wrap it in a "
                "module whose forward returns only the score or the reconstruction."
            )
        return np.concatenate([part.detach().cpu().double().numpy() for part in found])

    def value(self, X: Any) -> Floats:
        """Score (n,) of rows, where the module gives one."""
        return self.forward(X).reshape(len(X))

    def gradient(self, X: Any) -> Floats:
        """Gradient (n, d) of the score of each row."""
        torch = _torch()
        found = []
        for rows in _blocks(X):
            entered = self._tensor(rows).requires_grad_()
            with torch.enable_grad():
                # A row's score depends on that row alone: the gradient of the sum holds that of each.
                (slopes,) = torch.autograd.grad(self.module(entered).sum(), entered)
            found.append(slopes.cpu().double().numpy())
        return np.concatenate(found)

    @cached_property
    def precision(self) -> float:
        """Rounding of the module's numbers."""
        torch = _torch()
        return float(torch.finfo(self._first().dtype).eps)

    def _first(self) -> Any:
        """A tensor with the device and precision of the module's own; torch's defaults if it has none."""
        torch = _torch()
        own = (part for part in self.module.state_dict().values() if part.is_floating_point())
        return next(own, torch.empty(0))

    def _tensor(self, rows: Floats) -> Any:
        return self._first().new_tensor(rows)


@dataclass(frozen=True, eq=False)
class ModuleReconstruction(NetworkReconstruction):
    """Reconstruction error of a module that reconstructs rows: o = ‖x - x̂‖, R_i = (x_i - x̂_i)² / o."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected"})


@dataclass(frozen=True, eq=False)
class ModuleScore:
    """Score f of a module relative to that of its most normal row: o = f(x) - min f, by integrated gradients.

    R_i = (x_i - r_i) ∫₀¹ ∂f/∂x_i dt on the way from r, the nearest of the normal rows with a score up to
    their median; single R_i may be below 0. What r itself has, f(r) - min f, is unexplained, and so is what
    the integral misses: the share ``gap`` of o. o is below 0 only for a row that is more normal to the module
    than every normal row.

    Parameters
    ----------
    network : TorchNetwork
        Rows (n, d) to scores (n,) or (n, 1), high for outliers.
    normal : array of shape (m, d)
        Rows to compare with.
    least : float
        min f.
    usual : float
        Median of o over the normal rows: the gap of rows that are no odder is measured by this.
    verdict : Verdict, optional
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected"})

    network: TorchNetwork
    normal: Floats
    least: float
    usual: float
    verdict: Verdict | None = None

    @property
    def n_features(self) -> int:
        """Number of input variables d."""
        return int(self.normal.shape[1])

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = f(x) - min f (n,)."""
        return self.network.value(self._rows(X)) - self.least

    def decompose(self, X: Any) -> Decomposition:
        """Integrated gradients (n, d), the rest, o, and the share of o that the integral misses."""
        rows = self._rows(X)
        start = self.expected(rows)
        score, at_start = self.network.value(rows), self.network.value(start)
        o = score - self.least
        size = np.maximum(np.abs(o), self.usual)
        rounding = _ROUNDINGS * self.network.precision * np.maximum(np.abs(score), np.abs(at_start))
        tolerance = np.maximum(_TOLERANCE * size, rounding)
        relevance = integrated_gradients(self.network.value, self.network.gradient, start, rows, tolerance)
        missed = score - at_start - relevance.sum(axis=1)
        gap = np.divide(np.abs(missed), size, out=np.zeros_like(size), where=size > 0.0)
        return Decomposition(relevance, at_start - self.least + missed, o, gap=gap)

    def expected(self, X: Any) -> Floats:
        """The normal row (n, d) that each row is compared with."""
        return self.normal[self._search.nearest(self._rows(X), 1)[0][:, 0]]

    @cached_property
    def _search(self) -> DistanceNetwork:
        spread = self.normal.std(axis=0)
        scale = np.where(spread > 0.0, spread, 1.0)
        return DistanceNetwork(self.normal, pooling=Nearest.kth(1), metric=LinearMetric(np.diag(1.0 / scale)))

    def _rows(self, X: Any) -> Floats:
        return Standardizing.none(self.n_features).forward(X)


def module_score(module: Any, normal: Any) -> ModuleScore | ModuleReconstruction:
    """Member of the waist for a module that scores rows, or reconstructs them.

    Parameters
    ----------
    module : torch.nn.Module
        Rows (n, d) to scores (n,) or (n, 1), high for outliers; or to rows (n, d), an autoencoder (of one
        column it is taken for a score). It is copied.
    normal : array, CSR matrix or data frame of shape (m, d)
        Normal rows: what a score is compared with.

    Returns
    -------
    ModuleScore or ModuleReconstruction
    """
    rows = np.asarray(to_dense(as_matrix(normal, dtype=np.float64, what="normal").values), dtype=np.float64)
    network = TorchNetwork.of(module)
    found = network.forward(rows)
    if not np.isfinite(found).all():
        raise ValueError(
            "The module returns NaN or infinite values for normal rows. Check whether its training diverged."
        )
    if found.size == len(rows):
        score = found.reshape(len(rows))
        least, median = float(score.min()), float(np.median(score))
        return ModuleScore(network, rows[score <= median], least, median - least)
    if found.shape == rows.shape:
        return ModuleReconstruction(network, Standardizing.none(rows.shape[1]))
    raise ValueError(
        f"The module returns values of shape {found.shape} for rows of shape {rows.shape}, expected one "
        f"score each, ({len(rows)},) or ({len(rows)}, 1), or reconstructed rows."
    )


def _blocks(X: Any) -> list[Floats]:
    rows = np.asarray(X, dtype=np.float64)
    return [rows[start : start + _BLOCK] for start in range(0, max(len(rows), 1), _BLOCK)]


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ModuleNotFoundError("A torch module needs torch. Run: pip install 'whyodd[torch]'") from error
    return torch
