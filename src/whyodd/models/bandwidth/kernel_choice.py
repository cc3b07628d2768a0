"""Kernels by name: a constructor's argument, turned into a kernel object."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from whyodd.kernels import KERNELS, SPECIAL_KERNELS, Kernel
from whyodd.models.bandwidth.likelihood import likelihood_bandwidth
from whyodd.models.bandwidth.rules import BANDWIDTHS, bandwidth

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.compute.points import Points
    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.models.fitting.merging import MergedRows


def choose_kernel(kernel: str | Kernel, *, q: float | None, a: float, sigma: Callable[[], float]) -> Kernel:
    """Kernel by name, with its bandwidth computed only if needed; a kernel object as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in {**KERNELS, **SPECIAL_KERNELS}:
        names = ", ".join(map(repr, sorted({**KERNELS, **SPECIAL_KERNELS})))
        raise ValueError(f"kernel={kernel!r}: expected one of {names}, or an object of whyodd.kernels.")
    name, fixed = SPECIAL_KERNELS.get(kernel, (kernel, {}))
    family: Any = KERNELS[name]
    parameters = {field.name for field in fields(family)}
    if q is not None and q != fixed.get("q", q if "q" in parameters else family.q):
        other = f" Use kernel={name!r} for it." if name != kernel else ""
        raise ValueError(f"kernel={kernel!r} has q={fixed.get('q', family.q):g}, got q={q!r}.{other}")
    given = {"q": 2.0 if q is None else q, "a": a, **fixed}
    made: Kernel = family(sigma=sigma(), **{key: value for key, value in given.items() if key in parameters})
    return made


def density_kernel(
    kernel: str | Kernel, sigma: SigmaRule, merged: MergedRows, *, q: float | None, a: float
) -> Kernel:
    """Kernel of a density estimate for the distinct rows: adds the rule "likelihood" for its bandwidth."""

    def kernel_of(value: float) -> Kernel:
        return choose_kernel(kernel, q=q, a=a, sigma=lambda: value)

    def by_likelihood(_: Points) -> float:
        return likelihood_bandwidth(merged, kernel_of)

    rules = {"likelihood": by_likelihood, **BANDWIDTHS}
    return choose_kernel(kernel, q=q, a=a, sigma=lambda: bandwidth(sigma, merged.rows, rules=rules))
