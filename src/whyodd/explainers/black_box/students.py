"""A student fitted to scores: candidates that decompose, and non-negative weights for them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from whyodd.adapters.neuralize import neuralize
from whyodd.kernels import Exponential
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import LinearMetric
from whyodd.maths.robust_scales import center_and_scale
from whyodd.network.black_box.student import Bent, Student, Terms
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.maths.hard_poolings import Pooling

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Mask = NDArray[np.bool_]

_N_SHAPES, _N_BENDS = 8, 4
# Numbers that can still be squared and summed.
LARGEST = 1e100
# Neighbours whose mean, or last, distance is a candidate; those of the local outlier factor.
_MEANS, _LASTS, _LOCAL = (1, 5, 20), (5, 20), 20
_MOST_NEIGHBORS = max(*_MEANS, *_LASTS, _LOCAL)
# With fewer centers, there is no search.
_MANY = _MOST_NEIGHBORS + 1
# Bandwidths of densities, over the usual distance to this neighbour.
_BANDWIDTHS, _USUAL = (0.5, 1.0, 2.0), 10
# Clusters whose nearest centroid is a candidate.
_CLUSTERS = (3, 8, 20)
# Penalties to try, relative to one that leaves nothing. Half of each is on squares, so that similar
# candidates share their weight.
_PENALTIES, _ABSOLUTE = tuple(np.geomspace(0.1, 1e-4, 8)), 0.5
_ROUNDS = 500
# A fitted quadratic form is used if the student misses this many times as much without it, because it has
# both signs and says less clearly what is odd.
_WORTH_IT = 2.0
# It is not tried if the student misses no more than this share.
_LITTLE = 1e-4
# Added to variances, so that columns that follow from others do not count infinitely.
_RIDGE = 1e-6
# Most coefficients of a quadratic form; ridges to try, relative to the largest eigenvalue.
_MOST_COEFFICIENTS = 1_200
_RIDGES = tuple(np.geomspace(1e-6, 1e-1, 6))
# The center of a quadratic form is among the normal rows.
_MOST_OFF = 2.0


@dataclass(frozen=True)
class Lesson:
    """Training data of a student: rows, the function's scores of them, and the purpose of each.

    Attributes
    ----------
    rows : ndarray of shape (k, d)
    outlierness : ndarray of shape (k,)
    weights : ndarray of shape (k,)
        What the squared error of each row counts.
    is_fitted, is_tried : ndarray of bool of shape (k,)
        Rows that weights are fitted to, and others by which penalties are chosen.
    """

    rows: Floats
    outlierness: Floats
    weights: Floats
    is_fitted: Mask
    is_tried: Mask

    def missed(self, guesses: Floats) -> Floats:
        """Squared errors (m,) of predictions (t, m) for the rows used to choose."""
        gaps = guesses - self.outlierness[self.is_tried][:, None]
        return np.asarray(self.weights[self.is_tried] @ gaps**2)


@dataclass(frozen=True)
class Candidates:
    """Scores that a student can be made of: terms of single variables, and networks of distances."""

    terms: Terms | None
    networks: tuple[DistanceNetwork, ...]

    @classmethod
    def of(cls, normal: Floats, *, by_variable: bool) -> Candidates:
        """Candidates from normal rows (n, d): neighbours, densities, clusters, covariance, in two scales."""
        d = normal.shape[1]
        center, scale = center_and_scale(normal)
        spread = normal.std(axis=0)
        spread = np.where(spread > 0.0, spread, 1.0)
        networks: list[DistanceNetwork] = []
        for per_column in (np.full(d, 1.0 / np.sqrt((spread**2).mean())), 1.0 / scale):
            networks += _in_one_scale(normal, per_column)
        networks += _clustered(normal)
        scaled = (normal - normal.mean(axis=0)) / spread
        from sklearn.covariance import LedoitWolf

        covariance = LedoitWolf(assume_centered=True).fit(scaled).covariance_
        ridge = _RIDGE * max(float(np.trace(covariance)) / d, 1.0)
        whitening = np.linalg.inv(np.linalg.cholesky(covariance + ridge * np.eye(d)))
        networks.append(_single(normal.mean(axis=0), whitening / spread))
        terms = Terms(center, scale, np.sort(normal, axis=0), np.zeros((d, _N_SHAPES)))
        return cls(terms if by_variable else None, tuple(networks))


@dataclass(frozen=True)
class Offered:
    """Candidates, and their values for the rows of a lesson: computed once, fitted several times.

    Attributes
    ----------
    terms : Terms or None
    parts : tuple of Bent
        Networks with their usual levels on these rows.
    features : ndarray of shape (k, 8 d + 4 m)
    """

    terms: Terms | None
    parts: tuple[Bent, ...]
    features: Floats

    @classmethod
    def of(cls, candidates: Candidates, X: Floats) -> Offered:
        """The values of all candidates for rows (k, d)."""
        with np.errstate(over="ignore"):
            return cls._of(candidates, X)

    @classmethod
    def _of(cls, candidates: Candidates, X: Floats) -> Offered:
        first = [] if candidates.terms is None else [candidates.terms.shapes(X).reshape(len(X), -1)]
        scores = _outlierness(candidates.networks, X)
        bent = [_bent(network, s) for network, s in zip(candidates.networks, scores, strict=True)]
        features = np.hstack([*first, *(columns for _, columns in bent)])
        # Squares of such sizes cannot be taken: these candidates are left out.
        features[:, (np.abs(features) > LARGEST).any(axis=0)] = 0.0
        return cls(candidates.terms, tuple(part for part, _ in bent), features)

    def with_network(self, network: DistanceNetwork, X: Floats) -> Offered:
        """The same candidates and one more."""
        part, columns = _bent(network, network.outlierness(X))
        return Offered(self.terms, (*self.parts, part), np.hstack([self.features, columns]))

    def student(self, weights: Floats, intercept: float) -> Student:
        """The student of weights (8 d + 4 m,)."""
        terms, rest = None, weights
        if self.terms is not None:
            shape = self.terms.weights.shape
            terms = replace(self.terms, weights=weights[: shape[0] * shape[1]].reshape(shape))
            rest = weights[shape[0] * shape[1] :]
        of_parts = zip(self.parts, rest.reshape(-1, _N_BENDS), strict=True)
        bent = (replace(part, weights=w) for part, w in of_parts if w.any())
        return Student(intercept, tuple(bent), terms)


def _outlierness(networks: Sequence[DistanceNetwork], X: Floats) -> list[Floats]:
    """Outlierness of each network (k,); networks with the same metric search neighbours once."""
    found: dict[int, tuple[Floats, Indices]] = {}
    scores = []
    for network in networks:
        metric, pooling = network.metric, network.pooling
        if network.n_centers < _MANY or pooling is None or not isinstance(metric, LinearMetric):
            scores.append(network.outlierness(X))
            continue
        if id(metric) not in found:
            from sklearn.neighbors import NearestNeighbors

            centers = np.asarray(network.centers) @ metric.matrix.T
            search = NearestNeighbors(n_neighbors=min(_MOST_NEIGHBORS, len(centers))).fit(centers)
            found[id(metric)] = search.kneighbors(X @ metric.matrix.T)
        d, neighbors = found[id(metric)]
        scores.append(pooling.outlierness(d[:, : pooling.k], neighbors[:, : pooling.k]))
    return scores


def _bent(network: DistanceNetwork, s: Floats) -> tuple[Bent, Floats]:
    part = Bent(network, max(float(np.median(s)), 1e-300), np.zeros(_N_BENDS))
    return part, part.shapes(s)


def fit_student(offered: Offered, lesson: Lesson, normal: Floats) -> Student:
    """The student with the smallest error on rows that it was not fitted to."""
    weights, intercept, missed = _weights(offered.features, lesson)
    level = np.average(lesson.outlierness[lesson.is_tried], weights=lesson.weights[lesson.is_tried])
    whole = float(lesson.missed(np.full((int(lesson.is_tried.sum()), 1), level))[0])
    form = quadratic_form(lesson, normal) if missed > _LITTLE * whole else None
    if form is not None:
        more = offered.with_network(form, lesson.rows)
        other_weights, other_intercept, missed_with = _weights(more.features, lesson)
        if _WORTH_IT * missed_with < missed:
            return more.student(other_weights, other_intercept)
    return offered.student(weights, intercept)


def _weights(features: Floats, lesson: Lesson) -> tuple[Floats, float, float]:
    """Weights ≥ 0 and intercept, in units of the features, and their errors."""
    fitted = lesson.is_fitted
    counts = lesson.weights[fitted] / lesson.weights[fitted].mean()
    middle = np.average(features[fitted], axis=0, weights=counts)
    level = np.average(lesson.outlierness[fitted], weights=counts)
    gaps, rest = features[fitted] - middle, lesson.outlierness[fitted] - level
    sizes = np.sqrt(np.average(gaps**2, axis=0, weights=counts))
    unit = np.sqrt(np.average(rest**2, weights=counts)) or 1.0
    # A candidate that is constant up to rounding says nothing.
    is_told = sizes > 1e-9 * np.abs(middle)
    per_size = np.divide(1.0, sizes, out=np.zeros(sizes.shape), where=is_told)
    roots = np.sqrt(counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        from sklearn.linear_model import enet_path

        found = enet_path(
            np.asfortranarray(gaps * per_size * roots[:, None]),
            rest / unit * roots,
            l1_ratio=_ABSOLUTE,
            alphas=_PENALTIES,
            positive=True,
            max_iter=_ROUNDS,
        )[1]
    tried = found * per_size[:, None] * unit
    guesses = (features[lesson.is_tried] - middle) @ tried + level
    errors = lesson.missed(guesses)
    best = int(np.argmin(errors))
    return tried[:, best], float(level - middle @ tried[:, best]), float(errors[best])


def quadratic_form(lesson: Lesson, normal: Floats) -> DistanceNetwork | None:
    """The distance whose square is nearest to the scores: o ≈ (x - m)ᵀ P (x - m) + b, with P ≥ 0.

    None if there are too many variables to find one, or none bends upwards.
    """
    d = lesson.rows.shape[1]
    i, k = np.triu_indices(d)
    if np.abs(lesson.rows).max() > np.sqrt(LARGEST):
        return None
    if i.size + d > min(_MOST_COEFFICIENTS, lesson.is_fitted.sum() // 2):
        return None
    middle, spread = normal.mean(axis=0), normal.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    Z = (lesson.rows - middle) / spread
    features = np.hstack([Z[:, i] * Z[:, k] * np.where(i == k, 1.0, 2.0), Z])
    fitted, counts = lesson.is_fitted, lesson.weights[lesson.is_fitted]
    gaps = features[fitted] - np.average(features[fitted], axis=0, weights=counts)
    rest = lesson.outlierness[fitted] - np.average(lesson.outlierness[fitted], weights=counts)
    sizes = np.sqrt((gaps**2).mean(axis=0))
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    A, t = gaps / sizes * np.sqrt(counts)[:, None], rest * np.sqrt(counts)
    values, vectors = np.linalg.eigh(A.T @ A)
    along = vectors.T @ (A.T @ t)
    best, least = None, np.inf
    for ridge in np.multiply(_RIDGES, values.max()):
        found = vectors @ (along / (np.maximum(values, 0.0) + ridge)) / sizes
        form = np.zeros((d, d))
        form[i, k] = form[k, i] = found[: i.size]
        bends, axes = np.linalg.eigh(form)
        is_up = bends > 1e-9 * np.abs(bends).max()
        if not is_up.any():
            continue
        bends, axes = bends[is_up], axes[:, is_up]
        off = np.clip(-0.5 * axes @ ((axes.T @ found[i.size :]) / bends), -_MOST_OFF, _MOST_OFF)
        root = (axes * np.sqrt(bends)).T
        tried = lesson.is_tried
        guesses = (((Z[tried] - off) @ root.T) ** 2).sum(axis=1)
        level = np.average(lesson.outlierness[tried] - guesses, weights=lesson.weights[tried])
        missed = float(lesson.missed((guesses + level)[:, None])[0])
        if missed < least:
            best, least = _single(middle + off * spread, root / spread), missed
    return best


def _in_one_scale(normal: Floats, per_column: Floats) -> list[DistanceNetwork]:
    n = len(normal)
    metric = LinearMetric(np.diag(per_column))

    def pooled(pooling: Pooling, centers: Any = normal) -> DistanceNetwork:
        return DistanceNetwork(centers, pooling=pooling, metric=metric)

    networks = [pooled(Nearest.mean(k)) for k in _MEANS if k <= n]
    networks += [pooled(Nearest.kth(k)) for k in _LASTS if k <= n]
    usual = float(np.median(pooled(Nearest.kth(min(_USUAL, n))).outlierness(normal))) or 1.0
    networks += [
        DistanceNetwork(normal, kernel=Exponential(2.0, times * usual), metric=metric)
        for times in _BANDWIDTHS
    ]
    networks.append(pooled(Nearest.kth(1), normal.mean(axis=0)[None]))
    scaled = normal * per_column
    if n > _LOCAL:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of copies among the rows
            from sklearn.neighbors import LocalOutlierFactor

            local = neuralize(LocalOutlierFactor(n_neighbors=_LOCAL, novelty=True).fit(scaled))
        networks.append(pooled(local.pooling))
    return networks


def _clustered(normal: Floats) -> list[DistanceNetwork]:
    networks = []
    for k in _CLUSTERS:
        if 2 * k < len(normal):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
                from sklearn.cluster import KMeans

                clusters = KMeans(k, n_init=1, random_state=0).fit(normal)
            networks.append(DistanceNetwork(clusters.cluster_centers_, pooling=Nearest.kth(1)))
    return networks


def _single(center: Floats, matrix: Floats) -> DistanceNetwork:
    return DistanceNetwork(center[None], pooling=Nearest.kth(1), metric=LinearMetric(matrix))
