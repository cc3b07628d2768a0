"""Which models are explained, and how: one table of the registries, for people, errors and tests."""

from __future__ import annotations

from typing import NamedTuple

from whyodd.adapters.class_paths import public_path
from whyodd.adapters.refusals import REFUSALS
from whyodd.adapters.registry import ADAPTERS, COVARIANCES, DISTANCES, NEIGHBORS, SUBSPACES, Family
from whyodd.models.registry import MODELS

DISTILLED, CANNOT = "distilled", "cannot"
_MANY_CALLS = "thousands of calls' worth of rows"
_CONSERVED_BY_STUDENTS = "R of the student, and what it misses, add up to o"

# The models of the package, by their names in MODELS: the meaning of o, and the cost of explaining.
OWN: dict[str, tuple[str, Family]] = {
    "committee": ("how many times as odd as a usual row", NEIGHBORS),
    "exemplar_mixture": ("-log similarity to the training rows", DISTANCES),
    "gaussian": ("half the squared Mahalanobis distance", COVARIANCES),
    "gaussian_mixture": ("-log density over its largest value", COVARIANCES),
    "k_nearest_neighbors": ("distance to the k nearest training rows", NEIGHBORS),
    "kernel_pca": ("error of the reconstruction in feature space", SUBSPACES),
    "kernel_density": ("-log density over its largest value", DISTANCES),
    "local_outlier_factor": ("local outlier factor", NEIGHBORS),
    "one_class_svm": ("-log similarity to the support vectors", DISTANCES),
    "svdd": ("-log similarity to the support vectors", DISTANCES),
}

# Detectors explained by their scores alone, by class path, and why nothing more is known about them.
BLACK_BOXES: dict[str, str] = {
    "pyod.models.abod.ABOD": "a variance of angles does not split into a sum over variables",
    "pyod.models.alad.ALAD": "a difference inside an adversarial network",
    "pyod.models.anogan.AnoGAN": "a difference from a generated row, inside an adversarial network",
    "pyod.models.devnet.DevNet": "a network trained on labels",
    "pyod.models.dif.DIF": "trees on random network features of a row",
    "pyod.models.hdbscan.HDBSCAN": "an average of scores of neighbours, whatever their distance",
    "pyod.models.mo_gaal.MO_GAAL": "the discriminator of an adversarial network",
    "pyod.models.qmcd.QMCD": "products over variables, summed over all rows",
    "pyod.models.so_gaal.SO_GAAL": "the discriminator of an adversarial network",
    "pyod.models.so_gaal_new.SO_GAAL": "the discriminator of an adversarial network",
    "pyod.models.xgbod.XGBOD": "boosted trees trained on labels",
}


class Entry(NamedTuple):
    """One class of models, and how it is explained.

    Attributes
    ----------
    model : str
        Where people import it from.
    explains : str
        What o is; of a model that is not explained, why not.
    exactness : str
        "exact", "sampled", "distilled", or "cannot".
    cost : str
        What explaining a row takes.
    conserves : str
        What adds up to what.
    """

    model: str
    explains: str
    exactness: str
    cost: str = ""
    conserves: str = ""


def catalogue() -> list[Entry]:
    """All models known by name, sorted by name; then any function.

    Examples
    --------
    >>> from whyodd.adapters.catalogue import catalogue
    >>> known = {entry.model: entry for entry in catalogue()}
    >>> known["pyod.models.knn.KNN"].exactness, known["pyod.models.knn.KNN"].explains
    ('exact', 'distance to the k nearest training rows')
    """
    exact = {path: _exact(path, one.explains, one.family) for path, one in ADAPTERS.items() if one.is_kept}
    own = {
        f"whyodd.{MODELS[name].__name__}": _exact(f"whyodd.{MODELS[name].__name__}", *of)
        for name, of in OWN.items()
    }
    distilled = {
        path: Entry(
            public_path(path), f"its own score ({why})", DISTILLED, _MANY_CALLS, _CONSERVED_BY_STUDENTS
        )
        for path, why in BLACK_BOXES.items()
    }
    refused = {path: Entry(public_path(path), why, CANNOT) for path, why in REFUSALS.items()}
    anything = Entry(
        "any function of rows, any other fitted detector",
        "what it returns",
        "distilled, or sampled where a student knows little",
        _MANY_CALLS,
        _CONSERVED_BY_STUDENTS,
    )
    return [entry for _, entry in sorted((exact | own | distilled | refused).items())] + [anything]


def as_markdown() -> str:
    """The table for the documentation."""
    lines = [
        "| model | what is explained | exactness | cost of a row | what is conserved |",
        "| --- " * 5 + "|",
    ]
    lines += [
        f"| {_code(e.model)} | {e.explains} | {e.exactness} | {e.cost or '-'} | {e.conserves or '-'} |"
        for e in catalogue()
    ]
    return "\n".join(lines) + "\n"


def _code(model: str) -> str:
    return model if " " in model else f"`{model}`"


def _exact(path: str, explains: str, family: Family) -> Entry:
    return Entry(public_path(path), explains, family.exactness, family.cost, family.conserves)
