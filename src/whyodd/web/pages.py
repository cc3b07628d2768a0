"""Pages of the application, from its own templates and those of the report."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

from whyodd.report.render import environment as report_environment
from whyodd.report.render import page_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment
    from markupsafe import Markup

_PICTURE_LIMIT = 500_000
# A link of the report to an odd row or to a usual one.
_LINK = re.compile(r'<a class="to" href="#([au])(\d+)">(.*?)</a>', re.DOTALL)


@cache
def _environment() -> Environment:
    """The report's environment, with our templates before its own."""
    from jinja2 import ChoiceLoader, PackageLoader

    base = report_environment()
    loader = ChoiceLoader(
        [PackageLoader("whyodd.web", "templates"), base.loader or PackageLoader("whyodd.report")]
    )
    return base.overlay(loader=loader)


@cache
def _own_part(name: str) -> dict[str, Any]:
    return page_part(name, "whyodd.web")


def policy() -> str:
    """Content-Security-Policy of all pages: only our two style sheets and our script."""
    styles = f"{page_part('style.css')['hash']} {_own_part('web.css')['hash']}"
    return (
        f"default-src 'none'; img-src data:; style-src {styles}; script-src {_own_part('web.js')['hash']}; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def card(summary: Mapping[str, Any], anomaly: Mapping[str, Any], address: str) -> Markup:
    """The card of a row, as in the report, with links to the pages of other rows."""
    from markupsafe import Markup

    template = _environment().get_template("row_card.html")
    html = template.render(s=summary, a=anomaly, picture_limit=_PICTURE_LIMIT)
    # Nothing from the data can look like this: it is escaped.
    return Markup(_LINK.sub(lambda found: _linked(found, address), html))


def _linked(found: re.Match[str], address: str) -> str:
    """A link to another odd row; a usual row has no page."""
    kind, place, name = found.groups()
    return f'<a href="{address}/ranks/{place}">{name}</a>' if kind == "a" else name


def page(template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A page."""
    html = (
        _environment()
        .get_template(template)
        .render(
            web_style=_own_part("web.css"),
            web_script=_own_part("web.js"),
            picture_limit=_PICTURE_LIMIT,
            **{"csrf": None, **context},
        )
    )
    return HTMLResponse(html, status)
