"""The way in: what changed between two tables."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.changes.comparison import Change, ColumnPart, Comparison
from whyodd.changes.evidence import MOST_RELATED, Columns, Relations, chosen_rows, gather, standardised
from whyodd.changes.pictures import of_column, of_pair
from whyodd.changes.tables import MISSING, read_both
from whyodd.changes.words import group_told, named, relation_told, told
from whyodd.explanations.sentences import distinct_numbers, percent
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from whyodd.changes.evidence import Evidence, Group, Groups, Kinds
    from whyodd.changes.tables import Element, TwoTables

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

# Rows of each table that are compared, and how many of them are coupled, which takes cubic time.
_MOST_COMPARED, _MOST_COUPLED = 4_000, 300
_PERMUTATIONS = 199
# Fewer rows show only large differences.
_FEW_ROWS = 30
# A change is that of a group if at most this part of the change lies outside of it.
_OUTSIDE = 0.5
# Rows are a kind of their own if they are few and twice as far from the other table as from one another.
# Anything else is a change of a column or a group.
_SEPARATE, _LARGEST_KIND = 2.0, 0.1
_KINDS_TOLD, _COLUMNS_OF_KIND, _FAR_KIND = 5, 3, 1.0
_PICTURES = 6
_ASIDE_TOLD = 8


def compare(
    old: Any,
    new: Any,
    *,
    types: Mapping[str, str] | None = None,
    false_alarms: float = 0.05,
    permutations: int = _PERMUTATIONS,
    random_state: int = 0,
    progress: bool = False,
    names: tuple[str, str] = ("old", "new"),
    made_by: str | None = None,
) -> Comparison:
    """Find what changed between two tables: columns, relations between columns, groups and kinds of rows.

    The rows of one table are coupled with those of the other so that the mean squared distance is smallest
    (the squared Wasserstein distance W²). This distance is a sum over columns. The part of a column is what
    its own distribution explains, plus a rest that only relations with other columns explain. Tables made
    of the same rows at random differ by chance; that difference is subtracted.

    Parameters
    ----------
    old, new : data frame, dict of columns, or array of shape (n, d)
        pandas, Polars or Arrow; at least two rows each. Columns are matched by their names.
    types : dict of str to str, optional
        Kinds of columns that overrule what the rules say, as for :func:`whyodd.auto`.
    false_alarms : float, default 0.05
        Share of pairs of equal tables that may be reported as different.
    permutations : int, default 199
        Number of random splits of the rows, which show what chance alone does.
    random_state : int, default 0
        The same number gives the same result.
    progress : bool, default False
        Show progress on standard error.
    names : tuple of str, default ("old", "new")
        Names of the tables.
    made_by : str, optional
        The command that made it.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> rng = np.random.default_rng(0)
    >>> old, new = ({"amount": rng.normal(40, 5, 90), "age": rng.normal(40, 9, 90)} for _ in range(2))
    >>> new["amount"] = new["amount"] + 20.0
    >>> print(whyodd.compare(old, new).changes[0].words)
    amount rose from 40.5 to 58.3 (median)
    """
    _check_options(false_alarms, permutations, random_state)
    both = read_both(old, new, types, _MOST_COMPARED, int(random_state))
    coupled = chosen_rows(both.is_new, _MOST_COUPLED, int(random_state))
    bar = progress_bar(permutations, "Comparing") if progress else nullcontext(lambda done: None)  # noqa: ARG005
    with bar as say:
        evidence, measured = gather(both, coupled, int(permutations), int(random_state), say)
    judged = _Judged(both, evidence, measured, float(false_alarms))
    changes = tuple(judged.changes())
    return Comparison(
        changes=changes,
        columns=tuple(judged.columns()),
        distance=judged.distance,
        chance=float(evidence.chance["parts"].sum()),
        p_value=0.0 if both.retyped else evidence.p_value,
        distance_p_value=judged.distance_p_value,
        false_alarms=float(false_alarms),
        n_old=both.sizes[0],
        n_new=both.sizes[1],
        n_compared=both.is_new.size // 2,
        n_coupled=coupled.size // 2,
        names=names,
        notes=tuple(_notes(both, coupled.size // 2)),
        pictures=tuple(judged.pictures(coupled)),
        made_by=made_by,
    )


def _check_options(false_alarms: object, permutations: object, random_state: object) -> None:
    if not isinstance(false_alarms, Real) or not 0.0 < float(false_alarms) < 1.0:
        raise ValueError(f"false_alarms={false_alarms!r}: expected a share between 0 and 1, such as 0.05.")
    for name, value, least in (("permutations", permutations, 19), ("random_state", random_state, 0)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}={value!r}: expected a whole number, at least {least}.")
    if 1.0 / (1 + int(permutations)) > float(false_alarms):  # type: ignore[call-overload]
        raise ValueError(
            f"permutations={permutations}: too few to detect what happens in {percent(float(false_alarms))} "
            f"of all cases. Use {int(np.ceil(1.0 / float(false_alarms)))} or more."
        )


def _notes(both: TwoTables, n_coupled: int) -> Iterator[str]:
    yield from both.notes
    if both.set_aside:
        told_ones = [f"{named(name)} ({why})" for name, why in both.set_aside[:_ASIDE_TOLD]]
        more = len(both.set_aside) - _ASIDE_TOLD
        yield f"Not compared: {'; '.join(told_ones)}{f'; and {more} more' if more > 0 else ''}."
    n = both.is_new.size // 2
    if n_coupled < n:
        yield f"The distance and its parts come from {n_coupled:,} rows of each table, drawn at random."
    if n < _FEW_ROWS:
        yield f"Each table has only {n:,} rows: only large changes can be distinguished from chance."
    if len(both.elements) > MOST_RELATED:
        yield (f"Relations and groups are searched among the {MOST_RELATED} columns most related to others.")


@dataclass(frozen=True)
class _InGroup:
    """A group in which something changed.

    Attributes
    ----------
    at : tuple of int
        Its place, and that of what changed in it.
    group : Group
        The rows, turned to those in which it changed more.
    is_whole : bool
        Whether nearly all of the change lies in them.
    """

    at: tuple[int, int]
    group: Group
    is_whole: bool


class _Judged:
    """The evidence as changes: the main one first, and none that another one explains."""

    def __init__(self, both: TwoTables, evidence: Evidence, measured: dict[str, Any], limit: float) -> None:
        self.both, self.evidence, self.limit = both, evidence, limit
        self.relations: Relations = measured["relations"]
        self.groups: Groups = measured["groups"]
        self.kinds: Kinds = measured["kinds"]
        self.parts, self.own = measured["parts"], measured["own"]
        self.in_groups = measured["in_groups"]
        self.measured: Floats = measured["measured"]
        self.column_of = both.column_of
        self.p = {name: evidence.p_values(name, values) for name, values in evidence.statistics.items()}
        self.drawn: list[tuple[str, Any]] = []
        self._related: list[int] = []  # columns whose relations are reported
        self.only_one = list(self._kinds())

    @property
    def distance(self) -> float:
        return float(self.parts.sum())

    @property
    def distance_p_value(self) -> float:
        return float(self.p["all"][0])

    # ---- parts --------------------------------------------------------------------------------------------

    @property
    def _beyond(self) -> Floats:
        """(p,) part of each element beyond chance."""
        return np.asarray(self.parts - self.evidence.chance["parts"])

    @property
    def _own_beyond(self) -> Floats:
        """(p,) the part of it that the element's own values explain; relations explain the rest."""
        return np.asarray(self.own - self.evidence.chance["own"])

    @property
    def _moved(self) -> Floats:
        """(p,) W_i² of each element beyond chance, over all compared rows."""
        return np.asarray(self.measured - self.evidence.chance["columns"])

    def _share(self, beyond: float) -> float | None:
        """Share of all change beyond chance; None if there is none."""
        whole = float(self._beyond.sum())
        return beyond / whole if self.distance_p_value <= self.limit and whole > 0.0 else None

    def columns(self) -> Iterator[ColumnPart]:
        chance = self.evidence.chance
        for column, name in enumerate(self.both.names):
            of = self.column_of == column
            kinds = [element.kind for element in self.both.elements if element.column == column]
            yield ColumnPart(
                name,
                kinds[0],
                float(self.parts[of].sum()),
                float(self.own[of].sum()),
                float(chance["parts"][of].sum()),
                float(chance["own"][of].sum()),
                self._share(float(self._beyond[of].sum())),
                float(self.p["columns"][of].min()),
            )

    # ---- changes ------------------------------------------------------------------------------------------

    def changes(self) -> Iterator[Change]:
        for name, was, now in self.both.retyped:
            yield Change("type", (name,), f"{named(name)} holds {now}, before {was}", 0.0)
        by_kinds, in_others = self._split_by_kinds()
        kinds = [self._of_kind(*kind) for kind in self.only_one]
        if by_kinds:
            yield from kinds
        explained = set(by_kinds)  # columns whose relations changed because of reported changes
        yield from self._of_columns(in_others, explained)
        yield from self._of_relations_and_groups(explained)
        if not by_kinds:
            yield from kinds

    def _split_by_kinds(self) -> tuple[list[int], list[int]]:
        """Columns that changed only because one table has other kinds of rows, and the other elements."""
        changed = np.flatnonzero(self.p["columns"] <= self.limit).tolist()
        if not self.only_one:
            return [], changed
        rows = np.concatenate([rows for _, rows, _ in self.only_one])
        rest = self.both.taken(np.setdiff1d(np.arange(self.both.is_new.size), rows))
        rest = rest.taken(chosen_rows(rest.is_new, rest.is_new.size, 0))  # equally many of both tables
        left = {
            "columns": Columns(rest)(rest.is_new),
            "relations": Relations(rest, self.relations.elements)(rest.is_new),
        }
        still = {}
        for family, values in left.items():
            statistics = standardised(values, self.evidence.scales[family], family)
            still[family] = self.evidence.p_values(family, statistics) <= self.limit
            # Fewer rows show less, so only a change that is much weaker without the kinds is theirs.
            still[family] |= statistics > 0.5 * self.evidence.statistics[family]
            still[family] &= self.p[family] <= self.limit
        others = [i for i in changed if still["columns"][i]]
        by_kinds = {int(self.column_of[i]) for i in changed if i not in others}
        columns = self._pair_columns()
        not_so = {*self.column_of[others].tolist(), *columns[still["relations"]].ravel().tolist()}
        pairs = (self.p["relations"] <= self.limit) & ~np.isin(columns, list(not_so)).any(axis=1)
        return sorted({*by_kinds, *columns[pairs].ravel().tolist()}), others

    def _of_columns(self, changed: list[int], explained: set[int]) -> Iterator[Change]:
        found = np.array(changed, dtype=np.intp)
        size = self._own_beyond if self._share(1.0) is not None else self._moved  # by the reported share
        for i in found[np.argsort(-size[found], kind="stable")]:
            element = self.both.elements[i]
            inside = self._best_group([i])
            if inside is not None and inside.is_whole:
                explained.add(element.column)
                yield self._of_group(inside)
                continue
            words, before, after = told(element, self.both.is_new)
            self.drawn.append(("column", int(i)))
            yield Change(
                "gaps" if element.kind == "gap" else "column",
                (self.both.names[element.column],),
                f"{named(element.name)} {words}",
                float(self.p["columns"][i]),
                self._share(float(self._own_beyond[i])),
                before,
                after,
            )

    def _best_group(self, elements: Any, explained: frozenset[int] = frozenset()) -> _InGroup | None:
        """The group in which one of these elements changed most compared with other rows, beyond chance."""
        statistics = self.evidence.statistics["groups"].copy()
        if statistics.size == 0:
            return None
        # Groups by a changed column hold other rows than before. So categories may explain changes of numbers
        # but not the reverse; otherwise the column that changed less explains the other.
        moved = np.zeros(len(self.both.names))
        np.maximum.at(moved, self.column_of, np.where(self.p["columns"] <= self.limit, self._moved, 0.0))
        of_group = moved[[self.column_of[group.element] for group in self.groups.groups]]
        of_function = moved[[self.column_of[i] for i, _ in self.groups.functions]]
        by_number = np.array([group.most is not None for group in self.groups.groups])[:, np.newaxis]
        of_number = np.array([code is None for _, code in self.groups.functions])
        is_smaller = np.where(by_number == of_number, of_group[:, np.newaxis] < of_function, of_number)
        statistics[(of_group > 0.0)[:, np.newaxis] & ~is_smaller] = 0.0
        keep = np.array([i in elements for i, _ in self.groups.functions])
        keep &= np.array([self.column_of[i] not in explained for i, _ in self.groups.functions])
        statistics[:, ~keep] = 0.0
        statistics[[self.column_of[g.element] in explained for g in self.groups.groups]] = 0.0
        group, function = (int(at) for at in np.unravel_index(int(statistics.argmax()), statistics.shape))
        if self.p["groups"][group, function] > self.limit or statistics[group, function] <= 0.0:
            return None
        return self._turned(group, function)

    def _turned(self, group: int, function: int) -> _InGroup:
        """The side of a group on which more changed, and whether the other side's change may be chance."""
        found, at = self.groups.groups[group], (group, function)
        share = float(found.members.mean())
        inside, outside, *counts = self.groups.changes(self.both.is_new)
        sides = [
            (share * abs(float(inside[at])), share, self.groups.variance[at], counts[0][group, 0]),
            (
                (1.0 - share) * abs(float(outside[at])),
                1.0 - share,
                self.groups.outside_variance[at],
                counts[1][group, 0],
            ),
        ]
        is_turned = abs(float(outside[at])) > abs(float(inside[at]))
        (within, *_), (beyond, of_rows, variance, count) = sides[::-1] if is_turned else sides
        slack = of_rows * float(np.sqrt(variance * count))
        is_whole = beyond - slack <= _OUTSIDE * within
        return _InGroup(at, found.turned() if is_turned else found, is_whole)

    def _of_group(self, found: _InGroup) -> Change:
        group, (place, function) = found.group, found.at
        i, code = self.groups.functions[function]
        element, by = self.both.elements[i], self.both.elements[group.element]
        where = group_told(group, by)
        rows = np.flatnonzero(group.members)
        words, before, after = told(element.taken(rows), self.both.is_new[rows], code)
        beyond = float(self.in_groups[place] - self.evidence.chance["in_groups"][place])
        beyond = float(self._beyond.sum()) - beyond if group.is_turned else beyond
        self.drawn.append(("group", (i, rows, where)))
        return Change(
            "group",
            (self.both.names[element.column], self.both.names[by.column]),
            f"In rows with {where}, {named(element.name)} {words}",
            float(self.p["groups"][found.at]),
            self._share(beyond),
            before,
            after,
            group=where,
            where=_condition(group, by, self.both.names[by.column]),
        )

    def _of_relations_and_groups(self, explained: set[int]) -> Iterator[Change]:
        elements = range(len(self.both.elements))
        while True:
            pair, inside = self._best_pair(explained), self._best_group(elements, frozenset(explained))
            if inside is not None and (pair is None or inside.is_whole):
                explained.add(int(self.column_of[self.groups.functions[inside.at[1]][0]]))
                yield self._of_group(inside)
            elif pair is not None:
                yield self._of_pair(pair, explained)
            else:
                return

    def _pair_columns(self) -> NDArray[np.intp]:
        """(pairs, 2) columns of the pairs."""
        of = self.column_of[self.relations.elements]
        return np.asarray(of[self.relations.pairs])

    def _open_pairs(self, explained: set[int]) -> NDArray[np.intp]:
        """Pairs whose relation changed, and that no change reported so far explains."""
        if not len(self.relations.pairs):
            return np.zeros(0, dtype=np.intp)
        is_open = ~np.isin(self._pair_columns(), list(explained)).any(axis=1)
        return np.flatnonzero((self.p["relations"] <= self.limit) & is_open)

    def _best_pair(self, explained: set[int]) -> int | None:
        found = self._open_pairs(explained)
        if not found.size:
            return None
        return int(found[np.argmax(self.evidence.statistics["relations"][found])])

    def _of_pair(self, pair: int, explained: set[int]) -> Change:
        """A pair, and how many more there are with the one of its two columns that has most of them."""
        columns = self._pair_columns()
        found = self._open_pairs(explained)
        counts = [int(np.count_nonzero((columns[found] == column).any(axis=1))) for column in columns[pair]]
        order = columns[pair] if counts[0] >= counts[1] else columns[pair][::-1]
        explained.add(int(order[0]))
        more = max(counts) - 1
        words = relation_told(
            [self.both.names[column] for column in order], self.relations.correlation(pair, self.both.is_new)
        )
        if more:
            with_others = "another column" if more == 1 else f"{more} other columns"
            words += f"; {named(self.both.names[order[0]])} is related to {with_others} differently, too"
        rest = self._beyond - self._own_beyond
        # A part that an earlier relation has reported does not count again.
        told_now = np.setdiff1d(columns[pair], self._related)
        self._related.extend(columns[pair].tolist())
        beyond = float(rest[np.isin(self.column_of, told_now)].sum())
        correlation = self.relations.correlation(pair, self.both.is_new) or (None, None)
        self.drawn.append(("relation", pair))
        return Change(
            "relation",
            tuple(self.both.names[column] for column in order),
            words,
            float(self.p["relations"][pair]),
            self._share(beyond),
            *correlation,
        )

    def _kinds(self) -> Iterator[tuple[str, NDArray[np.intp], float]]:
        """Kinds of rows that only one table has, beyond chance: few rows, far from all rows of the other."""
        for kind, which in (("new kind", self.both.is_new), ("vanished kind", ~self.both.is_new)):
            found = self.kinds.of(which)[:_KINDS_TOLD]
            sizes = np.array([len(rows) for rows in found], dtype=np.float64)
            for rows, p_value in zip(found, self.evidence.p_values("kinds", sizes), strict=True):
                if p_value > self.limit or len(rows) > _LARGEST_KIND * self.both.is_new.size / 2.0:
                    continue
                if self.kinds.how_separate(rows, ~which) >= _SEPARATE:
                    yield kind, rows, float(p_value)

    def _of_kind(self, kind: str, rows: NDArray[np.intp], p_value: float) -> Change:
        is_new = kind == "new kind"
        columns, words = self._kind_told(rows, self.both.is_new != is_new)
        share = percent(len(rows) / (self.both.is_new.size // 2))
        lead = (
            f"{share} of the new rows are of a kind that the old table does not have"
            if is_new
            else f"{share} of the old rows are of a kind that the new table no longer has"
        )
        places = tuple(np.sort(self.both.rows[rows]).tolist())
        return Change(kind, columns, f"{lead}{words}", p_value, rows=places)

    def _kind_told(self, rows: NDArray[np.intp], others: Mask) -> tuple[tuple[str, ...], str]:
        """The columns in which rows of a kind differ most from those of the other table, and how."""
        found = []
        for i, element in enumerate(self.both.elements):
            Z = self.both.coordinates[:, self.both.element_of == i]
            apart = np.abs(np.median(Z[rows], axis=0) - np.median(Z[others], axis=0))
            found.append((float(apart.max()), element))
        found.sort(key=lambda pair: -pair[0])
        chosen = [element for apart, element in found[:_COLUMNS_OF_KIND] if apart >= _FAR_KIND]
        both = np.concatenate([np.flatnonzero(others), rows])
        is_kind = np.arange(both.size) >= both.size - rows.size
        parts = []
        for element in chosen:
            of_rows = element.taken(both)
            parts.append(_usual(of_rows, is_kind))
        names = tuple(dict.fromkeys(self.both.names[element.column] for element in chosen))
        return names, f": {'; '.join(parts)}" if parts else ""

    # ---- pictures -----------------------------------------------------------------------------------------

    def pictures(self, coupled: NDArray[np.intp]) -> Iterator[dict[str, Any]]:
        for kind, what in self.drawn[:_PICTURES]:
            if kind == "column":
                yield of_column(self.both.elements[what], self.both.is_new)
            elif kind == "group":
                i, rows, where = what
                yield of_column(
                    self.both.elements[i].taken(rows), self.both.is_new[rows], f"rows with {where}"
                )
            else:
                pair = [self.relations.elements[place] for place in self.relations.pairs[what]]
                elements = [self.both.elements[i].taken(coupled) for i in pair]
                if all(element.kind == "number" for element in elements):
                    yield of_pair(elements[0], elements[1], self.both.is_new[coupled])


def _condition(group: Group, element: Element, column: str) -> dict[str, Any]:
    """Which rows a group has, to choose them by."""
    if group.most is not None:
        return {"column": column, ("above" if group.is_turned else "up_to"): group.most}
    word = "is_not" if group.is_turned else "is"
    return {"column": column, "part": element.name, word: element.labels[group.code or 0]}


def _usual(element: Element, is_kind: Mask) -> str:
    """The values that rows of a kind have and other rows do not."""
    name = named(element.name)
    if element.kind != "number":
        counts = np.bincount(element.values[is_kind], minlength=len(element.labels))
        most = int(counts.argmax())
        others = float(np.mean(element.values[~is_kind] == most))
        label = element.labels[most]
        is_what = f"{name} missing" if label == MISSING else f"{name} {label}"
        return f"{is_what} (in {percent(others)} of the rows of the other table)"
    medians = [float(np.nanmedian(element.values[mask])) for mask in (is_kind, ~is_kind)]
    here, there = distinct_numbers(medians[0], medians[1], element.form)
    return f"{name} about {here} (there {there})"
