"""Calls to a foreign scoring function: in blocks, timed, and with its answers checked."""

from __future__ import annotations

import logging
import time
import warnings
from dataclasses import dataclass, field
from threading import Timer
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from whyodd.inputs.frames import build_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LOG = logging.getLogger("whyodd")
# Rows of the two timed calls, and of all others. They do not depend on the time, because the last digits of a
# score may depend on the rows computed with it.
_FIRST, _SECOND, _BLOCK = 8, 64, 1_024
# Largest difference of scores of the same row, relative to their range.
_SAME = 1e-6
# Seconds after which a message says that it waits for the first answer; above which the cost is shown to
# everyone, not only on request; and above which there is advice.
_PATIENCE, _LONG, _VERY_LONG = 5.0, 10.0, 180.0


@dataclass
class Caller:
    """Calls a function, and raises a clear error if its answers are wrong.

    Attributes
    ----------
    function : callable
        ``function(X)`` gives (n,), high for outliers.
    name : str
        What it is called in messages.
    names : sequence of str, optional
        Names of the columns, if the function takes data frames.
    frame_kind : narwhals.Implementation, optional
        The kind of these frames.
    """

    function: Callable[[Any], Any]
    name: str
    names: Sequence[str] | None = None
    frame_kind: Any = None
    _seconds: list[tuple[int, float]] = field(default_factory=list, repr=False)

    def __call__(self, X: Floats, what: str = "row", report: Callable[[int], None] | None = None) -> Floats:
        """Scores (n,) of rows (n, d), in blocks; ``what`` is the name of a row in messages."""
        parts = []
        for start in range(0, len(X), _BLOCK):
            block = X[start : start + _BLOCK]
            parts.append(self._scores(block, what, start))
            if report is not None:
                report(start + len(block))
        return np.concatenate(parts)

    def probe(self, normal: Floats) -> None:
        """Call it with a few normal rows, then with more of them, to see how long it takes.

        Warns of a function that gives the same row another score.
        """
        few = self._scores(normal[:_FIRST], "normal row", 0)
        more = self._scores(normal[:_SECOND], "normal row", 0)
        differs = np.abs(more[: few.size] - few).max()
        if differs > _SAME * (np.ptp(more) or 1.0):
            warnings.warn(
                f"{self.name} gives a row a different score when called with other rows (by up to "
                f"{differs:.2g}). The explanation uses the first score. Pass a function that scores each "
                "row by itself.",
                stacklevel=2,
            )

    def tell_cost(self, rows: int, *, aloud: bool) -> None:
        """Log how long it will take to call the function on this many further rows.

        To everybody where it takes long, with advice where it takes minutes.
        """
        seconds = self.seconds_for(rows)
        told = f"{self.name} will be called on about {rows:,} more rows"
        per_row = f"{told}; at {_duration(seconds / max(rows, 1))} a row about {_duration(seconds)}."
        if seconds >= _VERY_LONG:
            per_row += (
                " To shorten this, pass fewer rows, or options={'budget': a smaller number of rows}. You "
                "can interrupt it at any time."
            )
        _LOG.log(logging.WARNING if aloud or seconds >= _LONG else logging.INFO, per_row)

    def seconds_for(self, rows: int) -> float:
        """Predicted seconds for this many rows: each call takes some time, and so does each row."""
        if not self._seconds:
            return 0.0
        n_first, first = self._seconds[0]
        n, s = max(self._seconds)
        per_row = max((s - first) / (n - n_first), 0.0) if n > n_first else first / n_first
        per_call = max(first - n_first * per_row, 0.0)
        return per_row * rows + per_call * -(-rows // _BLOCK)

    def _scores(self, X: Floats, what: str, start: int) -> Floats:
        given = X if self.names is None else _as_frame(X, self.names, self.frame_kind)
        waiting = Timer(_PATIENCE, _LOG.warning, [f"still waiting for the first answer of {self.name} ..."])
        waiting.daemon = True
        if not self._seconds:
            waiting.start()
        began = time.perf_counter()
        try:
            answer = self.function(given)
        except NotFittedError:
            raise
        except Exception as error:
            raise RuntimeError(
                f"{self.name} raised {type(error).__name__} on {what}s {start} to {start + len(X) - 1}: "
                f"{error}. Expected scores for any rows of {X.shape[1]} numbers."
            ) from error
        finally:
            waiting.cancel()
        self._seconds.append((len(X), time.perf_counter() - began))
        return self._checked(answer, len(X), what, start)

    def _checked(self, answer: Any, n: int, what: str, start: int) -> Floats:
        try:
            scores = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"{self.name} returned {type(answer).__name__}, expected numbers: one score for "
                f"each of {n} rows."
            ) from None
        if scores.shape not in ((n,), (n, 1)):
            hint = " Pass a function that returns one of these columns." if scores.ndim == 2 else ""
            raise ValueError(
                f"{self.name} returned scores of shape {scores.shape} for {n} rows, expected ({n},), high "
                f"for outliers.{hint}"
            )
        scores = scores.ravel()
        is_finite = np.isfinite(scores)
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            raise ValueError(
                f"{self.name} returned {scores[row]} for {what} {start + row}, expected finite numbers only."
            )
        return scores


def _as_frame(X: Floats, names: Sequence[str], kind: Any) -> Any:
    return build_frame({name: X[:, i] for i, name in enumerate(names)}, kind)


def _duration(seconds: float) -> str:
    """Time in words, with about two digits.

    Examples
    --------
    >>> from whyodd.explainers.black_box.calling import _duration
    >>> _duration(0.0002), _duration(3.21), _duration(500.0)
    ('0.2 ms', '3.2 s', '8.3 min')
    """
    for unit, size in (("min", 60.0), ("s", 1.0)):
        if seconds >= 1.5 * size:
            return f"{_two_digits(seconds / size)} {unit}"
    return f"{_two_digits(1e3 * seconds)} ms"


def _two_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"
