"""The normal rows that a model compares with, in the values that people know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.findings.table import called
from whyodd.inputs.frames import as_frame, count_rows, take_rows
from whyodd.network.waist import offers, score_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation

    Indices = NDArray[np.intp]

# Rounding of values scaled back and forth, relative to the largest of the column.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Centers of a network: their names, their values, and whether they are odd themselves.

    Attributes
    ----------
    e : Explanation
        What is compared with them.
    table : data frame, optional
        The rows the model was trained on, as they were given.
    ids : sequence, optional
        What these rows are called.
    is_own : bool
        Whether these rows are those that are explained.
    """

    e: Explanation
    table: Any = None
    ids: Sequence[Any] | None = None
    is_own: bool = False

    def name(self, center: int) -> str:
        """The name of a center."""
        rows = self.e.network.rows
        if rows is None:
            return f"normal point {center} of the model"
        return (
            called(self.ids, int(rows[center])) or f"{'' if self.is_own else 'training '}row {rows[center]}"
        )

    def row(self, center: int) -> int | None:
        """Which of the explained rows a center is; None if it is none of them, or unknown."""
        rows = self.e.network.rows
        return int(rows[center]) if self.is_own and rows is not None else None

    def values(self, centers: Indices) -> NDArray[Any]:
        """(m, d) values of centers: from the table if it is given, else as the model remembers them."""
        values = values_of_centers(self.e, centers)
        frame = self._rows_of_table(centers)
        if frame is None:
            return values
        values = values.astype(object)
        for place, name in enumerate(self.e.feature_names):
            if name in frame.columns:
                values[:, place] = np.fromiter(frame[name].to_list(), dtype=object, count=len(centers))
        return values

    def value(self, center: int, name: str) -> Any:
        """The table's value of a variable in the row that is a center; None without the table."""
        frame = self._rows_of_table(np.array([center]))
        return frame[name].to_list()[0] if frame is not None and name in frame.columns else None

    def _rows_of_table(self, centers: Indices) -> Any:
        network = self.e.network
        if self.table is None or network.rows is None or count_rows(self.table) != network.n_rows:
            return None
        return as_frame(take_rows(self.table, network.rows[centers]))


def values_of_centers(e: Explanation, centers: Indices) -> NDArray[Any]:
    """(m, d) values of centers in raw units and categories; None where unknown."""
    points, variables = e.network.centers[centers], e.variables
    if variables is None or variables.decode is None:
        values = to_dense(points)
        return values if variables is None else variables.grouped(values)
    decoded = variables.decode(points)
    out = np.full((len(centers), len(variables.names)), None, dtype=object)
    for variable, numbers in decoded.numbers.items():
        if variable not in variables.relative:  # these had contexts of their own, which are not kept
            out[:, variable] = _without_rounding(numbers)
    for variable, (codes, labels) in decoded.categories.items():
        out[:, variable] = [labels[code] if code >= 0 else None for code in codes.tolist()]
    return variables.grouped(out)


def _without_rounding(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to 0 whatever differs from it by rounding alone."""
    largest = np.nanmax(np.abs(numbers), initial=0.0)
    return np.where(np.abs(numbers) < _ROUNDING * largest, 0.0, numbers)


def nearest_centers(e: Explanation) -> Indices:
    """(n,) the center that each row is mainly compared with; -1 without any."""
    nearest = [row[0].center if row else -1 for row in e.neighbors(1)]
    return np.array(nearest, dtype=np.intp)


def outlierness_of_centers(e: Explanation, centers: Indices) -> NDArray[np.float64]:
    """(m,) how odd centers are themselves; 0 for those of a linear model, which are not points.

    A center that stands for one row is judged without itself, as the rows are. One that counts for more, a
    support vector or a component of a mixture, is judged as the model does.
    """
    network = e.network
    if not offers(network, "centers") or centers.size == 0:
        return np.zeros(centers.size)
    stands_for_a_row = network.n_centers > 1 and np.allclose(network.weights, network.weights[0])
    own = centers if stands_for_a_row and offers(network, "leave_out") else None
    return score_rows(network, network.centers[centers], own=own)
