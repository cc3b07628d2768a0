"""The leaderboard of docs/leaderboard.md: who finds what is odd, and who blames the right columns.

Run: python benchmarks/leaderboard.py [--seeds N] [--write docs/leaderboard.md]

Finding
    ``finding.py``: 25 tables of ADBench, every detector with its defaults, five seeds. ``peers.py`` adds more
    detectors. The page has the design half of the tables (looked at while whyodd was made) and the other half
    apart.
Blaming
    The data sets of ``blamed.py`` that say which columns are to blame. Every line gets the same standardised
    rows to learn from, and gives a number for each column of each row to explain. ``causes.py`` says how
    segments are summed up, and that no row is explained by itself.

The page is written after each seed, so that a run that is stopped leaves the page of a run with fewer seeds.
What stands between the two marks of the page is replaced; the prose around them stays. Peers that need torch
take part where it is installed. Quality is all that is measured: time has ``finding.py``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
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
from peers import HAS_TORCH, MORE_PEERS
from realdata import adbench_names, data_dir
from whyodd.evaluation.causes import causes, mean_and_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from blamed import Case

    # Relevance (n, d) of the rows of a case; the model is learned from its training rows.
    Blame = Callable[[Case, bool], np.ndarray]

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
COLLECTIONS = ("smd", "asd", "hics", "refout")
# What the page names as compared, by the name of its package.
PACKAGES = ("whyodd", "scikit-learn", "pyod", "isotree", "shap", *(("torch",) if HAS_TORCH else ()))
DETECTORS = finding.DETECTORS | MORE_PEERS


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


def by_autoencoder(case: Case, trusted: bool) -> np.ndarray:  # noqa: ARG001
    """Squared errors of the reconstruction, whose sum is the score's square."""
    import torch
    from pyod.models.auto_encoder import AutoEncoder

    model = AutoEncoder(preprocessing=False, random_state=0, verbose=0).fit(case.train)
    rows = torch.as_tensor(case.rows, dtype=torch.float32)
    with torch.no_grad():
        return ((rows - model.model(rows)) ** 2).numpy()


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
    "z-score (PyOD's explain_findings)": by_z_score,
    "Gaussian with diagonal covariance": by_gaussian,
    "chance": by_chance,
}
if HAS_TORCH:
    BLAMING["PyOD's autoencoder, errors by column"] = by_autoencoder


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


# Area under the ROC curve of each segment or outlier, by collection and line.
Blaming = dict[str, dict[str, np.ndarray]]


def read_cases(folder: Path, name: str) -> list[Case]:
    """The sets of a collection."""
    return series_cases(folder, name, 5_000) if name in SERIES else hidden_cases(folder, name)


def measure_blaming(folder: Path) -> Blaming:
    """Every line on every collection."""
    told: Blaming = {}
    for name in COLLECTIONS:
        cases = read_cases(folder, name)
        told[name] = {line: areas(blame, cases, name in SERIES) for line, blame in BLAMING.items()}
        print(f"{name}: {len(cases)} sets", file=sys.stderr, flush=True)
    return told


def areas(blame: Blame, cases: list[Case], trusted: bool) -> np.ndarray:
    """Of each segment or outlier of these sets."""
    told = [causes(blame(case, trusted), case.truths[""], case.segments) for case in cases]
    return np.concatenate([of.roc_auc for of in told])


# ---- telling


def table(columns: list[str], lines: list[list[str]]) -> str:
    """A table of Markdown, numbers to the right."""
    rule = ["---"] + ["---:"] * (len(columns) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [columns, rule, *lines])


def finding_table(found: Finding, setting: int) -> str:
    """A line for each detector, the best mean over all tables first."""
    results, detectors = found.settings[setting], list(DETECTORS)
    areas, precisions = results.found["AUC"], results.found["AP"]
    ranks = rankdata(-np.round(areas, 9), axis=1).mean(axis=0)
    is_design = np.isin(found.names, adbench_names()[::2])
    columns = ["detector", "AUC", "design half", "other half", "mean rank", "average precision"]
    lines = [
        [
            detectors[which],
            f"{areas[:, which].mean():.3f}",
            f"{areas[is_design, which].mean():.3f}",
            f"{areas[~is_design, which].mean():.3f}",
            f"{ranks[which]:.1f}",
            f"{precisions[:, which].mean():.3f}",
        ]
        for which in np.argsort(-areas.mean(axis=0))
    ]
    return table(columns, lines)


def blaming_table(told: Blaming) -> str:
    """A line for each way to blame, the best mean over the collections first."""
    means = {line: np.mean([mean_and_error(of[line])[0] for of in told.values()]) for line in BLAMING}
    lines = [
        [line, *(_with_error(of[line]) for of in told.values()), f"{means[line]:.3f}"]
        for line in sorted(BLAMING, key=lambda line: -means[line])
    ]
    return table(["who blames", *told, "mean"], lines)


def _with_error(areas: np.ndarray) -> str:
    mean, error = mean_and_error(areas)
    return f"{mean:.3f} ± {error:.3f}"


def measured(found: Finding, told: Blaming) -> str:
    """What goes between the marks of the page."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    counts = ", ".join(f"{name} {np.isfinite(of['chance']).sum()}" for name, of in told.items())
    seeds = "1 seed" if found.seeds == 1 else f"{found.seeds} seeds"
    options = "" if found.seeds == finding.N_SEEDS else f"--seeds {found.seeds} "
    command = f"python benchmarks/leaderboard.py {options}--write docs/leaderboard.md"
    return f"""\
Measured on {dt.datetime.now(tz=dt.UTC).date()} by `{command}`:
{packages}. {len(found.names)} tables, {seeds}.

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
    parser.add_argument(
        "--seeds",
        type=int,
        choices=range(1, finding.N_SEEDS + 1),
        default=finding.N_SEEDS,
        help="for finding",
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into this page")
    arguments = parser.parse_args()
    folder = data_dir()
    if folder is None:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds adbench, smd, asd, hics, refout.")
    page = arguments.write and arguments.write.read_text(encoding="utf-8")
    if page:
        replaced(page, "")  # a page without marks should be noticed before the work
    warnings.simplefilter("ignore")  # of peers that have not converged, and of columns that hardly vary
    names, seeds = adbench_names(), []
    told = measure_blaming(folder)
    finding.warm_up(DETECTORS)
    for seed in range(arguments.seeds):
        seeds.append(finding.run_seed(names, seed, DETECTORS))
        text = measured(Finding(names, len(seeds), finding.together(seeds)), told)
        if page:
            arguments.write.write_text(replaced(page, text), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
