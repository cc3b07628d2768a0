"""Plain values of a saved file: allowed kinds, none of them slow to look up."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whyodd.io.saved_types import Node

# Python's hash of a whole number is its remainder by 2^61 - 1. Few numbers of 64 bits share one; larger ones
# can be made to share one hash, and then each is compared with all other keys.
_LARGEST = 2**64
_DIGITS = 19  # fewer are below it
_MOST_ALIKE = 100


def check_values(nodes: Iterable[Node]) -> None:
    """Raise a ``ValueError`` for a value that is not plain, or for many numbers made to be slow as keys."""
    large: set[str] = set()  # as texts, whose hashes cannot be predicted
    for node in nodes:
        large.update(_large_numbers(node))
    alike = Counter(hash(int(digits)) for digits in large)
    if alike and max(alike.values()) > _MOST_ALIKE:
        raise ValueError("many large numbers in it are chosen to be slow to look up")


def _large_numbers(node: Node) -> Iterator[str]:
    loader = node["__loader__"]
    if loader == "JsonNode":
        value = json.loads(node["content"])
        if isinstance(value, (list, dict)):
            raise ValueError("a plain value in it is a list or a dictionary")
        if isinstance(value, int) and abs(value) > _LARGEST:
            yield str(value)
    elif loader == "DictNode":
        if len(node["key_types"]["content"]) != len(node["content"]):
            raise ValueError("a dictionary in it does not have as many types as keys")
        yield from (key for key in node["content"] if len(key) > _DIGITS and _is_whole(key))
    elif loader == "SliceNode":
        _check_slice(node["content"])


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _check_slice(ends: dict[str, Any]) -> None:
    if not all(end is None or type(end) is int for end in ends.values()):
        raise ValueError("a slice in it begins or ends at something that is not a whole number")
