"""Links into pages of the source: from formulas to the lines that compute them, and from the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from site_lines import computed, defined
from site_pages import ROOT
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from site_lines import Computed


class ComputedDirective(SphinxDirective):
    """Shows the line below a formula, with its file and number, and links it to the source."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A line of code and where it is."""
        name, line = self.arguments[0], "\n".join(self.content).strip()
        try:
            found = computed(name, line)
        except ValueError as error:
            raise self.error(str(error)) from error
        box = nodes.container(classes=["computed"])
        code = nodes.literal_block(found.text, found.text, language="python")
        place = nodes.paragraph(classes=["computed-place"])
        place += nodes.reference("", f"{found.file}, line {found.line}", refuri=self._address(found))
        place += nodes.Text(", ")
        place += nodes.literal(name, name)
        box += [code, place]
        return [box]

    def _address(self, found: Computed) -> str:
        return f"{'../' * self.env.docname.count('/')}{address_of(self.env, found)}"


def address_of(env: Any, found: Computed) -> str:
    """Address of a line in the pages of the source, from the top; the page is made at the end."""
    env.whyodd_sources = getattr(env, "whyodd_sources", set()) | {found.file}
    return f"{source_page(found.file)}.html#line-{found.line}"


def remember(app: Any) -> None:
    """Keep what :func:`linkcode_resolve` needs, and is not handed."""
    linkcode_resolve.env = app.env  # type: ignore[attr-defined]


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Address of a documented name in the pages of the source; Sphinx asks for it (``linkcode``)."""
    found = defined(info["module"], info["fullname"]) if domain == "py" else None
    # All of them are documented in reference/generated/.
    return None if found is None else f"../../{address_of(linkcode_resolve.env, found)}"  # type: ignore[attr-defined]


def source_page(file: str) -> str:
    """Name of the page that shows a file of the source."""
    return "_source/" + file.removeprefix("src/").removesuffix(".py")


def source_pages(app: Any) -> Iterator[tuple[str, dict[str, str], str]]:
    """A page for every file that a formula links to, with its lines to link to."""
    for file in sorted(getattr(app.env, "whyodd_sources", set())):
        text = (ROOT / file).read_text(encoding="utf-8")
        formatter = HtmlFormatter(
            linenos="inline", lineanchors="line", anchorlinenos=True, cssclass="highlight"
        )
        body = f"<h1>{file}</h1>\n{highlight(text, PythonLexer(), formatter)}"
        yield source_page(file), {"title": file, "body": body, "toc": ""}, "page.html"
