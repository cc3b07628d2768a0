"""What is usual: the middle 90 % of numbers, the most common of categories, among normal rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explanations.sentences import is_missing, is_number
from whyodd.explanations.variables import as_numbers
from whyodd.findings.summary.rows.known_rows import values_of_centers
from whyodd.inputs.frames import as_frame, count_rows, take_rows
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.explanations.comparisons import Comparisons
    from whyodd.explanations.table import Explanation
    from whyodd.inputs.written import Written

    # Normal values of a variable, and how much each counts.
    Column = tuple[NDArray[Any], NDArray[np.float64]]
    Range = tuple[float, float]
    Common = list[tuple[Any, float]]
    # The range of a number, or the most common values of a category.
    Summary = tuple[Range | None, Common | None]

_MIDDLE = (0.05, 0.95)
# Quantiles of this many rows are accurate to a tenth of a percent.
_MOST_ROWS = 100_000
_MOST_DRAWN = 2_000  # rows; a picture would not show more
# With fewer rows, the middle 90 % says little.
_FEWEST_ROWS = 20
_UNKNOWN = "Usual ranges are unknown: neither the training rows nor enough other rows are available."


@dataclass(frozen=True)
class Usual:
    """Ranges and common values of the variables that people know.

    Attributes
    ----------
    source : str
        Whose they are, or that they are not known, in a sentence.
    summary : callable
        The range of a number by its name, or the shares of all values of a category, the largest first; None
        if not known.
    column : callable
        The values of a number by its name, and how much each counts; None if not known.
    """

    source: str
    summary: Callable[[str], Summary]
    column: Callable[[str], Column | None]
    _known: dict[str, Summary] = field(default_factory=dict, repr=False)
    _columns: dict[str, Column | None] = field(default_factory=dict, repr=False)

    def range(self, name: str) -> Range | None:
        """5 % and 95 % quantile of a number; None for other variables."""
        return self._of(name)[0]

    def common(self, name: str) -> Common | None:
        """All categories and their shares, the most common first; None for a number."""
        return self._of(name)[1]

    def numbers(self, name: str) -> Column | None:
        """The numbers behind the range, and their weights; None for other variables."""
        if name not in self._columns:
            found = None if self.range(name) is None else self.column(name)
            self._columns[name] = None if found is None else _drawn(*found)
        return self._columns[name]

    def _of(self, name: str) -> Summary:
        if name not in self._known:
            self._known[name] = self.summary(name)
        return self._known[name]


def usual_values(e: Explanation, normal: Any, below: NDArray[np.bool_]) -> Usual:
    """The usual values among the best rows to compare with: those of the sentences, if there are any.

    Parameters
    ----------
    e : Explanation
    normal : data frame or array of shape (N, d), optional
        Normal rows, in the columns that people know.
    below : ndarray of bool of shape (n,)
        Which explained rows are not odd.
    """
    if e.comparisons is not None:
        return _of_comparisons(e, e.comparisons)
    if normal is not None:
        return _of_table(normal, e)
    if np.count_nonzero(below) >= _FEWEST_ROWS:
        return _of_rows(e, below)
    return _of_centers(e)


def _of_comparisons(e: Explanation, comparisons: Comparisons) -> Usual:
    """The ranges of the sentences, since a card must not give two ranges for one variable."""
    places = {name: i for i, name in enumerate(e.feature_names)}

    def summary(name: str) -> Summary:
        return comparisons.usual_range(places[name]), comparisons.usual_shares(places[name])

    n = len(comparisons.network.usual)
    source = _sentence(f"{n:,} usual rows: the training rows without the oddest")
    return Usual(source, summary, lambda name: _equally(comparisons.usual.numbers[places[name]]))


def _of_table(normal: Any, e: Explanation) -> Usual:
    n = count_rows(normal)
    part = normal if n <= _MOST_ROWS else take_rows(normal, np.linspace(0, n - 1, _MOST_ROWS).astype(np.intp))
    frame = as_frame(part)
    places = {name: i for i, name in enumerate(e.feature_names)}

    def column(name: str) -> Column | None:
        if frame is None:
            values = np.asarray(to_dense(part))
            return _equally(values[:, places[name]]) if values.shape[1] == len(places) else None
        if name not in frame.columns:
            return None
        form = None if e.variables is None else e.variables.format_at(places[name])
        return _equally(_values(frame[name]) if form is None else _read(frame[name], form))

    source = _sentence(f"the {n:,} training rows")
    return _of_columns(source, column)


def _values(series: nw.Series[Any]) -> NDArray[Any]:
    if series.dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy()
    return np.fromiter(series.to_list(), dtype=object, count=len(series))


def _read(series: nw.Series[Any], form: Written) -> NDArray[Any]:
    """Texts read as the values they stand for."""
    values = _values(series)
    return form.parse(values) if values.dtype == object and form.dtype == "float64" else values


def _of_rows(e: Explanation, below: NDArray[np.bool_]) -> Usual:
    values = to_dense(e.data)[below]
    places = {name: i for i, name in enumerate(e.feature_names)}
    source = _sentence(f"the {len(values):,} rows that are not above the threshold")
    return _of_columns(source, lambda name: _equally(values[:, places[name]]))


def _of_centers(e: Explanation) -> Usual:
    """From the normal points that the model keeps; those of a support vector machine are at the edge."""
    if not offers(e.network, "centers") or e.network.n_centers < _FEWEST_ROWS:
        return _of_columns(_UNKNOWN, lambda name: None)  # noqa: ARG005
    columns = dict(zip(e.feature_names, values_of_centers(e, np.arange(e.network.n_centers)).T, strict=True))
    source = _sentence(f"the {e.network.n_centers:,} normal points that the model keeps")
    return _of_columns(source, lambda name: (columns[name], e.network.weights))


def _of_columns(source: str, column: Callable[[str], Column | None]) -> Usual:
    return Usual(source, lambda name: _summed_up(column(name)), column)


def _sentence(whose: str) -> str:
    return f"Usual ranges are the middle 90 % of {whose}."


def _equally(values: NDArray[Any]) -> Column:
    return values, np.full(len(values), 1.0 / max(len(values), 1))


def _drawn(values: NDArray[Any], weights: NDArray[np.float64]) -> Column:
    """As many numbers as a small picture can show."""
    step = 1 + len(values) // _MOST_DRAWN
    return as_numbers(values[::step, np.newaxis])[:, 0], weights[::step]


def _summed_up(column: Column | None) -> Summary:
    """Range of numbers, or common values of a variable that may be a category."""
    if column is None:
        return None, None
    values, weights = column
    if values.dtype.kind in "iuf":
        known = ~np.isnan(values)
        return _middle(values[known], weights[known]), None
    known = np.fromiter((not is_missing(value) for value in values), dtype=bool, count=len(values))
    values, weights = values[known], weights[known]
    if all(map(is_number, values)):
        return _middle(values.astype(np.float64), weights), None
    if all(isinstance(value, (str, bool, np.bool_, int)) for value in values):
        return None, _most_common(values, weights)
    return None, None


def _middle(values: NDArray[Any], weights: NDArray[np.float64]) -> Range | None:
    if values.size == 0 or not weights.sum() > 0.0:
        return None
    low, high = np.quantile(values, _MIDDLE, weights=weights, method="inverted_cdf").tolist()
    return float(low), float(high)


def _most_common(values: NDArray[Any], weights: NDArray[np.float64]) -> Common:
    masses: Counter[Any] = Counter()
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        masses[value] += weight
    total = sum(masses.values()) or 1.0
    return [(value, mass / total) for value, mass in masses.most_common()]
