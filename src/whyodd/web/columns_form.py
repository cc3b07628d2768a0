"""The form with which people change the columns of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

IGNORED, NAMES_ROWS, CONTEXT = "ignore", "names rows", "context"
# Choices for a column beside the kinds of `types=`, and their labels.
KINDS_BESIDE = {IGNORED: "ignore it", NAMES_ROWS: "it names the rows", CONTEXT: "it is context"}


def roles_of(outline: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
    """Kinds that overrule, ignored columns, context columns, and the one that names the rows.

    Examples
    --------
    >>> from whyodd.web.columns_form import roles_of
    >>> outline = {"columns": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "kinds": ["number", "code"]}
    >>> roles_of(outline, {"c0": "names rows", "c1": "context", "c2": "code"})
    {'types': {'c': 'code'}, 'ignore': [], 'given': ['b'], 'id': 'a'}
    """
    # By position, since column names can be anything.
    chosen = [
        (column["name"], str(form.get(f"c{place}", ""))) for place, column in enumerate(outline["columns"])
    ]
    for name, kind in chosen:
        if kind and kind not in (*outline["kinds"], *KINDS_BESIDE):
            raise ValueError(f"Column {name!r}: {kind!r} is not a kind of column. Go back and choose one.")
    ids = [name for name, kind in chosen if kind == NAMES_ROWS]
    if len(ids) > 1:
        raise ValueError(
            f"Only one column can name the rows, got {len(ids)}: {', '.join(map(repr, ids[:5]))}."
        )
    ignored, given = ([name for name, kind in chosen if kind == role] for role in (IGNORED, CONTEXT))
    if len(ids) + len(ignored) + len(given) == len(chosen):
        raise ValueError("No column is left to judge. Ignore fewer columns, or use fewer as context.")
    types = {name: kind for name, kind in chosen if kind in outline["kinds"]}
    return {"types": types, "ignore": ignored, "given": given, "id": ids[0] if ids else None}
