"""Small files of every kind that ``whyodd.save`` writes, and numbers to know them by.

Run as a program with the release that is to be remembered, this file makes a folder of them:

    PYTHONPATH=<its src> python tests/unit/io/saved_files.py tests/unit/io/saved_by_<version>

Later releases must load them with the same numbers (``test_earlier_files.py``). Only public names are used
here, so that every release can run it, and NumPy's old random numbers, which never change.
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
from pyod.models.cblof import CBLOF
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.feature_bagging import FeatureBagging
from pyod.models.hbos import HBOS
from pyod.models.inne import INNE
from pyod.models.knn import KNN
from pyod.models.loda import LODA
from pyod.models.lof import LOF
from pyod.models.lscp import LSCP
from pyod.models.mad import MAD
from pyod.models.pca import PCA as DistancesToAxes  # noqa: N811 - scikit-learn has one too
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from made_up.stacks import stack
from whyodd.inputs.standardizing import Standardizing
from whyodd.maths.learned_poolings import LearnedMean, LearnedScore
from whyodd.network.neural.embedded_distance import EmbeddedDistance
from whyodd.network.neural.network_reconstruction import NetworkReconstruction

NUMBERS = "numbers.json"


def rows(n, seed, scale=1.0):
    return np.random.RandomState(seed).normal(size=(n, 3)) * scale


def frame(n, seed):
    """Numbers, one of them with a heavy tail, a category, times, a truth, and columns that never vary."""
    random = np.random.RandomState(seed)
    made = pd.DataFrame(
        {
            "height": random.normal(size=n),
            "color": random.choice(["red", "green", "blue"], n),
            "time": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.randint(0, 10**6, n), unit="s"),
            "flag": random.uniform(size=n) > 0.5,
            "heavy": random.lognormal(0.0, 5.0, n),
            "always": 3.0,
            "day": pd.Timestamp("2024-05-01"),
        }
    )
    made.loc[1, "height"] = np.nan
    made.loc[2, "color"] = None
    return made


def polars(values):
    return pl.DataFrame(values, schema=["a", "b", "c"], orient="row")


def zoned(n, seed):
    made = frame(n, seed)
    made["time"] = made["time"].dt.tz_localize("Europe/Berlin")
    return made


X, NEW = rows(24, 0), rows(4, 1, scale=2.0)
FRAME, NEW_FRAME = frame(40, 2), frame(4, 3)
ZONED, NEW_ZONED = zoned(40, 2), zoned(4, 3)
COLUMNS = ["color", "heavy"]
IMAGES = np.random.RandomState(4).uniform(size=(2, 6, 5))
PICTURES = np.random.RandomState(7).uniform(size=(5, 20, 24))
SERIES = pd.DataFrame(
    {
        "time": pd.date_range("2024-01-01", periods=20, freq="min"),
        "v": np.random.RandomState(5).normal(size=20),
    }
)
STEPS = np.random.RandomState(6).normal(size=(120, 2)) + np.sin(np.arange(120) / 3)[:, None]
TEXTS = ["one two three", "two three five", "one three four", "four one two", "five two"] * 2
NEW_TEXTS = ["one six", "two three"]


def things():
    """What is saved, by the name of its file."""
    members_of_the_waist = {**networks(), **members(), **ensembles(), **neural(), **functions()}
    return {**models(), **members_of_the_waist, **pipelines(), **patches(), **texts()}


def models():
    made = {
        "OneClassSVM": whyodd.OneClassSVM(),
        "OneClassSVM-student": whyodd.OneClassSVM("student", q=2.0),
        "SVDD": whyodd.SVDD(),
        "KernelDensity": whyodd.KernelDensity(),
        "KernelDensity-student": whyodd.KernelDensity(kernel=whyodd.kernels.Student(2.0, 1.0, 0.5)),
        "ExemplarMixture": whyodd.ExemplarMixture(),
        "KernelPCA": whyodd.KernelPCA(),
        "KNearestNeighbors": whyodd.KNearestNeighbors(),
        "LocalOutlierFactor": whyodd.LocalOutlierFactor(),
        "GaussianMixture": whyodd.GaussianMixture(2, random_state=np.random.RandomState(3)),
        "Gaussian": whyodd.Gaussian(),
        "Committee": whyodd.Committee(),
        "Committee-trusted": whyodd.Committee(trusted=True, groups=[[1, 2]]),
    }
    for model in made.values():
        model.fit(X)
    made["KernelDensity-in-parts"] = whyodd.KernelDensity().partial_fit(X[:20], forget=50.0)
    made["KernelDensity-in-parts"].partial_fit(X[20:], forget=50.0)
    made["Committee-judged"] = whyodd.Committee().fit(X)
    made["Committee-judged"].accept(9.0 * X[:1], note="fine")
    made["Committee-judged"].reject(-9.0 * X[:1])
    return {**made, "calibration": whyodd.calibrate(made["Gaussian"], rows(10, 6))}


def networks():
    """Every kernel, pooling and metric."""
    made = {
        "diagonal-mixture": whyodd.GaussianMixture(2, "diag", random_state=0),
        "full-mixture": whyodd.GaussianMixture(2, random_state=0),
        "full-covariance": whyodd.Gaussian(),
        "laplacian": whyodd.KernelDensity("laplacian"),
        "local-reach": whyodd.LocalOutlierFactor(),
        "mean-vector": whyodd.KNearestNeighbors(measure="mean_vector"),
        "nearest": whyodd.KNearestNeighbors(),
        "student": whyodd.KernelDensity("student", sigma=1.0),
    }
    return {f"network-{name}": whyodd.neuralize(model.fit(X)) for name, model in made.items()}


def members():
    """Members that are no networks: sums over variables, projections and points, and reconstructions."""
    made = {
        "copod": COPOD().fit(X),
        "ecod": ECOD().fit(X),
        "hbos": HBOS(n_bins=4).fit(X),
        "loda": LODA(n_random_cuts=5, random_state=0).fit(X),
        "mad": MAD().fit(X[:, :1]),
        "points": DistancesToAxes().fit(X),
        "reconstruction": PCA(2).fit(X),
    }
    return {f"sum-{name}": whyodd.neuralize(model) for name, model in made.items()}


def functions():
    """Explanations of functions, which are saved without them: by a student, by samples, by scores alone."""

    def asked(function, **keywords):
        return whyodd.explain(function, NEW, normal=X, random_state=0, **keywords)

    return {
        "explanation-distilled": asked(lambda values: np.abs(values).sum(axis=1)),
        "explanation-sampled": asked(lambda values: np.sin(50.0 * values).sum(axis=1)),
        "explanation-scored": asked(lambda values: np.abs(values).sum(axis=1), method="mean"),
    }


def ensembles():
    """Members made of members, and those measured against a few points."""
    made = {
        "average": FeatureBagging(KNN(n_neighbors=2), n_estimators=2, random_state=0),
        "clusters": CBLOF(n_clusters=5, alpha=0.8, use_weights=True, random_state=0),
        "manhattan": KNN(n_neighbors=2, metric="manhattan"),
        "maximum": FeatureBagging(LOF(n_neighbors=2), n_estimators=2, combination="max", random_state=0),
        "selection": LSCP(
            [LOF(n_neighbors=2), LOF(n_neighbors=3)], local_region_size=5, n_bins=2, random_state=0
        ),
        "spheres": INNE(n_estimators=3, max_samples=4, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # LSCP would rather have larger regions
        return {f"ensemble-{name}": whyodd.neuralize(model.fit(X)) for name, model in made.items()}


def neural():
    """What neural detectors become; torch is not needed for them."""
    entry = Standardizing(X.mean(axis=0), X.std(axis=0))
    d = X.shape[1]
    weights, score = stack([3, 4, 3], ["relu", "softmax"]), stack([3, 4, 1], ["tanh", []])
    return {
        "neural-embedded": EmbeddedDistance(stack([d, 4, 2], ["relu", "elu"]), np.array([0.1, 0.2]), entry),
        "neural-mean": whyodd.DistanceNetwork(X, pooling=LearnedMean(weights)),
        "neural-reconstruction": NetworkReconstruction(stack([d, 2, d], ["tanh", []]), entry),
        "neural-score": whyodd.DistanceNetwork(X, pooling=LearnedScore(score)),
    }


def pipelines():
    automatic = whyodd.auto(FRAME)
    columns = make_column_transformer((OneHotEncoder(), ["color"]), (StandardScaler(), ["heavy"]))
    positive = make_pipeline(FunctionTransformer(np.log1p), PowerTransformer(), whyodd.KernelDensity())
    mixed = make_pipeline(StandardScaler(), PCA(2), whyodd.KernelDensity(contamination=0.1)).fit(X)
    return {
        "automatic": automatic,
        "explanation-automatic": whyodd.explain(automatic, NEW_FRAME),
        "explanation-linear": whyodd.explain(SGDOneClassSVM(random_state=0).fit(X), NEW),
        "explanation-mixed": whyodd.explain(mixed, NEW),
        "explanation-polars": whyodd.explain(whyodd.Gaussian().fit(polars(X)), polars(NEW)),
        "explanation-zones": whyodd.explain(whyodd.auto(ZONED), NEW_ZONED),
        "pipeline-columns": make_pipeline(columns, whyodd.KernelDensity()).fit(FRAME[COLUMNS].dropna()),
        "pipeline-mixed": mixed,
        "pipeline-numbers": positive.fit(np.abs(X)),
        "pipeline-texts": make_pipeline(TfidfVectorizer(), OneClassSVM()).fit(TEXTS),
        "scikit-learn-KernelDensity": KernelDensity(bandwidth=0.5).fit(X),
        "scikit-learn-KMeans": KMeans(2, random_state=0, n_init=1).fit(X),
        "scikit-learn-LocalOutlierFactor": LocalOutlierFactor(novelty=True).fit(X),
    }


def patches():
    base, prepare = whyodd.KernelDensity(sigma=1.0), whyodd.patches.local_contrast
    images = whyodd.PatchModel(base, patch=(3, 3), prepare=prepare, random_state=0).fit(IMAGES)
    series = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(4,), standardize=True, random_state=0).fit(SERIES)
    steps = whyodd.SeriesDetector(trusted=True).fit(STEPS)
    pictures = whyodd.ImageDetector("contrast", centers=20).fit(PICTURES)
    return {
        "detector-images": pictures,
        "detector-series": steps,
        "explanation-images": images.explain(IMAGES * 0.5),
        "explanation-series": series.explain(SERIES),
        "patches-images": images,
        "patches-series": series,
    }


def texts():
    model = whyodd.TextModel(nu=0.5, min_df=1).fit(TEXTS)
    surprise = whyodd.TextModel().fit(TEXTS)
    return {
        "explanation-surprise": surprise.explain(NEW_TEXTS),
        "explanation-texts": model.explain(NEW_TEXTS),
        "surprise": surprise,
        "texts": model,
    }


# What is scored, for those that are not scored on ``NEW``.
SCORED = {
    "automatic": NEW_FRAME,
    "detector-images": PICTURES[:2] ** 2,
    "detector-series": STEPS[:60] * 1.5,
    "patches-images": IMAGES * 0.5,
    "patches-series": SERIES,
    "pipeline-columns": NEW_FRAME[COLUMNS].dropna(),
    "pipeline-numbers": np.abs(NEW),
    "pipeline-texts": NEW_TEXTS,
    "sum-mad": NEW[:, :1],
    "surprise": NEW_TEXTS,
    "texts": NEW_TEXTS,
}


def numbers(name, thing):
    """Numbers by which a thing is known again."""
    new = SCORED.get(name, NEW)
    rarity = {"p_values": thing.p_values(new).tolist()} if hasattr(thing, "p_values") else {}
    if name == "calibration":
        return rarity
    if hasattr(thing, "relevance"):
        explanation = thing
    else:
        explain = getattr(thing, "explain", getattr(thing, "judge", None))
        explanation = whyodd.explain(thing, new) if explain is None else explain(new)
    return {
        **rarity,
        "outlierness": explanation.outlierness.tolist(),
        "relevance": [sums(explanation, i) for i in (0, -1)],
    }


def sums(explanation, i):
    """Relevance of a row by variable, or of an item from place to place, along its first axis."""
    part = explanation.relevance[i]
    part = part.toarray() if sparse.issparse(part) else np.asarray(part)
    return part.reshape(len(part), -1).sum(axis=1).tolist()


def write(folder):
    folder.mkdir()
    made = things()
    with TemporaryDirectory() as temporary:
        for name, thing in made.items():
            file = Path(temporary, "file")
            whyodd.save(thing, file)
            # A saved file is not compressed, and most of a small one is the same few names again and again.
            (folder / f"{name}.whyodd.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    known = {name: numbers(name, thing) for name, thing in made.items()}
    (folder / NUMBERS).write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
