"""What people pass as messages, as a list of strings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v1 as nw


def as_messages(texts: Any) -> list[str]:
    """Messages of a list, an array, or a column of a data frame; an error names what is no text."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("One string came, expected a list of messages. Pass [text].")
    column: Any = nw.from_native(texts, pass_through=True, allow_series=True)
    if isinstance(column, (nw.DataFrame, nw.LazyFrame)):
        raise TypeError("A data frame came, expected one of its columns: pass frame['comment'].")
    if not isinstance(texts, Iterable):
        raise TypeError(f"Expected a list of messages, but {type(texts).__name__} came.")
    messages = column.to_list() if isinstance(column, nw.Series) else list(texts)
    if not messages:
        raise ValueError("There are no messages: pass at least one.")
    for i, message in enumerate(messages):
        if not isinstance(message, str):
            raise TypeError(
                f"Message {i} is no text but {message!r}. Leave it out, or pass an empty string for it."
            )
    return [str(message) for message in messages]
