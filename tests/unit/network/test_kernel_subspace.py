"""The reconstruction error of kernel PCA: against plain loops, with 50 digits, and in hard places."""

import json
import pickle
import zipfile
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy import sparse

import whyodd
from reference.kernel_subspace import explain_subspace, height, seen
from whyodd.compute.blocks import count_threads
from whyodd.network.kernel_subspace import KernelSubspace

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) @ RNG.normal(size=(3, 3))
ROWS = np.vstack([X[:4], X[4:8] + 0.3, 3.0 * RNG.normal(size=(6, 3)), np.full((1, 3), 60.0)])


def subspace_of(rows, n_components=6, sigma=2.0):
    return whyodd.KernelPCA(n_components, sigma).fit(rows).network_


def assert_agrees(member, rows, *, tolerance=1e-9):
    """Within 1e-9 of o; expected values of the largest value. The error is a difference of numbers up to 1,
    of which rounding, times the length of the components, may leave 1e-13."""
    parts, expected = member.decompose(rows), explain_subspace(rows, member)
    within = tolerance * expected.outlierness + 1e-13
    assert np.all(np.abs(parts.outlierness - expected.outlierness) <= within)
    assert np.all(np.abs(parts.unexplained - expected.unexplained) <= within)
    assert np.all(np.abs(parts.relevance - expected.relevance) <= within[:, None])
    far = np.abs(member.expected(rows) - expected.expected)
    assert np.all(far <= tolerance * np.abs(member.centers).max())


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("n_components", [1, 6, 0.9])
def test_agrees_with_plain_loops(n_components, sigma):
    assert_agrees(subspace_of(X, n_components, sigma), ROWS)


def test_error_is_the_squared_distance_in_feature_space_with_50_digits():
    """‖φ(x) - Σ_j γ_j φ(u_j)‖² = 1 - 2 Σ_j γ_j k_j + Σ_ij γ_i γ_j k(u_i, u_j), which uses no eigenvalue."""
    member = subspace_of(X[:15], 4)
    mpmath.mp.dps = 50
    for x, o in zip(ROWS, member.outlierness(ROWS), strict=True):
        gamma = [mpmath.mpf(value) for value in seen(x, member).gamma]
        assert abs(sum(gamma) - 1) < 1e-12
        K = [[_similarity(a, b, member.sigma) for b in member.centers] for a in [x, *member.centers]]
        total = 1 - 2 * mpmath.fsum(g * k for g, k in zip(gamma, K[0], strict=True))
        total += mpmath.fsum(
            g * h * k for g, line in zip(gamma, K[1:], strict=True) for h, k in zip(gamma, line, strict=True)
        )
        assert abs(total - o) < 1e-12


def _similarity(a, b, sigma):
    return mpmath.exp(
        -sum((mpmath.mpf(x) - mpmath.mpf(y)) ** 2 for x, y in zip(a, b, strict=True)) / (2 * sigma**2)
    )


def test_expected_rows_are_nearer_to_the_reconstruction_and_better_reconstructed():
    member = subspace_of(X, 0.9, 1.0)
    z = member.expected(ROWS)
    for x, normal in zip(ROWS, z, strict=True):
        gamma = seen(x, member).gamma
        assert height(normal, gamma, member) >= height(x, gamma, member) * (1.0 - 1e-9)
    assert np.all(member.outlierness(z) <= member.outlierness(ROWS) + 1e-12)
    np.testing.assert_allclose(
        member.decompose(ROWS).unexplained, member.outlierness(z), rtol=1e-7, atol=1e-12
    )


def test_far_away_the_error_has_a_bound():
    member = subspace_of(X)
    o = member.outlierness([[1e5, 0.0, 0.0], [1e300, -1e300, 1e300]])
    np.testing.assert_allclose(o, member.far_away, rtol=1e-12)
    parts = member.decompose([[1e300, 0.0, 0.0]])
    assert parts.relevance.argmax() == 0
    np.testing.assert_allclose(parts.relevance.sum() + parts.unexplained, member.far_away, rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_place_and_unit_change_nothing(offset, scale):
    """The rows are rounded to the place they are moved to, so that moved and plain rows are the same."""
    moved = (np.round(X, 3) + offset) * scale
    back = moved / scale - offset
    here, there = subspace_of(back), subspace_of(moved, sigma=2.0 * scale)
    assert_agrees(there, (np.round(ROWS[:9], 3) + offset) * scale, tolerance=1e-9)
    o = here.outlierness(np.round(ROWS, 3))
    # Moving by 1e6 leaves 1e-10 of what is moved.
    np.testing.assert_allclose(
        there.outlierness((np.round(ROWS, 3) + offset) * scale), o, rtol=1e-8, atol=1e-12
    )


def test_two_clusters_a_million_bandwidths_apart():
    rows = np.vstack([X[:20], X[20:] + 1e6])
    member = subspace_of(rows)
    assert_agrees(member, np.vstack([rows[::8] + 0.1, rows[::8]]), tolerance=1e-8)


def test_blocks_and_threads_change_nothing(monkeypatch):
    member = subspace_of(X, 0.9)
    rows = RNG.normal(size=(300, 3))
    whole = member.decompose(rows, n_jobs=1)
    told = []
    monkeypatch.setattr("whyodd.compute.blocks.MAX_BLOCK_ROWS", 7)
    monkeypatch.setattr("whyodd.compute.blocks.BLOCK_ELEMENTS", 16)
    parts = member.decompose(rows, n_jobs=max(count_threads(None), 2), progress=told.append)
    np.testing.assert_allclose(parts.relevance, whole.relevance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.outlierness, whole.outlierness, rtol=1e-12)
    assert told[-1] == 300


def test_float32_and_csr_rows():
    member = subspace_of(X)
    single = ROWS.astype(np.float32)
    parts = member.decompose(single)
    assert parts.relevance.dtype == np.float32
    double = member.decompose(single.astype(np.float64))
    np.testing.assert_allclose(parts.relevance, double.relevance, rtol=1e-6)
    np.testing.assert_array_equal(parts.outlierness, double.outlierness)
    np.testing.assert_array_equal(
        member.decompose(sparse.csr_array(ROWS)).relevance, member.decompose(ROWS).relevance
    )


def test_a_row_in_the_subspace_has_nothing_to_explain():
    member = subspace_of(X, 39, 0.5)
    parts = member.decompose(X)
    assert np.all(parts.outlierness < 1e-12)
    assert np.all(parts.outlierness >= 0.0)


def test_does_not_hold_on_to_what_it_was_given():
    member = subspace_of(X)
    centers = np.array(member.centers)
    other = replace(member, centers=centers)
    before = other.outlierness(ROWS)
    centers[:] = 0.0
    np.testing.assert_array_equal(other.outlierness(ROWS), before)
    with pytest.raises(ValueError, match="read-only"):
        other.weights[0] = 2.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"weights": np.ones(3)}, r"Expected weights with one line per center, \(40,\), got shape \(3,\)"),
        ({"components": np.ones((2, 6))}, r"Expected components with one line per center"),
        ({"centers": np.ones(5)}, "Expected centers as rows of numbers"),
        ({"similarities": np.full(40, np.nan)}, "similarities must be finite"),
        ({"sigma": 0.0}, "expected a positive bandwidth"),
    ],
)
def test_parts_that_do_not_fit_are_told(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(subspace_of(X), **change)


def test_other_columns_are_told():
    with pytest.raises(ValueError, match=r"X has 2 column\(s\), the model was fitted on 3"):
        subspace_of(X).decompose(ROWS[:, :2])


class TestSaved:
    def test_the_same_comes_back(self, tmp_path):
        member = subspace_of(X)
        before = member.decompose(ROWS)  # what it has prepared is not saved
        whyodd.save(member, tmp_path / "member.whyodd")
        for again in (whyodd.load(tmp_path / "member.whyodd"), pickle.loads(pickle.dumps(member))):
            assert isinstance(again, KernelSubspace)
            np.testing.assert_array_equal(again.decompose(ROWS).relevance, before.relevance)

    @pytest.mark.parametrize("name", ["centers", "components", "weights", "similarities"])
    def test_parts_that_were_tampered_with_are_refused(self, name, tmp_path):
        """Two arrays of the file are exchanged."""
        file = tmp_path / "model.whyodd"
        whyodd.save(whyodd.KernelPCA(5, 2.0).fit(X), file)
        with zipfile.ZipFile(file) as parts:
            held = {each: parts.read(each) for each in parts.namelist()}
        schema = json.loads(held["schema.json"])
        state = schema["content"]["content"]["network_"]["content"]["content"]
        other = "centers" if name in ("weights", "similarities") else "weights"
        state[name]["file"], state[other]["file"] = state[other]["file"], state[name]["file"]
        with zipfile.ZipFile(file, "w") as out:
            for each, data in {**held, "schema.json": json.dumps(schema).encode()}.items():
                out.writestr(each, data)
        with pytest.raises(ValueError, match=r"model\.whyodd is damaged and cannot be loaded"):
            whyodd.load(file)
