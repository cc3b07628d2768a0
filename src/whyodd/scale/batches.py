"""Rows explained batch by batch: Arrow in, Arrow out, in bounded memory."""

from __future__ import annotations

import io
import json
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from zipfile import ZipFile

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.compute.points import is_sparse
from whyodd.explainers.explaining import explanation_of
from whyodd.explainers.preparing import PreparedModel
from whyodd.explanations.base import at_least_one
from whyodd.explanations.sides import nearest_of
from whyodd.explanations.variables import Expected
from whyodd.findings.thresholds import distribution_of
from whyodd.inputs.frames import as_frame
from whyodd.io.saving import load, save
from whyodd.network.waist import decompose_rows, offers
from whyodd.progress import progress_bar
from whyodd.scale.reasons import reason_type, reasons_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from whyodd.explainers.preparing import PreparedRows
    from whyodd.explanations.table import Explanation

_MODEL, _SETTINGS = "model.whyodd", "settings.json"


class BatchExplainer:
    """A pure function of a batch of rows: how odd each row is, and why.

    Parameters
    ----------
    model : fitted model or pipeline
        What :func:`whyodd.explain` takes for tables.
    top : int, default 3
        How many reasons are given for each row.
    id_column : str, optional
        Column that names the rows; without it they are numbered.
    relevance : bool, default False
        Also give the relevance of every variable.
    exclude_self : bool, default False
        Judge a row that equals a center of the model without that center: for the table that the model was
        trained on, where no row should be evidence for itself.
    inputs : pyarrow.Schema, optional
        Schema of the batches to come. It gives the type of the ids (text by default) and, if the model was
        fitted on an array, the names of the columns (x0, x1, ... by default).

    Attributes
    ----------
    schema : pyarrow.Schema
        Schema of the results, the same for every batch: ``id`` or ``row``, ``outlierness``, ``p_value`` (null
        if the model knows none), ``is_odd`` (null if it has no threshold), ``unexplained``, ``reasons`` and,
        if requested, ``relevance``, a struct with a number for each variable.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, whyodd
    >>> from whyodd.scale.batches import BatchExplainer
    >>> model = whyodd.Gaussian().fit(np.random.default_rng(0).normal(size=(100, 2)))
    >>> batch = pa.record_batch({"speed": [0.1, 0.2], "load": [0.3, 9.0]})
    >>> explained = BatchExplainer(model, top=1, inputs=batch.schema)(batch)
    >>> explained["reasons"][1].as_py()[0]["name"]
    'load'
    """

    def __init__(
        self,
        model: Any,
        *,
        top: int = 3,
        id_column: str | None = None,
        relevance: bool = False,
        exclude_self: bool = False,
        inputs: Any = None,
    ) -> None:
        self.model = model
        self.top = at_least_one(top, "reasons")
        self.id_column = id_column
        self.relevance = bool(relevance)
        self.exclude_self = bool(exclude_self)
        self.inputs = inputs
        self._prepared = PreparedModel.of(model)
        if inputs is not None:
            self._prepared.check_columns(inputs.empty_table())
        self._distribution = distribution_of(model)
        self._latest: Explanation | None = None
        self._centers = _centers_by_bytes(self._prepared.network) if exclude_self else {}
        self.schema = self._schema()

    def __call__(self, batch: Any, first_row: int = 0) -> Any:
        """Explain the rows of a batch.

        Parameters
        ----------
        batch : pyarrow.RecordBatch or Table, or pandas or Polars frame
        first_row : int, default 0
            Number of the first row.

        Returns
        -------
        pyarrow.RecordBatch
            A line for each row, in the same order.
        """
        import pyarrow as pa

        table = as_table(batch)
        names = self._names(table, first_row)
        if table.num_rows == 0:
            return pa.RecordBatch.from_pylist([], schema=self.schema)
        e = self.explanation(table)
        columns = [names, *self._scores(e), reasons_column(e, self.top)]
        if self.relevance:
            parts = [pa.array(part) for part in np.asarray(e.relevance, dtype=np.float64).T]
            columns.append(pa.StructArray.from_arrays(parts, names=self.variables))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def explanation(self, batch: Any) -> Explanation:
        """The explanation of a batch that its columns are made of."""
        table = as_table(batch)
        if self.id_column is not None:
            table = table.drop_columns([self.id_column])
        rows = self._prepared.rows(table)
        e = explained(rows, self._own(rows.inputs))
        if self._latest is not None and self._latest.variables is e.variables:
            e.take_over(self._latest)
        else:
            self._latest = e[:1]
        return e

    def p_values(self, e: Explanation) -> NDArray[np.float64] | None:
        """(n,) share of normal rows that are at least as odd; None if the model does not know."""
        return e.p_value if self._distribution is None else self._distribution.p_values(e.outlierness)

    @property
    def n_normal(self) -> int | None:
        """Number of normal rows behind the p-values, if the model knows."""
        return None if self._distribution is None else int(self._distribution.scores.size)

    @property
    def threshold(self) -> float | None:
        """Outlierness above which rows are odd; None if the model has no threshold."""
        return self._prepared.threshold

    @property
    def variables(self) -> list[str]:
        """Names of the variables that have relevance."""
        return list(self._prepared.variables_of(self._column_names()).names)

    def to_bytes(self) -> bytes:
        """The model in whyodd's own format, and the settings; no pickle."""
        settings = {
            "top": self.top,
            "id_column": self.id_column,
            "relevance": self.relevance,
            "exclude_self": self.exclude_self,
            "inputs": None if self.inputs is None else self.inputs.serialize().to_pybytes().hex(),
        }
        content = io.BytesIO()
        with ZipFile(content, "w") as archive, tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / _MODEL
            save(self.model, path)
            archive.write(path, _MODEL)
            archive.writestr(_SETTINGS, json.dumps(settings))
        return content.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The explainer from the result of :meth:`to_bytes`; none of its code is executed."""
        import pyarrow as pa

        with ZipFile(io.BytesIO(data)) as archive, tempfile.TemporaryDirectory() as folder:
            settings = json.loads(archive.read(_SETTINGS))
            model = load(archive.extract(_MODEL, folder))
        inputs = settings.pop("inputs")
        schema = None if inputs is None else pa.ipc.read_schema(pa.BufferReader(bytes.fromhex(inputs)))
        return cls(model, inputs=schema, **settings)

    def _schema(self) -> Any:
        import pyarrow as pa

        name = pa.field("row", pa.int64()) if self.id_column is None else pa.field("id", self._id_type())
        numbers = [pa.field(column, pa.float64()) for column in ("outlierness", "p_value", "unexplained")]
        fields = [name, *numbers[:2], pa.field("is_odd", pa.bool_()), numbers[2]]
        fields.append(pa.field("reasons", pa.list_(reason_type())))
        if self.relevance:
            parts = pa.struct([(variable, pa.float64()) for variable in self.variables])
            fields.append(pa.field("relevance", parts))
        return pa.schema(fields)

    def _id_type(self) -> Any:
        import pyarrow as pa

        return pa.string() if self.inputs is None else self.inputs.field(self.id_column).type

    def _column_names(self) -> tuple[str, ...] | None:
        """Names of the columns, as far as they are known before the first batch."""
        if self.inputs is None:
            return None
        return tuple(name for name in self.inputs.names if name != self.id_column)

    def _names(self, table: Any, first_row: int) -> Any:
        """Names of the rows."""
        import pyarrow as pa

        if self.id_column is None:
            return pa.array(np.arange(first_row, first_row + table.num_rows, dtype=np.int64))
        if self.id_column not in table.column_names:
            raise ValueError(
                f"The batch has no column {self.id_column!r}, which names the rows. "
                f"It has: {', '.join(map(repr, table.column_names[:10]))}."
            )
        return _joined(table[self.id_column].cast(self.schema.field("id").type))

    def _scores(self, e: Explanation) -> list[Any]:
        """Outlierness, p-value, whether a row is odd, and the unexplained part."""
        import pyarrow as pa

        p_value = self.p_values(e)
        return [
            pa.array(np.asarray(e.outlierness, dtype=np.float64)),
            pa.nulls(len(e), pa.float64()) if p_value is None else pa.array(p_value),
            pa.nulls(len(e), pa.bool_()) if e.is_odd is None else pa.array(e.is_odd),
            pa.array(np.asarray(e.unexplained, dtype=np.float64), from_pandas=True),
        ]

    def _own(self, inputs: Any) -> NDArray[np.intp] | None:
        """The center that each row is, or -1; None if that makes no difference."""
        if not self._centers:
            return None
        own = np.array([self._centers.get(key, -1) for key in _row_bytes(inputs)], dtype=np.intp)
        return own if (own >= 0).any() else None


def explain_batches(
    model: Any,
    batches: Iterable[Any],
    *,
    top: int = 3,
    id_column: str | None = None,
    relevance: bool = False,
    progress: bool = False,
) -> Iterator[Any]:
    """Explain rows that arrive in batches: any number of rows, in bounded memory, in their order.

    Parameters
    ----------
    model : fitted model or pipeline
        What :func:`whyodd.explain` takes for tables.
    batches : iterable of pyarrow.RecordBatch or Table, or of pandas or Polars frames
        All with the same columns. About 10,000 rows per batch are fast.
    top : int, default 3
        How many reasons are given for each row.
    id_column : str, optional
        Column that names the rows; without it they are numbered from 0.
    relevance : bool, default False
        Also give the relevance of every variable.
    progress : bool, default False
        Report on standard error how many rows are done.

    Yields
    ------
    pyarrow.RecordBatch
        One for each batch; :class:`whyodd.scale.batches.BatchExplainer` describes its columns.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, whyodd
    >>> model = whyodd.Gaussian().fit(np.random.default_rng(0).normal(size=(100, 2)))
    >>> slow, fast = {"speed": [0.1], "load": [9.0]}, {"speed": [7.0], "load": [0.1]}
    >>> batches = map(pa.record_batch, (slow, fast))
    >>> for explained in whyodd.explain_batches(model, batches, top=1):
    ...     print(explained["row"][0], explained["reasons"][0].as_py()[0]["name"])
    0 load
    1 speed
    """
    explainer, done = None, 0
    with progress_bar(None, "Explaining rows") if progress else nullcontext(_unheard) as report:
        for batch in batches:
            table = as_table(batch)
            if explainer is None:
                explainer = BatchExplainer(
                    model, top=top, id_column=id_column, relevance=relevance, inputs=table.schema
                )
            yield explainer(table, done)
            done += table.num_rows
            report(done)


def _unheard(done: int) -> None:
    """Report no progress."""


def as_table(batch: Any) -> Any:
    """A batch of any kind as an Arrow table."""
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    frame = as_frame(batch, what="The batch")
    if frame is None:
        raise TypeError(
            f"A batch is of type {type(batch).__name__}, expected an Arrow batch or table, or a data frame."
        )
    return nw.maybe_reset_index(frame).to_arrow()  # the index of pandas is not a column


def explained(rows: PreparedRows, own: NDArray[np.intp] | None = None) -> Explanation:
    """Explanation of rows, in one pass if the network allows it."""
    network = rows.network
    seen = SeenCenters(rows) if offers(network, "consume") else None
    parts = decompose_rows(
        network,
        rows.inputs,
        own=own,
        through=rows.through,
        consume=None if seen is None else seen.add,
    )
    e = explanation_of(rows, parts, own=own)
    return e if seen is None else seen.handed_to(e)


class SeenCenters:
    """The values of the nearest centers, collected while the rows are decomposed.

    So the centers of a row need not be searched again to say what is expected of it.

    Parameters
    ----------
    rows : PreparedRows
        Their network hands out assignments to its centers.
    """

    def __init__(self, rows: PreparedRows) -> None:
        self.network, variables, n = rows.network, rows.variables, len(rows)
        self.alike = None
        if offers(self.network, "kinds"):
            self.alike = np.empty((n, self.network.neighborhood.pooling.k), dtype=np.intp)
        self.points = self.expected = None
        if variables.decode is None:
            self.points = np.empty(rows.inputs.shape, dtype=rows.inputs.dtype)
        else:
            self.expected = Expected(variables.decoded_centers(self.network), variables, n)
        self.given = rows.given

    def add(self, rows: Any, p: Any) -> None:
        """Take in the assignments (rows, m) of some rows."""
        if self.expected is not None:
            self.expected.add(rows, p)
        elif self.points is not None:
            self.points[rows] = self.network.average(p)
        if self.alike is not None:
            self.alike[rows] = nearest_of(p)

    def handed_to(self, e: Explanation) -> Explanation:
        """The explanation, with the collected values."""
        expected: Any = self.points if self.expected is None else self.expected.values
        e.__dict__["expected"] = expected if self.given is None else self.given.expected(expected)
        if self.alike is not None:
            e.__dict__["alike"] = self.alike
        return e


def _joined(column: Any) -> Any:
    """A column as one chunk."""
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _centers_by_bytes(network: Any) -> dict[bytes, int]:
    """Centers that are training rows, by their content."""
    if not offers(network, "leave_out") or network.rows is None or is_sparse(network.centers):
        return {}
    keys = list(_row_bytes(network.centers))
    return {key: place for place, key in reversed(list(enumerate(keys)))}


def _row_bytes(points: Any) -> Iterator[bytes]:
    """Rows as bytes, equal for equal rows."""
    return (row.tobytes() for row in np.asarray(points, dtype=np.float64) + 0.0)  # one zero, not also -0
