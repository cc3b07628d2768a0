"""How a word is written: in small letters, with a capital, in capitals, with digits."""

from __future__ import annotations

from functools import lru_cache

SMALL, CAPITAL, CAPITALS, DIGITS, MIXED = range(5)
# Words for a way of writing.
WRITINGS = (
    "in small letters",
    "with a capital letter",
    "in capitals",
    "in digits",
    "with digits",
)


@lru_cache(maxsize=1 << 16)  # words repeat
def writing_of(word: str) -> int:
    """Place in ``WRITINGS`` of how a word is written.

    Examples
    --------
    >>> from whyodd.texts.writing import WRITINGS, writing_of
    >>> [WRITINGS[writing_of(word)] for word in ("You", "YOU", "you", "42", "y0u")]
    ['with a capital letter', 'in capitals', 'in small letters', 'in digits', 'with digits']
    """
    if any(letter.isdigit() for letter in word):
        return DIGITS if word.isdigit() else MIXED
    if word.islower() or not word[:1].isupper():
        return SMALL
    return CAPITALS if len(word) > 1 and word.isupper() else CAPITAL
