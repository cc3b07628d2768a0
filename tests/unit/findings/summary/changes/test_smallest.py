"""The smallest change towards normal: against a plain loop, and put back into the models themselves."""

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.findings.summary.changes.ground import Ground
from whyodd.findings.summary.changes.search import MOST_VARIABLES, _near_centers, find_changes, fractions_of
from whyodd.findings.summary.changes.smallest import Change, Step, smallest_change
from whyodd.findings.summary.changes.values import _round_towards

RNG = np.random.default_rng(5)
NORMAL = RNG.normal(size=(120, 4)) + np.repeat([[0.0, 0.0, 0.0, 0.0], [6.0, 0.0, 3.0, 0.0]], 60, axis=0)
ODD = np.vstack([RNG.normal(size=(8, 4)) * 4.0, NORMAL[:4] + np.array([0.0, 9.0, 0.0, 0.0])])
# Scaled by products and back: what was checked in the network's units holds in raw units to this.
ROUNDING = 1e-9

MODELS = {
    "kernel density": lambda: whyodd.KernelDensity(),
    "one-class SVM": lambda: whyodd.OneClassSVM(),
    "scikit-learn's SVM": lambda: OneClassSVM(nu=0.2, gamma=0.1),
    "mixture": lambda: whyodd.GaussianMixture(2, random_state=0),
    "neighbours": lambda: whyodd.KNearestNeighbors(3),
    "factor": lambda: LocalOutlierFactor(5, novelty=True),
    "scaled": lambda: make_pipeline(StandardScaler(), whyodd.KernelDensity()),
    "logarithms": lambda: make_pipeline(
        FunctionTransformer(np.arcsinh, np.sinh, check_inverse=False), whyodd.KernelDensity()
    ),
    "powers": lambda: make_pipeline(PowerTransformer(), whyodd.OneClassSVM()),
    "projected": lambda: make_pipeline(StandardScaler(), PCA(2), whyodd.KernelDensity()),
    "rotated": lambda: make_pipeline(StandardScaler(), PCA(whiten=True), whyodd.KNearestNeighbors(3)),
}


@cache
def fitted(name):
    return MODELS[name]().fit(frame(NORMAL))


def outlierness(model, rows):
    return whyodd.explain(model, rows, exclude_self=False).outlierness


def put_back(rows, i, steps):
    """Row ``i`` of a frame with the values that some steps tell."""
    row = rows.iloc[[i]].astype(object)
    for step in steps:
        row[step.feature] = [step.after]
    # One by one: an object column of numbers is one of categories to scikit-learn.
    return row.astype({name: dtype for name, dtype in rows.dtypes.items() if dtype != np.int64})


def frame(values):
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=4)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(0.5, 6.0))
def test_what_is_told_makes_the_row_normal_and_nothing_less_does(name, seed, size):
    random = np.random.default_rng(seed)
    model = fitted(name)
    rows = frame(NORMAL[random.integers(0, len(NORMAL), 4)] + size * random.normal(size=(4, 4)) ** 3)
    e = whyodd.explain(model, rows, exclude_self=False)
    for i, change in enumerate(smallest_change(e, e.threshold)):
        assert bool(change) == isinstance(change, Change)
        if not change:
            assert e.outlierness[i] <= e.threshold * (1.0 + ROUNDING)
            continue
        assert list(change.before) == [rows[feature][i] for feature in change.features]
        fewer = [change.steps[:k] + change.steps[k + 1 :] for k in range(len(change.steps))]
        tried = pd.concat([put_back(rows, i, steps) for steps in (change.steps, *fewer)])
        after, *without = outlierness(model, tried)
        assert after <= e.threshold * (1.0 + ROUNDING), change
        assert change.outlierness == pytest.approx(after, rel=1e-7)
        assert min(without) > e.threshold, change


@pytest.mark.parametrize("name", ["kernel density", "scikit-learn's SVM", "mixture", "factor", "projected"])
def test_a_smaller_part_of_the_way_does_not_suffice(name):
    e = whyodd.explain(fitted(name), frame(ODD), exclude_self=False)
    search = find_changes(e, e.threshold, 5)
    assert len(search.found) > 5
    for less in (0.999, *(k / 16 for k in range(1, 16))):
        t = np.where(np.asarray(less) < search.t, less, 0.999 * search.t)
        fractions = fractions_of(search.pairs, search.chosen, t)
        assert (search.ground.outlierness(search.pairs, fractions) > e.threshold).all()


def reference(network, x, threshold, n_targets):
    """The definition, in plain loops, for a network of its own columns: (columns, center, t)."""

    def o(point):
        return float(network.outlierness(point[None])[0])

    near = network.nearest(x[None], min(4 * n_targets, network.n_centers))[0][0]
    goals = [(c, network.centers[c]) for c in near if o(network.centers[c]) <= threshold][:n_targets]
    place = network.centers[near[0]]
    for _ in range(10):
        place = network.expected(place[None])[0]
    if o(place) <= threshold:
        goals.append((near[0], place))
    found = []
    for center, goal in goals:
        way = (goal - x) @ scale_of(network, center).T
        share = (goal - x) * (way @ scale_of(network, center))
        chosen = []
        for column in np.argsort(-share, kind="stable"):
            chosen.append(column)
            if o(np.where(np.isin(np.arange(len(x)), chosen), goal, x)) <= threshold:
                break
        is_smaller = True
        while is_smaller:
            is_smaller = False
            for column in chosen[::-1]:
                fewer = [other for other in chosen if other != column]
                if fewer and o(np.where(np.isin(np.arange(len(x)), fewer), goal, x)) <= threshold:
                    chosen, is_smaller = fewer, True
        mask = np.isin(np.arange(len(x)), chosen)
        t = next(t for t in np.arange(1, 17) / 16 if o(x + t * mask * (goal - x)) <= threshold)
        low = t - 1 / 16
        while t - low > 1e-6:
            middle = (low + t) / 2
            low, t = (low, middle) if o(x + middle * mask * (goal - x)) <= threshold else (middle, t)
        way = scale_of(network, center) @ (t * mask * (goal - x))
        found.append((len(chosen), way @ way, chosen, center, t))
    fewest = min(found)[0]
    shortest = min(way for count, way, *_ in found if count == fewest)
    return next(rest for count, way, *rest in found if count == fewest and way <= 1.0001 * shortest)


def scale_of(network, center):
    d = network.n_features
    if network.metric is None:
        return np.eye(d)
    return network.metric.factors[center] if hasattr(network.metric, "factors") else network.metric.matrix


@pytest.mark.parametrize(
    "model",
    [
        whyodd.KernelDensity(sigma=0.7),
        whyodd.OneClassSVM(sigma=1.5),
        whyodd.KNearestNeighbors(3),
        whyodd.LocalOutlierFactor(5),
        whyodd.GaussianMixture(2, random_state=0),
        whyodd.Gaussian(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_changes_are_those_of_the_plain_loop(model):
    network = whyodd.neuralize(model.fit(NORMAL))
    e = whyodd.explain(model, ODD[::3], exclude_self=False)
    changes = smallest_change(e, e.threshold, n_targets=3)
    for x, o, change in zip(ODD[::3], e.outlierness, changes, strict=True):
        assert bool(change) == (o > e.threshold)
        if change:
            columns, center, t = reference(network, x, e.threshold, n_targets=3)
            assert set(change.features) == {f"x{column}" for column in columns}
            assert change.target == center
            assert change.t == pytest.approx(t, abs=2e-6)


def test_a_training_row_is_moved_to_others_and_judged_without_itself():
    rows = np.vstack([NORMAL, [[0.0, 12.0, 0.0, 0.0]]])
    model = whyodd.KernelDensity(sigma=1.0).fit(rows)
    e = whyodd.explain(model, rows)
    last = len(rows) - 1
    assert e.excluded[last] == last
    change = smallest_change(e, e.threshold)[last]
    assert change.features == ("x1",)
    assert change.row != last
    # Without the row's own center the model is that of all other rows.
    alone = whyodd.neuralize(whyodd.KernelDensity(sigma=1.0).fit(NORMAL))
    moved = rows[[last]].copy()
    moved[0, 1] = change.after[0]
    assert alone.outlierness(moved)[0] == pytest.approx(change.outlierness, rel=1e-9)
    assert change.outlierness <= e.threshold


@pytest.fixture(scope="module")
def mixed():
    random = np.random.default_rng(2)
    n = 400
    normal = pd.DataFrame(
        {
            "duration": np.exp(random.normal(3.0, 0.5, n)),
            "packets": random.poisson(20, n),
            "flag": random.choice(["SF", "REJ"], n, p=[0.9, 0.1]),
            "age": np.where(random.random(n) < 0.2, np.nan, random.normal(40.0, 8.0, n)),
            "when": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(random.uniform(8, 10, n), unit="h")
            + pd.to_timedelta(random.integers(0, 30, n), unit="D"),
        }
    )
    rows = normal.iloc[:8].reset_index(drop=True)
    rows.loc[0, "duration"] = 50_000.0
    rows.loc[1, "packets"] = 400
    rows.loc[2, "flag"] = "unheard of"
    rows.loc[3, "when"] = pd.Timestamp("2031-01-10 21:00")
    rows.loc[4, ["packets", "flag"]] = [300, "odd"]
    rows.loc[5, "age"] = 300.0
    pipeline = whyodd.auto(normal, trusted=True)
    e = whyodd.explain(pipeline, rows, exclude_self=False)
    return pipeline, rows, e, smallest_change(e, e.threshold)


def test_categories_move_whole_and_numbers_in_their_units(mixed):
    pipeline, rows, e, changes = mixed
    told = [change for change in changes if change]
    assert any("flag" in change.features for change in told)
    checked = 0
    for i, change in enumerate(changes):
        if change and all(step.is_exact and step.like is None for step in change.steps):
            after = outlierness(pipeline, put_back(rows, i, change.steps))[0]
            assert after <= e.threshold * (1.0 + ROUNDING), change.sentence
            assert after == pytest.approx(change.outlierness, rel=1e-7)
            checked += 1
    assert checked >= 3
    flags = [step for change in told for step in change.steps if step.feature == "flag"]
    assert all(step.after in ("SF", "REJ") for step in flags)


def test_whole_numbers_are_told_as_whole_numbers(mixed):
    changes = mixed[3]
    packets = [step for change in changes if change for step in change.steps if step.feature == "packets"]
    assert packets
    assert all(float(step.after).is_integer() and "." not in step.to_text for step in packets)


@pytest.mark.parametrize(
    ("further", "expected"), [(0, 32.0), (1, 31.0), (4, 28.0), (8, 26.5)], ids=lambda value: str(value)
)
def test_a_number_goes_further_but_not_beyond_the_goal(further, expected):
    assert _round_towards(32.3, 26.5, True, 3, further) == expected


def test_a_date_is_told_by_the_row_that_has_it(mixed):
    change = mixed[3][3]
    step = next(step for step in change.steps if step.feature == "when")
    assert step.after is None
    # Without the table, the model remembers parts of it.
    assert re.fullmatch(rf"(\d\d:\d\d, |a \w+day, )+.*as in training row {change.row}", step.to_text)
    assert f"when {step.to_text} instead of 2031-01-10 21:00:00" in change.sentence
    e = mixed[2]
    told = smallest_change(e, e.threshold, value_of=lambda center, name: f"{name} of {center}")[3]
    step = next(step for step in told.steps if step.feature == "when")
    assert step.to_text == f"'when of {told.target}', as in training row {told.row}"


@pytest.mark.parametrize(
    "model",
    [whyodd.KernelDensity(), whyodd.GaussianMixture(2, random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_a_number_that_is_there_stays_there_and_gaps_are_filled_by_that_of_a_row(model):
    random = np.random.default_rng(0)
    age = np.where(np.arange(200) < 60, np.nan, random.normal(40.0, 8.0, 200))
    other = np.where(np.isnan(age), 0.0, 5.0) + 0.3 * random.normal(size=200)
    normal = pd.DataFrame({"age": age, "other": other})
    pipeline = make_pipeline(whyodd.auto(normal)[0], model).fit(normal)
    rows = pd.DataFrame({"age": [np.nan, 40.0, 90.0], "other": [5.1, 0.2, 5.0]})
    e = whyodd.explain(pipeline, rows, exclude_self=False)
    changes = smallest_change(e, e.threshold)
    # Nearest to the second row are those with a gap: it keeps its number, and the other one changes.
    assert [change.features for change in changes[1:]] == [("other",), ("age",)]
    for i in (1, 2):
        after = outlierness(pipeline, put_back(rows, i, changes[i].steps))[0]
        assert after == pytest.approx(changes[i].outlierness, rel=1e-7)
    if whyodd.neuralize(model).rows is None:  # no mean of a mixture says what fills a gap
        assert changes[0].features == ("other",)
    else:
        (step,) = changes[0].steps
        assert (step.feature, step.from_text) == ("age", "missing")
        assert step.after == pytest.approx(age[changes[0].row])
        assert step.to_text.startswith("about ")


def test_categories_behind_a_projection_stay_unless_nothing_is_lost():
    random = np.random.default_rng(1)
    normal = pd.DataFrame({"a": random.choice(["u", "v", "w"], 80), "b": random.choice(["x", "y"], 80)})
    normal["b"] = np.where(normal["a"] == "u", "x", normal["b"])
    odd = pd.DataFrame({"a": ["u"], "b": ["y"]})
    for n_components, is_possible in ((5, True), (2, False)):
        model = make_pipeline(
            OneHotEncoder(sparse_output=False), PCA(n_components), whyodd.KernelDensity(sigma=0.3)
        ).fit(normal)
        e = whyodd.explain(model, odd)
        (change,) = smallest_change(e, float(outlierness(model, normal).max()) + 0.01)
        assert bool(change) == is_possible, change
        if is_possible:
            assert len(change.steps) == 1
            assert outlierness(model, put_back(odd, 0, change.steps))[0] == pytest.approx(change.outlierness)
        else:
            assert "mixes columns" in change.reason


def test_members_of_a_group_move_together_under_their_own_names():
    model = whyodd.KernelDensity(sigma=1.0).fit(frame(NORMAL))
    rows = frame(np.array([[0.0, 8.0, 0.0, -8.0], [0.0, 0.0, 0.0, 9.0]]))
    e = whyodd.explain(model, rows, groups={"both": ["x1", "x3"]})
    for i, change in enumerate(smallest_change(e, e.threshold)):
        assert set(change.features) == {"x1", "x3"}
        assert list(change.before) == [rows[name][i] for name in change.features]
        assert outlierness(model, put_back(rows, i, change.steps))[0] <= e.threshold


@pytest.mark.parametrize("kind", [sparse.csr_array, lambda X: X.astype(np.float32)], ids=["CSR", "float32"])
def test_other_kinds_of_rows(kind):
    model = whyodd.KernelDensity(sigma=1.0).fit(kind(NORMAL))
    e = whyodd.explain(model, kind(ODD), exclude_self=False)
    changes = smallest_change(e, e.threshold)
    same = whyodd.explain(whyodd.KernelDensity(sigma=1.0).fit(NORMAL), ODD, exclude_self=False)
    others = smallest_change(same, e.threshold)
    assert [change and change.features for change in changes] == [
        other and other.features for other in others
    ]


def test_far_rows_whose_assignments_are_too_small_for_floats_are_moved_to_the_nearest_centers():
    model = whyodd.KernelDensity(sigma=0.05).fit(NORMAL)
    row = np.array([[0.0, 300.0, 0.0, 0.0]])
    e = whyodd.explain(model, row)
    (near,) = _near_centers(Ground.of(e), 8)
    np.testing.assert_array_equal(near, np.argsort(np.linalg.norm(NORMAL - row, axis=1))[:8])
    (change,) = smallest_change(e, e.threshold)
    assert change.features[0] == "x1"
    assert change.outlierness <= e.threshold


def test_as_many_digits_are_told_as_it_takes():
    network = whyodd.DistanceNetwork([[0.12345, 7.0]])
    e = whyodd.explain(network, [[5.0, 7.0]])
    for reach, told in ((1e-2, "0.133"), (1e-4, "0.1235"), (1e-5, "0.123459"), (0.0, "0.12345")):
        (change,) = smallest_change(e, 0.5 * reach**2)
        assert (change.steps[0].to_text, change.features) == (told, ("x0",))


def test_rows_without_a_change_say_why():
    model = whyodd.KernelDensity(sigma=1.0).fit(NORMAL)
    e = whyodd.explain(model, ODD, exclude_self=False)
    assert smallest_change(e[:0], 1.0) == []
    inside = smallest_change(e, 1e6)
    assert {change.reason for change in inside} == {"it is not above the threshold"}
    nowhere = smallest_change(e, 1e-3)
    assert {change.reason for change in nowhere} == {"none of the nearby points that were tried is normal"}
    for unknown in (None, float("nan")):
        assert {change.reason for change in smallest_change(e, unknown)} == {
            "there is no threshold below which a row is normal"
        }
    linear = whyodd.explain(SGDOneClassSVM(random_state=0).fit(NORMAL), ODD)
    assert all("keeps no normal rows" in change.reason for change in smallest_change(linear, 0.0))


def test_a_change_of_very_many_variables_is_none():
    normal = np.random.default_rng(0).normal(size=(50, 60))
    model = whyodd.KernelDensity(sigma=1.0).fit(normal)
    e = whyodd.explain(model, normal[:2] + 5.0)
    for change in smallest_change(e, float(e.outlierness.min()) / 10.0):
        assert change.reason == f"more than {MOST_VARIABLES} variables would have to change"


@pytest.mark.parametrize(
    ("value", "goal", "digits", "is_whole", "expected"),
    [
        (12.3456, 0.0, 3, False, 12.3),
        (12.3456, 20.0, 3, False, 12.4),
        (-12.3456, 0.0, 3, False, -12.3),
        (1234.5, 2000.0, 3, False, 1235.0),
        (12.3456, 20.0, 3, True, 13.0),
        (12.0, 20.0, 3, True, 12.0),
        (0.000012345, 0.0, 3, False, 0.0000123),
        (12.3456, 12.3456, 3, False, 12.3),
        (0.0, 1.0, 3, False, 0.0),
        (1.2345e12, 2e12, 3, False, 1.24e12),
    ],
)
def test_numbers_are_rounded_towards_the_target(value, goal, digits, is_whole, expected):
    assert _round_towards(value, goal, is_whole, digits) == expected


def test_a_change_in_words_and_as_plain_texts():
    steps = (
        Step("duration", 5400.0, 12.0),
        Step("rate", 1000.41, 1000.38),
        Step("age", None, 35.5123, is_exact=False),
        Step("land", True, False),
    )
    change = Change(steps, outlierness=3.1, threshold=4.0, target=3, row=None, t=0.5)
    assert change.sentence == (
        "With duration 12 instead of 5400, rate 1000.38 instead of 1000, age about 35.51 instead of missing "
        "and land False instead of True it would be normal (outlierness 3.1, threshold 4)."
    )
    plain = json.loads(json.dumps(change.to_dict()))
    assert plain["steps"][0] == {"name": "duration", "from": "5400", "to": "12"}
    many = Change(tuple(Step(f"x{i}", 1.0, 2.0) for i in range(9)), 1.0, 2.0, 0, 0, 1.0)
    assert "x4 2 instead of 1 and 4 other variables changed as well it would" in many.sentence
    assert len(many.to_dict()["steps"]) == 9
