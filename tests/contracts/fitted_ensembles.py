"""Fitted models that become ensembles, or are measured against a few points: no distance networks."""

from __future__ import annotations

from pyod.models.cblof import CBLOF
from pyod.models.feature_bagging import FeatureBagging
from pyod.models.inne import INNE
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.lscp import LSCP
from pyod.models.mcd import MCD
from pyod.models.ocsvm import OCSVM
from pyod.models.suod import SUOD
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from contracts.fitted import Case

_MEMBERS = [LOF(n_neighbors=5), KNN(), MCD(random_state=0, support_fraction=0.9)]
# Regressions that imitate members, and a scheduler that writes to its own folder, are left out.
_PLAIN = {"approx_flag_global": False, "bps_flag": False, "n_jobs": 1}


def _cases(*models: object) -> list[Case]:
    return [Case(model) for model in models]


ENSEMBLES: dict[str, list[Case]] = {
    "pyod.models.cblof.CBLOF": _cases(
        CBLOF(n_clusters=8, use_weights=True, random_state=0),
    ),
    "pyod.models.feature_bagging.FeatureBagging": _cases(
        FeatureBagging(n_estimators=4, random_state=0),
        FeatureBagging(KNN(), n_estimators=4, random_state=0, combination="max"),
        FeatureBagging(OCSVM(nu=0.2), n_estimators=4, random_state=0, bootstrap_features=True),
        FeatureBagging(MCD(random_state=0, support_fraction=0.9), n_estimators=4, random_state=0),
    ),
    "pyod.models.inne.INNE": _cases(
        INNE(n_estimators=20, random_state=0), INNE(n_estimators=10, max_samples=20, random_state=0)
    ),
    "pyod.models.knn.KNN": _cases(KNN(metric="manhattan"), KNN(p=3)),
    "pyod.models.lof.LOF": _cases(LOF(n_neighbors=7, metric="chebyshev")),
    "pyod.models.lscp.LSCP": _cases(
        LSCP([LOF(n_neighbors=k) for k in (3, 7, 12)], local_region_size=30, n_bins=3, random_state=0)
    ),
    "pyod.models.suod.SUOD": _cases(
        SUOD(_MEMBERS, rp_flag_global=False, **_PLAIN),
        SUOD(_MEMBERS[:2], combination="max", **_PLAIN),
    ),
    "sklearn.neighbors._lof.LocalOutlierFactor": _cases(
        LocalOutlierFactor(n_neighbors=7, novelty=True, metric="canberra")
    ),
    "sklearn.neighbors._unsupervised.NearestNeighbors": _cases(NearestNeighbors(metric="cosine")),
}
