"""Where oddness begins: by the model, a share of the rows, or the false alarms that are allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number
from whyodd.findings.findings import WITHOUT_THRESHOLD, oddest_threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.models.tail import ScoreDistribution

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Limit:
    """The requested rule; at most one of these.

    Attributes
    ----------
    share : float, optional
        Share of the rows that were learned from that is odd.
    false_alarms : float, optional
        Share of normal rows that may be called odd.
    fdr : float, optional
        Share of the rows called odd that may be normal.
    """

    share: float | None = None
    false_alarms: float | None = None
    fdr: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        if len(given) > 1:
            names = " and ".join(given)
            raise ValueError(f"Expected one threshold option, got {names}. Pass one of them.")
        for name, value in given.items():
            if not 0.0 < value <= 0.5:
                raise ValueError(f"{name}={value!r}: expected a share of the rows, above 0 and at most 0.5.")

    def of_normal_rows(self, scores: Floats, known: ScoreDistribution | None) -> tuple[float, str]:
        """Threshold for the allowed false alarms, and its source in words."""
        if known is None:
            raise ValueError(
                "false_alarms and fdr need a model that knows how odd normal rows are, such as "
                "whyodd.Committee. Pass share instead."
            )
        if self.false_alarms is not None:
            return known.threshold(self.false_alarms), exceeded_by(self.false_alarms)
        level = float(self.fdr or 0.0)
        source = f"at most {number(100 * level)} % of the rows above it are expected to be normal"
        return discovery_threshold(scores, known.p_values(scores), level), source


def discovery_threshold(scores: Floats, p_values: Floats, level: float) -> float:
    """Outlierness above which a ``level`` of rows is expected to be normal (Benjamini and Hochberg, 1995).

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.findings.thresholds import discovery_threshold
    >>> discovery_threshold(np.array([9.0, 2.0, 1.0]), np.array([0.001, 0.3, 0.9]), 0.1)
    2.0
    """
    order = np.argsort(-scores, kind="stable")
    allowed = level * np.arange(1, scores.size + 1) / scores.size
    found = np.flatnonzero(p_values[order] <= allowed)
    if found.size == 0:
        return float(scores.max())
    last = int(found[-1])
    return float(scores[order[last + 1]]) if last + 1 < scores.size else float(np.nextafter(scores.min(), 0))


def exceeded_by(share: float) -> str:
    """Source of a threshold that a share of normal rows exceeds, in words."""
    return f"about {number(100 * share)} % of normal rows exceed it"


def distribution_of(model: Any) -> ScoreDistribution | None:
    """The distribution of normal scores, if the model or the last step of a pipeline has one."""
    return getattr(_last(model), "distribution_", None)


def share_above(threshold: float, known: ScoreDistribution) -> float:
    """Share of normal rows above a threshold, not at it."""
    return float(known.p_values([np.nextafter(threshold, np.inf)])[0])


def _last(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def own_threshold(scores: Floats, threshold: float | None, model: Any) -> tuple[float, str]:
    """The threshold of the model, and its source in words."""
    if threshold is None:
        return oddest_threshold(scores), WITHOUT_THRESHOLD
    return threshold, threshold_source(threshold, model)


def threshold_source(threshold: float, model: Any) -> str:
    """Source of a model's threshold, in words."""
    known = distribution_of(model)
    if known is None:
        return "the model's own"
    allowed = getattr(_last(model), "false_alarms", None)
    if allowed is not None and known.threshold(allowed) == threshold:
        return exceeded_by(allowed)
    return exceeded_by(round(float(known.p_values([threshold])[0]), 6))
