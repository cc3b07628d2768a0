"""Vectorizers: a column of text becomes one variable per term, a column of dicts one per key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.columns import Columns
from whyodd.adapters.tracing.errors import Untraceable
from whyodd.adapters.tracing.readings import Category, Readings, dense, scale_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]


def trace_count_vectorizer(step: Any, columns: Columns) -> Columns:
    """``CountVectorizer``: counts of terms."""
    return _one_per_term(columns, step.get_feature_names_out())


def trace_tfidf_vectorizer(step: Any, columns: Columns) -> Columns:
    """``TfidfVectorizer``: counts of terms, then as in ``TfidfTransformer``."""
    return trace_tfidf_transformer(step, trace_count_vectorizer(step, columns))


def trace_tfidf_transformer(step: Any, columns: Columns) -> Columns:
    """``TfidfTransformer``: each term keeps its own column's relevance.

    The norm of a row depends on all its terms, but only as a common factor, and cannot be undone: what is
    read back is the frequency of a term relative to that norm; without a norm it is its count.
    """
    weights = 1.0 / np.asarray(step.idf_, dtype=np.float64) if step.use_idf else np.ones(columns.count)
    exact_logarithm = step.sublinear_tf and step.norm is None

    def unweighted(numbers: Any) -> Any:
        frequencies = scale_columns(numbers, weights)
        return _counts_of_logarithms(frequencies) if exact_logarithm else frequencies

    return columns.one_to_one(lambda readings: readings.mapped(unweighted))


def trace_hashing_vectorizer(step: Any, columns: Columns) -> Columns:
    """``HashingVectorizer``, ``FeatureHasher``: terms are not kept, only the number they hash to."""
    return _one_per_term(columns, (f"hash {number}" for number in range(step.n_features)))


def trace_dict_vectorizer(step: Any, columns: Columns) -> Columns:
    """``DictVectorizer``: one variable per key; a key with strings has a column for each of them."""
    split = [name.partition(step.separator) for name in map(str, step.feature_names_)]
    keys = list(dict.fromkeys(key for key, _, _ in split))
    place = {key: position for position, key in enumerate(keys)}
    source = np.array([place[key] for key, _, _ in split], dtype=np.intp)
    values = [value if separator else None for _, separator, value in split]
    read = _keys_reader(source, values, len(keys))
    return _terms(columns, keys, source, read)


def trace_normalizer(step: Any, columns: Columns) -> Columns:  # noqa: ARG001 - the signature of all tracers
    """``Normalizer`` of terms: a common factor of the row, also after a linear map z = B y.

    In a table of other columns a large value in one would shrink all others: relevance at the output would
    blame those.
    """
    if not columns.variables.is_term(columns.owner).all():
        raise Untraceable("it divides each row by its norm, which depends on all columns")
    if columns.shifted.any():
        raise Untraceable("it divides each row by its norm after a step that mixes and centers columns")
    return columns


def _one_per_term(columns: Columns, terms: Iterable[str]) -> Columns:
    names = [str(term) for term in terms]
    return _terms(columns, names, np.arange(len(names)), lambda readings: readings.as_numbers())


def _terms(columns: Columns, names: list[str], source: Ints, read: Callable[[Readings], Readings]) -> Columns:
    """Columns of which each belongs to the variable of a term; ``read`` gives readings of the terms."""
    if columns.count != 1 or columns.variables.is_term(columns.owner).any():
        raise Untraceable(f"it reads one text column, but gets {columns.count} columns")
    numbers = columns.variables.terms_of(int(columns.owner[0]), names)

    def read_back(readings: Readings) -> Readings:
        terms = ((numbers, read(readings)),)
        return columns.read_back(Readings.unknown(readings.n_rows, 1, terms=terms))

    faithful = np.bincount(source, minlength=len(names))[source] == 1
    return Columns.own(columns.variables, numbers[source], read_back, faithful=faithful)


def _keys_reader(source: Ints, values: list[str | None], n_keys: int) -> Callable[[Readings], Readings]:
    members = [np.flatnonzero(source == key) for key in range(n_keys)]
    numeric = np.array([[values[place] for place in places] == [None] for places in members])

    def read(readings: Readings) -> Readings:
        numbers = dense(readings.as_numbers().numbers)
        columns = np.array([places[0] for places in members], dtype=np.intp)
        categories = {}
        for key in np.flatnonzero(~numeric).tolist():
            block = numbers[:, members[key]]
            codes = np.where(block.max(axis=1) > 0, block.argmax(axis=1), -1)
            categories[key] = Category(codes, tuple(values[place] for place in members[key]))
        return Readings(numbers[:, columns], numeric & readings.known[columns], categories)

    return read


def _counts_of_logarithms(numbers: Any) -> Any:
    """Counts n of 1 + log n, 0 where nothing was counted."""
    values = dense(numbers)
    return np.where(values > 0, np.exp(values - 1.0), 0.0)
