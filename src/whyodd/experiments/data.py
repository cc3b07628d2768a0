"""Data of the experiments: from a folder, the cache, or the public originals."""

from __future__ import annotations

import csv
import gzip
import os
import sys
import zipfile
import zlib
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from whyodd.experiments.originals import FIGSHARE, fetch_detox, fetch_images
from whyodd.io.atomic import make_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

_IMAGES = ("x_train", "y_train", "x_test", "y_test")
_TOXICITY = "wikipedia_toxicity"
_COMMENTS, _VOTES = "attack_annotated_comments.tsv", "attack_annotations.tsv"
_NEUTRAL, _LABELLED = "cat_large.tsv.gz", "jigsaw_balanced.tsv.gz"
# A comment of the corpus may be longer than the csv module's limit of 131,072 characters.
_LONGEST = 1 << 24


@dataclass(frozen=True)
class Messages:
    """Comments of Wikipedia's talk pages.

    Attributes
    ----------
    corpus : str
        What they are.
    neutral : list of str
        Those that nobody found an attack, to train on.
    attacks : list of str
        Those that most found an attack, or toxic.
    others : list of str
        Harmless ones that are not among ``neutral``; empty if all are.
    """

    corpus: str
    neutral: list[str]
    attacks: list[str]
    others: list[str]


@dataclass
class Source:
    """Where data come from, and the checksums of all files read.

    Looked for in ``folder`` alone if it is given; else in the folder that the environment variable
    WHYODD_DATA names, and in the cache, to which the public original is fetched if there is none.

    Attributes
    ----------
    folder : Path or None
        Folder with mnist/mnist.npz, cifar10/cifar10_subset.npz, wikipedia_toxicity/, dtd_textures/ and
        ucmerced/.
    cache : Path
    figshare : str
        Address of figshare's interface.
    checksums : dict of str
        File, by its place in the folder -> SHA-256.
    """

    folder: Path | None = None
    cache: Path = field(default_factory=lambda: cache_folder())
    figshare: str = FIGSHARE
    checksums: dict[str, str] = field(default_factory=dict)

    def mnist(self) -> Arrays:
        """MNIST: x_train (60000, 28, 28), y_train (60000,), x_test (10000, 28, 28), y_test, all uint8."""
        return self._images("mnist", (28, 28), "mnist.npz")

    def cifar10(self) -> Arrays:
        """CIFAR-10, or a part of it: x_train (n, 32, 32, 3) uint8, y_train (n,), x_test, y_test."""
        return self._images("cifar10", (32, 32, 3), "cifar10.npz", "cifar10_subset.npz")

    def pictures(self, folder: str, pattern: str) -> list[Path]:
        """Files of a folder of pictures, by name; empty if there is no such folder."""
        for place in self._places():
            found = sorted((place / folder).glob(pattern))
            if found:
                return found
        return []

    def messages(self) -> Messages:
        """Neutral comments and attacks: of the Detox corpus, or others of the same kind that are there."""
        for place in self._places():
            folder = place / _TOXICITY
            if all((folder / name).is_file() for name in (_COMMENTS, _VOTES)):
                return _checked(self._detox(folder), folder)
            if all((folder / name).is_file() for name in (_NEUTRAL, _LABELLED)):
                return _checked(self._toxicity(folder), folder)
        names = (_COMMENTS, _VOTES)
        self._fetched(_TOXICITY, names, lambda target: fetch_detox(target, names, self.figshare))
        return _checked(self._detox(self.cache / _TOXICITY), self.cache / _TOXICITY)

    def register(self, path: Path) -> Path:
        """Note the checksum of a file that is read."""
        with path.open("rb") as file:
            self.checksums[f"{path.parent.name}/{path.name}"] = file_digest(file, "sha256").hexdigest()
        return path

    def _places(self) -> Iterator[Path]:
        """Folders to look into, in order."""
        named = os.environ.get("WHYODD_DATA")
        if self.folder is not None:
            yield _existing(self.folder, "--data")
            return
        if named:
            yield _existing(Path(named).expanduser(), "WHYODD_DATA")
        yield self.cache

    def _images(self, name: str, shape: tuple[int, ...], *files: str) -> Arrays:
        for place in self._places():
            for file in files:
                if (place / name / file).is_file():
                    return _read_images(self.register(place / name / file), shape)
        self._fetched(name, files[:1], lambda target: fetch_images(name, target / files[0]))
        return _read_images(self.register(self.cache / name / files[0]), shape)

    def _fetched(self, name: str, files: tuple[str, ...], fetch: Any) -> None:
        """Fetch the original into the cache, or say which file to put where."""
        wanted, them = " and ".join(files), "it" if len(files) == 1 else "them"
        if self.folder is not None:
            raise FileNotFoundError(
                f"{self.folder / name} has no {wanted}. Put {them} there, or leave out --data to download "
                "the public original."
            )
        target = self.cache / name
        make_folder(target)
        print(f"Downloading {wanted} to {target} ...", file=sys.stderr, flush=True)
        try:
            fetch(target)
        # Whatever goes wrong between here and a server, the advice is the same.
        except Exception as error:
            raise OSError(
                f"Could not download {wanted} ({_reason(error)}). Put {them} into {target}, or pass --data "
                f"DIR with a folder {name} that holds {them}."
            ) from error

    def _detox(self, folder: Path) -> Messages:
        """The original corpus: neutral is what nobody found an attack, an attack what most did."""
        votes: dict[str, list[float]] = {}
        for comment, vote in self._labelled(folder / _VOTES, "rev_id", "attack"):
            votes.setdefault(comment, []).append(vote)
        neutral: list[str] = []
        attacks: list[str] = []
        for comment, text in self._table(folder / _COMMENTS, "rev_id", "comment"):
            share = float(np.mean(votes.get(comment, [np.nan])))
            if share == 0.0:
                neutral.append(_message(text))
            elif share > 0.5:
                attacks.append(_message(text))
        return Messages("Wikipedia Detox, personal attacks (figshare 4054689)", neutral, attacks, [])

    def _toxicity(self, folder: Path) -> Messages:
        """Comments of the same kind: neutral ones of one set, attacks and others of another."""
        neutral = [text for text, label in self._labelled(folder / _NEUTRAL, "text", "label") if label == 0.0]
        labelled = list(self._labelled(folder / _LABELLED, "comment", "toxic"))
        toxic = [text for text, label in labelled if label > 0.0]
        others = [text for text, label in labelled if label == 0.0]
        return Messages("cat_large (neutral) and jigsaw_balanced (toxic and others)", neutral, toxic, others)

    def _labelled(self, path: Path, text: str, label: str) -> Iterator[tuple[str, float]]:
        for words, number in self._table(path, text, label):
            try:
                yield words, float(number)
            except ValueError:
                raise OSError(f"cannot read {path}: {label} is {number!r}, expected a number.") from None

    def _table(self, path: Path, *columns: str) -> Iterator[tuple[str, ...]]:
        """Cells of these columns, row by row, of a file of tab separated values."""
        self.register(path)
        before = csv.field_size_limit(_LONGEST)
        try:
            with _opened(path) as file:
                table = csv.reader(file, delimiter="\t")
                place = {column: index for index, column in enumerate(next(table, []))}
                places = [place[column] for column in columns]
                for row in filter(None, table):  # blank lines are no rows
                    yield tuple(row[index] if index < len(row) else "" for index in places)
        except KeyError as error:
            expected = f"expected tab separated columns with {', '.join(columns)}"
            raise OSError(
                f"cannot read {path}: {expected}, but {error} is missing. Replace it by the original."
            ) from None
        except (ValueError, csv.Error, OSError, EOFError, zlib.error) as error:
            raise OSError(f"cannot read {path}: {_reason(error)}. Replace it by the original.") from error
        finally:
            csv.field_size_limit(before)


def _message(text: str) -> str:
    """Comment of the corpus as it was written."""
    return text.replace("NEWLINE_TOKEN", "\n").replace("TAB_TOKEN", "\t")


def _checked(messages: Messages, folder: Path) -> Messages:
    if not messages.neutral or not messages.attacks:
        raise OSError(
            f"{folder} has {len(messages.neutral)} neutral comments and {len(messages.attacks)} attacks: "
            "expected some of both. Replace the files by the originals."
        )
    return messages


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def read_arrays(path: Path, names: tuple[str, ...]) -> Arrays:
    """Arrays of these names in a NumPy archive."""
    try:
        # Opened here, since NumPy leaves a file open that turns out to be broken.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in names}
    except (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        expected = f"expected a NumPy archive (.npz) with {', '.join(names)}"
        raise OSError(
            f"cannot read {path}: {expected} ({_reason(error)}). Replace it by the original."
        ) from error


def _read_images(path: Path, shape: tuple[int, ...]) -> Arrays:
    """Images of a shape and their labels, to train on and to test."""
    arrays = read_arrays(path, _IMAGES)
    for part in ("train", "test"):
        x, y = arrays[f"x_{part}"].shape, arrays[f"y_{part}"].shape
        if len(x) == 0 or x[1:] != shape or y != x[:1]:
            raise OSError(
                f"cannot read {path}: expected x_{part} (n, {', '.join(map(str, shape))}) and y_{part} "
                f"(n,), got {x} and {y}. Replace it by the original."
            )
    return arrays


def cache_folder() -> Path:
    """Where downloads are kept: as usual on the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "whyodd"


def _existing(folder: Path, said: str) -> Path:
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} ({said}) is not a folder: expected one with the data.")
    return folder


def _reason(error: Exception) -> str:
    """What went wrong, in one line."""
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return " ".join(str(reason).split()).strip("'\". ") or type(error).__name__
