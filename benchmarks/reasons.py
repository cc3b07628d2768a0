"""First reasons, read as an analyst would: whether they contradict the data, and say enough.

Run: python benchmarks/reasons.py [--tables NAME ...] [--show NAME]

The 50 oddest rows of each of 25 tables of ADBench, learned from itself with default settings: what
``whyodd explain data.csv`` does. Of tables with more than 3,000 rows 3,000 are drawn, as in ``finding.py``.
The first reason of each row is read, with the badge that a report shows, and compared with the distribution
of its column. What is counted, of all first reasons:

contradicts
    Called too high below the column's median, or too low above it.
middle in itself
    A value between the quartiles that is called odd in itself, without a comparison.
middle
    Values between the quartiles (these included), and how many of them have a comparison that says compared
    with what: a range of rows like it, another value that it does not go with, or the share of a category.
badge
    The badge says another thing than the sentence, its arrow points elsewhere than the range of the sentence,
    or the usual range beside it is another one.
like: inside
    Odd "for rows like it", but within the range that these rows have, and not told to be usual in itself.
pair: inside
    It "does not go with" another value, but lies within the range that such rows have.
no value
    The range ends at numbers that the column does not have, such as 2.5 where all are whole.
bare
    Nothing to compare with: no range, no other value, no share of rows.

Shares are of all first reasons. ``--show`` prints the first reasons of the 20 oddest rows of a table, each
beside the quantiles of its column, for a person to judge.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import whyodd
from realdata import adbench_names, data_dir, draw, labelled_adbench
from sidebyside import print_table
from whyodd.explanations.sentences import number
from whyodd.network.committee import DOES_NOT_GO_WITH, FOR_ROWS_LIKE_IT, IN_ITSELF

N_ODDEST, N_SHOWN = 50, 20
QUANTILES = {"min": 0.0, "1 %": 0.01, "25 %": 0.25, "50 %": 0.5, "75 %": 0.75, "99 %": 0.99, "max": 1.0}
_NUMBER = r"(-?\d[\d.]*(?:e[+-]?\d+)?)"
RANGE = re.compile(
    rf"(usually|usual in itself:|rows like it have|such rows have) (?:about {_NUMBER}|{_NUMBER} to {_NUMBER})"
)
COMBINED = ("in an unusual combination", "at odds with others")
CATEGORY = re.compile("usual rows? ha(ve|s) it|as in .* of usual rows")


@dataclass(frozen=True)
class Read:
    """One first reason, as it is read.

    Attributes
    ----------
    reason : Reason
    badge : dict
        What a report shows beside it.
    column : ndarray of shape (n,)
        All values of its variable.
    """

    reason: Any
    badge: dict[str, Any]
    column: np.ndarray

    @property
    def value(self) -> float:
        """As it is written."""
        name, words = re.escape(self.reason.name), self.reason.words
        found = re.match(rf"{name} is [^(]*\({_NUMBER}|{name} {_NUMBER} does", words)
        return float(next(filter(None, found.groups()))) if found else self.reason.value

    @property
    def is_category(self) -> bool:
        """Whether it is told by shares of rows."""
        return CATEGORY.search(self.reason.words) is not None

    @property
    def range(self) -> tuple[str, str] | None:
        """The range that the sentence has, as it is written."""
        found = RANGE.search(self.reason.words)
        if found is None:
            return None
        about, low, high = found.groups()[1:]
        return (about, about) if about else (low, high)

    @property
    def is_inside(self) -> bool:
        """Whether the value is in the range of the sentence, as both are written."""
        if self.range is None:
            return False
        low, high = map(float, self.range)
        return low <= self.value <= high and "usual in itself" not in self.reason.words

    @property
    def is_middle(self) -> bool:
        """Whether it is a number between the quartiles."""
        low, high = np.quantile(self.column, [0.25, 0.75])
        return not self.is_category and low <= self.reason.value <= high

    @property
    def is_compared(self) -> bool:
        """Whether it says compared with what, and not only that it is odd."""
        return self.reason.kind != IN_ITSELF and not self.is_bare

    @property
    def is_bare(self) -> bool:
        """Whether there is nothing in it to compare with."""
        return self.range is None and "does not go with" not in self.reason.words and not self.is_category

    @property
    def contradicts(self) -> bool:
        """Whether it is called too high below the median, or too low above it."""
        side = np.sign(self.reason.value - np.median(self.column))
        return {"too high": 1, "too low": -1}.get(self.reason.judgement, side) * side < 0

    @property
    def badge_contradicts(self) -> bool:
        """Whether what stands beside the sentence says another thing."""
        words, shown = self.reason.words, self.badge["judgement"]
        pair = shown in COMBINED or shown.startswith("at odds with ")
        says = shown in words or (pair and "does not go with" in words)
        if self.is_category:
            return shown not in ("unusual", *COMBINED)
        usual = self.badge["usual"]
        is_other = "usually" in words and usual is not None and (usual["low"], usual["high"]) != self.range
        return not says or is_other or self._points_elsewhere

    @property
    def _points_elsewhere(self) -> bool:
        arrow = self.badge["direction"]
        if self.range is None or arrow == 0:
            return False
        low, high = map(float, self.range)
        return not (self.value > high if arrow > 0 else self.value < low)

    @property
    def has_no_value(self) -> bool:
        """Whether the range ends at what no row has."""
        known = set(map(number, np.unique(self.column).tolist()))
        return self.range is not None and not set(self.range) <= known


COUNTS = {
    "contradicts": lambda read: read.contradicts and read.reason.kind == IN_ITSELF,
    "middle in itself": lambda read: read.is_middle and read.reason.kind == IN_ITSELF,
    "middle": lambda read: read.is_middle,
    "of these compared": lambda read: read.is_middle and read.is_compared,
    "badge": lambda read: read.badge_contradicts,
    "like: inside": lambda read: read.reason.kind == FOR_ROWS_LIKE_IT and read.is_inside,
    "pair: inside": lambda read: read.reason.kind == DOES_NOT_GO_WITH and read.is_inside,
    "no value": lambda read: read.has_no_value,
    "bare": lambda read: read.is_bare,
    "in itself": lambda read: read.reason.kind == IN_ITSELF,
    "like": lambda read: read.reason.kind == FOR_ROWS_LIKE_IT,
    "pair": lambda read: read.reason.kind == DOES_NOT_GO_WITH,
}


def first_reasons(name: str) -> list[Read]:
    """The first reasons of the oddest rows of a table."""
    X, _ = draw(*labelled_adbench(name), 0)
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(X.shape[1])])

    def column(reason: Any) -> np.ndarray:
        return frame[reason.name].to_numpy()

    found = whyodd.find(frame, top=N_ODDEST)
    # A report has cards of what is above the threshold.
    lowest = float(found.outlierness[found.order[N_ODDEST]])
    cards = replace(found, threshold=lowest).to_dict(N_ODDEST, checks=False)["anomalies"]
    reasons = [found.explanation.reasons(i, 1)[0] for i in range(len(cards))]
    return [
        Read(reason, next(badge for badge in card["reasons"] if badge["name"] == reason.name), column(reason))
        for reason, card in zip(reasons, cards, strict=True)
    ]


def show(name: str) -> None:
    """First reasons beside the quantiles of their columns."""
    lines = []
    for rank, read in enumerate(first_reasons(name)[:N_SHOWN], 1):
        quantiles = np.quantile(read.column, list(QUANTILES.values())).tolist()
        lines.append([str(rank), read.reason.words, read.badge["judgement"], *map(number, quantiles)])
    print_table(f"{name}: first reasons", ["rank", "reason", "badge", *QUANTILES], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    if data_dir() is None:
        sys.exit("No data folder: set WHYODD_DATA to the folder that holds adbench.")
    known = adbench_names()
    parser.add_argument("--tables", nargs="+", metavar="NAME", choices=known, help="only these tables")
    parser.add_argument("--show", metavar="NAME", choices=known, help="print the first reasons of a table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of columns that never vary
    if arguments.show:
        show(arguments.show)
        return
    lines, total = [], np.zeros(len(COUNTS) + 1)
    for name in arguments.tables or known:
        reads = first_reasons(name)
        counts = [len(reads), *(sum(map(bool, map(count, reads))) for count in COUNTS.values())]
        lines.append([name, *map(str, counts)])
        total += counts
    share = [f"{100 * count / total[0]:.1f} %" for count in total]
    lines += [["all", *(f"{count:.0f}" for count in total)], ["share", *share]]
    print_table("first reasons of the oddest rows", ["table", "reasons", *COUNTS], lines)


if __name__ == "__main__":
    main()
