"""A small thing of every kind that can be saved, made from the registries, and rows to use it on.

What is registered comes by itself: models and networks from ``contracts/fitted.py``, steps of pipelines from
``unit/adapters/tracing/test_registry.py``, all else from ``saved_files.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

import whyodd
from contracts.fitted import FITTED, LINEAR
from unit.adapters.tracing.test_registry import CASES
from unit.io import saved_files

if TYPE_CHECKING:
    from collections.abc import Iterator

_RANDOM = np.random.default_rng(0)  # as in test_registries.py: PyOD wants luck with its clusters
X = _RANDOM.normal(size=(50, 4)) @ _RANDOM.normal(size=(4, 4))
NEW = np.vstack([X[:2], X[2:4] * 3.0])


class Rows(NamedTuple):
    """What a thing is used on, and what it can be fitted on anew; targets for those steps that need them."""

    new: Any
    fit: Any
    targets: dict[str, Any] = {}  # noqa: RUF012 - never changed


class Example(NamedTuple):
    """A thing to be saved."""

    name: str
    thing: Any
    rows: Rows


def examples() -> Iterator[Example]:
    """All of them; names are unique."""
    for name, thing in saved_files.things().items():
        new = saved_files.SCORED.get(name, saved_files.NEW)
        yield Example(name, thing, Rows(new, _FITTED_ON.get(name, saved_files.X)))
    yield from _registered_models()
    yield from _registered_steps()
    precomputed = OneClassSVM(kernel="precomputed").fit(X @ X.T)
    yield Example("model OneClassSVM precomputed", precomputed, Rows(NEW @ X.T, X @ X.T))


_FITTED_ON = {
    "automatic": saved_files.FRAME,
    "patches-images": saved_files.IMAGES,
    "patches-series": saved_files.SERIES,
    "pipeline-columns": saved_files.FRAME[saved_files.COLUMNS].dropna(),
    "pipeline-numbers": np.abs(saved_files.X),
    "pipeline-texts": saved_files.TEXTS,
    "texts": saved_files.TEXTS,
}


def _registered_models() -> Iterator[Example]:
    """Fitted detectors that are saved as they are, what is made of all of them, and one explanation each."""
    rows = Rows(NEW, X)
    for path, cases in [*FITTED.items(), *((path, [case]) for path, case in LINEAR.items())]:
        family = "linear " if cases == [LINEAR.get(path)] else ""
        for place, case in enumerate(cases):
            model = case.fit(X)
            name = f"{family}{path.rpartition('.')[2]} {place}"
            if not path.startswith("pyod."):
                yield Example(f"model {name}", model, rows)
            yield Example(f"network {name} {path[:4]}", whyodd.neuralize(model), rows)
            if place == 0:
                yield Example(f"explanation {name} {path[:4]}", whyodd.explain(model, NEW), rows)


def _registered_steps() -> Iterator[Example]:
    for path, cases in CASES.items():
        for place, case in enumerate(cases):
            of_people = getattr(getattr(case.step, "func", None), "__name__", "") == "<lambda>"
            if of_people or not type(case.step).__module__.startswith(("sklearn.", "whyodd.")):
                continue
            rows = Rows(case.X[:3], case.X, case.fit)
            yield Example(f"step {path.rpartition('.')[2]} {place}", case.fitted(), rows)
    texts = saved_files.TEXTS
    for path in ("CountVectorizer", "TfidfVectorizer"):
        vectorizer = CASES[f"sklearn.feature_extraction.text.{path}"][0].step
        for model in (OneClassSVM(), whyodd.KernelDensity(sigma=1.0)):
            pipeline = make_pipeline(vectorizer, model).fit(texts)
            yield Example(f"pipeline {path} {type(model).__module__[:4]}", pipeline, Rows(texts[:2], texts))


def is_estimator(thing: Any) -> bool:
    """Whether it can be cloned and fitted anew."""
    return isinstance(thing, BaseEstimator) and hasattr(thing, "fit")
