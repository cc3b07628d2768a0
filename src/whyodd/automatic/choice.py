"""ChosenModel of the model and its bandwidth by the likelihood of rows that it has not seen.

Likelihoods are compared at a finite resolution. Tables hold repeated values: categories, counts, rounded
numbers. A density with a bandwidth of 0 at such values has an infinite likelihood, on held-out rows too,
and says nothing. So each held-out value is blurred by Gaussian noise of a tenth of a standard deviation,
and no candidate is finer than that. The expected log-likelihood of blurred values is largest for the
blurred distribution itself, and finite: candidates are told apart by how well they describe the rows down
to this resolution, and by nothing else.

The few held-out rows farthest from all training rows are left out of the comparison, the same ones for all
candidates: a log-likelihood falls with the square of the distance, and a single outlier among the rows
(what the model is there to find) would set the bandwidth for all others.

All candidates compare along single columns (one bandwidth for all, or a variance per column and component):
a full covariance is no measure of outlierness in the paper's sense, and its relevances may be negative.

Mixtures of Gaussians are compared for tables of numbers alone. The center of a component that has rows of
several categories (or hours of the day) lies between them, where no row is: being none of them would be
nearer to it than being one of them.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from whyodd.models.registry import GaussianMixture, KernelDensity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.models.registry import DensityDetector

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

# In standard deviations: differences below this do not count.
RESOLUTION = 0.1
# Held-out rows that are left out as too far from all others.
FARTHEST_SHARE = 0.02
# A mixture must be better by so many standard errors: it is an approximation, kernels keep every row.
_STANDARD_ERRORS = 2.0
_BANDWIDTHS = RESOLUTION * 2.0 ** (0.5 * np.arange(11))
_COMPONENTS = 2 ** np.arange(6)
_TRAINING_ROWS, _HELD_OUT_ROWS = 5_000, 2_000
_FOLDS = 5
# Up to so many rows each is held out once.
_FEW_ROWS = 1_000
# With fewer there is nothing to compare by.
_ENOUGH_ROWS = 10
ROWS_FOR_CHOICE = _TRAINING_ROWS + _HELD_OUT_ROWS


@dataclass(frozen=True)
class Candidate:
    """A model and how likely it finds the held-out rows.

    Attributes
    ----------
    name : str
        What it is, in words.
    model : DensityDetector
        Not fitted.
    log_likelihoods : ndarray of shape (n,)
        Of the held-out rows.
    """

    name: str
    model: DensityDetector
    log_likelihoods: Floats

    @property
    def mean(self) -> float:
        """Mean log-likelihood of a held-out row."""
        return float(self.log_likelihoods.mean())


@dataclass(frozen=True)
class ChosenModel:
    """The candidate taken, and why.

    Attributes
    ----------
    chosen : Candidate
    candidates : tuple of Candidate
        All that were compared; none if there are too few rows.
    reason : str
        A sentence.
    """

    chosen: Candidate
    candidates: tuple[Candidate, ...]
    reason: str


class _Split(NamedTuple):
    fit: Floats
    held_out: Floats


def choose_model(Z: Floats, seed: int, *, with_mixtures: bool, say: Callable[[str], None]) -> ChosenModel:
    """Model for standardised rows Z (n, d), n at least 2; at most ``ROWS_FOR_CHOICE`` of them are used.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    seed : int
        For the split into rows to fit and rows to measure, the blur, and the start of the mixtures.
    with_mixtures : bool
        Whether all columns are numbers.
    say : callable
        Is told the candidate that is being tried.
    """
    if len(Z) < _ENOUGH_ROWS:
        return _without_comparison(len(Z))
    rng = np.random.default_rng(seed)
    blurred = Z + RESOLUTION * rng.standard_normal(Z.shape)
    splits = [_split(Z, blurred, *rows) for rows in _rows_of_splits(len(Z), rng)]
    models = _kernel_densities()
    if with_mixtures:
        models += _mixtures(min(len(split.fit) for split in splits), Z.shape[1], seed)
    candidates = []
    for name, model in models:
        say(name)
        parts = [_log_likelihoods(model, split) for split in splits if split.fit.shape[1]]
        candidates.append(Candidate(name, model, np.concatenate(parts)))
    return _decide(candidates)


def _without_comparison(n: int) -> ChosenModel:
    plain = Candidate("kernel density, bandwidth 1", KernelDensity(sigma=1.0), np.empty(0))
    return ChosenModel(plain, (), f"{n} rows are too few to hold some out: one standard deviation it is")


def _kernel_densities() -> list[tuple[str, DensityDetector]]:
    return [
        (f"kernel density, bandwidth {sigma:.2g}", KernelDensity(sigma=sigma))
        for sigma in _BANDWIDTHS.tolist()
    ]


def _mixtures(n: int, d: int, seed: int) -> list[tuple[str, DensityDetector]]:
    """Mixtures for n rows of d columns, none with a variance below the resolution."""
    # A component has 2d numbers, which so many rows at least should determine.
    sizes = [k for k in _COMPONENTS.tolist() if k == 1 or k * max(2 * d, 10) <= n]
    return [
        (
            "Gaussian, variance per column" if k == 1 else f"mixture of {k} Gaussians, variance per column",
            GaussianMixture(k, covariance_type="diag", reg_covar=RESOLUTION**2, random_state=seed),
        )
        for k in sizes
    ]


def _decide(candidates: list[Candidate]) -> ChosenModel:
    kernels, mixtures = (
        [candidate for candidate in candidates if isinstance(candidate.model, kind)]
        for kind in (KernelDensity, GaussianMixture)
    )
    kernel = max(kernels, key=lambda candidate: candidate.mean)
    if not mixtures:
        reason = "it finds held-out rows likeliest (mixtures of Gaussians are for tables of numbers alone)"
        return ChosenModel(kernel, tuple(candidates), reason)
    mixture = max(mixtures, key=lambda candidate: candidate.mean)
    gains = mixture.log_likelihoods - kernel.log_likelihoods
    gain, error = float(gains.mean()), float(gains.std()) / math.sqrt(gains.size)
    difference = f"{abs(gain):.2g} ± {error:.1g} nats"
    if gain > _STANDARD_ERRORS * error:
        reason = f"it finds held-out rows likelier than the best kernel density does, by {difference}"
        return ChosenModel(mixture, tuple(candidates), reason)
    reason = f"it finds held-out rows likelier than the best mixture does, by {difference}"
    if gain > 0.0:
        reason = f"the best mixture is not clearly better (by {difference})"
    return ChosenModel(kernel, tuple(candidates), reason)


def _rows_of_splits(n: int, rng: np.random.Generator) -> Iterator[tuple[Rows, Rows]]:
    """Rows to fit and rows to measure: each row is measured once if there are few, and only some if many."""
    order = rng.permutation(n)
    if n > _FEW_ROWS:
        held_out = min(n // _FOLDS, _HELD_OUT_ROWS)
        yield order[held_out : held_out + _TRAINING_ROWS], order[:held_out]
        return
    for part in np.array_split(order, _FOLDS):
        yield np.setdiff1d(order, part), part


def _split(Z: Floats, blurred: Floats, fit: Rows, held_out: Rows) -> _Split:
    # Not all models count a column that is constant where they are fitted: no candidate is given it.
    varies = Z[fit].min(axis=0) != Z[fit].max(axis=0)
    kept = _without_farthest(Z, fit, held_out)
    return _Split(Z[np.ix_(fit, varies)], blurred[np.ix_(kept, varies)])


def _without_farthest(Z: Floats, fit: Rows, held_out: Rows) -> Rows:
    n_kept = held_out.size - int(FARTHEST_SHARE * held_out.size)
    if n_kept == held_out.size:
        return held_out
    distances = NearestNeighbors(n_neighbors=1).fit(Z[fit]).kneighbors(Z[held_out])[0][:, 0]
    return held_out[np.argsort(distances, kind="stable")[:n_kept]]


def _log_likelihoods(model: DensityDetector, split: _Split) -> Floats:
    with warnings.catch_warnings():
        # A mixture that would still improve a little is judged like any other: by the held-out rows.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(clone(model).fit(split.fit).log_density(split.held_out))
