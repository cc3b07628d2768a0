"""Outlier detectors that own a distance network."""

from whyodd.models.base import DistanceDetector
from whyodd.models.calibration import Calibration, calibrate
from whyodd.models.one_class_svm import SVDD, OneClassSVM

MODELS: dict[str, type[DistanceDetector]] = {
    "one_class_svm": OneClassSVM,
    "svdd": SVDD,
}

__all__ = ["MODELS", "SVDD", "Calibration", "DistanceDetector", "OneClassSVM", "calibrate"]
