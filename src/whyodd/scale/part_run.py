"""A table in parts explained part by part, each into a file of its own; an interrupted run can continue."""

from __future__ import annotations

import errno
import heapq
import json
import os
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.findings.findings import Findings
from whyodd.io.atomic import forget_drafts, make_folder, replacing
from whyodd.io.journal import Journal, stamp
from whyodd.io.table_kinds import ENDINGS, PACKED_ENDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from whyodd.io.parts import Part
    from whyodd.scale.batches import BatchExplainer
    from whyodd.scale.part_cluster import PartCluster
    from whyodd.scale.part_rows import PartReader

# Readers of Parquet folders ignore names that begin with this.
JOURNAL, MODEL = "_whyodd.jsonl", "_model.whyodd"
_FIELDS = ("part", "stamp", "file", "bytes", "rows", "odd", "oddest")
_REPEATED = [f"reasons.list.element.{name}" for name in ("name", "direction", "kind")]
# Batches explained at once, and batches written together as one row group.
_AT_A_TIME, _TOGETHER = 2, 10


@dataclass(frozen=True)
class PartsFound:
    """The findings in all parts.

    Attributes
    ----------
    rows, odd : int
        How many rows there are, and how many of them are odd; None if the model does not say.
    oddest : list of dict
        Cards of the oddest rows, the oddest first; each has its ``part``.
    failed : dict of str to str
        Parts that could not be explained, and why.
    earlier : int
        Parts that an earlier run has explained.
    """

    rows: int
    odd: int | None
    oddest: list[dict[str, Any]]
    failed: dict[str, str]
    earlier: int


@dataclass(frozen=True, eq=False)
class PartsRun:
    """Parts to explain, the model, and where results go.

    Attributes
    ----------
    parts : sequence of Part
    out : path
        Folder of the results.
    reader : PartReader
    explainer : BatchExplainer
    key : dict
        What all results depend on, beside the parts themselves.
    top : int
        Number of the oddest rows that get a card.
    """

    parts: Sequence[Part]
    out: Path
    reader: PartReader
    explainer: BatchExplainer
    key: Mapping[str, Any]
    top: int = 10
    _heap: list[tuple[float, int, dict[str, Any]]] = field(default_factory=list)
    _count: Iterator[int] = field(default_factory=count)

    def explain(
        self, report: Callable[[Part, float], None], cluster: PartCluster | None = None
    ) -> PartsFound:
        """Explain all parts that no earlier run has, here or on a cluster.

        ``report`` receives the finished share of each.
        """
        journal = Journal(self.out / JOURNAL, json.dumps(self.key, sort_keys=True), _FIELDS)
        files = dict(zip([part.name for part in self.parts], result_names(self.parts), strict=True))
        done = {line["part"]: line for line in journal.lines() if self._is_there(line, files)}
        failed: dict[str, str] = {}
        earlier = len(done)
        for line in done.values():
            self._keep_oddest(line["oddest"])
        left = []
        for part in self.parts:
            if part.name in done:
                report(part, 1.0)
            else:
                left.append(part)
        results = self._here(left, files, report) if cluster is None else cluster.explain(self, left, files)
        with journal.writing(done.values()) as add:
            for part, found in results:
                if isinstance(found, str):
                    failed[part.name] = _naming(part, found)
                else:
                    add(found)
                    done[part.name] = found
                    self._keep_oddest(found["oddest"])
                report(part, 1.0)
        odd = None if self.explainer.threshold is None else sum(line["odd"] for line in done.values())
        oddest = [card for _, _, card in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]
        return PartsFound(sum(line["rows"] for line in done.values()), odd, oddest, failed, earlier)

    def _here(
        self, parts: Sequence[Part], files: Mapping[str, str], report: Callable[[Part, float], None]
    ) -> Iterator[tuple[Part, dict[str, Any] | str]]:
        """Each part with its line of the journal, or with its error."""
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            for part in parts:
                try:
                    yield part, self.one(part, files[part.name], pool, report)
                except ValueError as error:
                    yield part, str(error)

    def _is_there(self, line: dict[str, Any], files: Mapping[str, str]) -> bool:
        """Whether a part was explained to a file that has not changed since."""
        with suppress(OSError):
            is_same = (self.out / line["file"]).stat().st_size == line["bytes"]
            return bool(is_same and files.get(line["part"]) == line["file"])
        return False

    def one(
        self, part: Part, file: str, pool: ThreadPoolExecutor, report: Callable[[Part, float], None]
    ) -> dict[str, Any]:
        """Explain a part; its line of the journal."""
        before, target = stamp(part.path), self.out / file
        make_folder(target.parent)
        forget_drafts(target)
        counts, oddest = np.zeros(2, dtype=np.int64), _Oddest(self.top)

        def explained() -> Iterator[Any]:
            first = 0
            batches = _ahead(pool, self.reader.batches(part), self._explain_numbered())
            for table, share, batch in batches:
                oddest.add(table, batch["outlierness"].to_numpy(), first)
                counts[:] += batch.num_rows, np.count_nonzero(batch["is_odd"])
                first += batch.num_rows
                yield batch
                report(part, share)

        with replacing(target) as draft:
            _write(explained(), self.explainer.schema, draft)
        cards = self._cards(oddest, part)
        size = target.stat().st_size
        values = (part.name, before, file, size, *counts.tolist(), cards)
        return dict(zip(_FIELDS, values, strict=True))

    def _explain_numbered(self) -> Callable[[Any], Any]:
        """Function that explains tables one after the other and numbers their rows on."""
        first = 0

        def explain(table: Any) -> Callable[[], Any]:
            nonlocal first
            start, first = first, first + table.num_rows
            return lambda: self._explained(table, start)

        return explain

    def _explained(self, table: Any, start: int) -> Any:
        try:
            return self.explainer(table, start)
        except (ValueError, OverflowError) as error:
            rows = f"rows {start:,} to {start + table.num_rows - 1:,}"
            raise ValueError(f"{rows}, counted from the first of these: {error}") from None

    def _cards(self, oddest: _Oddest, part: Part) -> list[dict[str, Any]]:
        """Cards of the oddest rows of a part that are among the oddest of all so far."""
        least = self._heap[0][0] if len(self._heap) >= self.top else -np.inf
        scores, rows, table = oddest.above(least)
        if rows.size == 0:
            return []
        cards = cards_of(self.explainer, table, scores)
        names = rows if self.explainer.id_column is None else table[self.explainer.id_column].to_pylist()
        for card in cards:
            place = card["row"]
            card.update(part=part.name, row=int(rows[place]), outlierness=float(scores[place]))
            card["id"] = None if self.explainer.id_column is None else str(names[place])
        return cards

    def _keep_oddest(self, cards: Iterable[dict[str, Any]]) -> None:
        for card in cards:
            entry = (card["outlierness"], -next(self._count), card)  # of equal ones the first counts
            if len(self._heap) < self.top:
                heapq.heappush(self._heap, entry)
            elif entry[0] > self._heap[0][0]:
                heapq.heapreplace(self._heap, entry)


class _Oddest:
    """The oddest rows of a part, in bounded memory."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.scores, self.rows, self.table = np.empty(0), np.empty(0, dtype=np.int64), None

    def add(self, table: Any, scores: Any, first_row: int) -> None:
        """Take in the rows of a table, which begin at ``first_row``."""
        import pyarrow as pa

        chosen = _largest(scores, self.count)
        more = table.take(pa.array(chosen))
        known = [more] if self.table is None else [self.table, more]
        self.table = pa.concat_tables(known, promote_options="permissive")
        self.scores = np.concatenate([self.scores, scores[chosen]])
        self.rows = np.concatenate([self.rows, first_row + chosen])
        self._take(_largest(self.scores, self.count))

    def above(self, least: float) -> tuple[Any, Any, Any]:
        """Scores, numbers and values of the rows that are odder than this."""
        self._take(np.flatnonzero(self.scores > least))
        return self.scores, self.rows, self.table

    def _take(self, chosen: Any) -> None:
        import pyarrow as pa

        self.scores, self.rows = self.scores[chosen], self.rows[chosen]
        self.table = None if self.table is None else self.table.take(pa.array(chosen))


def _largest(scores: Any, count: int) -> Any:
    """Positions of the largest scores, the first of equal ones, in their order."""
    return np.sort(np.argsort(-scores, kind="stable")[:count])


def cards_of(explainer: BatchExplainer, table: Any, scores: Any) -> list[dict[str, Any]]:
    """Cards of a few rows, in the words of a table in memory; ``row`` is the position in ``table``."""
    e = explainer.explanation(table)
    threshold = explainer.threshold
    rarity = explainer.p_values(e)
    found = Findings.of(
        e,
        threshold=float(scores.min()) if threshold is None else threshold,
        model=explainer.model,
        p_value=rarity,
        n_normal=explainer.n_normal,
    )
    cards = found.to_dict(len(e), checks=False)["anomalies"]
    kept = ("rank", "row", "id", "outlierness", "outlierness_text", "times_text", "rarity", "why", "brief")
    return [{name: card[name] for name in kept} for card in cards]


def _ahead(
    pool: ThreadPoolExecutor, tables: Iterator[tuple[Any, float]], prepare: Callable[[Any], Callable[[], Any]]
) -> Iterator[tuple[Any, float, Any]]:
    """Tables, shares and their results, in order; a few are processed at a time."""
    waiting: deque[tuple[Any, float, Any]] = deque()
    try:
        for table, share in tables:
            waiting.append((table, share, pool.submit(prepare(table))))
            if len(waiting) > _AT_A_TIME:
                first, done, future = waiting.popleft()
                yield first, done, future.result()
        while waiting:
            first, done, future = waiting.popleft()
            yield first, done, future.result()
    finally:
        for _, _, future in waiting:
            future.cancel()


def _write(batches: Iterator[Any], schema: Any, draft: Path) -> None:
    """Write batches as a Parquet file, several per row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Only a few texts repeat: searching for repeats would take longer than writing them.
        options = {"use_dictionary": _REPEATED, "write_page_checksum": True}
        with pq.ParquetWriter(draft, schema, compression="zstd", **options) as writer:
            while together := list(islice(batches, _TOGETHER)):
                writer.write_table(pa.Table.from_batches(together))
    except OSError as error:  # in the system's words
        raise OSError(error.errno, os.strerror(error.errno or errno.EIO)) from error


def result_names(parts: Sequence[Part]) -> list[str]:
    """A unique name for the result of each part: its own, with the ending of Parquet.

    Examples
    --------
    >>> from pathlib import Path
    >>> from whyodd.io.parts import Part
    >>> from whyodd.scale.part_run import result_names
    >>> result_names([Part(Path("a.csv.gz"), "a.csv.gz"), Part(Path("b.parquet"), "b.parquet")])
    ['a.parquet', 'b.parquet']
    """
    plain = [_without_endings(part.name) for part in parts]
    counts = Counter(plain)
    return [
        f"{name if counts[name] == 1 else part.name}.parquet" for name, part in zip(plain, parts, strict=True)
    ]


def _without_endings(name: str) -> str:
    path = PurePosixPath(name)
    while path.suffix.lower() in (*ENDINGS, *PACKED_ENDINGS):
        path = path.with_suffix("")
    return str(path)


def check_earlier(out: Path, key: Mapping[str, Any], parts: Sequence[Part]) -> bool:
    """Whether an earlier run of the same kind has begun in a folder; an error if it was of another kind.

    Parameters
    ----------
    out : path
    key : dict
        What results depend on, beside the parts; as far as it is known.
    parts : sequence of Part
        Those that are explained already must be as they were.
    """
    lines = _lines(out / JOURNAL)
    if not lines:
        return False
    known = earlier_key(out)
    changed = [name for name, value in key.items() if known.get(name) != value]
    stamps = {part.name: stamp(part.path) for part in parts}
    moved = [line["part"] for line in lines[1:] if line["stamp"] != stamps.get(line["part"], line["stamp"])]
    if changed or moved:
        what = f"{moved[0]} has changed since" if moved else f"{changed[0]} was another"
        raise ValueError(
            f"{out} holds results of another run: {what}. Choose another --out, or pass --restart to replace "
            "them."
        )
    return True


def earlier_key(out: Path) -> dict[str, Any]:
    """The settings and inputs of an earlier run; None if there was none."""
    first = next(iter(_lines(out / JOURNAL)), {})
    return json.loads(first.get("key", "{}"))  # type: ignore[no-any-return]


def forget_earlier(out: Path) -> None:
    """Remove the files that an earlier run wrote to a folder."""
    for line in _lines(out / JOURNAL)[1:]:
        (out / line["file"]).unlink(missing_ok=True)
    for name in (JOURNAL, MODEL):
        (out / name).unlink(missing_ok=True)


def _lines(path: Path) -> list[dict[str, Any]]:
    """All lines of a journal, without incomplete ones."""
    found = []
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
    return found


def _naming(part: Part, error: str) -> str:
    return error if part.name in error else f"{part.name}: {error}"
