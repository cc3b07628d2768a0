"""Training in parts beside training at once: what is found, and what a sample of rows adds to o.

Run: python benchmarks/parts.py [--quick] [--tables NAME ...]

Found in eight parts
    The 25 tables of ADBench, whole, as they are stored: a part has rows that stand together, so that parts
    differ. ``whyodd.auto`` on the table beside ``TableSummary.of`` on eight parts, merged, ``fit``; with room
    for 20,000 rows, as it is by default, and for 2,000, the fewest that a committee learns from and compares
    with. Learned from themselves, without labels, each row scored without itself; and from half of the
    normal rows, trusted, all others scored. At most 10,000 rows of a table are scored, the same by all, with
    all anomalies among them up to half. AUC are means over five seeds (``--quick``: two). The spread beside
    them is the standard deviation from seed to seed of training at once: a committee learns from 1,000 rows
    drawn at random (4,000 trusted), so that two seeds differ, in parts or not.

What a sample adds to o
    A model of 1,000 rows, drawn as ``partial_fit`` does, beside the same model of all up to 10,000. The error
    of o = -log g of a kernel density with m of n rows as centers is predicted to be
    √((E k²/g² - 1)(1/m - 1/n)), as long as it is small: where it is not, few centers are near, and o is about
    the squared distance to the nearest one. The bandwidth is that of the sample; ranks are those of all rows.
    The error of the k-th neighbour's distance, relative to it, is predicted to be √((1 - m/n)/k')/d', where
    k' is k in the sample, and d' = d log(rows within r)/d log r is how many dimensions there are around the
    row. Both are root mean squares over 500 rows that are not in the table, and five samples. Columns are
    standardised, equal rows are one. Gaussians have no such error, a committee none beyond its own draw.

Time
    Summarising a table of a million rows and 20 columns in eight parts, and merging, over ``describe()`` of
    Polars for the same table, best of three turns.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

import whyodd
from realdata import adbench_names, data_dir, labelled_adbench
from sidebyside import best_of_turns, print_table
from whyodd.maths.priority_sample import PrioritySample

N_PARTS, N_SEEDS, MOST_SCORED, ROOMS = 8, 5, 10_000, (20_000, 2_000)
SETTINGS = ("learned from themselves", "learned from clean rows")
# Rows of the sample, of all that are learned from, and of those that are scored.
SAMPLED, LEARNED, SCORED, DRAWS = 1_000, 10_000, 500, 5
# An error of log g that is so small is one of a sum of many; beyond it single rows decide.
SMALL = 0.3


def in_parts(table: pl.DataFrame, *, seed: int = 0, max_rows: int = ROOMS[0]) -> whyodd.TableSummary:
    """The summary of a table that came in eight parts, merged from the last to the first."""
    parts = np.array_split(np.arange(len(table)), N_PARTS)
    summaries = [
        whyodd.TableSummary.of(table[rows[0] : rows[-1] + 1], part=i, seed=seed, max_rows=max_rows)
        for i, rows in enumerate(parts)
    ]
    return reduce(whyodd.TableSummary.merge, summaries[::-1])


def scores(pipeline: Any, table: pl.DataFrame, rows: np.ndarray, *, of_training: bool) -> np.ndarray:
    """Outlierness of some rows, each without itself if it is among those learned from."""
    network, own = pipeline[-1].network_, np.full(len(table), -1)
    if of_training:
        own[network.rows] = np.arange(network.n_centers)
        own[network.copies[:, 0]] = network.copies[:, 1]
    return network.outlierness(pipeline[:-1].transform(table[rows]), own=own[rows])


def some_rows(y: np.ndarray) -> np.ndarray:
    """Rows to score: at most ``MOST_SCORED``, and at most half of these anomalies."""
    rng = np.random.default_rng(0)
    odd, normal = (rng.permutation(np.flatnonzero(y == label)) for label in (True, False))
    odd = odd[: MOST_SCORED // 2]
    return np.sort(np.concatenate([odd, normal[: MOST_SCORED - odd.size]]))


def found(name: str, seeds: int) -> np.ndarray:
    """AUC (settings, ways, seeds) of a table: at once, and in parts with room for more and for fewer rows."""
    X, y = labelled_adbench(name)
    table = pl.DataFrame(X, schema=[f"x{i}" for i in range(X.shape[1])])
    areas = np.empty((len(SETTINGS), 1 + len(ROOMS), seeds))
    for seed in range(seeds):
        normal = np.random.default_rng(seed).permutation(np.flatnonzero(~y))
        clean = np.sort(normal[: len(normal) // 2])
        others = np.setdiff1d(np.arange(len(y)), clean)
        for setting, (train, rest) in enumerate([(table, None), (table[clean], others)]):
            new, truth = (table, y) if rest is None else (table[rest], y[rest])
            rows = some_rows(truth)
            options: dict[str, Any] = {"trusted": rest is not None, "random_state": seed}
            fits = [lambda train=train, options=options: whyodd.auto(train, **options)]
            fits += [
                lambda train=train, options=options, room=room, seed=seed: in_parts(
                    train, seed=seed, max_rows=room
                ).fit(**options)
                for room in ROOMS
            ]
            for way, fit in enumerate(fits):
                o = scores(fit(), new, rows, of_training=rest is None)
                areas[setting, way, seed] = roc_auc_score(truth[rows], o)
    return areas


def print_found(names: list[str], areas: np.ndarray) -> None:
    ways = [f"in parts ({room:,})" for room in ROOMS]
    for setting, title in enumerate(SETTINGS):
        lines, of = [], areas[:, setting]
        means, spread = of.mean(axis=2), of[:, 0].std(axis=1, ddof=1)
        gaps = means[:, 1:] - means[:, :1]
        for place, name in enumerate(names):
            rows = f"{len(labelled_adbench(name)[1]):,}"
            lines.append([name, rows, *(f"{m:.4f}" for m in means[place])])
            lines[-1] += [f"{gap:+.4f}" for gap in gaps[place]] + [f"{spread[place]:.4f}"]
        worst = [f"{gap:.4f}" for gap in np.abs(gaps).max(axis=0)]
        lines.append(["mean", "", *(f"{m:.4f}" for m in means.mean(axis=0))])
        lines[-1] += [f"{gap:+.4f}" for gap in gaps.mean(axis=0)] + [f"{spread.mean():.4f}"]
        lines.append(["largest gap", "", "", "", "", *worst, ""])
        columns = ["table", "rows", "at once", *ways, *(f"gap ({room:,})" for room in ROOMS), "seed to seed"]
        print_table(f"AUC, {title}", columns, lines)


def density_errors(X: np.ndarray, new: np.ndarray, rule: str) -> list[str]:
    """Error of log g that is predicted, and measured; their ratio, the share of rows they are of; ranks."""
    predicted, errors, ranks = [], [], []
    for seed in range(DRAWS):
        _, kept = PrioritySample.draw(len(X), SAMPLED, seed=seed)
        sampled = whyodd.KernelDensity(sigma=rule).fit(X[kept])
        sigma = sampled.kernel_.sigma
        whole = whyodd.KernelDensity(sigma=sigma).fit(X)
        squared = ((new**2).sum(axis=1)[:, None] + (X**2).sum(axis=1) - 2.0 * new @ X.T).clip(0.0)
        # Relative to the nearest row: farther away all k are 0 to floats.
        k = np.exp((squared.min(axis=1, keepdims=True) - squared) / (2.0 * sigma**2))
        spread = (k**2).mean(axis=1) / k.mean(axis=1) ** 2 - 1.0
        predicted.append(np.sqrt(spread * (1.0 / SAMPLED - 1.0 / len(X))))
        of_sample, of_all = sampled.outlierness(new), whole.outlierness(new)
        errors.append(of_sample - of_all)
        ranks.append(spearmanr(of_sample, of_all).statistic)
    is_small, more = np.array(predicted) < SMALL, f"{np.mean(ranks):.3f}"
    if not is_small.any():
        return ["", "", "", "0%", more]
    return [*told(np.array(predicted)[is_small], np.array(errors)[is_small]), f"{is_small.mean():.0%}", more]


def neighbor_errors(X: np.ndarray, new: np.ndarray, share: float = 0.02) -> list[str]:
    """Error of the k-th neighbour's distance, relative to it: predicted, measured, and their ratio."""
    whole = whyodd.KNearestNeighbors(share, "kth").fit(X)
    k, few = whole.n_neighbors_, int(share * SAMPLED) + 1
    # Over distances about as far apart as the sample puts them.
    spread = np.exp(1.0 / np.sqrt(few))
    ends = NearestNeighbors().fit(X).kneighbors(new, int(k * spread))[0][:, [int(k / spread) - 1, -1]]
    dimensions = 2.0 / np.sqrt(few) / np.log(ends[:, 1] / ends[:, 0])
    predicted = np.sqrt((1.0 - SAMPLED / len(X)) / few) / dimensions
    errors = []
    for seed in range(DRAWS):
        _, kept = PrioritySample.draw(len(X), SAMPLED, seed=seed)
        sampled = whyodd.KNearestNeighbors(share, "kth").fit(X[kept])
        errors.append(np.log(sampled.outlierness(new) / whole.outlierness(new)))
    return told(predicted, np.array(errors))


def told(predicted: np.ndarray, errors: np.ndarray) -> list[str]:
    """Root mean squares, and their ratio."""
    expected, seen = (float(np.sqrt(np.mean(np.square(values)))) for values in (predicted, errors))
    return [f"{expected:.3f}", f"{seen:.3f}", f"{seen / expected:.2f}"]


def print_errors(names: list[str]) -> None:
    rules: dict[str, list[list[str]]] = {"median": [], "likelihood": []}
    distances = []
    for name in names:
        X, _ = labelled_adbench(name)
        X = StandardScaler().fit_transform(np.unique(X, axis=0))
        X = X[np.random.default_rng(0).permutation(len(X))]
        if len(X) < 2 * SAMPLED + SCORED:
            continue
        learned, new = X[SCORED:][:LEARNED], X[:SCORED]
        size = f"{len(learned):,} × {X.shape[1]}"
        for rule, densities in rules.items():
            densities.append([name, size, *density_errors(learned, new, rule)])
        distances.append([name, size, *neighbor_errors(learned, new)])
    columns = ["table", "rows × columns", "predicted", "measured", "ratio"]
    title = f"Error that a sample of {SAMPLED:,} rows adds"
    for rule, densities in rules.items():
        told_of = f"{title} to o of a density, sigma={rule!r}, where that is below {SMALL}"
        print_table(told_of, [*columns, "rows", "rank correlation"], densities)
    print_table(f"{title} to the distance of a 2 % neighbour, relative to it", columns, distances)


def print_time() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({f"x{i}": rng.normal(size=1_000_000) for i in range(18)})
    table = table.with_columns(
        color=pl.Series(rng.choice(["red", "green", "blue"], 1_000_000)),
        count=rng.integers(0, 100, 1_000_000),
    )
    seconds = best_of_turns({"summary": lambda: in_parts(table), "describe": table.describe}, turns=3)
    size = len(in_parts(table).to_bytes()) / 1e6
    lines = [["1,000,000 × 20", f"{seconds['summary'] / seconds['describe']:.1f}", f"{size:.1f}"]]
    print_table("Time of a summary in eight parts", ["table", "over describe()", "megabytes"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two seeds")
    parser.add_argument("--tables", nargs="*", help="some of the tables")
    options = parser.parse_args()
    if data_dir() is None:
        sys.exit("No data folder: set WHYODD_DATA.")
    names = options.tables or adbench_names()
    areas = []
    for name in names:
        start = time.perf_counter()
        areas.append(found(name, 2 if options.quick else N_SEEDS))
        took, means = time.perf_counter() - start, areas[-1].mean(axis=2).round(4).tolist()
        print(f"{name}: {took:.1f} s, {means}", file=sys.stderr, flush=True)
    print_found(names, np.array(areas))
    print_errors(names)
    print_time()


if __name__ == "__main__":
    main()
