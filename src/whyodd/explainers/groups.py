"""Sums over variables that belong together: ``groups={"address": ["street", "city"]}``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.explanations.variables import Variables

    Groups = Mapping[str, Sequence[str]]


def with_groups(variables: Variables, groups: Groups) -> tuple[Variables, tuple[str, ...], NDArray[np.intp]]:
    """Variables summed in groups, the resulting names, and the place of each variable among these.

    A group stands where its first variable did.

    Parameters
    ----------
    variables : Variables
    groups : mapping of str to sequence of str
        Name of each group and the names of its variables; all other variables stay as they are.
    """
    group_of = _checked(groups, variables.names)
    entries: dict[str, list[int]] = {}
    for index, name in enumerate(variables.names):
        entries.setdefault(group_of.get(name, name), []).append(index)
    place = np.empty(len(variables.names), dtype=np.intp)
    for position, members in enumerate(entries.values()):
        place[members] = position
    return replace(variables, groups=tuple(map(tuple, entries.values()))), tuple(entries), place


def sum_columns(values: NDArray[np.floating], place: NDArray[np.intp], count: int) -> NDArray[np.floating]:
    """Sums (n, count) of columns: column c is added to ``place[c]``."""
    chosen = sparse.csr_array((np.ones(place.size), (place, np.arange(place.size))), (count, place.size))
    return np.ascontiguousarray((chosen @ values.T).T, dtype=values.dtype)


def grouped_relevance(relevance: NDArray[np.floating], variables: Variables | None) -> NDArray[np.floating]:
    """Relevance of variables (n, d) summed in the groups of an explanation, if it has any."""
    if variables is None or variables.groups is None:
        return relevance
    place = np.empty(len(variables.names), dtype=np.intp)
    for position, members in enumerate(variables.groups):
        place[list(members)] = position
    return sum_columns(relevance, place, len(variables.groups))


def _checked(groups: Groups, names: Sequence[str]) -> dict[str, str]:
    """The group of each grouped variable."""
    if not hasattr(groups, "items"):
        raise TypeError(
            f"Expected groups as a dictionary of names and lists of columns, got {type(groups).__name__}."
        )
    group_of: dict[str, str] = {}
    for group, members in groups.items():
        if isinstance(members, str) or not hasattr(members, "__len__") or len(members) == 0:
            raise ValueError(f"groups[{group!r}]={members!r}: expected a list of at least one column name.")
        for name in members:
            if name not in names:
                raise ValueError(
                    f"groups[{group!r}] holds {name!r}, which is not a column of X. Choose among: "
                    f"{', '.join(map(repr, names[:20]))}{', ...' if len(names) > 20 else ''}."
                )
            if group_of.get(name) == str(group):
                raise ValueError(f"groups[{group!r}] holds {name!r} twice. Leave one out.")
            if name in group_of:
                raise ValueError(
                    f"{name!r} is in two groups, {group_of[name]!r} and {group!r}. A column's relevance "
                    "counts only once: remove it from one of them."
                )
            group_of[name] = str(group)
    taken = sorted(set(map(str, groups)) & (set(names) - set(group_of)))
    if taken:
        raise ValueError(f"The group {taken[0]!r} has the name of a column that is not in it. Rename it.")
    return group_of
