"""Pages of the repository on the site, and links that work on GitHub and on the site alike."""

from __future__ import annotations

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
# Made anew by every build, and not part of the repository.
MADE = DOCS / "made"
# A link or a picture of Markdown: what stands between its brackets, and where it leads.
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.DOTALL | re.MULTILINE)


def project_pages() -> dict[Path, Path]:
    """Markdown files beside docs/ that become pages, and where."""
    return {file: MADE / file.name.lower() for file in sorted(ROOT.glob("*.md"))}


def write_project_pages() -> None:
    """Write them, with links that fit their new place."""
    MADE.mkdir(exist_ok=True)
    for file, page in project_pages().items():
        text = relinked(file.read_text(encoding="utf-8"), file, page)
        write_if_changed(page, text)


def write_if_changed(page: Path, text: str) -> None:
    """Sphinx reads again what is newer than its last build: leave alone what is the same."""
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def relinked(text: str, file: Path, page: Path) -> str:
    """A Markdown text of ``file`` as it stands at ``page``: links to project pages lead to these."""
    parts = _CODE.split(text)
    # Every second part is code, in which nothing is a link; a link may hold code, so mask it meanwhile.
    codes = parts[1::2]
    masked = "\0".join(parts[::2])
    masked = _LINK.sub(lambda link: _relinked(link, file, page), masked)
    proses = masked.split("\0")
    return "".join(prose + code for prose, code in zip(proses, [*codes, ""], strict=True))


def _relinked(link: re.Match[str], file: Path, page: Path) -> str:
    picture, words, target = link.groups()
    if target.startswith(("https://", "http://", "mailto:", "#")):
        return link.group()
    path, mark, heading = target.partition("#")
    there = (file.parent / path).resolve()
    there = project_pages().get(there, there)
    if not there.is_relative_to(DOCS):
        return words  # a file of the repository that is no page, such as the licence
    return f"{picture}[{words}]({Path(os.path.relpath(there, page.parent)).as_posix()}{mark}{heading})"
