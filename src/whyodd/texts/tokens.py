"""Words of a message: their positions, and the terms they count as."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Letters and digits with their marks, joined by apostrophes; or one picture, as emoji are.
_WORD = r"[\p{L}\p{N}][\p{L}\p{N}\p{M}\p{Cf}]*(?:['’][\p{L}\p{N}\p{M}]+)*|(?=\p{Emoji_Presentation})\X"


# Words whose terms are kept.
_REMEMBERED = 1 << 18


@dataclass(frozen=True)
class Token:
    """A word as written.

    Attributes
    ----------
    text : str
        The word.
    start, end : int
        Where it is in the message: ``message[start:end] == text``.
    term : str
        What it counts as: in lower case, stemmed.
    """

    text: str
    start: int
    end: int
    term: str


@dataclass(frozen=True)
class Tokenizer:
    """Cuts messages into words and gives each its term.

    Attributes
    ----------
    language : str or None
        Of the Snowball stemmer; None: words are not stemmed.
    """

    language: str | None = "english"

    def __call__(self, message: str) -> list[Token]:
        """Words of a message in their order."""
        term_of = _terms(self.language)
        return [
            Token(m.group(), m.start(), m.end(), term_of(m.group())) for m in _pattern().finditer(message)
        ]


@cache
def _pattern() -> Any:
    return _package("regex").compile(_WORD)


@cache
def _terms(language: str | None) -> Callable[[str], str]:
    """From words to terms; each distinct word is stemmed once."""
    remember = lru_cache(maxsize=_REMEMBERED)
    if language is None:
        return remember(_plain)
    snowball = _package("snowballstemmer")
    if language not in snowball.algorithms():
        known = ", ".join(snowball.algorithms())
        raise ValueError(f"language={language!r}: expected one of {known}, or None for no stemming.")
    stem = snowball.stemmer(language).stemWord
    return remember(lambda word: stem(_plain(word)))


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Texts need regex and snowballstemmer, and at least one is missing. Run: pip install "
            "'whyodd[text]'"
        ) from None


def _plain(word: str) -> str:
    """Composed letters in lower case, with straight apostrophes, however they were typed."""
    return unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
