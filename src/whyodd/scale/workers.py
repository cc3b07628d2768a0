"""What the workers of a cluster do: summarise a part, merge summaries, explain a part. Only bytes travel."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whyodd.scale.batches import BatchExplainer
from whyodd.scale.summary import TableSummary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Rows explained at once: a part may be larger than a worker can hold several times.
BLOCK = 20_000


def summarized(batches: Iterable[Any], part: int, seed: int) -> bytes:
    """Summary of a part that arrives in batches."""
    whole, done = None, 0
    for batch in batches:
        piece = TableSummary.of(batch, part=part, first_row=done, seed=seed)
        whole = piece if whole is None else whole.merge(piece)
        done += piece.n_rows
    return b"" if whole is None else whole.to_bytes()


def merged(summaries: Iterable[bytes]) -> bytes:
    """Summary of all parts; a part without a batch gives empty bytes."""
    parts = map(TableSummary.from_bytes, filter(None, summaries))
    whole = next(parts, None)
    for part in parts:
        whole = part if whole is None else whole.merge(part)
    return b"" if whole is None else whole.to_bytes()


def fitted(summary: bytes, *, trusted: bool, types: Any, random_state: int) -> Any:
    """Pipeline of ``whyodd.auto`` from a summary."""
    whole = TableSummary.from_bytes(summary) if summary else None
    if whole is None or whole.n_rows < 2:
        count = "no rows" if whole is None or whole.n_rows == 0 else "one row"
        raise ValueError(
            f"frame has {count}, expected at least two: one row alone cannot show what is normal. Add rows."
        )
    return whole.fit(trusted=trusted, types=types, random_state=random_state)


@lru_cache(maxsize=4)
def explainer_of(packed: bytes) -> BatchExplainer:
    """The explainer sent to this worker; it is unpacked once."""
    return BatchExplainer.from_bytes(packed)


def explained(packed: bytes, table: Any) -> Iterator[Any]:
    """Record batches that explain the rows of an Arrow table or batch, some rows at a time.

    Blocks start with the part, so that a part gives the same digits wherever it is explained.
    """
    explainer = explainer_of(packed)
    for start in range(0, table.num_rows, BLOCK):
        yield explainer(table.slice(start, BLOCK), start)
