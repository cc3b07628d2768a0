"""Estimators of scikit-learn that a file may hold, each with a check of what its compiled code trusts.

NumPy checks shapes and indices itself, so most of them need nothing. Compiled code of scikit-learn and SciPy
does not: a wrong index there reads or writes where it must not. Search trees and splines are rebuilt.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from whyodd.io.saved_forests import check_forest, check_tree_model
from whyodd.io.saved_requirements import (
    columns_of,
    expect,
    expect_shape,
    expect_whole,
    is_places,
    is_whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[Any], None]

_MOST_THREADS = 1024
_MOST_COLUMNS = 2**24
_MOST_HASHED = 2**26
_LARGEST = 1e150  # its square is finite
_SIZES_OF_WEIGHTS: dict[str, Callable[[int], tuple[int, ...]]] = {
    "MinkowskiDistance64": lambda columns: (0, columns),
    "SEuclideanDistance64": lambda columns: (columns,),
}
# Each counted column gets a name when people ask for names.
_NUMBERS_OF_COLUMNS = {"n_features_in_", "_n_features_out"}
# Settings that cost time or memory whatever the data -> the largest sensible value.
_MOST = {
    "batch_size": 10**8,
    "degree": 100,
    "iterated_power": 10**5,
    "n_components": _MOST_COLUMNS,
    "n_init": 10**5,
    "n_iter": 10**5,
    "n_knots": 10**6,
    "n_resampling": 10**6,
}


def check_estimators(loaded: Any) -> None:
    """Raise a ``ValueError`` if a loaded object would make compiled code fail.

    What scikit-learn itself left undefined is put right.
    """
    for part in parts_of(loaded):
        if isinstance(part, np.random.RandomState):
            _check_random_state(part)
        elif isinstance(part, BaseEstimator):
            _check_parameters(part)
            CHECKS.get(f"{type(part).__module__}.{type(part).__name__}", _trusts_nothing)(part)


def parts_of(loaded: Any) -> Iterator[Any]:
    """Everything in an object that has parts, itself included, each once."""
    seen: set[int] = set()
    waiting = [loaded]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, (list, tuple, set, frozenset)):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, np.ndarray):
            if part.dtype == object:
                waiting.extend(part.ravel().tolist())
        elif isinstance(part, np.random.RandomState):
            yield part
        elif hasattr(part, "__dict__") and type(part).__module__.startswith(("sklearn.", "whyodd.")):
            yield part
            waiting.extend(vars(part).values())


# ---- what all of them have --------------------------------------------------------------------------------


def _check_random_state(state: np.random.RandomState) -> None:
    """Check its random state: compiled code takes the next number from a place that it does not check."""
    known: Any = state.get_state(legacy=False)
    expect("a RandomState", known["bit_generator"] == "MT19937" and 0 <= known["state"]["pos"] <= 624)
    expect("a RandomState", known["has_gauss"] in (0, 1))


def _check_parameters(model: BaseEstimator) -> None:
    own, kind = vars(model), type(model).__name__
    jobs = own.get("n_jobs")
    expect(f"n_jobs of a {kind}", jobs is None or (is_whole(jobs) and abs(jobs) <= _MOST_THREADS))
    # A folder of pickles, which scikit-learn would read.
    expect(f"memory of a {kind}", own.get("memory") is None)
    for name, most in _MOST.items():
        value = own.get(name)
        expect(f"{name} of a {kind}", not isinstance(value, (int, float)) or not value > most)
    for name in _NUMBERS_OF_COLUMNS & own.keys():
        expect_whole(model, name, 0, max(_MOST_COLUMNS, _longest(own)))
    names = own.get("feature_names_in_")
    if names is not None:
        expect_shape(model, "feature_names_in_", (columns_of(model),))


def _longest(fields: dict[str, Any]) -> int:
    """Check all arrays that it has itself."""
    shapes = (np.shape(one) for one in fields.values() if isinstance(one, np.ndarray) or sparse.issparse(one))
    return max((max(shape, default=0) for shape in shapes), default=0)


def _trusts_nothing(model: Any) -> None:
    """Nothing to check: its code is NumPy's, or that of its steps."""


# ---- detectors --------------------------------------------------------------------------------------------


def _check_one_class_svm(model: Any) -> None:
    if not hasattr(model, "support_vectors_"):
        return
    n, columns = len(model.support_), columns_of(model)
    if model.kernel == "precomputed":  # it compares columns of its input
        expect("support_ of a OneClassSVM", is_places(model.support_, model.shape_fit_[0]))
    else:
        expect_shape(model, "support_vectors_", (n, columns))
    expect("support_ of a OneClassSVM", is_places(model.support_, np.iinfo(np.int32).max))
    for name in ("dual_coef_", "_dual_coef_"):
        expect_shape(model, name, (1, n))
        found = getattr(model, name)
        # Compiled code reads the stored numbers of a sparse one, of which there may be fewer.
        expect(f"{name} of a OneClassSVM", not sparse.issparse(found) or found.nnz == len(found.data) == n)
    for name, shape in {"_intercept_": (1,), "_n_support": (2,), "_probA": (0,), "_probB": (0,)}.items():
        expect_shape(model, name, shape)
    # For sparse rows scikit-learn leaves it uninitialised.
    model._n_support = np.full(2, n, dtype=np.int32)


def _check_means(model: Any) -> None:
    if hasattr(model, "cluster_centers_"):
        expect_shape(model, "cluster_centers_", (model.n_clusters, columns_of(model)))
        expect_whole(model, "_n_threads", 1, _MOST_THREADS)
        # Threads of the computer where it was fitted; OpenMP ends the process if it cannot start them.
        model._n_threads = min(model._n_threads, os.cpu_count() or 1)
        if hasattr(model, "_counts"):
            expect_shape(model, "_counts", (model.n_clusters,))


def _check_sgd(model: Any) -> None:
    for name in ("coef_", "_standard_coef", "_average_coef"):
        if getattr(model, name, None) is not None:
            expect_shape(model, name, (columns_of(model),))


def _check_neighbors(model: Any) -> None:
    if not hasattr(model, "_fit_X"):
        return
    n = model._fit_X.shape[0]
    expect_whole(model, "n_samples_fit_", n, n)
    if model.effective_metric_ != "precomputed":
        expect_shape(model, "_fit_X", (n, columns_of(model)))
    if model._tree is not None:
        _check_search_tree(model._tree, n, columns_of(model))
    for name in ("negative_outlier_factor_", "_lrd"):
        if hasattr(model, name):
            expect_shape(model, name, (n,))
    if hasattr(model, "_neighbors_indices_fit_X_"):
        found = model._neighbors_indices_fit_X_
        expect("_neighbors_indices_fit_X_ of neighbors", is_places(found, n) and found.shape[:1] == (n,))
        expect_shape(model, "_distances_fit_X_", found.shape)


def _check_kernel_density(model: Any) -> None:
    if hasattr(model, "tree_"):
        _check_search_tree(model.tree_, None, columns_of(model))


def _check_search_tree(tree: Any, n: int | None, columns: int) -> None:
    rows, *_, metric, weights = tree.__getstate__()
    expect("a search tree", rows.shape == (rows.shape[0] if n is None else n, columns))
    sizes = _SIZES_OF_WEIGHTS.get(type(metric).__name__)  # the others have no weights of columns
    expect("the distance of a search tree", sizes is None or len(metric.__getstate__()[1]) in sizes(columns))
    expect("the weights of a search tree", weights is None or len(weights) == len(rows))


# ---- steps ------------------------------------------------------------------------------------------------


def _check_vocabulary(model: Any) -> None:
    """Check that each word has one column and every column a word, since counts go into a sparse matrix."""
    found = getattr(model, "vocabulary_", None)
    if found is not None:
        expect(f"vocabulary_ of a {type(model).__name__}", _are_all_places(list(found.values())))
    names = getattr(model, "feature_names_", None)
    if names is not None:
        expect(f"feature_names_ of a {type(model).__name__}", found is not None and len(names) == len(found))


def _are_all_places(values: list[Any]) -> bool:
    if not all(map(is_whole, values)):
        return False
    return bool(np.array_equal(np.sort(np.array(values, dtype=object)), np.arange(len(values))))


def _check_hashing(model: Any) -> None:
    expect_whole(model, "n_features", 1, _MOST_HASHED)


def _check_one_hot(model: Any) -> None:
    if not hasattr(model, "categories_"):
        return
    what = "categories_ of a OneHotEncoder"
    expect(what, len(model.categories_) == columns_of(model))
    mappings = getattr(model, "_default_to_infrequent_mappings", None)
    expect("its groups of categories", model._infrequent_enabled == (mappings is not None))
    for place, categories in enumerate(model.categories_):
        expect(what, isinstance(categories, np.ndarray) and categories.ndim == 1 and categories.size > 0)
        expect(what, categories.dtype.kind in "OUS" or _is_increasing(categories))
        _check_groups(model, place, len(categories), None if mappings is None else mappings[place])
    _check_dropped(model)
    expect("_n_features_outs of a OneHotEncoder", model._n_features_outs == model._compute_n_features_outs())


def _is_increasing(values: Any) -> bool:
    """Whether values are in ascending order, so that a search finds each; a gap may come last."""
    known = values[:-1] if values[-1] != values[-1] else values
    return bool(np.all(known[:-1] < known[1:]) and np.all(known == known))


def _check_groups(model: Any, place: int, n: int, mapping: Any) -> None:
    if mapping is None:
        return
    rare = model._infrequent_indices[place]
    n_groups = n - len(rare) + 1
    expect("its groups of categories", np.shape(mapping) == (n,) and is_places(mapping, n_groups))


def _check_dropped(model: Any) -> None:
    dropped = model._drop_idx_after_grouping
    if dropped is not None:
        expect_shape(model, "_drop_idx_after_grouping", (columns_of(model),))
        sizes = [len(one) for one in model.categories_]
        is_right = (
            one is None or (is_whole(one) and 0 <= one < size)
            for one, size in zip(dropped, sizes, strict=True)
        )
        expect("the dropped categories of a OneHotEncoder", all(is_right))


def _check_incremental_pca(model: Any) -> None:
    """Check for finite numbers: later rows are decomposed with these, and LAPACK may never end on others."""
    largest = {"components_": 2.0, "singular_values_": _LARGEST, "mean_": _LARGEST}
    for name, most in largest.items():
        found = getattr(model, name, None)  # None: not fitted, or of a version that has none
        expect(f"{name} of an IncrementalPCA", found is None or bool(np.all(np.abs(found) <= most)))


def _check_agglomeration(model: Any) -> None:
    if hasattr(model, "labels_"):
        expect_shape(model, "labels_", (columns_of(model),))
        expect_whole(model, "n_clusters_", 1, columns_of(model))
        expect("labels_ of a FeatureAgglomeration", is_places(model.labels_, model.n_clusters_))


def _check_splines(model: Any) -> None:
    if not hasattr(model, "bsplines_"):
        return
    columns, n_splines = columns_of(model), model.bsplines_[0].c.shape[1]
    expect("bsplines_ of a SplineTransformer", len(model.bsplines_) == columns)
    for spline in model.bsplines_:
        expect(
            "bsplines_ of a SplineTransformer", spline.c.shape[1] == n_splines and spline.k <= _MOST["degree"]
        )
    expect("include_bias of a SplineTransformer", isinstance(model.include_bias, bool))
    n_used = n_splines if model.include_bias else n_splines - 1
    expect_whole(model, "n_features_out_", columns * n_used, columns * n_used)


def _check_given_context(model: Any) -> None:
    """Check its rows, which go into a search tree and are counted by their categories."""
    if not hasattr(model, "known_"):
        return
    known, what = model.known_, "known_ of a GivenContext"
    n_contexts, n_labels = len(model.contexts), len(model.as_text)
    n, n_numbers = len(known.codes), columns_of(model) - n_contexts - n_labels
    kinds = [place.kind for place in model.places_]
    expect("contexts of a GivenContext", n_contexts > 0 and kinds == list(model.contexts))
    expect("labels_ of a GivenContext", len(model.labels_) == n_labels)
    n_levels = sum(1 + (kind == "time of day and weekday") for kind in kinds)
    n_points = sum((kind == "number") + 2 * kind.startswith("time of day") for kind in kinds)
    expect(what, n > 0 and known.codes.shape == (n, n_levels) and known.codes.dtype.kind == "i")
    expect(what, known.points.shape == (n, n_points) and bool(np.all(np.abs(known.points) <= 1.0)))
    expect(what, known.values.shape == (n, n_numbers) and known.labels.shape == (n, n_labels))
    expect(what, known.days.shape == (n,) and known.days.dtype.kind == "i")
    for column, labels in zip(known.labels.T, model.labels_, strict=True):
        expect(what, np.ndim(labels) == 1 and is_places(column, len(labels)))
    expect("fill_ of a GivenContext", (model.fill_ is None) == (n_numbers == 0))
    shapes = {"within_": n_levels, "ratio_": n_levels, "extent_": 2}
    for name, rows in shapes.items():
        expect_shape(model, name, (rows, n_numbers))
    expect_shape(model, "quiet_", (n_numbers,))
    for name in ("typical_", "uneven_"):
        expect_shape(model, name, (n_levels + 1, n_numbers))
    expect_shape(model, "strength_", (n_levels + 1, n_labels))


CHECKS: dict[str, Check] = {
    "sklearn.cluster._agglomerative.FeatureAgglomeration": _check_agglomeration,
    "sklearn.cluster._kmeans.KMeans": _check_means,
    "sklearn.cluster._kmeans.MiniBatchKMeans": _check_means,
    "sklearn.decomposition._incremental_pca.IncrementalPCA": _check_incremental_pca,
    "sklearn.ensemble._iforest.IsolationForest": check_forest,
    "sklearn.feature_extraction._dict_vectorizer.DictVectorizer": _check_vocabulary,
    "sklearn.feature_extraction._hash.FeatureHasher": _check_hashing,
    "sklearn.feature_extraction.text.CountVectorizer": _check_vocabulary,
    "sklearn.feature_extraction.text.HashingVectorizer": _check_hashing,
    "sklearn.feature_extraction.text.TfidfVectorizer": _check_vocabulary,
    "sklearn.linear_model._stochastic_gradient.SGDOneClassSVM": _check_sgd,
    "sklearn.neighbors._kde.KernelDensity": _check_kernel_density,
    "sklearn.neighbors._lof.LocalOutlierFactor": _check_neighbors,
    "sklearn.neighbors._unsupervised.NearestNeighbors": _check_neighbors,
    "sklearn.preprocessing._encoders.OneHotEncoder": _check_one_hot,
    "sklearn.preprocessing._polynomial.SplineTransformer": _check_splines,
    "sklearn.svm._classes.OneClassSVM": _check_one_class_svm,
    "sklearn.tree._classes.ExtraTreeRegressor": check_tree_model,
    "whyodd.automatic.given.GivenContext": _check_given_context,
} | dict.fromkeys(
    (
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.covariance._elliptic_envelope.EllipticEnvelope",
        "sklearn.covariance._empirical_covariance.EmpiricalCovariance",
        "sklearn.covariance._graph_lasso.GraphicalLasso",
        "sklearn.covariance._graph_lasso.GraphicalLassoCV",
        "sklearn.covariance._robust_covariance.MinCovDet",
        "sklearn.covariance._shrunk_covariance.LedoitWolf",
        "sklearn.covariance._shrunk_covariance.OAS",
        "sklearn.covariance._shrunk_covariance.ShrunkCovariance",
        "sklearn.decomposition._factor_analysis.FactorAnalysis",
        "sklearn.decomposition._fastica.FastICA",
        "sklearn.decomposition._kernel_pca.KernelPCA",
        "sklearn.decomposition._pca.PCA",
        "sklearn.decomposition._sparse_pca.MiniBatchSparsePCA",
        "sklearn.decomposition._sparse_pca.SparsePCA",
        "sklearn.decomposition._truncated_svd.TruncatedSVD",
        "sklearn.feature_extraction.text.TfidfTransformer",
        "sklearn.feature_selection._from_model.SelectFromModel",
        "sklearn.feature_selection._rfe.RFE",
        "sklearn.feature_selection._rfe.RFECV",
        "sklearn.feature_selection._sequential.SequentialFeatureSelector",
        "sklearn.feature_selection._univariate_selection.GenericUnivariateSelect",
        "sklearn.feature_selection._univariate_selection.SelectFdr",
        "sklearn.feature_selection._univariate_selection.SelectFpr",
        "sklearn.feature_selection._univariate_selection.SelectFwe",
        "sklearn.feature_selection._univariate_selection.SelectKBest",
        "sklearn.feature_selection._univariate_selection.SelectPercentile",
        "sklearn.feature_selection._variance_threshold.VarianceThreshold",
        "sklearn.impute._base.MissingIndicator",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.impute._iterative.IterativeImputer",
        "sklearn.impute._knn.KNNImputer",
        # Linear models: what steps choose columns or fill gaps by.
        "sklearn.linear_model._base.LinearRegression",
        "sklearn.linear_model._bayes.ARDRegression",
        "sklearn.linear_model._bayes.BayesianRidge",
        "sklearn.linear_model._coordinate_descent.ElasticNet",
        "sklearn.linear_model._coordinate_descent.ElasticNetCV",
        "sklearn.linear_model._coordinate_descent.Lasso",
        "sklearn.linear_model._coordinate_descent.LassoCV",
        "sklearn.linear_model._huber.HuberRegressor",
        "sklearn.linear_model._least_angle.Lars",
        "sklearn.linear_model._least_angle.LassoLars",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.linear_model._logistic.LogisticRegressionCV",
        "sklearn.linear_model._ridge.Ridge",
        "sklearn.linear_model._ridge.RidgeCV",
        "sklearn.linear_model._ridge.RidgeClassifier",
        "sklearn.mixture._bayesian_mixture.BayesianGaussianMixture",
        "sklearn.mixture._gaussian_mixture.GaussianMixture",
        "sklearn.pipeline.FeatureUnion",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.Binarizer",
        "sklearn.preprocessing._data.KernelCenterer",
        "sklearn.preprocessing._data.MaxAbsScaler",
        "sklearn.preprocessing._data.MinMaxScaler",
        "sklearn.preprocessing._data.Normalizer",
        "sklearn.preprocessing._data.PowerTransformer",
        "sklearn.preprocessing._data.QuantileTransformer",
        "sklearn.preprocessing._data.RobustScaler",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._discretization.KBinsDiscretizer",
        "sklearn.preprocessing._encoders.OrdinalEncoder",
        "sklearn.preprocessing._function_transformer.FunctionTransformer",
        "sklearn.preprocessing._label.LabelBinarizer",
        "sklearn.preprocessing._label.LabelEncoder",
        "sklearn.preprocessing._target_encoder.TargetEncoder",
        "sklearn.random_projection.GaussianRandomProjection",
        "sklearn.random_projection.SparseRandomProjection",
    ),
    _trusts_nothing,
)
