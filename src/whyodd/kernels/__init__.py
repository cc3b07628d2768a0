"""Radial kernels, the mathematics at the bottom of the package."""

from whyodd.kernels.base import Kernel
from whyodd.kernels.exponential import Exponential
from whyodd.kernels.rational_quadratic import RationalQuadratic
from whyodd.kernels.student import Student

KERNELS: dict[str, type[Kernel]] = {
    "exponential": Exponential,
    "rational_quadratic": RationalQuadratic,
    "student": Student,
}

# Names that fix parameters of a family.
SPECIAL_KERNELS: dict[str, tuple[str, dict[str, float]]] = {
    "cauchy": ("student", {"q": 2.0}),
    "gaussian": ("exponential", {"q": 2.0}),
    "laplacian": ("exponential", {"q": 1.0}),
}

__all__ = ["KERNELS", "SPECIAL_KERNELS", "Exponential", "Kernel", "RationalQuadratic", "Student"]
