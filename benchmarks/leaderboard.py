"""The leaderboard of docs/leaderboard.md: who finds what is odd, and who blames the right columns.

Run: python benchmarks/leaderboard.py [--quick] [--write docs/leaderboard.md]

Finding
    ``finding.py``: 25 tables of ADBench, every detector with its defaults, five seeds. The page has the
    design half of the tables (looked at while whyodd was made) and the other half apart.
Blaming
    The data sets of ``blamed.py`` that say which columns are to blame. Every line gets the same standardised
    rows to learn from, and gives a number for each column of each row to explain. ``causes.py`` says how
    segments are summed up, and that no row is explained by itself.

``--quick`` takes one seed for finding and leaves MCD out, which takes longer than all others together;
blaming is the same. The page says which of the two was run. What stands between the two marks of the page is
replaced; the prose around them stays.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import time
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from scipy.stats import rankdata
from sklearn.ensemble import IsolationForest

import finding
import whyodd
from blamed import hidden_cases, series_cases
from causes import SERIES, diagonal_gaussian, z_scores
from realdata import adbench_names, data_dir
from sidebyside import machine
from whyodd.evaluation.causes import causes, mean_and_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from blamed import Case

    # Relevance (n, d) of the rows of a case; the model is learned from its training rows.
    Blame = Callable[[Case, bool], np.ndarray]

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
COLLECTIONS = ("smd", "asd", "hics", "refout")
SLOW_PEERS = ("MCD",)
# What the page names as compared, by the name of its package.
PACKAGES = ("whyodd", "scikit-learn", "pyod", "shap")


# ---- who blames which columns


def by_committee(case: Case, trusted: bool) -> np.ndarray:
    return _of_rows(case, _explained(whyodd.Committee(trusted=trusted).fit(case.train), case))


def by_one_class_svm(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    return _of_rows(case, _explained(whyodd.OneClassSVM().fit(case.train), case))


def by_forest(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    return _of_rows(case, _explained(_forest(case), case))


def by_tree_shap(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    """Shapley values of the same forest: of its path lengths, which are short for odd rows."""
    import shap  # its import warns of matplotlib, which tests take for an error

    return -np.asarray(shap.TreeExplainer(_forest(case)).shap_values(case.rows, check_additivity=False))


def by_nearest(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    return _of_rows(case, _explained(whyodd.KNearestNeighbors().fit(case.train), case, method="nearest"))


def by_ecod(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    return _by_dimension(ECOD().fit(case.train), case)


def by_copod(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    return _by_dimension(COPOD().fit(case.train), case)


def by_z_score(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    return z_scores(case)


def by_gaussian(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    return diagonal_gaussian(case)


def by_chance(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    return np.random.default_rng(0).random(case.rows.shape)


BLAMING: dict[str, Blame] = {
    "whyodd, the default (committee)": by_committee,
    "whyodd, one-class SVM": by_one_class_svm,
    "whyodd on scikit-learn's isolation forest": by_forest,
    "shap's TreeExplainer on the same forest": by_tree_shap,
    "PyOD's ECOD, scores by dimension": by_ecod,
    "PyOD's COPOD, scores by dimension": by_copod,
    "difference from the nearest known row": by_nearest,
    "z-score": by_z_score,
    "Gaussian with diagonal covariance": by_gaussian,
    "chance": by_chance,
}


def _forest(case: Case) -> IsolationForest:
    return IsolationForest(random_state=0).fit(case.train)


def _explained(model: object, case: Case, method: str = "dtd") -> np.ndarray:
    """Outliers are explained among all training rows, so that each is known to be one of them."""
    rows = case.rows if case.places is None else case.train
    return whyodd.explain(model, rows, method=method, random_state=0).relevance


def _of_rows(case: Case, relevance: np.ndarray) -> np.ndarray:
    return relevance if case.places is None else relevance[case.places]


def _by_dimension(model: ECOD | COPOD, case: Case) -> np.ndarray:
    """PyOD keeps the parts of the scores that it computed last, training rows first."""
    if case.places is not None:
        return model.O[case.places]
    model.decision_function(case.rows)
    return model.O[-len(case.rows) :]


# ---- measuring


@dataclass(frozen=True)
class Finding:
    """Both settings of ``finding.py`` on these tables."""

    names: list[str]
    seeds: int
    settings: tuple[finding.Results, ...]


@dataclass(frozen=True)
class Blaming:
    """Area under the ROC curve of each segment or outlier, and seconds, by collection and line."""

    areas: dict[str, dict[str, np.ndarray]]
    seconds: dict[str, float]


def measure_finding(quick: bool) -> Finding:
    """All tables; quick: one seed, without the slow peers."""
    for peer in SLOW_PEERS if quick else ():
        finding.PEERS.pop(peer, None)
        finding.DETECTORS.pop(peer, None)
    names, seeds = adbench_names(), 1 if quick else finding.N_SEEDS
    return Finding(names, seeds, finding.run(names, seeds))


def read_cases(folder: Path, name: str) -> list[Case]:
    """The sets of a collection."""
    return series_cases(folder, name, 5_000) if name in SERIES else hidden_cases(folder, name)


def measure_blaming(folder: Path) -> Blaming:
    """Every line on every collection."""
    areas: dict[str, dict[str, np.ndarray]] = {name: {} for name in COLLECTIONS}
    seconds = dict.fromkeys(BLAMING, 0.0)
    for name in COLLECTIONS:
        cases = read_cases(folder, name)
        for line, blame in BLAMING.items():
            start = time.perf_counter()
            told = [causes(blame(case, name in SERIES), case.truths[""], case.segments) for case in cases]
            seconds[line] += time.perf_counter() - start
            areas[name][line] = np.concatenate([of.roc_auc for of in told])
        print(f"{name}: {len(cases)} sets", file=sys.stderr, flush=True)
    return Blaming(areas, seconds)


# ---- telling


def table(columns: list[str], lines: list[list[str]]) -> str:
    """A table of Markdown, numbers to the right."""
    rule = ["---"] + ["---:"] * (len(columns) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [columns, rule, *lines])


def finding_table(found: Finding, setting: int) -> str:
    """A line for each detector, the best mean over all tables first."""
    results, detectors = found.settings[setting], list(finding.DETECTORS)
    areas, precisions = results.found["AUC"], results.found["AP"]
    ranks = rankdata(-np.round(areas, 9), axis=1).mean(axis=0)
    is_design = np.isin(found.names, adbench_names()[::2])
    seconds = results.seconds.sum(axis=0) / results.seconds.sum(axis=0)[detectors.index(finding.YARDSTICK)]
    columns = [
        "detector",
        "AUC",
        "design half",
        "other half",
        "mean rank",
        "average precision",
        "time / KNN's",
    ]
    lines = [
        [
            detectors[which],
            f"{areas[:, which].mean():.3f}",
            f"{areas[is_design, which].mean():.3f}",
            f"{areas[~is_design, which].mean():.3f}",
            f"{ranks[which]:.1f}",
            f"{precisions[:, which].mean():.3f}",
            f"{seconds[which]:.1f}",
        ]
        for which in np.argsort(-areas.mean(axis=0))
    ]
    return table(columns, lines)


def blaming_table(told: Blaming) -> str:
    """A line for each way to blame, the best mean over the collections first."""
    means = {line: np.mean([mean_and_error(of[line])[0] for of in told.areas.values()]) for line in BLAMING}
    lines = [
        [
            line,
            *(_with_error(of[line]) for of in told.areas.values()),
            f"{means[line]:.3f}",
            f"{told.seconds[line]:.0f}",
        ]
        for line in sorted(BLAMING, key=lambda line: -means[line])
    ]
    return table(["who blames", *told.areas, "mean", "seconds"], lines)


def _with_error(areas: np.ndarray) -> str:
    mean, error = mean_and_error(areas)
    return f"{mean:.3f} ± {error:.3f}"


def measured(found: Finding, told: Blaming, quick: bool, seconds: float) -> str:
    """What goes between the marks of the page."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    counts = ", ".join(f"{name} {np.isfinite(of['chance']).sum()}" for name, of in told.areas.items())
    options = "--quick --write" if quick else "--write"
    command = f"python benchmarks/leaderboard.py {options} docs/leaderboard.md"
    seeds = "1 seed" if found.seeds == 1 else f"{found.seeds} seeds"
    left_out = f" The quick run leaves out {' and '.join(SLOW_PEERS)}." if quick else ""
    return f"""\
Measured on {dt.datetime.now(tz=dt.UTC).date()} by `{command}` in {seconds / 60:.0f} minutes
({machine()}): {packages}. {len(found.names)} tables,
{seeds}.{left_out}

### Finding, learned from the table itself

{finding_table(found, 0)}

### Finding, learned from clean rows

{finding_table(found, 1)}

### Blaming the right columns

Area under the ROC curve, mean and standard error over segments or outliers ({counts}).

{blaming_table(told)}"""


def replaced(page: str, text: str) -> str:
    """The page, with this text between its marks.

    Raises
    ------
    ValueError
        If the page does not have each mark once.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise ValueError(f"The page needs one line {BEGIN} and, below it, one line {END}.")
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, without slow peers")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into this page")
    arguments = parser.parse_args()
    folder = data_dir()
    if folder is None:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds adbench, smd, asd, hics, refout.")
    page = arguments.write and arguments.write.read_text(encoding="utf-8")
    if page:
        replaced(page, "")  # a page without marks should be noticed before the work
    warnings.simplefilter("ignore")  # of peers that have not converged, and of columns that hardly vary
    start = time.perf_counter()
    told, found = measure_blaming(folder), measure_finding(arguments.quick)
    text = measured(found, told, arguments.quick, time.perf_counter() - start)
    print(text)
    if page:
        arguments.write.write_text(replaced(page, text), encoding="utf-8")


if __name__ == "__main__":
    main()
