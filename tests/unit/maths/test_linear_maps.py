"""Linear maps: the way back of differences, in blocks and in units, and what no variable reaches."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from whyodd.maths.linear_maps import LinearMap

RNG = np.random.default_rng(0)


def orthonormal_rows(n_out, n_in):
    return np.linalg.qr(RNG.normal(size=(n_in, n_out)))[0].T


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


MATRICES = {
    "square": RNG.normal(size=(4, 4)),
    "to fewer": RNG.normal(size=(2, 5)),
    "to more": RNG.normal(size=(5, 3)),
    "of rank 2": RNG.normal(size=(5, 2)) @ RNG.normal(size=(2, 4)),
    "principal axes": orthonormal_rows(3, 6),
    "scaling": np.diag([2.0, -3.0, 0.25]),
    "permutation": np.eye(4)[[2, 0, 3, 1]],
    "a row and a column of zeros": np.pad(RNG.normal(size=(3, 3)), ((0, 1), (1, 0))),
    "blocks": sparse.block_diag(
        [sparse.coo_array(RNG.normal(size=(2, 3))), [[5.0]], [[1.0], [2.0]]]
    ).toarray(),
    "zeros": np.zeros((3, 2)),
    "one row": RNG.normal(size=(1, 4)),
    "one column": RNG.normal(size=(4, 1)),
    "one number": np.array([[-0.5]]),
}
over_matrices = pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)


@over_matrices
def test_the_shortest_difference_is_that_of_the_pseudo_inverse(matrix):
    np.testing.assert_allclose(dense(LinearMap(matrix).shortest).T, np.linalg.pinv(matrix), atol=1e-13)


@over_matrices
def test_the_gradient_is_that_of_half_the_squared_length(matrix):
    zeta = RNG.normal(size=(6, len(matrix)))
    np.testing.assert_allclose(zeta @ dense(LinearMap(matrix).gradient), zeta @ matrix, rtol=1e-14)


@over_matrices
def test_shares_and_what_is_outside_make_the_squared_length(matrix):
    made = LinearMap(matrix)
    zeta = RNG.normal(size=(20, len(matrix)))
    shares = (zeta @ dense(made.shortest)) * (zeta @ dense(made.gradient))
    outside = np.sum((zeta @ dense(made.outside)) ** 2, axis=1)
    np.testing.assert_allclose(shares.sum(axis=1) + outside, np.sum(zeta**2, axis=1), rtol=1e-12)


@over_matrices
def test_outside_is_orthonormal_and_out_of_reach(matrix):
    made = LinearMap(matrix)
    outside = dense(made.outside)
    assert outside.shape == (len(matrix), len(matrix) - np.linalg.matrix_rank(matrix))
    np.testing.assert_allclose(outside.T @ outside, np.eye(outside.shape[1]), atol=1e-14)
    np.testing.assert_allclose(outside.T @ matrix, 0.0, atol=1e-13)


@over_matrices
def test_a_share_that_is_called_a_square_is_never_negative(matrix):
    made = LinearMap(matrix)
    zeta = RNG.normal(size=(200, len(matrix)))
    shares = (zeta @ dense(made.shortest)) * (zeta @ dense(made.gradient))
    assert (shares[:, made.squares] >= -1e-14).all()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scaling", [True] * 3),
        ("permutation", [True] * 4),
        ("principal axes", [True] * 6),
        ("blocks", [False, False, False, True, True]),
        ("square", [False] * 4),
        ("one column", [True]),
    ],
)
def test_squares_are_where_nothing_is_mixed_and_on_principal_axes(name, expected):
    assert LinearMap(MATRICES[name]).squares.tolist() == expected


@pytest.mark.parametrize("units", [1e-12, 1e-6, 1e6, 1e12])
def test_units_do_not_pass_for_rounding(units):
    """A variable in units that make its column tiny or huge has the share it has in any other."""
    matrix = MATRICES["square"]
    scale = np.array([1.0, units, 1.0, 1.0 / units])
    zeta = RNG.normal(size=(5, 4))
    plain, other = LinearMap(matrix), LinearMap(matrix * scale)
    np.testing.assert_allclose((zeta @ other.shortest) * scale, zeta @ plain.shortest, rtol=1e-9)


@pytest.mark.parametrize("spread", [1e-12, 1e12])
def test_whitening_of_very_different_axes_keeps_its_digits(spread):
    axes, spreads = orthonormal_rows(3, 5), np.array([1.0, spread, 1.0 / spread])
    made = LinearMap(axes / spreads[:, None])
    # (S⁻¹ V)⁺ = Vᵀ S for orthonormal rows V.
    np.testing.assert_allclose(made.shortest / spreads[:, None], axes, atol=1e-12)
    square = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    made = LinearMap(square / spreads[:, None])
    np.testing.assert_allclose(made.shortest / spreads[:, None], square, atol=1e-12)


def test_blocks_are_as_good_as_on_their_own():
    """In one matrix the small block would be cut off as rounding of the large one."""
    small, large = 1e-10 * MATRICES["square"], 1e10 * MATRICES["to fewer"]
    both = LinearMap(sparse.block_diag([sparse.coo_array(small), large]))
    np.testing.assert_allclose(dense(both.shortest)[:4, :4].T, np.linalg.pinv(small), rtol=1e-9)
    np.testing.assert_allclose(dense(both.shortest)[4:, 4:].T, np.linalg.pinv(large), rtol=1e-9)


def test_a_rank_lost_to_rounding_is_cut_off():
    """Singular values of a few rounding errors are none: their inverse would be 1e15."""
    for n in (10, 50, 200):
        matrix = RNG.normal(size=(n, 3)) @ RNG.normal(size=(3, n))
        assert np.abs(dense(LinearMap(matrix).shortest)).max() < 1e3


def test_what_is_only_scaled_is_not_decomposed(monkeypatch):
    """Tens of thousands of terms, each scaled: no singular values, and nothing dense."""

    def refuse(*_, **__):
        raise AssertionError("a singular value decomposition")

    monkeypatch.setattr(np.linalg, "svd", refuse)
    n = 30_000
    made = LinearMap(sparse.diags_array(RNG.uniform(1.0, 2.0, n)))
    assert sparse.issparse(made.shortest)
    assert made.shortest.nnz == made.gradient.nnz == n
    assert made.squares.all()


def test_one_after_the_other():
    first, second = RNG.normal(size=(3, 5)), RNG.normal(size=(2, 3))
    both = LinearMap(first).then(second)
    assert (both.n_inputs, both.n_outputs) == (5, 2)
    np.testing.assert_allclose(dense(both.matrix), second @ first, rtol=1e-14)
    scaled = LinearMap(first).then(sparse.diags_array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(dense(scaled.matrix), np.diag([1.0, 2.0, 3.0]) @ first, rtol=1e-14)


def test_shown_by_its_sizes():
    made = LinearMap(np.ones((2, 3)))
    assert repr(made) == "LinearMap(3 -> 2)"
    assert (made.n_inputs, made.n_outputs) == (3, 2)


def test_what_was_given_stays_as_it_is():
    given = sparse.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    given.data[0] = 0.0  # a stored zero, which the map drops
    made = LinearMap(given)
    assert made.matrix.nnz == 2
    assert given.nnz == 3
    given.data[:] = 9.0
    np.testing.assert_array_equal(dense(made.matrix), [[0.0, 0.0], [2.0, 3.0]])


@pytest.mark.parametrize("kind", [np.int64, np.float32, bool])
def test_any_numbers_will_do(kind):
    made = LinearMap(np.eye(2, dtype=kind))
    assert made.matrix.dtype == np.float64


@pytest.mark.parametrize("matrix", [np.ones(3), np.ones((2, 2, 2)), np.ones((0, 3)), np.ones((3, 0)), 1.0])
def test_other_shapes_are_a_clear_error(matrix):
    with pytest.raises(
        ValueError, match=r"Expected a matrix of shape \(d_z, d_y\) for a linear map, got .*\."
    ):
        LinearMap(matrix)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_infinity_is_a_clear_error(layout, value):
    with pytest.raises(ValueError, match=r"A linear map must be finite\."):
        LinearMap(layout([[1.0, value]]))
