"""A sample of rows that arrive in parts: whichever way parts are merged, the same rows are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

_LN2 = math.log(2.0)


@dataclass(frozen=True, eq=False)
class PrioritySample:
    """Which rows are kept: at most ``capacity`` of them, with the smallest keys log u - log w - t ln2/H.

    u is uniform on (0, 1], w the row's weight, t its time in rows and H the half-life. Without weights and
    forgetting every set of rows is equally likely. Without weights, a row of age a is kept with probability
    2^(-a/H), or in that proportion where the capacity is less than H/ln2 rows: those kept count alike. With
    weights, those kept count as ``estimated_weights`` says.

    To merge two samples, put their rows together and keep the smallest keys: the result does not depend on
    the order of merging, to the last bit. Keys depend on the seed, the part and the row's number in it, and
    not on how a part is cut into pieces. Duffield, Lund and Thorup, "Priority sampling for estimation of
    arbitrary subset sums", 2007.

    Attributes
    ----------
    capacity : int
        The most rows that are kept.
    seed : int
        Of the random numbers.
    half_life : float
        H, in rows; infinite if nothing is forgotten.
    keys : ndarray of shape (k,)
        Of the rows kept, which stand in the order of their parts, and in these of their numbers.
    part : ndarray of int, shape (k,)
        The part that each is of, as a place in ``parts``.
    row : ndarray of int, shape (k,)
        Its number in this part.
    weights : ndarray of shape (k,) or None
        w; None if all rows count alike.
    parts : tuple of tuples of int
        The parts that rows were kept of, in order.
    now : float
        t of the latest row there was.
    bar : float
        The smallest key of a row that was left out for want of room; infinite if there was room for all.
    origin : float
        When rows began to be forgotten: t of earlier rows.
    """

    capacity: int
    seed: int
    half_life: float
    keys: Floats
    part: Indices
    row: NDArray[np.int64]
    weights: Floats | None
    parts: tuple[tuple[int, ...], ...]
    now: float
    bar: float
    origin: float = 0.0

    @classmethod
    def draw(
        cls,
        n: int,
        capacity: int,
        *,
        seed: int = 0,
        part: int | Sequence[int] = 0,
        first_row: int = 0,
        half_life: float | None = None,
        origin: float = 0.0,
        weights: Floats | None = None,
    ) -> tuple[PrioritySample, Indices]:
        """Sample of ``n`` rows of a part, the first of which is its row ``first_row``; and the rows kept.

        Rows of weight 0 are not kept.
        """
        numbers = part_number(part)
        life = math.inf if half_life is None else float(half_life)
        row = first_row + np.arange(n, dtype=np.int64)
        with np.errstate(divide="ignore"):
            log_weights = 0.0 if weights is None else np.log(weights)
        keys = np.log(_uniform(n, seed, numbers, first_row)) - log_weights
        keys -= np.maximum(row, origin) * (_LN2 / life)
        sample = cls(
            capacity,
            seed,
            life,
            keys,
            np.zeros(n, dtype=np.intp),
            row,
            weights,
            (numbers,) if n else (),
            float(first_row + n - 1) if n else -math.inf,
            math.inf,
            origin,
        )
        return sample._reduced()

    def forgetting(self, half_life: float) -> PrioritySample:
        """The same rows, from now on with forgetting; so far nothing was forgotten."""
        later = self.now * (_LN2 / half_life)
        return replace(
            self, half_life=half_life, keys=self.keys - later, bar=self.bar - later, origin=self.now
        )

    def merge(self, other: PrioritySample) -> tuple[PrioritySample, Indices]:
        """Sample of both; and the rows kept, as places in the rows of this one followed by the other's."""
        self._check_like(other)
        parts = tuple(sorted({*self.parts, *other.parts}))
        place = {part: i for i, part in enumerate(parts)}
        of = [np.array([place[p] for p in one.parts], dtype=np.intp)[one.part] for one in (self, other)]
        together = replace(
            self,
            keys=np.concatenate([self.keys, other.keys]),
            part=np.concatenate(of),
            row=np.concatenate([self.row, other.row]),
            weights=_both_weights(self, other),
            parts=parts,
            now=max(self.now, other.now),
            bar=min(self.bar, other.bar),
        )
        return together._reduced()

    @property
    def estimated_weights(self) -> Floats:
        """The weight that each kept row stands for (k,): w, or more if it also stands for dropped rows.

        Any sum over all rows, weighted by w 2^(-age/H), has the sum over those kept as an unbiased estimate.
        """
        known = np.ones(self.keys.size)
        if self.weights is not None:
            known = self.weights * np.exp2((np.maximum(self.row, self.origin) - self.now) / self.half_life)
        return np.maximum(known, np.exp(self._latest - self.bar))

    @property
    def _latest(self) -> float:
        """-t ln2/H of the latest row."""
        return -max(self.now, 0.0) * (_LN2 / self.half_life)

    def _reduced(self) -> tuple[PrioritySample, Indices]:
        """The sample without rows that exceed the capacity or are forgotten; and the kept rows, in order."""
        bar = self.bar
        if self.keys.size > self.capacity:
            bar = min(bar, float(np.partition(self.keys, self.capacity)[self.capacity]))
        kept = np.flatnonzero(self.keys < bar)
        if self.weights is None and math.isfinite(self.half_life):
            kept = kept[self.keys[kept] <= self._latest]
            bar = bar if bar <= self._latest else math.inf  # the rows that were left out are forgotten by now
        kept = kept[np.lexsort((self.row[kept], self.part[kept]))]
        self._check_different(kept)
        used, part = np.unique(self.part[kept], return_inverse=True)
        sample = replace(
            self,
            keys=self.keys[kept],
            part=part,
            row=self.row[kept],
            weights=None if self.weights is None else self.weights[kept],
            parts=tuple(self.parts[i] for i in used),
            bar=bar,
        )
        return sample, kept

    def _check_like(self, other: PrioritySample) -> None:
        alike = {"capacity": "rows", "seed": "seed", "half_life": "half-life", "origin": "a start at row"}
        for name, words in alike.items():
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                raise ValueError(
                    f"One part was sampled with {words} {ours:g}, the other with {theirs:g}. Use the same "
                    "value for all parts."
                )
        if math.isfinite(self.half_life) and (self.weights is None) != (other.weights is None):
            raise ValueError("One part has weights, the other has none. Give weights to both, or to none.")

    def _check_different(self, kept: Indices) -> None:
        same = (np.diff(self.row[kept]) == 0) & (np.diff(self.part[kept]) == 0)
        if same.any():
            at = kept[int(np.argmax(same))]
            part = self.parts[self.part[at]]
            name = part[0] if len(part) == 1 else part
            raise ValueError(
                f"Part {name} was added twice: both hold its row {self.row[at]}. Give every part its own "
                "number (part=), and give each piece of one part the number of its first row (first_row=)."
            )


def part_number(part: int | Sequence[int]) -> tuple[int, ...]:
    """The numbers of a part, of which the first one orders first."""
    numbers = tuple(part) if isinstance(part, (tuple, list)) else (part,)
    if not numbers or any(not isinstance(p, Integral) or isinstance(p, bool) or p < 0 for p in numbers):
        raise ValueError(f"part={part!r}: expected one or several whole numbers, none negative.")
    return tuple(map(int, numbers))


def _uniform(n: int, seed: int, part: tuple[int, ...], first_row: int) -> Floats:
    """Random numbers in (0, 1] (n,) of a part's rows from ``first_row`` on."""
    # NumPy treats seeds that differ by trailing zeros as equal; the length distinguishes them.
    bits = np.random.PCG64(np.random.SeedSequence([seed, len(part), *part]))
    return 1.0 - np.random.Generator(bits.advance(first_row)).random(n)


def _both_weights(a: PrioritySample, b: PrioritySample) -> Floats | None:
    if a.weights is None and b.weights is None:
        return None
    return np.concatenate([np.ones(s.keys.size) if s.weights is None else s.weights for s in (a, b)])
