"""Ensembles of explained models: PyOD's, and any models that people combine themselves."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn import preprocessing
from sklearn.utils.random import sample_without_replacement

from whyodd.adapters.class_paths import class_path
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_fitted
from whyodd.maths.linear_maps import LinearMap
from whyodd.network.combinations import Average, LocalSelection, Maximum
from whyodd.network.ensemble import EnsembleScore, Part
from whyodd.network.linear_score import LinearScore
from whyodd.network.verdict import AffineScale, Verdict
from whyodd.network.waist import offers, score_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from whyodd.network.combinations import Combination
    from whyodd.network.verdict import Scale

    Floats = NDArray[np.float64]


def ensemble(
    models: Sequence[Any],
    *,
    combine: Literal["average", "maximum"] = "average",
    weights: ArrayLike | None = None,
    normal: Any = None,
) -> EnsembleScore:
    """Several fitted models as one score: the average, or the maximum, of their own scores.

    The same as ``pyod.models.combination`` does to a matrix of scores, but with reasons. Own scores are high
    for outliers: PyOD's ``decision_function``, -``score_samples`` of scikit-learn.

    Parameters
    ----------
    models : sequence of fitted models or members of the waist
        All fitted on the same columns.
    combine : {"average", "maximum"}
    weights : array of shape (K,), optional
        Weight of each model in the average; equal by default.
    normal : array or data frame of shape (N, d), optional
        Rows that make scores comparable: each model's score is standardised by its mean and its standard
        deviation on them. None takes scores as they are.

    Returns
    -------
    EnsembleScore
        It can be explained like any model. The combined score is o + its ``floor``.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> both = whyodd.ensemble(
    ...     [whyodd.KNearestNeighbors().fit(X), whyodd.OneClassSVM().fit(X)], normal=X
    ... )
    >>> e = whyodd.explain(both, [[0.0, 6.0]])
    >>> e.reasons(0)[0].feature
    'x1'
    """
    if combine not in ("average", "maximum"):
        raise ValueError(f"combine={combine!r}: expected 'average' or 'maximum'.")
    if combine == "maximum" and weights is not None:
        raise ValueError("weights are only for combine='average': a maximum has none. Leave them out.")
    if not len(models):
        raise ValueError("Expected at least one fitted model, got none. Pass the ensemble's members.")
    members = [_member(model, "An ensemble") for model in models]
    sizes = {member.n_features for member in members}
    if len(sizes) != 1:
        raise ValueError(
            f"Expected models fitted on the same columns, got models with {sorted(sizes)} columns. "
            "Fit them on the same table."
        )
    parts = [Part(member, _scale(member), *_spread(member, normal)) for member in members]
    counts = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=np.float64)
    if counts.shape != (len(parts),):
        raise ValueError(f"weights has shape {counts.shape}, expected one weight per model, ({len(parts)},).")
    combination = Average(counts / counts.sum()) if combine == "average" else Maximum()
    found = EnsembleScore(_one_sided(parts, combination, "An ensemble"), combination, sizes.pop())
    return EnsembleScore(found.parts, combination, found.n_features, Verdict(AffineScale(shift=found.floor)))


def from_feature_bagging(model: Any) -> EnsembleScore:
    """Ensemble of a fitted ``pyod.models.feature_bagging.FeatureBagging``: ``decision_function`` = o + floor.

    Average or maximum of the ``decision_function`` of its members, each on its own columns
    (``estimators_features_``). For training rows without themselves, where the members keep them, o + floor
    is ``decision_scores_``. Members that count the rows of a call among those of training (ECOD, COPOD) are
    explained for each row alone: so is the ensemble.
    """
    require_fitted(model, "decision_scores_")
    parts = [
        _part(estimator, "FeatureBagging", columns=columns)
        for estimator, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    combination = _pyod_combination(model.combination, len(parts))
    return EnsembleScore(_one_sided(parts, combination, "FeatureBagging"), combination, model.n_features_)


def from_suod(model: Any) -> EnsembleScore:
    """Ensemble of a fitted ``pyod.models.suod.SUOD``: ``decision_function`` = o + floor.

    Average or maximum of the standardised ``decision_function`` of its members. Those that see a random
    projection of the row are explained through its matrix. A member that a regression imitates
    (``approx_flag_global``) is refused: the score is not its own.
    """
    require_fitted(model, "decision_scores_")
    inside = model.model_
    d = len(inside.jl_transformers_[0])
    parts = []
    for k, (estimator, matrix) in enumerate(
        zip(inside.base_estimators, inside.jl_transformers_, strict=True)
    ):
        if np.ravel(inside.approx_flags)[k]:
            raise UnsupportedModelError(
                f"SUOD scores rows with a {type(inside.approximators[k]).__name__} that imitates its "
                f"{type(estimator).__name__}, expected the {type(estimator).__name__} itself. Fit it again "
                "with SUOD(approx_flag_global=False)."
            )
        # SUOD itself recognises a missing projection in this way.
        is_projected = not np.array_equal(matrix, np.ones((d, d)))
        parts.append(
            _part(
                estimator,
                "SUOD",
                mean=float(model.score_scalar_.mean_[k]),
                deviation=float(model.score_scalar_.scale_[k]),
                through=LinearMap(np.asarray(matrix).T) if is_projected else None,
            )
        )
    combination = _pyod_combination(model.combination, len(parts))
    return EnsembleScore(_one_sided(parts, combination, "SUOD"), combination, d)


def from_lscp(model: Any) -> EnsembleScore:
    """Ensemble of a fitted ``pyod.models.lscp.LSCP``: ``decision_function`` = o + floor.

    The mean of the standardised scores of those of its members that are competent near the row. Which are is
    searched in subspaces that LSCP draws again in each call: what is explained is the call that it would make
    next, whose draws are made of a copy of its random state. Given these it is exact.
    """
    require_fitted(model, "decision_scores_")
    means, deviations = _standardization(model.train_scores_)
    parts = [
        _part(detector, "LSCP", mean=float(mean), deviation=float(deviation))
        for detector, mean, deviation in zip(model.detector_list, means, deviations, strict=True)
    ]
    selection = LocalSelection(
        model.X_train_norm_,
        (model.train_scores_ - means) / deviations,
        _next_subspaces(model),
        model.local_region_size,
        min(model.n_bins, len(parts)),
    )
    return EnsembleScore(_one_sided(parts, selection, "LSCP"), selection, model.n_features_)


def next_scores_of_lscp(model: Any, X: Any) -> Floats:
    """What the next ``decision_function`` of an LSCP would return, without using up its random draws."""
    return np.asarray(deepcopy(model).decision_function(X), dtype=np.float64)


def scale_of_ensemble(model: Any, member: EnsembleScore) -> Scale:
    """The model's own score is o + floor."""
    del model
    return AffineScale(shift=member.floor)


def _part(model: Any, name: str, **fields: Any) -> Part:
    member = _member(model, name)
    if fields.get("through") is not None and not offers(member, "through"):
        raise UnsupportedModelError(
            f"{name} gives its {type(model).__name__} random projections of the columns. Only distance "
            "models can be explained through these. Fit it again without projections."
        )
    return Part(member, _scale(member), **fields)


def _member(model: Any, name: str) -> Any:
    from whyodd.adapters.neuralize import neuralize  # its registry holds this file

    try:
        return neuralize(model)
    except UnsupportedModelError as error:
        raise UnsupportedModelError(
            f"{name} is explained through its members, but one of them cannot be explained: "
            f"{class_path(type(model))}: {error}"
        ) from error


def _scale(member: Any) -> Scale:
    verdict = getattr(member, "verdict", None)
    return AffineScale() if verdict is None else verdict.scale


def _spread(member: Any, normal: Any) -> tuple[float, float]:
    """Mean and standard deviation of the own scores of normal rows; a constant score is only moved."""
    if normal is None:
        return 0.0, 1.0
    scores = _scale(member).score(score_rows(member, normal))
    deviation = float(scores.std())
    return float(scores.mean()), deviation if deviation > 0.0 else 1.0


def _standardization(scores: Floats) -> tuple[Floats, Floats]:
    """Mean and scale as in scikit-learn's ``StandardScaler``, which PyOD uses."""
    scaler = preprocessing.StandardScaler().fit(scores)
    return scaler.mean_, scaler.scale_


def _next_subspaces(model: Any) -> tuple[NDArray[np.intp], ...]:
    """The columns that an LSCP would draw in its next call, as PyOD draws them."""
    d, draws = model.n_features_, deepcopy(model.random_state)
    most = min(model.local_max_features, 1.0)
    least = model.local_min_features if d * model.local_min_features >= 1 else 1.0
    if most == least:
        return (np.arange(d),) * int(model.local_region_iterations)
    sizes = int(d * least), int(d * most)
    return tuple(
        sample_without_replacement(d, draws.randint(*sizes), random_state=draws)
        for _ in range(model.local_region_iterations)
    )


def _pyod_combination(name: str, n: int) -> Combination:
    # As PyOD has it: whatever is not an average is a maximum.
    return Average(np.full(n, 1.0 / n)) if name == "average" else Maximum()


def _one_sided(parts: list[Part], combination: Combination, name: str) -> tuple[Part, ...]:
    """The parts, unless a maximum would be taken of a score that has no smallest value."""
    if not isinstance(combination, Average) and any(isinstance(part.score, LinearScore) for part in parts):
        raise UnsupportedModelError(
            f"{name} takes the maximum of a linear score, which has no lower bound to measure from. Fit it "
            "again with combination='average', or with another kernel."
        )
    return tuple(parts)
