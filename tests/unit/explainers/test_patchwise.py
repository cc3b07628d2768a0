"""Methods on models of patches: window by window and folded back, or on the item as a whole."""

import json

import numpy as np
import pytest

import whyodd
from reference import baselines, patched
from whyodd.patches.grid import BORDERS

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(2, 6, 7))
ODD = RNG.normal(size=(6, 7))
ODD[2:4, 3:5] += 4.0
COLOUR = RNG.normal(size=(2, 5, 6, 2))
SERIES = RNG.normal(size=(40, 2))
STEP = 1e-5
SLOW = ["coin", "micenkova", "shap"]
QUICK = ["integrated_gradients", "mean", "mvn", "nearest", "occlusion", "random", "sensitivity", "taylor"]


def fitted(items=IMAGES, model=None, **keywords):
    keywords = {"patch": (3, 2), "random_state": 0, "tolerance": 0.0, **keywords}
    return whyodd.PatchModel(model or whyodd.KernelDensity(sigma=1.0), **keywords).fit(items)


def slopes(model, item, **keywords):
    """Central differences of O in every pixel and channel."""
    result = np.zeros(item.shape)
    for place in np.ndindex(*item.shape):
        up, down = item.copy(), item.copy()
        up[place] += STEP
        down[place] -= STEP
        o = [float(model.outlierness(part, **keywords)[0]) for part in (up, down)]
        result[place] = (o[0] - o[1]) / (2 * STEP)
    return result


def assert_is_sensitivity(model, item):
    e = whyodd.explain(model, item, method="sensitivity")
    expected = slopes(model, item) ** 2
    found = e.relevance[0].reshape(item.shape)
    np.testing.assert_allclose(found, expected, atol=1e-5 * expected.max())
    assert np.isnan(e.unexplained).all()
    np.testing.assert_allclose(e.outlierness, model.outlierness(item))


def windows_of(model, item):
    """For each window of each scale, the place of each of its values in the item (or None), and its patch."""
    for scale in model.scales_:
        view = scale.view
        for window in patched.windows(item.shape[:-1], view.patch, view.stride, view.border):
            yield scale, window, patched.contents(item, window)


class TestSensitivity:
    """The square of the slope of O: not the sum of the squares of its windows."""

    @pytest.mark.parametrize("border", BORDERS)
    def test_of_every_border(self, border):
        assert_is_sensitivity(fitted(border=border), ODD)

    def test_of_several_patches_and_scales(self):
        assert_is_sensitivity(fitted(patch=[(3, 2), (2, 2)], scale=[1, 2], border="reflect"), ODD)

    def test_with_strides_and_another_kernel(self):
        model = whyodd.OneClassSVM(nu=0.5, sigma=1.5, q=1.0, kernel="exponential")
        assert_is_sensitivity(fitted(model=model, stride=2), ODD)

    def test_of_channels(self):
        assert_is_sensitivity(fitted(COLOUR), COLOUR[0] + 1.0)

    def test_of_a_series(self):
        assert_is_sensitivity(fitted(SERIES, patch=(4,)), SERIES[:15] * 2.0)

    def test_of_neighbours(self):
        assert_is_sensitivity(fitted(model=whyodd.KNearestNeighbors(3)), ODD)

    def test_a_training_image_without_its_own_patches(self):
        model = fitted()
        e = whyodd.explain(model, IMAGES[0], method="sensitivity")
        total = np.zeros((6, 7))
        scale = model.scales_[0]
        for number, (_, window, patch) in enumerate(windows_of(model, IMAGES[0][..., None])):
            slope = baselines.gradient(scale.network, patch, patched.own_center(scale, 0, number))
            for pixel, value in zip(window, slope, strict=True):
                total[pixel] += value
        np.testing.assert_allclose(e.relevance[0], total**2, atol=1e-5 * (total**2).max())


@pytest.mark.parametrize("border", ["valid", "edge", "zero"])
def test_nearest_is_as_in_plain_loops(border):
    model = fitted(COLOUR, border=border)
    item = COLOUR[0] + 1.0
    e = whyodd.explain(model, item, method="nearest")
    expected = np.zeros(item.shape)
    for scale, window, patch in windows_of(model, item):
        parts = iter(baselines.nearest(scale.network, patch))
        for pixel in window:
            for channel in range(2):
                part = next(parts)
                if pixel is not None:
                    expected[(*pixel, channel)] += scale.weight * part
    np.testing.assert_allclose(e.relevance[0], expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["integrated_gradients", "taylor"])
@pytest.mark.parametrize("border", ["reflect", "zero"])
def test_additive_methods_conserve_the_outlierness(method, border):
    e = whyodd.explain(fitted(border=border), ODD, method=method)
    assert e.is_additive
    np.testing.assert_allclose(e.relevance[0].sum() + e.unexplained[0], e.outlierness[0], rtol=1e-9)


class TestItemAsAWhole:
    def test_sobel_is_that_of_the_image(self):
        model = fitted(COLOUR, patch=[(3, 2), (2, 2)])
        item = COLOUR[1] * 2.0
        e = whyodd.explain(model, item, method="sobel")
        plain = whyodd.patches.sobel(item)
        np.testing.assert_allclose(e.relevance[0], np.repeat(plain[..., None] / 2, 2, axis=2), rtol=1e-12)
        np.testing.assert_allclose(e.outlierness, model.outlierness(item))

    def test_random_is_drawn_once_for_each_item(self):
        model = fitted(patch=[(3, 2), (2, 2)])
        es = [whyodd.explain(model, [ODD, ODD], method="random", random_state=seed) for seed in (0, 0, 1)]
        np.testing.assert_array_equal(es[0].relevance[0], es[1].relevance[0])
        assert np.all(es[0].relevance[0] != es[2].relevance[0])
        assert np.all(es[0].relevance[0] != es[0].relevance[1])
        assert np.concatenate([r.ravel() for r in es[0].relevance]).max() < 1.0

    def test_series_have_no_edges(self):
        model = fitted(SERIES, patch=(4,))
        with pytest.raises(ValueError, match="method='sobel' expected an image, got a series"):
            whyodd.explain(model, SERIES[:15], method="sobel")


@pytest.mark.parametrize("method", QUICK)
def test_gaps_in_a_series_have_no_relevance(method):
    model = fitted(SERIES, patch=(4,))
    item = SERIES[:20] * 2.0
    item[9] = np.nan
    e = whyodd.explain(model, item, method=method, random_state=0)
    assert np.isfinite(e.relevance[0]).all()
    np.testing.assert_array_equal(e.relevance[0][9], 0.0)
    assert np.abs(e.relevance[0][:9]).sum() > 0.0
    assert np.abs(e.relevance[0][10:]).sum() > 0.0


@pytest.mark.filterwarnings("ignore")  # of shap, when it is imported
@pytest.mark.parametrize("method", [*QUICK, *SLOW, "sobel"])
def test_every_method_explains_images(method):
    model = fitted()
    options = {"algorithm": "kernel", "background": 5} if method == "shap" else {}
    small = ODD[1:5, 2:6]
    es = [whyodd.explain(model, small, method=method, options=options, random_state=seed) for seed in (0, 0)]
    assert es[0].method == method
    assert es[0].relevance[0].shape == (4, 4)
    assert np.isfinite(es[0].relevance[0]).all()
    np.testing.assert_array_equal(es[0].relevance[0], es[1].relevance[0])
    np.testing.assert_allclose(es[0].outlierness, model.outlierness(small))
    json.dumps(es[0].to_dict(), allow_nan=False)
    assert f"by {method}" in repr(es[0])
    assert "nan" not in es[0].why(0)
    assert es[0][0].method == method


def test_progress_counts_all_windows(capsys):
    whyodd.explain(fitted(), ODD, method="occlusion", progress=True)
    assert "all 24 done" in capsys.readouterr().err  # 4 × 6


class TestErrors:
    @pytest.mark.parametrize(
        "keywords", [{"groups": {"a": ["x0"]}}, {"dtype": np.float32}, {"options": {"normal": IMAGES}}]
    )
    def test_what_is_for_tables(self, keywords):
        with pytest.raises(ValueError, match=r"does not work with a PatchModel\. Leave it out"):
            whyodd.explain(fitted(), ODD, method="nearest", **keywords)

    def test_unknown_option(self):
        with pytest.raises(ValueError, match="method='sensitivity' has no option 'steps'"):
            whyodd.explain(fitted(), ODD, method="sensitivity", options={"steps": 3})

    def test_no_training_item(self):
        with pytest.raises(ValueError, match="exclude_self=True, but an item is not among those"):
            whyodd.explain(fitted(), ODD, method="nearest", exclude_self=True)
