"""Kernels by name: what people write in a constructor, made into a kernel object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyodd.kernels import Exponential, Kernel, Student

if TYPE_CHECKING:
    from collections.abc import Callable

# Name -> the degree it fixes (None: free, 2 by default) and the kernel of q, a and sigma.
KERNEL_NAMES: dict[str, tuple[float | None, Callable[[float, float, float], Kernel]]] = {
    "cauchy": (2.0, lambda q, a, sigma: Student(q=q, a=a, sigma=sigma)),
    "exponential": (None, lambda q, a, sigma: Exponential(q=q, sigma=sigma)),  # noqa: ARG005 - a is Student's
    "gaussian": (2.0, lambda q, a, sigma: Exponential(q=q, sigma=sigma)),  # noqa: ARG005
    "laplacian": (1.0, lambda q, a, sigma: Exponential(q=q, sigma=sigma)),  # noqa: ARG005
    "student": (None, lambda q, a, sigma: Student(q=q, a=a, sigma=sigma)),
}


def choose_kernel(kernel: str | Kernel, *, q: float | None, a: float, sigma: Callable[[], float]) -> Kernel:
    """Kernel of a name, with its bandwidth worked out only if it is needed; a kernel object as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in KERNEL_NAMES:
        names = ", ".join(map(repr, KERNEL_NAMES))
        raise ValueError(f"kernel={kernel!r}: expected one of {names}, or an object of whyodd.kernels.")
    fixed, make = KERNEL_NAMES[kernel]
    if fixed is not None and q is not None and q != fixed:
        family = "student" if kernel == "cauchy" else "exponential"
        raise ValueError(
            f"kernel={kernel!r} has q={fixed:g}, but q={q!r} came. Use kernel={family!r} for it."
        )
    degree = fixed if fixed is not None else (2.0 if q is None else q)
    return make(degree, a, sigma())
