"""Texts that a terminal displays but does not obey."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Text without line breaks, colour codes and other letters that a terminal would obey.

    Examples
    --------
    >>> from whyodd.io.terminal import printable
    >>> printable("a\nb.png")
    'a?b.png'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)
