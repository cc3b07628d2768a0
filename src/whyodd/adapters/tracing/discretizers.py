"""Columns cut into pieces: thresholds, bins and splines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.readings import Readings, dense, undo_unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.adapters.tracing.columns import Columns

    Floats = NDArray[np.float64]


def trace_binarizer(step: Any, columns: Columns) -> Columns:  # noqa: ARG001 - the signature of all tracers
    """``Binarizer``: above the threshold or not; the value itself cannot be read back."""
    return columns.one_to_one(undo_unknown(columns.count), faithful=False)


def trace_spline_transformer(step: Any, columns: Columns) -> Columns:
    """``SplineTransformer``: the same number of splines for each column; values are not read back."""
    splines = step.n_features_out_ // columns.count
    return columns.expanded(np.repeat(np.arange(columns.count), splines), undo_unknown(columns.count))


def trace_bins(step: Any, columns: Columns) -> Columns:
    """``KBinsDiscretizer``: one column of bin numbers or one per bin; read back as the middle of the bin."""
    for column in np.flatnonzero(np.asarray(step.n_bins_) == 1):
        columns.note_constant_reading(int(column), Readings.unknown(1, columns.count))
    widths = np.ones_like(step.n_bins_) if step.encode == "ordinal" else np.asarray(step.n_bins_)
    middles = [_middles(edges) for edges in step.bin_edges_]

    def undo(readings: Readings) -> Readings:
        read = readings.as_numbers()
        blocks = np.split(np.arange(widths.sum()), np.cumsum(widths)[:-1])
        found = [
            middle[_bin_numbers(dense(read.numbers[:, block]), middle.size, step.encode)]
            for block, middle in zip(blocks, middles, strict=True)
        ]
        known = np.array([read.known[block].any() for block in blocks])
        return Readings(np.column_stack(found), known)

    return columns.expanded(np.repeat(np.arange(columns.count), widths), undo)


def _middles(edges: Floats) -> Floats:
    # A constant column has one bin from minus to plus infinity.
    if not np.isfinite(edges).all():
        return np.full(edges.size - 1, np.nan)
    return np.asarray((edges[:-1] + edges[1:]) / 2.0)


def _bin_numbers(block: Floats, n_bins: int, encode: str) -> NDArray[np.intp]:
    if encode == "ordinal":
        return np.clip(np.rint(block[:, 0]), 0, n_bins - 1).astype(np.intp)
    return np.asarray(np.argmax(block, axis=1))
