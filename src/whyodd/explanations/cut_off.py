"""Where trees separate values from those of other rows, in raw units and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explanations.sentences import (
    as_written,
    distinct_numbers,
    is_missing,
    is_number,
    judgement,
    missing_words,
    name_text,
    observation,
)
from whyodd.explanations.variables import as_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.explanations.sentences import Reason
    from whyodd.explanations.variables import Variables
    from whyodd.inputs.written import Written

    Floats = NDArray[np.float64]

_WORDS = {1: "high", -1: "low", 0: "unusual"}


@dataclass(frozen=True, eq=False)
class CutOff:
    """Cuts that isolate values, for the entries of an explanation.

    Attributes
    ----------
    low, high : ndarray of shape (n, d)
        The cuts below and above a value, in raw units; NaN where there is none or it is unknown.
    trees : ndarray of int of shape (n, d)
        In how many trees there are such cuts.
    n_trees : int
        Of how many.
    """

    low: Floats
    high: Floats
    trees: NDArray[np.int32]
    n_trees: int

    @classmethod
    def of(cls, network: Any, variables: Variables, inputs: Points, values: NDArray[Any]) -> CutOff:
        """Cuts of rows, as they reach the network, whose values (n, d) people know.

        Only a variable that is one column of the network, and a number, has cuts that can be stated.
        """
        low, high, trees = network.cuts(inputs)
        if variables.decode is not None:
            low, high, trees = _read_back(variables, inputs, (low, high, trees))
        if variables.groups is not None:
            first = [members[0] for members in variables.groups]
            low, high, trees = low[:, first], high[:, first], trees[:, first]
        # Neither a missing value nor a group of several has a side.
        is_number = np.isfinite(as_numbers(values))
        low, high = (np.where(is_number, cuts, np.nan) for cuts in (low, high))
        return cls(low, high, trees, network.n_trees)

    @property
    def direction(self) -> NDArray[np.int8]:
        """(n, d) +1 if a value is cut off as high, -1 as low, 0 in a gap or without cuts."""
        return np.isfinite(self.low).astype(np.int8) - np.isfinite(self.high).astype(np.int8)

    def take(self, rows: NDArray[np.intp]) -> CutOff:
        """The cuts of some rows."""
        return CutOff(self.low[rows], self.high[rows], self.trees[rows], self.n_trees)

    def words(self, reason: Reason, place: int) -> tuple[str, str]:
        """Judgement and sentence on an entry of the first row."""
        if is_missing(reason.value):
            return "missing", missing_words(reason)
        low, high = float(self.low[0, place]), float(self.high[0, place])
        if not is_number(reason.value) or (np.isnan(low) and np.isnan(high)):
            return judgement(reason), observation(reason)
        judged = _WORDS[reason.direction]
        value, told = _between(float(reason.value), low, high, reason.form)
        value = as_written(reason) or value
        share = f"in {self.trees[0, place]} of {self.n_trees} trees"
        return judged, f"{name_text(reason)} is {judged} ({value}: cut off {told} {share})"


def _between(value: float, low: float, high: float, form: Written | None) -> tuple[str, str]:
    """A value, and "above 3" or "between 3 and 5", with enough digits to distinguish them."""
    if np.isnan(high):
        value_text, cut = distinct_numbers(value, low, form)
        return value_text, f"above {cut}"
    if np.isnan(low):
        value_text, cut = distinct_numbers(value, high, form)
        return value_text, f"below {cut}"
    (first, below), (second, above) = (distinct_numbers(value, cut, form) for cut in (low, high))
    return max(first, second, key=len), f"between {below} and {above}"


def _read_back(
    variables: Variables, inputs: Points, cuts: tuple[Floats, Floats, NDArray[np.int32]]
) -> tuple[Floats, Floats, NDArray[np.int32]]:
    """The cuts (n, k) of columns as those (n, d) of variables, in raw units."""
    assert variables.decode is not None
    shape, rows = (inputs.shape[0], len(variables.names)), to_dense(inputs)
    low, high, trees = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, np.int32)
    owners = np.arange(shape[1]) if variables.origin is None else variables.origin
    alone = {int(owner): column for column, owner in enumerate(owners) if (owners == owner).sum() == 1}
    values = variables.decode(rows).numbers
    for of_columns in cuts[:2]:
        points = variables.decode(np.where(np.isnan(of_columns), rows, of_columns)).numbers
        for variable in points.keys() & alone.keys():
            column, value = alone[variable], values[variable]
            cut = np.where(np.isnan(of_columns[:, column]), np.nan, points[variable])
            # A step may reverse values; the side in raw units counts.
            low[:, variable] = np.where(cut < value, cut, low[:, variable])
            high[:, variable] = np.where(cut > value, cut, high[:, variable])
            trees[:, variable] = cuts[2][:, column]
    return low, high, trees
