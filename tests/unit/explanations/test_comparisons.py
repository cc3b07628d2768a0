"""What a value is compared with in words: every range and share is that of the rows named."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import whyodd
from whyodd.explanations.comparisons import judgement_of, loudest, span
from whyodd.explanations.sentences import number
from whyodd.explanations.sides import sides_of
from whyodd.network.committee import DOES_NOT_GO_WITH, FOR_ROWS_LIKE_IT, IN_ITSELF, KINDS

ITSELF, LIKE, PAIR = map(KINDS.index, (IN_ITSELF, FOR_ROWS_LIKE_IT, DOES_NOT_GO_WITH))
N = 600


def table():
    """Speed and power go together; a colour that nearly all have."""
    rng = np.random.default_rng(0)
    speed = rng.normal(50.0, 10.0, N)
    colour = np.where(np.arange(N) % 25 == 0, "rare", rng.choice(["red", "blue"], N)).astype(object)
    return pd.DataFrame({"speed": speed, "power": 2.0 * speed + rng.normal(0.0, 4.0, N), "colour": colour})


FRAME = table()
ROWS = pd.DataFrame(
    {
        "speed": [150.0, 40.0, 50.0, 50.0, np.nan, -60.0],
        "power": [100.0, 125.0, 100.0, 100.0, 100.0, 100.0],
        "colour": ["red", "red", "green", "rare", "blue", None],
    }
)


@pytest.fixture(scope="module")
def pipeline():
    return whyodd.auto(FRAME.assign(speed=FRAME["speed"].where(FRAME.index % 17 > 0)))


@pytest.fixture(scope="module")
def e(pipeline):
    return whyodd.explain(pipeline, ROWS, exclude_self=False)


def reason(e, row, name):
    return next(reason for reason in e.reasons(row) if reason.name == name)


def usual_of(pipeline, name):
    """The rows that tell what is usual, read from the model's own in raw units."""
    place = ["speed", "power"].index(name)
    return pipeline[-1].network_.usual[:, place]


@pytest.mark.parametrize(("row", "judged"), [(0, "too high"), (5, "too low")])
def test_an_extreme_is_told_with_the_usual_range(e, pipeline, row, judged):
    told = reason(e, row, "speed")
    low, high = np.quantile(usual_of(pipeline, "speed"), [0.05, 0.95], method="nearest")
    assert (told.kind, told.judgement) == (IN_ITSELF, judged)
    value = number(ROWS["speed"][row])
    assert told.words == f"speed is {judged} ({value}, usually {number(low)} to {number(high)})"


def test_a_value_that_is_usual_alone_is_never_called_odd_in_itself(e, pipeline):
    """A broken correlation: both values lie in the middle 90 %."""
    for name in ("speed", "power"):
        low, high = np.quantile(usual_of(pipeline, name), [0.05, 0.95], method="nearest")
        assert low < ROWS[name][1] < high
        told = reason(e, 1, name)
        assert told.kind != IN_ITSELF
        assert "too" not in told.judgement
    assert e.outlierness[1] > e.threshold


def test_the_range_of_rows_like_it_is_that_of_the_nearest_tenth(e, pipeline):
    network, told = pipeline[-1].network_, reason(e, 1, "power")
    if told.kind == DOES_NOT_GO_WITH:
        told = reason(e, 2, "power")
        row = 2
    else:
        row = 1
    scaled = network.scaled(e.inputs[[row]])[0]
    near = np.argsort(np.linalg.norm(network.scaled(network.centers) - scaled, axis=1))
    near = near[: network.neighborhood.pooling.k]
    low, high = np.quantile(network.centers[near, 1], [0.1, 0.9], method="nearest")
    value = ROWS["power"][row]
    direction = 1 if value > high else -1 if value < low else 0
    assert ("rows like it have" in told.words) == (direction != 0)
    if direction:
        assert told.words.endswith(f"rows like it have {number(low)} to {number(high)})")
    assert told.direction == direction
    assert told.judgement == judgement_of(LIKE, direction)


def test_what_does_not_go_together_is_told_with_its_partner(e, pipeline):
    """Known rows whose power is in the same bin have the range that is told."""
    network, plain = pipeline[-1].network_, reason(e, 1, "speed")
    judged, told, *_ = e.comparisons.words(plain, 0, PAIR, e.inputs[[1]], None)
    assert judged == "at odds with others"
    pairs = next(view.score for view in network.views if view.kind == DOES_NOT_GO_WITH)
    edges, seen = pairs.edges[:, 1], network.scaled(network.centers)[:, 1]
    own = network.scaled(e.inputs[[1]])[0, 1]
    alike = [j for j, z in enumerate(seen) if sum(edges < z) == sum(edges < own)]
    low, high = np.quantile(network.centers[alike, 0], [0.1, 0.9], method="nearest")
    assert low > 40.0
    assert told == f"speed 40 does not go with power 125: such rows have {number(low)} to {number(high)}"


def test_a_value_that_such_rows_have_too_is_told_without_a_range():
    """Between the two humps of such rows there is a gap: their range would say that all is well."""
    rng = np.random.default_rng(0)
    hump = rng.normal(size=1_000)
    level = np.where(np.arange(1_000) % 2 == 0, 0.0, rng.choice([-4.0, 4.0], 1_000))
    frame = pd.DataFrame({"hump": hump, "level": level + 0.3 * rng.normal(size=1_000)})
    frame["side"] = np.where(np.arange(1_000) % 2 == 0, 1.0, 3.0) + 0.1 * rng.normal(size=1_000)
    row = pd.DataFrame({"hump": [0.0], "level": [0.0], "side": [3.0]})
    e = whyodd.explain(whyodd.auto(frame), row, exclude_self=False)
    judged, told, *_ = e.comparisons.words(reason(e, 0, "level"), 1, PAIR, e.inputs, None)
    assert (judged, told) == ("at odds with others", "level 0 does not go with side 3: few rows have both")
    usual = whyodd.explain(whyodd.auto(frame), row.assign(level=4.0), exclude_self=False)
    _, told, *_ = usual.comparisons.words(reason(usual, 0, "level"), 1, PAIR, usual.inputs, None)
    assert "few rows" not in told


def test_a_value_within_the_range_of_rows_like_it_is_told_with_its_partner(e):
    """The range of rows like it would say nothing; that of rows with its power does."""
    plain = replace(reason(e, 1, "speed"), direction=0)
    judged, told, *_ = e.comparisons.words(plain, 0, LIKE, e.inputs[[1]], None)
    assert judged == "in an unusual combination"
    assert told.startswith("speed 40 does not go with power 125: such rows have ")


def test_ranges_are_those_of_values_that_there_are():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"children": rng.poisson(1.5, 300), "rooms": rng.poisson(4.0, 300)})
    frame["spent"] = 3.0 * frame["children"] + frame["rooms"] + rng.normal(size=300)
    e = whyodd.explain(whyodd.auto(frame), frame)
    for variable in (0, 1):
        low, high = e.comparisons.usual_range(variable)
        assert {low, high} <= set(frame.iloc[:, variable])
    for words in (reason(e, i, "children").words for i in range(100)):
        assert re.search(r"\d\.\d", words.split("does not go with")[0].split("such rows")[0]) is None


def test_digits_tell_a_value_from_the_ends_of_its_range():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"level": 1_000.0 + 1e-3 * rng.random(300), "other": rng.normal(size=300)})
    frame.loc[0, "level"] = 1_000.002
    told = reason(whyodd.explain(whyodd.auto(frame), frame), 0, "level")
    value, low, high = map(float, re.findall(r"\d+\.?\d*", told.words))
    assert told.judgement == "too high"
    assert value > high >= low


@pytest.mark.parametrize("kind", [ITSELF, LIKE, PAIR])
def test_numbers_that_are_taken_as_categories_are_told_as_such(kind):
    """Zeros and ones are a yes or no, which has no range."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"is_new": (rng.random(200) < 0.03).astype(float), "size": rng.normal(size=200)})
    e = whyodd.explain(whyodd.auto(frame), frame)
    row = int(np.flatnonzero(frame["is_new"])[0])
    judged, told, *_ = e.comparisons.words(reason(e, row, "is_new"), 0, kind, e.inputs[[row]], None)
    assert judged == judgement_of(kind, 0)
    assert "nan" not in told
    assert "does not go with" in told or "of usual rows have it" in told or "no usual row has it" in told
    assert e.comparisons.usual_range(0) is None
    assert [value for value, _ in e.comparisons.usual_shares(0)] == [0.0, 1.0]


@pytest.mark.parametrize("kind", [int, float, bool])
def test_a_yes_or_no_has_its_share_whatever_the_type(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"is_new": (rng.random(300) < 0.3).astype(kind), "size": rng.normal(size=300)})
    e = whyodd.explain(whyodd.auto(frame), frame)
    shares = {str(value): share for value, share in e.comparisons.usual_shares(0)}
    for i in range(10):
        told = reason(e, i, "is_new")
        share = shares[str(frame["is_new"][i])]
        assert f"({100 * share:.0f} % of usual rows have it" in told.words
        # Nearly a third have the rarer one: nobody may call it odd in itself.
        assert told.kind != IN_ITSELF


def test_what_is_at_odds_has_no_arrow(e):
    """Which way depends on what it is put beside."""
    kinds = np.full(e.relevance.shape, PAIR, dtype=np.int8)
    signs = e.comparisons.direction(np.ones_like(kinds), kinds, np.zeros(kinds.shape), np.ones_like(kinds))
    assert not signs.any()


def test_without_a_partner_it_is_told_that_it_is_usual_in_itself(e):
    """The row has nothing that surprises: the range of rows like it would say that all is well."""
    plain = reason(e, 2, "speed")
    judged, told, *_ = e.comparisons.words(plain, 0, PAIR, e.inputs[[2]], None)
    assert judged == "at odds with others"
    assert told.startswith("speed is at odds with others (50, usual in itself: ")


def test_a_number_is_not_at_odds_with_the_mark_of_its_own_gaps():
    """Where half are missing, filled by the median, a number near the median is a surprise to the mark."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"speed": rng.normal(50.0, 5.0, 400), "load": rng.gamma(2.0, 3.0, 400)})
    frame["speed"] = frame["speed"].where(frame.index % 2 == 0)
    e = whyodd.explain(whyodd.auto(frame), frame)
    e.comparisons.words(reason(e, 0, "speed"), 0, PAIR, e.inputs[[0]], None)
    for i in range(len(e)):
        assert "does not go with speed" not in reason(e, i, "speed").words


class TestCategories:
    def test_one_that_nobody_has_is_odd_in_itself(self, e):
        told = reason(e, 2, "colour")
        assert (told.kind, told.judgement) == (IN_ITSELF, "unusual")
        assert told.words.startswith("colour is 'green' (no usual row has it; rows like it mostly have '")

    def test_a_rare_one_is_told_with_its_share(self, e):
        told = reason(e, 3, "colour")
        codes, values = e.comparisons.usual.categories[2]
        share = np.mean(codes == list(values).index("rare"))
        assert 0.01 < share < 0.05
        assert f"({100 * share:.0f} % of usual rows have it; rows like it mostly have " in told.words

    def test_a_common_one_is_not_odd_in_itself_for_its_rarity(self, e):
        told = reason(e, 1, "colour")
        codes, values = e.comparisons.usual.categories[2]
        share = np.mean(codes == list(values).index("red"))
        assert f"({100 * share:.0f} % of usual rows have it" in told.words

    def test_rare_ones_that_are_taken_together_are_not_called_unheard_of(self):
        rng = np.random.default_rng(0)
        town = np.array([f"town {i}" for i in rng.integers(0, 90, 2_000)], dtype=object)
        frame = pd.DataFrame({"x": rng.normal(size=2_000), "town": town})
        e = whyodd.explain(whyodd.auto(frame), frame[:60])
        words = [reason(e, i, "town").words for i in range(60)]
        assert any("(rare or new, as in " in told for told in words)
        assert not any("no usual row has it" in told for told in words)


def test_a_gap_is_called_missing(e):
    for row, name in ((4, "speed"), (5, "colour")):
        told = reason(e, row, name)
        assert (told.judgement, told.words) == ("missing", f"{name} is missing")


def test_a_date_is_not_called_a_value_that_nobody_has():
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.uniform(0, 90 * 24, 300), unit="h")
    frame = pd.DataFrame({"x": rng.normal(size=300), "when": when})
    e = whyodd.explain(whyodd.auto(frame), frame)
    for i in range(20):
        told = reason(e, i, "when")
        assert told.words.startswith(f"when is {told.judgement} ({frame['when'][i]}")
        assert "usual row" in told.words  # of the part that is odd


def test_kinds_follow_the_values_whatever_view_speaks(e):
    """Extremes are odd in themselves, and what is usual is not, for each kind that may be spoken of."""
    data = e.data
    for spoken in (ITSELF, LIKE, PAIR):
        found = e.comparisons.kinds(np.full(e.relevance.shape, spoken, dtype=np.int8), data)
        assert found[0, 0] == found[5, 0] == found[2, 2] == ITSELF
        assert found[2, 0] == found[2, 1] == (LIKE if spoken == ITSELF else spoken)


def test_nothing_is_left_over(e):
    for i in range(len(e)):
        assert "no single variable" not in e.why(i)
        assert sum(one.share for one in e.reasons(i)) == pytest.approx(1.0)


def test_the_loudest_kind_is_that_with_the_most_relevance():
    by_kind = np.array([[[0.1, 0.5, 0.2], [0.3, 0.0, 0.4]]])
    assert loudest(by_kind, lambda parts: parts).tolist() == [[1, 2]]
    both = loudest(by_kind, lambda parts: parts.sum(axis=1, keepdims=True))
    assert both.tolist() == [[2]]  # 0.4, 0.5 and 0.6 of the two columns together
    assert loudest(None, lambda parts: parts) is None


def test_ranges_that_read_the_same_are_told_once():
    assert span(1.0001, 1.0002) == "about 1"
    assert span(-2.0, 3.5) == "-2 to 3.5"


def test_models_without_kinds_have_no_comparisons():
    X = np.random.default_rng(0).normal(size=(50, 2))
    e = whyodd.explain(whyodd.KernelDensity().fit(X), X)
    assert e.comparisons is None
    assert e.reason_kinds is None
    assert e.reasons(0)[0].kind is None


@pytest.mark.parametrize("n_known", [1, 2, 7, 20])
def test_sides_are_those_of_the_range(n_known):
    """Counted, not sorted: as by quantiles of the known values, gaps left out."""
    rng = np.random.default_rng(n_known)
    known = np.round(rng.normal(size=(3, n_known)), 1)
    known[rng.random(known.shape) < 0.3] = np.nan
    known[2] = np.nan
    values = np.round(rng.normal(size=(200, 3)), 1)
    values[:20] *= 1.0 + 1e-12  # equal to rounding
    alike = np.stack([rng.permutation(n_known)[: max(1, n_known // 2)] for _ in values])
    wanted = rng.random(values.shape) < 0.8
    found = sides_of(values, alike, wanted, known, (0.1, 0.9))
    for (i, c), value in np.ndenumerate(values):
        there = known[c][alike[i]]
        there = there[~np.isnan(there)]
        side = 0
        if wanted[i, c] and there.size:
            low, high = np.quantile(there, (0.1, 0.9), method="nearest")
            side = int(value > high + 1e-9 * abs(value)) - int(value < low - 1e-9 * abs(value))
        assert found[i, c] == side
