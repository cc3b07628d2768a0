"""Radial kernels, the mathematics at the bottom of the package."""

from whyodd.kernels.base import Kernel
from whyodd.kernels.exponential import Exponential
from whyodd.kernels.student import Student

KERNELS: dict[str, type[Kernel]] = {
    "exponential": Exponential,
    "student": Student,
}

__all__ = ["KERNELS", "Exponential", "Kernel", "Student"]
