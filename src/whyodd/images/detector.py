"""Detector of odd images and odd places in them, learned from normal images alone."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from whyodd.explanations.base import IMAGES, checked_ids
from whyodd.images.calibration import Calibration, looks_the_same
from whyodd.images.drawn import Drawn, cut, middles
from whyodd.images.explanation import ImageExplanation
from whyodd.images.pooling import pooled, shared
from whyodd.images.reading import as_sequence, fingerprint, values_of
from whyodd.images.view import View, nearby
from whyodd.models.tail import ScoreDistribution
from whyodd.patches.features.axes import on_grid
from whyodd.patches.features.deep import has_deep
from whyodd.patches.features.given import as_features, pixel_unit
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from whyodd.patches.features import Features

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]
    Report = Callable[[int], None]

# Images to learn from, which bounds time (of more, this many are drawn), and places drawn from them.
_MOST_IMAGES, _MOST_PLACES = 200, 12_000
# Parts of the training images, each judged by a model of the others; a single image has quarters.
_FOLDS, _QUARTERS = 5, 4
# Normal images needed to know how odd a normal image is.
_LEAST_FOR_RARITY = 5
# Share of normal images in which some place is called odd: an image may show slightly more than what makes it
# odd.
_PLACE_ALARMS = 0.2


class ImageDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # untyped base
    """Odd images: O = mean_k (mean_t s_kt^p)^(1/p), over views k and places t.

    s_kt is how far a place is from the three nearest normal places, in the features of view k, beyond what is
    usual for places as near to the border (or for the same place, if images are aligned), and for the image
    itself. A view looks at the image as it is and, if normal images still look normal upside down, also
    turned by 180°; distances are then the mean of both. O is close to the score of the oddest place, whatever
    the size of the image, and 1 for a usual image. It is conserved: the relevance of all pixels sums to it.
    Normal images that were not learned show what is usual (:class:`~whyodd.images.calibration.Calibration`).

    Parameters
    ----------
    features : str, Features, callable, path, torch module, or list of them, default "auto"
        What places are compared by; one view for each. "auto": the local contrast at several scales and, if
        the extra ``whyodd[deep]`` is installed, a small pretrained network. See
        :mod:`whyodd.patches.features`.
    centers : int, default 2000
        Normal places of each view that are kept to compare with, far apart from each other (greedy k-center).
    false_alarms : float, default 0.05
        Share of normal images that may be called odd.
    random_state : int, RandomState or None, default 0
        Seed for drawing places.

    Attributes
    ----------
    views_ : tuple of View
    distribution_ : ScoreDistribution or None
        Outlierness of normal images that were not learned; None if there are fewer than five.
    threshold_ : float or None
        Outlierness above which an image is odd.
    place_threshold_ : float
        Score above which a place is odd: a fifth of normal images have such a place. A score is the mean over
        views, in units of the oddest place of a usual image.
    is_aligned_ : bool
        Whether places are compared with the same place of other images.

    Notes
    -----
    The paper's model of patches, O = Σ_t o_t, is :class:`whyodd.PatchModel`.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> images = np.random.default_rng(0).normal(128.0, 10.0, size=(12, 64, 64))
    >>> model = whyodd.ImageDetector(features="contrast").fit(images[:10])
    >>> scratched = images[10].copy()
    >>> scratched[20:24, 10:50] = 255.0
    >>> model.predict([images[11], scratched])
    array([ 1, -1])
    """

    def __init__(
        self,
        features: Any = "auto",
        *,
        centers: int = 2_000,
        false_alarms: float = 0.05,
        random_state: Any = 0,
    ) -> None:
        self.features = features
        self.centers = centers
        self.false_alarms = false_alarms
        self.random_state = random_state

    def fit(self, images: Any, y: None = None, *, progress: bool = False) -> ImageDetector:  # noqa: ARG002
        """Learn what normal images look like.

        Parameters
        ----------
        images : sequence of arrays, or an array
            Images (H, W) or (H, W, C). A sequence may read its images when asked for them: it is gone through
            twice, and of many images only some are used, drawn at random.
        y : None
            Ignored; part of scikit-learn's interface.
        progress : bool, default False
            Show a progress bar on standard error.
        """
        self._check_parameters()
        random = check_random_state(self.random_state)
        given = as_sequence(images)
        self.__dict__.pop("views_", None)  # an interrupted fit must not leave a model that looks fitted
        chosen = np.sort(random.permutation(len(given))[:_MOST_IMAGES])
        first = np.asarray(given[int(chosen[0])])
        self.n_channels_ = values_of(first, f"Image {chosen[0]}").shape[-1]
        self.pixel_unit_ = pixel_unit([first])
        self.folds_: dict[str, int] = {}
        self.n_images_, self.n_learned_ = len(given), len(chosen)
        total = 2 * len(chosen)
        with progress_bar(total, "Learning normal images") if progress else nullcontext(_unheard) as report:
            views, pictures = self._draw(self._training(given, chosen, report, 0), len(chosen), random)
            views = self._calibrated(views, self._training(given, chosen, report, len(chosen)))
        self.pictures_ = pictures
        self.is_aligned_ = any(view.calibration.has_places for view in views)
        self.views_ = tuple(views)
        return self

    def outlierness(self, images: Any) -> Doubles:
        """How odd each image is (n,): 1 is usual."""
        return np.array([self.score_map(image)[0] for image in self._read(images)])

    def score_samples(self, images: Any) -> Doubles:
        """-O (n,): high for normal images, as in scikit-learn."""
        return -self.outlierness(images)

    def decision_function(self, images: Any) -> Doubles:
        """Threshold minus O (n,): negative for odd images."""
        return self._known_threshold() - self.outlierness(images)

    def predict(self, images: Any) -> NDArray[np.int64]:
        """-1 for odd images, +1 for all others (n,)."""
        return np.where(self.decision_function(images) < 0.0, -1, 1)

    def p_values(self, outlierness: Any) -> Doubles | None:
        """Share of normal images at least as odd (n,); None if too few were learned to know."""
        return None if self.distribution_ is None else self.distribution_.p_values(outlierness)

    def score_map(self, image: Any) -> tuple[float, Doubles]:
        """Outlierness of one image, and the score of each place (h, w): 1 is the oddest of a usual image."""
        check_is_fitted(self, "views_")
        place = self.folds_.get(fingerprint(image))
        scores = self._view_scores(self._distances(self.views_, self._pixels(image), place))
        return _outlierness(scores), np.mean(scores, axis=0) / self.usual_place_

    def explain(
        self, images: Any, *, names: Sequence[str] | None = None, progress: bool = False
    ) -> ImageExplanation:
        """Relevance of every pixel, scores of places, odd regions: Σ over pixels = outlierness.

        Parameters
        ----------
        images : sequence of arrays, or an array
            As in ``fit``. A training image is judged by what was learned from the others.
        names : sequence of str, optional
            What to call the images.
        progress : bool, default False
            Show a progress bar on standard error.
        """
        check_is_fitted(self, "views_")
        given = as_sequence(images)
        ids = checked_ids(names, len(given), IMAGES)
        with progress_bar(len(given), "Explaining images") if progress else nullcontext(_unheard) as report:
            parts = []
            for i in range(len(given)):
                parts.append(self._explained(given[i], f"Image {i}"))
                report(i + 1)
        return ImageExplanation.of(parts, self, ids)

    def nearest_place(self, image: Any, row: int, column: int) -> tuple[NDArray[Any], float]:
        """Picture of the normal place most like the one at a pixel, and its distance, in the first view.

        For a training image, it is a place of another image.
        """
        check_is_fitted(self, "views_")
        view = self.views_[0]
        features = view.map(self._pixels(image))
        h, w = features.shape[:2]
        height, width = np.asarray(image).shape[:2]
        at = row * h // height, column * w // width
        fold = self._fold_map(self.folds_.get(fingerprint(image)), (h, w))[at]
        others = np.flatnonzero(view.centers.folds != fold)
        distances = np.linalg.norm(view.centers.values[others] - features[at], axis=1)
        nearest = int(distances.argmin())
        return self.pictures_[others[nearest]], float(distances[nearest])

    # How an image is judged.

    def _explained(self, image: Any, what: str) -> dict[str, Any]:
        """Everything reported about one image."""
        pixels = self._pixels(image, what)
        parts: list[Doubles] = []
        distances = self._distances(self.views_, pixels, self.folds_.get(fingerprint(image)), parts)
        scores = self._view_scores(distances)
        relevance = np.zeros(pixels.shape[:2])
        for view, own, each, of_features in zip(self.views_, distances, scores, parts, strict=True):
            relevance += view.relevance(shared(each) / len(scores), own, of_features, pixels)
        return {
            "data": np.asarray(image),
            "relevance": relevance,
            "outlierness": _outlierness(scores),
            "places": on_grid(np.mean(scores, axis=0) / self.usual_place_, pixels.shape[:2]),
        }

    def _distances(
        self,
        views: Sequence[View],
        pixels: Floats,
        place: int | None,
        parts: list[Doubles] | None = None,
    ) -> list[Doubles]:
        """Distances (h, w) of places to each view; the relevance of their features is added to ``parts``.

        ``place`` is that of the image among those that were learned.
        """
        found = []
        for view in views:
            o, relevance = view.distances(pixels, partial(self._fold_map, place), decompose=parts is not None)
            found.append(o)
            if parts is not None and relevance is not None:
                parts.append(relevance)
        return found

    def _view_scores(self, distances: Sequence[Doubles]) -> list[Doubles]:
        """Scores (h, w) of places to each view, on the finest of their grids."""
        shape = _finest(distances)
        pairs = zip(self.views_, distances, strict=True)
        return [view.calibration.scores(nearby(o, shape)) for view, o in pairs]

    def _fold_map(self, place: int | None, shape: tuple[int, ...]) -> NDArray[np.intp]:
        """(h, w) which fold of training each place of an image is in; -1 for a new image."""
        if place is None:
            return np.full(shape, -1)
        if self.n_learned_ > 1:
            return np.full(shape, place % self._n_folds)
        halves = [np.arange(length) * 2 // max(length, 1) for length in shape]
        return np.asarray(2 * halves[0][:, None] + halves[1])

    @property
    def _n_folds(self) -> int:
        return _QUARTERS if self.n_learned_ == 1 else min(_FOLDS, self.n_learned_)

    # How it is learned.

    def _training(
        self, given: Sequence[Any], chosen: NDArray[np.intp], report: Report, done: int
    ) -> Iterator[Floats]:
        """Pixels of the training images, read one by one; checksums of their numbers recognise them later."""
        for place, i in enumerate(chosen):
            image = given[int(i)]
            self.folds_[fingerprint(image)] = place
            yield self._pixels(image, f"Image {i}")
            report(done + place + 1)

    def _draw(
        self, images: Iterator[Floats], count: int, random: np.random.RandomState
    ) -> tuple[list[View], NDArray[Any]]:
        """Views of places drawn from all images, and pictures of the first view's centers."""
        extractors = self._features()
        each = -(-_MOST_PLACES // count)
        drawn: list[list[Drawn]] = [[] for _ in extractors]
        pictures: list[NDArray[Any]] = []
        for place, pixels in enumerate(images):
            for found, features in zip(drawn, extractors, strict=True):
                values = features(pixels)
                h, w = values.shape[:2]
                chosen = np.sort(random.permutation(h * w)[:each])
                folds = self._fold_map(place, (h, w)).ravel()[chosen]
                where = middles(chosen, (h, w), pixels.shape[:2])
                of_places = values.reshape(h * w, -1)[chosen]
                found.append(Drawn(of_places, np.full(chosen.size, place), folds, where))
            pictures.append(cut(pixels, drawn[0][-1].middles))
        made = [
            View.of(features, Drawn.joined(parts), self.centers, random)
            for features, parts in zip(extractors, drawn, strict=True)
        ]
        return [view for view, _ in made], np.concatenate(pictures)[made[0][1]]

    def _calibrated(self, views: Sequence[View], images: Iterator[Floats]) -> list[View]:
        """The views, calibrated on places that were not learned; sets the usual score of an image."""
        straight: list[list[Floats]] = [[] for _ in views]
        turned: list[list[Floats]] = [[] for _ in views]
        for place, pixels in enumerate(images):
            folds = partial(self._fold_map, place)
            found = [view.one_way(pixels, folds)[0] for view in views]
            shape = _finest(found)
            for view, o, maps, others in zip(views, found, straight, turned, strict=True):
                maps.append(nearby(o, shape).astype(np.float32))  # half the memory
                if not view.is_even:
                    other = view.one_way(pixels, folds, is_turned=True)[0]
                    others.append(nearby(other, shape).astype(np.float32))
        turns = [looks_the_same(*ways) for ways in zip(straight, turned, strict=True)]
        raw = [
            [(o + other) / 2.0 for o, other in zip(maps, others, strict=True)] if turn else maps
            for maps, others, turn in zip(straight, turned, turns, strict=True)
        ]
        usual = [Calibration.of(maps) for maps in raw]
        self._set_levels(
            [one.scores(o) for one, o in zip(usual, each, strict=True)] for each in zip(*raw, strict=True)
        )
        known = zip(views, usual, turns, strict=True)
        return [replace(view, calibration=one, is_turned=turn) for view, one, turn in known]

    def _set_levels(self, images: Iterator[list[Doubles]]) -> None:
        """The usual score of an image and of a place, from each view's scores of other folds' images."""
        outlierness: list[float] = []
        largest: list[float] = []
        few: list[Doubles] = []  # places of the first images
        for scores in images:
            places = np.mean(scores, axis=0)
            outlierness.append(_outlierness(scores))
            largest.append(float(places.max()))
            if len(few) < _LEAST_FOR_RARITY:
                few.append(places.ravel())
        self.usual_place_ = max(float(np.median(largest)), np.finfo(np.float64).tiny)
        self.distribution_ = self.threshold_ = None
        known, share = np.concatenate(few), 1.0 / (_LEAST_FOR_RARITY * few[0].size)
        if len(outlierness) >= _LEAST_FOR_RARITY:
            self.distribution_ = ScoreDistribution(np.array(outlierness))
            self.threshold_ = self.distribution_.threshold(self.false_alarms)
            known, share = np.array(largest), _PLACE_ALARMS
        self.place_threshold_ = ScoreDistribution(known / self.usual_place_).threshold(share)

    def _features(self) -> list[Features]:
        if isinstance(self.features, str) and self.features == "auto":
            names: list[Any] = ["contrast", "deep"] if has_deep() else ["contrast"]
        else:
            names = list(self.features) if isinstance(self.features, (list, tuple)) else [self.features]
        found = [as_features(name) for name in names]
        if not found or any(one is None for one in found):
            raise ValueError(
                f"features={self.features!r}: expected 'auto', 'contrast', 'deep', or a network."
            )
        return [one for one in found if one is not None]

    def _check_parameters(self) -> None:
        if not isinstance(self.centers, int) or isinstance(self.centers, bool) or self.centers < 2:
            raise ValueError(f"centers={self.centers!r}: expected a whole number of places of at least 2.")
        if not 0.0 < self.false_alarms <= 0.5:
            raise ValueError(
                f"false_alarms={self.false_alarms!r}: expected a share of normal images, above 0 and at most "
                "0.5."
            )

    def _known_threshold(self) -> float:
        check_is_fitted(self, "views_")
        if self.threshold_ is None:
            raise ValueError(
                f"The model learned from {self.n_learned_} normal images, expected at least "
                f"{_LEAST_FOR_RARITY} to decide which images are odd. Rank them by outlierness, or learn "
                "from more."
            )
        return self.threshold_

    def _read(self, images: Any) -> Iterator[NDArray[Any]]:
        check_is_fitted(self, "views_")
        given = as_sequence(images)
        return (given[i] for i in range(len(given)))

    def _pixels(self, image: Any, what: str = "The image") -> Floats:
        """Pixels (H, W, C) from 0 to 255, with the channels of the fit."""
        values = values_of(image, what)
        if values.shape[-1] != self.n_channels_:
            raise ValueError(
                f"{what} has {values.shape[-1]} channel(s), the model was fitted on {self.n_channels_}. "
                "Pass images with the same channels."
            )
        # White is known from the type for whole numbers; for floats it is that of the fit.
        given = np.asarray(image)
        unit = self.pixel_unit_ if given.dtype.kind == "f" else pixel_unit([given])
        return np.asarray(values * unit, dtype=np.float32)


def _finest(maps: Sequence[Doubles]) -> tuple[int, ...]:
    """Shape of the finest of some grids over one image."""
    return max((one.shape for one in maps), key=lambda shape: shape[0] * shape[1])


def _outlierness(scores: Sequence[Doubles]) -> float:
    """Mean over views of their pooled scores."""
    return float(np.mean([pooled(each) for each in scores]))


def _unheard(done: int) -> None:
    """Report no progress."""
