"""Isolation forests: what explaining costs beside shap and the forest's own scores, and whether it is right.

Run: python benchmarks/detectors.py [--quick] [--only speed|causes]

Speed: scikit-learn's ``IsolationForest`` with 100 trees, fitted on a table of adbench, explains 10,000 of its
rows (drawn again where there are fewer). Shapley values (the default) and ``method="splits"`` beside
``shap.TreeExplainer``, which gives the same Shapley values, and beside ``score_samples`` of the forest. All
take turns, and the best of three counts. whyodd uses all cores, and one thread in its second column; shap and
scikit-learn use one, as they do by default. What is timed of whyodd is ``decompose``, o included, and
``splits``.

Causes: the protocol of ``causes.py`` on hics, refout, smd and asd, with the same forest.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import IsolationForest

import whyodd
from causes import BASELINE, MEASURES, SERIES, by_model, print_causes, read_cases, z_scores
from realdata import adbench, data_dir
from sidebyside import best_of_turns, machine, print_table

if TYPE_CHECKING:
    from pathlib import Path

    from blamed import Case

TABLES = ("38_thyroid", "32_shuttle", "10_cover", "28_pendigits", "25_musk")
ROWS, TREES = 10_000, 100
COLLECTIONS = ("hics", "refout", "smd", "asd")


def speed(table: str, n: int, turns: int) -> list[str]:
    """A line of the table: time per row and its ratio to others."""
    import shap

    X = adbench(table)
    model = IsolationForest(n_estimators=TREES, random_state=0).fit(X)
    rows = X[np.random.default_rng(0).choice(len(X), n, replace=len(X) < n)]
    forest, explainer = whyodd.neuralize(model), shap.TreeExplainer(model)
    seconds = best_of_turns(
        {
            "shapley": partial(forest.decompose, rows),
            "one thread": partial(forest.decompose, rows, n_jobs=1),
            "splits": partial(forest.splits, rows),
            "scores": partial(model.score_samples, rows),
            "shap": partial(explainer.shap_values, rows, check_additivity=False),
        },
        turns,
    )
    apart = np.abs(forest.decompose(rows[:100]).relevance + explainer.shap_values(rows[:100])).max()
    per_row = {name: 1e6 * value / n for name, value in seconds.items()}
    return [
        f"{table} ({X.shape[1]})",
        *(f"{per_row[name]:.1f}" for name in ("shapley", "one thread", "splits", "scores", "shap")),
        *(f"{seconds['shap'] / seconds[name]:.0f} x" for name in ("shapley", "one thread", "splits")),
        *(f"{seconds[name] / seconds['scores']:.1f} x" for name in ("shapley", "one thread", "splits")),
        f"{apart:.0e}",
    ]


def print_speed(quick: bool) -> None:
    """Time per row of each table, and ratios."""
    n = 1_000 if quick else ROWS
    heads = [
        "table (variables)",
        *("Shapley", "1 thread", "splits", "scores", "shap"),
        *(f"shap / {ours}" for ours in ("whyodd", "whyodd, 1 thread", "whyodd, splits")),
        *(f"{ours} / scores" for ours in ("Shapley", "1 thread", "splits")),
        "differ by",
    ]
    lines = [speed(table, n, 1 if quick else 3) for table in (TABLES[:1] if quick else TABLES)]
    print(machine())
    print_table(f"{n:,} rows, {TREES} trees, µs per row", heads, lines)


def by_tree_explainer(fitted: object, case: Case) -> np.ndarray:
    """Minus shap's values of the path."""
    import shap

    return -shap.TreeExplainer(fitted("forest", case)).shap_values(case.rows, check_additivity=False)


def print_collection(folder: Path, name: str, quick: bool) -> None:
    """Causes by the forest, by shap and by the z-score."""
    cases = read_cases(folder, name, quick)
    rows = {case.name: case.train for case in cases}

    @cache
    def fitted(of: str) -> IsolationForest:
        return IsolationForest(n_estimators=TREES, random_state=0).fit(rows[of])

    def fit(model: str, case: Case) -> IsolationForest:  # noqa: ARG001 - there is one
        return fitted(case.name)

    lines = {
        ("isolation forest", "Shapley"): by_model(fit, "forest", "dtd"),
        ("isolation forest", "splits"): by_model(fit, "forest", "splits"),
        ("isolation forest", "shap"): partial(by_tree_explainer, fit),
        BASELINE: z_scores,
    }
    print_causes(f"{name}: all {'segments' if name in SERIES else 'outliers'}", lines, cases, MEASURES[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few tables and rows: whether it runs")
    parser.add_argument("--only", choices=("speed", "causes"), help="one of the two parts")
    arguments = parser.parse_args()
    folder = data_dir()
    if folder is None:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds adbench, hics and the others.")
    # Of shap, when it is imported.
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    warnings.filterwarnings("ignore", category=PendingDeprecationWarning)
    if arguments.only != "causes":
        print_speed(arguments.quick)
    if arguments.only != "speed":
        for name in COLLECTIONS:
            print_collection(folder, name, arguments.quick)


if __name__ == "__main__":
    main()
