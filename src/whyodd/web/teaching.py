"""Marks on rows of earlier files, learned by a model before it judges the next one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyodd.web.store import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    # The columns of a file that a model uses, and a full row of it as the store has it.
    Reader = Callable[[Mapping[str, Any]], tuple[Any, Callable[[int], list[list[str]]]]]


@dataclass(frozen=True)
class Taught:
    """Marks that a model has learned.

    Attributes
    ----------
    counts : dict of str to int
        How many of each verdict that was given.
    left_out : list of str
        Marks that it did not learn, in sentences.
    """

    counts: Mapping[str, int]
    left_out: Sequence[str]

    def sentence(self, n_normal: int, n_odd: int) -> str:
        """Their effect: how many rows are no longer odd because of them, and how many are odd now.

        Examples
        --------
        >>> from whyodd.web.teaching import Taught
        >>> Taught({"fine": 2, "confirmed": 1}, []).sentence(3, 0)
        '3 marks were taken along (2 fine, 1 confirmed): because of them 3 rows are no longer odd.'
        """
        if not self.counts:
            return " ".join(self.left_out)
        total = sum(self.counts.values())
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in self.counts.items())
        effects = [
            f"{_are(n, 'row')} {now}"
            for n, now in ((n_normal, "no longer odd"), (n_odd, "odd that would not be"))
            if n
        ]
        did = f"because of them {' and '.join(effects)}" if effects else "no other row is judged differently"
        verb = "was" if total == 1 else "were"
        taken = f"{total:,} mark{'' if total == 1 else 's'} {verb} taken along ({verdicts}): {did}."
        return " ".join([taken, *self.left_out])


@dataclass(frozen=True)
class _Said:
    """A mark, with its row in the form for the model."""

    verdict: str
    note: str
    at: str
    frame: Any
    row: int
    key: bytes


def teach(model: Any, files: Sequence[Mapping[str, Any]], read: Reader) -> Taught:
    """Teach a model the marks; it is changed in place.

    Of two rows that are equal to the model the later mark counts.

    Parameters
    ----------
    model : fitted pipeline
    files : list of dict
        Name of each, and its ``marks``: row, verdict, note, time, and cells of the row if they were kept.
    read : callable
        Reads a file; whatever it raises, marks of that file are left out.
    """
    import numpy as np

    from whyodd.findings.feedback import accept, reject
    from whyodd.inputs.frames import take_rows

    left_out: list[str] = []
    said = [one for file in files for one in _said(model, file, read, left_out)]
    latest: dict[bytes, _Said] = {}
    for one in sorted(said, key=lambda one: one.at):
        latest[one.key] = one
    taken = [one for one in said if one.verdict == latest[one.key].verdict]
    if overruled := len(said) - len(taken):
        left_out.append(_left_out(overruled, "a later mark on an equal row says the opposite"))
    # A judgement takes as long for many rows as for one.
    together: dict[tuple[int, str, str], list[_Said]] = {}
    for one in taken:
        together.setdefault((id(one.frame), one.verdict, one.note), []).append(one)
    for (_, verdict, note), ones in together.items():
        tell = accept if verdict == "fine" else reject
        tell(model, take_rows(ones[0].frame, np.array([one.row for one in ones])), note=note)
    counts = Counter(one.verdict for one in taken)
    return Taught({verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}, left_out)


def _said(model: Any, file: Mapping[str, Any], read: Reader, left_out: list[str]) -> Iterator[_Said]:
    """Marks of a file whose rows have not changed."""
    import numpy as np

    from whyodd.compute.points import to_dense
    from whyodd.explainers.preparing import PreparedModel
    from whyodd.inputs.frames import take_rows
    from whyodd.models.feedback import keys_of

    marks = file["marks"]
    try:
        frame, cells_of = read(file)
        there = [mark for mark in marks if mark["cells"] is None or mark["cells"] == cells_of(mark["row"])]
        rows = take_rows(frame, np.array([mark["row"] for mark in there], dtype=np.intp))
        inputs = to_dense(PreparedModel.of(model).inputs(rows)) if there else np.empty((0, 0))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the file may be gone or another one by now; the next one can be judged all the same
        there, inputs = [], np.empty((0, 0))
    if len(there) < len(marks):
        why = f"in {file['name']} {'its row is' if len(marks) - len(there) == 1 else 'their rows are'}"
        left_out.append(_left_out(len(marks) - len(there), f"{why} no longer the same"))
    for mark, key in zip(there, keys_of(np.asarray(inputs, dtype=np.float64)), strict=True):
        yield _Said(mark["verdict"], mark["note"], mark["at"], frame, mark["row"], key)


def _left_out(n: int, why: str) -> str:
    return f"{n:,} {'mark was' if n == 1 else 'marks were'} left out: {why}."


def _are(n: int, noun: str) -> str:
    return f"{n:,} {noun} is" if n == 1 else f"{n:,} {noun}s are"
