"""The result: slicing, words, frames, dictionaries, shap and the notebook view."""

import datetime as dt
import json
import subprocess
import sys
from dataclasses import FrozenInstanceError

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.explanations.sentences import (
    OddRow,
    Reason,
    distinct_numbers,
    number,
    observation,
    percent,
    sentence,
)

mpl.use("Agg")


@pytest.fixture(scope="module")
def normal():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal([50, 20, 5], [2, 1, 1], size=(80, 3)), columns=["speed", "heat", "load"])


@pytest.fixture(scope="module")
def model(normal):
    return OneClassSVM(gamma=0.1, nu=0.2).fit(normal)


@pytest.fixture(scope="module")
def odd():
    return pd.DataFrame(
        {"speed": [50.0, 62.0, 49.0, 41.0], "heat": [20.0, 20.0, 12.0, 20.0], "load": [5.0, 5.0, 4.0, 9.0]}
    )


@pytest.fixture(scope="module")
def e(model, odd):
    return whyodd.explain(model, odd)


class TestFrozen:
    def test_cannot_be_changed(self, e):
        with pytest.raises(FrozenInstanceError):
            e.relevance = None
        for name in (
            "relevance",
            "outlierness",
            "unexplained",
            "inlierness",
            "data",
            "expected",
            "direction",
        ):
            with pytest.raises(ValueError, match="read-only"):
                getattr(e, name)[0] = 0

    def test_leaves_the_users_array_writable(self, model, odd):
        X = odd.to_numpy(copy=True)
        whyodd.explain(model, X)
        X[0, 0] = 0.0
        assert X.flags.writeable


class TestSlicing:
    @pytest.mark.parametrize(
        ("index", "rows"),
        [
            (2, [2]),
            (-1, [3]),
            (slice(1, 3), [1, 2]),
            ([3, 0], [3, 0]),
            (np.array([True, False, True, False]), [0, 2]),
            (slice(0, 0), []),
        ],
    )
    def test_every_kind_of_index(self, e, index, rows):
        part = e[index]
        assert part.rows.tolist() == rows
        for name in ("relevance", "outlierness", "unexplained", "inlierness", "data", "excluded"):
            np.testing.assert_array_equal(getattr(part, name), getattr(e, name)[rows])

    def test_row_numbers_survive_slicing_twice(self, e):
        assert e[1:][[2, 0]].rows.tolist() == [3, 1]

    def test_expected_of_a_slice_is_the_slice_of_expected(self, model, odd):
        e = whyodd.explain(model, odd)
        before = e[1:].expected  # computed for the slice
        np.testing.assert_allclose(before, e.expected[1:], rtol=1e-12)
        np.testing.assert_array_equal(e[1:].expected, e.expected[1:])  # handed on

    def test_outside(self, e):
        with pytest.raises(IndexError):
            e[4]

    def test_iteration_gives_single_rows(self, e):
        assert [part.rows.tolist() for part in e] == [[0], [1], [2], [3]]

    def test_top_is_sorted(self, e):
        top = e.top(2)
        assert len(top) == 2
        assert top.outlierness[0] >= top.outlierness[1] >= np.delete(e.outlierness, top.rows).max()
        assert len(e.top(100)) == 4

    @pytest.mark.parametrize("k", [0, -1, 2.5, "a", True, None])
    @pytest.mark.parametrize(
        "call",
        [
            lambda e, k: e.top(k),
            lambda e, k: e.why(0, k),
            lambda e, k: e.reasons(0, k) if k is not None else e.top(k),
            lambda e, k: e.neighbors(k),
        ],
        ids=["top", "why", "reasons", "neighbors"],
    )
    def test_how_many_is_a_whole_number_of_at_least_one(self, e, call, k):
        with pytest.raises(ValueError, match=f"k={k!r}: expected a number of .* at least 1"):
            call(e, k)

    @pytest.mark.parametrize("i", [4, -5, "speed", slice(0, 2), [0, 1], None])
    def test_sentences_are_about_one_row(self, e, i):
        for call in (e.why, e.reasons):
            with pytest.raises(IndexError, match=r"expected one of the 4 rows explained, counted from 0\."):
                call(i)

    def test_no_rows_at_all(self, e):
        none = e[:0]
        assert none.expected.shape == none.direction.shape == (0, 3)
        assert none.neighbors() == []
        assert none.to_dict()["rows"] == []
        assert list(none.to_frame().columns) == list(e.to_frame().columns)
        assert len(none.to_frame()) == len(none.top(3)) == 0
        assert "0 rows" in none._repr_html_()
        with pytest.raises(IndexError, match="0: expected one of the 0 rows explained"):
            none.why()


class TestExpected:
    def test_is_the_assignment_weighted_mean_of_the_centers(self, e):
        mean = e.network.assignment(e.data) @ e.network.centers
        np.testing.assert_allclose(e.expected, mean, rtol=1e-10)

    def test_direction_is_the_sign_of_the_difference(self, e):
        assert e.direction.dtype == np.int8
        np.testing.assert_array_equal(e.direction, np.sign(e.data - e.expected))

    def test_direction_of_a_constant_column_is_zero(self):
        rng = np.random.default_rng(0)
        centers = np.column_stack([rng.normal(size=20), np.full(20, 1e6 / 3)])
        e = whyodd.explain(whyodd.DistanceNetwork(centers), [[3.0, 1e6 / 3]])
        assert e.direction.tolist() == [[1, 0]]

    def test_own_center_is_left_out_of_it(self, model, normal):
        e = whyodd.explain(model, normal)
        row = int(model.support_[0])
        p = e.network.assignment(normal.to_numpy()[[row]])[0]
        p[0] = 0.0
        np.testing.assert_allclose(e.expected[row], p @ e.network.centers / p.sum(), rtol=1e-9)


class TestReasons:
    def test_sorted_and_complete(self, e):
        reasons = e.reasons(1)
        assert {reason.feature for reason in reasons} == {"speed", "heat", "load"}
        assert [r.relevance for r in reasons] == sorted((r.relevance for r in reasons), reverse=True)
        assert reasons[0].feature == "speed"
        assert reasons[0].value == 62.0
        assert reasons[0].direction == 1
        shares = sum(r.share for r in reasons) + e.unexplained[1] / e.outlierness[1]
        assert shares == pytest.approx(1.0, rel=1e-12)
        assert e.reasons(1, k=1) == reasons[:1]

    def test_why_reads_like_the_design(self, e):
        first = e.reasons(1)[0]
        assert e.why(1, k=1) == (
            f"speed is too high (62, expected about {number(first.expected)}): {percent(first.share)} of the "
            f"outlierness; {percent(e.unexplained[1] / e.outlierness[1])} belongs to no single variable"
        )
        assert "heat is too low (12, expected about " in e.why(2)

    def test_why_of_a_row_that_is_not_odd(self):
        network = whyodd.DistanceNetwork([[1.0, 2.0]])
        e = whyodd.explain(network, [[1.0, 2.0]])
        assert e.why() == "nothing is odd about this row: its outlierness is 0"
        assert "0" in repr(e)
        assert e.to_frame()["share"].tolist() == [0, 0, 0]

    def test_why_of_a_row_with_nothing_explained(self):
        network = whyodd.DistanceNetwork([[0.0], [100.0]])
        e = whyodd.explain(network, [[0.0]])
        assert e.outlierness[0] == pytest.approx(np.log(2))
        assert e.why().startswith("no single variable makes this row odd")


class TestWords:
    def test_note_above_one_half(self):
        reason = Reason("a", 3.0, 1.0, 1, 0.2, 0.2)
        text = sentence(OddRow(0, 1.0, 0.62, (reason,)))
        assert text.endswith("62 % belongs to no single variable, more than the variables explain together")

    def test_several_reasons_are_joined(self):
        reasons = (Reason("a", 3.0, 1.0, 1, 0.5, 0.5), Reason("b", 1.0, 4.0, -1, 0.25, 0.25))
        assert sentence(OddRow(0, 1.0, 0.25, reasons)) == (
            "a is too high (3, expected about 1): 50 % of the outlierness; "
            "b is too low (1, expected about 4): 25 %; 25 % belongs to no single variable"
        )

    def test_value_as_expected_on_average(self):
        reason = Reason("a", 3.0, 3.0, 0, 0.5, 0.5)
        assert sentence(OddRow(0, 1.0, 0.5, (reason,))).startswith("a is in an unusual combination (3): 50 %")

    def test_numbers_that_are_equal_to_rounding_need_no_digits_to_tell_them_apart(self):
        reason = Reason("a", 0.1 + 0.2, 0.3, 0, 0.5, 0.5)
        assert observation(reason) == "a is in an unusual combination (0.3)"
        near = Reason("zone", 1000.41, 1000.38, 0, 0.5, 0.5)
        assert observation(near) == "zone is 1000.41, normal rows like this have 1000.38"

    def test_variables_that_speak_against_it(self):
        reasons = tuple(Reason(n, 1.0, 2.0, -1, s, s) for n, s in [("a", 1.2), ("b", 0.1), ("c", -0.4)])
        assert "the other variables speak against it (-40 %); 10 %" in sentence(OddRow(0, 1.0, 0.1, reasons))
        assert "speak against" not in sentence(OddRow(0, 1.0, 0.1, (Reason("a", 1.0, 2.0, -1, 0.9, 0.9),)))

    def test_a_score_below_zero(self):
        assert sentence(OddRow(0, -2.5, 0.0, ())) == "nothing is odd about this row: its outlierness is -2.5"

    def test_categories_may_have_been_compared_as_texts(self):
        assert observation(Reason("a", 1, "1", 0, 0.5, 0.5)) == "a is in an unusual combination (1)"
        assert observation(Reason("a", 1, "2", 0, 0.5, 0.5)) == "a is 1, normal rows like this have '2'"

    def test_the_expected_category_itself_is_odd_only_beside_others(self):
        told = Reason("country", "DE", "DE", 0, 1.0, 1.0)
        assert (told.judgement, told.words) == (
            "in an unusual combination",
            "country is in an unusual combination ('DE')",
        )

    def test_noise_of_computing_is_not_told(self):
        """Of a column that is scaled and back, 0 comes back as 4.44e-16."""
        told = Reason("a", 0.25, 4.44e-16, 1, 1.0, 1.0, resolution=0.01)
        assert told.words == "a is too high (0.25, expected about 0)"
        same = Reason("a", 0.0, 4.44e-16, 0, 1.0, 1.0, resolution=0.01)
        assert same.words == "a is in an unusual combination (0)"

    def test_means_of_counts_are_told_as_counts_unless_they_would_look_the_same(self):
        told = [Reason("a", value, 5.01, 1, 1.0, 1.0, resolution=1.0).words for value in (9.0, 5.0)]
        assert told == ["a is too high (9, expected about 5)", "a is too high (5, expected about 5.01)"]

    def test_a_date_is_not_compared_with_the_number_a_scaler_made_of_it(self):
        reason = Reason("when", dt.datetime(2024, 5, 1), 1.7e15, 0, 0.5, 0.5)
        assert observation(reason) == "when is unusual (2024-05-01, a Wednesday)"

    def test_long_names_and_names_of_several_lines(self):
        words = observation(Reason("a\n b" + "c" * 10_000, 1.0, 2.0, -1, 0.5, 0.5))
        assert words.startswith("a bccc")
        assert len(words) < 150
        assert observation(Reason(" ", 1.0, 2.0, -1, 0.5, 0.5)).startswith("' ' is too low")

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (float("inf"), "inf"),
            (28.11, "28.1"),
            (12000.0, "12000"),
            (12345.6, "12346"),
            (999.96, "1000"),
            (-0.01234, "-0.0123"),
            (0.000045, "0.000045"),
            (-0.0, "0"),
            (1e300, "1e+300"),
            (5e-324, "4.94e-324"),
        ],
    )
    def test_numbers_for_people(self, value, text):
        assert number(value) == text

    def test_close_numbers_are_told_apart(self):
        assert distinct_numbers(1000.41, 1000.38) == ("1000.41", "1000.38")
        assert distinct_numbers(0.5, 0.5) == ("0.5", "0.5")


class TestNeighbors:
    def test_largest_assignment_first_with_training_rows(self, e, model):
        for i, neighbors in enumerate(e.neighbors(3)):
            p = e.network.assignment(e.data[[i]])[0]
            assert [n.center for n in neighbors] == np.argsort(-p, kind="stable")[:3].tolist()
            for n in neighbors:
                assert n.row == model.support_[n.center]
                assert n.assignment == pytest.approx(p[n.center])
                similarity = e.network.inlier_relevance(e.data[[i]])[0, n.center]
                assert n.similarity == pytest.approx(similarity)

    def test_similarities_sum_to_the_inlierness(self, e):
        for neighbors, g in zip(e.neighbors(10_000), e.inlierness, strict=True):
            assert sum(n.similarity for n in neighbors) == pytest.approx(g)

    def test_own_center_is_no_neighbor(self, model, normal):
        e = whyodd.explain(model, normal)
        for own, neighbors in zip(e.excluded, e.neighbors(10_000), strict=True):
            assert own not in [n.center for n in neighbors]

    def test_network_without_training_rows(self):
        e = whyodd.explain(whyodd.DistanceNetwork([[0.0], [1.0]]), [[0.2]])
        assert [n.row for n in e.neighbors(1)[0]] == [None]


class TestFrame:
    @pytest.mark.parametrize(
        ("make", "kind"),
        [
            (lambda frame: frame, pd.DataFrame),
            (pl.from_pandas, pl.DataFrame),
            (pa.Table.from_pandas, pa.Table),
            (lambda frame: frame.to_numpy(), pd.DataFrame),
        ],
    )
    def test_same_kind_as_came_in(self, model, odd, make, kind):
        assert isinstance(whyodd.explain(model, make(odd)).to_frame(), kind)

    def test_tidy(self, e):
        frame = e.to_frame()
        assert list(frame.columns) == [
            "row", "feature", "value", "expected", "direction", "relevance", "share", "outlierness",
        ]  # fmt: skip
        assert len(frame) == 4 * (3 + 1)
        sums = frame.groupby("row")["relevance"].sum()
        np.testing.assert_allclose(sums, e.outlierness, rtol=1e-12)
        np.testing.assert_allclose(frame.groupby("row")["share"].sum(), 1.0, rtol=1e-12)
        line = frame[(frame["row"] == 1) & (frame["feature"] == "speed")].iloc[0]
        assert line["value"] == 62.0
        assert line["relevance"] == e.relevance[1, 0]
        assert line["expected"] == e.expected[1, 0]
        rest = frame[frame["feature"] == "(unexplained)"]
        np.testing.assert_array_equal(rest["relevance"], e.unexplained)
        assert rest["value"].isna().all()

    def test_polars_gets_null_not_nan(self, model, odd):
        frame = whyodd.explain(model, pl.from_pandas(odd)).to_frame()
        assert frame["value"].null_count() == 4
        assert not frame["value"].is_nan().any()

    def test_rows_of_a_slice_keep_their_numbers(self, e):
        assert set(e.top(1).to_frame()["row"]) == set(e.top(1).rows.tolist())

    def test_float32_and_sparse(self, model, odd):
        e = whyodd.explain(model, sparse.csr_matrix(odd.to_numpy(dtype=np.float32)))
        assert len(e.to_frame()) == 16

    @pytest.mark.full
    def test_without_frame_packages_the_error_names_the_extra(self):
        assert "pip install 'whyodd[pandas]'" in _without("pandas", "polars", "pyarrow", call="to_frame()")


class TestDict:
    def test_is_json(self, e, odd):
        parsed = json.loads(json.dumps(e.to_dict()))
        assert parsed["feature_names"] == ["speed", "heat", "load"]
        assert parsed["self_excluded"] == 0
        row = parsed["rows"][2]
        assert row["row"] == 2
        assert row["excluded"] is None
        assert row["value"] == odd.iloc[2].tolist()
        assert sum(row["relevance"]) + row["unexplained"] == pytest.approx(row["outlierness"])
        assert row["direction"] == e.direction[2].tolist()


# shap itself warns when it is imported and when it draws, which is not ours to mend.
@pytest.mark.filterwarnings(
    "ignore::PendingDeprecationWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"
)
class TestShap:
    def test_base_plus_values_is_the_outlierness(self, e):
        s = e.to_shap()
        np.testing.assert_allclose(s.base_values + s.values.sum(axis=1), e.outlierness, rtol=1e-12)
        assert s.feature_names == ["speed", "heat", "load"]

    def test_waterfall_draws_the_row(self, e):
        import shap

        ax = shap.plots.waterfall(e.to_shap()[1], show=False)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert any("speed" in label for label in labels)
        plt.close("all")

    def test_sparse_rows(self, model, odd):
        s = whyodd.explain(model, sparse.csr_matrix(odd)).to_shap()
        np.testing.assert_array_equal(s.data, odd)

    @pytest.mark.full
    def test_without_shap_the_error_names_the_extra(self):
        assert "pip install 'whyodd[shap]'" in _without("shap", call="to_shap()")


class TestViews:
    def test_repr_is_a_few_readable_lines(self, e):
        lines = repr(e).splitlines()
        assert lines[0].startswith("<Explanation of 4 rows, 3 variables; outlierness ")
        assert f"row {e.top(1).rows[0]}: {e.top(1).why()}" in lines[1]
        assert len(lines) == 2

    def test_repr_of_nothing(self, e):
        assert repr(e[:0]) == "<Explanation of 0 rows, 3 variables>"

    def test_self_exclusion_is_told_everywhere(self, model, normal):
        e = whyodd.explain(model, normal)
        n = len(model.support_)
        note = f"{n} rows of the training data, each judged without its own center"
        assert note in repr(e)
        assert note in e._repr_html_()
        assert e.to_dict()["self_excluded"] == n
        assert e.to_dict()["rows"][int(model.support_[0])]["excluded"] == 0

    def test_html_shows_the_oddest_rows_with_reasons(self, e):
        html = e._repr_html_()
        assert html.count("<tbody") == 4
        assert html.count("no single variable") == 4
        assert html.index("speed") > 0
        assert "▲" in html
        assert "▼" in html

    def test_html_of_hostile_names_is_text(self, model, odd):
        names = ("<script>alert(1)</script>", "a'\"&</td>", "</style><b>")
        e = whyodd.explain(whyodd.neuralize(model), odd.set_axis(list(names), axis=1))
        html = e._repr_html_()
        assert "<script" not in html
        assert "</style>" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
        assert "a&#x27;&quot;&amp;&lt;/td&gt;" in html


def _without(*packages, call):
    """What calling a method says in a Python where ``packages`` cannot be imported."""
    code = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import whyodd
e = whyodd.explain(whyodd.DistanceNetwork([[0.0], [1.0]]), [[3.0]])
try:
    e.{call}
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout
