"""A small thing of every kind that can be saved, made from the registries, and rows to use it on.

What is registered comes by itself: models and networks from ``contracts/fitted.py``, steps of pipelines from
``unit/adapters/tracing/test_registry.py``, all else from ``saved_files.py``.
"""

from __future__ import annotations

import gzip
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.covariance import OAS, GraphicalLasso, GraphicalLassoCV, ShrunkCovariance
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
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
from contracts.every import EVERY
from contracts.fitted import LINEAR
from unit.adapters.tracing.test_registry import CASES
from unit.io import saved_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Unmade = tuple[str, Callable[[], Any], "Rows"]

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


def examples(only: str = "") -> Iterator[Example]:
    """All of them, or those whose names hold a text; names are unique.

    Those of ``saved_files.py`` are made together, and left out if a group of the others is asked for.
    """
    if not only.startswith(GROUPS):
        for name, thing in saved_files.things().items():
            new = saved_files.SCORED.get(name, saved_files.NEW)
            if only in name:
                yield Example(name, thing, Rows(new, _FITTED_ON.get(name, saved_files.X)))
    for make in (_registered_models, _registered_steps, _texts, _others):
        yield from (Example(name, made(), rows) for name, made, rows in make() if only in name)


GROUPS = ("model ", "network ", "explanation ", "step ", "texts ", "other ")


_FITTED_ON = {
    "automatic": saved_files.FRAME,
    "detector-images": saved_files.PICTURES,
    "detector-series": saved_files.STEPS,
    "patches-images": saved_files.IMAGES,
    "patches-series": saved_files.SERIES,
    "pipeline-columns": saved_files.FRAME[saved_files.COLUMNS].dropna(),
    "pipeline-numbers": np.abs(saved_files.X),
    "pipeline-texts": saved_files.TEXTS,
    "surprise": saved_files.TEXTS,
    "texts": saved_files.TEXTS,
}


def _registered_models() -> Iterator[Unmade]:
    """Fitted detectors that are saved as they are, what is made of all of them, and one explanation each."""
    for path, cases in [*EVERY.items(), *((path, [case]) for path, case in LINEAR.items())]:
        linear = "linear " if cases == [LINEAR.get(path)] else ""
        for place, case in enumerate(cases):
            name = f"{linear}{path.rpartition('.')[2]} {place}"
            fit, new = partial(case.fit, X), case.rows(NEW)
            rows = Rows(new, case.rows(X))
            if path.startswith(("sklearn.", "whyodd.")):
                yield f"model {name}", fit, rows
            yield f"network {name} {path[:4]}", lambda fit=fit: whyodd.neuralize(fit()), rows
            if place == 0:
                yield (
                    f"explanation {name} {path[:4]}",
                    lambda fit=fit, new=new: whyodd.explain(fit(), new),
                    rows,
                )


def _registered_steps() -> Iterator[Unmade]:
    for path, cases in CASES.items():
        for place, case in enumerate(cases):
            of_people = getattr(getattr(case.step, "func", None), "__name__", "") == "<lambda>"
            if not of_people and type(case.step).__module__.startswith(("sklearn.", "whyodd.")):
                yield (
                    f"step {path.rpartition('.')[2]} {place}",
                    case.fitted,
                    Rows(case.X[:3], case.X, case.fit),
                )


def _texts() -> Iterator[Unmade]:
    texts = saved_files.TEXTS
    for vectorizer in (CountVectorizer(), TfidfVectorizer()):
        for model in (OneClassSVM(), whyodd.KernelDensity(sigma=1.0)):
            pipeline = make_pipeline(clone(vectorizer), model)
            name = f"texts {type(vectorizer).__name__} {type(model).__module__[:4]}"
            yield name, partial(pipeline.fit, texts), Rows(texts[:2], texts)


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
        SelectFromModel(model, threshold=0.0)
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


def _written() -> Any:
    """Columns of texts that stand for numbers, durations and days."""
    random = np.random.default_rng(0)
    minutes, days = random.integers(1, 200, 40), random.integers(1, 13, (40, 2))
    return pd.DataFrame(
        {
            "price": [f"{value:,.2f} €" for value in random.uniform(1.0, 5000.0, 40)],
            "took": [f"{one // 60}h {one % 60}min" for one in minutes],
            "day": [f"{day + 12}.{month:02d}.2024" for day, month in days],
        }
    )


def _earlier(name: str) -> Any:
    """What 0.1.0 has saved: automatic models were other ones then."""
    packed = Path(__file__).parent / "saved_by_0_1_0" / f"{name}.whyodd.gz"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it had another scikit-learn
        file = Path(folder, name)
        file.write_bytes(gzip.decompress(packed.read_bytes()))
        return whyodd.load(file)


def _others() -> Iterator[Unmade]:
    for place, model in enumerate(_OTHERS):
        of_labels = isinstance(model, (LabelBinarizer, LabelEncoder))
        rows = Rows(_CLASSES[:3], _CLASSES) if of_labels else Rows(NEW, X, {"y": _CLASSES})
        name = f"other {place} {type(getattr(model, 'estimator', None) or model).__name__}"
        yield name, partial(clone(model).fit, rows.fit, **rows.targets), rows
    kernel = whyodd.kernels.RationalQuadratic(1.0, 1.0)
    yield "other kernel", partial(whyodd.KernelDensity(kernel=kernel).fit, X), Rows(NEW, X)
    written = _written()
    yield "other written", partial(whyodd.auto, written), Rows(written[:3], written)
    in_context = partial(whyodd.auto, saved_files.FRAME, given=["color"])
    yield "other context", in_context, Rows(saved_files.NEW_FRAME, saved_files.FRAME)
    calibrated = partial(whyodd.explain, whyodd.KernelDensity().fit(X), NEW, normal=X)
    yield "other calibrated", calibrated, Rows(NEW, X)
    frames = Rows(saved_files.NEW_FRAME, saved_files.FRAME)
    for name in ("automatic", "explanation-automatic"):
        yield f"other earlier {name}", partial(_earlier, name), frames
    precomputed = OneClassSVM(kernel="precomputed")
    yield "other OneClassSVM precomputed", partial(precomputed.fit, X @ X.T), Rows(NEW @ X.T, X @ X.T)
    rare = OneHotEncoder(min_frequency=10, drop="first", handle_unknown="ignore")
    labels = np.array([["a", "u"]] * 11 + [["b", "v"]] * 11 + [["c", "w"], ["d", "v"]], dtype=object)
    yield "other OneHotEncoder", partial(rare.fit, labels), Rows(labels[-3:], labels)
    numbers = np.array([[1.0], [2.0], [5.0], [np.nan]] * 3)
    yield "other OneHotEncoder numbers", partial(OneHotEncoder().fit, numbers), Rows(numbers[:4], numbers)


def is_estimator(thing: Any) -> bool:
    """Whether it can be cloned and fitted anew."""
    return isinstance(thing, BaseEstimator) and hasattr(thing, "fit")
