"""One-class models on the patches of images and series: O = Σ_t o_t, and the relevance of every pixel."""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.compute.work import Work
from whyodd.explainers.registry import find_method
from whyodd.explanations.base import IMAGES, SERIES, checked_ids
from whyodd.io.defaults import with_defaults
from whyodd.models.fitting.thresholds import usual_threshold
from whyodd.patches.explanation import PatchExplanation
from whyodd.patches.features import as_features
from whyodd.patches.features.given import pixel_unit
from whyodd.patches.grid import BORDERS
from whyodd.patches.items import as_items
from whyodd.patches.methods import scale_explainer
from whyodd.patches.scale import View
from whyodd.patches.training import balanced, fit_scale, usual_levels
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from whyodd.patches.items import Item
    from whyodd.patches.scale import Folded
    from whyodd.patches.strangest import StrangePatch

    Floats = NDArray[np.floating]
    ExcludeSelf = Literal["auto"] | bool
    Sizes = tuple[int, ...]

_LEAST_PATCHES = 2


class PatchModel(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # untyped base
    """One-class model on patches: O = Σ_t o_t over all windows t, relevance folded back onto pixels.

    Parameters
    ----------
    model : outlier detector
        One of the package, or any that :func:`whyodd.neuralize` takes; fitted to patches (n, patch · C).
    patch : tuple of int or list of tuples, optional
        (h, w) for images, (w,) for series. Several sizes are trained separately, and their outlierness is
        added up. (7, 7) by default; (1, 1) with ``features``, where sizes count places of the feature map:
        each place has seen its surroundings.
    stride : int, default 1
        Steps between windows.
    border : {"valid", "reflect", "edge", "zero"}, default "valid"
        Whether windows stay inside, or look at a padded item: relevance on padding goes to the pixel that it
        copies, or is unexplained if it copies none ("zero").
    max_patches : int, default 30,000
        Patches to train on, drawn at random over all items without computing all of them.
    tolerance : float, default 1e-6
        Share of each window's soft assignment that may be discarded, where few centers then count; 0 for
        exact results.
    random_state : int, RandomState or None, default None
        Seed for drawing patches.
    scale : int or list of int, default 1
        Windows look at means over blocks with sides of this many pixels. A list goes with a list of patches,
        or looks with one patch at several scales.
    standardize : bool, default False
        Divide each channel by its standard deviation in training: for channels in different units.
    prepare : callable, optional
        Applied to each item (*shape, C) before everything else; must keep the shape. ``local_contrast`` of
        ``whyodd.patches`` removes changes of light. Relevance is that of what it returns, pixel by pixel.
    features : str, path, callable, torch module or Features, optional
        What windows look at in place of pixels: "deep" for a pretrained network
        (:class:`~whyodd.patches.features.DeepFeatures`), an ONNX file or torch module that maps an image (1,
        C, H, W) to features (1, F, h, w), or a function of an image (H, W, C) that returns (h, w, F). They
        receive pixels from 0 to 255: floats from 0 to 1 and 16-bit values are converted. Relevance is exact
        for places and features; ``features_.told`` says how it gets from there to pixels.
    coreset : int, optional
        Number of drawn patches to keep, chosen far apart. ``radius`` of each of the ``scales_`` bounds the
        effect on the distance to the nearest normal patch.

    Attributes
    ----------
    scales_ : tuple of Scale
        For each patch size: the fitted model, its network, and the weight of its windows. Several are
        weighted so that each has the same mean outlierness per pixel in training; the first counts 1.
    channels_ : tuple of str
        Names of the channels.
    threshold_ : float
        Mean outlierness per window above which an item is an outlier. It is per window, since O grows with
        the size of an item: a tenth of the training items (the oddest of fewer than ten) reach it, each
        without its own patches, estimated from up to 64 windows of up to 64 items. ``explain`` ranks by O.
    offset_ : float
        -``threshold_``, as in scikit-learn.
    features_ : Features or None
        What maps images to features.

    Notes
    -----
    Kauffmann, Müller and Montavon, section "Extension for Sequential Data". Windows of a series that hold a
    gap (NaN), or a jump in time, are left out.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> stripes = np.tile([0.0, 0.0, 9.0, 9.0], (32, 8))
    >>> noise = np.random.default_rng(0).normal(size=(3, 32, 32))
    >>> model = whyodd.PatchModel(whyodd.OneClassSVM(sigma="median"), patch=(5, 5), random_state=0)
    >>> scratched = stripes + noise[2]
    >>> scratched[10:13, 8:20] = 20.0
    >>> e = model.fit(stripes + noise[:2]).explain(scratched)
    >>> row, column = np.unravel_index(e.heatmap(0).argmax(), (32, 32))
    >>> bool(10 <= row < 13 and 8 <= column < 20)
    True
    """

    def __init__(
        self,
        model: Any,
        patch: Sizes | list[Sizes] | None = None,
        stride: int = 1,
        border: str = "valid",
        max_patches: int = 30_000,
        tolerance: float = 1e-6,
        random_state: Any = None,
        *,
        scale: int | list[int] = 1,
        standardize: bool = False,
        prepare: Callable[[Floats], Floats] | None = None,
        features: Any = None,
        coreset: int | None = None,
    ) -> None:
        self.model = model
        self.patch = patch
        self.stride = stride
        self.border = border
        self.max_patches = max_patches
        self.tolerance = tolerance
        self.random_state = random_state
        self.scale = scale
        self.standardize = standardize
        self.prepare = prepare
        self.features = features
        self.coreset = coreset

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Files of earlier versions have no features, and do not know the shapes of their items.
        later = {"features_": None, "n_features_": None, "pixel_unit_": 1.0, "shapes_": ()}
        known = with_defaults(type(self), later if "scales_" in state else {})
        super().__setstate__(state | {name: known[name] for name in known.keys() - state.keys()})

    def fit(self, items: Any, y: None = None, *, time: str | None = None) -> PatchModel:  # noqa: ARG002
        """Fit to patches of (mostly) normal images or series.

        Parameters
        ----------
        items : array, data frame, or list of them
            Images (H, W) or (H, W, C): one, a batch, or a list of different sizes. Series (T,) or (T, C), or
            data frames with a row per time step.
        y : None
            Ignored; part of scikit-learn's interface.
        time : str, optional
            Column of data frames that holds the time; the only column of dates by default.
        """
        views = self._views()
        self._check_parameters()
        random = check_random_state(self.random_state)
        given = as_items(items, self._axes, time)
        # An interrupted fit must not leave a model that looks fitted.
        self.__dict__.pop("scales_", None)
        self.channels_ = _same_channels(given)
        self.is_named_, self.time_ = given[0].is_named, time
        self.units_ = _units(given) if self.standardize else None
        self.features_, self.n_features_ = as_features(self.features), None
        self.pixel_unit_ = 1.0 if self.features_ is None else pixel_unit([item.given for item in given])
        values = [self.prepared(item) for item in given]
        scales = [
            fit_scale(clone(self.model), view, values, self.max_patches, random, self.coreset)
            for view in views
        ]
        self.shapes_ = tuple(
            (item.values.shape[:-1], seen.shape[:-1]) for item, seen in zip(given, values, strict=True)
        )
        self.fingerprints_ = {item.fingerprint: i for i, item in enumerate(given)}
        balanced_scales = balanced(scales)
        levels = usual_levels(balanced_scales, values)
        self.threshold_ = (
            usual_threshold(levels[np.isfinite(levels)]) if np.isfinite(levels).any() else np.inf
        )
        self.offset_ = -self.threshold_
        self.scales_ = balanced_scales
        return self

    def outlierness(self, items: Any, *, exclude_self: ExcludeSelf = "auto") -> NDArray[np.float64]:
        """O = Σ_t o_t of each item (n,), over all windows and scales."""
        given = self.read_items(items)
        return np.array([sum(map(np.nansum, self._score_maps(item, exclude_self))) for item in given])

    def score_samples(self, items: Any) -> NDArray[np.float64]:
        """Minus the mean outlierness per window (n,): high for normal items, whatever their size."""
        maps = [self._score_maps(item, "auto") for item in self.read_items(items)]
        sums = np.array([sum(map(np.nansum, scores)) for scores in maps])
        counts = np.array([sum(int(np.isfinite(scores).sum()) for scores in each) for each in maps])
        return np.asarray(-sums / np.maximum(counts, 1))

    def decision_function(self, items: Any) -> NDArray[np.float64]:
        """Threshold minus the mean outlierness per window (n,): negative for outliers."""
        return self.score_samples(items) - self.offset_

    def predict(self, items: Any) -> NDArray[np.int64]:
        """-1 for outliers, +1 for all others (n,)."""
        return np.where(self.decision_function(items) < 0.0, -1, 1)

    def score_map(self, item: Any, *, exclude_self: ExcludeSelf = "auto") -> Any:
        """Outlierness o_t of every window of one item, (windows along each axis); a list if several scales.

        NaN where a window holds a gap.
        """
        given = self.read_items(item)
        if len(given) != 1:
            raise ValueError(f"score_map expected one item, got {len(given)}. Call it for each.")
        maps = self._score_maps(given[0], exclude_self)
        return maps if len(maps) > 1 else maps[0]

    def explain(
        self,
        items: Any,
        *,
        method: str = "dtd",
        exclude_self: ExcludeSelf = "auto",
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        names: Sequence[str] | None = None,
        time: str | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
    ) -> PatchExplanation:
        """Relevance of every pixel and channel, or time step and channel: Σ + unexplained = O.

        Parameters
        ----------
        items : array, data frame, or list of them
            As in ``fit``.
        method : str, default "dtd"
            One of ``whyodd.explainers.EXPLAINERS``: window by window and folded back, or on the item as a
            whole.
        exclude_self : {"auto", True, False}, default "auto"
            A training patch is a center of the model and would explain itself away. "auto" leaves it out if
            an item is one of the training items; True insists that all items are; False never leaves it out.
        options : dict, optional
            Keywords of the method.
        random_state : int, optional
            Seed of what a method draws at random.
        names : sequence of str, optional
            What to call the items, such as file names.
        time : str, optional
            Column of data frames that holds the time; the only column of dates by default.
        progress : bool, default False
            Show a progress bar with the time left, on standard error.
        n_jobs : int, optional
            Threads; all cores if None.
        """
        explain_scale = scale_explainer(self, method, options, random_state, n_jobs)
        given = self.read_items(items, time)
        ids = checked_ids(names, len(given), IMAGES if self._axes == 2 else SERIES)
        twins = [self.twin_of(item, exclude_self) for item in given]
        is_root = find_method(method).root is not None
        # The number of windows on a map of features is known once it is made.
        by_item = self.features_ is not None
        total = len(given) if by_item else sum(self._count_windows(item) for item in given)
        what = "Explaining images" if by_item else "Explaining windows"
        folded = []
        with progress_bar(total, what) if progress else nullcontext(_unheard) as told:
            report = _unheard if by_item else _adding(told)
            for item, twin in zip(given, twins, strict=True):
                values = self.prepared(item)
                parts = [explain_scale(scale, values, twin, report) for scale in self.scales_]
                folded.append(self._on_pixels(parts, item, is_root) if by_item else parts)
                if by_item:
                    told(len(folded))
        # The explanation stays as it is if this model is fitted again.
        e = PatchExplanation.of(given, folded, copy(self), ids, twins, method)
        if not is_root or by_item:
            return e
        return replace(e, relevance=tuple(root**2 for root in e.relevance))

    def _on_pixels(self, parts: Sequence[Folded], item: Item, is_root: bool) -> list[Folded]:
        """Results of scales on features, with their relevance on pixels, in equal parts on the colours."""
        assert self.features_ is not None
        together = np.sum([part.relevance for part in parts], axis=0)
        on_features = together**2 if is_root else together
        on_pixels = self.features_.spread(on_features, self._image(item))
        colours = item.values.shape[-1]
        first, *others = parts
        heat = np.repeat(on_pixels[..., None] / colours, colours, axis=-1)
        # All scales look at the same features, so the first one's are used.
        return [
            replace(first, relevance=heat),
            *(replace(part, relevance=np.zeros_like(heat)) for part in others),
        ]

    @property
    def _axes(self) -> int:
        patches = self._patches
        return len(patches[0]) if patches else 2

    @property
    def _patches(self) -> list[Any]:
        if self.patch is None:
            return [(7, 7) if self.features is None else (1, 1)]
        return self.patch if isinstance(self.patch, list) else [self.patch]

    def _views(self) -> list[View]:
        """One scale for each patch size and reduction."""
        patches = self._patches
        sizes = list(self.scale) if isinstance(self.scale, (list, tuple)) else [self.scale]
        for name, values in (("patch", patches), ("scale", sizes)):
            if len(values) == 0:
                raise ValueError(f"{name} is an empty list: expected at least one.")
        count = max(len(patches), len(sizes))
        if {len(patches), len(sizes)} - {1, count}:
            raise ValueError(
                f"Expected as many patches as scales, or one of either, got {len(patches)} patches "
                f"and {len(sizes)} scales."
            )
        pairs = list(zip(patches * (count // len(patches)), sizes * (count // len(sizes)), strict=True))
        for patch, size in pairs:
            _check_sizes(patch, size, patches[0])
        return [View(tuple(map(int, patch)), self.stride, self.border, int(size)) for patch, size in pairs]

    def _check_parameters(self) -> None:
        if isinstance(self.model, Pipeline):
            raise UnsupportedModelError(
                "PatchModel takes a detector, not a pipeline. Pass its last step. Use standardize=True for "
                "channels in different units, and prepare= for other preparation."
            )
        if isinstance(self.model, type) or not hasattr(self.model, "fit"):
            raise TypeError(
                f"model={self.model!r}: expected an outlier detector to fit, such as whyodd.OneClassSVM()."
            )
        if self.border not in BORDERS:
            raise ValueError(f"border={self.border!r}: expected one of {', '.join(map(repr, BORDERS))}.")
        for name, least in (("stride", 1), ("max_patches", _LEAST_PATCHES)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r}: expected a whole number of at least {least}.")
        if self.coreset is not None and (not _is_size(self.coreset) or self.coreset < _LEAST_PATCHES):
            raise ValueError(
                f"coreset={self.coreset!r}: expected None or a whole number of at least {_LEAST_PATCHES}."
            )
        if self.features is not None and self._axes != 2:
            raise ValueError("features= is for images. Leave it out, or pass a patch of two sizes.")
        if self.features is not None and self.standardize:
            raise ValueError(
                "standardize=True is only for raw channels: features have their own scales. Leave it out."
            )
        Work(tolerance=self.tolerance)  # raises an error that says what is wrong

    def read_items(self, items: Any, time: str | None = None) -> list[Item]:
        """Items with the channels of the fit, in that order, or one sentence on what is wrong with them."""
        check_is_fitted(self, "scales_")
        given = as_items(items, self._axes, self.time_ if time is None else time)
        if self.is_named_:  # columns of data frames are found by name; arrays have nothing but an order
            given = [
                item.select(self.channels_, f"Item {i}") if item.is_named else item
                for i, item in enumerate(given)
            ]
        for i, item in enumerate(given):
            if len(item.channels) != len(self.channels_):
                raise ValueError(
                    f"Item {i} has {len(item.channels)} channel(s), the model was fitted on "
                    f"{len(self.channels_)}: {', '.join(self.channels_)}. Pass the channels used in fit."
                )
        return given

    def prepared(self, item: Item) -> Floats:
        """The numbers of an item as the windows see them, before any reduction: (*shape, C), or features."""
        image = self._image(item)
        if self.features_ is None:
            return image
        features = self.features_(image)
        if self.n_features_ is None:  # of the first item of the fit
            self.n_features_ = features.shape[-1]
        if features.shape[-1] != self.n_features_:
            raise ValueError(
                "features= must return the same number of features for every image: expected "
                f"{self.n_features_}, got {features.shape[-1]} for an image of shape {image.shape}."
            )
        return features

    def _image(self, item: Item) -> Floats:
        """The numbers of an item (*shape, C) as windows or features see them."""
        values = item.values
        if self.pixel_unit_ != 1.0:
            values = values * values.dtype.type(self.pixel_unit_)
        if self.units_ is not None:
            values = values / self.units_.astype(values.dtype)
        if self.prepare is None:
            return values
        prepared = np.asarray(self.prepare(values))
        if prepared.shape != values.shape:
            raise ValueError(
                f"prepare must keep the shape of an item, {values.shape}, but returned {prepared.shape}."
            )
        return np.ascontiguousarray(prepared, dtype=np.result_type(prepared, np.float32))

    def in_raw_units(self, window: StrangePatch) -> StrangePatch:
        """A window in the values of the input, unless ``prepare`` has changed them."""
        if self.units_ is None or self.prepare is not None or self.features_ is not None:
            return window
        return replace(window, values=window.values * self.units_, nearest=window.nearest * self.units_)

    def twin_of(self, item: Item, exclude_self: ExcludeSelf) -> int | None:
        """The training item that equals this one, if it is to be left out."""
        if exclude_self not in ("auto", True, False):
            raise ValueError(f"exclude_self={exclude_self!r}: expected 'auto', True or False.")
        twin = self.fingerprints_.get(item.fingerprint) if exclude_self else None
        if twin is None and exclude_self is True:
            raise ValueError(
                "exclude_self=True, but an item is not among those the model was fitted on. Pass those, or "
                "exclude_self=False for new ones."
            )
        return twin

    def _score_maps(self, item: Item, exclude_self: ExcludeSelf) -> list[NDArray[np.float64]]:
        values, twin = self.prepared(item), self.twin_of(item, exclude_self)
        return [scale.score(values, twin, _unheard) for scale in self.scales_]

    def _count_windows(self, item: Item) -> int:
        return sum(len(scale.view.grid(item.values.shape[:-1])) for scale in self.scales_)


def _unheard(done: int) -> None:
    """Report no progress."""


def _adding(report: Callable[[int], None]) -> Callable[[int], None]:
    """A report of how many more are done, from one of how many are done in all."""
    done = 0

    def add(more: int) -> None:
        nonlocal done
        done += more
        report(done)

    return add


def _check_sizes(patch: Any, size: Any, first: Any) -> None:
    is_shape = isinstance(patch, tuple) and len(patch) in (1, 2)
    if not is_shape or not all(map(_is_size, patch)):
        raise ValueError(
            f"patch={patch!r}: expected a tuple of whole numbers, (h, w) for images or (w,) for series."
        )
    if len(patch) != len(first):
        raise ValueError(f"Expected patches all for images or all for series, got {patch!r} with {first!r}.")
    if not _is_size(size):
        raise ValueError(f"scale={size!r}: expected a whole number of pixels of at least 1.")


def _is_size(size: Any) -> bool:
    return isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1


def _same_channels(items: Sequence[Item]) -> tuple[str, ...]:
    kinds = {item.channels for item in items}
    if len(kinds) > 1:
        told = " and ".join(str(list(kind)) for kind in sorted(kinds)[:2])
        raise ValueError(f"Items must have the same channels, but they have {told}.")
    return kinds.pop()


def _units(items: Sequence[Item]) -> NDArray[np.float64]:
    """Standard deviation of each channel over all items; 1 where it does not vary."""
    stacked = np.concatenate([item.values.reshape(-1, item.values.shape[-1]) for item in items])
    spread = np.nanstd(stacked, axis=0, dtype=np.float64)
    return np.where(spread > 0.0, spread, 1.0)
