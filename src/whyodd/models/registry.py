"""Outlier detectors that own a distance network."""

from whyodd.models.base import DistanceDetector
from whyodd.models.calibration import Calibration, calibrate
from whyodd.models.committee import Committee
from whyodd.models.density import DensityDetector
from whyodd.models.exemplar_mixture import ExemplarMixture
from whyodd.models.gaussian import Gaussian
from whyodd.models.gaussian_mixture import GaussianMixture
from whyodd.models.kernel_density import KernelDensity
from whyodd.models.kernel_pca import KernelPCA
from whyodd.models.local_outlier_factor import LocalOutlierFactor
from whyodd.models.nearest_neighbors import KNearestNeighbors
from whyodd.models.one_class_svm import SVDD, OneClassSVM

MODELS: dict[str, type[DistanceDetector]] = {
    "committee": Committee,
    "exemplar_mixture": ExemplarMixture,
    "gaussian": Gaussian,
    "gaussian_mixture": GaussianMixture,
    "k_nearest_neighbors": KNearestNeighbors,
    "kernel_density": KernelDensity,
    "kernel_pca": KernelPCA,
    "local_outlier_factor": LocalOutlierFactor,
    "one_class_svm": OneClassSVM,
    "svdd": SVDD,
}

__all__ = [
    "MODELS",
    "SVDD",
    "Calibration",
    "Committee",
    "DensityDetector",
    "DistanceDetector",
    "ExemplarMixture",
    "Gaussian",
    "GaussianMixture",
    "KNearestNeighbors",
    "KernelDensity",
    "KernelPCA",
    "LocalOutlierFactor",
    "OneClassSVM",
    "calibrate",
]
