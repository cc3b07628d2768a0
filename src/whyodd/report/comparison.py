"""The page of a comparison of two tables: the plain dictionary in, one HTML file out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.explanations.sentences import number, percent
from whyodd.report.drawings import percent_of
from whyodd.report.render import LIMIT, environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The page holds this many entries of each list, and says how many more there are.
_MOST = {"changes": 100, "columns": 200, "notes": 40}
_WIDTH, _HEIGHT = 1000.0, 100.0  # of a distribution's own units
_TAGS = {
    "type": "other type", "column": "column", "gaps": "missing values", "group": "group of rows",
    "relation": "relation", "new kind": "new kind", "vanished kind": "vanished kind",
}  # fmt: skip


def render_comparison(summary: Mapping[str, Any]) -> str:
    """HTML of the page.

    Parameters
    ----------
    summary : dict
        What ``Comparison.to_dict()`` returns.
    """
    page: str = environment().get_template("comparison.html").render(**comparison_parts(summary))
    size = len(page.encode("utf-8"))
    if size > LIMIT:
        raise ValueError(f"The page has {size:,} bytes, over {LIMIT:,}. Compare fewer columns at a time.")
    return page


def comparison_parts(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of the templates of a comparison."""
    return {
        "s": summary,
        "tags": _TAGS,
        "kept": _MOST,
        "pictures": [_drawn(picture) for picture in summary["pictures"]],
        "columns": _columns(summary["columns"]),
    }


def _columns(columns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Bars of the columns' parts of the distance, the largest first, on one scale."""
    ordered = sorted(columns, key=lambda column: -(column["part"] - column["chance"]))[: _MOST["columns"]]
    largest = max((column["part"] for column in ordered), default=0.0) or 1.0
    return [
        {
            "name": column["name"],
            "own": percent_of(column["own"] / largest),
            "rest": percent_of(max(column["rest"], 0.0) / largest),
            "rest_at": percent_of(column["own"] / largest),
            "chance": percent_of(column["chance"] / largest),
            "part_text": number(column["part"]),
            "chance_text": number(column["chance"]),
            "share_text": "–" if column["share"] is None else percent(column["share"]),
        }
        for column in ordered
    ]


def _drawn(picture: Mapping[str, Any]) -> dict[str, Any]:
    """Positions of the drawings."""
    if picture["kind"] == "bins":
        return {**picture, **_bins(picture)}
    if picture["kind"] == "shares":
        largest = max((*picture["old"], *picture["new"])) or 1.0
        bars = zip(picture["labels"], picture["old"], picture["new"], strict=True)
        return {
            **picture,
            "bars": [
                {
                    "label": label,
                    "parts": [
                        (which, percent_of(share / largest), percent(share))
                        for which, share in (("old", old), ("new", new))
                    ],
                }
                for label, old, new in bars
            ],
        }
    scatters = []
    for which in ("old", "new"):
        points = [(f"{100 * x:.1f}", f"{100 * (1 - y):.1f}") for x, y in picture[which]]
        scatters.append((which, points))
    return {**picture, "scatters": scatters}


def _bins(picture: Mapping[str, Any]) -> dict[str, Any]:
    """Outline of the bars of both tables, and positions of the medians."""
    largest = max((*picture["old"], *picture["new"])) or 1.0
    step = _WIDTH / len(picture["old"])

    def outline(shares: Sequence[float]) -> str:
        heights = [_HEIGHT * (1.0 - share / largest) for share in shares]
        steps = "".join(f"V{height:.1f}H{step * (i + 1):.1f}" for i, height in enumerate(heights))
        return f"M0 {_HEIGHT:.0f}{steps}V{_HEIGHT:.0f}Z"

    marks = [
        (which, f"{_WIDTH * place:.1f}")
        for which, place in zip(("old", "new"), picture["medians"], strict=True)
        if place is not None and 0.0 <= place <= 1.0
    ]
    return {"paths": [(which, outline(picture[which])) for which in ("old", "new")], "marks": marks}
