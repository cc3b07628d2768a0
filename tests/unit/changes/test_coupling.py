"""The coupling against all couplings, its parts against plain loops, and the laws that they obey."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from whyodd.changes.coupling import couple
from whyodd.changes.evidence import cost_in_groups

NUMBERS = st.floats(-30.0, 30.0)
# Two numbers, then a category of three.
VARIABLE_OF = np.array([0, 1, 2, 2, 2])


@st.composite
def samples(draw, most=6):
    """Two samples of the same size: numbers, and a category as a corner of a simplex."""
    m = draw(st.integers(1, most))
    found = []
    for _ in range(2):
        numbers = draw(arrays(np.float64, (m, 2), elements=NUMBERS))
        labels = draw(arrays(np.intp, m, elements=st.integers(0, 2)))
        found.append(np.column_stack([numbers, np.eye(3)[labels]]))
    return found


def plain_own(X, Y, variable):
    """W_i² as the cheapest of all couplings of one variable."""
    of = variable == VARIABLE_OF
    return min(
        sum(float(((X[i, of] - Y[j, of]) ** 2).sum()) for i, j in enumerate(order)) / len(X)
        for order in permutations(range(len(X)))
    )


@given(samples(most=5))
def test_no_coupling_is_cheaper(both):
    X, Y = both
    costs = [((X - Y[list(order)]) ** 2).sum() / len(X) for order in permutations(range(len(X)))]
    assert couple(X, Y, VARIABLE_OF).distance == pytest.approx(min(costs), abs=1e-9)


@given(samples(most=5))
def test_what_a_variable_has_of_its_own_is_the_cheapest_coupling_of_it_alone(both):
    X, Y = both
    own = couple(X, Y, VARIABLE_OF).own
    assert own == pytest.approx([plain_own(X, Y, variable) for variable in range(3)], abs=1e-9)


@given(samples(most=20))
def test_parts_add_up_and_no_rest_is_negative(both):
    found = couple(*both, VARIABLE_OF)
    assert found.parts.sum() == pytest.approx(found.distance, rel=1e-12, abs=1e-12)
    assert (found.own + found.rest).sum() == pytest.approx(found.distance, rel=1e-12, abs=1e-12)
    assert found.rest.min() >= -1e-9 * (1.0 + found.distance)


@given(samples(most=20))
def test_groups_without_a_row_in_common_add_up(both):
    X, Y = both
    found = couple(X, Y, VARIABLE_OF)
    members = np.vstack([X, Y])[:, 2:]
    is_new = np.arange(2 * len(X)) >= len(X)
    parts = cost_in_groups(found.cost, found.partner, members, is_new)
    assert parts.sum() == pytest.approx(found.distance, rel=1e-12, abs=1e-12)


def test_a_shift_of_one_column_is_all_its_own():
    X = np.random.default_rng(0).normal(size=(40, 3))
    found = couple(X, X + np.array([0.0, 2.0, 0.0]), np.arange(3))
    assert found.own == pytest.approx([0.0, 4.0, 0.0])
    assert found.rest == pytest.approx([0.0, 0.0, 0.0])


def test_a_broken_relation_is_in_the_rest():
    x = np.linspace(-1.0, 1.0, 60)
    found = couple(np.column_stack([x, x]), np.column_stack([x, -x]), np.arange(2))
    assert found.own == pytest.approx([0.0, 0.0])
    assert found.rest.min() > 0.1
