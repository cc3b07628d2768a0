"""Defaults for objects that an earlier version saved."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any


def with_defaults(kind: type, state: dict[str, Any]) -> dict[str, Any]:
    """State of an estimator, for its ``__setstate__``, with defaults for parameters added since.

    A field of a dataclass that has a plain default needs nothing of this: the class itself has the default.

    Examples
    --------
    >>> from whyodd.io.defaults import with_defaults
    >>> class Model:
    ...     def __init__(self, nu=0.1, new="scale"): ...
    >>> with_defaults(Model, {"nu": 0.5})
    {'nu': 0.5, 'new': 'scale'}
    """
    known = signature(kind).parameters.values()
    return {one.name: one.default for one in known if one.default is not Parameter.empty} | state
