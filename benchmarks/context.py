"""Odd given what? Rows compared with rows alike in context (``given=``), beside no context and a wrong one.

Run: python benchmarks/context.py [--data made sparse asd smd] [--first TABLES] [--contexts ...]

Learned from rows that are trusted, judged on others, by the defaults of ``whyodd.auto``. Contexts:

none    the time is left out
column  the time is a column like any other
given   ``given=["when"]``: weekday and time of day
wrong   ``given=["noise"]``: a category of five values drawn at random
number  ``given=["noise"]``: a number drawn at random

made: 40 weeks of hourly rows with a daily and a weekly rhythm (orders, visits, load) and a column without
one; the first 20 weeks are learned from. sparse: the same, but only one of ten of the rows between 22:00 and
06:00 is there, as where little happens at night. asd: servers, a row each five minutes, 30 days and then 15.
smd: machines, a row a minute, 16 days and then 16; of both 3,000 random training rows are learned from and at
most 1,500 test rows judged. Their clocks are not known: ``when`` is made of the number of the step.

"alarms": share of normal rows above the threshold, which allows 1 %; "night": of those between 22:00 and
06:00. One of 20 normal rows gets values that are usual and wrong for its time: those of half a day, or three
and a half days, later. "value": of one column, drawn at random, which the other columns may betray too;
"row": of all, which nothing but the time betrays, and in columns without a rhythm nothing does. Both are
areas under the ROC curve over these and normal rows; "labelled" is that of the rows that people labelled.
"cause": how often the changed column is the first reason, among rows with one changed value above the
threshold.

Four things changed after looking at figures: spreads are shrunk by what chance explains, 20 rows alike are
enough, not 30, and the hour is a level of its own below the weekday (on made and sparse); and a row is
compared with other days, not with its own (on the first two servers of asd, whose false alarms fell from
0.045 to 0.008 by it). The other four servers and smd played no part.

======  =======  ======  =====  =====  =====  ========  =====
data    context  alarms  night  value  row    labelled  cause
======  =======  ======  =====  =====  =====  ========  =====
made    none     0.006   0.004  0.810  0.546            0.957
made    column   0.007   0.002  0.858  0.974            1.000
made    given    0.005   0.006  0.850  0.963            1.000
sparse  none     0.008   0.000  0.796  0.546            1.000
sparse  column   0.007   0.039  0.836  0.933            1.000
sparse  given    0.006   0.013  0.812  0.952            1.000
sparse  wrong    0.007   0.000  0.820  0.534            1.000
asd     none     0.014   0.007  0.897  0.513  0.723     0.980
asd     given    0.022   0.019  0.864  0.964  0.811     0.955
asd     wrong    0.012   0.007  0.888  0.512  0.722     0.990
smd     none     0.215   0.201  0.704  0.540  0.804     0.469
smd     given    0.276   0.284  0.682  0.809  0.725     0.622
smd     wrong    0.199   0.185  0.705  0.540  0.805     0.469
======  =======  ======  =====  =====  =====  ========  =====

Machines of smd are not what they were two weeks before: a fifth of their normal rows is above a threshold
that allows 1 %, with context or without. Where data drift, no threshold learned earlier holds.

A time among other columns makes rows at night odd for being rare; as context it does not, and rows with the
values of another time stand out more. A single value is betrayed by the other columns as well, and there the
time as a column is a little ahead. A context that says nothing changes little.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import whyodd
from realdata import data_dir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

N_TRAIN, N_TEST, PLANTED = 3_000, 1_500, 0.05
CONTEXTS = ("none", "column", "given", "wrong", "number")


def made(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, int]:
    """A table with a daily and a weekly rhythm."""
    when = pd.date_range("2024-01-01", periods=40 * 7 * 24, freq="h")
    hour, is_weekend = when.hour.to_numpy(), when.weekday.to_numpy() >= 5
    day = np.sin(2.0 * np.pi * (hour - 9) / 24)
    orders = rng.poisson(np.where(is_weekend, 150 + 100 * day, 400 + 300 * day))
    visits = rng.poisson(20.0 * (40 + 25 * day - 15 * is_weekend))
    load = np.exp(0.5 * day - 0.4 * is_weekend + 0.1 * rng.normal(size=when.size))
    free = rng.normal(50, 5, when.size)
    frame = pd.DataFrame({"when": when, "orders": orders, "visits": visits, "load": load, "free": free})
    half = len(frame) // 2
    return frame[:half], frame[half:].reset_index(drop=True), np.zeros(half, dtype=bool), 24


def at_night(frame: pd.DataFrame) -> np.ndarray:
    """Rows between 22:00 and 06:00."""
    return ((frame["when"].dt.hour + 2) % 24 < 8).to_numpy()


def series(path: Path, minutes: int) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, int]:
    """A recorded series with a time made of the number of the step."""
    with np.load(path) as kept:
        train, test, labels = kept["train"], kept["test"], kept["test_label"]
    frame = pd.DataFrame(np.vstack([train, test])).rename(columns=lambda j: f"c{j}")
    step = pd.to_timedelta(minutes * np.arange(len(frame)), unit="min")
    frame.insert(0, "when", pd.Timestamp("2024-01-01") + step)
    known, new = frame[: len(train)], frame[len(train) :].reset_index(drop=True)
    return known, new, np.asarray(labels) > 0, 24 * 60 // minutes


def planted(
    test: pd.DataFrame, normal: np.ndarray, day: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of which some have values of another time, and which: 1 one value, 2 all of them, 0 none."""
    changed, columns = test.copy(), [name for name in test if name != "when"]
    possible = normal[normal + 3 * day + day // 2 < len(test)]
    rows = rng.choice(possible, int(PLANTED * normal.size), replace=False)
    what = np.zeros(len(test), dtype=int)
    for place, row in enumerate(rows):
        later = row + rng.choice([day // 2, 3 * day + day // 2])
        which = columns if place % 2 else [rng.choice(columns)]
        if (test.loc[row, which] != test.loc[later, which]).any():
            changed.loc[row, which] = test.loc[later, which]
            what[row] = 1 + place % 2
    return changed, what


def judged(
    train: pd.DataFrame, test: pd.DataFrame, context: str, rng: np.random.Generator
) -> whyodd.Explanation:
    """The test rows explained."""
    given = {"given": ["when"], "wrong": ["noise"], "number": ["noise"]}.get(context)
    train, test = train.copy(), test.copy()
    if context not in ("column", "given"):
        train, test = train.drop(columns="when"), test.drop(columns="when")
    for frame in (train, test):
        if context == "wrong":
            frame["noise"] = rng.choice(list("abcde"), len(frame))
        if context == "number":
            frame["noise"] = rng.normal(size=len(frame))
    model = whyodd.auto(train, trusted=True, given=given)
    return whyodd.explain(model, test)


def one(
    train: pd.DataFrame,
    test: pd.DataFrame,
    labels: np.ndarray,
    day: int,
    *,
    contexts: Sequence[str],
    is_sparse: bool,
) -> dict[str, dict[str, float]]:
    """Figures of one table, by context."""
    rng = np.random.default_rng(0)
    changed, what = planted(test, np.flatnonzero(~labels), day, rng)
    known, new = (np.arange(len(frame)) for frame in (train, test))
    if is_sparse:
        known = known[~at_night(train) | (rng.random(known.size) < 0.1)]
        new = new[~at_night(test) | (rng.random(new.size) < 0.1)]
    known, new = np.sort(rng.permutation(known)[:N_TRAIN]), np.sort(rng.permutation(new)[:N_TEST])
    night, label, of = at_night(test)[new], labels[new], what[new]
    is_normal = (of == 0) & ~label
    figures = {}
    for context in contexts:
        e = judged(train.iloc[known], changed.iloc[new], context, np.random.default_rng(1))
        is_alarm = e.outlierness > e.threshold
        moved = np.flatnonzero((of == 1) & is_alarm)
        first = [e.feature_names[column] for column in e.relevance[moved].argmax(axis=1)]
        right = [
            changed.at[row, name] != test.at[row, name]
            for row, name in zip(new[moved], first, strict=True)
            if name in test
        ]
        figures[context] = {
            "alarms": is_alarm[is_normal].mean(),
            "night": is_alarm[is_normal & night].mean(),
            "value": auc(of == 1, is_normal, e.outlierness),
            "row": auc(of == 2, is_normal, e.outlierness),
            "labelled": auc(label, is_normal, e.outlierness),
            "cause": sum(right) / max(moved.size, 1),
        }
    return figures


def auc(is_odd: np.ndarray, is_normal: np.ndarray, scores: np.ndarray) -> float:
    """Area under the ROC curve; NaN if there is nothing odd."""
    either = is_odd | is_normal
    return float(roc_auc_score(is_odd[either], scores[either])) if is_odd.any() else np.nan


def tables(name: str) -> dict[str, tuple[pd.DataFrame, pd.DataFrame, np.ndarray, int]]:
    """Tables of a collection by name."""
    if name in ("made", "sparse"):
        return {name: made(np.random.default_rng(0))}
    minutes = {"asd": 5, "smd": 1}[name]
    return {path.stem: series(path, minutes) for path in sorted((data_dir() / name).glob("*.npz"))}


def main() -> None:
    """Print a table for each collection."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=["made", "sparse", "asd", "smd"])
    parser.add_argument("--first", type=int, help="only so many tables of each collection")
    parser.add_argument("--contexts", nargs="*", default=CONTEXTS, choices=CONTEXTS)
    options = parser.parse_args()
    names = options.data
    if data_dir() is None and set(names) - {"made", "sparse"}:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds asd and smd.")
    warnings.simplefilter("ignore")
    titles = ("alarms", "night", "value", "row", "labelled", "cause")
    print(f"{'data':6} {'context':7}", *(f"{title:>8}" for title in titles))
    for name in names:
        chosen = list(tables(name).values())[: options.first]
        found = [one(*table, contexts=options.contexts, is_sparse=name == "sparse") for table in chosen]
        for context in options.contexts:
            mean = pd.DataFrame([figures[context] for figures in found]).mean()
            print(f"{name:6} {context:7}", *(f"{mean[title]:8.3f}" for title in titles), flush=True)


if __name__ == "__main__":
    main()
