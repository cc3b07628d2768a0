"""What is usual: the middle 90 % of numbers, the most common of categories, among normal rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explanations.sentences import is_missing, is_number
from whyodd.findings.summary.rows.known_rows import values_of_centers
from whyodd.inputs.frames import as_frame, count_rows, take_rows
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
# Quantiles of so many rows are those of all to a tenth of a percent.
_MOST_ROWS = 100_000
# With fewer the middle 90 % says little.
_FEWEST_ROWS = 20
_CATEGORIES = 3
_UNKNOWN = (
    "What is usual is not known: neither the rows the model was trained on nor enough others are at hand."
)


@dataclass(frozen=True)
class Usual:
    """Ranges and common values of the variables that people know.

    Attributes
    ----------
    source : str
        Whose they are, or that they are not known, in a sentence.
    summary : callable
        The range of a number by its name, or the most common values of a category; None if not known.
    """

    source: str
    summary: Callable[[str], Summary]
    _known: dict[str, Summary] = field(default_factory=dict, repr=False)

    def range(self, name: str) -> Range | None:
        """5 % and 95 % quantile of a number; None of anything else."""
        return self._of(name)[0]

    def common(self, name: str) -> Common | None:
        """The most common categories and their shares; None of a number."""
        return self._of(name)[1]

    def _of(self, name: str) -> Summary:
        if name not in self._known:
            self._known[name] = self.summary(name)
        return self._known[name]


def usual_values(e: Explanation, normal: Any, below: NDArray[np.bool_]) -> Usual:
    """What is usual among the best rows there are to compare with: those of the sentences, if these have any.

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
    """What the sentences have: a card must not name two ranges of one variable."""
    places = {name: i for i, name in enumerate(e.feature_names)}

    def summary(name: str) -> Summary:
        shares = comparisons.usual_shares(places[name])
        return comparisons.usual_range(places[name]), None if shares is None else shares[:_CATEGORIES]

    n = len(comparisons.network.usual)
    return Usual(_sentence(f"{n:,} usual rows, those learned from without the oddest"), summary)


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

    source = _sentence(f"the {n:,} rows the model was trained on")
    return Usual(source, lambda name: _summed_up(column(name)))


def _values(series: nw.Series[Any]) -> NDArray[Any]:
    if series.dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy()
    return np.fromiter(series.to_list(), dtype=object, count=len(series))


def _read(series: nw.Series[Any], form: Written) -> NDArray[Any]:
    """Texts as the values they stand for."""
    values = _values(series)
    return form.parse(values) if values.dtype == object and form.dtype == "float64" else values


def _of_rows(e: Explanation, below: NDArray[np.bool_]) -> Usual:
    values = to_dense(e.data)[below]
    places = {name: i for i, name in enumerate(e.feature_names)}
    source = _sentence(f"the {len(values):,} rows that are not above the threshold")
    return Usual(source, lambda name: _summed_up(_equally(values[:, places[name]])))


def _of_centers(e: Explanation) -> Usual:
    """Of the normal points that the model keeps; those of a support vector machine are at the edge."""
    if not offers(e.network, "centers") or e.network.n_centers < _FEWEST_ROWS:
        return Usual(_UNKNOWN, lambda name: (None, None))  # noqa: ARG005
    columns = dict(zip(e.feature_names, values_of_centers(e, np.arange(e.network.n_centers)).T, strict=True))
    source = _sentence(f"the {e.network.n_centers:,} normal points that the model keeps")
    return Usual(source, lambda name: _summed_up((columns[name], e.network.weights)))


def _sentence(whose: str) -> str:
    return f"Usual ranges are the middle 90 % of {whose}."


def _equally(values: NDArray[Any]) -> Column:
    return values, np.full(len(values), 1.0 / max(len(values), 1))


def _summed_up(column: Column | None) -> Summary:
    """Range of numbers, or common values of what may be categories."""
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
    return [(value, mass / total) for value, mass in masses.most_common(_CATEGORIES)]


def scale(usual: Mapping[str, float]) -> dict[str, float]:
    """Places in [0, 1] of numbers by name, on a scale that holds all of them with a little room.

    Examples
    --------
    >>> from whyodd.findings.summary.rows.usual import scale
    >>> scale({"at": 10.0, "low": 0.0})
    {'at': 0.95..., 'low': 0.05}
    """
    low, high = min(usual.values()), max(usual.values())
    if not high - low > 0.0 or not np.isfinite(high - low):
        return dict.fromkeys(usual, 0.5)
    return {name: float(0.05 + 0.9 * (value - low) / (high - low)) for name, value in usual.items()}
