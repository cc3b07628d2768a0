"""Encodings of text files: which one a file uses, and the same text as UTF-8."""

from __future__ import annotations

import codecs
import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyodd.io.table_mistakes import Source

# Marks at the beginning of files. That of UTF-32 begins as that of UTF-16: the longer first.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UTF8 = ("utf-8", "utf-8-sig")
# Encodings of texts in Latin letters that differ, the more common first. Latin-1 is part of cp1252.
_LATIN = ("cp1252", "mac_roman", "cp1250", "cp850", "iso8859_15", "iso8859_2")
# Encodings of another script, and its first and last letter.
_SCRIPTS = {"cp1251": ("Ѐ", "ӿ"), "koi8_r": ("Ѐ", "ӿ"), "cp1253": ("Ͱ", "Ͽ")}
_STEP = 1 << 20
# Bytes of lines with other letters than ASCII, enough to decide the encoding.
_SAMPLE = 1 << 16
# An encoding is possible if at most this share of its letters are where such letters never occur.
_IMPLAUSIBLE = 0.2
_OUT_OF_SCRIPT = 0.1
# Signs around words, and signs after numbers and words.
_QUOTES = frozenset("•–—…„“”‚‘«»¿¡\xa0\u202f")
_SIGNS = frozenset("€£§°·©®™±²³µ×ªº½¼¾")
# Letters that are words by themselves.
_WORDS = frozenset("àáèéíóåöæø")
_APOSTROPHE = "’"


def as_utf8(source: Source, name: str, encoding: str | None, notes: list[str]) -> Source:
    """The same text in UTF-8, and a note if it was converted.

    Parameters
    ----------
    source : path or bytes
    name : str
        What messages call it.
    encoding : str, optional
        Name of the encoding; by default from its mark, or else from its letters.
    notes : list of str
        Gains what people should know.

    Returns
    -------
    path or bytes
        ``source`` itself if it is UTF-8.
    """
    if encoding is not None:
        known = _checked(encoding)
        return source if known in _UTF8 and _is_utf8(source) else _recoded(source, known, name)
    marked = _marked(source)
    if marked is not None:
        if marked != "utf-8-sig":
            notes.append(f"{name} was read as {marked.upper()}.")
        return source if marked == "utf-8-sig" else _recoded(source, marked, name)
    wide = _without_mark(source)
    if wide is not None:
        notes.append(f"{name} was read as {wide.upper()}.")
        return _recoded(source, wide, name)
    if _is_utf8(source):
        return source
    found = _detected(source, name)
    notes.append(f"{name} was read as {found}. If letters look wrong, set --encoding.")
    return _recoded(source, found, name)


def _checked(encoding: str) -> str:
    try:
        "".encode(encoding)  # refuses what encodes no text, such as "hex"
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ValueError(
            f"{encoding!r} is not a known encoding. Set --encoding to one such as utf-8, cp1252, latin-1, "
            "utf-16 or shift_jis."
        ) from None


def _marked(source: Source) -> str | None:
    with _opened(source) as file:
        beginning = file.read(4)
    return next((encoding for mark, encoding in _MARKS.items() if beginning.startswith(mark)), None)


def _is_utf8(source: Source) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for part in _parts(source):
            decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _recoded(source: Source, encoding: str, name: str) -> bytes:
    decoder = codecs.getincrementaldecoder(encoding)()
    parts, lines = [], 1
    try:
        for part in _parts(source):
            text = decoder.decode(part)
            lines += text.count("\n")
            parts.append(text.encode("utf-8"))
        parts.append(decoder.decode(b"", final=True).encode("utf-8"))
    except UnicodeError:  # also letters that UTF-8 cannot hold
        raise ValueError(
            f"{name} cannot be read: it is not {encoding} text after line {lines}. Choose another "
            "--encoding, or save the file as UTF-8."
        ) from None
    return b"".join(parts).removeprefix(codecs.BOM_UTF8)


# ---- which encoding ---------------------------------------------------------------------------------------


def _detected(source: Source, name: str) -> str:
    """Encoding of a text that has no byte order mark and is not UTF-8."""
    sample = _telling_lines(source)
    costs = {encoding: _implausible(sample, encoding) for encoding in _LATIN}
    best = min(costs, key=lambda encoding: costs[encoding])
    if costs[best] <= _IMPLAUSIBLE:
        return best
    costs = {encoding: _out_of_script(sample, encoding) for encoding in _SCRIPTS}
    best = min(costs, key=lambda encoding: costs[encoding])
    if costs[best] <= _OUT_OF_SCRIPT:
        return best
    found = _by_detector(sample)
    if found is not None:
        return found
    raise ValueError(
        f"{name} cannot be read: it is not UTF-8 text, and its encoding cannot be detected. Set it, for "
        "example with --encoding cp1252."
    )


def _without_mark(source: Source) -> str | None:
    """UTF-16 without its byte order mark: every second byte of plain letters is zero."""
    with _opened(source) as file:
        beginning = file.read(_SAMPLE)
    half = len(beginning) // 2
    for encoding, places in (("utf-16-le", beginning[1::2]), ("utf-16-be", beginning[::2])):
        others = beginning.count(0) - places.count(0)
        if half and places.count(0) > 0.7 * half and others < 0.05 * half:
            return encoding
    return None


def _telling_lines(source: Source) -> bytes:
    """Lines with letters beyond ASCII; the other lines say nothing about the encoding."""
    found, size = [], 0
    with _opened(source) as file:
        for line in iter(lambda: file.readline(_STEP), b""):
            if not line.isascii():
                found.append(line)
                size += len(line)
            if size > _SAMPLE:
                break
    return b"".join(found)[: 2 * _SAMPLE]


def _implausible(sample: bytes, encoding: str) -> float:
    """Share of the letters beyond ASCII in places where such letters never occur."""
    text = sample.decode(encoding, errors="replace")
    told = [_is_implausible(text, place) for place, letter in enumerate(text) if ord(letter) > 127]
    return sum(told) / len(told) if told else 1.0


def _is_implausible(text: str, place: int) -> bool:
    letter, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if letter in _QUOTES:
        return _is_lower(before) and _is_lower(after)
    if letter in _SIGNS:
        return after.isalpha()
    if letter == _APOSTROPHE:
        return False
    if not letter.isalpha():
        return True
    alone = not before.isalpha() and not after.isalpha() and letter not in _WORDS
    beside = (before + after).isalpha() and not before.isascii() and not after.isascii()
    is_capital_within = letter.isupper() and before.isalpha() and (before.islower() or after.islower())
    return alone or beside or is_capital_within


def _out_of_script(sample: bytes, encoding: str) -> float:
    """Share of the letters beyond ASCII that are of another script, or capitals inside a word."""
    text = sample.decode(encoding, errors="replace")
    first, last = _SCRIPTS[encoding]
    wrong = [
        not first <= letter <= last or (letter.isupper() and text[place - 1 : place].islower())
        for place, letter in enumerate(text)
        if ord(letter) > 127
    ]
    # Single letters are no words of that script.
    has_words = re.search(f"[{first}-{last}]{{3}}", text) is not None
    return sum(wrong) / len(wrong) if has_words else 1.0


def _is_lower(text: str) -> bool:
    return text.isalpha() and text.islower()


def _by_detector(sample: bytes) -> str | None:
    """The encoding that charset-normalizer finds, if it is sure; for letters of several bytes."""
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Detecting an encoding needs charset-normalizer, which is not installed. Set --encoding, or "
            "run: pip install 'whyodd[files]'"
        ) from None
    matches = list(from_bytes(sample, cp_isolation=list(_OTHERS)))
    least = min((match.chaos for match in matches), default=1.0)
    close = [match for match in matches if match.chaos <= least + _CLOSE]
    is_sure = least <= _MOST_CHAOS and len({str(match) for match in close}) == 1
    return str(close[0].encoding) if is_sure else None


# The detector's measure of nonsense: the most that is accepted, and a negligible difference.
_MOST_CHAOS, _CLOSE = 0.1, 0.05
# Encodings that it may choose among.
_OTHERS = ("shift_jis", "gb18030", "big5", "euc_kr", "euc_jp")


def _parts(source: Source) -> Iterator[bytes]:
    with _opened(source) as file:
        while part := file.read(_STEP):
            yield part


def _opened(source: Source) -> Any:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
