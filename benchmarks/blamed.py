"""Data sets that say which variables are to blame: their readers, and what each counts as truth.

smd, asd
    Series with anomalous segments, and the variables that caused each: trained on the part without anomalies.
hics, refout
    Outliers among the rows themselves, each with one or several subspaces in which it stands out. A variable
    is to blame if any of them holds it (the union).
outlier_interpretation
    Outliers among the rows themselves, with the subspace in which each of three detectors scores it highest:
    three truths, judged one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

DETECTORS = ("copod", "hbos", "iforest")


@dataclass(frozen=True)
class Case:
    """Rows to explain, with the variables to blame.

    Attributes
    ----------
    name : str
        The file.
    train : ndarray of shape (N, d)
        Rows to learn from, standardised.
    rows : ndarray of shape (n, d)
        Rows to explain: of the segments one after the other, or of the outliers.
    truths : dict of str to ndarray of bool of shape (k, d)
        Variables to blame of each segment or outlier; by who says so, if more than one does.
    segments : ndarray of shape (k, 2), optional
        Which of the rows belong together; None if each outlier is judged by itself.
    places : ndarray of shape (n,), optional
        Where the outliers are among the rows to learn from; None for new rows.
    held_out : ndarray of shape (m, d), optional
        Normal rows that are not among those to learn from.
    series : ndarray of shape (T, d), optional
        The whole series that the segments are taken from.
    stretches : ndarray of shape (k, 2), optional
        Where each segment is in it.
    """

    name: str
    train: np.ndarray
    rows: np.ndarray
    truths: dict[str, np.ndarray]
    segments: np.ndarray | None = None
    places: np.ndarray | None = None
    held_out: np.ndarray | None = None
    series: np.ndarray | None = None
    stretches: np.ndarray | None = None

    def of_segments(self, values: np.ndarray) -> np.ndarray:
        """What the rows of the segments have, of values for the whole series."""
        return np.concatenate([values[start:stop] for start, stop in self.stretches])

    def subset(self, most: int) -> Case:
        """At most ``most`` outliers, or segments by the row in the middle of each, evenly spread."""
        n = len(self.rows) if self.segments is None else len(self.segments)
        some = np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))
        truths = {who: truth[some] for who, truth in self.truths.items()}
        if self.segments is None:
            return replace(self, rows=self.rows[some], truths=truths, places=self.places[some])
        each = np.arange(len(some))
        middle = self.segments[some].sum(axis=1) // 2
        return replace(
            self, rows=self.rows[middle], truths=truths, segments=np.stack([each, each + 1], axis=1)
        )


def series_cases(folder: Path, name: str, n_train: int, seed: int = 0) -> list[Case]:
    """Machines of smd or servers of asd: ``n_train`` random rows of their training part to learn from."""
    return [_series_case(file, n_train, seed) for file in sorted((folder / name).glob("*.npz"))]


def hidden_cases(folder: Path, name: str) -> list[Case]:
    """Sets of hics or refout: all rows to learn from."""
    return [_hidden_case(file) for file in sorted((folder / name).glob("*.npz"))]


def detector_cases(folder: Path) -> list[Case]:
    """Sets of outlier_interpretation: all rows to learn from, a truth for each detector."""
    return [_detector_case(file) for file in sorted((folder / "outlier_interpretation").glob("*.npz"))]


def standardised(train: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """(x - mean) / standard deviation of the training rows; a column that never varied keeps its unit."""
    wide = train.astype(np.float64)
    center, unit = wide.mean(axis=0), wide.std(axis=0)
    unit = np.where(np.ptp(wide, axis=0) > 0.0, unit, 1.0)
    return [(values - center) / unit for values in (train, *others)]


def union(places: np.ndarray, relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each outlier once, and every variable that any of its subspaces holds."""
    outliers, which = np.unique(places, return_inverse=True)
    truth = np.zeros((len(outliers), relevant.shape[1]), dtype=bool)
    np.logical_or.at(truth, which, relevant.astype(bool))
    return outliers, truth


def _series_case(file: Path, n_train: int, seed: int) -> Case:
    data = _read(file)
    train, test = standardised(data["train"], data["test"])
    order = np.random.default_rng(seed).permutation(len(train))
    starts, stops = data["segments"].T
    ends = np.cumsum(stops - starts)
    return Case(
        file.stem,
        train[np.sort(order[:n_train])],
        np.concatenate([test[start:stop] for start, stop in data["segments"]]),
        {"": data["segment_dims"].astype(bool)},
        segments=np.stack([ends - (stops - starts), ends], axis=1),
        held_out=train[np.sort(order[n_train : n_train + 2000])],
        series=test,
        stretches=data["segments"],
    )


def _hidden_case(file: Path) -> Case:
    data = _read(file)
    (X,) = standardised(data["X"])
    outliers, truth = union(data["explained_idx"], data["relevant"])
    return Case(file.stem, X, X[outliers], {"": truth}, places=outliers)


def _detector_case(file: Path) -> Case:
    data = _read(file)
    (X,) = standardised(data["X"])
    outliers = data["outlier_idx_copod"]
    truths = {}
    for detector in DETECTORS:
        places, truth = union(data[f"outlier_idx_{detector}"], data[f"relevant_{detector}"])
        truths[detector] = truth[np.searchsorted(places, outliers)]
    return Case(file.stem, X, X[outliers], truths, places=outliers)


def _read(file: Path) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as archive:
        return dict(archive)
