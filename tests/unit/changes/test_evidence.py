"""Statistics against plain loops, and p-values that keep their promise where nothing changed."""

import numpy as np
import pytest
from scipy.stats import kstest, rankdata

import whyodd
from whyodd.changes.evidence import Columns, Evidence, Groups, Kinds, Relations
from whyodd.changes.tables import read_both


def tables(n=40, seed=0, **new):
    rng = np.random.default_rng(seed)

    def one():
        load = rng.normal(50, 10, n)
        return {
            "load": load,
            "heat": 0.9 * load + rng.normal(0, 3, n),
            "plan": rng.choice(["basic", "pro", "max"], n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 30, n)),
        }

    return one(), one() | new


@pytest.fixture(scope="module")
def both():
    return read_both(*tables(), None, 1_000, 0)


@pytest.fixture(scope="module")
def dealt(both):
    """The rows dealt out to two tables at random."""
    return np.random.default_rng(3).permutation(both.is_new)


def test_columns(both, dealt):
    found = Columns(both)(dealt)
    p = len(both.elements)
    load, plan = both.coordinates[:, both.element_of == 0][:, 0], both.elements[2]
    assert found[0] == pytest.approx(np.mean((np.sort(load[dealt]) - np.sort(load[~dealt])) ** 2))
    shares = [np.mean(plan.values[mask][:, np.newaxis] == np.arange(3), axis=0) for mask in (dealt, ~dealt)]
    assert found[2] == pytest.approx(np.abs(shares[0] - shares[1]).sum())
    apart = [np.mean(load[dealt] <= at) - np.mean(load[~dealt] <= at) for at in load]
    assert found[p] == pytest.approx(np.sum(np.square(apart)) / (load.size / 2))
    assert found[p + 2] == 0.0


def test_ranks_of_equal_values_wait_for_the_last_of_them():
    both = read_both({"a": [1.0, 1.0, 1.5, 2.0]}, {"a": [1.0, 2.0, 1.5, 1.5]}, None, 99, 0)
    old, new = ([1.0, 1.0, 1.5, 2.0], [1.0, 1.5, 1.5, 2.0])
    apart = [np.mean(np.array(old) <= at) - np.mean(np.array(new) <= at) for at in (1.0, 1.5, 2.0)]
    assert Columns(both)(both.is_new)[1] == pytest.approx(np.sum(np.square(apart)) / 4)


def test_relations(both, dealt):
    measure = Relations(both, [0, 1, 2])
    found = measure(dealt)

    def functions(chosen):
        from scipy.special import ndtri

        columns = []
        for i in (0, 1):
            values = both.elements[i].values[chosen]
            scores = ndtri((rankdata(values) - 0.5) / values.size)
            columns.append(np.column_stack([scores, scores**2]))
        columns.append(both.elements[2].values[chosen][:, np.newaxis] == np.arange(3))
        return columns

    old, new = functions(~dealt), functions(dealt)
    for place, (a, b) in enumerate(measure.pairs):
        change = 0.0
        for s in range(old[a].shape[1]):
            for t in range(old[b].shape[1]):
                r = [np.corrcoef(of[a][:, s], of[b][:, t])[0, 1] for of in (old, new)]
                change += (r[1] - r[0]) ** 2
        # Scores are looked up on a grid of a few hundred ranks.
        assert found[place] == pytest.approx(change, abs=0.02)


def test_groups(both, dealt):
    measure = Groups(both, [0, 1, 2])
    found = measure(dealt)
    for g, group in enumerate(measure.groups):
        for f, (i, code) in enumerate(measure.functions):
            element = both.elements[i]
            if element.column == both.elements[group.element].column:
                assert found[g, f] == 0.0
                continue
            values = (
                both.coordinates[:, both.element_of == i][:, 0] if code is None else element.values == code
            )
            parts = [
                [values[side & mask] for mask in (dealt, ~dealt)] for side in (group.members, ~group.members)
            ]
            change = [np.mean(new) - np.mean(old) for new, old in parts]
            error = sum(
                np.var(np.concatenate(side)) * (1 / len(side[0]) + 1 / len(side[1])) for side in parts
            )
            assert found[g, f] == pytest.approx((change[0] - change[1]) / np.sqrt(error))


def test_kinds_are_rows_whose_neighbours_are_all_of_their_table():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    new[:15] = rng.normal(40.0, 0.1, (15, 2))
    both = read_both(old, new, None, 1_000, 0)
    kinds = Kinds(both)
    (found, *_) = kinds.of(both.is_new)
    assert set(both.rows[found]) == set(range(15))
    assert kinds(both.is_new)[1] == 15
    assert kinds.how_separate(found, ~both.is_new) > 10


def test_a_column_that_never_varies_in_one_table_has_no_relation_to_lose():
    old, new = tables(new=None, heat=np.full(40, 45.0) + 0.0)
    del new["new"]
    both = read_both(old, new, None, 1_000, 0)
    measure = Relations(both, [0, 1])
    assert measure(both.is_new) == pytest.approx([0.0])


def test_p_values_in_two_steps():
    """Two families of two things over three dealings, by hand."""
    largest = {"a": np.array([5.0, 1.0, 2.0, 3.0]), "b": np.array([1.0, 4.0, 2.0, 3.0])}
    evidence = Evidence(largest, {}, {}, {})
    # Shares as large: a 1/4, 1, 3/4, 1/2; b 1, 1/4, 3/4, 1/2; the smallest of both 1/4, 1/4, 3/4, 1/2.
    assert evidence.p_values("a", np.array([5.0, 2.5])).tolist() == [0.5, 0.75]
    assert evidence.p_value == 0.5


def test_p_values_are_uniform_where_nothing_changed():
    """The first column against the second half of the same: a Kolmogorov-Smirnov test at 0.1 %."""
    rng = np.random.default_rng(7)
    found = []
    for seed in range(40):
        X = rng.normal(size=(24, 2))
        found.append(whyodd.compare(X[:12], X[12:], permutations=39, random_state=seed).p_value)
    # p-values are multiples of 1/40, and larger than uniform ones by as much: shift them to the middle.
    assert kstest(np.array(found) - 1 / 80, "uniform").pvalue > 0.001
