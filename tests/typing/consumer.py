"""A program that uses whyodd, checked by mypy and pyright as people would check theirs: it is never run."""

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import whyodd


def consume() -> None:
    """All calls and their types."""
    rows = np.zeros((10, 3))

    found = whyodd.find(rows, share=0.05)
    assert_type(found, whyodd.Findings)
    assert_type(found.headline, str)
    assert_type(found.why(0), str)

    detector = whyodd.OneClassSVM(nu=0.1).fit(rows)
    assert_type(detector, whyodd.OneClassSVM)
    assert_type(whyodd.calibrate(detector, rows).p_values(rows), NDArray[np.float64])

    network = whyodd.DistanceNetwork(rows, kernel=whyodd.kernels.Exponential(q=2.0, sigma=1.0))
    assert_type(network.n_features, int)

    # explain returns Any, since the kind of explanation depends on the model: people name the expected one.
    e: whyodd.Explanation = whyodd.explain(detector, rows)
    assert_type(e.why(0, k=2), str)
    assert_type(e.top(5), whyodd.Explanation)

    compared = whyodd.compare(rows, rows)
    assert_type(compared, whyodd.Comparison)
    assert_type(compared.changes, tuple[whyodd.Change, ...])

    whyodd.save(detector, "model.whyodd")
    assert_type(whyodd.__version__, str)

    # What a type checker must refuse: an error that is no longer there makes the comment itself an error.
    whyodd.find(rows, shares=0.05)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    whyodd.OneClassSVM(nu="a tenth")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    found.head_line  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
