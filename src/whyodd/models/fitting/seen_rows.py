"""Rows that arrive part by part: the kept ones, and what is known about all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from whyodd.compute.points import is_sparse
from whyodd.maths.moments import Moments
from whyodd.maths.priority_sample import PrioritySample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenRows:
    """A sample of all rows so far, in order, and what is known about all of them.

    Attributes
    ----------
    rows : ndarray or CSR array of shape (k, d)
        The sample.
    sample : PrioritySample
        How it is drawn, and which of all rows these are.
    n_rows : int
        How many rows there were.
    extent : ndarray of shape (2, d) or None
        The smallest and the largest value of each column; None of sparse rows.
    moments : Moments or None
        Of all rows, by weight and age; None if nobody asked.
    """

    rows: Points
    sample: PrioritySample
    n_rows: int
    extent: Floats | None
    moments: Moments | None

    @classmethod
    def of(
        cls,
        X: Points,
        weights: Floats | None,
        capacity: int,
        forget: float | None,
        *,
        first_row: int = 0,
        origin: float = 0.0,
        with_moments: bool = False,
    ) -> SeenRows:
        """Rows (n, d) that follow ``first_row`` others; ``origin`` is when forgetting began."""
        n = X.shape[0]
        sample, kept = PrioritySample.draw(
            n, capacity, first_row=first_row, half_life=forget, origin=origin, weights=weights
        )
        counted = X if weights is None else X[weights > 0.0]
        extent = None
        if not is_sparse(X) and counted.shape[0]:
            extent = np.stack([counted.min(axis=0), counted.max(axis=0)]).astype(np.float64)
        moments = None
        if with_moments:
            faded = np.exp2((np.arange(n) + 1.0 - n) / sample.half_life)
            moments = Moments.of(X.astype(np.float64), faded if weights is None else weights * faded)
        return cls(X[kept], sample, first_row + n, extent, moments)

    @property
    def weights(self) -> Floats | None:
        """Weight of each row of the sample (k,); None if all are equal."""
        weights = self.sample.estimated_weights
        return None if np.all(weights == weights[:1]) else weights

    def forgetting(self, half_life: float, *, by_weight: bool) -> SeenRows:
        """The same rows, from now on with forgetting: ``by_weight``, or by dropping rows."""
        sample = self.sample.forgetting(half_life)
        if by_weight and sample.weights is None:
            sample = replace(sample, weights=np.ones(sample.keys.size))
        return replace(self, sample=sample)

    def without_rows(self) -> SeenRows:
        """Only what is known about all rows."""
        none, _ = PrioritySample.draw(0, self.sample.capacity)
        return replace(self, rows=self.rows[:0], sample=replace(none, now=self.sample.now))

    def then(self, later: SeenRows) -> SeenRows:
        """These rows and later ones."""
        sample, kept = self.sample.merge(later.sample)
        stack = sparse.vstack if is_sparse(self.rows) else np.concatenate
        extents = [seen.extent for seen in (self, later) if seen.extent is not None]
        both = np.concatenate(extents) if extents else None
        moments = None
        if self.moments is not None and later.moments is not None:
            age = later.n_rows - self.n_rows
            moments = self.moments.aged(float(np.exp2(-age / sample.half_life))).merge(later.moments)
        return replace(
            later,
            rows=stack([self.rows, later.rows])[kept],
            sample=sample,
            extent=None if both is None else np.stack([both.min(axis=0), both.max(axis=0)]),
            moments=moments,
        )
