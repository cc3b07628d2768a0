"""Texts from the data for the page: without invisible characters, and not longer than fits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

LONGEST = 300  # characters of one text that a page holds, whatever was in the data
_MIDDLE = 120  # characters of a name or value that are seen at once; the others appear on hovering
# Control characters but tab and line feed: a browser drops some and moves others.
_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **dict.fromkeys((0xFFFE, 0xFFFF), 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}
# Signs that change the direction of the following text, and those that end it.
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SHARE = re.compile("(?<=[0-9]) %")
_END, _END_ISOLATE = "\u202c", "\u2069"


def clean(text: str) -> str:
    r"""The text with a visible sign for anything that is not a character: controls and lone surrogates.

    Examples
    --------
    >>> from whyodd.report.text import clean
    >>> clean("a\x00b\ud800")
    'a␀b�'
    """
    return text.translate(_CONTROLS)


def cut(text: str, longest: int = LONGEST) -> str:
    """At most this many characters, with an ellipsis if some are missing.

    Examples
    --------
    >>> from whyodd.report.text import cut
    >>> cut("abcdef", 4), cut("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def closed(text: str) -> str:
    """The text with every change of direction closed, and no closing sign without an opening one.

    Browsers keep the direction of an element to itself only if it is closed in this sense.
    """
    opened: list[str] = []  # the closing signs of the open changes

    def checked(found: re.Match[str]) -> str:
        letter = found[0]
        if letter in (_END, _END_ISOLATE):
            return letter if _end(opened, letter) else ""
        opened.append(_END_ISOLATE if letter >= "\u2066" else _END)
        return letter

    checked_text = _TURNS.sub(checked, text)
    return checked_text + "".join(reversed(opened))


def _end(opened: list[str], letter: str) -> bool:
    """Close the innermost change of direction, or that isolate and all within it; whether there was one."""
    if letter == _END:
        return bool(opened) and opened[-1] == _END and bool(opened.pop())
    while _END_ISOLATE in opened:
        if opened.pop() == _END_ISOLATE:
            return True
    return False


def shown(text: str, longest: int = _MIDDLE) -> Markup:
    """HTML of a name or value: its direction ends with it, and its full length appears on hovering.

    Examples
    --------
    >>> from whyodd.report.text import shown
    >>> print(shown("<b>"), shown("abcdef", 4))
    <bdi>&lt;b&gt;</bdi> <bdi title="abcdef">abc…</bdi>
    """
    from markupsafe import Markup

    plain = clean(text[: LONGEST + 1])
    if len(plain) <= longest:
        return Markup("<bdi>{}</bdi>").format(closed(plain))
    return Markup('<bdi title="{}">{}</bdi>').format(closed(cut(plain)), closed(cut(plain, longest)))


def told(sentence: str, longest: int = 4 * LONGEST) -> str:
    """A sentence that may quote names; no name changes the direction of the words after it.

    A number and its percent sign stay on one line.
    """
    plain = cut(_TURNS.sub("", clean(sentence[: longest + 1])), longest)
    return _SHARE.sub("\u00a0%", plain)
