"""More peers for the leaderboard: detectors of PyOD and isotree that ``finding.py`` does not have.

They have their defaults. Left out are detectors of PyOD that

- are other peers put together (SUOD, LSCP) or learn from labels (XGBOD, DevNet);
- look at a single column (MAD), or need images, texts, graphs or series;
- would make the run last many hours: SOD, SOS, LMDD, LOCI, ROD, RGraph, KPCA, LUNAR, and most deep ones
  (VAE, DeepSVDD, AE1SVM, ALAD, SO_GAAL, MO_GAAL, AnoGAN).
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from isotree import IsolationForest
from pyod.models.abod import ABOD
from pyod.models.cd import CD
from pyod.models.cof import COF
from pyod.models.feature_bagging import FeatureBagging
from pyod.models.gmm import GMM
from pyod.models.hdbscan import HDBSCAN
from pyod.models.inne import INNE
from pyod.models.kde import KDE
from pyod.models.loda import LODA
from pyod.models.ocsvm import OCSVM
from pyod.models.pca import PCA
from pyod.models.qmcd import QMCD
from pyod.models.sampling import Sampling

from finding import by_pyod, standardised

if TYPE_CHECKING:
    import numpy as np

    from finding import Detector

PYOD = (ABOD, CD, COF, FeatureBagging, GMM, HDBSCAN, INNE, KDE, LODA, OCSVM, PCA, QMCD, Sampling)
HAS_TORCH = find_spec("torch") is not None


def by_isotree(train: np.ndarray, new: np.ndarray | None, seed: int) -> np.ndarray:
    model = IsolationForest(random_seed=seed, nthreads=1).fit(train)
    return model.decision_function(train if new is None else new)


def _deep() -> tuple[type, ...]:
    """Those that need torch, if it is there."""
    if not HAS_TORCH:
        return ()
    from pyod.models.auto_encoder import AutoEncoder
    from pyod.models.dif import DIF

    return AutoEncoder, DIF


MORE_PEERS: dict[str, Detector] = {
    name: partial(standardised, peer)
    for name, peer in [
        *((kind.__name__, partial(by_pyod, kind)) for kind in (*PYOD, *_deep())),
        ("isotree", by_isotree),
    ]
}
