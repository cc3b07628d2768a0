"""Peaked rows below the dense limit: the centers that count are found by leaves, not among all distances.

A row's nearest center tells beyond which distance all others together have less of p than the tolerance
(`peaked`). Leaves find the centers within it, and certify that there are no others: no product with all
centers is made. Rows for which too many count are left to the passes over all centers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute import blocks
from whyodd.compute.announce import announced_compilation
from whyodd.compute.hard.leaves import LeafSearch
from whyodd.compute.points import as_compiled, largest_coordinates, localize, squared_norms, to_dense
from whyodd.compute.soft.peaked import FEW, explain_found, fill_reach
from whyodd.compute.soft.row import Direct, Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.soft.centers import Centers
    from whyodd.compute.work import Scores, Work

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# From this many centers on leaves may pay; up to this many may count for a row.
_MANY_CENTERS, _MOST = 4096, 1024
# Rows at a time; rows that tell whether most are peaked enough: a search in vain costs ten times a product.
_BLOCK_ROWS, _PROBED_ROWS = 256, 8


@dataclass(frozen=True)
class NearCenters:
    """Centers in float64 around one origin, and their points in leaves."""

    centers: Centers
    leaves: LeafSearch

    @classmethod
    def of(cls, centers: Centers) -> NearCenters | None:
        """None where a search would pass over too few centers."""
        if centers.is_sparse or len(centers.groups) > 1 or centers.shape[0] < _MANY_CENTERS:
            return None
        leaves = LeafSearch.of(centers.points * centers.pool.per_scale)
        return cls(centers, leaves) if leaves.is_worthwhile else None

    def fill(
        self, X: Points, own: Indices, work: Work, scores: Scores, relevance: NDArray[np.floating] | None
    ) -> Indices:
        """Score, and explain if there is room, the peaked rows; returns the others, all if most are."""
        n = X.shape[0]
        probed = blocks.probed_rows(n, _PROBED_ROWS)
        with announced_compilation("near centers", type(self.centers.kernel)):
            is_done = self._block(X[probed], own[probed], work, explaining=relevance is not None)[0]
        if 2 * np.count_nonzero(is_done) < probed.size:
            return np.arange(n)
        is_done = np.zeros(n, dtype=bool)

        def through(shared: blocks.Blocks) -> None:
            for where in shared:
                done, direct, found = self._block(
                    X[where], own[where], work, explaining=relevance is not None
                )
                is_done[where] = done
                rows = where.start + np.flatnonzero(done)
                scores.outlierness[rows], scores.log_inlierness[rows], scores.unexplained[rows] = found[
                    done
                ].T
                scores.discarded[rows] = work.tolerance
                if relevance is not None:
                    with np.errstate(over="ignore"):  # whoever asked reports what is too large for a float
                        relevance[rows] = direct[done]

        threads = blocks.count_threads(work.n_jobs)
        per_row = 16 * self._most + 8 * 8 * X.shape[1]
        size = int(max(min(work.memory_mb * 2**20 / threads // per_row, _BLOCK_ROWS, -(-n // threads)), 1))
        blocks.run(blocks.Blocks(n, size, work.progress), threads, through)
        return np.flatnonzero(~is_done)

    @property
    def _most(self) -> int:
        return min(self.centers.shape[0] // FEW, _MOST)

    def _block(
        self, X: Points, own: Indices, work: Work, *, explaining: bool = False
    ) -> tuple[NDArray[np.bool_], Wide, Wide]:
        """Which rows are done, their relevance, and (n, 3) o, log g and what is unexplained."""
        centers, (group,) = self.centers, self.centers.groups
        raw = np.ascontiguousarray(to_dense(X), dtype=np.float64)
        local = localize(raw, group.origin, centers.scale, np.dtype(np.float64))
        is_far = ~(largest_coordinates(local) <= centers.reach)
        raw = np.where(is_far[:, None], group.origin, raw)
        own = centers.own_in_order(own)
        z, norms = raw * centers.pool.per_scale, squared_norms(np.where(is_far[:, None], 0.0, local))
        nearest, smallest = self._nearest(z, own)
        reach = np.empty(len(raw))
        fill_reach(nearest, smallest, norms, own, centers.pool, work.tolerance, reach)
        # A reach of -1 finds nothing, which is too few to be all that counts.
        counts, found, near = self.leaves.within(
            z, np.where(is_far | np.isinf(reach), -1.0, reach), self._most
        )
        direct = Direct(
            np.zeros(raw.shape if explaining else (0, 0)), np.zeros(len(raw), bool), work.tolerance
        )
        rows = Rows(as_compiled(raw), norms[:, None], own, 0.0)
        results = np.zeros((len(raw), 3))
        explain_found(counts, found, near, rows, centers.pool, direct, results)
        return direct.is_all, direct.relevance, results

    def _nearest(self, z: Wide, own: Indices) -> tuple[Indices, Wide]:
        """The nearest center of each row but one left out, and its squared distance."""
        d, nearest = self.leaves.nearest(z, 2)
        rank = ((nearest[:, 0] == own) & (self.centers.pool.kept[own] == 0.0)).astype(np.intp)
        every = np.arange(len(z))
        return nearest[every, rank], d[every, rank] ** 2
