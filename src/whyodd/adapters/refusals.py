"""Detectors of PyOD that give no row a score of its own, and what to do instead: one sentence each."""

from __future__ import annotations

_TOGETHER = (
    "scores the rows of one call against each other and keeps no training rows, so no row has a score of "
    "its own: expected a model that scores rows one by one. Fit pyod.models.{instead} instead."
)
_AMONG_OTHERS = (
    "scores a row against the other rows of the same call, so no row has a score of its own: expected a "
    "model that scores rows one by one. Fit pyod.models.{instead} instead."
)
_TRANSDUCTIVE = (
    "has scores only for the data it was fitted on and cannot score a new row: expected a model that scores "
    "new rows. Fit one to columns that describe its {items} instead."
)
_ITEMS = (
    "scores {items}, not table rows: expected rows and columns. Pass model.detector_ and the rows that "
    "reach it, or fit a {instead}."
)
_SERIES = (
    "scores a whole series, not table rows: expected rows and columns. Fit a whyodd.PatchModel to the "
    "series instead: it explains them."
)

# Keyed by class path, as the adapters are. The name of the model comes before.
REFUSALS: dict[str, str] = {
    "pyod.models.audio_ae.AudioAE": (
        "scores recordings, not table rows: expected rows and columns. Fit a model to columns that describe "
        "the recordings."
    ),
    "pyod.models.cd.CD": _AMONG_OTHERS.format(instead="mcd.MCD"),
    "pyod.models.cof.COF": _TOGETHER.format(instead="lof.LOF"),
    "pyod.models.embedding.EmbeddingOD": _ITEMS.format(
        items="an encoder's output for texts or images", instead="whyodd.TextModel or whyodd.PatchModel"
    ),
    "pyod.models.embedding.MultiModalOD": (
        "scores several kinds of data at once, not table rows: expected rows and columns. Explain the "
        "detector for each kind separately."
    ),
    "pyod.models.lmdd.LMDD": _AMONG_OTHERS.format(instead="knn.KNN"),
    "pyod.models.loci.LOCI": _TOGETHER.format(instead="lof.LOF"),
    "pyod.models.rgraph.RGraph": _AMONG_OTHERS.format(instead="knn.KNN"),
    "pyod.models.rod.ROD": _AMONG_OTHERS.format(instead="mcd.MCD"),
    "pyod.models.sod.SOD": _TOGETHER.format(instead="feature_bagging.FeatureBagging"),
    "pyod.models.sos.SOS": _TOGETHER.format(instead="knn.KNN"),
    **{
        f"pyod.models.pyg_{name.lower()}.{name}": _TRANSDUCTIVE.format(items="nodes")
        for name in ("ANOMALOUS", "AnomalyDAE", "CoLA", "CONAD", "DOMINANT", "GUIDE", "Radar", "SCAN")
    },
    "pyod.models.ts_matrix_profile.MatrixProfile": _SERIES,
    **{
        f"pyod.models.ts_{module}.{name}": _SERIES
        for module, name in (
            ("anomaly_transformer", "AnomalyTransformer"),
            ("kshape", "KShape"),
            ("lstm", "LSTMAD"),
            ("od", "TimeSeriesOD"),
            ("sand", "SAND"),
            ("spectral_residual", "SpectralResidual"),
        )
    },
}
