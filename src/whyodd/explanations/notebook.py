"""The notebook view of an explanation: a title, a table of rows, notes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from whyodd.explanations.sentences import (
    OTHERS,
    UNEXPLAINED,
    judgement,
    name_text,
    number,
    percent,
    value_texts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.explanations.sentences import OddRow, Reason

# The page's own text colour, and mid-tones that stand out on white and on black alike.
_GREY = "#8a8a8a"
_MARKS = {1: ("▲", "#d9622b"), -1: ("▼", "#3b82c4"), 0: ("●", _GREY)}
_NOTES = {"missing": "missing", "new value": "never varied in training"}
_BAR_PIXELS = 200
_LONG_VALUE = 20
_TINY = 1e-9
_PLAIN = "background:none;border:none;color:inherit;font-size:inherit;"
_LEFT = f"{_PLAIN}padding:1px 14px 1px 0;text-align:left;vertical-align:top;"
_RIGHT = f"{_LEFT}text-align:right;white-space:nowrap;"
_HEADINGS = {
    "row": _RIGHT,
    "outlierness": _RIGHT,
    "variable": _LEFT,
    "value": _RIGHT,
    "expected": _RIGHT,
    "share of the outlierness": _LEFT,
}


def html_view(title: str, body: str, notes: Sequence[str]) -> str:
    """One ``<div>`` with a title above and sentences below what is shown.

    Parameters
    ----------
    title : str
        Heading, plain text.
    body : str
        HTML, in which everything that comes from the data is escaped.
    notes : sequence of str
        Sentences below it, plain text.
    """
    footer = "".join(f"<div style='opacity:.75;margin-top:4px'>{escape(note)}</div>" for note in notes)
    return (
        "<div style='font-size:13px;line-height:1.45'>"
        f"<div style='font-weight:600;margin-bottom:4px'>{escape(title)}</div>{body}{footer}</div>"
    )


def rows_table(rows: Sequence[OddRow]) -> str:
    """Table of rows: for each a bar for each reason, the other variables and the unexplained part.

    Everything that comes from the data is escaped.
    """
    head = "".join(f"<th style='{style}font-weight:600'>{text}</th>" for text, style in _HEADINGS.items())
    return (
        f"<table style='{_PLAIN}border-collapse:collapse'><thead style='{_PLAIN}'>{_line(head)}</thead>"
        f"{''.join(map(_block, rows))}</table>"
    )


def _block(odd: OddRow) -> str:
    """Lines of the table for one row, ruled off from the row before."""
    whole = max(odd.measured_share, _TINY)
    shown = [reason for reason in odd.reasons if reason.share > 0 or reason.never_varied]
    cells = [_reason_cells(reason, reason.share / whole) for reason in shown]
    cells += [_plain_cells(OTHERS, odd.other_share / whole)]
    cells += [_plain_cells(UNEXPLAINED, odd.unexplained_share / whole)] if odd.is_additive else []
    first, *others = cells
    span = f"rowspan='{1 + len(others)}' style='{_RIGHT}'"
    head = f"<td {span}>{escape(odd.name or str(odd.row))}</td><td {span}>{number(odd.outlierness)}</td>"
    lines = "".join(map(_line, [head + first, *others]))
    return f"<tbody style='{_PLAIN}border-top:1px solid rgba(128,128,128,.45)'>{lines}</tbody>"


def _reason_cells(reason: Reason, share: float) -> str:
    value, expected = map(escape, value_texts(reason))
    arrow, colour = _MARKS[0 if reason.never_varied else reason.direction]
    is_worth_a_word = reason.never_varied or reason.direction == 0
    note = f"<div style='opacity:.75'>{_NOTES.get(judgement(reason), '')}</div>" if is_worth_a_word else ""
    return (
        f"<td style='{_LEFT}overflow-wrap:anywhere;min-width:10em'>{escape(name_text(reason))}{note}</td>"
        f"<td style='{_value_style(value)}'>{value}&nbsp;<span style='color:{colour}'>{arrow}</span></td>"
        f"<td style='{_value_style(expected)}'>{expected}</td>"
        # Without a scale in training there is nothing to measure it by.
        f"{f'<td style={_LEFT!r}></td>' if reason.never_varied else _share_cell(share, colour)}"
    )


def _value_style(shown: str) -> str:
    """Short values stay on one line; long ones, such as those of groups, wrap."""
    return (
        _RIGHT
        if len(shown) <= _LONG_VALUE
        else f"{_LEFT}text-align:right;overflow-wrap:anywhere;max-width:15em;"
    )


def _plain_cells(label: str, share: float) -> str:
    return (
        f"<td style='{_LEFT}font-style:italic;opacity:.75'>{label}</td>"
        f"<td style='{_RIGHT}'></td><td style='{_RIGHT}'></td>{_share_cell(share, _GREY)}"
    )


def _share_cell(share: float, colour: str) -> str:
    width = min(max(1, round(_BAR_PIXELS * share)), 2 * _BAR_PIXELS)
    bar = f"<span style='display:inline-block;width:{width}px;height:.7em;background:{colour}'></span>"
    return f"<td style='{_LEFT}white-space:nowrap'>{bar}&nbsp;{percent(share)}</td>"


def _line(cells: str) -> str:
    return f"<tr style='background:none'>{cells}</tr>"
