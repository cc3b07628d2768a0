"""Summary of the flipping curves: areas, standard errors and paired tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from whyodd.evaluation.flipping import area

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.experiments.run import Step

    Floats = NDArray[np.float64]

# Method -> what the paper calls it.
METHODS = {
    "dtd": "DTD",
    "sensitivity": "SA",
    "nearest": "NN",
    "mean": "EV",
    "sobel": "Sobel",
    "random": "Random",
}
OTHERS = tuple(method for method in METHODS if method != "dtd")


_FAMILIES = {"exponential": "exponential", "student": "Student"}


def kernel_name(key: str) -> str:
    """What a kernel is called on the page.

    Examples
    --------
    >>> from whyodd.experiments.cifar.summary import kernel_name
    >>> kernel_name("exponential-q1"), kernel_name("student-q2-literal")
    ('exponential, q = 1', 'Student, q = 2')
    """
    family, degree, *_ = key.split("-")
    return f"{_FAMILIES[family]}, q = {degree[1:]}"


def summarize(measured: Mapping[str, Sequence[Step]]) -> dict[str, Any]:
    """Results of all kernels, by their keys: those of the paper, and Student's with its very formula."""
    kernels = {key: summary_of(steps) for key, steps in measured.items()}
    return {
        "kernels": {key: one for key, one in kernels.items() if not key.endswith("literal")},
        "literal": {key: one for key, one in kernels.items() if key.endswith("literal")},
    }


def summary_of(steps: Sequence[Step]) -> dict[str, Any]:
    """Results of one kernel, from the steps of its images."""
    curves = dict(zip(METHODS, np.concatenate([step["curves"] for step in steps], axis=1), strict=True))
    areas = {method: area(curve) for method, curve in curves.items()}
    first = steps[0]
    return {
        "sigma": first["sigma"],
        "n_support": first["n_support"],
        "n_patches": first["n_patches"],
        "largest_weight_over_mean": first["largest_weight"],
        "violation": first["violation"],
        "n_images": len(areas["dtd"]),
        "unexplained_share": float(np.mean(np.concatenate([step["unexplained"] for step in steps]))),
        "end_over_start": float(np.mean(curves["dtd"][:, -1] / curves["dtd"][:, 0])),
        "area": {method: _mean_and_error(values) for method, values in areas.items()},
        "tests": {method: _paired(areas["dtd"], areas[method]) for method in OTHERS},
        "areas": areas,
        "curves": {method: _mean_and_error(curve / curve[:, :1]) for method, curve in curves.items()},
    }


def _mean_and_error(values: Floats) -> dict[str, Any]:
    """Mean over images, which come first, and its standard error."""
    error = (
        values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1:])
    )
    return {"mean": values.mean(axis=0), "standard_error": error}


def _paired(dtd: Floats, other: Floats) -> dict[str, Any]:
    """Two-sided tests of whether areas differ, image by image, and of how many DTD's is the smaller."""
    differences = dtd - other
    decided = len(dtd) > 1 and bool(differences.any())
    return {
        "mean_difference": float(differences.mean()),
        "smaller": int((differences < 0.0).sum()),
        "wilcoxon_p": float(stats.wilcoxon(dtd, other).pvalue) if decided else 1.0,
        "t_p": float(stats.ttest_rel(dtd, other).pvalue) if decided else 1.0,
    }
