"""Feature flipping of models, pipelines, images and series against plain loops, and its laws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import SGDOneClassSVM
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyodd
from reference import flipped
from whyodd import DistanceNetwork, PatchModel, UnsupportedModelError
from whyodd.evaluation.flipping import area, flip
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import LinearMetric
from whyodd.models.registry import MODELS

# Of a row's first value: what is promised, well above what rounding does here.
CLOSE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}


def assert_close(curves, reference, relative=1e-9):
    assert curves.shape == np.shape(reference)
    reference = np.asarray(reference)
    assert (np.abs(curves - reference) / np.maximum(reference[:, :1], 1e-300)).max() <= relative


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))


class TestModels:
    @pytest.mark.parametrize("name", MODELS)
    def test_agrees_with_plain_loops(self, name, rows):
        model = MODELS[name]().fit(rows)
        new = rows[:5] + 0.7
        e = whyodd.explain(model, new)
        curves = flip(model, new, e)
        assert_close(curves, flipped.flip(new, whyodd.neuralize(model), e.relevance))
        np.testing.assert_allclose(curves[:, 0], e.outlierness, rtol=1e-9)

    @pytest.mark.parametrize("name", ["one_class_svm", "k_nearest_neighbors", "kernel_density", "committee"])
    def test_training_rows_leave_their_own_center_out(self, name, rows):
        model = MODELS[name]().fit(rows)
        e = whyodd.explain(model, rows)
        assert (e.excluded >= 0).any()
        network = whyodd.neuralize(model)
        reference = flipped.flip(rows[:8], network, e.relevance[:8], own=e.excluded[:8])
        assert_close(flip(model, rows, e)[:8], reference)
        assert_close(flip(model, rows, e.relevance)[:8], reference)
        assert_close(flip(model, rows[:8], e[:8]), reference)  # the explanation knows what was left out
        with_own = flipped.flip(rows[:8], network, e.relevance[:8])
        assert_close(flip(model, rows, e, exclude_self=False)[:8], with_own)

    def test_single_precision(self, rows):
        model = MODELS["one_class_svm"]().fit(rows)
        few = rows[:5].astype(np.float32)
        relevance = whyodd.explain(model, few).relevance
        assert_close(flip(model, few, relevance), flipped.flip(few, whyodd.neuralize(model), relevance), 1e-4)

    def test_outlierness_near_zero_keeps_its_digits(self, rows):
        network = DistanceNetwork(rows, kernel=Exponential(2.0, 1e5))
        reference = flipped.flip(rows[:3], network, rows[:3])
        assert reference[:, 0].max() < 1e-6
        assert_close(flip(network, rows[:3], rows[:3]), reference)
        assert_close(flip(network, rows[:3].astype(np.float32), rows[:3]), reference, 1e-4)

    def test_sparse(self):
        rng = np.random.default_rng(0)
        X = sparse.csr_array(rng.binomial(1, 0.2, (40, 12)).astype(float))
        model = MODELS["kernel_density"](sigma=1.0).fit(X)
        e = whyodd.explain(model, X)
        reference = flipped.flip(X, whyodd.neuralize(model), e.relevance, own=e.excluded)
        assert_close(flip(model, X, e), reference)

    def test_mapping_of_methods(self, rows):
        network = DistanceNetwork(rows)
        methods = {"up": rows[:3] * np.arange(4), "down": -rows[:3] * np.arange(4)}
        curves = flip(network, rows[:3] + 1.0, methods, checkpoints=2)
        assert list(curves) == ["up", "down"]
        for name, relevance in methods.items():
            assert np.array_equal(curves[name], flip(network, rows[:3] + 1.0, relevance, checkpoints=2))


class TestPipelines:
    def test_scaled(self, rows):
        pipe = make_pipeline(StandardScaler(), MODELS["one_class_svm"]()).fit(rows)
        e = whyodd.explain(pipe, rows)
        Z = pipe[0].transform(rows)
        reference = flipped.flip(Z[:6], whyodd.neuralize(pipe[-1]), e.relevance[:6], own=e.excluded[:6])
        assert_close(flip(pipe, rows, e)[:6], reference)

    @pytest.mark.parametrize("name", ["one_class_svm", "k_nearest_neighbors", "gaussian"])
    def test_before_a_linear_map_differences_are_the_shortest(self, name, rows):
        pipe = make_pipeline(StandardScaler(), PCA(2), MODELS[name]()).fit(rows)
        new = rows[:4] + 1.0
        e = whyodd.explain(pipe, new)
        network, B = whyodd.neuralize(pipe[-1]), pipe[1].components_
        matrix = B if network.metric is None else network.metric.matrix @ B
        keywords = {"pooling": network.pooling} if network.pooling else {"log_weights": network.log_weights}
        keywords |= {} if network.pooling else {"kernel": network.kernel}
        # B has orthonormal rows: B⁺ = Bᵀ.
        lifted = DistanceNetwork(network.centers @ B, metric=LinearMetric(matrix), **keywords)
        reference = flipped.flip(pipe[:-1].transform(new) @ B, lifted, e.relevance)
        assert_close(flip(pipe, new, e), reference)
        np.testing.assert_allclose(reference[:, 0], e.outlierness)

    def test_more_columns_than_variables_after_a_linear_map(self, rows):
        """Directions that no variable reaches are columns of their own, which go last."""
        both = make_union(PCA(4), StandardScaler())
        pipe = make_pipeline(both, MODELS["one_class_svm"]()).fit(rows)
        e = whyodd.explain(pipe, rows)
        network = whyodd.neuralize(pipe[-1])
        B = np.vstack([PCA(4).fit(rows).components_, np.diag(1.0 / rows.std(axis=0))])
        lifted = DistanceNetwork(
            network.centers @ np.linalg.pinv(B).T,
            log_weights=network.log_weights,
            kernel=network.kernel,
            metric=LinearMetric(B),
        )
        Y = pipe[:-1].transform(rows[:5]) @ np.linalg.pinv(B).T
        assert_close(flip(pipe, rows, e)[:5], flipped.flip(Y, lifted, e.relevance[:5], own=e.excluded[:5]))

    def test_a_category_goes_with_all_its_columns(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"kind": rng.choice(["a", "b", "c"], 50), "size": rng.normal(size=50)})
        encode = make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["kind"]), (StandardScaler(), ["size"])
        )
        pipe = make_pipeline(encode, MODELS["kernel_density"](sigma=0.5)).fit(frame)
        e = whyodd.explain(pipe, frame)
        network, Z = whyodd.neuralize(pipe[-1]), pipe[0].transform(frame)
        place = {name: i for i, name in enumerate(e.feature_names)}
        members = [[0, 1, 2], [3]] if place["kind"] == 0 else [[3], [0, 1, 2]]
        reference = flipped.flip(Z[:6], network, e.relevance[:6], own=e.excluded[:6], members=members)
        curves = flip(pipe, frame, e)
        assert curves.shape == (50, 3)
        assert_close(curves[:6], reference)

    def test_groups_go_as_one(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd"))
        model = MODELS["kernel_density"]().fit(frame)
        e = whyodd.explain(model, frame, groups={"both": ["b", "d"]})
        reference = flipped.flip(
            frame.to_numpy()[:5],
            whyodd.neuralize(model),
            e.relevance[:5],
            own=e.excluded[:5],
            members=[[0], [1, 3], [2]],
        )
        curves = flip(model, frame, e)
        assert curves.shape == (40, 4)
        assert_close(curves[:5], reference)


IMAGES = np.random.default_rng(0).integers(0, 256, (3, 9, 8, 2)).astype(np.uint8)
SERIES = np.random.default_rng(1).normal(size=(2, 30, 2)).cumsum(axis=1)


class TestPatchModels:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"border": "reflect", "stride": 2},
            {"border": "edge"},
            {"border": "zero", "patch": (3, 4)},
            {"scale": 2, "patch": (2, 2)},
            {"patch": [(3, 3), (2, 2)], "scale": [1, 3], "border": "zero"},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("model", ["one_class_svm", "k_nearest_neighbors"])
    def test_images_agree_with_plain_loops(self, model, options):
        settings = {"patch": (3, 3), "max_patches": 25, "random_state": 0, **options}
        patches = PatchModel(MODELS[model](), **settings).fit(IMAGES[:2])
        e = patches.explain(IMAGES[1:])
        assert e.twins == (1, None)
        for single in (False, True):
            curves = flip(patches, IMAGES[1:], e, checkpoints=5, single_values=single)
            reference = [
                flipped.flip_item(IMAGES[1 + i], patches.scales_, e.relevance[i], 5, twin, single=single)
                for i, twin in enumerate(e.twins)
            ]
            assert_close(curves, reference, 1e-5)  # images of 8 bits are in float32
            np.testing.assert_allclose(curves[:, 0], patches.outlierness(IMAGES[1:]), rtol=1e-5)

    def test_series_with_gaps_and_jumps_in_time(self):
        patches = PatchModel(MODELS["one_class_svm"](), patch=(4,), max_patches=30, random_state=0)
        frame = pd.DataFrame(SERIES[0], columns=["a", "b"])
        frame["when"] = pd.date_range("2024-01-01", periods=30, freq="h")
        frame.loc[7, "a"] = np.nan
        frame.loc[20:, "when"] += pd.Timedelta("1D")
        patches.fit(SERIES)
        e = patches.explain(frame)
        values = np.insert(frame[["a", "b"]].to_numpy(), 20, np.nan, axis=0)
        # The step put in where time jumps is in no window; it may go whenever it likes, but does not count.
        order = e.relevance[0].sum(axis=1)
        curves = flip(patches, frame, e, checkpoints=30)
        left = np.insert(order, 20, -np.inf)[:, None] * np.ones(2)
        reference = flipped.flip_item(values, patches.scales_, left, 31)
        assert_close(curves, [reference[:31]])

    def test_standardized_and_prepared(self):
        patches = PatchModel(
            MODELS["kernel_density"](), patch=(4,), standardize=True, prepare=lambda values: values**2
        ).fit(SERIES)
        e = patches.explain(SERIES[0] + 1.0)
        prepared = ((SERIES[0] + 1.0) / patches.units_) ** 2
        reference = flipped.flip_item(prepared, patches.scales_, e.relevance[0], 6)
        assert_close(flip(patches, SERIES[0] + 1.0, e, checkpoints=6), [reference])

    def test_one_number_for_each_pixel(self):
        patches = PatchModel(MODELS["kernel_density"](), patch=(3, 3), max_patches=20).fit(IMAGES)
        heat = np.random.default_rng(0).normal(size=(3, 9, 8))
        twice = np.stack([heat, np.zeros_like(heat)], axis=-1)
        assert np.array_equal(flip(patches, IMAGES, list(heat)), flip(patches, IMAGES, list(twice)))

    def test_methods_together_are_the_same_as_alone(self):
        patches = PatchModel(MODELS["kernel_density"](), patch=(3, 3), max_patches=20).fit(IMAGES)
        methods = {"dtd": patches.explain(IMAGES), "random": np.random.default_rng(0).random(IMAGES.shape)}
        curves = flip(patches, IMAGES, methods)
        assert curves["dtd"].shape == (3, 33)
        for name, relevance in methods.items():
            assert np.array_equal(curves[name], flip(patches, IMAGES, relevance))

    def test_errors(self):
        patches = PatchModel(MODELS["kernel_density"](), patch=(3, 3), max_patches=20).fit(IMAGES)
        with pytest.raises(ValueError, match=r"Expected one relevance array for each of 3 item\(s\), got 2"):
            flip(patches, IMAGES, list(np.ones((2, 9, 8, 2))))
        with pytest.raises(ValueError, match=r"item 0 has shape \(8, 9, 2\), expected .* \(9, 8, 2\)"):
            flip(patches, IMAGES[0], [np.ones((8, 9, 2))])
        with pytest.raises(ValueError, match="expected the item's shape"):
            flip(patches, IMAGES[0], [np.ones((9, 8))], single_values=True)
        with pytest.raises(ValueError, match="NaN"):
            flip(patches, IMAGES[0], [np.full((9, 8, 2), np.nan)])


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m, d = draw(st.integers(1, 4)), draw(st.integers(1, 12)), draw(st.integers(1, 6))
    q, sigma = draw(st.sampled_from([1.0, 1.5, 2.0, 4.0])), draw(st.sampled_from([0.3, 1.0, 5.0]))
    kind = draw(st.sampled_from(["exponential", "student", "nearest"]))
    centers = rng.normal(size=(m, d))
    if kind == "nearest":
        network = DistanceNetwork(centers, pooling=Nearest.mean(draw(st.integers(1, m))))
    else:
        kernel = Exponential(q, sigma) if kind == "exponential" else Student(q, sigma=sigma)
        network = DistanceNetwork(centers, rng.dirichlet(np.ones(m)), kernel)
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    # Few different values: ties are common.
    return network, 2.0 * rng.normal(size=(n, d)).astype(dtype), rng.integers(0, 3, (n, d)).astype(float), rng


class TestLaws:
    @given(cases())
    def test_falls_from_the_outlierness_to_that_at_distance_0(self, case):
        network, X, relevance, _ = case
        curves = flip(network, X, relevance)
        first = network.outlierness(X)
        assert (np.abs(curves[:, 0] - first) <= CLOSE[X.dtype] * first).all()
        assert (np.diff(curves, axis=1) <= 1e-5 * CLOSE[X.dtype] * curves[:, :1]).all()
        least = network.kernel.outlierness(network.kernel.log_height, network.n_centers)
        np.testing.assert_allclose(curves[:, -1], least, rtol=1e-12, atol=1e-12)

    @given(cases())
    def test_agrees_with_plain_loops(self, case):
        network, X, relevance, _ = case
        assert_close(flip(network, X, relevance), flipped.flip(X, network, relevance), CLOSE[X.dtype])

    @given(cases())
    def test_moves_with_the_variables(self, case):
        network, X, _, rng = case
        relevance, turned = rng.normal(size=X.shape), rng.permutation(X.shape[1])
        keywords = {"pooling": network.pooling}
        if network.pooling is None:
            keywords = {"log_weights": network.log_weights, "kernel": network.kernel}
        other = DistanceNetwork(network.centers[:, turned], **keywords)
        curves = flip(other, X[:, turned], relevance[:, turned])
        assert_close(curves, flip(network, X, relevance), CLOSE[X.dtype])

    @given(cases(), st.integers(1, 8))
    def test_checkpoints_are_points_of_the_whole_curve(self, case, checkpoints):
        network, X, relevance, _ = case
        d = X.shape[1]
        every = [(2 * d * step + checkpoints) // (2 * checkpoints) for step in range(checkpoints + 1)]
        some = flip(network, X, relevance, checkpoints=checkpoints)
        assert_close(some, flip(network, X, relevance)[:, every], CLOSE[X.dtype])

    def test_the_order_of_squares_is_the_best_for_one_center(self):
        x = np.array([[0.3, -2.0, 1.0, 0.1]])
        network = DistanceNetwork(np.zeros((1, 4)))
        best = area(flip(network, x, x**2))
        random = np.random.default_rng(0)
        assert all(area(flip(network, x, random.random((1, 4)))) >= best - 1e-12 for _ in range(30))


class TestArea:
    def test_of_simple_curves(self):
        assert area(np.full((2, 5), 3.0)).tolist() == [1.0, 1.0]
        np.testing.assert_allclose(area(np.linspace(7.0, 0.0, 9)[None]), [0.5])
        assert area(np.zeros((1, 3))).tolist() == [0.0]
        assert area(np.ones((2, 3, 4))).shape == (2, 3)

    @pytest.mark.parametrize("curves", [3.0, [[1.0], [2.0]], [1.0, np.nan], [1.0, -0.5]])
    def test_errors(self, curves):
        with pytest.raises(ValueError, match="curves"):
            area(curves)


class TestErrors:
    @pytest.mark.parametrize(
        ("relevance", "keywords", "message"),
        [
            (np.ones((3, 3)), {}, r"relevance has shape \(3, 3\), expected \(3, 4\)"),
            (np.ones((2, 4)), {}, "Pass the rows that were explained"),
            (np.full((3, 4), np.nan), {}, "NaN"),
            ({}, {}, "empty mapping"),
            (np.ones((3, 4)), {"checkpoints": 0}, "checkpoints=0"),
            (np.ones((3, 4)), {"checkpoints": 2.5}, "checkpoints=2.5"),
            (np.ones((3, 4)), {"single_values": True}, "PatchModel"),
            (np.ones((3, 4)), {"exclude_self": "maybe"}, "exclude_self"),
        ],
    )
    def test_what_is_wrong_is_told(self, relevance, keywords, message, rows):
        with pytest.raises(ValueError, match=message):
            flip(DistanceNetwork(rows), rows[:3], relevance, **keywords)

    def test_linear_models_have_no_distances(self, rows):
        model = SGDOneClassSVM().fit(rows)
        with pytest.raises(UnsupportedModelError, match="measures no distances"):
            flip(model, rows, rows)

    def test_outlierness_beyond_all_floats(self, rows):
        X = rows[:3].copy()
        X[1] = 1e200
        with pytest.raises(OverflowError, match="Row 1"):
            flip(DistanceNetwork(rows), X, X)
