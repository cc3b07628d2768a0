"""A small thing of every kind that can be saved, made from the registries, and rows to use it on.

What is registered comes by itself: models and networks from ``contracts/fitted.py``, steps of pipelines from
``unit/adapters/tracing/test_registry.py``, all else from ``saved_files.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.covariance import OAS, GraphicalLasso, GraphicalLassoCV, ShrunkCovariance
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import IsolationForest
from sklearn.feature_selection import (
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectPercentile,
    SequentialFeatureSelector,
    f_regression,
    mutual_info_regression,
)
from sklearn.linear_model import (
    ARDRegression,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lars,
    Lasso,
    LassoCV,
    LassoLars,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDOneClassSVM,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer, LabelEncoder, OneHotEncoder
from sklearn.svm import OneClassSVM
from sklearn.tree import ExtraTreeRegressor

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
    yield from _others()


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


_CLASSES = (X[:, 0] > 0.0).astype(int)
# Estimators of scikit-learn that may be saved and are in no registry, and those with further insides.
_OTHERS = [
    IsolationForest(n_estimators=3, max_samples=16, random_state=0),
    IsolationForest(n_estimators=3, max_samples=16, max_features=2, random_state=0),
    KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
    MiniBatchKMeans(2, random_state=np.random.RandomState(0)),
    ExtraTreeRegressor(random_state=0),
    NearestNeighbors(algorithm="ball_tree", leaf_size=5),
    SGDOneClassSVM(average=True, random_state=0),
    GraphicalLasso(max_iter=5),
    GraphicalLassoCV(alphas=2, cv=2, max_iter=5),
    OAS(),
    ShrunkCovariance(),
    GenericUnivariateSelect(f_regression, mode="k_best", param=2),
    SelectFdr(f_regression),
    SelectFpr(f_regression),
    SelectFwe(f_regression),
    SelectPercentile(mutual_info_regression),
    RFECV(Ridge(), cv=2),
    SequentialFeatureSelector(LinearRegression(), cv=2),
    LabelBinarizer(),
    LabelEncoder(),
    *(
        SelectFromModel(model)
        for model in (
            *(
                ARDRegression(),
                ElasticNet(0.1),
                ElasticNetCV(cv=2, alphas=2),
                Lasso(0.1),
                LassoCV(cv=2, alphas=2),
            ),
            *(HuberRegressor(), Lars(), LassoLars(0.1), RidgeCV(), RidgeClassifier()),
            *(LogisticRegression(), LogisticRegressionCV(Cs=2, cv=2)),
        )
    ),
]


def _others() -> Iterator[Example]:
    for place, model in enumerate(_OTHERS):
        of_labels = isinstance(model, (LabelBinarizer, LabelEncoder))
        rows = Rows(_CLASSES[:3], _CLASSES) if of_labels else Rows(NEW, X, {"y": _CLASSES})
        name = f"other {place} {type(getattr(model, 'estimator', None) or model).__name__}"
        yield Example(name, clone(model).fit(rows.fit, **rows.targets), rows)
    precomputed = OneClassSVM(kernel="precomputed").fit(X @ X.T)
    yield Example("other OneClassSVM precomputed", precomputed, Rows(NEW @ X.T, X @ X.T))
    rare = OneHotEncoder(min_frequency=10, drop="first", handle_unknown="ignore")
    labels = np.array([["a", "u"]] * 11 + [["b", "v"]] * 11 + [["c", "w"], ["d", "v"]], dtype=object)
    yield Example("other OneHotEncoder", rare.fit(labels), Rows(labels[-3:], labels))
    numbers = np.array([[1.0], [2.0], [5.0], [np.nan]] * 3)
    yield Example("other OneHotEncoder numbers", OneHotEncoder().fit(numbers), Rows(numbers[:4], numbers))


def is_estimator(thing: Any) -> bool:
    """Whether it can be cloned and fitted anew."""
    return isinstance(thing, BaseEstimator) and hasattr(thing, "fit")
