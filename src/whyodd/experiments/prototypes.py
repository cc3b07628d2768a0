"""Pictures in two dimensions: inlierness, outlierness, soft min-pooling, and where relevance flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.experiments.page import OpenPoint, Outcome, Statement, Table
from whyodd.experiments.planes import prototypes_figure
from whyodd.experiments.run import Experiment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whyodd.experiments.data import Source
    from whyodd.experiments.run import Run
    from whyodd.network.distance_network import DistanceNetwork

    Floats = NDArray[np.float64]

_MIDDLES = np.array([(-2.0, -1.0), (1.5, -1.5), (0.5, 1.8)])
_SPREAD = 0.45
# Off to the side, above, off both ways, and between the clusters.
_OUTLIERS = np.array([(4.4, -1.5), (0.5, 4.4), (-4.2, 3.2), (-0.3, -0.4)])
_DIRECTIONS = 8
_FAR = (1e1, 1e2, 1e3, 1e4)
_SLACK = 1e-2  # of the constant at the farthest point: o(tx)/‖tx‖^q differs from it by O(1/t)
FAMILIES = ("exponential", "student")


def load(source: Source) -> None:
    """Nothing: the points are made."""


def perform(run: Run, _: None) -> Outcome:
    """Measure both families on the same points, and draw them."""
    points = _points(run)
    measured = {family: run.step(family, lambda: _plane(run, points, family)) for family in FAMILIES}  # noqa: B023
    slopes = run.step("slopes", lambda: _slopes(run, points))
    picture = run.draw(
        "prototypes",
        prototypes_figure(measured, points, run["reach"]),
        "For a Gaussian and a Student kernel: inlierness, outlierness, and which center has the largest "
        "share p of the soft min-pooling (paler means less). For four outliers, where relevance goes: lines "
        "to centers are as wide as p, arrows show the shares of the two variables, and bars show how o is "
        "made up.",
    )
    results = {
        **{family: _numbers(one) for family, one in measured.items()},
        "slopes": {name: slopes[f"measured-{name}"] for name in slopes["kernels"].tolist()},
        "constants": dict(zip(slopes["kernels"].tolist(), slopes["constants"].tolist(), strict=True)),
        "distances": slopes["distances"],
    }
    return Outcome(
        results=results,
        statements=_statements(measured, slopes),
        choices=_CHOICES,
        pictures=[picture],
        tables=[_slope_table(slopes), _outlier_table(measured)],
    )


def _points(run: Run) -> Floats:
    """Three clusters (n, 2)."""
    random = run.random("points")
    which = np.arange(run["n_points"]) % len(_MIDDLES)
    return np.asarray(_MIDDLES[which] + _SPREAD * random.standard_normal((run["n_points"], 2)))


def _network(run: Run, points: Floats, family: str, q: float) -> DistanceNetwork:
    from whyodd.models.registry import OneClassSVM

    model = OneClassSVM(family, nu=run["nu"], sigma=run["sigma"], q=q, a=run["a"]).fit(points)
    return model.network_


def _plane(run: Run, points: Floats, family: str) -> dict[str, Any]:
    """The drawings of one family, and its numbers."""
    network = _network(run, points, family, run["q"])
    side = np.linspace(-run["reach"], run["reach"], run["grid"])
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    shape = (side.size, side.size)
    p = np.asarray(network.assignment(plane), dtype=np.float64)
    outliers = network.decompose(_OUTLIERS)
    return {
        "centers": np.asarray(network.centers),
        "weights": np.asarray(network.weights),
        "inlierness": network.inlierness(plane).reshape(shape),
        "outlierness": network.outlierness(plane).reshape(shape),
        "nearest": p.argmax(axis=1).reshape(shape),
        "share": p.max(axis=1).reshape(shape),
        "outliers": _OUTLIERS,
        "outlier_p": np.asarray(network.assignment(_OUTLIERS)),
        "outlier_expected": np.asarray(network.expected(_OUTLIERS)),
        "outlier_relevance": outliers.relevance,
        "outlier_unexplained": outliers.unexplained,
        "outlier_o": outliers.outlierness,
        **_laws(network, plane, p),
    }


def _laws(network: DistanceNetwork, plane: Floats, p: Floats) -> dict[str, float]:
    """Largest violations, on the plane, of what the paper proves, relative to the quantities involved."""
    parts, o, i = network.decompose(plane), network.outlierness(plane), network.inlierness(plane)
    on_centers = np.asarray(network.center_relevance(plane)).sum(axis=1)
    on_inputs = np.asarray(parts.relevance).sum(axis=1) + parts.unexplained
    below, above = _pooling_bounds(network, plane)
    return {
        "gap_centers": float(np.max(np.abs(on_centers - o) / o)),
        "gap_inputs": float(np.max(np.abs(on_inputs - o) / o)),
        "gap_inlierness": float(np.max(np.abs(network.inlier_relevance(plane).sum(axis=1) - i) / i)),
        "least_outlierness": float(o.min()),
        "least_relevance": float(np.min(parts.relevance)),
        "largest_inlierness": float(i.max()),
        "outside_pooling_bounds": float(np.mean((o < below - 1e-9 * o) | (o > above + 1e-9 * o))),
        "soft_border": float(np.mean(p.max(axis=1) < 0.9)),
    }


def _pooling_bounds(network: DistanceNetwork, plane: Floats) -> tuple[Floats, Floats]:
    """What a soft minimum over the centers lies between.

    Exponential: min_j h_j - log m ≤ o ≤ min_j h_j with h_j = d_j^q/(qσ^q) - log α_j; Student:
    min_j h_j ≤ o ≤ m min_j h_j with h_j = (a + (d_j/σ)^q)/α_j.
    """
    from whyodd.kernels import Exponential

    kernel: Any = network.kernel
    centers, m = np.asarray(network.centers), network.n_centers
    d = np.linalg.norm(plane[:, None, :] - centers, axis=2)
    scaled = (d / kernel.sigma) ** kernel.q
    if isinstance(kernel, Exponential):
        least = (scaled / kernel.q - np.log(network.weights)).min(axis=1)
        return least - np.log(m), least
    least = ((kernel.a + scaled) / network.weights).min(axis=1)
    return least, m * least


def _slopes(run: Run, points: Floats) -> dict[str, Any]:
    """o(tx)/‖tx‖^q far away in several directions, for both families and each degree, and its constant."""
    angles = 2.0 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found: dict[str, Any] = {"distances": np.array(_FAR)}
    kernels, constants, paper = [], [], []
    for family in FAMILIES:
        for q in run["degrees"]:
            network = _network(run, points, family, q)
            slopes = [network.outlierness(t * directions) / t**q for t in _FAR]
            name = f"{family}-q{q:g}"
            found[f"measured-{name}"] = np.array(slopes).mean(axis=1)
            found[f"spread-{name}"] = np.ptp(np.array(slopes), axis=1)
            m, scale = network.n_centers, run["sigma"] ** q
            kernels.append(name)
            constants.append(1.0 / (q * scale) if family == "exponential" else m / scale)
            paper.append(1.0 if family == "exponential" else float(m))
    return {**found, "kernels": kernels, "constants": constants, "paper": paper}


def _numbers(one: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON content of a plane: everything but the pictures."""
    pictures = ("inlierness", "outlierness", "nearest", "share")
    return {key: value for key, value in one.items() if key not in pictures}


def _errors(slopes: Mapping[str, Any], constants: str) -> list[float]:
    """Relative distance from constants, for each kernel, at the farthest points."""
    return [
        abs(float(slopes[f"measured-{name}"][-1]) / constant - 1.0)
        for name, constant in zip(slopes["kernels"].tolist(), slopes[constants].tolist(), strict=True)
    ]


def _statements(measured: Mapping[str, Mapping[str, Any]], slopes: Mapping[str, Any]) -> list[Statement]:
    def worst(key: str) -> float:
        return max(float(one[key]) for one in measured.values())

    least, negative = (
        min(float(one[k]) for one in measured.values()) for k in ("least_outlierness", "least_relevance")
    )
    gaps = max(worst(f"gap_{where}") for where in ("centers", "inputs", "inlierness"))
    apart = worst("outside_pooling_bounds")
    right, papers = max(_errors(slopes, "constants")), max(_errors(slopes, "paper"))
    gaussian, student = (float(measured[family]["outlier_p"].max(axis=1).min()) for family in FAMILIES)
    return [
        Statement(
            "Inlierness is bounded by zero and some positive number and converges to zero; outlierness is at "
            "least zero (Definitions 1 and 2).",
            f"On the plane i ≤ {worst('largest_inlierness'):.2f} and o ≥ {least:.2f}.",
            "holds" if least >= 0.0 else "does not hold",
        ),
        Statement(
            "o(tx)/‖tx‖^q converges to a constant: 1 for the exponential kernels, m for Student (appendix).",
            f"It converges, but to 1/(qσ^q) and m/σ^q, of which the paper's proof drops the factors: at "
            f"t = {_FAR[-1]:,.0f} it is within {right:.1%} of those, and up to {papers + 1.0:.0f} times the "
            "paper's.",
            "holds with other constants" if right <= _SLACK else "does not hold",
        ),
        Statement(
            "Inlier decisions are a max-pooling over similarities, outlier decisions a (soft) min-pooling "
            "over distances.",
            f"o is outside the bounds of a soft minimum on {apart:.0%} of the plane. The largest share p is "
            f"below 0.9, a soft border, on {measured['exponential']['soft_border']:.0%} of it for the "
            f"Gaussian kernel and on {measured['student']['soft_border']:.0%} for Student.",
            "holds" if apart == 0.0 else "does not hold",
        ),
        Statement(
            "Relevance is conserved: R_j sum to i(x) or o(x), and R_i with the unexplained part to o(x).",
            f"The largest gap is {gaps:.0e} of what is decomposed; the least R_i is {negative:.1g}.",
            "holds" if gaps < 1e-9 and negative >= 0.0 else "does not hold",
        ),
        Statement(
            "Redistribution is min-take-most: the nearest support vectors take most of the relevance.",
            f"Of each of the four outliers, one center has at least {gaussian:.0%} (Gaussian) or "
            f"{student:.0%} (Student) of the relevance: Student's min-pooling is much softer.",
            "holds for the Gaussian kernel" if gaussian > 0.5 > student else _yes_or_no(student > 0.5),
        ),
    ]


def _yes_or_no(holds: bool) -> str:
    return "holds" if holds else "does not hold"


_CHOICES = (
    OpenPoint(
        "the paper has drawings of the idea only",
        "Three clusters of made points, one-class SVMs with σ = 0.4.",
    ),
    OpenPoint("a bandwidth for Student", "The same σ: k = 1/(a + (d/σ)^q), a = 1."),
)


def _slope_table(slopes: Mapping[str, Any]) -> Table:
    rows = [
        (name, *(f"{value:.5g}" for value in slopes[f"measured-{name}"]), f"{right:.5g}", f"{paper:g}")
        for name, right, paper in zip(
            slopes["kernels"].tolist(), slopes["constants"].tolist(), slopes["paper"].tolist(), strict=True
        )
    ]
    far = (f"t = {t:,.0f}" for t in _FAR)
    return Table("o(tx)/‖tx‖^q, mean over directions", ("kernel", *far, "constant", "the paper's"), rows)


def _outlier_table(measured: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = []
    for family, one in measured.items():
        for k, letter in enumerate("ABCD"[: len(one["outlier_o"])]):
            o = float(one["outlier_o"][k])
            parts = (*one["outlier_relevance"][k], one["outlier_unexplained"][k])
            rows.append((family, letter, f"{o:.3g}", *(f"{float(part) / o:.0%}" for part in parts)))
    return Table("The outliers", ("kernel", "outlier", "o", "first variable", "second", "unexplained"), rows)


EXPERIMENT = Experiment(
    title="Prototypes: inlierness, outlierness and the flow of relevance in two dimensions",
    parameters={
        "default": {
            "n_points": 60,
            "nu": 0.1,
            "sigma": 0.4,
            "q": 2.0,
            "a": 1.0,
            "degrees": (1.0, 2.0, 4.0),
            "grid": 201,
            "reach": 5.5,
        },
        "quick": {"grid": 81},
        "full": {"grid": 401},
    },
    load=load,
    perform=perform,
)
