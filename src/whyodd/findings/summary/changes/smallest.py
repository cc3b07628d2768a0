"""The smallest change towards normal that brings an odd row to the threshold, as a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explanations.date_parts import PARTS, named_part
from whyodd.explanations.sentences import (
    Reason,
    all_digits,
    is_missing,
    is_number,
    name_text,
    number,
    shown,
    text,
)
from whyodd.explanations.variables import Variables
from whyodd.findings.summary.changes.search import Found, find_changes
from whyodd.findings.summary.changes.values import tell
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.explanations.table import Explanation
    from whyodd.findings.summary.changes.values import Told
    from whyodd.inputs.written import Written

_STEPS_IN_A_SENTENCE = 5
_MANY_DIGITS = 15


@dataclass(frozen=True)
class Step:
    """One variable that a change moves.

    Attributes
    ----------
    feature : str
    before, after : number, str or other value
        In raw units; None or NaN where missing.
    is_exact : bool
        Whether ``after`` was checked as reported; otherwise the number is near it.
    like : str or None
        What to say where the value itself is unknown (a date, of which only parts are known).
    form : Written, optional
        How values of the variable are written, if not as plain numbers and dates.
    """

    feature: str
    before: Any
    after: Any
    is_exact: bool = True
    like: str | None = None
    form: Written | None = None

    @property
    def name(self) -> str:
        """The variable on one line, cut if it is very long."""
        return name_text(Reason(self.feature, self.before, self.after, 0, 0.0, 0.0))

    @property
    def to_text(self) -> str:
        """The value after the change; an exact number with all its digits."""
        if self.like is not None:
            return self.like
        if not is_number(self.after):
            return _value_text(self.after, self.form)
        if not self.is_exact:
            return f"about {shown(float(self.after), self.form, 4)}"
        return self._exactly(self.after)

    @property
    def from_text(self) -> str:
        """The value before the change; a number with enough digits to differ from the new one."""
        if not is_number(self.before):
            return _value_text(self.before, self.form)
        texts = (shown(float(self.before), self.form, digits) for digits in range(3, _MANY_DIGITS))
        return next((told for told in texts if told != self.to_text), self._exactly(self.before))

    def _exactly(self, value: Any) -> str:
        """A number with all its digits."""
        return all_digits(float(value)) if self.form is None else self.form.show(float(value), all_digits)


@dataclass(frozen=True)
class Change:
    """A change of some variables that brings an odd row to its threshold.

    Attributes
    ----------
    steps : tuple of Step
        The variables that change, the one that contributes most first.
    outlierness : float
        Of the changed row, at most the threshold.
    threshold : float
    target : int
        The center of the network that the row is moved towards.
    row : int or None
        The training row which that center is, if the model knows it.
    t : float
        Smallest fraction of the way to the target, the same for all numbers, that suffices. Categories are
        moved whole, and numbers are rounded towards the target.
    """

    steps: tuple[Step, ...]
    outlierness: float
    threshold: float
    target: int
    row: int | None
    t: float

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the variables that change."""
        return tuple(step.feature for step in self.steps)

    @property
    def before(self) -> tuple[Any, ...]:
        """Their values in the row."""
        return tuple(step.before for step in self.steps)

    @property
    def after(self) -> tuple[Any, ...]:
        """Their values in the changed row; None where they are unknown."""
        return tuple(step.after for step in self.steps)

    @property
    def sentence(self) -> str:
        """The change in words.

        Examples
        --------
        >>> from whyodd.findings.summary.changes.smallest import Change, Step
        >>> steps = (Step("duration", 5400.0, 12.0), Step("flag", "REJ", "SF"))
        >>> Change(steps, outlierness=3.1, threshold=4.0, target=0, row=0, t=1.0).sentence
        "With duration 12 instead of 5400 and flag 'SF' instead of 'REJ' it would be normal (outlierness 3.1,
        threshold 4)."
        """
        parts = [f"{step.name} {step.to_text} instead of {step.from_text}" for step in self.steps]
        more = len(parts) - _STEPS_IN_A_SENTENCE
        if more > 1:  # naming one more is as short as counting it
            parts = [*parts[:_STEPS_IN_A_SENTENCE], f"{more} other variables changed as well"]
        scores = f"outlierness {self.outlierness_text}, threshold {number(self.threshold)}"
        return f"With {_enumerated(parts)} it would be normal ({scores})."

    @property
    def outlierness_text(self) -> str:
        """Outlierness of the changed row as people read it."""
        return number(self.outlierness)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary of texts."""
        steps = [{"name": step.feature, "from": step.from_text, "to": step.to_text} for step in self.steps]
        return {"sentence": self.sentence, "steps": steps, "outlierness_text": self.outlierness_text}


@dataclass(frozen=True)
class NoChange:
    """States that there is no such change, and why. It counts as false.

    Attributes
    ----------
    reason : str
        A sentence without its full stop.
    """

    reason: str

    def __bool__(self) -> bool:
        return False


def smallest_change(
    e: Explanation,
    threshold: float | None,
    *,
    n_targets: int = 5,
    value_of: Callable[[int, str], Any] | None = None,
) -> list[Change | NoChange]:
    """For each row of an explanation the smallest change towards normal that makes it normal.

    A row x is moved towards normal places u near it: the centers with the largest assignment (its own left
    out) that lie at or below the threshold, and the place to which the nearest center is drawn by the
    expected values Σ_j p_j u_j, since the centers of a support vector machine lie at the threshold
    themselves. If these do not do, some normal centers from all over are tried. Variables are moved one
    after the other, the one with the largest share of the squared distance first, until o ≤ threshold. Those
    that turn out unnecessary are put back. Then all numbers among them move only as far as they must, by a
    common fraction t of the way. Of all u the one that takes the fewest variables counts, and of these the
    shortest way.

    Parameters
    ----------
    e : Explanation
    threshold : float or None
        Outlierness from which on a row is no longer normal; None if nobody knows.
    n_targets : int, default 5
        Number of centers to move towards.
    value_of : callable, optional
        The value that a center has of a variable, by its place and the name, None if it is not known: for
        what the model does not keep, such as dates.

    Returns
    -------
    list of Change or NoChange

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> from whyodd.findings.summary.changes.smallest import smallest_change
    >>> network = whyodd.DistanceNetwork(np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> e = whyodd.explain(network, np.array([[0.5, 4.0], [0.5, 0.1]]))
    >>> for change in smallest_change(e, 2.0):
    ...     print(change.sentence if change else change.reason)
    With x1 1.93 instead of 4 it would be normal (outlierness 1.99, threshold 2).
    it is not above the threshold
    """
    if threshold is None or math.isnan(threshold):
        return [NoChange("there is no threshold below which a row is normal")] * len(e)
    if not offers(e.network, "centers", "neighbors"):
        return [NoChange("the model keeps no normal rows to move towards")] * len(e)
    if len(e) == 0:
        return []
    results: list[Change | NoChange] = [NoChange("it is not above the threshold")] * len(e)
    search = find_changes(e, float(threshold), n_targets)
    for row, reason in search.failed.items():
        results[row] = NoChange(reason)
    for found, told in zip(search.found, tell(search), strict=True):
        results[found.row] = _change(e, float(threshold), found, told, value_of)
    return results


def _change(
    e: Explanation,
    threshold: float,
    found: Found,
    told: Told,
    value_of: Callable[[int, str], Any] | None,
) -> Change:
    rows = e.network.rows
    row = None if rows is None else int(rows[found.target])
    variables = e.variables or Variables(e.feature_names)
    forms = {variables.names[place]: form for place, form in variables.formats.items()}
    steps = []
    for v in told.values:
        form = forms.get(v.name)
        # Values that cannot be described are taken only from rows.
        like = (
            None if v.is_known else f"{_told_like(e, found.target, v.name, value_of)}as in training row {row}"
        )
        steps.append(Step(v.name, v.before, v.after, v.is_exact, like, form))
    return Change(tuple(steps), told.outlierness, threshold, found.target, row, found.t)


def _told_like(e: Explanation, center: int, name: str, value_of: Callable[[int, str], Any] | None) -> str:
    """The value of a known row, or what the model kept of a date, after a comma; "" if unknown."""
    value = None if value_of is None else value_of(center, name)
    if not is_missing(value):
        return f"{_value_text(value, None)}, "
    variables = e.variables or Variables(e.feature_names)
    variable = variables.names.index(name)
    names, origin = variables.parts.get(variable), variables.origin
    if names is None or origin is None or variables.through is not None:
        return ""
    point = to_dense(e.network.centers[[center]])[0][origin == variable]
    is_of = {part: np.array(names) == part for part in dict.fromkeys(names) if part in PARTS}
    parts = [named_part(part, point[chosen]) for part, chosen in is_of.items()]
    return "".join(f"{part}, " for part in parts if part is not None)


def _value_text(value: Any, form: Written | None) -> str:
    return "missing" if is_missing(value) else text(value, form)


def _enumerated(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
