"""Finding anomalies: the default detector beside those of scikit-learn and PyOD, on 25 tables of ADBench.

Run: python benchmarks/finding.py [--quick] [--tables NAME ...] [--without PEER ...]

Five seeds, one with ``--quick``. Of tables with more than 3,000 rows, each seed draws 3,000 at random; if
fewer than three of them are anomalies, five rows are replaced by anomalies. Smaller tables are taken whole:
there the seeds differ by the detectors' own chance, and by what is learned from in the second setting.

Learned from themselves
    Detectors see all rows, without labels, and score these. Ours is ``whyodd.auto``, as ``whyodd explain``
    has it, scored by ``whyodd.explain``, which leaves each row's own center out; the peers give what they
    keep of their training rows (PyOD's ``decision_scores_``, scikit-learn's ``negative_outlier_factor_``).
Learned from clean rows
    Half of the normal rows, drawn at random, are learned from (``auto(..., trusted=True)``), all other rows
    are scored.

Peers are scikit-learn's IsolationForest and LocalOutlierFactor, and PyOD's ECOD, COPOD, KNN, HBOS, MCD and
CBLOF. They have their defaults, and columns standardised by the rows they learn from; ours gets the rows as
they are. A peer that cannot be fitted to a table (CBLOF, where clusters are too few or alike) has found
nothing: its scores are all the same. Areas under the ROC curve (AUC) and average precisions (AP) are means
over the seeds, then over the tables; ranks are among all detectors by each of these, 1 is best. The best
peer of a table is chosen after the fact, out of eight, for each table anew: no single detector is as good.

The design half, every second table by name, was looked at while the default detector was designed. The
other half was not: its figures are the ones to believe.

Time is that of fitting and scoring, all seeds and tables together, over that of PyOD's KNN, and the largest
such ratio of any table. Ours uses all cores, the peers one. Memory is the most that Python and NumPy hold
at a time (tracemalloc), of any table learned from itself, in a run of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
import warnings
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from pyod.models.cblof import CBLOF
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.hbos import HBOS
from pyod.models.knn import KNN
from pyod.models.mcd import MCD
from scipy.stats import rankdata
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler

import whyodd
from realdata import adbench_names, data_dir, draw, labelled_adbench
from sidebyside import print_table

if TYPE_CHECKING:
    from collections.abc import Callable

    # Rows to learn from, rows to score (None: the same), seed -> how odd each one is.
    Detector = Callable[[np.ndarray, np.ndarray | None, int], np.ndarray]

N_SEEDS = 5
# A table where ours has less than this share of the best peer's is marked.
BEHIND = 0.9
SETTINGS = ("learned from themselves", "learned from clean rows")
MEASURES: dict[str, Callable[..., float]] = {"AUC": roc_auc_score, "AP": average_precision_score}
HALVES = ("design", "other", "all")


def automatic(train: np.ndarray, new: np.ndarray | None, seed: int) -> np.ndarray:  # noqa: ARG001
    if new is None:
        return whyodd.explain(whyodd.auto(train), train).outlierness
    return -whyodd.auto(train, trusted=True).score_samples(new)


def standardised(detector: Detector, train: np.ndarray, new: np.ndarray | None, seed: int) -> np.ndarray:
    scaler = StandardScaler().fit(train)
    return detector(scaler.transform(train), None if new is None else scaler.transform(new), seed)


def isolation_forest(train: np.ndarray, new: np.ndarray | None, seed: int) -> np.ndarray:
    return -IsolationForest(random_state=seed).fit(train).score_samples(train if new is None else new)


def local_outlier_factor(train: np.ndarray, new: np.ndarray | None, seed: int) -> np.ndarray:  # noqa: ARG001
    model = LocalOutlierFactor(novelty=new is not None).fit(train)
    return -(model.negative_outlier_factor_ if new is None else model.score_samples(new))


def _settings(kind: Any, seed: int) -> dict[str, int]:
    """The seed, and silence: of what this kind of detector takes."""
    taken = signature(kind).parameters
    return {name: value for name, value in (("random_state", seed), ("verbose", 0)) if name in taken}


def by_pyod(kind: Any, train: np.ndarray, new: np.ndarray | None, seed: int) -> np.ndarray:
    model = kind(**_settings(kind, seed))
    try:
        model.fit(train)
    except ValueError as error:
        print(f"{kind.__name__}: {error}", file=sys.stderr)
        return np.zeros(len(train if new is None else new))
    return model.decision_scores_ if new is None else model.decision_function(new)


OURS, YARDSTICK = "whyodd", "KNN"
PEERS: dict[str, Detector] = {
    "IForest": isolation_forest,
    "LOF": local_outlier_factor,
} | {kind.__name__: partial(by_pyod, kind) for kind in (ECOD, COPOD, KNN, HBOS, MCD, CBLOF)}
DETECTORS: dict[str, Detector] = {OURS: automatic} | {
    name: partial(standardised, peer) for name, peer in PEERS.items()
}


@dataclass
class Results:
    """What was measured in one setting.

    Attributes
    ----------
    found : dict of str to ndarray of shape (tables, detectors)
        Mean over the seeds of each measure.
    seconds : ndarray of shape (tables, detectors)
        Of all seeds together.
    """

    found: dict[str, np.ndarray]
    seconds: np.ndarray


def split(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Half of the normal rows; all others, and which of these are anomalies."""
    normal = np.random.default_rng(seed).permutation(np.flatnonzero(~y))
    learned = np.isin(np.arange(len(X)), normal[: len(normal) // 2])
    return X[learned], X[~learned], y[~learned]


def measured(
    detector: Detector, train: np.ndarray, new: np.ndarray | None, truth: np.ndarray, seed: int
) -> tuple[list[float], float]:
    """Each measure, and seconds."""
    start = time.perf_counter()
    scores = detector(train, new, seed)
    seconds = time.perf_counter() - start
    scores = np.nan_to_num(scores)
    return [measure(truth, scores) for measure in MEASURES.values()], seconds


def run(names: list[str], seeds: int) -> tuple[Results, ...]:
    """Both settings, on these tables."""
    warm_up(DETECTORS)
    return together([run_seed(names, seed, DETECTORS) for seed in range(seeds)])


def run_seed(names: list[str], seed: int, detectors: dict[str, Detector]) -> tuple[Results, ...]:
    """Both settings, on these tables, by one seed."""
    sizes = len(SETTINGS), len(names), len(detectors)
    found, seconds = np.zeros((*sizes, len(MEASURES))), np.zeros(sizes)
    for place, name in enumerate(names):
        start = time.perf_counter()
        rows, truth = draw(*labelled_adbench(name), seed)
        train, new, new_truth = split(rows, truth, seed)
        for which, detector in enumerate(detectors.values()):
            for setting, case in enumerate([(rows, None, truth), (train, new, new_truth)]):
                found[setting, place, which], seconds[setting, place, which] = measured(detector, *case, seed)
        took = time.perf_counter() - start
        print(f"{name}, seed {seed}: {took:.1f} s", file=sys.stderr, flush=True)
    return tuple(
        Results({measure: of[..., m] for m, measure in enumerate(MEASURES)}, spent)
        for of, spent in zip(found, seconds, strict=True)
    )


def together(seeds: list[tuple[Results, ...]]) -> tuple[Results, ...]:
    """Each setting: means of what was found by each seed, and the time of all."""
    return tuple(
        Results(
            {measure: np.mean([of.found[measure] for of in setting], axis=0) for measure in MEASURES},
            np.sum([of.seconds for of in setting], axis=0),
        )
        for setting in zip(*seeds, strict=True)
    )


def warm_up(detectors: dict[str, Detector]) -> None:
    """Compile what is compiled, and import what is imported late."""
    X = np.random.default_rng(0).normal(size=(200, 4))
    for detector in detectors.values():
        detector(X, None, 0)
        detector(X, X, 0)


def peak_memory(names: list[str]) -> np.ndarray:
    """Megabytes of each detector, learned from the table itself, the most of any table."""
    most = np.zeros(len(DETECTORS))
    for name in names:
        rows, _ = draw(*labelled_adbench(name), 0)
        for which, detector in enumerate(DETECTORS.values()):
            tracemalloc.start()
            detector(rows, None, 0)
            most[which] = max(most[which], tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
        print(f"{name}: memory", file=sys.stderr, flush=True)
    return most


def print_means(setting: str, results: Results, halves: dict[str, np.ndarray]) -> None:
    """Means over halves of the tables, a line for each detector."""
    ranks = {name: rankdata(-np.round(of, 9), axis=1) for name, of in results.found.items()}
    columns, lines = ["detector"], [[name] for name in DETECTORS]
    for half, chosen in halves.items():
        columns += [f"{half} {measure}" for measure in MEASURES]
        columns += [f"{half} {measure} rank" for measure in MEASURES]
        for which, line in enumerate(lines):
            line += [f"{of[chosen, which].mean():.3f}" for of in results.found.values()]
            line += [f"{of[chosen, which].mean():.2f}" for of in ranks.values()]
    counts = ", ".join(f"{half} {np.count_nonzero(chosen)}" for half, chosen in halves.items())
    print_table(f"{setting}: means over tables ({counts})", columns, lines)


def print_costs(results: tuple[Results, ...], memory: np.ndarray) -> None:
    """Time over that of the yardstick in each setting, and memory."""
    yardstick = list(DETECTORS).index(YARDSTICK)
    columns, lines = ["detector"], [[name] for name in DETECTORS]
    for setting, of in zip(SETTINGS, results, strict=True):
        total, each = of.seconds.sum(axis=0), of.seconds / of.seconds[:, [yardstick]]
        columns += [f"{setting}: seconds", f"/ {YARDSTICK}'s", "at most"]
        for which, line in enumerate(lines):
            ratio = total[which] / total[yardstick]
            line += [f"{total[which]:.1f}", f"{ratio:.1f}", f"{each[:, which].max():.1f}"]
    for line, megabytes in zip(lines, memory, strict=True):
        line.append(f"{megabytes:.1f}")
    print_table("time of fitting and scoring, and memory", [*columns, "peak MB"], lines)


def print_each(setting: str, results: Results, names: list[str], halves: dict[str, np.ndarray]) -> None:
    """Ours and the best peer of each table."""
    told = ("ours", "best peer", "which", "ratio")
    columns, lines = ["table", "half", *(f"{measure} {what}" for measure in MEASURES for what in told)], []
    behind = {measure: [] for measure in MEASURES}
    peers = list(PEERS)
    for place, name in enumerate(names):
        line = [name, next(half for half, chosen in halves.items() if chosen[place])]
        for measure, found in results.found.items():
            ours, others = found[place, 0], found[place, 1:]
            best = int(others.argmax())
            ratio = ours / others[best]
            if ratio < BEHIND:
                behind[measure].append(name)
            mark = " <" if ratio < BEHIND else "  "
            line += [f"{ours:.3f}", f"{others[best]:.3f}", peers[best], f"{ratio:.3f}{mark}"]
        lines.append(line)
    print_table(f"{setting}: each table (< below {BEHIND} of the best peer)", columns, lines)
    for measure, those in behind.items():
        print(f"{measure} below {BEHIND} of the best peer: {len(those)} of {len(names)}", *those, sep="  ")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed")
    folder = data_dir()
    if folder is None:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds adbench.")
    known = adbench_names()
    parser.add_argument("--tables", nargs="+", metavar="NAME", choices=known, help="only these tables")
    slow = [name for name in PEERS if name != YARDSTICK]
    parser.add_argument("--without", nargs="+", metavar="PEER", choices=slow, default=[], help="leave out")
    arguments = parser.parse_args()
    for peer in arguments.without:  # MCD takes longer than all others together
        del PEERS[peer], DETECTORS[peer]
    names = [name for name in known if name in (arguments.tables or known)]
    warnings.simplefilter("ignore")  # of peers that have not converged, or whose covariance is singular
    is_design = np.isin(names, known[::2])
    halves = dict(zip(HALVES, [is_design, ~is_design, np.ones(len(names), dtype=bool)], strict=True))
    halves = {half: chosen for half, chosen in halves.items() if chosen.any()}
    results = run(names, 1 if arguments.quick else N_SEEDS)
    for setting, of in zip(SETTINGS, results, strict=True):
        print_means(setting, of, halves)
        print_each(setting, of, names, halves)
    print_costs(results, peak_memory(names))


if __name__ == "__main__":
    main()
