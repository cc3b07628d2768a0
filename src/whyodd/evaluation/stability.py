"""Stability and continuity: whether nearly equal rows have nearly equal explanations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explainers.checks import generator, keywords, whole_number
from whyodd.explainers.explaining import explain
from whyodd.explainers.method import Task
from whyodd.explainers.preparing import PreparedModel, PreparedRows
from whyodd.explainers.registry import EXPLAINERS
from whyodd.explanations.base import TABLE
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whyodd.explainers.own_centers import ExcludeSelf
    from whyodd.explanations.table import Explanation

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


class Stability(NamedTuple):
    """Share of the relevance that moves to other variables, per standard deviation that a row moves.

    Attributes
    ----------
    mean, largest : ndarray of shape (n,)
        Over the random moves of each row.
    """

    mean: Floats
    largest: Floats


class Continuity(NamedTuple):
    """How relevance moves between variables on the way from each row to its nearest other one.

    Attributes
    ----------
    largest_jump : ndarray of shape (n,)
        The largest share that moves in a single step. With twice as many steps it is half as large for a
        continuous explanation, and stays as it is for one that jumps.
    total : ndarray of shape (n,)
        The sum over all steps.
    """

    largest_jump: Floats
    total: Floats


def stability(
    model: Any,
    X: Any,
    *,
    method: str = "dtd",
    scale: float = 0.01,
    n: int = 10,
    exclude_self: ExcludeSelf = "auto",
    options: Mapping[str, Any] | None = None,
    random_state: int | None = None,
) -> Stability:
    """Change of an explanation per change of its row: ½ ‖r(x') - r(x)‖₁ / ‖x' - x‖, with r = R / Σ_i |R_i|.

    Parameters
    ----------
    model, X, method, exclude_self, options
        As for :func:`whyodd.explain`; a table, not images, series or texts.
    scale : float, default 0.01
        How far to move: every variable by a normal number with this share of its standard deviation among the
        centers of the model (where there is only one center, among the rows). A move is measured as root mean
        square over the variables, in standard deviations. For a pipeline, these are the variables that reach
        its last step.
    n : int, default 10
        How often each row is moved.
    random_state : int, optional
        Seed.

    Returns
    -------
    Stability
        Mean and largest change of each row (lower is better). A row that was explained without its own
        center is explained without it wherever it is moved.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = whyodd.KernelDensity(sigma=1.0).fit(X)
    >>> smooth = stability(model, [[3.0, 3.0]], random_state=0)
    >>> random = stability(model, [[3.0, 3.0]], method="random", random_state=0)
    >>> bool(smooth.mean[0] < 0.1 * random.mean[0])
    True
    """
    probe = Probe.of(model, X, method, options, random_state, exclude_self)
    return probe.stability(scale, n, random_state)


def stability_of(
    e: Explanation, *, scale: float = 0.01, n: int = 10, random_state: int | None = None
) -> Stability:
    """Stability of an explanation around its rows; the model is not needed. See :func:`stability`."""
    return Probe.near(e, random_state).stability(scale, n, random_state)


def continuity(
    model: Any,
    X: Any,
    *,
    method: str = "dtd",
    steps: int = 32,
    options: Mapping[str, Any] | None = None,
    random_state: int | None = None,
) -> Continuity:
    """Walk from each row straight to its nearest other row, and measure how r = R / Σ_i |R_i| changes.

    Parameters
    ----------
    model, X, method, options
        As for :func:`whyodd.explain`; a table of at least two rows. No center is left out on the way.
    steps : int, default 32
        Number of equal parts of each way, at least 2, whose midpoints are explained.
    random_state : int, optional
        Seed of a method that draws at random.

    Returns
    -------
    Continuity
        The largest jump of each row, and the sum of all its jumps.

    Notes
    -----
    An explanation by the nearest center jumps where another one becomes the nearest. Deep Taylor
    decomposition shares the relevance among centers, softly, and does not: section "Explaining Outlierness"
    and "Internal Validation" of Kauffmann, Müller and Montavon.
    """
    return Probe.of(model, X, method, options, random_state, False).continuity(steps)


@dataclass(frozen=True, eq=False)
class Probe:
    """Explained rows, and a way to explain others near them.

    Attributes
    ----------
    task : Task
        The rows (n, k) as they reach the network.
    prepared : PreparedRows
        The way back from the network's variables to those people know.
    method : str
    options : mapping
        Its keywords.
    spread : ndarray of shape (k,)
        Standard deviation of each of the network's variables.
    """

    task: Task
    prepared: PreparedRows
    method: str
    options: Mapping[str, Any]
    spread: Floats

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        method: str,
        options: Mapping[str, Any] | None,
        random_state: int | None,
        exclude_self: ExcludeSelf,
    ) -> Probe:
        """Explain the rows of X, and prepare to explain others."""
        shared: dict[str, Any] = {"options": options, "random_state": random_state}
        e = explain(model, X, method=method, exclude_self=exclude_self, **shared)
        return cls.around(e, model, X, **shared)

    @classmethod
    def around(
        cls,
        e: Any,
        model: Any,
        X: Any,
        *,
        options: Mapping[str, Any] | None,
        random_state: int | None,
    ) -> Probe:
        """Prepare to explain rows near those of an explanation of rows of X."""
        _check_is_table(e, model)
        settings = keywords(options)
        normal = settings.pop("normal", None)
        prepared = PreparedModel.of(model)
        given = None if normal is None else prepared.normal(normal)
        return cls._of_rows(e, prepared.rows(X), settings, given, random_state)

    @classmethod
    def near(cls, e: Explanation, random_state: int | None) -> Probe:
        """Prepare to explain rows near those of an explanation by a method with its default options."""
        _check_is_table(e, e.network)
        return cls._of_rows(e, PreparedRows.of_explanation(e), {}, None, random_state)

    @classmethod
    def _of_rows(
        cls,
        e: Explanation,
        prepared: PreparedRows,
        options: Mapping[str, Any],
        given: NDArray[np.floating] | None,
        random_state: int | None,
    ) -> Probe:
        rows = np.asarray(to_dense(e.inputs), dtype=np.float64)
        task = Task(
            e.network,
            rows,
            own=e.excluded,
            through=prepared.through,
            given=given,
            random=generator(random_state),
        )
        return cls(task, prepared, e.method, options, _spread(e.network, rows))

    def stability(self, scale: float, n: int, random_state: int | None) -> Stability:
        """Move every row ``n`` times, as :func:`stability` has it."""
        if not isinstance(scale, Real) or not 0.0 < float(scale) < np.inf:
            raise ValueError(f"scale={scale!r}: expected a share of a standard deviation above 0.")
        points, n_moved = np.asarray(self.task.X), max(np.count_nonzero(self.spread), 1)
        rows = np.tile(np.arange(len(points)), whole_number("n", n, 1))
        draws = generator(random_state).normal(size=(rows.size, points.shape[1]))
        moves = float(scale) * np.where(self.spread > 0.0, draws, 0.0)
        size = np.sqrt((moves**2).sum(axis=1) / n_moved)
        still = self._shares(points, np.arange(len(points)))
        moved = _moved_share(self._shares(points[rows] + self.spread * moves, rows), still[rows])
        rates = np.divide(moved, size, out=np.zeros_like(moved), where=size > 0.0).reshape(n, -1)
        return Stability(rates.mean(axis=0), rates.max(axis=0))

    def continuity(self, steps: int) -> Continuity:
        """Walk from each row to the nearest other one, as :func:`continuity` has it."""
        points, steps = np.asarray(self.task.X), whole_number("steps", steps, 2)
        if len(points) < 2:
            raise ValueError(
                "continuity expected at least two rows to move between, got one. Pass more rows."
            )
        unit = np.where(self.spread > 0.0, self.spread, 1.0)
        from sklearn.neighbors import NearestNeighbors

        search = NearestNeighbors(n_neighbors=1).fit(points / unit)
        goals = points[search.kneighbors(return_distance=False)[:, 0]]
        # Midpoints: at the very ends a row may be a center, which explains nothing there.
        way = (np.arange(steps) + 0.5)[:, None, None] / steps
        shares = self._shares((points + way * (goals - points)).reshape(-1, points.shape[1]), None)
        shares = shares.reshape(steps, len(points), -1)
        jumps = _moved_share(shares[1:], shares[:-1])
        return Continuity(jumps.max(axis=0), jumps.sum(axis=0))

    def _shares(self, points: Floats, rows: Indices | None) -> Floats:
        """Normalised relevance r = R / Σ_i |R_i| of points, without the own centers of these rows."""
        own = None if rows is None else np.asarray(self.task.own)[rows]
        task = replace(self.task, X=points, own=None if own is None or (own < 0).all() else own)
        relevance = self.prepared.in_variables(
            EXPLAINERS[self.method].decompose(task, self.options).relevance
        )
        total = np.abs(relevance).sum(axis=1, keepdims=True)
        return np.asarray(np.divide(relevance, total, out=np.zeros(relevance.shape), where=total > 0.0))


def _check_is_table(e: Any, model: object) -> None:
    if e.kind is not TABLE:
        raise TypeError(
            f"stability and continuity expected a model of table rows, got {type(model).__name__}. Pass "
            "such a model, and a table."
        )


def _spread(network: Any, rows: Floats) -> Floats:
    """Standard deviation (k,) of each variable among the centers; among the rows if there is only one."""
    if not offers(network, "centers") or network.n_centers == 1:
        return np.asarray(rows.std(axis=0))
    centers, weights = np.asarray(to_dense(network.centers), dtype=np.float64), network.weights
    return np.asarray(np.sqrt(weights @ (centers - weights @ centers) ** 2))


def _moved_share(one: Floats, two: Floats) -> Floats:
    """½ ‖r' - r‖₁: the share of relevance that has moved to another variable."""
    return np.asarray(0.5 * np.abs(one - two).sum(axis=-1))
