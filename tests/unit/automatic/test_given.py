"""Rows compared with rows alike in context."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

import whyodd
from whyodd.automatic.alike import ENOUGH
from whyodd.automatic.given import GivenContext
from whyodd.maths.robust_scales import center_and_scale

MONDAY = dt.datetime(2024, 1, 1)
_NORMAL = 2 * 1.2815515655446004  # range of the middle 80 % of a normal distribution


@pytest.fixture(scope="module")
def shop():
    """Ten weeks of hourly orders: few at night and at weekends, and one Sunday at 03:00 as on any day."""
    rng = np.random.default_rng(0)
    when = [MONDAY + dt.timedelta(hours=i) for i in range(70 * 24)]
    level = [(80 if t.weekday() < 5 else 40) * (1 + 4 * (8 <= t.hour < 20)) for t in when]
    frame = pd.DataFrame({"when": when, "orders": rng.poisson(level), "free": rng.normal(size=len(when))})
    frame.loc[6 * 24 + 3, "orders"] = 400
    return frame


@pytest.fixture(scope="module")
def found(shop):
    return whyodd.find(shop, given="when")


# ---- what is usual in a context ---------------------------------------------------------------------------


def context_table(n=150, seed=0):
    """Contexts: a category, of which "c" is rare, and a number with ties. Then two numbers, with a gap."""
    rng = np.random.default_rng(seed)
    place = rng.choice(["a", "b", "c"], n, p=[0.55, 0.38, 0.07])
    size = rng.integers(0, 40, n).astype(float)
    y = size * 2 + np.where(place == "a", 10, 90) + rng.normal(size=n)
    sparse = np.where(rng.random(n) < 0.8, 0.0, rng.exponential(size=n))
    sparse[5] = np.nan
    return pd.DataFrame({"place": place, "size": size, "y": y, "sparse": sparse})


def own_middle(values):
    """Median, spread and number of values; None where there is no spread."""
    values = values[~np.isnan(values)]
    if values.size == 0:
        return 0.0, None, 0
    median = float(np.quantile(values, 0.5))
    spread = float(np.quantile(values, 0.9) - np.quantile(values, 0.1)) / _NORMAL
    others = np.abs(values[values != median] - median)
    if others.size and (others.size < 0.5 * values.size or spread <= 0.0):
        spread = max(spread, float(np.median(others)))
    return median, spread if spread > 0.0 else None, values.size


def plain_middle(step, codes, ranks, values, row, column, *, is_known):
    """m and s of one row and column, as loops: all but the row itself are looked at one by one."""
    location = spread = 0.0
    for level in range(codes.shape[1] + 1):
        members = [i for i in range(len(codes)) if (codes[i, :level] == codes[row, :level]).all()]
        wanted = max(ENOUGH, round(len(members) ** 0.5))
        if len(members) > wanted:
            distance = {i: abs(ranks[i] - ranks[row]) for i in members}
            order = sorted(distance.values())
            farthest = 0.0 if order[ENOUGH - 1] <= 1e-9 else order[wanted - 1]
            members = [i for i in members if distance[i] <= farthest + 1e-9]
        others = [i for i in members if not (is_known and i == row)]
        median, own, n = own_middle(values[others, column])
        own = step.quiet_[column] if own is None else own
        uneven, typical = step.uneven_[level, column], step.typical_[level, column]
        keep = 1.0 if math.isinf(uneven) else uneven / (uneven + 0.79 / n) if n else 0.0
        own = math.exp(keep * (math.log(own) - typical) + typical)
        unsure = 1.0 + math.pi / 2.0 / n if n else 1.0
        if level == 0 or n + is_known >= ENOUGH:
            location, spread = median, own * math.sqrt(unsure)
            continue
        weight = n / (n + step.ratio_[level - 1, column]) if n else 0.0
        part = n / ENOUGH
        variance = unsure * (part * own**2 + (1 - part) * step.within_[level - 1, column] ** 2)
        location = weight * median + (1 - weight) * location
        spread = math.sqrt(weight * variance + (1 - weight) * spread**2)
    return location, spread


def test_location_and_spread_are_those_of_plain_loops():
    frame = context_table()
    step = GivenContext(("category", "number")).fit(frame)
    told = step.given(frame, [0, 1, 2, 3], list(frame), {})
    codes = np.column_stack([pd.factorize(frame["place"])[0], np.zeros(len(frame), dtype=int)])
    ranks = (frame["size"].rank().to_numpy() - 0.5) / len(frame)
    values = frame[["y", "sparse"]].to_numpy()
    for row in range(0, len(frame), 3):
        for column in range(2):
            is_known = not np.isnan(values[row, column])
            expected = plain_middle(step, codes, ranks, values, row, column, is_known=is_known)
            got = told.location[row, 2 + column], told.spread[row, 2 + column]
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    seen = step.transform(frame)[:, 0]
    np.testing.assert_allclose(seen, (values[:, 0] - told.location[:, 2]) / told.spread[:, 2], rtol=1e-12)


def whole_days(n_days, seed, first=0):
    """Twenty rows a day, at 12:00 and 13:00. The levels of the days differ twice as much as rows of a day."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(n_days), 20)
    when = [MONDAY + dt.timedelta(days=first + int(d), hours=12 + i % 2) for i, d in enumerate(day)]
    y = 2.0 * rng.normal(size=n_days)[day] + rng.normal(size=day.size)
    return pd.DataFrame({"when": when, "y": y, "kind": np.where(day % 3 == 0, "x", "z")})


def test_a_row_is_compared_with_other_days():
    frame = whole_days(35, 0)
    step = GivenContext(("weekday",), (False,)).fit(frame)
    told = step.given(frame, [0, 1, 2], list(frame), {})
    day, weekday = frame["when"].dt.date, frame["when"].dt.day_of_week
    for row in range(0, len(frame), 11):
        others = (weekday == weekday[row]) & (day != day[row])
        assert told.n_alike[row] == others.sum()
        np.testing.assert_allclose(told.location[row, 1], frame.loc[others, "y"].median())


def test_days_to_come_are_as_usual_as_days_that_were_learned():
    ratios = []
    for seed in range(6):
        known, new = whole_days(70, seed), whole_days(70, 100 + seed, first=70)
        step = GivenContext(("weekday",), (False,)).fit(known)
        learned, come = (np.std(step.transform(frame)[:, 0]) for frame in (known, new))
        ratios.append(learned / come)
    # A ratio has a standard deviation of 0.07. If rows count for their own day, the mean is 0.85.
    assert 0.92 < np.mean(ratios) < 1.08


def test_one_day_alone_is_compared_with_itself():
    frame = whole_days(1, 0)
    step = GivenContext(("time of day",), (False,)).fit(frame)
    told = step.given(frame, [0, 1, 2], list(frame), {})
    assert (told.n_alike == len(frame) // 2 - 1).all()
    assert np.isfinite(step.transform(frame)).all()


def test_small_groups_trust_themselves_as_far_as_groups_differ():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(150), 8).astype(str)
    noise = rng.normal(size=1_200)
    apart = pd.DataFrame({"group": group, "y": noise + 50.0 * np.repeat(rng.normal(size=150), 8)})
    alike = pd.DataFrame({"group": group, "y": noise})
    differ, same = (GivenContext(("category",)).fit(frame) for frame in (apart, alike))
    assert differ.ratio_[0, 0] < 0.01
    assert same.ratio_[0, 0] > 8.0  # a group of 8 counts less than half
    np.testing.assert_allclose(differ.within_[0, 0], 1.0, rtol=0.25)
    seen = same.transform(alike)[:, 0]
    np.testing.assert_allclose(seen, noise / center_and_scale(noise[:, None])[1], atol=0.6)


@settings(max_examples=25, deadline=None)
@drawn(st.lists(st.integers(-(10**6), 10**6), min_size=4, max_size=4), st.integers(0, 1_000))
def test_what_a_discrete_context_adds_changes_nothing(shifts, seed):
    rng = np.random.default_rng(seed)
    cell = rng.permutation(np.repeat(np.arange(4), ENOUGH + 5))
    frame = pd.DataFrame({"cell": cell.astype(str), "y": rng.poisson(30, cell.size).astype(float)})
    moved = frame.assign(y=frame["y"] + np.array(shifts)[cell])
    before, after = (GivenContext(("category",)).fit_transform(each) for each in (frame, moved))
    np.testing.assert_allclose(after, before, rtol=1e-8, atol=1e-8)  # a millionth part of a unit rounds


def test_shares_of_categories_are_counted_among_others():
    rng = np.random.default_rng(0)
    place = rng.choice(["a", "b"], 200)
    kind = np.where(rng.random(200) < np.where(place == "a", 0.9, 0.1), "x", "z")
    frame = pd.DataFrame({"place": place, "kind": kind})
    step = GivenContext(("category",), (False,)).fit(frame)
    told = step.given(frame, [0, 1], ["place", "kind"], {})
    for row in range(0, 200, 7):
        share = 1.0 / 3.0
        for level, alike in ((0, np.ones(200, bool)), (1, place == place[row])):
            others = [i for i in range(200) if alike[i] and i != row]
            same = sum(kind[i] == kind[row] for i in others)
            strength = step.strength_[level, 0]
            share = (same + strength * share) / (len(others) + strength)
        np.testing.assert_allclose(told.share[row, 1], share)
        entry = step.transform(frame[row : row + 1])[0, list(step.labels_[0]).index(kind[row])]
        np.testing.assert_allclose(entry, math.sqrt(-2.0 * math.log(share)))
    assert [told.labels[1][code] for code in told.common[:3, 1]] == [
        "x" if p == "a" else "z" for p in place[:3]
    ]


# ---- laws of the whole ------------------------------------------------------------------------------------


def test_context_is_never_blamed_and_relevance_adds_up(found):
    e = found.explanation
    assert (e.relevance[:, e.feature_names.index("when")] == 0.0).all()
    np.testing.assert_allclose(e.relevance.sum(axis=1), e.outlierness, rtol=1e-9)
    reason = next(reason for reason in e.reasons(0) if reason.name == "when")
    assert (reason.judgement, reason.words) == ("context", "when is context")


def test_what_is_usual_elsewhere_is_odd_in_its_context(found, shop):
    assert found.explanation.top(1).rows[0] == 6 * 24 + 3
    words = found.explanation.top(1).reasons(0)[0].words
    start = "orders is too high for a Sunday at 03:00 (400, usually "
    assert words.startswith(start)
    told, borrows = words.removeprefix(start).split("; ")
    assert borrows == "only 9 such rows are known, so others count too)"
    low, high = map(float, told.split(" to "))
    assert 20 < low < 40 < high < 65
    # Without a context 400 orders are what one hour in three has.
    assert whyodd.find(shop.drop(columns="when")).outlierness.argmax() != 6 * 24 + 3


def test_expected_values_are_those_of_the_context(found):
    e = found.explanation.top(1)
    np.testing.assert_allclose(e.expected[0, 1], 40, atol=12)
    assert e.direction[0, 1] == 1


def test_a_saved_model_has_its_context(tmp_path, shop, found):
    whyodd.save(found.model, tmp_path / "m.whyodd")
    loaded = whyodd.load(tmp_path / "m.whyodd")
    np.testing.assert_array_equal(loaded[:-1].transform(shop), found.model[:-1].transform(shop))
    new = shop[6 * 24 : 6 * 24 + 5].assign(when=lambda rows: rows["when"] + dt.timedelta(days=700))
    e = whyodd.explain(loaded, new)
    assert e.reasons(3)[0].words.startswith("orders is too high for a Sunday at 03:00 (400, usually ")
    whyodd.save(e, tmp_path / "e.whyodd")
    assert whyodd.load(tmp_path / "e.whyodd").why(3) == e.why(3)


def test_arrays_have_contexts_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 0] = rng.integers(0, 4, 200)
    X[:, 1] += 100.0 * X[:, 0]
    X[7, :2] = 0.0, 300.0
    e = whyodd.explain(whyodd.auto(X, given=["x0"]), X).top(1)
    assert (e.rows[0], e.reasons(0)[0].name) == (7, "x1")
    assert e.reasons(0)[0].words.startswith("x1 is too high for x0 0 (300, usually ")


# ---- contexts of every kind -------------------------------------------------------------------------------


def few(n=120, **columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"machine": rng.choice(["A", "B"], n), "y": rng.normal(size=n), "z": rng.normal(size=n)}
    )
    frame["y"] += 20.0 * (frame["machine"] == "B")
    return frame.assign(**columns)


def words_of(model, frame, name="y"):
    e = whyodd.explain(model, frame)
    return [next(r.words for r in e.reasons(i) if r.name == name) for i in range(len(e))]


def test_few_rows_borrow_from_others_and_say_so():
    frame = few()
    frame.loc[:2, "machine"] = "C"
    frame.loc[:2, "y"] = 1000.0, 10.0, 10.0
    told = words_of(whyodd.auto(frame, given=["machine"]), frame[:1])[0]
    assert told.startswith("y is too high for machine 'C' (1000, usually ")
    assert told.endswith("; only 2 such rows are known, so others count too)")


def test_a_category_never_seen_is_compared_with_all_others():
    frame = few()
    model = whyodd.auto(frame, given=["machine"])
    new = pd.DataFrame({"machine": ["Z", "A"], "y": [500.0, 500.0], "z": [0.0, 0.0]})
    told = words_of(model, new)
    assert told[0].startswith("y is too high for machine 'Z' (500, usually ")
    assert told[0].endswith("; no such row is known, so others count too)")
    assert told[1].startswith("y is too high for machine 'A' (500, usually ")
    assert "others" not in told[1]


def test_a_missing_context_is_a_context():
    rng = np.random.default_rng(0)
    load = rng.normal(size=200)
    load[:80] = np.nan
    frame = pd.DataFrame({"load": load, "y": np.where(np.isnan(load), 50.0, 0.0) + rng.normal(size=200)})
    frame.loc[0, "y"] = 0.0
    model = whyodd.auto(frame, given=["load"])
    e = whyodd.explain(model, frame)
    assert e.top(1).rows[0] == 0
    assert e.reasons(0)[0].words.startswith("y is too low for missing load (0, usually 4")
    # In a column that never had a gap it is compared with all others.
    whole = whyodd.auto(frame.assign(load=rng.normal(size=200)), given=["load"])
    assert np.isfinite(whyodd.explain(whole, frame[:3]).outlierness).all()


def test_a_constant_context_changes_nothing():
    frame = few(site="here")
    plain, given = whyodd.auto(frame.drop(columns="site")), whyodd.auto(frame, given=["site"])
    np.testing.assert_array_equal(given.score_samples(frame), plain.score_samples(frame.drop(columns="site")))
    assert "all rows are alike in it" in given.auto_report_.set_aside["site"]
    # It is not blamed if it changes.
    assert not any("site" in why for why in [whyodd.explain(given, frame[:1].assign(site="there")).why(0)])


@pytest.mark.parametrize(
    ("given", "types", "told"),
    [
        (["Machine"], {}, "There is no column 'Machine' to use as context. Did you mean 'machine'?"),
        (["name"], {}, "Column 'name' cannot be a context: nearly every row has a different value"),
        (
            ["step"],
            {},
            "Column 'step' cannot be a context: all its whole numbers differ and go up with the rows",
        ),
        (["day"], {}, "Column 'day' cannot be a context: its dates increase row by row and span no full day"),
        (["machine", "y", "z", "step"], {"step": "number"}, "which leaves no column to judge"),
        (
            ["machine"],
            {"machine": "identifier"},
            "Column 'machine' cannot be a context: it is of the kind identifier",
        ),
    ],
)
def test_what_cannot_be_given_is_told_in_a_sentence(given, types, told):
    names = [f"row {chr(97 + i % 26)}{i}" for i in range(120)]
    days = [MONDAY + dt.timedelta(seconds=i) for i in range(120)]
    frame = few(name=names, step=np.arange(120), day=days)
    with pytest.raises(ValueError, match=told.replace("?", r"\?")) as error:
        whyodd.auto(frame, given=given, types=types)
    assert "\n" not in str(error.value)


def test_people_say_what_a_context_is():
    frame = few(step=np.arange(120))
    frame["z"] = frame["step"] * 1.0
    frame.loc[60, "z"] = 0.0
    found = whyodd.find(frame, given=["step"], types={"step": "number"})
    assert found.explanation.top(1).rows[0] == 60
    assert (
        whyodd.auto(frame, given=["machine"], types={"machine": "code"}).auto_report_.columns[0].kind
        == "code"
    )


def test_given_does_not_go_with_a_model_or_as_names_of_rows():
    frame = few(id=[f"r{i}" for i in range(120)])
    with pytest.raises(ValueError, match="'id' names the rows, so it cannot also be their context"):
        whyodd.find(frame, given=["id"], id_column="id")
    with pytest.raises(ValueError, match="given cannot be used with model"):
        whyodd.find(frame, given=["machine"], model=whyodd.auto(frame))
    with pytest.raises(ValueError, match="given: only for tables"):
        whyodd.find(["a", "b"], given=["machine"])
    with pytest.raises(TypeError, match="expected column names"):
        whyodd.auto(frame, given=[3])


def test_noise_as_context_breaks_nothing():
    rng = np.random.default_rng(1)
    frame = few(noise=rng.choice(list("abcdefgh"), 120))
    frame.loc[3, "z"] = 9.0
    e = whyodd.find(frame, given=["noise", "machine"]).explanation
    assert (e.top(1).rows[0], e.top(1).reasons(0)[0].name) == (3, "z")


def test_categories_are_rare_or_not_in_their_context():
    rng = np.random.default_rng(0)
    night = rng.random(300) < 0.1
    frame = pd.DataFrame({"shift": np.where(night, "night", "day"), "door": np.where(night, "open", "shut")})
    frame["y"] = rng.normal(size=300)
    row = int(np.flatnonzero(~night)[0])
    frame.loc[row, "door"] = "open"
    e = whyodd.find(frame, given="shift").explanation.top(1)
    assert e.rows[0] == row
    told = e.reasons(0)[0].words
    assert told.startswith("door is 'open' (")
    assert told.endswith(" of rows have it for shift 'day'; most have 'shut')")
