"""PatchExplanation: parts of it are what explaining alone gives, views of it are what plain loops find."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import whyodd
from reference import patched
from whyodd.patches import PatchExplanation, StrangePatch

PER_ITEM = ["outlierness", "unexplained", "discarded"]


@pytest.fixture(scope="module")
def textures():
    """Four images of noise of one size; the third has a spot, the last a fainter one."""
    items = np.random.default_rng(0).normal(size=(4, 10, 12))
    items[2, 4:7, 8:11] += 6.0
    items[3, 1:3, 1:3] += 4.0
    return items


@pytest.fixture(scope="module")
def model(textures):
    return whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3, 3), random_state=0).fit(textures[:2])


@pytest.fixture(scope="module")
def e(model, textures):
    return model.explain(textures, names=["a", "b", "spot", "faint"])


@pytest.fixture(scope="module")
def colours():
    """Two images of three channels; the second has its spot in green."""
    items = np.random.default_rng(1).normal(size=(3, 9, 8, 3))
    items[2, 2:5, 2:5, 1] += 8.0
    return whyodd.PatchModel(whyodd.KernelDensity(sigma=2.0), patch=(3, 3)).fit(items[:2]).explain(items[2])


def sensors(seed=0, n=60):
    rng = np.random.default_rng(seed)
    times = pd.date_range("2024-01-01", periods=n, freq="min")
    return pd.DataFrame({"time": times, "load": rng.normal(size=n), "heat": rng.normal(size=n)})


def assert_same(one, other):
    assert len(one) == len(other)
    for name in PER_ITEM:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("relevance", "data"):
        for left, right in zip(getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_array_equal(left, right)
    assert one.twins == other.twins
    for left, right in zip(one.score_maps, other.score_maps, strict=True):
        for a, b in zip(left, right, strict=True):
            np.testing.assert_array_equal(a, b)


def test_outlierness_is_what_the_parts_sum_to(e):
    totals = [relevance.sum() for relevance in e.relevance] + e.unexplained
    np.testing.assert_allclose(totals, e.outlierness, rtol=1e-9)
    scores = [sum(part.sum() for part in maps) for maps in e.score_maps]
    np.testing.assert_allclose(scores, e.outlierness, rtol=1e-12)
    assert (e.discarded <= e.model.tolerance).all()
    assert e.heatmap(2).argmax() in [r * 12 + c for r in range(4, 7) for c in range(8, 11)]


@pytest.mark.parametrize("i", [0, 2, -1])
def test_an_item_is_as_explained_alone(e, model, textures, i):
    assert_same(e[i], model.explain(textures[i]))
    assert e[i].names == (e.names[i],)
    assert e[i].rows.tolist() == [i % 4]


def test_slices_masks_and_positions(e):
    assert e[1:3].names == ("b", "spot")
    assert e[[3, 0]].names == ("faint", "a")
    assert e[np.array([False, True, False, True])].rows.tolist() == [1, 3]
    assert_same(e[1:][1:], e[2:])
    assert [one.names[0] for one in e] == list(e.names)
    assert len(e[:0]) == 0
    assert repr(e[:0]) == "<Explanation of 0 images>"


@pytest.mark.parametrize("index", [4, -5])
def test_an_item_that_is_not_there_is_told(e, index):
    with pytest.raises(IndexError, match=f"{index}: expected one of the 4 images explained"):
        e.heatmap(index)
    with pytest.raises(IndexError):
        e[index]
    for ask in (e.strangest, e.why, e.by_channel):
        with pytest.raises(IndexError, match="expected one of the 4 images"):
            ask(index)
    with pytest.raises(IndexError, match=r"1\.0: expected one of the 4 images"):
        e.heatmap(1.0)


def test_top_is_the_oddest_first(e):
    assert e.top(2).names == ("spot", "faint")
    assert_same(e.top(1), e[2])
    assert len(e.top(99)) == 4
    assert (np.diff(e.top(4).outlierness) <= 0).all()


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "all"])
def test_top_of_no_number_is_told(e, k):
    with pytest.raises(ValueError, match=r"k=.*: expected a number of images"):
        e.top(k)


@pytest.mark.parametrize("i", range(4))
def test_the_strangest_window_is_that_of_a_plain_loop(e, model, textures, i):
    expected = patched.explain(textures[i][..., None], model.scales_, e.twins[i]).scores
    heat = e.heatmap(i)
    inside = {
        (row, column): sum(heat[row + r, column + c] for r in range(3) for c in range(3))
        for row in range(8)
        for column in range(10)
    }
    row, column = max(inside, key=inside.__getitem__)
    window = 10 * row + column
    strange = e.strangest(i)
    assert strange.relevance == pytest.approx([inside[row, column]])
    assert isinstance(strange, StrangePatch)
    assert strange.start == (row, column)
    assert strange.stop == (row + 3, column + 3)
    assert strange.outlierness == pytest.approx(expected[window], rel=1e-5)
    values = textures[i][row : row + 3, column : column + 3, None]
    np.testing.assert_array_equal(strange.values, values)
    centers = [
        (((center - values.ravel()) ** 2).sum(), j)
        for j, center in enumerate(model.scales_[0].network.centers)
        if j != (-1 if e.twins[i] is None else patched.own_center(model.scales_[0], e.twins[i], window))
    ]
    _, nearest = min(centers)
    np.testing.assert_array_equal(strange.nearest.ravel(), model.scales_[0].network.centers[nearest])
    np.testing.assert_array_equal(strange.difference, strange.values - strange.nearest)
    assert strange.training_item == model.scales_[0].items[nearest]


def test_the_strangest_window_in_the_padding_and_at_a_scale_is_cut_to_the_item():
    items = np.random.default_rng(0).normal(size=(2, 11, 13))
    items[1, :2, -2:] = 30.0
    for border, size in (("reflect", 1), ("edge", 2), ("zero", 3)):
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3, 4), border=border, scale=size)
        strange = model.fit(items[0]).explain(items[1]).strangest(0)
        assert strange.start[0] == 0
        assert strange.stop[1] == 13
        assert strange.values.shape == (3, 4, 1)
        assert all(0 <= a < b <= n for a, b, n in zip(strange.start, strange.stop, (11, 13), strict=True))


def test_of_several_scales_the_one_that_stands_out_tells():
    items = np.random.default_rng(0).normal(size=(2, 24, 24))
    items[1, 8:16, 8:16] += 1.5  # faint at each pixel, plain in the mean over blocks
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(2, 2), scale=[1, 4]).fit(items[0])
    e = model.explain(items[1])
    ratios = [
        scores.max() / (scale.weight * scale.usual)
        for scale, scores in zip(model.scales_, e.score_maps[0], strict=True)
    ]
    assert ratios[1] > ratios[0]
    strange = e.strangest(0)
    assert (strange.start, strange.stop) == ((8, 8), (16, 16))


def test_an_item_of_nothing_but_gaps_has_no_strangest_window():
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3,)).fit(np.arange(20.0) % 4)
    e = model.explain([np.full(9, np.nan), np.arange(9.0)])
    assert e.outlierness[0] == e.unexplained[0] == 0.0
    with pytest.raises(ValueError, match="series 0: every window contains a gap, so none is the strangest"):
        e.strangest(0)
    assert e.table()["where"][0] is None
    assert e.table()["windows"] == [0, 7]
    assert "nothing is odd" in e.why(0)
    assert len(repr(e).splitlines()) == 3


def test_channels(colours):
    assert colours.channels == ("red", "green", "blue")
    parts = colours.by_channel(0)
    assert next(iter(parts)) == "green"
    assert list(parts.values()) == sorted(parts.values(), reverse=True)
    for c, name in enumerate(colours.channels):
        assert parts[name] == pytest.approx(colours.heatmap(0)[..., c].sum())
    assert "green" in colours.why(0)


def test_table_and_frame(e):
    table = e.table()
    assert table["item"] == ["a", "b", "spot", "faint"]
    assert table["windows"] == [80] * 4
    np.testing.assert_allclose(table["per_window"], e.outlierness / 80)
    assert table["strangest_window"][2] == e.strangest(2).outlierness
    first, last = e.strangest(2).start, [stop - 1 for stop in e.strangest(2).stop]
    assert table["where"][2] == f"rows {first[0]} to {last[0]}, columns {first[1]} to {last[1]}"
    frame = e.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(table)
    assert frame["outlierness"].tolist() == e.outlierness.tolist()


def test_dictionary_is_ready_for_json(e):
    told = json.loads(json.dumps(e.to_dict()))
    assert told["channels"] == ["value"]
    assert [line["item"] for line in told["items"]] == list(e.names)
    np.testing.assert_allclose(told["items"][2]["relevance"], e.heatmap(2))
    assert told["items"][1]["outlierness"] == e.outlierness[1]


def test_repr_tells_the_oddest_items(e):
    lines = repr(e).splitlines()
    assert lines[0].startswith("<Explanation of 4 images; outlierness ")
    assert [line.strip().split(":")[0] for line in lines[1:]] == list(e.top(4).names)
    assert repr(e[2]).startswith("<Explanation of 1 image; outlierness ")
    assert repr(e[2]).splitlines()[1].startswith(" spot: oddest at rows ")


def test_series_with_times():
    train, test = sensors(), sensors(1)
    test.loc[30:33, "heat"] += 15.0
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(4,)).fit(train)
    e = model.explain(test)
    assert e.is_series
    assert e.channels == ("load", "heat")
    assert e.relevance[0].shape == (60, 2)
    strange = e.strangest(0)
    assert (strange.start, strange.stop) == ((30,), (34,))
    assert e.table()["where"] == ["2024-01-01 00:30:00 to 2024-01-01 00:33:00"]
    assert next(iter(e.by_channel(0))) == "heat"
    assert repr(e).startswith("<Explanation of 1 series")
    assert model.explain(train).twins == (0,)


def test_windows_do_not_span_a_jump_in_time():
    train, test = sensors(), sensors(1)
    test["time"] = test["time"].where(test.index < 20, test["time"] + pd.Timedelta("1h"))
    test.loc[40, "load"] = 20.0
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(4,), tolerance=0.0).fit(train)
    e = model.explain(test)
    values = test[["load", "heat"]].to_numpy()
    before, after = (model.explain(part) for part in (values[:20], values[20:]))
    np.testing.assert_allclose(e.relevance[0], np.concatenate([before.relevance[0], after.relevance[0]]))
    assert e.outlierness[0] == pytest.approx(before.outlierness[0] + after.outlierness[0])
    assert e.strangest(0).start[0] == after.strangest(0).start[0] + 20


def test_pickled(e):
    again = pickle.loads(pickle.dumps(e))
    assert isinstance(again, PatchExplanation)
    assert_same(again, e)
    assert repr(again) == repr(e)
    np.testing.assert_array_equal(again.strangest(2).nearest, e.strangest(2).nearest)


def test_frozen(e):
    with pytest.raises(AttributeError):
        e.outlierness = np.zeros(4)


def test_an_explanation_stays_when_its_model_is_fitted_again(textures):
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3, 3), random_state=0)
    e = model.fit(textures[:2]).explain(textures)
    told, strange = repr(e), e.strangest(2)
    model.set_params(patch=(2, 2)).fit(textures[2:])
    assert repr(e) == told
    np.testing.assert_array_equal(e.strangest(2).nearest, strange.nearest)
