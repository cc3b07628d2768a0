"""How detectors learn from single rows that people judge: accept, reject, forget."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from whyodd.compute.points import to_dense
from whyodd.network.judged import JudgedScore, Judgement, can_leave_out, count_of, judged, learned
from whyodd.network.waist import score_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whyodd.compute.points import Points

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Rows named in a sentence.
_ROWS_TOLD = 10


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of a judgement.

    Attributes
    ----------
    judgement : Judgement
    n_agreed : int
        How many of the judged rows were already called that.
    others : ndarray of int
        Positions of other rows that are no longer odd, or that are odd now.
    n_compared : int
        Number of other rows that were checked.
    names : callable
        Gives the name of a row, by its position.
    judged_rows : sequence of int, optional
        Positions of the judged rows, if they are among the checked ones.
    """

    judgement: Judgement
    n_agreed: int
    others: Indices
    n_compared: int
    names: Callable[[int], str] = field(default=str)
    judged_rows: Sequence[int] = ()

    def __str__(self) -> str:
        said = "accepted as normal" if self.judgement.is_normal else "confirmed as odd"
        others = f": {self._others_told}" if self.n_compared else ""
        who = _listed(self.judged_rows, self.names) if self.judged_rows else count_of(self._n_judged)
        verb = "is" if self._n_judged == 1 else "are"
        who = who[0].upper() + who[1:]
        return f"{who} {verb} {said} (id {self.judgement.id}){others}.{self._agreed_told}"

    __repr__ = __str__

    @property
    def _n_judged(self) -> int:
        return len(self.judgement.rows)

    @property
    def _others_told(self) -> str:
        now = "no longer odd" if self.judgement.is_normal else "odd now"
        n = len(self.others)
        if n == 0:
            return f"no other row is {now} ({self.n_compared:,} looked at)"
        are = "other row is" if n == 1 else "other rows are"
        return f"{n:,} {are} {now}: {_listed(self.others.tolist(), self.names)}"

    @property
    def _agreed_told(self) -> str:
        """The effect if nothing new was said."""
        if self.n_agreed == 0 or not self.judgement.is_normal:
            return ""
        if self.n_agreed == self._n_judged:
            return " It was not odd before." if self._n_judged == 1 else " None of them was odd before."
        return f" {self.n_agreed:,} of them {'was' if self.n_agreed == 1 else 'were'} not odd before."


def _listed(rows: Sequence[int], names: Callable[[int], str]) -> str:
    told = ", ".join(names(row) for row in rows[:_ROWS_TOLD])
    more = len(rows) - _ROWS_TOLD
    return f"{'row' if len(rows) == 1 else 'rows'} {told}" + (f" and {more:,} more" if more > 0 else "")


class TakesFeedback:
    """Detector that takes feedback: people may call single rows normal, or odd.

    What it has learned stays as it is, and so do its threshold and the distribution of normal scores.
    Accepting can only lower scores, so p-values can only grow, and there are no more false alarms than
    promised. Rows near rejected ones are odd because people said so, which that promise does not cover: the
    effect is reported.
    """

    network_: Any
    threshold_: float
    _checked: Callable[[Any], Any]

    @property
    def feedback_(self) -> tuple[Judgement, ...]:
        """The judgements, in the order they were made."""
        check_is_fitted(self)
        return self.network_.judgements if isinstance(self.network_, JudgedScore) else ()

    def accept(self, rows: Any, *, note: str = "") -> Effect:
        """Make odd rows, and rows like them, part of what is normal.

        A row that is nearer to an accepted one than to what was learned is less odd, by as much as it is
        nearer.

        Parameters
        ----------
        rows : array or data frame of shape (k, d)
            As for ``predict``.
        note : str, optional
            Why, in free text.

        Returns
        -------
        Effect
            What it did; ``print`` it. It can be undone: see :meth:`forget`.

        Examples
        --------
        >>> import numpy as np, whyodd
        >>> model = whyodd.Committee().fit(np.random.default_rng(0).normal(size=(300, 2)))
        >>> print(model.accept([[8.0, 0.0]], note="calibration run"))
        1 row is accepted as normal (id 1): no other row is no longer odd (240 looked at).
        >>> model.feedback_[0].note, int(model.predict([[8.0, 0.0]])[0])
        ('calibration run', 1)
        """
        return judge(self, self._checked(rows), note, is_normal=True)

    def reject(self, rows: Any, *, note: str = "") -> Effect:
        """Make rows odd, and rows like them more so; the opposite of :meth:`accept`."""
        return judge(self, self._checked(rows), note, is_normal=False)

    def forget(self, id: int) -> Judgement:  # noqa: A002 - what feedback_ calls it
        """Undo a judgement by its ``id`` in ``feedback_``.

        The model is then, to the last bit, as if the judgement had never been made.
        """
        known = {one.id: one for one in self.feedback_}
        if id not in known:
            there = ", ".join(map(str, known)) or "none"
            raise ValueError(f"There is no judgement with the id {id!r}. There are: {there}.")
        self._take([one for one in self.feedback_ if one.id != id])
        return known[id]

    def _take(self, judgements: Sequence[Judgement]) -> None:
        """Become the model with exactly these judgements."""
        self.network_ = judged(self.network_, judgements, float(self.threshold_))


def judge(detector: TakesFeedback, rows: Points, note: str, *, is_normal: bool) -> Effect:
    """Give a detector judgements of rows, as they reach it; the effect is measured on its training rows."""
    inputs = np.asarray(to_dense(rows), dtype=np.float64)
    before, threshold = detector.network_, detector.threshold_
    kept = _KeptRows.of(learned(before))
    was_odd = score_rows(before, inputs, own=kept.own(inputs)) > threshold
    judgement = add_judgement(detector, inputs, note, is_normal=is_normal)
    others = kept.changed(before, detector.network_, inputs, threshold)
    return Effect(judgement, int(np.count_nonzero(was_odd != is_normal)), others, len(kept.keys))


def add_judgement(detector: TakesFeedback, inputs: Floats, note: str, *, is_normal: bool) -> Judgement:
    """Give a detector judgements of rows, without measuring the effect on others."""
    check_is_fitted(detector)
    said = {*keys_of(inputs)}
    for one in detector.feedback_:
        if one.is_normal is not is_normal and not said.isdisjoint(keys_of(one.rows)):
            raise ValueError(
                f"A row was already {one.verdict} on {one.date:.10} (id {one.id}), and it cannot be both. "
                f"Forget {one.id} first."
            )
    number = max((one.id for one in detector.feedback_), default=0) + 1
    date = datetime.now(UTC).replace(microsecond=0).isoformat()
    judgement = Judgement(number, is_normal, inputs, note, date)
    detector._take([*detector.feedback_, judgement])
    return judgement


class _KeptRows(NamedTuple):
    """Training rows that a model compares with.

    Attributes
    ----------
    centers : ndarray of shape (m, d)
    rows : ndarray of int of shape (m,)
        Which training rows they are.
    keys : dict
        Their places among the centers.
    can_leave_out : bool
        Whether each can be judged without itself.
    """

    centers: Floats
    rows: Indices
    keys: dict[bytes, int]
    can_leave_out: bool

    @classmethod
    def of(cls, network: Any) -> _KeptRows:
        """The training rows that were kept; none if the model keeps none."""
        rows = getattr(network, "rows", None)
        if rows is None:
            return cls(np.empty((0, network.n_features)), np.empty(0, dtype=np.intp), {}, False)
        centers = np.asarray(to_dense(network.centers), dtype=np.float64)
        keys = {key: place for place, key in enumerate(keys_of(centers))}
        return cls(centers, np.asarray(rows), keys, can_leave_out(network))

    def own(self, inputs: Floats) -> Indices | None:
        """The center that each of some rows is, or -1."""
        if not self.can_leave_out:
            return None
        return np.array([self.keys.get(key, -1) for key in keys_of(inputs)], dtype=np.intp)

    def changed(self, before: Any, after: Any, inputs: Floats, threshold: float) -> Indices:
        """Training rows whose verdict has changed, without the judged ones."""
        if not len(self.rows):
            return self.rows
        own = self.own(self.centers)
        was, is_now = (score_rows(one, self.centers, own=own) > threshold for one in (before, after))
        judged_rows = {*keys_of(inputs)}
        is_other = np.array([key not in judged_rows for key in keys_of(self.centers)])
        return np.asarray(self.rows[(was != is_now) & is_other])


def keys_of(rows: Floats) -> list[bytes]:
    """Rows as bytes, equal for equal rows."""
    return [row.tobytes() for row in rows + 0.0]  # one zero, not also -0
