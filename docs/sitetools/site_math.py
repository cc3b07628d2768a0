"""Formulas as MathML, which browsers show by themselves: no script, and nothing from the network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def mathml(tex: str, *, as_block: bool) -> str:
    """A formula of LaTeX as an element of HTML.

    Raises
    ------
    SyntaxError
        If it has what docutils does not know.
    """
    return tex2mathml(tex.strip(), as_block=as_block)


def visit_inline(translator: Any, node: Any) -> None:
    """A formula in a sentence."""
    translator.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: Any) -> None:
    """A formula of its own."""
    translator.body.append(f'<div class="formula">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Known to Sphinx as the renderer "mathml"."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
