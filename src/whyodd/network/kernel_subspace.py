"""The reconstruction error of kernel PCA: how far a row is from a subspace in feature space."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.compute.blocks import Blocks, block_rows, count_threads, run
from whyodd.compute.gaussian_centers import GaussianCenters
from whyodd.compute.points import to_dense
from whyodd.inputs.matrices import as_matrix
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.flipping.removals import Removals
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]

# The search for an expected row ends after this many steps, or when a step is this part of a bandwidth.
_STEPS, _STANDSTILL = 100, 1e-12
# A decrease that rounding cannot explain.
_DESCENT = 1e-9
# Matrices of similarities that a thread holds at a time, and the memory for all of them.
_MATRICES, _MEMORY_MB = 8, 256.0


@dataclass(frozen=True, eq=False)
class KernelSubspace:
    """Reconstruction error of kernel PCA: o = ‖φ(x) - φ̂(x)‖², R_i = (o(x) - o(z)) (x_i - z_i)² / ‖x - z‖².

    φ is the feature map of the Gaussian kernel k(x, u) = exp(-½ ‖x - u‖²/σ²), and φ̂(x) the nearest point of
    the subspace through the mean Σ_j w_j φ(u_j). It is a combination of centers with weights of both signs,
    φ̂(x) = Σ_j γ_j φ(u_j) with γ = w + C f and Σ_j γ_j = 1, where f = Cᵀ (k - ρ) are the components of x:

    o = 1 - 2 w·k + w·ρ - ‖f‖², between 0 and a bound that a row far from all centers comes near to.

    The expected row z is the pre-image of φ̂(x): s(z) = Σ_j γ_j k(z, u_j) is climbed by Mika's fixed points
    z = Σ_j γ_j k_j u_j / Σ_j γ_j k_j, from the center (or x itself) where it is highest. As s(z) ≥ s(x), z is
    at least as near to φ̂(x) as x is, and o(z) ≤ o(x). What a row has beyond o(z) goes to the variables, by
    their part of ‖x - z‖²; o(z), which the most similar row of all would have too, belongs to no variable.
    R ≥ 0 and unexplained ≥ 0, and they add up to o.

    Parameters
    ----------
    centers : array of shape (m, d)
        u_j.
    components : array of shape (m, q)
        C, whose columns sum to 0: Σ_j C_jl φ(u_j) is the l-th unit vector of the subspace.
    weights : array of shape (m,)
        w_j, which sum to 1.
    similarities : array of shape (m,)
        ρ_j = Σ_i w_i k(u_j, u_i): how similar each center is to all of them.
    sigma : float
        Bandwidth.
    verdict : Verdict, optional
        What the model says of its scores.

    Notes
    -----
    Hoffmann, "Kernel PCA for novelty detection", 2007; Mika et al., "Kernel PCA and de-noising in feature
    spaces", 1998. No row can be left out: all components depend on all rows. Rows far from all centers have
    the same reconstruction, the mean, and the same expected row, where the centers are densest.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.kernel_subspace import KernelSubspace
    >>> one = KernelSubspace([[0.0, 0.0]], np.zeros((1, 0)), [1.0], [1.0], sigma=1.0)
    >>> parts = one.decompose([[1.0, 2.0]])
    >>> (parts.relevance / parts.outlierness).round(3), one.expected([[1.0, 2.0]])
    (array([[0.2, 0.8]]), array([[0., 0.]]))
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "flip", "save", "work"})

    centers: Floats
    components: Floats
    weights: Floats
    similarities: Floats
    sigma: float
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        for name in ("centers", "components", "weights", "similarities"):
            values = np.array(getattr(self, name), dtype=np.float64, ndmin=1)
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        object.__setattr__(self, "sigma", float(self.sigma))
        self._check()

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def _check(self) -> None:
        m = self.n_centers
        shapes = {
            "centers": self.centers.shape,
            "components": (m, self.components.shape[-1]),
            "weights": (m,),
            "similarities": (m,),
        }
        if self.centers.ndim != 2 or self.centers.size == 0:
            raise ValueError(f"Expected centers as rows of numbers, got shape {self.centers.shape}.")
        for name, shape in shapes.items():
            found = getattr(self, name)
            if found.shape != shape:
                raise ValueError(
                    f"Expected {name} with one line per center, {shape}, got shape {found.shape}."
                )
            if not np.isfinite(found).all():
                raise ValueError(f"{name} must be finite numbers.")
        if not (np.isfinite(self.sigma) and self.sigma > 0.0):
            raise ValueError(f"sigma={self.sigma!r}: expected a positive bandwidth.")

    @property
    def n_centers(self) -> int:
        """Number of centers m."""
        return len(self.centers)

    @property
    def n_features(self) -> int:
        """Number of input variables d."""
        return int(self.centers.shape[1])

    @property
    def n_components(self) -> int:
        """Number of components q."""
        return int(self.components.shape[1])

    @cached_property
    def far_away(self) -> float:
        """Outlierness of a row that is similar to no center."""
        found = self.similarities @ self.components
        return float(1.0 + self.weights @ self.similarities - found @ found)

    @property
    def rows(self) -> None:
        """None: no center can be left out."""
        return

    def outlierness(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """Reconstruction error o (n,)."""
        values = self._checked(X)
        out = np.empty(values.shape[0])

        def score(rows: slice) -> None:
            out[rows] = self._seen(self._placed.local(to_dense(values[rows]))).error

        self._sweep(values.shape[0], score, n_jobs)
        return out

    def inlierness(self, X: Any, **work: Any) -> Floats:
        """exp(-o) (n,)."""
        return np.asarray(np.exp(-self.outlierness(X, **work)))

    def decompose(
        self, X: Any, *, n_jobs: int | None = None, progress: Callable[[int], None] | None = None
    ) -> Decomposition:
        """R_i = (o(x) - o(z)) (x_i - z_i)² / ‖x - z‖² for the expected row z; unexplained is o(z)."""
        values = self._checked(X)
        relevance = np.empty(values.shape, dtype=values.dtype)
        outlierness, unexplained = np.empty(values.shape[0]), np.empty(values.shape[0])

        def explain(rows: slice) -> None:
            x = self._placed.local(to_dense(values[rows]))
            seen = self._seen(x)
            z = self._pre_image(x, seen)
            parts = (x - z) ** 2
            length = parts.sum(axis=1)
            left = np.where(length > 0.0, np.minimum(self._seen(z).error, seen.error), seen.error)
            per_length = np.divide(seen.error - left, length, out=np.zeros_like(length), where=length > 0.0)
            relevance[rows] = parts * per_length[:, None]
            unexplained[rows], outlierness[rows] = left, seen.error

        self._sweep(values.shape[0], explain, n_jobs, progress)
        return Decomposition(relevance, unexplained, outlierness)

    def expected(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """Pre-images z (n, d) of the reconstructions: what normal rows like these have."""
        values = self._checked(X)
        out = np.empty(values.shape)

        def reconstruct(rows: slice) -> None:
            x = self._placed.local(to_dense(values[rows]))
            out[rows] = self._placed.back(self._pre_image(x, self._seen(x)))

        self._sweep(values.shape[0], reconstruct, n_jobs)
        return out

    def flip(
        self,
        X: Any,
        removals: Removals,
        own: Any = None,
        *,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Floats:
        """Outlierness of rows before and after each of S steps that remove variables (n, S + 1).

        A variable that is removed has the value that is expected. ``own`` is None: no center is left out.
        """
        del own
        values = np.asarray(to_dense(self._checked(X)), dtype=np.float64)
        expected = self.expected(values, n_jobs=n_jobs)
        curves = np.empty((len(values), removals.steps + 1))
        for step in range(removals.steps + 1):
            changed = np.where(removals.stages <= step, expected, values)
            curves[:, step] = self.outlierness(changed, n_jobs=n_jobs)
        if progress is not None:
            progress(len(values))
        return curves

    def _seen(self, local: Floats) -> _Seen:
        """Errors of local rows, and the parts of their reconstructions."""
        k = np.exp(-self._placed.exponents(local))
        found = (k - self.similarities) @ self.components
        error = 1.0 - 2.0 * (k @ self.weights) + self.weights @ self.similarities
        error -= np.einsum("ij,ij->i", found, found)
        # For a row that is reconstructed fully, rounding may give a negative error.
        return _Seen(np.maximum(error, 0.0), k, found)

    def _pre_image(self, x: Floats, seen: _Seen) -> Floats:
        """Local points z (n, d) that climb s(z) = Σ_j γ_j k(z, u_j) from where it is highest."""
        gamma = self.weights + seen.found @ self.components.T
        at_centers = self.similarities + seen.found @ self._products.T
        best = at_centers.argmax(axis=1)
        height = at_centers[np.arange(len(x)), best]
        stays = np.einsum("ij,ij->i", gamma, seen.similarities) >= height
        z = np.where(stays[:, None], x, self._placed.local_centers[best])
        moving, before = np.arange(len(x)), z.copy()
        highest = np.full(len(x), -np.inf)
        for _ in range(_STEPS):
            pull = np.exp(-self._placed.exponents(z[moving]))
            pull *= gamma[moving]
            s = pull.sum(axis=1)
            fell = s < highest[moving] * (1.0 - _DESCENT)
            z[moving[fell]] = before[moving[fell]]
            climbs = ~fell & (s > 0.0)
            moving, pull, s = moving[climbs], pull[climbs], s[climbs]
            before[moving], highest[moving] = z[moving], s
            z[moving] = self._placed.mean(pull) / s[:, None]
            moving = moving[np.abs(z[moving] - before[moving]).max(axis=1) > _STANDSTILL]
            if not moving.size:
                break
        return z

    @cached_property
    def _placed(self) -> GaussianCenters:
        return GaussianCenters(self.centers, self.weights @ self.centers, self.sigma)

    @cached_property
    def _products(self) -> Floats:
        """K C (m, q): inner products of the unit vectors with the centers."""
        out = np.empty(self.components.shape)

        def multiply(rows: slice) -> None:
            local = self._placed.local(self.centers[rows])
            out[rows] = np.exp(-self._placed.exponents(local)) @ self.components

        self._sweep(self.n_centers, multiply)
        return out

    def _sweep(
        self,
        n: int,
        work: Callable[[slice], None],
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Let threads work through blocks of rows, within bounded memory."""
        threads = count_threads(n_jobs)
        bytes_per_row = 8 * (_MATRICES * self.n_centers + 6 * self.n_features + 2 * self.n_components)
        size = block_rows(n, threads, bytes_per_row, self.n_centers, _MEMORY_MB)

        def each(blocks: Blocks) -> None:
            for rows in blocks:
                work(rows)

        run(Blocks(n, size, progress), threads, each)

    def _checked(self, X: Any) -> Any:
        values = as_matrix(X).values
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the model was fitted on {self.n_features}. "
                "Pass the columns used in fit."
            )
        return values


@dataclass(frozen=True, eq=False)
class _Seen:
    """Rows as the subspace sees them: error (n,), similarities k (n, m), components f (n, q)."""

    error: Floats
    similarities: Floats
    found: Floats
