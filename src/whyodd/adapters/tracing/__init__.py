"""Fitted scikit-learn pipelines traced back to raw columns, one function per transformer."""

from __future__ import annotations

from whyodd.adapters.tracing.errors import UntraceableStepError
from whyodd.adapters.tracing.forward import transform
from whyodd.adapters.tracing.raw_frame import match_columns, raw_names, raw_values
from whyodd.adapters.tracing.readings import Category
from whyodd.adapters.tracing.registry import TRACERS
from whyodd.adapters.tracing.traced import Trace, first_step, trace

__all__ = [
    "TRACERS",
    "Category",
    "Trace",
    "UntraceableStepError",
    "first_step",
    "match_columns",
    "raw_names",
    "raw_values",
    "trace",
    "transform",
]
