"""Kernel of a density estimate: as for every model, with the likelihood as one more bandwidth rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyodd.models.bandwidth.kernel_choice import choose_kernel
from whyodd.models.bandwidth.likelihood import likelihood_bandwidth
from whyodd.models.bandwidth.rules import BANDWIDTHS, bandwidth

if TYPE_CHECKING:
    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel
    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.models.fitting.merging import MergedRows


def density_kernel(
    kernel: str | Kernel, sigma: SigmaRule, merged: MergedRows, *, q: float | None, a: float
) -> Kernel:
    """Kernel of a name and a rule for its bandwidth, "likelihood" among them, for the distinct rows."""

    def kernel_of(value: float) -> Kernel:
        return choose_kernel(kernel, q=q, a=a, sigma=lambda: value)

    def by_likelihood(_: Points) -> float:
        return likelihood_bandwidth(merged, kernel_of)

    rules = {"likelihood": by_likelihood, **BANDWIDTHS}
    return choose_kernel(kernel, q=q, a=a, sigma=lambda: bandwidth(sigma, merged.rows, rules=rules))
