"""The page of a report: from the plain dictionary to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

from whyodd.explanations.sentences import number, percent
from whyodd.report import drawings
from whyodd.report import series as page_series
from whyodd.report import text as page_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jinja2 import Environment

LIMIT = 5_000_000  # bytes
_FOR_THE_COUNTS = 1_000  # bytes of the sentences on what was left out
_PICTURE = 10  # A picture may take this part of the page, or nothing else fits beside it.
# The page holds this many entries of each list, and says how many more there are.
_MOST = {
    "groups": 40, "reasons": 30, "common": 5, "links": 10, "neighbors": 10, "values": 10, "steps": 8,
    "tokens": 2_000, "absent": 40, "panels": 20, "bars": 20, "columns": 200, "notes": 40,
}  # fmt: skip
_ROWS, _AFTER, _COMPARED = (
    "<!--rows-->",
    "<!--after-->",
    "<!--compared-->",
)  # Nothing from the data can have a plain <.
# Links between rows, which may lead to what was left out.
_LINK = re.compile(r'<a class="to" href="#([au]\d+)">(.*?)</a>', re.DOTALL)
_PLURALS = {"series": "series"}
_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")


def check_installed() -> None:
    """Say before the work that the page needs jinja2."""
    try:
        import_module("jinja2")
    except ImportError as error:
        raise ModuleNotFoundError("A report needs jinja2. Run: pip install 'whyodd[report]'") from error


def render(summary: Mapping[str, Any], *, limit: int = LIMIT) -> str:
    """HTML of the report.

    Parameters
    ----------
    summary : dict
        What :func:`whyodd.findings.summary.summarize.summarize` returns.
    limit : int
        Bytes of the page at most. If there is more to show the known rows that cards name are left out first,
        then rows without a card of their own, then cards, the least odd ones first; the page says how many.

    Returns
    -------
    str
        The page. It asks for nothing from anywhere; everything from the data is text in it.
    """
    frame = _fill("page.html", summary, limit)
    room = limit - _size(frame) - _FOR_THE_COUNTS
    if room < 0:
        raise ValueError(f"limit={limit}: the page needs {limit - room} bytes without any rows. Allow more.")
    cards = _fitting(_cards(summary, limit), room)
    plain = [*summary["anomalies"][len(cards) :], *summary["rest"]]
    lines = _fitting(_lines(summary, plain), room - sum(map(_size, cards)))
    unlisted = summary["n_unlisted"] + len(plain) - len(lines)
    compared = _fill("compared.html", summary, limit) if summary["compared"] else ""
    has_room = _size(compared) <= room - sum(map(_size, [*cards, *lines]))
    left = {"n_cards": len(cards), "n_unlisted": unlisted, "has_compared": has_room}
    # In one pass: inserted text is not searched again.
    parts = {
        _ROWS: "".join([*cards, *lines]),
        _AFTER: _fill("after.html", summary, limit, **left),
        _COMPARED: compared if has_room else "",
    }
    page = re.sub("|".join(parts), lambda found: parts[found[0]], frame)
    return _without_dead_links(page)


def _without_dead_links(page: str) -> str:
    """The page without links to dropped rows, whose names stay."""
    there = set(re.findall(r'<(?:tr|li) id="([au]\d+)"', page))
    return _LINK.sub(lambda found: found[0] if found[1] in there else found[2], page)


def _fitting(texts: Iterator[str], room: int) -> list[str]:
    """The first texts that fit into this many bytes."""
    chosen: list[str] = []
    for text in texts:
        room -= _size(text)
        if room < 0:
            break
        chosen.append(text)
    return chosen


def _cards(summary: Mapping[str, Any], limit: int) -> Iterator[str]:
    """The rows with a card of their own, rendered on request."""
    for anomaly in summary["anomalies"]:
        yield _fill("card.html", summary, limit, a=anomaly, line=_line(anomaly, summary))


def _lines(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The rows without a card."""
    for row in rows:
        yield _fill("line.html", summary, LIMIT, line=_line(row, summary))


def _line(row: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    """The table's entries about one anomaly."""
    threshold = summary["threshold"]["value"]
    times = row["outlierness"] / threshold if threshold is not None and threshold > 0 else None
    return {
        **{key: row[key] for key in ("rank", "name", "group", "outlierness", "outlierness_text")},
        "place": None if row["id"] is None else f"{summary['noun']} {row['row']}",
        "times": None if times is None else f"{number(times, 2)} × threshold",
        # A change in an event takes a sentence.
        "reasons": () if summary["kind"] == "events" else row.get("reasons", ())[:2],
        "main": row.get("main", row.get("why", "")),
    }


def _is_slim(summary: Mapping[str, Any]) -> bool:
    """Whether no line has a second one below its name or its outlierness."""
    lines = [_line(row, summary) for row in (*summary["anomalies"][:1], *summary["rest"][:1])]
    return all(line["place"] is None and line["times"] is None for line in lines)


def _fill(template: str, summary: Mapping[str, Any], limit: int, **more: Any) -> str:
    return environment().get_template(template).render(s=summary, picture_limit=limit // _PICTURE, **more)


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


@cache
def environment() -> Environment:
    """Templates that escape all values and refuse undefined ones."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("whyodd.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        shown=page_text.shown, told=page_text.told, clean=page_text.clean, cut=page_text.cut,
        closed=page_text.closed, at=drawings.percent_of, count=lambda number_of: f"{number_of:,}",
    )  # fmt: skip
    environment.globals.update(
        most=_MOST, drawings=drawings, series=page_series, plural=_plural, is_image=_is_image,
        style=page_part("style.css"), script=page_part("page.js"), lead=_lead, number=number,
        is_slim=_is_slim,
    )  # fmt: skip
    return environment


def page_part(name: str, package: str = "whyodd.report") -> dict[str, Any]:
    """A file embedded in the page, and its hash, by which the browser's security policy admits it."""
    from markupsafe import Markup

    text = resources.files(package).joinpath("templates", name).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"text": Markup(text), "hash": Markup(f"'sha256-{digest}'")}


def _plural(noun: str, count: int) -> str:
    """Number and noun.

    Examples
    --------
    >>> from whyodd.report.render import _plural
    >>> _plural("row", 1), _plural("row", 1200), _plural("series", 2)
    ('1 row', '1,200 rows', '2 series')
    """
    many = _PLURALS.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else many}"


def _is_image(address: str, limit: int) -> bool:
    """Whether this picture can be embedded in the page."""
    return len(address) <= limit and _IMAGE.fullmatch(address) is not None


def _lead(summary: Mapping[str, Any]) -> str:
    """The finding in a sentence or two."""
    if "lead" in summary:
        return str(summary["lead"])
    counts, noun = summary["counts"], summary["noun"]
    rows, odd, shown = _plural(noun, counts["rows"]), counts["odd"], counts["shown"]
    those = f"The {shown:,} oddest are" if shown > 1 else "The oddest one is"
    if summary["threshold"]["value"] is None:
        whose = "Each is" if shown == counts["rows"] else those
        return f"{rows} ranked by how odd they are. {whose} explained below."
    if odd == 0:
        return f"None of {rows} is odd." + (f" {those} shown anyway." if shown else "")
    found = f"Of {rows}, {odd:,} {'is' if odd == 1 else 'are'} odd ({percent(odd / counts['rows'])})."
    whose = f"{those} explained below one by one." if shown < odd else "Each is explained below."
    return f"{found} {'It is explained below.' if shown == odd == 1 else whose}"
