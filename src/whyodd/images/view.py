"""One view of images: features, the normal places learned, and how odd it finds places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.images.calibration import Calibration
from whyodd.images.drawn import Drawn
from whyodd.images.pooling import smoothed
from whyodd.maths.hard_poolings import Nearest
from whyodd.network.distance_network import DistanceNetwork
from whyodd.patches.coreset import k_centers, radius
from whyodd.patches.features.axes import on_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.patches.features import Features

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]
    Indices = NDArray[np.intp]

NEIGHBORS = 3


@dataclass(frozen=True, eq=False)
class View:
    """Features and the normal places they are compared with.

    Attributes
    ----------
    features : Features
    unit : ndarray of shape (F,)
        What each feature is divided by: its spread in training.
    centers : Drawn
        Few normal places that stand for all that were drawn, in these units.
    radius : float
        Every place that was drawn is at most so far from a center.
    calibration : Calibration
        Makes scores of distances, by normal images that were not learned.
    is_turned : bool
        Whether an image is judged a second time, turned by half, and distances are the mean of both. A
        network answers a little differently then: worth hearing, where turned normal images look normal.
    """

    features: Features
    unit: Floats
    centers: Drawn
    radius: float
    calibration: Calibration
    is_turned: bool = False

    @classmethod
    def of(cls, features: Features, drawn: Drawn, count: int, random: Any) -> tuple[View, Indices]:
        """A few centers for all drawn places, and which of the places they are; not yet calibrated.

        They are chosen fold by fold, so that without one the others stand for their places as well as before.
        """
        unit = units(drawn.values)
        values, folds = drawn.values / unit, np.unique(drawn.folds)
        chosen = np.sort(
            np.concatenate(
                [
                    places[k_centers(values[places], max(count // len(folds), 1), random)]
                    for places in (np.flatnonzero(drawn.folds == fold) for fold in folds)
                ]
            )
        )
        own = drawn[chosen]
        centers = Drawn(values[chosen], own.images, own.folds, own.middles)
        plain = Calibration(np.zeros(1), np.ones(1))
        return cls(features, unit, centers, radius(values, centers.values), plain), chosen

    def map(self, image: Floats) -> Floats:
        """Features (h, w, F) of an image (H, W, C), in units."""
        return np.asarray(self.features(image) / self.unit, dtype=np.float32)

    @property
    def is_even(self) -> bool:
        """Whether an image turned by 180° has the same features, turned: a second look then adds nothing."""
        return bool(getattr(self.features, "is_even", False))

    def distances(
        self, image: Floats, folds: Callable[[tuple[int, ...]], Indices], *, decompose: bool = False
    ) -> tuple[Doubles, Doubles | None]:
        """Distances (h, w) of the places of an image, and the relevance (h, w, F) of their features.

        ``folds`` gives the fold (h, w) of each place.
        """
        o, relevance = self.one_way(image, folds, decompose=decompose)
        if not self.is_turned:
            return o, relevance
        other, more = self.one_way(image, folds, is_turned=True, decompose=decompose)
        both = None if relevance is None or more is None else (relevance + more) / 2.0
        return (o + other) / 2.0, both

    def one_way(
        self,
        image: Floats,
        folds: Callable[[tuple[int, ...]], Indices],
        *,
        is_turned: bool = False,
        decompose: bool = False,
    ) -> tuple[Doubles, Doubles | None]:
        """The same for the image as it is, or turned by 180° and back again."""
        if not is_turned:
            features = self.map(image)
            return self.judged(features, folds(features.shape[:2]), decompose=decompose)
        features = self.map(np.ascontiguousarray(turned(image)))
        o, relevance = self.judged(features, turned(folds(features.shape[:2])), decompose=decompose)
        return turned(o), None if relevance is None else turned(relevance)

    def judged(
        self, features: Floats, folds: Indices, *, decompose: bool = False
    ) -> tuple[Doubles, Doubles | None]:
        """Distances o (h, w) of places to the centers of other folds; relevance (h, w, F) on request.

        o is the mean distance to the three nearest centers.
        """
        shape = features.shape
        rows = features.reshape(-1, shape[-1])
        o = np.empty(len(rows))
        relevance = np.empty(rows.shape) if decompose else None
        for fold in np.unique(folds):
            mine = np.flatnonzero(folds.ravel() == fold)
            network = self._without(int(fold))
            if relevance is None:
                o[mine] = network.outlierness(rows[mine])
            else:
                parts = network.decompose(rows[mine])
                o[mine], relevance[mine] = parts.outlierness, _summing_to(parts.outlierness, parts.relevance)
        return o.reshape(shape[:2]), None if relevance is None else relevance.reshape(shape)

    def relevance(self, places: Doubles, distances: Doubles, parts: Doubles, image: Floats) -> Doubles:
        """Relevance of places (h', w') of the common grid, on the pixels (H, W) of the image; sums stay.

        By way of smoothing and interpolation back to the view's own places, whose ``distances`` (h, w) these
        are and ``parts`` (h, w, F) the relevance of their features.
        """
        near = nearby(distances, places.shape)
        per_distance = np.divide(places, near, out=np.zeros_like(places), where=near > 0.0)
        own = on_grid(smoothed(per_distance), distances.shape, adjoint=True)
        return self.features.spread(own[..., None] * parts, image)

    def _without(self, fold: int) -> DistanceNetwork:
        others = self.centers.folds != fold
        return DistanceNetwork(
            self.centers.values[others], pooling=Nearest.mean(min(NEIGHBORS, int(others.sum())))
        )


def turned(image: NDArray[Any]) -> NDArray[Any]:
    """An image, or a map of its places, turned by 180°."""
    return image[::-1, ::-1]


def nearby(distances: Doubles, shape: tuple[int, ...]) -> Doubles:
    """Distances (h, w) of the places of a view, on a common grid and averaged nearby."""
    return smoothed(on_grid(distances, shape))


def units(values: Floats) -> Floats:
    """Spread of each feature (F,), plus a little of the mean over all for those that never vary."""
    spread = values.std(axis=0, dtype=np.float64)
    mean = float(spread.mean())
    if not mean > 0.0:
        raise ValueError(
            "The training images look the same everywhere: there is nothing to learn. Pass images that vary."
        )
    return np.asarray(spread + 0.01 * mean, dtype=np.float32)


def _summing_to(o: Doubles, relevance: Floats) -> Doubles:
    """Single-precision relevance (n, F), corrected so that its sums equal ``o`` (n,) again."""
    parts = relevance.astype(np.float64)
    sums = parts.sum(axis=1)
    return np.asarray(parts * np.divide(o, sums, out=np.ones_like(sums), where=sums > 0.0)[:, None])
