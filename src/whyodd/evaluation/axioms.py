"""Is a score a measure of outlierness? The axioms of the paper (Definition 2), tested numerically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.neuralize import UnsupportedModelError, neuralize
from whyodd.adapters.pipelines import split_pipeline
from whyodd.compute.points import to_dense
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DIRECTIONS = 64
# Far away, in extents of the data: there the data themselves are a millionth of the distance.
_FAR = 1e6
# Degree and slope are accurate to this; convergence at the distance above is far better.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class OutliernessCheck:
    """Result of :func:`check_outlierness`; true if the score is a measure of outlierness.

    Attributes
    ----------
    lowest : float
        Smallest score seen; the first axiom requires at least 0.
    degrees : ndarray of shape (directions,)
        q with o(tx) ~ t^q, estimated along each direction; the second axiom requires one q ≥ 1.
    slopes : ndarray of shape (directions,)
        o(tx) / ‖tx‖^q far away along each direction; the second axiom requires one c > 0.
    violations : tuple of str
        What does not hold, in words; empty if everything holds.
    """

    lowest: float
    degrees: Floats
    slopes: Floats
    violations: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.violations

    def __str__(self) -> str:
        if self:
            slope = float(np.median(self.slopes))
            return f"a measure of outlierness: o(x) ~ {slope:.3g} ‖x‖^{self.degree:.3g} far away"
        return f"not a measure of outlierness: {'; '.join(self.violations)}"

    @property
    def degree(self) -> float:
        """q, the median over the directions."""
        return float(np.median(self.degrees))


def check_outlierness(model: Any) -> OutliernessCheck:
    """Check whether a score is a measure of outlierness: o ≥ 0, and o(tx)/‖tx‖^q → c in every direction.

    Both are tested on rays in random directions and along the axes. A covariance learned from the data fails:
    it replaces the metric of the input space by its own, so c depends on the direction (Kauffmann, Müller and
    Montavon, Definition 2 and the remark below it). Such a model can still be explained.

    Parameters
    ----------
    model : fitted model or DistanceNetwork
        For a distance network its outlierness is checked, for any other model its own score, and for a
        pipeline that of the last step, in the space that this step sees.

    Returns
    -------
    OutliernessCheck
        True or false, and why.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) * [1, 3]
    >>> print(whyodd.check_outlierness(whyodd.OneClassSVM(sigma="median").fit(X)))
    a measure of outlierness: o(x) ~ 0.0478 ‖x‖^2 far away
    >>> print(whyodd.check_outlierness(whyodd.Gaussian().fit(X)))
    not a measure of outlierness: far away it grows up to ... times as fast in one direction as in another
    """
    score, origin, extent = _score_of(model)
    rays = _rays(origin.size)
    with np.errstate(over="ignore", invalid="ignore"):
        near = score(origin + extent * np.vstack([np.zeros(origin.size), rays]))
        far, farther = (score(origin + distance * rays) for distance in (_FAR * extent, 2.0 * _FAR * extent))
        degrees = np.log2(farther / far)
        slopes = far / (_FAR * extent) ** np.median(degrees)
    lowest = float(min(near.min(), far.min()))
    return OutliernessCheck(lowest, degrees, slopes, tuple(_violations(lowest, degrees, slopes)))


def _violations(lowest: float, degrees: Floats, slopes: Floats) -> list[str]:
    found = []
    if not lowest >= 0.0:
        found.append(f"it goes below 0, to {lowest:.3g}")
    q = float(np.median(degrees))
    if not np.isfinite(degrees).all() or q < _TOLERANCE:
        return [*found, "it does not grow with the distance"]
    if np.abs(degrees - q).max() > _TOLERANCE * q:
        found.append(
            f"it grows like ‖x‖^{degrees.min():.3g} in one direction, ‖x‖^{degrees.max():.3g} in another"
        )
    elif q < 1.0 - _TOLERANCE:
        found.append(f"it grows like ‖x‖^{q:.3g}, less than the distance itself")
    elif slopes.max() > (1.0 + _TOLERANCE) * slopes.min():
        ratio = slopes.max() / slopes.min()
        found.append(f"far away it grows up to {ratio:.3g} times as fast in one direction as in another")
    return found


def _rays(d: int) -> Floats:
    """Unit vectors (directions, d): random ones, and up to as many axes, both ways."""
    random = np.random.default_rng(0).normal(size=(_DIRECTIONS, d))
    axes = np.eye(d)[: _DIRECTIONS // 2]
    return np.vstack([random / np.linalg.norm(random, axis=1, keepdims=True), axes, -axes])


def _score_of(model: Any) -> tuple[Callable[[Floats], Floats], Floats, float]:
    """A score, high for odd points, with the center and the extent of the data."""
    _, model = split_pipeline(model)
    try:
        network = neuralize(model)
    except UnsupportedModelError:
        return _own_score(model), np.zeros(_n_features(model)), 1.0
    if not offers(network, "distances"):
        score = network.outlierness if network is model else _own_score(model)
        return score, np.zeros(_n_features(model)), 1.0
    points = to_dense(network.centers).astype(np.float64)
    origin = points.mean(axis=0)
    extent = float(np.abs(points - origin).max())
    return network.outlierness, origin, max(extent, network.kernel.sigma)


def _own_score(model: Any) -> Callable[[Floats], Floats]:
    if type(model).__module__.startswith("pyod."):
        return lambda X: np.asarray(model.decision_function(X), dtype=np.float64)
    for name in ("score_samples", "decision_function"):
        if hasattr(model, name):
            own = getattr(model, name)
            return lambda X: -np.asarray(own(X), dtype=np.float64)
    raise UnsupportedModelError(
        f"{type(model).__name__} has neither score_samples nor decision_function. Pass a fitted outlier "
        "detector."
    )


def _n_features(model: Any) -> int:
    # Many models of PyOD wrap one that knows its center.
    for fitted in (model, getattr(model, "detector_", model)):
        if hasattr(fitted, "n_features_in_"):
            return int(fitted.n_features_in_)
    raise UnsupportedModelError(
        f"{type(model).__name__} has no n_features_in_, so the number of columns it was fitted on "
        "is unknown. Fit it again."
    )
