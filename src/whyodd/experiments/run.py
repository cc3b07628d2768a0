"""The run of an experiment: its folder, its finished steps, and what it writes.

An experiment is an :class:`Experiment`: ``load(source)`` reads the data, ``perform(run, data)`` measures and
draws. :func:`carry_out` runs one and writes NAME.json, NAME.md, seconds.json and the figures. Inside
``perform``:

- ``run["n_patches"]`` is a parameter; all of them are in the JSON. ``parameters["default"]`` has every
  parameter, ``"quick"`` and ``"full"`` those that differ there.
- ``run.step("train", compute)`` gives what ``compute()`` gives, a dict of arrays, numbers and strings, and
  keeps it in the folder, where an interrupted run finds it. Long work should be many steps. Figures are drawn
  from what steps give, outside of them.
- ``run.random("patches")`` is a generator for one purpose: the same whether other steps were resumed or not.
- ``with run.bar(100, "Explaining") as report: report(done)`` shows progress.
- ``run.draw("curves", figure, "What it shows.")`` writes curves.png and curves.pdf and gives a ``Picture``.
- It returns a :class:`whyodd.experiments.page.Outcome`: results for the JSON, and statements and pictures for
  the page.
"""

from __future__ import annotations

import json
import math
import platform
import re
import sys
import time
import zipfile
import zlib
from contextlib import nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from whyodd.experiments.page import Picture, page
from whyodd.experiments.registry import EXPERIMENTS
from whyodd.io.atomic import make_folder, replacing, save_figure
from whyodd.progress import progress_bar
from whyodd.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from whyodd.experiments.data import Source
    from whyodd.experiments.page import Outcome

    Step = dict[str, Any]

Size = Literal["quick", "default", "full"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
_NAME = re.compile(r"[a-z0-9_-]+")
_DOTS_PER_INCH = 150
_DIGITS = 10  # of a number in the JSON: the last few depend on the processor
_MARK, _SECONDS = "_fingerprint", "_seconds"  # what a step's file holds beside its result


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    title : str
        Heading of its page.
    parameters : mapping
        "default" -> every parameter (numbers, strings, and tuples of those); "quick" and "full" -> those that
        are different there.
    load : callable
        ``load(source)`` reads the data by means of a :class:`whyodd.experiments.data.Source`.
    perform : callable
        ``perform(run, data)`` measures and draws, and returns a :class:`~whyodd.experiments.page.Outcome`.
    packages : tuple of str
        Optional packages it needs.
    """

    title: str
    parameters: Mapping[str, Mapping[str, Any]]
    load: Callable[[Source], Any]
    perform: Callable[[Run, Any], Outcome]
    packages: tuple[str, ...] = ("matplotlib",)

    def parameters_of(self, size: Size) -> dict[str, Any]:
        """Every parameter at a size."""
        return {**self.parameters["default"], **self.parameters.get(size, {})}


@dataclass
class Run:
    """The services that an experiment uses while it runs.

    Attributes
    ----------
    experiment : str
        Its name.
    folder : Path
        Where results are written; finished steps are in ``.steps`` in it.
    seed : int
    size : {"quick", "default", "full"}
    parameters : dict
    checksums : dict of str
        File of data -> SHA-256.
    say : callable
        Tells the user a line.
    progress : bool
        Whether there are progress bars.
    """

    experiment: str
    folder: Path
    seed: int = 0
    size: Size = "default"
    parameters: dict[str, Any] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = _say
    progress: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, parameter: str) -> Any:
        return self.parameters[parameter]

    def step(self, name: str, compute: Callable[[], Step]) -> Step:
        """The result of ``compute()``, or that of an earlier run with the same fingerprint.

        Parameters
        ----------
        name : str
            Of lower case letters, digits, "_" and "-"; each step has its own.
        compute : callable
            Returns a dict of arrays, numbers and strings; lists become arrays.
        """
        if not _NAME.fullmatch(name) or name in self.seconds:
            raise ValueError(f"step {name!r}: expected a name of its own, of a-z, 0-9, '_' and '-'.")
        found = self._finished(name)
        if found is None:
            began = time.perf_counter()
            found = {key: _array(name, key, value) for key, value in compute().items()}
            found[_SECONDS] = np.array(time.perf_counter() - began)
            self._keep(name, found)
        self.seconds[name] = round(float(found[_SECONDS]), 3)
        # Numbers come back as numbers, whether they were just computed or read.
        return {
            key: value.item() if value.ndim == 0 else value for key, value in found.items() if key[0] != "_"
        }

    def random(self, purpose: str) -> np.random.Generator:
        """Random numbers for one purpose, determined by the purpose and the seed."""
        return np.random.default_rng([self.seed, zlib.crc32(purpose.encode())])

    def bar(self, total: int, doing: str) -> AbstractContextManager[Callable[[int], None]]:
        """Progress bar for the duration of a block; call what it yields with how many are done."""
        return progress_bar(total, doing) if self.progress else nullcontext(lambda _: None)

    def draw(self, name: str, figure: Any, caption: str) -> Picture:
        """Write a figure of matplotlib as PNG and PDF."""
        for ending in ("png", "pdf"):
            save_figure(figure, self.folder / f"{name}.{ending}", _DOTS_PER_INCH)
        return Picture(name, caption)

    @property
    def steps(self) -> Path:
        """Folder of the finished steps."""
        return self.folder / ".steps"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that the results depend on."""
        return sha256(json.dumps(self.origin(), sort_keys=True).encode()).hexdigest()

    def origin(self) -> dict[str, Any]:
        """Everything that the results depend on, for the JSON and the fingerprint."""
        return {
            "experiment": self.experiment,
            "versions": versions(),
            "seed": self.seed,
            "size": self.size,
            "parameters": plain(self.parameters),
            "data": dict(sorted(self.checksums.items())),
        }

    def prepare(self, *, fresh: bool = False) -> None:
        """Make the folder; with ``fresh`` delete the finished steps, otherwise say which will be used."""
        make_folder(self.steps)
        files = sorted(self.steps.glob("*.npz"))
        if fresh:
            for file in files:
                file.unlink()
            return
        resumed = [file.stem for file in files if self._finished(file.stem) is not None]
        if resumed:
            self.say(f"Resumed from {self.folder}: {_told(resumed)} (to start afresh: --fresh).")
        if len(resumed) < len(files):
            self.say(
                f"{len(files) - len(resumed)} step(s) in {self.folder} are broken or come from another run "
                "(other parameters, data or versions): computed again."
            )

    def write(self, report: Outcome, experiment: Experiment) -> None:
        """Write NAME.json, NAME.md and seconds.json."""
        origin = self.origin()
        content = {**origin, "results": plain(report.results)}
        write_json(self.folder / f"{self.experiment}.json", content)
        write_json(self.folder / "seconds.json", self.seconds)
        with replacing(self.folder / f"{self.experiment}.md") as draft:
            draft.write_text(
                page(experiment.title, EXPERIMENTS.get(self.experiment, ""), report, origin), encoding="utf-8"
            )

    def _finished(self, name: str) -> dict[str, np.ndarray] | None:
        """Result of a step that was finished with the same fingerprint."""
        try:
            # Opened here, since NumPy leaves a file open that turns out to be broken.
            with (
                (self.steps / f"{name}.npz").open("rb") as file,
                np.load(file, allow_pickle=False) as archive,
            ):
                found = dict(archive)
            return found if str(found.pop(_MARK)) == self.fingerprint and _SECONDS in found else None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            return None  # there is none, or the file is broken

    def _keep(self, name: str, found: dict[str, np.ndarray]) -> None:
        with replacing(self.steps / f"{name}.npz") as draft:
            content: dict[str, Any] = {_MARK: np.array(self.fingerprint), **found}
            np.savez(draft, **content)


def carry_out(
    name: str,
    experiment: Experiment,
    folder: Path,
    source: Source,
    *,
    seed: int = 0,
    size: Size = "default",
    parameters: Mapping[str, Any] | None = None,
    fresh: bool = False,
    progress: bool = False,
    say: Callable[[str], None] = _say,
) -> Outcome:
    """Run an experiment and write all its files.

    Parameters
    ----------
    name : str
        Its name in ``EXPERIMENTS``.
    experiment : Experiment
    folder : Path
        Where to write.
    source : Source
        Where the data are.
    seed : int, default 0
    size : {"quick", "default", "full"}, default "default"
    parameters : mapping, optional
        Parameters to use instead of those of the size.
    fresh : bool, default False
        Forget what an earlier run finished.
    progress : bool, default False
    say : callable, optional
        Tells the user a line; on standard error by default.

    Returns
    -------
    Outcome
    """
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file: expected a folder to write to. Choose another --out.")
    run = Run(
        experiment=name,
        folder=folder,
        seed=seed,
        size=size,
        parameters=_replaced(experiment.parameters_of(size), parameters or {}),
        say=say,
        progress=progress,
    )
    make_folder(run.steps)  # a folder that cannot be written to is reported before the work
    data = experiment.load(source)
    run.checksums = dict(source.checksums)
    run.prepare(fresh=fresh)
    report = experiment.perform(run, data)
    run.write(report, experiment)
    return report


def _replaced(parameters: dict[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    unknown = others.keys() - parameters.keys()
    if unknown:
        raise ValueError(
            f"no such parameter: {_told(sorted(unknown))}. There are: {_told(list(parameters))}."
        )
    return {**parameters, **others}


def versions() -> dict[str, str]:
    """Versions of everything that computes."""
    others = {package: version(package) for package in _PACKAGES}
    return {"whyodd": __version__, "python": platform.python_version(), **others}


def plain(value: Any) -> Any:
    """A value as JSON: arrays as lists, numbers with ten digits, null for a missing number.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.experiments.run import plain
    >>> plain({"mean": np.float64(1 / 3), "rows": np.array([1, 2]), "none": float("nan")})
    {'mean': 0.3333333333, 'rows': [1, 2], 'none': None}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def write_json(path: Path, content: Any) -> None:
    """Write JSON that is byte for byte the same for the same content."""
    with replacing(path) as draft:
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        draft.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _array(step: str, key: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "biufUS" or key.startswith("_"):
        raise TypeError(
            f"step {step!r}: {key!r} is {type(value).__name__}: expected arrays, numbers or strings, under "
            "names that do not begin with '_'."
        )
    return array


def _told(names: list[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
