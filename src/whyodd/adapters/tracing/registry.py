"""The transformers that can be traced, one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.adapters.tracing.composition import (
    trace_column_transformer,
    trace_feature_union,
    trace_pipeline,
)
from whyodd.adapters.tracing.discretizers import trace_binarizer, trace_bins, trace_spline_transformer
from whyodd.adapters.tracing.encoders import (
    trace_one_hot_encoder,
    trace_ordinal_encoder,
    trace_target_encoder,
)
from whyodd.adapters.tracing.given import trace_given_context
from whyodd.adapters.tracing.imputers import trace_imputer, trace_marks, trace_missing_indicator
from whyodd.adapters.tracing.mixing import (
    trace_factor_analysis,
    trace_fast_ica,
    trace_feature_agglomeration,
    trace_pca,
    trace_random_projection,
    trace_sparse_pca,
    trace_truncated_svd,
)
from whyodd.adapters.tracing.monotone import (
    trace_declared_one_to_one,
    trace_function_transformer,
    trace_power_transformer,
    trace_quantile_transformer,
)
from whyodd.adapters.tracing.scaling import (
    trace_max_abs_scaler,
    trace_min_max_scaler,
    trace_robust_scaler,
    trace_standard_scaler,
)
from whyodd.adapters.tracing.selection import (
    trace_constants,
    trace_date_parts,
    trace_plain_values,
    trace_selector,
    trace_variance_threshold,
)
from whyodd.adapters.tracing.text import (
    trace_count_vectorizer,
    trace_dict_vectorizer,
    trace_hashing_vectorizer,
    trace_normalizer,
    trace_tfidf_transformer,
    trace_tfidf_vectorizer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.adapters.tracing.columns import Columns

    Tracer = Callable[[Any, Columns], Columns]

# Keyed by class path, and found through the ancestors of a step: subclasses are traced as their base.
TRACERS: dict[str, Tracer] = {
    "sklearn.base.OneToOneFeatureMixin": trace_declared_one_to_one,
    "sklearn.cluster._agglomerative.FeatureAgglomeration": trace_feature_agglomeration,
    "sklearn.compose._column_transformer.ColumnTransformer": trace_column_transformer,
    "sklearn.decomposition._base._BasePCA": trace_pca,
    "sklearn.decomposition._factor_analysis.FactorAnalysis": trace_factor_analysis,
    "sklearn.decomposition._fastica.FastICA": trace_fast_ica,
    "sklearn.decomposition._sparse_pca._BaseSparsePCA": trace_sparse_pca,
    "sklearn.decomposition._truncated_svd.TruncatedSVD": trace_truncated_svd,
    "sklearn.feature_extraction._dict_vectorizer.DictVectorizer": trace_dict_vectorizer,
    "sklearn.feature_extraction._hash.FeatureHasher": trace_hashing_vectorizer,
    "sklearn.feature_extraction.text.CountVectorizer": trace_count_vectorizer,
    "sklearn.feature_extraction.text.HashingVectorizer": trace_hashing_vectorizer,
    "sklearn.feature_extraction.text.TfidfTransformer": trace_tfidf_transformer,
    "sklearn.feature_extraction.text.TfidfVectorizer": trace_tfidf_vectorizer,
    "sklearn.feature_selection._base.SelectorMixin": trace_selector,
    "sklearn.feature_selection._variance_threshold.VarianceThreshold": trace_variance_threshold,
    "sklearn.impute._base.MissingIndicator": trace_missing_indicator,
    "sklearn.impute._base._BaseImputer": trace_imputer,
    "sklearn.pipeline.FeatureUnion": trace_feature_union,
    "sklearn.pipeline.Pipeline": trace_pipeline,
    "sklearn.preprocessing._data.Binarizer": trace_binarizer,
    "sklearn.preprocessing._data.MaxAbsScaler": trace_max_abs_scaler,
    "sklearn.preprocessing._data.MinMaxScaler": trace_min_max_scaler,
    "sklearn.preprocessing._data.Normalizer": trace_normalizer,
    "sklearn.preprocessing._data.PowerTransformer": trace_power_transformer,
    "sklearn.preprocessing._data.QuantileTransformer": trace_quantile_transformer,
    "sklearn.preprocessing._data.RobustScaler": trace_robust_scaler,
    "sklearn.preprocessing._data.StandardScaler": trace_standard_scaler,
    "sklearn.preprocessing._discretization.KBinsDiscretizer": trace_bins,
    "sklearn.preprocessing._encoders.OneHotEncoder": trace_one_hot_encoder,
    "sklearn.preprocessing._encoders.OrdinalEncoder": trace_ordinal_encoder,
    "sklearn.preprocessing._function_transformer.FunctionTransformer": trace_function_transformer,
    "sklearn.preprocessing._polynomial.SplineTransformer": trace_spline_transformer,
    "sklearn.preprocessing._target_encoder.TargetEncoder": trace_target_encoder,
    "sklearn.random_projection.BaseRandomProjection": trace_random_projection,
    "whyodd.automatic.dates.DateParts": trace_date_parts,
    "whyodd.automatic.given.GivenContext": trace_given_context,
    "whyodd.automatic.rarity.Rarity": trace_marks,
    "whyodd.automatic.steps.Constants": trace_constants,
    "whyodd.automatic.steps.PlainNumbers": trace_plain_values,
    "whyodd.automatic.steps.PlainValues": trace_plain_values,
}

# They hand their columns on to steps of their own.
COMPOSITE: frozenset[Any] = frozenset({trace_column_transformer, trace_feature_union, trace_pipeline})

# Their steps are checked one by one, or, of people's own classes, may have nothing to fit.
NOT_CHECKED: frozenset[Any] = frozenset({trace_declared_one_to_one, trace_feature_union, trace_pipeline})
