"""Instruments to judge explanations: flipping, localisation, conservation, stability, agreement."""

from __future__ import annotations

from whyodd.evaluation.agreement import agreement, rank_correlation, top_overlap
from whyodd.evaluation.audit import Audit, Pattern, audit
from whyodd.evaluation.causes import Causes, causes
from whyodd.evaluation.comparison import METRICS, Judged, Metric, compare
from whyodd.evaluation.conservation import conservation_gap, unexplained_share
from whyodd.evaluation.flipping import area, flip
from whyodd.evaluation.localisation import average_precision, hit_rate, roc_auc
from whyodd.evaluation.stability import Continuity, Stability, continuity, stability

__all__ = [
    "METRICS",
    "Audit",
    "Causes",
    "Continuity",
    "Judged",
    "Metric",
    "Pattern",
    "Stability",
    "agreement",
    "area",
    "audit",
    "average_precision",
    "causes",
    "compare",
    "conservation_gap",
    "continuity",
    "flip",
    "hit_rate",
    "rank_correlation",
    "roc_auc",
    "stability",
    "top_overlap",
    "unexplained_share",
]
