"""A table in parts on a Dask cluster: workers read and explain parts in folders that all can access."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyodd.io.atomic import replacing
from whyodd.scale.part_rows import PartReader, first_schema, summary_of
from whyodd.scale.part_run import PartsRun
from whyodd.scale.workers import explainer_of, fitted, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whyodd.io.parts import Part

# File of the explainer in the folder of results, so that it need not travel with every part.
EXPLAINER = "_explainer.whyodd"
_SECONDS = 10  # to wait for a scheduler


@dataclass(frozen=True, eq=False)
class PartCluster:
    """The workers of a Dask cluster, each of which handles one part at a time.

    If a worker dies, its part is done by another: it replaces what the first one has written.
    """

    client: Any

    @classmethod
    @contextmanager
    def at(cls, address: str) -> Iterator[PartCluster]:
        """Workers of the scheduler at an address such as tcp://10.0.0.5:8786."""
        from distributed import Client

        try:
            client: Any = Client(address, timeout=_SECONDS)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ConnectionError(
                f"No Dask scheduler answers at {address}, which --cluster names. Start one (dask scheduler), "
                "or correct the address."
            ) from error
        with client:
            if not client.scheduler_info()["workers"]:
                raise ConnectionError(
                    f"The Dask scheduler at {address} has no workers. Start one: dask worker."
                )
            yield cls(client)

    def learn(
        self,
        reader: PartReader,
        parts: Sequence[Part],
        *,
        types: Mapping[str, str] | None,
        random_state: int,
        report: Callable[[Part, float], None],
    ) -> tuple[Any, list[str]]:
        """Like :func:`whyodd.scale.part_rows.learn_from_parts`, with each part summarised by a worker."""
        like = (reader.settings, first_schema(reader, parts))
        tasks = {part: (_summarized, *like, part, number, random_state) for number, part in enumerate(parts)}
        whole, unread = b"", []
        for part, summary in self._results(tasks):
            if isinstance(summary, str):
                unread.append(part.name)
            else:
                whole = merged([whole, summary])
            report(part, 1.0)
        model = fitted(whole, trusted=False, types=types, random_state=random_state)
        return model, sorted(unread)

    def explain(
        self, run: PartsRun, parts: Sequence[Part], files: Mapping[str, str]
    ) -> Iterator[tuple[Part, dict[str, Any] | str]]:
        """Each part with its line of the journal, or with its error, as workers finish."""
        out = run.out.absolute()
        with replacing(out / EXPLAINER) as draft:
            draft.write_bytes(run.explainer.to_bytes())
        tasks = {
            part: (_explained, run.reader.settings, part, files[part.name], str(out), run.top)
            for part in parts
        }
        yield from self._results(tasks)

    def _results(self, tasks: Mapping[Part, tuple[Any, ...]]) -> Iterator[tuple[Part, Any]]:
        """The results of workers for each part, as they finish; a text is an error."""
        from distributed import as_completed

        futures = {self.client.submit(*task, pure=False): part for part, task in tasks.items()}
        for future in as_completed(futures):  # type: ignore[no-untyped-call]
            try:
                yield futures[future], future.result()
            except ValueError as error:
                yield futures[future], str(error)


def _summarized(settings: Mapping[str, Any], schema: Any, part: Part, number: int, seed: int) -> bytes:
    """On a worker: the summary of a part, for these columns."""
    reader = PartReader(**settings)
    reader.use(None, schema)
    summary = summary_of(reader, part, number, seed, _unheard)
    return b"" if summary is None else summary.to_bytes()


def _explained(settings: Mapping[str, Any], part: Part, file: str, out: str, top: int) -> dict[str, Any]:
    """On a worker: explain a part into a file; its line of the journal."""
    explainer = explainer_of((Path(out) / EXPLAINER).read_bytes())
    reader = PartReader(**settings)
    reader.use(explainer.model, explainer.inputs)
    run = PartsRun([part], Path(out), reader, explainer, {}, top)
    with ThreadPoolExecutor(1) as pool:
        return run.one(part, file, pool, _unheard)


def _unheard(part: Part, share: float) -> None:
    """Ignore progress within a part, which workers do not report."""
