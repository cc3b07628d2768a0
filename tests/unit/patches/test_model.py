"""PatchModel: as plain loops for every border, stride, scale and model, and what it says when it cannot."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDOneClassSVM
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from reference import patched
from whyodd.models.registry import MODELS
from whyodd.patches.grid import BORDERS, Grid
from whyodd.patches.training import _draw

WITHIN = {np.float32: 1e-4, np.float64: 1e-9}
PATCH = {"image": (3, 2), "series": (4,)}
# Every model of the registry, and every pooling it knows.
KINDS = {
    "one_class_svm": [
        whyodd.OneClassSVM(nu=0.5, sigma=1.0, q=1.0, kernel="exponential"),
        whyodd.OneClassSVM(nu=0.5, sigma=1.0),
        whyodd.OneClassSVM(nu=0.5, sigma=1.5, q=4.0, kernel="exponential"),
        whyodd.OneClassSVM(nu=0.5, sigma=1.0, kernel="student", q=2.0),
    ],
    "svdd": [whyodd.SVDD(nu=0.5, sigma=1.0)],
    "kernel_density": [whyodd.KernelDensity(sigma=0.7), whyodd.KernelDensity("laplacian", sigma=0.4)],
    "exemplar_mixture": [whyodd.ExemplarMixture(sigma=1.0)],
    "k_nearest_neighbors": [
        whyodd.KNearestNeighbors(3, measure) for measure in ("mean", "kth", "median", "mean_vector")
    ],
    "local_outlier_factor": [whyodd.LocalOutlierFactor(4)],
    "committee": [whyodd.Committee(), whyodd.Committee(trusted=True)],
    "gaussian": [whyodd.Gaussian("diagonal"), whyodd.Gaussian(regularization=0.1)],
    "gaussian_mixture": [whyodd.GaussianMixture(2, reg_covar=0.1, random_state=0)],
}
EVERY_MODEL = [pytest.param(m, id=f"{k}-{i}") for k in KINDS for i, m in enumerate(KINDS[k])]


def images(channels=1, dtype=np.float64, seed=0, sizes=((7, 9), (8, 6))):
    """Images of different sizes, as the lists that people pass."""
    rng = np.random.default_rng(seed)
    shapes = [size if channels == 1 else (*size, channels) for size in sizes]
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def series(channels=1, dtype=np.float64, seed=0, lengths=(13, 17)):
    return images(channels, dtype, seed, [(length,) for length in lengths])


def items_of(kind, channels=1, dtype=np.float64, seed=0):
    return (images if kind == "image" else series)(channels, dtype, seed)


def density(**keywords):
    return whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), **{"random_state": 0, **keywords})


def assert_like_the_loops(model, items, e, within, twins=(None, None)):
    for i, item in enumerate(items):
        values = model.prepared(e.items[i])
        expected = patched.explain(values, model.scales_, twins[i])
        largest = np.abs(expected.relevance).max()
        assert e.relevance[i].shape == item.shape
        np.testing.assert_allclose(
            e.relevance[i], expected.relevance.reshape(item.shape), rtol=0, atol=within * largest
        )
        for name in ("outlierness", "unexplained"):
            off = getattr(e, name)[i] - getattr(expected, name)
            assert abs(off) <= within * expected.outlierness
        found = np.concatenate([scores.ravel() for scores in e.score_maps[i]])
        np.testing.assert_allclose(found, expected.scores, rtol=within, atol=within)


@pytest.mark.parametrize("kind", ["image", "series"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("scale", [1, 2])
def test_every_border_stride_and_scale_is_as_the_plain_loops(kind, channels, border, stride, scale):
    model = density(
        patch=PATCH[kind], stride=stride, border=border, scale=scale, max_patches=12, tolerance=0.0
    )
    model.fit(items_of(kind, channels))
    new = items_of(kind, channels, seed=1)
    assert_like_the_loops(model, new, model.explain(new), 1e-9)


@pytest.mark.parametrize("kind", ["image", "series"])
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("scale", [1, 2])
def test_single_precision_is_as_the_plain_loops(kind, border, scale):
    model = density(patch=PATCH[kind], border=border, scale=scale, stride=2, max_patches=12, tolerance=0.0)
    model.fit(items_of(kind, 2, np.float32))
    new = items_of(kind, 2, np.float32, seed=1)
    e = model.explain(new)
    assert_like_the_loops(model, new, e, 1e-4)
    assert e.relevance[0].dtype == np.float64  # many windows are added up


@pytest.mark.parametrize("kind", ["image", "series"])
@pytest.mark.parametrize("border", ["valid", "zero"])
def test_training_items_without_their_own_patches_are_as_the_plain_loops(kind, border):
    items = items_of(kind)
    model = density(patch=PATCH[kind], border=border, max_patches=30, tolerance=0.0).fit(items)
    e = model.explain([items[1], items[0]])
    assert e.twins == (1, 0)
    assert_like_the_loops(model, [items[1], items[0]], e, 1e-9, twins=(1, 0))


@pytest.mark.parametrize("kind", ["image", "series"])
def test_several_scales_are_as_the_plain_loops(kind):
    patches = [PATCH[kind], tuple(width + 1 for width in PATCH[kind])]
    model = density(patch=patches, scale=[1, 2], border="edge", max_patches=12, tolerance=0.0)
    model.fit(items_of(kind))
    new = items_of(kind, seed=1)
    e = model.explain(new)
    assert_like_the_loops(model, new, e, 1e-9)
    assert len(e.score_maps[0]) == 2
    # Weighted so that a pixel is as odd at one scale as at the other, in training.
    levels = [s.weight * s.usual / s.view.size ** len(s.view.patch) for s in model.scales_]
    assert levels[0] == pytest.approx(levels[1])
    assert model.scales_[0].weight == 1.0


@pytest.mark.parametrize("channels", [1, 2])
def test_windows_with_gaps_are_left_out(channels):
    train, test = series(channels), series(channels, seed=1)
    train[0][5] = np.nan
    test[0][3] = test[1][[0, 9]] = np.nan
    model = density(patch=(3,), tolerance=0.0).fit(train)
    e = model.explain(test)
    assert_like_the_loops(model, test, e, 1e-9)
    assert np.isnan(e.score_maps[0][0]).tolist() == [t in (1, 2, 3) for t in range(11)]
    assert (e.relevance[0][3] == 0.0).all()


@pytest.mark.parametrize("model", EVERY_MODEL)
@pytest.mark.parametrize("border", ["reflect", "zero"])
def test_every_model_is_as_the_plain_loops_and_conserves(model, border):
    items = images(sizes=[(7, 6), (6, 7)])
    patches = whyodd.PatchModel(
        model, patch=(2, 2), border=border, max_patches=25, random_state=0, tolerance=0.0
    )
    patches.fit(items)
    new = [*images(seed=1, sizes=[(4, 5)]), items[0]]
    e = patches.explain(new)
    assert_like_the_loops(patches, new, e, 1e-9, twins=e.twins)
    for tolerance in (0.0, 1e-6, 0.1):
        told = patches.set_params(tolerance=tolerance).explain(new)
        total = np.array([r.sum() for r in told.relevance]) + told.unexplained
        np.testing.assert_allclose(total, told.outlierness, rtol=1e-9)
        assert (told.discarded <= tolerance).all()
    np.testing.assert_allclose(patches.outlierness(new), e.outlierness, rtol=1e-9)


def test_every_model_of_the_registry_was_tried():
    assert set(KINDS) == set(MODELS) - {"kernel_pca"}
    with pytest.raises(
        whyodd.UnsupportedModelError, match="KernelPCA does not compare patches with normal ones"
    ):
        whyodd.PatchModel(whyodd.KernelPCA(4), patch=(2, 2)).fit(images())
    assert all(type(model) is MODELS[name] for name in KINDS for model in KINDS[name])


def test_models_of_other_packages_know_their_own_patches():
    items = images()
    model = whyodd.PatchModel(svm.OneClassSVM(gamma=0.1, nu=0.5), patch=(2, 2), tolerance=0.0).fit(items)
    e = model.explain(items)
    assert e.twins == (0, 1)
    assert_like_the_loops(model, items, e, 1e-9, twins=(0, 1))


def test_what_people_pass_as_images_is_the_same():
    batch = np.random.default_rng(0).integers(0, 256, size=(3, 8, 9)).astype(np.uint8)
    model = density(patch=(3, 3), max_patches=20).fit(batch)
    expected = model.outlierness(list(batch))
    np.testing.assert_array_equal(model.outlierness(batch), expected)
    np.testing.assert_array_equal(model.outlierness(batch[..., None]), expected)
    np.testing.assert_array_equal(model.outlierness(batch[1]), expected[1:2])
    np.testing.assert_allclose(model.outlierness(batch.astype(float)), expected, rtol=1e-5)


def test_a_training_patch_is_left_out_once_and_its_copies_stay():
    image = np.random.default_rng(0).normal(size=(6, 6))
    image[:, 3:] = image[:, :3]  # every patch of the left half is there again
    model = density(patch=(3, 3), tolerance=0.0).fit(image)
    own = model.scales_[0].own_centers(0, 16)
    assert sorted(own) == list(range(16))
    grid = Grid((6, 6), (3, 3))
    windows = grid.extract(image[..., None], np.arange(16))
    np.testing.assert_array_equal(model.scales_[0].network.centers[own], windows)
    alone = model.score_map(image)
    for t in range(16):
        others = np.delete(windows, t, axis=0)
        expected = whyodd.KernelDensity(sigma=1.0).fit(others).outlierness(windows[t : t + 1])[0]
        assert alone.ravel()[t] == pytest.approx(expected, rel=1e-9)
    # The left column's copies are still there, so that it costs little; with itself it costs less.
    assert (model.score_map(image, exclude_self=False) < alone).all()
    assert alone.ravel()[0] == pytest.approx(np.log(15.0), abs=0.2)


def test_own_patches_are_left_out_only_of_the_item_itself():
    items = images()
    model = density(patch=(3, 3)).fit(items)
    assert model.explain([items[0], items[0] + 1e-9]).twins == (0, None)
    assert model.explain(items, exclude_self=False).twins == (None, None)
    assert model.explain(items, exclude_self=True).twins == (0, 1)
    with_itself = model.outlierness(items, exclude_self=False)
    assert (with_itself < model.outlierness(items)).all()


def test_models_without_training_rows_have_nothing_to_leave_out():
    items = images()
    model = whyodd.PatchModel(whyodd.Gaussian("diagonal"), patch=(2, 2)).fit(items)
    np.testing.assert_array_equal(model.outlierness(items), model.outlierness(items, exclude_self=False))


def test_patches_are_drawn_without_repetition_and_by_the_seed():
    items = images()
    count = sum(len(Grid(item.shape, (3, 3))) for item in items)
    for most in (2, 10, count - 1, count, count + 5):
        scale = density(patch=(3, 3), max_patches=most).fit(items).scales_[0]
        pairs = set(zip(scale.items.tolist(), scale.windows.tolist(), strict=True))
        assert len(pairs) == len(scale.items) == min(most, count)
        for i, t, center in zip(scale.items, scale.windows, scale.network.centers, strict=True):
            window = Grid(items[i].shape, (3, 3)).extract(items[i][..., None], np.array([t]))
            np.testing.assert_array_equal(center, window[0])
    first, second = (density(patch=(3, 3), max_patches=9, random_state=s).fit(items) for s in (1, 2))
    assert not np.array_equal(first.scales_[0].windows, second.scales_[0].windows)


def test_every_patch_is_drawn_as_often_as_any_other():
    counts = np.zeros(16)
    image = np.random.default_rng(0).normal(size=(6, 6))
    random = np.random.RandomState(0)
    for _ in range(150):
        scale = density(patch=(3, 3), max_patches=4, random_state=random).fit(image).scales_[0]
        counts[scale.windows] += 1
    assert counts.sum() == 600
    assert counts.std() < 2.0 * np.sqrt(150 * 0.25 * 0.75)
    assert counts.min() > 15


def test_a_large_image_is_trained_on_in_little_memory():
    image = np.random.default_rng(0).random((3000, 3000), dtype=np.float32)
    density(max_patches=20).fit(image[:20, :20])  # what is made once
    tracemalloc.start()
    try:
        density(max_patches=500).fit(image)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Some copies in double precision, for its fingerprint; all patches would be 49 of them.
    assert peak < 4 * 8 * image.size


def test_windows_are_drawn_in_little_memory_however_many_there_are():
    tracemalloc.start()
    try:
        drawn = _draw(10**10, 1000, np.random.RandomState(0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20
    assert len(np.unique(drawn)) == 1000
    assert 0 <= drawn.min() < drawn.max() < 10**10


def test_the_same_seed_gives_the_same_bytes():
    items = images(2, np.float32, sizes=[(16, 18)])
    one, two = (
        whyodd.PatchModel(whyodd.OneClassSVM(sigma=2.0), patch=(3, 3), max_patches=100, random_state=7)
        .fit(items)
        .explain(items, n_jobs=1)
        for _ in range(2)
    )
    assert one.relevance[0].tobytes() == two.relevance[0].tobytes()
    assert one.outlierness.tobytes() == two.outlierness.tobytes()


def test_threads_change_nothing():
    image = np.random.default_rng(0).normal(size=(50, 52))
    model = density(patch=(3, 3), max_patches=600).fit(image)  # enough pairs to be worth a thread
    one, two = (model.explain(image + 0.5, n_jobs=n) for n in (1, 2))
    np.testing.assert_allclose(one.relevance[0], two.relevance[0], rtol=1e-12)
    again = model.explain(image + 0.5, n_jobs=2)
    assert again.relevance[0].tobytes() == two.relevance[0].tobytes()


def test_pickled_and_cloned():
    items = images(3)
    model = density(patch=[(3, 3), (2, 2)], standardize=True).fit(items)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.outlierness(items), model.outlierness(items))
    fresh = clone(model)
    assert not hasattr(fresh, "scales_")
    assert fresh.get_params()["patch"] == [(3, 3), (2, 2)]
    np.testing.assert_array_equal(fresh.fit(items).outlierness(items), model.outlierness(items))
    fresh.set_params(model__sigma=2.0, stride=2)
    assert fresh.model.sigma == 2.0
    assert fresh.fit(items).scales_[0].view.stride == 2
    assert clone(Pipeline([("patches", model)])).named_steps["patches"].get_params()["stride"] == 1


def test_neuralize_says_whom_to_ask():
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3, 3)).fit(images())
    with pytest.raises(whyodd.UnsupportedModelError, match=r"PatchModel .* call model\.explain\("):
        whyodd.neuralize(model)


def test_explain_is_the_models_own():
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3, 3)).fit(images())
    ours, own = whyodd.explain(model, images()), model.explain(images())
    for relevance, same in zip(ours.relevance, own.relevance, strict=True):
        np.testing.assert_array_equal(relevance, same)
    np.testing.assert_array_equal(ours.unexplained, own.unexplained)
    assert ours.twins == own.twins


def test_a_pipeline_is_told_what_to_do_instead():
    pipeline = Pipeline([("scaler", StandardScaler()), ("model", whyodd.KernelDensity())])
    with pytest.raises(whyodd.UnsupportedModelError, match=r"not a pipeline.*standardize=True.*prepare="):
        whyodd.PatchModel(pipeline, patch=(3, 3)).fit(images())


@pytest.mark.parametrize("model", ["svm", None, whyodd.KernelDensity])
def test_what_is_no_detector_is_told(model):
    with pytest.raises(
        TypeError, match=r"expected an outlier detector to fit, such as whyodd\.OneClassSVM\(\)"
    ):
        whyodd.PatchModel(model, patch=(3, 3)).fit(images())


def test_the_model_given_stays_unfitted():
    inner = whyodd.KernelDensity(sigma=1.0)
    whyodd.PatchModel(inner, patch=(3, 3)).fit(images())
    assert not hasattr(inner, "network_")


@pytest.mark.parametrize("broken", [KeyboardInterrupt, ValueError])
def test_an_interrupted_fit_leaves_nothing_fitted(broken):
    def stop(_):
        raise broken("stopped")

    model = density(patch=(3, 3)).fit(images())
    model.set_params(prepare=stop)
    with pytest.raises(broken):
        model.fit(images(3))
    with pytest.raises(NotFittedError):
        model.outlierness(images())
    model.set_params(prepare=None).fit(images(3))
    assert model.channels_ == ("red", "green", "blue")
    assert model.explain(images(3, seed=1)).relevance[0].shape == (7, 9, 3)


def test_standardize_divides_by_the_deviation_of_each_channel():
    items = images(3)
    wild = [item * np.array([1.0, 1e3, 1e-3]) for item in items]
    for item in wild:
        item[..., 2] = 5.0  # does not vary
    model = density(patch=(3, 3), standardize=True, tolerance=0.0).fit(wild)
    spread = np.concatenate([item.reshape(-1, 3) for item in wild]).std(axis=0)
    units = np.where(spread > 1e-12, spread, 1.0)
    expected = density(patch=(3, 3), tolerance=0.0).fit([item / units for item in wild])
    new = images(3, seed=1)
    got = model.explain([item * units for item in new])
    np.testing.assert_allclose(got.relevance[0], expected.explain(new).relevance[0], rtol=1e-9)


def test_prepare_is_applied_to_every_item_with_its_channels():
    seen = []

    def doubled(values):
        seen.append(values.shape)
        return 2.0 * values

    items = images()
    model = density(patch=(3, 3), prepare=doubled, tolerance=0.0).fit(items)
    assert seen[0] == (7, 9, 1)
    expected = density(patch=(3, 3), tolerance=0.0).fit([2.0 * item for item in items])
    e, f = model.explain(items), expected.explain([2.0 * item for item in items])
    np.testing.assert_array_equal(e.relevance[0], f.relevance[0])


def test_prepared_whole_numbers_are_not_cut_off_by_means_of_blocks():
    items = [np.rint(5 * item) for item in images()]
    plain = density(patch=(2, 2), scale=2).fit(items)
    whole = density(patch=(2, 2), scale=2, prepare=lambda values: values.astype(int)).fit(items)
    np.testing.assert_allclose(whole.outlierness(items), plain.outlierness(items), rtol=1e-9)


def test_score_map_sums_to_the_outlierness():
    items = images(seed=1)
    model = density(patch=(3, 3), stride=2, border="zero").fit(images())
    maps = [model.score_map(item) for item in items]
    assert [scores.shape for scores in maps] == [Grid(i.shape, (3, 3), 2, "zero").counts for i in items]
    np.testing.assert_allclose([scores.sum() for scores in maps], model.outlierness(items), rtol=1e-12)
    several = density(patch=(3, 3), scale=[1, 2]).fit(images())
    parts = several.score_map(items[0])
    assert isinstance(parts, list)
    assert sum(part.sum() for part in parts) == pytest.approx(several.outlierness(items[0])[0])


# What it says when it cannot

WRONG = [
    ({"patch": 7}, r"patch=7: expected a tuple of whole numbers, \(h, w\) for images or \(w,\) for series"),
    ({"patch": [7, 7]}, "patch=7: expected a tuple"),
    ({"patch": "77"}, "patch='77': expected a tuple"),
    ({"patch": (3, 3, 3)}, r"patch=\(3, 3, 3\): expected a tuple"),
    ({"patch": ()}, r"patch=\(\): expected a tuple"),
    ({"patch": (3, 0)}, r"patch=\(3, 0\)"),
    ({"patch": (3.0, 3)}, r"patch=\(3.0, 3\)"),
    ({"patch": (True, 3)}, r"patch=\(True, 3\)"),
    ({"patch": []}, "patch is an empty list: expected at least one"),
    (
        {"patch": [(3, 3), (3,)]},
        r"Expected patches all for images or all for series, got \(3,\) with \(3, 3\)",
    ),
    ({"scale": []}, "scale is an empty list: expected at least one"),
    ({"scale": 0}, "scale=0: expected a whole number of pixels of at least 1"),
    ({"scale": 1.5}, "scale=1.5: expected"),
    ({"scale": [1, True]}, "scale=True: expected"),
    (
        {"patch": [(3, 3), (5, 5)], "scale": [1, 2, 3]},
        "Expected as many patches as scales, or one of either, got 2 patches and 3 scales",
    ),
    ({"stride": 0}, "stride=0: expected a whole number of at least 1"),
    ({"stride": 1.5}, "stride=1.5: expected"),
    ({"stride": True}, "stride=True: expected"),
    ({"max_patches": 1}, "max_patches=1: expected a whole number of at least 2"),
    ({"max_patches": 1e4}, "max_patches=10000.0: expected"),
    ({"border": "mirror"}, "border='mirror': expected one of 'valid', 'reflect', 'edge', 'zero'"),
    ({"tolerance": 1.0}, r"tolerance=1.0: expected a share in \[0, 1\), 0 for exact results"),
    ({"tolerance": -1e-9}, "tolerance=-1e-09: expected"),
    ({"tolerance": float("nan")}, "tolerance=nan: expected"),
    ({"tolerance": "small"}, "tolerance='small': expected"),
]


@pytest.mark.parametrize(("keywords", "message"), WRONG)
def test_wrong_parameters_are_told(keywords, message):
    with pytest.raises(ValueError, match=message):
        density(**{"patch": (3, 3), **keywords}).fit(images())


WRONG_ITEMS = [
    ([], "There are no items: pass at least one image or series"),
    ("pictures", "must hold numbers"),
    (np.array([["a", "b"]] * 4), "must hold numbers"),
    (np.zeros(9), r"shape \(9,\), expected an image"),
    (np.zeros((0, 4)), r"shape \(0, 4\), expected an image .* with at least one value"),
    (np.where(np.eye(8) > 0, np.nan, 0.0), r"holds missing values \(NaN\)"),
    (np.where(np.eye(8) > 0, np.inf, 0.0), "holds infinite values"),
    ([np.zeros((8, 8)), np.zeros((8, 8, 3))], "must have the same channels"),
    (np.zeros((2, 8)), "An item of 2 × 8 is smaller than the patch of 3 × 3"),
    ([np.zeros((8, 8)), np.zeros((8, 2))], "An item of 8 × 2 is smaller"),
    (np.zeros((3, 3)), "1 of 1 patches are without gaps"),
]


@pytest.mark.parametrize(("items", "message"), WRONG_ITEMS)
def test_items_that_cannot_be_trained_on_are_told(items, message):
    with pytest.raises(ValueError, match=message):
        density(patch=(3, 3)).fit(items)


def test_gaps_everywhere_are_told():
    gaps = np.where(np.arange(12) % 2, np.nan, 1.0)
    with pytest.raises(ValueError, match=r"0 of 10 patches are without gaps .*expected at least two"):
        density(patch=(3,)).fit(gaps)


@pytest.mark.parametrize("method", ["explain", "outlierness", "score_map"])
def test_unfitted_and_unfit_items_are_told(method):
    with pytest.raises(NotFittedError):
        getattr(density(), method)(np.zeros((9, 9)))
    ask = getattr(density(patch=(3, 3)).fit(images()), method)
    with pytest.raises(ValueError, match=r"Item 0 has 3 channel\(s\), the model was fitted on 1: value"):
        ask(images(3)[0])
    with pytest.raises(ValueError, match="exclude_self=True, but an item is not among those"):
        ask(np.zeros((9, 9)), exclude_self=True)
    with pytest.raises(ValueError, match="exclude_self='yes': expected 'auto', True or False"):
        ask(np.zeros((9, 9)), exclude_self="yes")
    with pytest.raises(ValueError, match="smaller than the patch"):
        ask(np.zeros((2, 9)))
    with pytest.raises(ValueError, match="infinite"):
        ask(np.full((9, 9), np.inf))


def test_score_map_is_for_one_item():
    with pytest.raises(ValueError, match="score_map expected one item, got 2"):
        density(patch=(3, 3)).fit(images()).score_map(images())


def test_names_of_another_number_are_told():
    with pytest.raises(ValueError, match="Expected one name for each of 2 images, got 1"):
        density(patch=(3, 3)).fit(images()).explain(images(), names=["one"])


def test_a_preparation_that_changes_the_shape_is_told():
    model = density(patch=(3, 3), prepare=lambda values: values[1:])
    with pytest.raises(ValueError, match=r"keep the shape of an item, \(7, 9, 1\), but returned \(6, 9, 1\)"):
        model.fit(images())


def test_a_model_without_centers_is_told():
    with pytest.raises(
        whyodd.UnsupportedModelError, match="SGDOneClassSVM does not compare patches with normal ones"
    ):
        whyodd.PatchModel(SGDOneClassSVM(), patch=(3, 3)).fit(images())
