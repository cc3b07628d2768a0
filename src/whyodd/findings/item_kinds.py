"""The kind of items that people pass to ``find``, and the function for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.adapters.class_paths import find_entry

TABLE = "table"
# Kind of item other than rows of a table -> who finds odd ones: a module and its function. They are imported
# when they are needed: a table needs none of them.
FINDERS = {
    "images": ("whyodd.findings.images", "find_in_images"),
    "series": ("whyodd.findings.series", "find_in_series"),
    "texts": ("whyodd.findings.messages", "find_in_messages"),
}
_MODELS = {
    "whyodd.images.detector.ImageDetector": "images",
    "whyodd.series.detector.SeriesDetector": "series",
    "whyodd.texts.model.TextModel": "texts",
}


def kind_of(data: Any, model: Any, given: str | None) -> str:
    """The given kind, else the model's kind, else a guess from the data."""
    if given is not None and given not in (TABLE, *FINDERS):
        names = ", ".join(map(repr, (TABLE, *FINDERS)))
        raise ValueError(f"kind={given!r}: expected one of {names}.")
    of_model = find_entry(_MODELS, model)
    if given is not None and of_model is not None and given != of_model:
        raise ValueError(f"kind={given!r}, but a {type(model).__name__} judges {of_model}. Leave one out.")
    return given or of_model or _looks_like(data)


def find_in_items(data: Any, train: Any, kind: str, **options: Any) -> Any:
    """Find what is odd among images, series or messages; options for tables must be None."""
    names = ("fdr", "groups", "types", "given", "id_column")
    only_tables = [name for name in names if options.pop(name, None) is not None]
    if options.pop("method") != "dtd":
        only_tables.append("method")
    if only_tables:
        raise ValueError(f"{' and '.join(only_tables)}: only for tables, got {kind}. Leave it out.")
    if kind != "images":
        del options["random_state"]
    if kind == "series" or options["top"] is None:
        del options["top"]
    module, name = FINDERS[kind]
    return getattr(import_module(module), name)(data, train, **options)


def _looks_like(data: Any) -> str:
    """Texts, images, or else a table: a series looks like one and must be named."""
    if isinstance(data, np.ndarray):
        return "texts" if data.dtype.kind == "U" else "images" if data.ndim >= 3 else TABLE
    if nw.dependencies.is_into_series(data):
        return "texts" if nw.from_native(data, series_only=True).dtype == nw.String else TABLE
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and len(data) > 0:
        first = data[0]
        if isinstance(first, str):
            return "texts"
        return "images" if isinstance(first, np.ndarray) and first.ndim >= 2 else TABLE
    return TABLE
