"""The findings in a data set: how odd each item is, which are odd, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.audit import audit
from whyodd.explanations.base import TABLE, TEXTS, at_least_one
from whyodd.explanations.groups import group_by_reason
from whyodd.explanations.sentences import number, percent
from whyodd.findings.feedback import judged_findings
from whyodd.findings.rarity import how_odd
from whyodd.findings.summary.summarize import summarize
from whyodd.findings.table import Table
from whyodd.inputs.frames import build_frame
from whyodd.io.atomic import replacing
from whyodd.report.render import check_installed, render

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from whyodd.automatic.auto import AutoReport
    from whyodd.evaluation.audit import Audit
    from whyodd.explanations.base import Kind
    from whyodd.explanations.groups import ReasonGroup
    from whyodd.models.feedback import Effect

# Items explained at most; the others are only scored.
MOST_EXPLAINED = 10_000
# What is shown if nothing is above the threshold.
_OUTSIDE_CHOICE = 10
# Share of the items, the oddest, called odd by a model that has no threshold.
_SHARE_WITHOUT_THRESHOLD = 0.05
_SHOWN = 5  # items in a notebook or a terminal


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """How odd every item of a data set is, where oddness begins, and why the odd ones are odd.

    Made by :func:`whyodd.find`. The page of :meth:`report`, the command line and JSON all show the same
    :meth:`to_dict`.

    Attributes
    ----------
    outlierness : ndarray of shape (n,)
        How odd each item is.
    threshold : float or None
        Items with more outlierness are odd; None if the model has no threshold and only ranks items.
    threshold_source : str
        Where the threshold comes from, as part of a sentence.
    explainer : callable
        ``explainer(rows, **options)`` explains some items, given by their positions.
    n_explained : int
        How many of the oddest items are explained.
    model : object, optional
        The model that judged the items.
    table : Table, optional
        The rows of a table, and their names.
    known : Table, optional
        The rows that the model has learned from.
    title : str, optional
        Name of the data.
    notes : tuple of str
        Further facts to know, in sentences.
    made_by : str, optional
        The command that made it.
    p_value : ndarray of shape (n,), optional
        Share of normal rows that are at least as odd, if the model knows.
    n_normal : int, optional
        Number of normal rows behind the p-values.
    rejudge : callable, optional
        ``rejudge(model)`` gives another model's findings in the same rows, with the same threshold.
    effects : tuple of Effect
        The effect of each row that was accepted or rejected since.

    Examples
    --------
    >>> import numpy as np, pandas as pd, whyodd
    >>> rng = np.random.default_rng(0)
    >>> orders = pd.DataFrame({"items": rng.poisson(3, 200) + 1.0, "weight": rng.normal(5, 1, 200)})
    >>> orders.loc[7, "weight"] = 40
    >>> found = whyodd.find(orders)
    >>> int(found.explanation.rows[0]), bool(found.is_odd[7])
    (7, True)
    """

    outlierness: NDArray[np.float64]
    threshold: float | None
    threshold_source: str
    explainer: Callable[..., Any]
    n_explained: int
    model: Any = None
    table: Table | None = None
    known: Table | None = None
    title: str | None = None
    notes: tuple[str, ...] = ()
    made_by: str | None = None
    p_value: NDArray[np.float64] | None = None
    n_normal: int | None = None
    rejudge: Callable[[Any], Findings] | None = None
    effects: tuple[Effect, ...] = ()

    @classmethod
    def of(
        cls,
        e: Any,
        *,
        scores: ArrayLike | None = None,
        threshold: float | None = None,
        threshold_source: str | None = None,
        ids: Sequence[Any] | None = None,
        normal: Any = None,
        known_ids: Sequence[Any] | None = None,
        **more: Any,
    ) -> Findings:
        """Findings on items that are already explained.

        Parameters
        ----------
        e : explanation
            Of all items, or of some of them.
        scores : array of shape (N,), optional
            Outlierness of all items, if ``e`` explains only some: ``e.rows`` are positions in it.
        threshold : float, optional
            Outlierness above which an item is odd; by default that of the model.
        threshold_source : str, optional
            Where that threshold comes from.
        ids : sequence of length N, optional
            Name of each row, by its position.
        normal : data frame or array, optional
            Normal rows, which show what is usual; by default the explained rows that are not odd.
        known_ids : sequence, optional
            Names of the rows that the model was trained on.
        **more
            Further attributes: model, title, notes, made_by.
        """
        if not hasattr(e, "outlierness"):
            raise TypeError(
                f"Expected an explanation to report, got {type(e).__name__}. Call whyodd.explain first."
            )
        if len(e) == 0:
            raise ValueError(
                f"The explanation has no {e.kind.nouns}: there is nothing to report. Explain at least one."
            )
        all_scores = np.asarray(e.outlierness if scores is None else scores, dtype=np.float64)
        n_rows = max(all_scores.size, int(e.rows.max()) + 1)
        _check_length("scores", scores, n_rows)
        _check_length("ids", ids, n_rows)
        _check_length("known_ids", known_ids, getattr(getattr(e, "network", None), "n_rows", None) or 0)
        value, source = _threshold(e, all_scores, threshold)
        ranked = e.top(len(e))
        return cls(
            outlierness=all_scores,
            threshold=value,
            threshold_source=threshold_source or source,
            explainer=lambda rows: ranked[: len(rows)],  # the oddest, in their order
            n_explained=len(e),
            table=None if ids is None else Table(None, ids=ids),
            known=None if normal is None and known_ids is None else Table(normal, ids=known_ids),
            **more,
        )

    @cached_property
    def is_odd(self) -> NDArray[np.bool_]:
        """(n,) whether each item is above the threshold."""
        return self.outlierness > (np.inf if self.threshold is None else self.threshold)

    @cached_property
    def n_odd(self) -> int:
        """Number of items above the threshold."""
        return int(np.count_nonzero(self.is_odd))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """(n,) positions of all items, the oddest first."""
        return np.argsort(-self.outlierness, kind="stable")

    @cached_property
    def explanation(self) -> Any:
        """Explanation of the odd items, the oddest first, and of others if few are odd; made on first use."""
        e = self.explain(self.order[: self.n_explained])
        _ = getattr(e, "direction", None)  # computed once: parts of an explanation copy it
        return e

    @cached_property
    def odd(self) -> Any:
        """Explanation of the odd items alone; of the ten oddest if none is, of all without a threshold."""
        if self.threshold is None:
            return self.explanation
        count = int(np.count_nonzero(self.explanation.outlierness > self.threshold))
        return self.explanation[: count or _OUTSIDE_CHOICE]

    @cached_property
    def groups(self) -> list[ReasonGroup]:
        """Odd rows or messages by the reason they share, the largest group first; empty for other items."""
        if self.explanation.kind is TEXTS:
            from whyodd.texts.groups import group_by_word

            return group_by_word(self.odd)
        return group_by_reason(self.odd) if self.explanation.kind is TABLE else []

    def audit(self) -> Audit:
        """The few patterns of relevance that recur, and whether most of the detection rests on one of them.

        For rows of a table and for images; see :func:`whyodd.audit`.
        """
        return self._audit

    @cached_property
    def _audit(self) -> Audit:
        return audit(self)

    @property
    def auto_report(self) -> AutoReport | None:
        """What :func:`whyodd.auto` did, if it made the model."""
        return getattr(self.model, "auto_report_", None)

    def explain(self, rows: ArrayLike, **options: Any) -> Any:
        """Explain some items, given by their positions; options are those of :func:`whyodd.explain`."""
        return self.explainer(np.asarray(rows, dtype=np.intp), **options)

    def top(self, k: int) -> Any:
        """Explanation of the ``k`` oddest items."""
        return self.explanation[: at_least_one(k, self.explanation.kind.nouns)]

    def why(self, i: int = 0, k: int = 3) -> str:
        """Why the ``i``-th of the oddest items is odd, in one sentence with its ``k`` main reasons."""
        return str(self.explanation.why(i, k))

    def how_odd(self, i: int = 0) -> str | None:
        """How odd the ``i``-th of the oddest items is, in words; None if the model does not know."""
        if self.p_value is None or self.n_normal is None:
            return None
        row = int(self.explanation.rows[i])
        score, share = float(self.outlierness[row]), float(self.p_value[row])
        return how_odd(score, share, self.n_normal, self.explanation.kind.noun)

    def __getitem__(self, i: Any) -> Any:
        return self.explanation[i]

    def __len__(self) -> int:
        return len(self.outlierness)

    def accept(self, i: int | Sequence[int] = 0, *, note: str = "") -> Findings:
        """Accept the ``i``-th oddest row, or several, as normal, and return the new findings.

        These findings and their model stay as they are. The new ones have a model that has learned the row
        (``found.model``, to be saved), and their first note says what changed; see :func:`whyodd.accept`.

        Parameters
        ----------
        i : int, or sequence of int, default 0
            Ranks, as in :meth:`why`: 0 is the oddest row.
        note : str, optional
            Why, in free text.

        Examples
        --------
        >>> import numpy as np, pandas as pd, whyodd
        >>> rng = np.random.default_rng(0)
        >>> orders = pd.DataFrame({"items": rng.poisson(3, 200) + 1.0, "weight": rng.normal(5, 1, 200)})
        >>> orders.loc[[7, 9], "weight"] = 40.1, 40.0
        >>> found = whyodd.find(orders).accept(0, note="pallet")
        >>> print(found.effects[0])
        Row 7 is accepted as normal (id 1): 1 other row is no longer odd: row 9.
        """
        return judged_findings(self, self._ranked(i), note, is_normal=True)

    def reject(self, i: int | Sequence[int] = 0, *, note: str = "") -> Findings:
        """Confirm that the ``i``-th oddest row is odd; otherwise like :meth:`accept`."""
        return judged_findings(self, self._ranked(i), note, is_normal=False)

    def after(self, before: Findings, effect: Effect) -> Findings:
        """The same findings, with a note on the changes since those ``before``."""
        effects = (*before.effects, effect)
        told = tuple(str(one) for one in reversed(effects))
        return replace(self, notes=(*told, *self.notes), effects=effects)

    def _ranked(self, i: int | Sequence[int]) -> NDArray[np.intp]:
        """Positions of items, by how odd they are."""
        ranks = np.atleast_1d(np.asarray(i))
        is_whole = ranks.ndim == 1 and ranks.size > 0 and ranks.dtype.kind in "iu"
        if not is_whole or ranks.min() < 0 or ranks.max() >= len(self):
            raise ValueError(f"{i!r}: expected the rank of a row, 0 to {len(self) - 1}, or several.")
        return np.asarray(self.order[np.unique(ranks)])

    def to_frame(self) -> Any:
        """Data frame with a line per item: row, id (if items have one), outlierness and is_odd.

        It is of the same kind as the table that was given; reasons are in ``explanation.to_frame()``.
        """
        table = self.table
        ids = {} if table is None or table.ids is None else {"id": table.ids}
        rarity = {} if self.p_value is None else {"p_value": self.p_value}
        scores = {"outlierness": self.outlierness, **rarity, "is_odd": self.is_odd}
        columns = {"row": np.arange(len(self)), **ids, **scores}
        return build_frame(columns, None if table is None else table.kind)

    def to_dict(self, top: int = 50, *, checks: bool = True) -> dict[str, Any]:
        """All findings as numbers, texts, lists and dictionaries, ready for JSON.

        Parameters
        ----------
        top : int, default 50
            Number of items reported in detail.
        checks : bool, default True
            Also measure how far to trust the explanation, and look for the smallest change of each row.
        """
        if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
            nouns = self.explanation.kind.nouns
            raise ValueError(f"top={top!r}: expected the number of {nouns} to explain in detail, at least 1.")
        return summarize(self, int(top), checks)

    def report(self, path: str | os.PathLike[str], top: int = 50) -> None:
        """Write one self-contained HTML page: what is odd, why, and how far to trust it."""
        check_installed()
        page = render(self.to_dict(top))
        with replacing(Path(path)) as draft:
            draft.write_text(page, encoding="utf-8", newline="\n")

    def plot(self, name: str = "scores", **options: Any) -> Any:
        """Picture of the explanation by the name it has in ``whyodd.plots.PLOTS``."""
        from whyodd.plots import PLOTS

        if name not in PLOTS:
            raise ValueError(f"There is no plot {name!r}. Choose one of: {', '.join(map(repr, PLOTS))}.")
        return PLOTS[name](self.explanation, **options)

    @property
    def headline(self) -> str:
        """How many items are odd, in one sentence."""
        return headline_of(
            len(self), self.n_odd, self.threshold, self.threshold_source, self.explanation.kind
        )

    def __repr__(self) -> str:
        shown = self.odd[:_SHOWN]
        lines = [f"{name}: {shown.why(i)}" for i, name in enumerate(shown.names)]
        return "<" + "\n ".join([self.headline, *lines, *self.notes]) + ">"

    def _repr_html_(self) -> str:
        return str(self.odd._repr_html_())


def headline_of(n: int, n_odd: int, threshold: float | None, source: str, kind: Kind = TABLE) -> str:
    """How many of n items are odd, in one sentence.

    Examples
    --------
    >>> from whyodd.findings.findings import headline_of
    >>> headline_of(2000, 1, 1.5, "the model's own")
    "1 of 2,000 rows is above the threshold 1.5 (the model's own)."
    """
    of_all = f"1 {kind.noun}" if n == 1 else f"{n:,} {kind.nouns}"
    if threshold is None:
        return f"{of_all}, ranked: {source}."
    cut = f"the threshold {number(threshold)} ({source})"
    if n_odd == 0:
        return f"None of {of_all} is above {cut}."
    return f"{n_odd:,} of {of_all} {'is' if n_odd == 1 else 'are'} above {cut}."


def write_report(e: Any, path: str | os.PathLike[str], *, top: int = 50, **options: Any) -> None:
    """Write one self-contained HTML page: what is odd, why, and how far to trust it.

    Parameters
    ----------
    e : explanation, or Findings
        Of rows, images, series or messages.
    path : str or path
        The file, such as ``report.html``; an existing one is replaced once the page is complete.
    top : int, default 50
        Number of items reported in detail.
    **options
        Those of :meth:`whyodd.Findings.of`, for an explanation.
    """
    found = e if isinstance(e, Findings) else Findings.of(e, **options)
    found.report(path, top)


def oddest_threshold(scores: NDArray[np.float64]) -> float:
    """A threshold that the oddest twentieth exceeds, for a model that has none of its own."""
    return float(np.quantile(scores, 1.0 - _SHARE_WITHOUT_THRESHOLD, method="lower"))


WITHOUT_THRESHOLD = f"the {percent(_SHARE_WITHOUT_THRESHOLD)} oddest exceed it, since the model has none"


def _threshold(e: Any, scores: NDArray[np.float64], given: float | None) -> tuple[float | None, str]:
    """The given threshold, or that of the model; for rows otherwise one that the oddest exceed."""
    if given is not None:
        if not isinstance(given, Real) or not np.isfinite(given):
            raise ValueError(f"threshold={given!r}: expected an outlierness, such as 1.5.")
        return float(given), "chosen for this report"
    if e.threshold is not None:
        return float(e.threshold), "the model's own"
    if e.kind is not TABLE:
        return None, f"the model has no threshold for {e.kind.nouns}"
    return oddest_threshold(scores), WITHOUT_THRESHOLD


def _check_length(name: str, values: Any, needed: int) -> None:
    """Check that there is an entry for each of the rows."""
    if values is not None and len(values) < needed:
        raise ValueError(f"{name} has {len(values)} entries, expected one for each of {needed} rows.")
