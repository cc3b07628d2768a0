"""Rows that are odd for the same reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explanations.base import TABLE
from whyodd.explanations.comparisons import judgement_of
from whyodd.explanations.date_parts import EARLY, JUDGEMENTS
from whyodd.explanations.sentences import COMBINED, Reason, is_as_expected, is_missing, name_text
from whyodd.explanations.variables import deviates
from whyodd.network.committee import DOES_NOT_GO_WITH, FOR_ROWS_LIKE_IT, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation

    Indices = NDArray[np.intp]
    # Each is a variable with a judgement, as a number: column * len(_JUDGEMENTS) + place of the judgement.
    Reasons = frozenset[int]

OTHER = "other reasons"
_LIKE, _PAIR = KINDS.index(FOR_ROWS_LIKE_IT), KINDS.index(DOES_NOT_GO_WITH)
# By direction + 1, then the others, then values that are odd only beside some rows.
_JUDGEMENTS = (
    *("too low", "unusual", "too high", "missing", "new value"),
    *(judgement_of(_LIKE, direction) for direction in (-1, 0, 1)),
    judgement_of(_PAIR, 0),
    *JUDGEMENTS.values(),
    EARLY,
)
_UNUSUAL, _MISSING, _NEW, _FIRST_LIKE, _AT_ODDS = 1, 3, 4, 5, 8
_COMBINED = _JUDGEMENTS.index(COMBINED)
_MOST = 3  # leading reasons of a row
_HALF = 0.5 * (1 - 1e-12)  # of the relevance; two halves are halves whatever the order they are added in
_LEAST = 0.1 * (1 - 1e-12)  # of the relevance: a smaller one is one of many small reasons
_NONE: Reasons = frozenset()


@dataclass(frozen=True, eq=False)
class ReasonGroup:
    """Rows of an explanation that share their leading reasons.

    Attributes
    ----------
    features : tuple of str
        Variables that are leading reasons of every member; empty for the rows that share none.
    judgements : tuple of str
        What is odd about each of them in every member: "too high", "too low", "missing", "new value" or
        "unusual".
    members : ndarray of int of shape (size,)
        Positions in the explanation, the oddest row first.
    """

    features: tuple[str, ...]
    judgements: tuple[str, ...]
    members: Indices

    def __len__(self) -> int:
        return len(self.members)

    @property
    def label(self) -> str:
        """The shared reason in a few words: "bytes_out and duration too high"."""
        return label_of([readable_name(name) for name in self.features], self.judgements)

    @property
    def sentence(self) -> str:
        """How many rows share it: "12 rows: bytes_out and duration too high"."""
        return f"{count_of_rows(len(self))}: {self.label}"


def group_by_reason(e: Explanation, *, max_groups: int = 12) -> list[ReasonGroup]:
    """Rows by the reason they share; each row is in one group.

    The leading reasons of a row are the fewest variables, at most three, that together hold half of its
    relevance, each at least a tenth, with what is odd about it. Rows with the same leading reasons form a
    group. Rows whose reasons no other row shares, and the rarest groups if there are too many, go to a group
    that names only some of their leading reasons, or none. What a group names holds for all its members.

    Parameters
    ----------
    e : Explanation
        Of the rows of a table.
    max_groups : int, default 12
        At least 1.

    Returns
    -------
    list of ReasonGroup
        The largest first; the group that names no reason, if there is one, comes last.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> from whyodd.explanations.groups import group_by_reason
    >>> network = whyodd.DistanceNetwork(np.zeros((1, 3)))
    >>> e = whyodd.explain(network, np.array([[5.1, 5.0, 2.0], [0.0, 0.0, -4.0], [6.1, 6.0, 2.0]]))
    >>> [group.sentence for group in group_by_reason(e)]
    ['2 rows: x0 and x1 too high', '1 row: x2 too low']
    """
    if getattr(e, "kind", None) is not TABLE:
        raise TypeError(f"e is of type {type(e).__name__}, expected a whyodd Explanation of rows of a table.")
    if not isinstance(max_groups, Integral) or isinstance(max_groups, bool) or max_groups < 1:
        raise ValueError(f"max_groups={max_groups!r}: expected a whole number of at least 1.")
    codes = _leading(e)
    keys, key_of_row = np.unique(np.sort(codes, axis=1), axis=0, return_inverse=True)
    sets = [frozenset(key[key >= 0].tolist()) for key in keys]
    sizes = np.bincount(key_of_row.ravel(), minlength=len(sets)).tolist()
    labels = _choose(dict(zip(sets, sizes, strict=True)), Counter(codes[:, :1].ravel().tolist()), max_groups)
    group_of_key = np.array([_first_true(labels, reasons) for reasons in sets], dtype=np.intp)
    return _sorted_groups(e, sets, group_of_key, key_of_row.ravel())


def label_of(names: Sequence[str], judgements: Sequence[str]) -> str:
    """Names and judgements in a few words; variables that are odd in the same way share one.

    Examples
    --------
    >>> from whyodd.explanations.groups import label_of
    >>> label_of(["bytes", "flag", "duration"], ["too high", "unusual", "too high"])
    'bytes and duration too high, flag unusual'
    """
    alike: dict[str, list[str]] = {}
    for name, words in zip(names, judgements, strict=True):
        alike.setdefault(words, []).append(name)
    return ", ".join(f"{_listed(together)} {words}" for words, together in alike.items()) or OTHER


def count_of_rows(n: int) -> str:
    """A number of rows in words."""
    return "1 row" if n == 1 else f"{n:,} rows"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def readable_name(name: str) -> str:
    """Name of a variable on one line, cut if it is very long."""
    return name_text(Reason(name, None, None, direction=0, relevance=0.0, share=0.0))


def _leading(e: Explanation) -> Indices:
    """(n, 3) codes of the leading reasons of each row, the most relevant first; -1 beyond them."""
    order = np.argsort(-e.relevance, axis=1, kind="stable")[:, :_MOST]
    parts = np.maximum(np.take_along_axis(e.relevance, order, axis=1), 0.0).astype(np.float64)
    total = np.maximum(e.relevance, 0.0).sum(axis=1, dtype=np.float64)[:, None]
    is_leading = (np.cumsum(parts, axis=1) - parts < _HALF * total) & (parts >= _LEAST * total)
    rows, places = np.nonzero(is_leading)
    columns = order[rows, places]
    codes = np.full((len(e), _MOST), -1, dtype=np.intp)
    codes[rows, places] = columns * len(_JUDGEMENTS) + _judgements(e, rows, columns)
    return codes


def _judgements(e: Explanation, rows: Indices, columns: Indices) -> Indices:
    """:func:`whyodd.explanations.sentences.judgement` of these values, as places among the words."""
    if rows.size == 0:
        return np.empty(0, dtype=np.intp)
    values = to_dense(e.data)[rows, columns]
    places = np.asarray(e.direction)[rows, columns].astype(np.intp) + 1
    if e.reason_kinds is not None:
        kinds = e.reason_kinds[rows, columns]
        places[kinds == _LIKE] += _FIRST_LIKE
        places[kinds == _PAIR] = _AT_ODDS
        _tell_dates(e, rows, columns, places)
    else:
        _tell_combined(e, rows, columns, places)
    places[_are_missing(values)] = _MISSING
    constants: dict[int, Any] = {} if e.variables is None else e.variables.constant_at
    for entry in np.flatnonzero(np.isin(columns, list(constants))):
        if deviates(values[entry], constants[int(columns[entry])]):
            places[entry] = _NEW
    return places


def _tell_dates(e: Explanation, rows: Indices, columns: Indices, places: Indices) -> None:
    """Replace the judgement of a date by its odd part."""
    comparisons, kinds = e.comparisons, e.reason_kinds
    if comparisons is None or kinds is None:
        return
    for variable in comparisons.variables.parts:
        chosen = np.flatnonzero((columns == variable) & (places != _AT_ODDS))
        if chosen.size:
            of_rows = rows[chosen]
            own = e.excluded[of_rows] if (e.excluded[of_rows] >= 0).any() else None
            found = comparisons.judged_dates(variable, kinds[of_rows, variable], e.inputs[of_rows], own)
            places[chosen] = [_JUDGEMENTS.index(judged) for _, judged, _ in found]


def _tell_combined(e: Explanation, rows: Indices, columns: Indices, places: Indices) -> None:
    """Mark expected values as odd only in combination; not for forests."""
    if e.cut_off is not None:
        return
    data, expected = to_dense(e.data), e.expected
    for entry in np.flatnonzero(places == _UNUSUAL):
        row, column = rows[entry], columns[entry]
        fine = e.resolution(int(column))
        if is_as_expected(Reason("", data[row, column], expected[row, column], 0, 0.0, 0.0, resolution=fine)):
            places[entry] = _COMBINED


def _are_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype != object:
        return np.asarray(values != values)
    return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def _choose(sets: dict[Reasons, int], leads: Counter[int], max_groups: int) -> list[Reasons]:
    """The reasons to name, the more specific first, then those of more rows; no reason comes last.

    The smallest groups are merged, one after the other, each into one that names fewer of its reasons.
    """
    sizes = dict(sets)
    heap = [(size, -len(reasons), sorted(reasons)) for reasons, size in sizes.items() if reasons]
    heapify(heap)
    while heap:
        size, depth, codes = heappop(heap)
        reasons = frozenset(codes)
        if sizes.get(reasons) != size:  # it has grown, and is on the heap once more
            continue
        # A single row shares its reasons with no other; perhaps it shares the first of them.
        if len(sizes) <= max_groups and (size > 1 or depth == -1):
            break
        wider = _wider(codes, sizes, leads)
        sizes[wider] = sizes.get(wider, 0) + sizes.pop(reasons)
        if wider:
            heappush(heap, (sizes[wider], -len(wider), sorted(wider)))
    return sorted(
        sizes.keys() | {_NONE}, key=lambda label: (-len(label), -sizes.get(label, 0), sorted(label))
    )


def _wider(codes: list[int], sizes: dict[Reasons, int], leads: Counter[int]) -> Reasons:
    """The largest group that names all but one of these reasons; else the one that leads most rows."""
    if len(codes) == 1:
        return _NONE
    present = [part for part in map(frozenset, combinations(codes, len(codes) - 1)) if part in sizes]
    return max(present, key=sizes.__getitem__, default=frozenset([max(codes, key=leads.__getitem__)]))


def _first_true(labels: Iterable[Reasons], reasons: Reasons) -> int:
    return next(place for place, label in enumerate(labels) if label <= reasons)


def _sorted_groups(
    e: Explanation, sets: list[Reasons], group_of_key: Indices, key_of_row: Indices
) -> list[ReasonGroup]:
    """The groups, with everything true of each, by size."""
    by_oddness = np.argsort(-e.outlierness, kind="stable")
    group_of_row = group_of_key[key_of_row]
    groups = []
    for place in np.unique(group_of_row):
        # No two groups have the same label in the end: each row went to the first label true of it.
        shared = frozenset.intersection(*(sets[key] for key in np.flatnonzero(group_of_key == place)))
        groups.append(_group(e, shared, by_oddness[group_of_row[by_oddness] == place]))
    rank = np.argsort(by_oddness, kind="stable")
    return sorted(groups, key=lambda group: (not group.features, -len(group), rank[group.members[0]]))


def _group(e: Explanation, shared: Reasons, members: Indices) -> ReasonGroup:
    """Group whose reasons are named in the order of their relevance."""
    codes = np.array(sorted(shared), dtype=np.intp)
    columns, places = np.divmod(codes, len(_JUDGEMENTS))
    held = e.relevance[np.ix_(members, columns)].sum(axis=0, dtype=np.float64)
    order = np.argsort(-held, kind="stable")
    return ReasonGroup(
        tuple(e.feature_names[c] for c in columns[order]),
        tuple(_JUDGEMENTS[place] for place in places[order]),
        members,
    )


def leading_labels(e: Explanation) -> list[str]:
    """Leading reasons of each row in a few words, as groups of rows are labelled.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> from whyodd.explanations.groups import leading_labels
    >>> leading_labels(whyodd.explain(whyodd.DistanceNetwork(np.zeros((1, 2))), np.array([[5.0, -4.0]])))
    ['x0 too high']
    """
    names = [readable_name(name) for name in e.feature_names]
    return [_label_of_codes([code for code in row if code >= 0], names) for row in _leading(e).tolist()]


def _label_of_codes(codes: Sequence[int], names: Sequence[str]) -> str:
    count = len(_JUDGEMENTS)
    return label_of([names[code // count] for code in codes], [_JUDGEMENTS[code % count] for code in codes])
