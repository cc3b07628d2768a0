"""Rows by shared reason: each row in one group, and what a group names is true of all its members."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

import whyodd
from whyodd.explanations.groups import OTHER, ReasonGroup, group_by_reason, label_of


def leading_by_loop(e, i):
    """The fewest reasons, at most three, that hold half of the relevance, each a tenth: the plain way."""
    reasons = [reason for reason in e.reasons(i) if reason.relevance > 0]
    total, held, leading = sum(reason.relevance for reason in reasons), 0.0, set()
    for reason in reasons[:3]:
        if held >= 0.5 * total * (1 - 1e-12) or reason.relevance < 0.1 * total * (1 - 1e-12):
            break
        held += reason.relevance
        leading.add((reason.feature, reason.judgement))
    return frozenset(leading)


def named(group):
    return frozenset(zip(group.features, group.judgements, strict=True))


def check_laws(e, groups, max_groups):
    assert len(groups) <= max_groups
    members = np.concatenate([group.members for group in groups])
    assert sorted(members.tolist()) == list(range(len(e)))
    leading = [leading_by_loop(e, i) for i in range(len(e))]
    for group in groups:
        sets = [leading[i] for i in group.members]
        assert named(group) == frozenset.intersection(*sets)  # true of all, and all that is
        assert (np.diff(e.outlierness[group.members]) <= 0).all()
    assert len({named(group) for group in groups}) == len(groups)
    assert all(group.features for group in groups[:-1])
    sizes = [len(group.members) for group in groups if group.features]
    assert sizes == sorted(sizes, reverse=True)


def squares(rows, names=None):
    """Explanation whose relevance of each variable is proportional to its square: one center at 0."""
    rows = np.asarray(rows, dtype=np.float64)
    network = whyodd.DistanceNetwork(np.zeros((1, rows.shape[1])))
    return whyodd.explain(network, rows if names is None else pd.DataFrame(rows, columns=names))


@pytest.fixture(scope="module")
def mixed():
    """Numbers, categories, missing values and a variable that never varied."""
    random = np.random.default_rng(0)
    normal = pd.DataFrame(
        {
            "amount": random.normal(size=200),
            "age": random.normal(40, 10, size=200),
            "protocol": random.choice(["tcp", "udp"], 200),
            "flag": 1.0,
        }
    )
    odd = normal.sample(60, random_state=0).reset_index(drop=True)
    odd.loc[:9, "amount"] = 9.0
    odd.loc[10:19, "amount"] = -9.0
    odd.loc[20:29, "protocol"] = "icmp"
    odd.loc[30:39, "age"] = None
    odd.loc[35:44, "flag"] = 7.0
    return whyodd.explain(whyodd.auto(normal), odd)


class TestLaws:
    @pytest.mark.parametrize("max_groups", [1, 2, 5, 12, 100])
    def test_mixed_kinds_against_a_plain_loop(self, mixed, max_groups):
        groups = group_by_reason(mixed, max_groups=max_groups)
        check_laws(mixed, groups, max_groups)

    def test_all_judgements_are_met(self, mixed):
        met = {words for group in group_by_reason(mixed, max_groups=100) for words in group.judgements}
        assert met >= {"too high", "too low", "missing", "unusual", "in an unusual combination"}
        assert met >= {"high for rows like it", "low for rows like it"}

    @given(
        rows=arrays.arrays(
            np.float64,
            st.tuples(st.integers(1, 25), st.integers(1, 6)),
            elements=st.sampled_from(range(-3, 4)),
        ),
        max_groups=st.integers(1, 8),
    )
    @settings(max_examples=60)
    def test_any_rows(self, rows, max_groups):
        e = squares(rows)
        check_laws(e, group_by_reason(e, max_groups=max_groups), max_groups)

    def test_no_rows(self, mixed):
        assert group_by_reason(mixed[:0]) == []

    def test_signed_relevance(self):
        from sklearn.svm import OneClassSVM

        rows = np.random.default_rng(0).normal(3.0, 1.0, size=(50, 6))
        e = whyodd.explain(OneClassSVM(kernel="linear", nu=0.1).fit(rows), rows)
        assert (e.relevance < 0).any()
        check_laws(e, group_by_reason(e, max_groups=4), 4)

    def test_the_same_rows_in_another_order_form_the_same_groups(self, mixed):
        order = np.random.default_rng(0).permutation(len(mixed))
        groups, shuffled = group_by_reason(mixed, max_groups=6), group_by_reason(mixed[order], max_groups=6)
        rows = [{*mixed.rows[group.members].tolist()} for group in groups]
        again = [{*mixed.rows[order][group.members].tolist()} for group in shuffled]
        assert sorted(map(sorted, rows)) == sorted(map(sorted, again))


class TestGroups:
    def test_half_of_the_relevance_decides(self):
        # Shares 9/14, 4/14, 1/14; then 4/9, 4/9, 1/9; then four quarters, two of which are half.
        e = squares([[3, 2, 1, 0], [2, 2, 1, 0], [1, 1, 1, 1]])
        found = {group.members[0]: group.features for group in group_by_reason(e)}
        assert found == {0: ("x0",), 1: ("x0", "x1")}  # the last two are together, the oddest of them first

    def test_at_most_three_variables(self):
        (group,) = group_by_reason(squares(np.ones((2, 9))))
        assert group.features == ("x0", "x1", "x2")

    def test_order_of_reasons_does_not_matter(self):
        (group,) = group_by_reason(squares([[5.1, 5, 2], [5, 5.2, 2]]))
        assert group.label == "x1 and x0 too high"  # the more relevant first: its squares sum to 52 over 51

    def test_high_and_low_are_different_reasons(self):
        groups = group_by_reason(squares([[5, 0], [-4, 0], [6, 0]]))
        assert [group.sentence for group in groups] == ["2 rows: x0 too high", "1 row: x0 too low"]
        assert groups[0].members.tolist() == [2, 0]

    def test_reasons_of_one_row_alone_go_to_the_one_it_shares(self):
        e = squares([[5, 5, 1, 0], [5, 1, 5, 0], [0, 0, 0, 4]])
        assert [group.sentence for group in group_by_reason(e)] == [
            "2 rows: x0 too high",
            "1 row: x3 too high",
        ]

    def test_a_lone_row_keeps_all_its_reasons(self):
        e = squares([[5, 5, 1, 0], [0, 0, 0, 4], [0, 0, 0, 5]])
        assert [g.label for g in group_by_reason(e)] == ["x3 too high", "x0 and x1 too high"]

    def test_the_rarest_are_other_reasons(self):
        rows = np.repeat(np.eye(5), [5, 4, 3, 2, 1], axis=0)
        groups = group_by_reason(squares(rows), max_groups=3)
        assert [group.sentence for group in groups] == [
            "5 rows: x0 too high",
            "4 rows: x1 too high",
            "6 rows: other reasons",
        ]
        assert groups[-1].features == groups[-1].judgements == ()

    def test_rare_reasons_join_the_most_specific_group_that_is_true(self):
        rows = np.array([[5, 5, 1, 1, 0]] * 4 + [[4, 4, 4, 4, 0.1]] * 2 + [[0, 0, 0, 0, 3]] * 3, dtype=float)
        groups = group_by_reason(squares(rows), max_groups=2)
        assert [group.sentence for group in groups] == [
            "6 rows: x0 and x1 too high",
            "3 rows: x4 too high",
        ]

    def test_rows_without_relevance(self):
        e = squares([[0, 0], [0, 0], [1, 0]])
        assert [group.label for group in group_by_reason(e)] == ["x0 too high", OTHER]

    def test_never_varied_and_missing(self):
        values = np.column_stack([np.random.default_rng(0).normal(size=40), np.full(40, 2.0)])
        model = whyodd.KernelDensity(sigma=1.0).fit(pd.DataFrame(values, columns=["amount", "land"]))
        e = whyodd.explain(model, pd.DataFrame({"amount": [0.1, 0.2], "land": [9.0, 8.0]}))
        assert [group.label for group in group_by_reason(e)] == ["land new value"]

    def test_sparse_rows(self):
        rows = sparse.csr_array(np.array([[0, 3.0, 0], [0, 4.0, 0], [2.0, 0, 0]]))
        network = whyodd.DistanceNetwork(sparse.csr_array(np.zeros((1, 3))))
        groups = group_by_reason(whyodd.explain(network, rows))
        assert [group.label for group in groups] == ["x1 too high", "x0 too high"]

    def test_no_sentence_is_made_for_it(self, monkeypatch):
        """All rows at once: words for each of ten thousand rows would take fifty times as long."""
        random = np.random.default_rng(0)
        network = whyodd.DistanceNetwork(random.normal(size=(20, 50)))
        e = whyodd.explain(network, random.standard_t(3, size=(10_000, 50)))
        monkeypatch.setattr(type(e), "reasons", lambda *_, **__: pytest.fail("a row was asked for its words"))
        assert sum(map(len, group_by_reason(e))) == 10_000


class TestWords:
    def test_labels(self):
        assert label_of(["a"], ["unusual"]) == "a unusual"
        assert label_of(["a", "b"], ["too high", "too low"]) == "a too high, b too low"
        assert label_of(["a", "b", "c"], ["too high"] * 3) == "a, b and c too high"
        assert label_of([], []) == OTHER

    def test_long_names_are_cut_and_kept_on_a_line(self):
        group = ReasonGroup(("x" * 1000, "a\nb"), ("too high", "too low"), np.arange(1200))
        assert group.label == f"{'x' * 79}… too high, a b too low"
        assert group.sentence.startswith("1,200 rows: xxx")

    @pytest.mark.parametrize("max_groups", [0, -1, 1.5, True, None])
    def test_wrong_number_of_groups(self, mixed, max_groups):
        with pytest.raises(ValueError, match=f"max_groups={max_groups!r}: expected a whole number"):
            group_by_reason(mixed, max_groups=max_groups)

    def test_other_kinds_of_explanations(self):
        with pytest.raises(TypeError, match="e is of type list, expected a whyodd Explanation"):
            group_by_reason([1.0])
