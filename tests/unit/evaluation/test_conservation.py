"""What explanations conserve, and what they leave unexplained."""

from dataclasses import replace

import numpy as np
import pytest

import whyodd
from whyodd.evaluation.conservation import conservation_gap, unexplained_share

RNG = np.random.default_rng(0)
MODEL = whyodd.OneClassSVM(sigma="median").fit(RNG.normal(size=(60, 4)))
ROWS = RNG.normal(size=(10, 4)) * 3


def test_deep_taylor_conserves_the_outlierness():
    e = whyodd.explain(MODEL, ROWS)
    # Sums of float64: the unexplained part is summed on its own.
    np.testing.assert_allclose(conservation_gap(e), 0.0, atol=1e-9)
    np.testing.assert_allclose(unexplained_share(e), e.unexplained / e.outlierness, rtol=1e-12)


def test_a_gap_is_relative_to_the_outlierness():
    e = whyodd.explain(MODEL, ROWS)
    lost = replace(e, unexplained=e.unexplained + 0.25 * e.outlierness)
    np.testing.assert_allclose(conservation_gap(lost), 0.25, rtol=1e-9)


def test_methods_in_other_units_have_none():
    e = whyodd.explain(MODEL, ROWS, method="sensitivity")
    assert np.isnan(conservation_gap(e)).all()
    assert np.isnan(unexplained_share(e)).all()


def test_where_nothing_is_odd_nothing_is_lost():
    network = whyodd.DistanceNetwork(np.zeros((1, 2)))
    e = whyodd.explain(network, np.zeros((1, 2)), exclude_self=False)
    assert e.outlierness[0] == conservation_gap(e)[0] == unexplained_share(e)[0] == 0.0
    assert conservation_gap(replace(e, unexplained=np.ones(1)))[0] == np.inf


def test_images_conserve_over_all_their_pixels():
    images = list(RNG.random((3, 12, 12)))
    model = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(3, 3), random_state=0).fit(images[:2])
    e = whyodd.explain(model, images[2:])
    # What the tolerance of a PatchModel leaves out is within 1e-6 of it.
    assert conservation_gap(e) == pytest.approx([0.0], abs=1e-5)
    assert 0.0 < unexplained_share(e)[0] < 1.0
