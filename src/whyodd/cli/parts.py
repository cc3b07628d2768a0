"""``whyodd explain`` for a table in several files, or larger than memory."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from whyodd.cli.extras import check_installed
from whyodd.cli.table_options import check_learned, names_of, tell, types_of
from whyodd.cli.table_words import model_told, odd_rows_table, say
from whyodd.cli.tables import load_model
from whyodd.explanations.groups import count_of_rows
from whyodd.findings.find import learn
from whyodd.findings.findings import headline_of
from whyodd.findings.table import Table
from whyodd.findings.thresholds import threshold_source
from whyodd.io.atomic import CannotWriteError, make_folder
from whyodd.io.journal import stamp
from whyodd.io.parts import find_parts
from whyodd.io.saving import save
from whyodd.io.tables import read_table, table_name
from whyodd.io.terminal import printable
from whyodd.progress import progress_bar
from whyodd.scale.batches import BatchExplainer
from whyodd.scale.part_rows import PartReader, first_schema, learn_from_parts
from whyodd.scale.part_run import MODEL, PartsRun, check_earlier, earlier_key, forget_earlier
from whyodd.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from whyodd.io.parts import Part
    from whyodd.scale.part_cluster import PartCluster
    from whyodd.scale.part_run import PartsFound

_MEGABYTE = 1 << 20
_GOES_ON = "Finished parts are kept: run the same command again to continue."
# Options that need all rows at once, or that apply to files with one table.
_NOT_FOR_PARTS = (
    *("--report", "--groups", "--method", "--share", "--false-alarms", "--fdr"),
    *("--sheet", "--table"),
)


@dataclass(frozen=True)
class PartsCommand:
    """The options of ``whyodd explain``."""

    parts: Sequence[Part]
    out: Path
    model: Path | None = None
    train: Path | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id_column: str | None = None
    types: Mapping[str, str] | None = None
    encoding: str | None = None
    top: int = 10
    seed: int = 0
    cluster: str | None = None
    restart: bool = False
    as_json: bool = False
    quiet: bool = False

    def run(self) -> None:
        """Explain all parts, and print the findings; exits with code 1 if some could not be explained."""
        make_folder(self.out)
        if self.restart:
            forget_earlier(self.out)
        with nullcontext() if self.cluster is None else self._workers(self.cluster) as workers:
            self._run(workers)

    def _workers(self, address: str) -> Any:
        check_installed("distributed")
        from whyodd.scale.part_cluster import PartCluster

        return PartCluster.at(address)

    def _run(self, workers: PartCluster | None) -> None:
        reader = PartReader(self.columns, self.drop, self.id_column, self.encoding)
        model, key = self._model(reader, workers)
        reader.use(model)
        explainer = BatchExplainer(
            model,
            id_column=self.id_column,
            exclude_self=self._learns,
            inputs=first_schema(reader, self.parts),
        )
        run = PartsRun(self.parts, self.out, reader, explainer, key, self.top)
        try:
            with self._bar("Explaining, MB") as report:
                found = run.explain(report, workers)
        except KeyboardInterrupt:
            typer.echo(_GOES_ON, err=True)
            raise
        except CannotWriteError as error:
            raise CannotWriteError(f"{error} {_GOES_ON}") from None
        self._tell(found, explainer, reader.notes)
        if found.failed:
            raise typer.Exit(1)

    @property
    def _learns(self) -> bool:
        """Whether the model is trained on the parts themselves."""
        return self.model is None and self.train is None

    def _key(self, unread: Collection[str]) -> dict[str, Any]:
        """Everything that the results depend on, by name."""
        learned = {part.name: stamp(part.path) for part in self.parts if part.name not in unread}
        return {
            "the version of whyodd": __version__,
            "--model": None if self.model is None else hashlib.sha256(self.model.read_bytes()).hexdigest(),
            "--train": None if self.train is None else stamp(self.train),
            "--columns": list(self.columns),
            "--drop": list(self.drop),
            "--id-column": self.id_column,
            "--type": dict(self.types or {}),
            "--encoding": self.encoding,
            "--seed": self.seed,
            "the set of files": learned if self._learns else None,
            "unread": sorted(unread) if self._learns else [],
        }

    def _model(self, reader: PartReader, workers: PartCluster | None) -> tuple[Any, dict[str, Any]]:
        """The model as given, trained before an interruption, or trained now; and the key."""
        unread = earlier_key(self.out).get("unread", [])
        key, notes = self._key(unread), reader.notes
        goes_on = check_earlier(self.out, key, self.parts)
        if self.model is not None:
            return load_model(self.model, notes), key
        kept = self.out / MODEL
        if goes_on and kept.exists():
            return load_model(kept, notes), key
        if self.train is not None:
            frame = read_table(self.train, notes=notes)
            beside = {*self.drop, self.id_column}
            names = [name for name in self.columns or frame.columns if name not in beside]
            known = Table(frame.select(names), table_name(self.train))
            model = learn(
                known, trusted=True, types=self.types, random_state=self.seed, progress=not self.quiet
            )
        else:
            with self._bar("Learning, MB") as report:
                learn_all = learn_from_parts if workers is None else workers.learn
                model, unread = learn_all(
                    reader, self.parts, types=self.types, random_state=self.seed, report=report
                )
        save(model, kept)
        return model, self._key(unread)

    @contextmanager
    def _bar(self, doing: str) -> Iterator[Callable[[Part, float], None]]:
        """Progress over all files by their sizes."""
        sizes = {part.name: part.path.stat().st_size / _MEGABYTE for part in self.parts}
        done = dict.fromkeys(sizes, 0.0)
        if self.quiet:
            yield lambda part, share: None  # noqa: ARG005
            return
        with progress_bar(max(int(sum(sizes.values())), 1), doing) as report:
            told = -1

            def tell_share(part: Part, share: float) -> None:
                nonlocal told
                done[part.name] = share * sizes[part.name]
                if int(sum(done.values())) != told:
                    told = int(sum(done.values()))
                    report(told)

            yield tell_share

    def _tell(self, found: PartsFound, explainer: BatchExplainer, notes: Sequence[str]) -> None:
        """Print the findings in the same words as for a table in memory."""
        tell([*dict.fromkeys(notes)])
        for told in found.failed.values():
            typer.echo(f"Error: {printable(told)}", err=True)
        if found.failed:
            typer.echo(
                f"{len(found.failed):,} of {len(self.parts):,} parts could not be explained. Repair or "
                "remove them, then run the same command again: finished parts are kept.",
                err=True,
            )
        if self.as_json:
            typer.echo(json.dumps(self._summary(found, explainer), allow_nan=False))
            return
        console, n = Console(), found.rows
        columns = len(explainer.variables)
        say(console, f"{len(self.parts):,} parts: {count_of_rows(n)}, {columns:,} columns.")
        say(console, model_told(explainer.model, by_itself=self._learns, known=self.train))
        say(console, self._headline(found, explainer))
        if found.oddest:
            count = len(found.oddest)
            rows = "The oddest row" if count == 1 else f"The {count:,} oddest rows"
            counting = "" if self.id_column else " (they count from 0 in each part)"
            say(console, f"\n{rows}{counting}:\n")
            console.print(odd_rows_table(_ranked(found.oddest), self.id_column or "part and row"))
        say(console, f"\nWritten: {self.out}")

    def _headline(self, found: PartsFound, explainer: BatchExplainer) -> str:
        threshold = explainer.threshold
        if threshold is None:
            return f"{count_of_rows(found.rows)}, ranked, since the model has no threshold."
        return headline_of(
            found.rows, found.odd or 0, threshold, threshold_source(threshold, explainer.model)
        )

    def _summary(self, found: PartsFound, explainer: BatchExplainer) -> dict[str, Any]:
        return {
            "parts": len(self.parts),
            "rows": found.rows,
            "odd": found.odd,
            "threshold": explainer.threshold,
            "anomalies": found.oddest,
            "failed": found.failed,
        }


def explain_parts(
    data: Sequence[Path],
    out: Path | None,
    options: Mapping[str, Any],
    *,
    top: int,
    cluster: str | None,
    restart: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Explain a table in parts, with the options of the command by their names."""
    parts = find_parts(data)
    if out is None:
        raise ValueError("A table in parts needs --out: a folder for the results of each part.")
    for name in _NOT_FOR_PARTS:
        if options[name]:
            raise typer.BadParameter(f"{name} does not work with a table in parts. Leave it out.")
    if options["--given"]:
        raise typer.BadParameter(
            "--given does not work with a table in parts. Learn a model in context with whyodd fit, "
            "and pass --model."
        )
    check_out(out, data, parts)
    model, train, types = options["--model"], options["--train"], types_of(options["--type"])
    if types and model is not None:
        raise typer.BadParameter(
            "--type cannot be used with --model, which already knows its columns. Pass --type to whyodd "
            "fit instead."
        )
    check_learned(model, train)
    check_installed("polars", "pyarrow", "skops")
    PartsCommand(
        parts,
        out,
        model=model,
        train=train,
        columns=names_of(options["--columns"]),
        drop=names_of(options["--drop"]),
        id_column=options["--id-column"],
        types=types,
        encoding=options["--encoding"],
        top=top,
        seed=options["--seed"] or 0,
        cluster=cluster,
        restart=restart,
        as_json=as_json,
        quiet=quiet,
    ).run()


def _ranked(cards: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cards of several parts, ranked together; a row without a name is called by part and number."""
    return [
        card | {"rank": rank, "id": card["id"] or f"{card['part']} {card['row']}"}
        for rank, card in enumerate(cards, start=1)
    ]


def check_out(out: Path, data: Sequence[Path], parts: Sequence[Part]) -> None:
    """Say before the work if results cannot go to a folder, or would be read as parts themselves."""
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"--out {out} is a file: expected a folder for the results of all parts.")
    target = os.path.realpath(out)
    for part in parts:
        if os.path.realpath(part.path.parent) == target:
            raise ValueError(
                f"--out {out} is the folder of {part.name}, which would be replaced. Choose another folder."
            )
    for folder in data:
        if folder.is_dir() and os.path.commonpath([target, os.path.realpath(folder)]) == os.path.realpath(
            folder
        ):
            raise ValueError(
                f"--out {out} is inside {folder}, so the next run would read the results as parts. "
                "Choose another folder."
            )
