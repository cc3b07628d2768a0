"""scikit-learn's names for kernels and bandwidths, translated to those of this package."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel
    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.models.fitting.merging import MergedRows

# Default of sigma if it has another name.
_NO_SIGMA = {"bandwidth": "likelihood", "gamma": "nn"}
_SAME_KERNELS = {"rbf": "gaussian"}
_ENDS = "is 0 beyond its bandwidth, where there is no outlierness to explain"
_NO_DISTANCE = "does not depend on the distance between two rows alone"
# Kernels of scikit-learn without a counterpart here, and why.
_OTHER_KERNELS = {
    "cosine": _ENDS,
    "epanechnikov": _ENDS,
    "linear": f"{_NO_DISTANCE}, or {_ENDS}",  # that of a support vector machine, or of a density
    "poly": _NO_DISTANCE,
    "precomputed": "needs similarities instead of rows, which leaves no columns to explain",
    "sigmoid": _NO_DISTANCE,
    "tophat": _ENDS,
}


def own_kernel(kernel: str | Kernel) -> str | Kernel:
    """Our own name of a kernel: "gaussian" for "rbf"; an error for one that cannot be explained."""
    if not isinstance(kernel, str):
        return kernel
    if kernel in _OTHER_KERNELS:
        raise ValueError(
            f"kernel={kernel!r} of scikit-learn {_OTHER_KERNELS[kernel]}. Use kernel='gaussian', which it "
            "also calls 'rbf', or 'laplacian'."
        )
    return _SAME_KERNELS.get(kernel, kernel)


def sigma_of_gamma(gamma: float | str | None, sigma: SigmaRule, kernel: str | Kernel) -> SigmaRule:
    """Bandwidth σ = 1/√(2γ) of the kernel exp(-γ d²), or its rule; ``sigma`` if there is no gamma.

    Parameters
    ----------
    gamma : float, {"scale", "auto"} or None
        As scikit-learn has it: "scale" is 1 / (d var(X)), "auto" 1/d.
    sigma : float, str or callable
        What came as sigma.
    kernel : str or Kernel
        Gamma is that of the Gaussian kernel.
    """
    if gamma is None:
        return sigma
    _check_only_one("gamma", gamma, sigma)
    if own_kernel(kernel) != "gaussian":
        raise ValueError(
            f"gamma={gamma!r} belongs to the Gaussian kernel, exp(-gamma d²), got kernel={kernel!r}. Pass a "
            "bandwidth as sigma, or kernel='gaussian'."
        )
    if isinstance(gamma, str) and gamma in _GAMMAS:
        return _GAMMAS[gamma]
    if not _is_positive(gamma):
        raise ValueError(f"gamma={gamma!r}: expected a positive number, 'scale' or 'auto'.")
    return math.sqrt(0.5 / float(gamma))


def _auto_sigma(X: Points) -> float:
    return math.sqrt(0.5 * X.shape[1])


_GAMMAS: dict[str, SigmaRule] = {"auto": _auto_sigma, "scale": "scale"}


def sigma_of_bandwidth(
    bandwidth: float | str | None, sigma: SigmaRule, kernel: str | Kernel, q: float | None, merged: MergedRows
) -> SigmaRule:
    """The parameter ``bandwidth``, which is σ for all kernels; ``sigma`` if it is not given.

    Parameters
    ----------
    bandwidth : float, {"scott", "silverman"} or None
        As scikit-learn has it: Scott's is n^(-1/(d + 4)), Silverman's (n (d + 2)/4)^(-1/(d + 4)).
    sigma : float, str or callable
        What came as sigma.
    kernel, q : str or Kernel, float or None
        "exponential" needs a degree here: what it is without one, scikit-learn thinks otherwise of.
    merged : MergedRows
        The training rows.
    """
    if bandwidth is None:
        return sigma
    _check_only_one("bandwidth", bandwidth, sigma)
    if kernel == "exponential" and q is None:
        raise ValueError(
            f"kernel='exponential' with bandwidth={bandwidth!r}: scikit-learn's kernel exp(-d/h) is "
            "'laplacian' here, and 'exponential' is exp(-d^q / (q h^q)). Use kernel='laplacian', or pass q."
        )
    is_object = not isinstance(kernel, str)
    if is_object:
        raise ValueError(
            f"kernel={kernel!r} has its own bandwidth, got bandwidth={bandwidth!r}. Leave the bandwidth out."
        )
    if isinstance(bandwidth, str) and bandwidth in _BANDWIDTHS:
        n = merged.rows.shape[0] if merged.weights is None else float(merged.weights.sum())
        return _BANDWIDTHS[bandwidth](n, merged.rows.shape[1])
    if not _is_positive(bandwidth):
        raise ValueError(
            f"bandwidth={bandwidth!r}: expected a positive number, 'scott' or 'silverman'. Pass other rules "
            "as sigma."
        )
    return float(bandwidth)


# For n rows with d variables, whatever their values.
_BANDWIDTHS: dict[str, Callable[[float, int], float]] = {
    "scott": lambda n, d: n ** (-1.0 / (d + 4)),
    "silverman": lambda n, d: (0.25 * n * (d + 2)) ** (-1.0 / (d + 4)),
}


def _check_only_one(name: str, value: Any, sigma: SigmaRule) -> None:
    if sigma != _NO_SIGMA[name]:
        raise ValueError(
            f"Expected either {name} or sigma, got {name}={value!r} and sigma={sigma!r}. Leave one out."
        )


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < math.inf
