"""The report: one page that shows what is odd, why, and how far to trust it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyodd.explanations.table import Explanation
from whyodd.findings.summary.items.summarize import summarize_items
from whyodd.findings.summary.rows.summarize import summarize
from whyodd.io.atomic import replacing
from whyodd.patches.explanation import PatchExplanation
from whyodd.report.render import render
from whyodd.texts.explanation import TextExplanation

if TYPE_CHECKING:
    import os

__all__ = ["write_report"]


def write_report(
    e: Explanation | PatchExplanation | TextExplanation, path: str | os.PathLike[str], **options: Any
) -> None:
    """Write one self-contained HTML page: what is odd, why, and how far to trust it.

    Parameters
    ----------
    e : Explanation, PatchExplanation or TextExplanation
    path : str or path
        The file, such as ``report.html``; what was there is replaced once the page is complete.
    **options
        As of :func:`whyodd.findings.summary.rows.summarize.summarize`, or of
        :func:`whyodd.findings.summary.items.summarize.summarize_items` for images, series and texts.
    """
    check_installed()
    page = render(_summary(e, options))
    with replacing(Path(path)) as draft:
        draft.write_text(page, encoding="utf-8", newline="\n")


def check_installed() -> None:
    """Say that the page needs jinja2 before the work, not after it."""
    try:
        import_module("jinja2")
    except ImportError as error:
        raise ModuleNotFoundError("A report needs jinja2. Run: pip install 'whyodd[report]'") from error


def _summary(e: Explanation | PatchExplanation | TextExplanation, options: dict[str, Any]) -> dict[str, Any]:
    if isinstance(e, PatchExplanation | TextExplanation):
        return summarize_items(e, **options)
    if not isinstance(e, Explanation):
        raise TypeError(
            f"A report is of an explanation, but {type(e).__name__} came. Call whyodd.explain first."
        )
    return summarize(e, **options)
