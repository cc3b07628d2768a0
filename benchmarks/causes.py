"""Right causes: relevance against the variables that people, or the making of the data, say are to blame.

Run: python benchmarks/causes.py [--quick] [--data NAME] [--only-default]

Every model with its default bandwidth, and every method, on the five data sets of ``blamed.py``. Columns are
standardised by the training rows first. smd and asd: trained on 5,000 random rows of the part without
anomalies, relevance summed over each segment, which is judged once. The others: trained on all rows, each
explained without its own center. Nothing is chosen by the truth. The tables give means over all segments or
outliers with standard errors: area under the ROC curve (AUC, chance is 0.5) and hit rates at 100 % and 150 %.

z-score is |x - mean| / standard deviation of the training rows, mvn the terms of a Gaussian with diagonal
covariance, with λ a thousandth of the mean variance: no model has a part in either. The last columns have the
mean difference of the first measure from the z-score's, pair by pair, and the number of segments or outliers.
shap is slow: a second table has it on a subset (three outliers of each set, or the row in the middle of three
segments of each machine), with three permutations and 50 training rows as background, beside the others on
the same rows.

The default is the committee, which trusts the rows of smd and asd that it learns from, and no others; with
``--only-default`` it stands alone beside the z-score, in the first table. Of smd and asd, a table has the
hit rates by three protocols. Per segment: each segment once, by its summed relevance. Per point: each row by
itself against the causes of its segment, so that long segments count more. All anomalous rows are judged in
these, whether or not they are found. InterFusion's (Li et al., KDD 2021, as their published code has it) asks
only for what was found:

1. The whole test series is scored: by the model's outlierness, or without a model by the mean of z².
2. The threshold is that of the best F1 where a stretch of anomalous rows that has one row above the threshold
   counts as found whole. It is chosen by the truth, for each machine; that F1 is what the published figures
   of detectors are.
3. Of each segment only the rows above the threshold are looked at; segments without any are left out. The
   relevance of a variable is its maximum over these rows.
4. The hit rate of a segment counts as often as it has such rows: not each segment alike, nor by its length.
   This gives a mean for each machine, and the table has the mean over the machines.

It departs from the published code in this: relevance takes the place of minus the log-likelihood of each
variable's reconstruction; rows are scored one by one, not as the last of a window of 100, so that the first
99 rows count too; equal relevance at the last place is drawn by lot instead of by the order of the columns;
a row in two segments counts in both. We have 4 of 28 machines and 6 of 12 servers. Each line has a choice of
its own of what is found, so that lines are not judged on the same segments.

At the end comes the mean over the collections of the area under the ROC curve.

A third table asks how deep Taylor decomposition could do better. "dtd / usual" divides the relevance of each
variable by its mean on normal rows: 2,000 held-out ones for smd and asd, else all rows (plus a thousandth of
the mean over the variables, for those that are never relevant). Models with wide neighbourhoods come beside
those with default bandwidths. These variants were looked for with the truth at hand: they are a lead, not
evidence.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

import whyodd
from blamed import DETECTORS, detector_cases, hidden_cases, series_cases
from realdata import data_dir
from whyodd.evaluation.causes import best_threshold, causes, causes_of_found, mean_and_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from blamed import Case

    Relevance = Callable[[Case], np.ndarray]
    Fitted = Callable[[str, Case], object]
    Line = tuple[str, str]
    Measures = tuple[tuple[str, str], ...]

MODELS = {
    "one-class SVM": whyodd.OneClassSVM,
    "KDE": whyodd.KernelDensity,
    "k-NN": whyodd.KNearestNeighbors,
    "full Gaussian": whyodd.Gaussian,
}
METHODS = ("dtd", "sensitivity", "nearest")
# Series, whose rows to learn from are known to be normal.
SERIES = ("smd", "asd")
# What is told of each data set: the truth and the measure.
HIT_RATES = (("", "hit_rate_100"), ("", "hit_rate_150"))
SEGMENT_MEASURES = (("", "roc_auc"), *HIT_RATES)
MEASURES = {
    "smd": SEGMENT_MEASURES,
    "asd": SEGMENT_MEASURES,
    "hics": (("", "roc_auc"),),
    "refout": (("", "roc_auc"),),
    "outlier_interpretation": tuple((detector, "roc_auc") for detector in DETECTORS),
}
# Wide neighbourhoods: the distance to many, and bandwidths as large as usual distances.
WIDE_MODELS = {
    "k-NN, k = 10 %": lambda: whyodd.KNearestNeighbors(0.1),
    "KDE, σ = median": lambda: whyodd.KernelDensity(sigma="median"),
    "KDE, Student, σ = median": lambda: whyodd.KernelDensity("student", sigma="median"),
}
DEFAULT, BASELINE = ("committee", "dtd"), ("(none)", "z-score")
SHORT = {"roc_auc": "AUC", "hit_rate_100": "hit 100 %", "hit_rate_150": "hit 150 %"}


def read_cases(folder: Path, name: str, quick: bool) -> list[Case]:
    """The sets of a collection; a few small ones to be quick."""
    if name in SERIES:
        return series_cases(folder, name, 500 if quick else 5000)[: 1 if quick else None]
    cases = detector_cases(folder) if name == "outlier_interpretation" else hidden_cases(folder, name)
    return cases[:2] if quick else cases


def by_model(fitted: Fitted, model: str, method: str) -> Relevance:
    """Relevance of a method for a model."""
    return lambda case: _of_rows(case, _relevance(fitted(model, case), case, method))


def by_usual(fitted: Fitted, model: str) -> Relevance:
    """Relevance by deep Taylor decomposition, over what is usual for each variable."""

    def relevance(case: Case) -> np.ndarray:
        parts = _relevance(fitted(model, case), case, "dtd")
        normal = parts
        if case.held_out is not None:
            normal = whyodd.explain(fitted(model, case), case.held_out).relevance
        usual = np.abs(normal).mean(axis=0)
        return _of_rows(case, parts) / (usual + 1e-3 * usual.mean())

    return relevance


def by_shap(fitted: Fitted, model: str) -> Relevance:
    """Shapley values of the outlierness for a model, against 50 training rows, by three permutations."""

    def relevance(case: Case) -> np.ndarray:
        detector = fitted(model, case)
        centers = whyodd.neuralize(detector).rows
        holds_self = case.places is not None and centers is not None and np.isin(case.places, centers).any()
        # A permutation forwards and backwards takes 2 d + 1 evaluations.
        max_evals = 3 * (2 * case.train.shape[1] + 1)
        options = {"normal": case.train, "background": 50, "max_evals": max_evals}
        keywords = {"exclude_self": bool(holds_self), "options": options, "random_state": 0}
        return whyodd.explain(detector, case.rows, method="shap", **keywords).relevance

    return relevance


def _relevance(model: object, case: Case, method: str) -> np.ndarray:
    """Of new rows their own; of outliers all training rows', which are then known to be those."""
    rows = case.rows if case.places is None else case.train
    return whyodd.explain(model, rows, method=method, random_state=0).relevance


def _of_rows(case: Case, relevance: np.ndarray) -> np.ndarray:
    return relevance if case.places is None else relevance[case.places]


def z_scores(case: Case) -> np.ndarray:
    """Standard deviations from the mean: the rows are standardised by the training rows."""
    return np.abs(case.rows)


def diagonal_gaussian(case: Case) -> np.ndarray:
    """The paper's MVN, learned from all training rows."""
    network = whyodd.DistanceNetwork(case.train[:1])
    options = {"normal": case.train}
    return whyodd.explain(network, case.rows, method="mvn", exclude_self=False, options=options).relevance


def contenders(fitted: Fitted) -> dict[Line, Relevance]:
    """Everything that is compared, by model and method."""
    lines = {(model, method): by_model(fitted, model, method) for model in MODELS for method in METHODS}
    return lines | {BASELINE: z_scores, ("(none)", "mvn"): diagonal_gaussian}


def with_shap(fitted: Fitted) -> dict[Line, Relevance]:
    """The same and Shapley values, the lines of a model together."""
    lines = contenders(fitted) | {(model, "shap"): by_shap(fitted, model) for model in MODELS}
    place = [*MODELS, BASELINE[0]].index
    return dict(sorted(lines.items(), key=lambda line: place(line[0][0])))


def variants(fitted: Fitted) -> dict[Line, Relevance]:
    """Deep Taylor decomposition compared with what is usual, and with wide neighbourhoods."""
    lines = {}
    for model in (*MODELS, *WIDE_MODELS):
        lines[model, "dtd"] = by_model(fitted, model, "dtd")
        lines[model, "dtd / usual"] = by_usual(fitted, model)
    return lines | {BASELINE: z_scores, ("(none)", "mvn"): diagonal_gaussian}


def judged(cases: Iterable[Case], relevance: Relevance, measures: Measures) -> list[np.ndarray]:
    """Each measure over all segments or outliers of all sets."""
    parts: list[list[np.ndarray]] = [[] for _ in measures]
    for case in cases:
        values = relevance(case)
        told = {who: causes(values, truth, case.segments) for who, truth in case.truths.items()}
        for part, (who, measure) in zip(parts, measures, strict=True):
            part.append(getattr(told[who], measure))
    return [np.concatenate(part) for part in parts]


def print_tables(folder: Path, name: str, quick: bool, only_default: bool) -> dict[Line, float]:
    """The tables of one collection of sets; the mean AUC of the default and of the z-score."""
    cases, measures = read_cases(folder, name, quick), MEASURES[name]
    rows = {case.name: case.train for case in cases}
    models = MODELS | WIDE_MODELS | {DEFAULT[0]: lambda: whyodd.Committee(trusted=name in SERIES)}

    @cache
    def fitted(model: str, of: str) -> object:
        return models[model]().fit(rows[of])

    def fit(model: str, case: Case) -> object:
        return fitted(model, case.name)

    default = {DEFAULT: by_model(fit, *DEFAULT)}
    lines = default | ({BASELINE: z_scores} if only_default else contenders(fit))
    print_causes(f"{name}: all rows", lines, cases, measures)
    if name in SERIES:
        _print_hit_rates(f"{name}: hit rates", lines, cases, fit)
    if not only_default:
        few = [case.subset(1 if quick else 3) for case in cases[: 1 if quick else None]]
        print_causes(f"{name}: a subset, with shap", with_shap(fit), few, measures)
        print_causes(f"{name}: compared with what is usual", variants(fit), cases, measures)
    areas = tuple((who, measure) for who, measure in measures if measure == "roc_auc")
    return {
        line: float(np.mean([mean_and_error(of)[0] for of in judged(cases, lines[line], areas)]))
        for line in (DEFAULT, BASELINE)
    }


def by_points(case: Case) -> Case:
    """Each row of a segment by itself, with the causes of its segment."""
    lengths = np.diff(case.segments, axis=1)[:, 0]
    truths = {who: np.repeat(truth, lengths, axis=0) for who, truth in case.truths.items()}
    return replace(case, truths=truths, segments=None)


def scores(fitted: Fitted, model: str, case: Case) -> np.ndarray:
    """How odd each row of the whole series is: to a model, or else by the mean of z²."""
    if model == BASELINE[0]:
        return (case.series**2).mean(axis=1)
    return whyodd.neuralize(fitted(model, case)).outlierness(case.series)


def found_rows(case: Case, outlierness: np.ndarray) -> np.ndarray:
    """Which rows of the segments are above the threshold that has the best F1."""
    is_anomalous = np.zeros(len(outlierness), dtype=bool)
    for start, stop in case.stretches:
        is_anomalous[start:stop] = True
    return case.of_segments(outlierness >= best_threshold(outlierness, is_anomalous))


def by_interfusion(cases: list[Case], relevance: Relevance, score: Relevance) -> tuple[list[float], float]:
    """Hit rates by InterFusion's protocol, means over the machines; the share of segments that are found."""
    rates, found = [], []
    for case in cases:
        is_found = found_rows(case, score(case))
        told = causes_of_found(relevance(case), is_found, case.truths[""], case.segments)
        rates.append([told.mean()[measure] for _, measure in HIT_RATES])
        found += [bool(is_found[start:stop].any()) for start, stop in case.segments]
    return np.mean(rates, axis=0).tolist(), float(np.mean(found))


def _print_hit_rates(title: str, lines: dict[Line, Relevance], cases: list[Case], fitted: Fitted) -> None:
    """By each protocol: rows of a segment are alike, so that no error is told."""
    protocols, measures = {"per segment": cases, "per point": [*map(by_points, cases)]}, HIT_RATES
    names = (*protocols, "InterFusion's")
    heads = [f"{protocol} {SHORT[measure]}" for protocol in names for _, measure in measures]
    print(f"\n**{title}**\n")
    print("| model | method | " + " | ".join(heads) + " | segments found |")
    print("| --- | --- |" + " ---: |" * (len(heads) + 1))
    for (model, method), relevance in lines.items():
        means = [
            mean_and_error(of)[0] for those in protocols.values() for of in judged(those, relevance, measures)
        ]
        found, share = by_interfusion(cases, relevance, partial(scores, fitted, model))
        cells = [model, method, *(f"{mean:.3f}" for mean in (*means, *found)), f"{share:.0%}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def print_causes(title: str, lines: dict[Line, Relevance], cases: list[Case], measures: Measures) -> None:
    """Means and standard errors of each line, and its first measure beside the z-score's."""
    heads = [f"{who} {SHORT[measure]}".strip() for who, measure in measures]
    print(f"\n**{title}**\n")
    print("| model | method | " + " | ".join(heads) + f" | {heads[0]} - z-score | n |")
    print("| --- | --- |" + " ---: |" * (len(heads) + 2))
    baseline = judged(cases, lines[BASELINE], measures)[0]
    for (model, method), relevance in lines.items():
        found = judged(cases, relevance, measures)
        means = [f"{mean:.3f} ± {error:.3f}" for mean, error in map(mean_and_error, found)]
        mean, error = mean_and_error(found[0] - baseline)
        cells = [model, method, *means, f"{mean:+.3f} ± {error:.3f}", str(np.isfinite(found[0]).sum())]
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="few sets and rows: whether it runs, not how well"
    )
    parser.add_argument("--data", choices=list(MEASURES), action="append", help="only these data sets")
    parser.add_argument("--only-default", action="store_true", help="only the committee and the z-score")
    arguments = parser.parse_args()
    folder = data_dir()
    if folder is None:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds smd, asd, hics and the others.")
    # The columns are standardised already; those of a model's few centers may still differ.
    warnings.filterwarnings("ignore", message="The variance of")
    names = arguments.data or list(MEASURES)
    areas = [print_tables(folder, name, arguments.quick, arguments.only_default) for name in names]
    print(f"\nMean AUC over {', '.join(names)}:")
    for line in (DEFAULT, BASELINE):
        print(f"{', '.join(line)}: {np.mean([of[line] for of in areas]):.3f}")


if __name__ == "__main__":
    main()
