"""The rows that a model learned from, to compare a stream with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.comparisons import Comparisons, category_key
from whyodd.explanations.sentences import is_missing
from whyodd.explanations.variables import as_numbers
from whyodd.findings.thresholds import distribution_of, share_above
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whyodd.explainers.preparing import PreparedModel
    from whyodd.explanations.variables import Decoded, Variables
    from whyodd.inputs.written import Written

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UsualRows:
    """What the rows that a model learned from looked like.

    Attributes
    ----------
    names : tuple of str
        Of the variables.
    numbers : dict of int to ndarray
        Values of numeric variables in usual rows, ascending.
    shares : dict of int to dict of str to float
        Share of usual rows that have each category, of other variables.
    gaps : dict of int to float
        Share of usual rows without a value.
    n_rows : int
        How many rows these are.
    allowed : float, optional
        Share of normal rows that the model calls odd, if it knows.
    n_normal : int
        By how many rows it knows that.
    formats : mapping of int to Written
        How people write the values of a variable.
    """

    names: tuple[str, ...]
    numbers: dict[int, Floats]
    shares: dict[int, dict[str, float]]
    gaps: dict[int, float]
    n_rows: int
    allowed: float | None = None
    n_normal: int = 0
    formats: Mapping[int, Written] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, prepared: PreparedModel, variables: Variables) -> UsualRows | None:
        """What a model knows about its training rows; None if it does not keep them."""
        network = prepared.network
        if offers(network, "kinds"):
            decoded, n_rows = Comparisons(network, variables).usual, len(network.usual)
        elif (
            offers(network, "leave_out") and network.rows is not None and network.n_rows == network.n_centers
        ):
            decoded, n_rows = Comparisons(network, variables).known, network.n_centers
        else:
            return None
        # A number relative to its context has no range of its own to compare with.
        numbers = {v: values for v, values in decoded.numbers.items() if v not in variables.relative}
        decoded = replace(decoded, numbers=numbers)
        allowed, n_normal = _allowed(model, prepared)
        return cls(
            variables.names,
            *_described(decoded),
            n_rows=n_rows,
            allowed=allowed,
            n_normal=n_normal,
            formats=variables.formats,
        )

    @classmethod
    def of_data(
        cls, data: NDArray[Any], model: Any, prepared: PreparedModel, variables: Variables
    ) -> UsualRows:
        """Rows of a stream (n, d) that replace those that a model does not keep."""
        numbers, shares, gaps = {}, {}, {}
        for variable in range(data.shape[1]):
            column = ColumnValues.of(data[:, variable])
            gaps[variable] = column.gap_share
            if column.numbers is not None:
                numbers[variable] = np.sort(column.numbers)
            else:
                shares[variable] = column.shares
        allowed, n_normal = _allowed(model, prepared)
        names, forms = variables.names, variables.formats
        return cls(names, numbers, shares, gaps, len(data), allowed, n_normal, forms)


def _allowed(model: Any, prepared: PreparedModel) -> tuple[float | None, int]:
    """Share of normal rows above the threshold, and the number of rows that measure it."""
    known = distribution_of(model)
    if known is None or prepared.threshold is None:
        return None, 0
    return share_above(prepared.threshold, known), known.scores.size


def _described(decoded: Decoded) -> tuple[dict[int, Floats], dict[int, dict[str, float]], dict[int, float]]:
    """Numbers in order, shares of categories, and shares of gaps."""
    numbers, shares, gaps = {}, {}, {}
    for variable, values in decoded.numbers.items():
        is_there = np.isfinite(values)
        if is_there.any():
            numbers[variable], gaps[variable] = np.sort(values[is_there]), 1.0 - float(is_there.mean())
    for variable, (codes, known) in decoded.categories.items():
        present = codes[codes >= 0]
        counts = Counter(category_key(known[code]) for code in present.tolist())
        shares[variable] = {name: count / max(present.size, 1) for name, count in counts.items()}
        gaps[variable] = 1.0 - present.size / max(codes.size, 1)
    return numbers, shares, gaps


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """Values of one variable in a window.

    Attributes
    ----------
    numbers : ndarray or None
        Without gaps; None if they are categories.
    shares : dict of str to float
        Share of each category among values that are there.
    gap_share : float
        Share of rows without a value.
    """

    numbers: Floats | None
    shares: dict[str, float]
    gap_share: float

    @classmethod
    def of(cls, values: NDArray[Any], *, as_categories: bool = False) -> ColumnValues:
        """From values (n,) in raw units."""
        if values.dtype.kind == "f":
            gaps = np.isnan(values)
        else:
            gaps = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
        present, share = values[~gaps], float(gaps.mean())
        numbers = as_numbers(present[:, None])[:, 0]
        if not as_categories and np.isfinite(numbers).all():
            return cls(numbers, {}, share)
        counts = Counter(category_key(value) for value in present.tolist())
        return cls(None, {name: count / present.size for name, count in counts.items()}, share)
