"""One page of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.findings.findings import Findings

if TYPE_CHECKING:
    import os


def write_report(e: Any, path: str | os.PathLike[str], *, top: int = 50, **options: Any) -> None:
    """Write one self-contained HTML page: what is odd, why, and how far to trust it.

    Parameters
    ----------
    e : explanation, or Findings
        Of rows, images, series or messages.
    path : str or path
        The file, such as ``report.html``; what was there is replaced once the page is complete.
    top : int, default 50
        How many items are told in detail.
    **options
        As of :meth:`whyodd.Findings.of`, for an explanation.
    """
    found = e if isinstance(e, Findings) else Findings.of(e, **options)
    found.report(path, top)
