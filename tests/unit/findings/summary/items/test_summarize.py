"""What a report says of images, series and messages, against the explanation it is made of."""

import json
import sys
from base64 import b64decode
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import whyodd
from whyodd.evaluation.conservation import conservation_gap
from whyodd.explanations.sentences import percent
from whyodd.findings.findings import Findings
from whyodd.findings.summary.items.pictures import fitted, relevance_of_places, room
from whyodd.patches.colours import common_limit, displayed, overlay

HOSTILE = "<script>alert('\"&')</script>‮\u0000"
NORMAL = ["the pump runs and the valve is open", "the pump stands and the valve is shut"] * 10
KEYS = {
    "version", "kind", "title", "method", "is_additive", "exactness", "fidelity",
    "noun", "counts", "threshold", "scores",
    "usual_source", "groups", "anomalies", "rest", "n_unlisted", "trust", "columns", "notes", "made_by",
    "rests_on", "compared",
}  # fmt: skip
CARD = {
    "rank", "row", "id", "name", "outlierness", "outlierness_text", "times", "how_odd", "why", "group",
    "reasons", "others", "unexplained", "neighbors", "change", "change_missing", "item", "similar", "context",
}  # fmt: skip


def summarize_items(e, top=50, **options):
    return Findings.of(e, **options).to_dict(top)


def model_of(*, patch, **settings):
    return whyodd.PatchModel(whyodd.OneClassSVM(sigma="median"), patch=patch, random_state=0, **settings)


@pytest.fixture(scope="module")
def images():
    random = np.random.default_rng(0)
    pictures = (np.tile([40, 40, 200, 200], (4, 24, 6)) + random.integers(0, 9, (4, 24, 24))).astype(np.uint8)
    pictures[2, 10:14, 5:15] = 255
    names = ["calm.png", HOSTILE, None]
    return model_of(patch=(5, 5)).fit(pictures[:1]).explain(pictures[1:], names=names)


@pytest.fixture(scope="module")
def colours():
    random = np.random.default_rng(1)
    pictures = random.random((3, 20, 26, 3))
    pictures[2, 4:9, 4:9, 0] = 1.0
    return model_of(patch=(4, 4)).fit(list(pictures[:1])).explain(list(pictures[1:]))


@pytest.fixture(scope="module")
def series():
    random = np.random.default_rng(2)
    frame = pd.DataFrame(random.normal(size=(5000, 3)), columns=["heat", HOSTILE, "flow"])
    frame.insert(0, "when", pd.date_range("2024-03-01", periods=5000, freq="min", tz="UTC"))
    odd = frame.drop(index=range(700, 760)).reset_index(drop=True)
    odd.loc[3000, "heat"] = 50.0
    odd.loc[4000:4200, "flow"] = np.nan
    return model_of(patch=(8,), max_patches=1000).fit(frame[:2000]).explain([odd], names=["line 4"])


@pytest.fixture(scope="module")
def messages():
    texts = ["the pump explodes and the valve is open", HOSTILE, "", "the pump runs", "pump " * 2000]
    texts += ["the pump" + "!" * 1000 + "x" * 700]
    return whyodd.TextModel(sigma=1.0).fit(NORMAL).explain(texts)


@pytest.fixture(scope="module", params=["images", "colours", "series", "messages"])
def explained(request):
    return request.getfixturevalue(request.param)


def pixels(address):
    head, data = address.split(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(BytesIO(b64decode(data))))


def test_the_form_is_that_of_the_page_and_ready_for_json(explained):
    summary = summarize_items(explained)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary.keys() == KEYS
    assert all(card.keys() == CARD for card in summary["anomalies"])


def test_the_oddest_come_first_with_their_own_numbers(explained):
    summary = summarize_items(explained)
    oddest = explained.top(len(explained))
    for i, card in enumerate(summary["anomalies"]):
        assert (card["rank"], card["row"]) == (i + 1, oddest.rows[i])
        assert card["outlierness"] == oddest.outlierness[i]
        assert card["why"] == oddest.why(i)


def test_shares_of_a_card_are_all_of_the_outlierness(explained):
    for card in summarize_items(explained)["anomalies"]:
        parts = [*card["reasons"], card["others"], card["unexplained"]]
        total = sum(part["share"] for part in parts if part is not None)
        # The gap of an explanation is below 1e-6; relevance of pixels of 8 bits is of single precision.
        assert total == pytest.approx(1.0, abs=1e-5)
        assert all(part["share_text"] == percent(part["share"]) for part in parts if part is not None)


def test_panels_tell_of_all_items(explained):
    trust = summarize_items(explained)["trust"]
    assert trust["rows"] == len(explained)
    assert trust["panels"][0]["verdict"] == "good"


def test_without_a_threshold_items_are_ranked(images):
    summary = summarize_items(images, top=2)
    assert summary["threshold"]["value"] is None
    assert "no threshold for images" in summary["threshold"]["source"]
    assert summary["counts"] == {"rows": 3, "odd": 0, "explained": 3, "shown": 2}
    assert [line["rank"] for line in summary["rest"]] == [3]
    assert summary["rest"][0]["main"] in images.top(3).why(2)
    assert sum(summary["scores"]["below"]) == 3
    assert summary["anomalies"][0]["times"] is None


def test_only_items_above_the_threshold_are_odd(images):
    middle = float(np.sort(images.outlierness)[1])
    summary = summarize_items(images, threshold=middle)
    assert summary["counts"] == {"rows": 3, "odd": 1, "explained": 3, "shown": 1}
    assert summary["rest"] == []
    assert summary["anomalies"][0]["times"] == images.outlierness.max() / middle
    assert sum(summary["scores"]["above"]) == 1


def test_if_none_is_odd_the_oddest_are_shown_all_the_same(images):
    summary = summarize_items(images, threshold=1e9)
    assert summary["counts"]["odd"] == 0
    assert summary["counts"]["shown"] == len(summary["anomalies"]) == 3


def test_what_is_not_listed_is_counted(monkeypatch, images):
    monkeypatch.setattr("whyodd.findings.summary.items.summarize._LISTED", 1)
    summary = summarize_items(images, top=1)
    assert (len(summary["anomalies"]), len(summary["rest"]), summary["n_unlisted"]) == (1, 1, 1)


@pytest.mark.parametrize("threshold", [np.nan, np.inf])
def test_a_threshold_is_a_number(images, threshold):
    with pytest.raises(ValueError, match="expected an outlierness"):
        summarize_items(images, threshold=threshold)


def test_of_nothing_there_is_no_report(images, messages):
    with pytest.raises(ValueError, match="no images"):
        summarize_items(images[:0])
    with pytest.raises(ValueError, match="no messages"):
        summarize_items(messages[:0])


def test_names_are_as_they_are_and_counts_are_none(images):
    cards = {card["row"]: card for card in summarize_items(images)["anomalies"]}
    assert cards[1]["name"] == cards[1]["id"] == HOSTILE
    assert (cards[2]["name"], cards[2]["id"]) == ("image 2", None)


def test_an_image_is_shown_with_its_relevance_in_the_colours_of_the_plots(images):
    item = summarize_items(images)["anomalies"][0]["item"]
    i, times = int(images.outlierness.argmax()), 320 // 24
    limit = common_limit(images.relevance)
    shown = {
        "picture": displayed(images.data[i]),
        "heatmap": overlay(images.data[i], images.heatmap(i), limit),
    }
    for name, expected in shown.items():
        np.testing.assert_array_equal(pixels(item[name])[::times, ::times], expected)
    assert (item["width"], item["height"]) == (24 * times, 24 * times)


def test_an_image_is_odd_where_its_relevance_is(images):
    card = summarize_items(images)["anomalies"][0]
    i = int(images.outlierness.argmax())
    heat = images.heatmap(i)
    told = {reason["name"]: reason["relevance"] for reason in card["reasons"]}
    # The bright stripe was put there.
    assert max(told, key=told.get) == "middle centre"
    assert told["middle centre"] == pytest.approx(heat[8:16, 8:16].sum())
    assert card["reasons"][0]["share"] == pytest.approx(heat[8:16, 8:16].sum() / images.outlierness[i])
    assert list(told.values()) == sorted(told.values(), reverse=True)
    assert (len(told), card["others"]["count"]) == (5, 4)


def test_only_places_that_stand_out_are_said_to(images):
    odd, *_, calm = summarize_items(images)["anomalies"]
    assert odd["reasons"][0]["judgement"] == "stands out"
    assert odd["reasons"][-1]["judgement"] == "about as elsewhere"
    assert {reason["judgement"] for reason in calm["reasons"]} == {"about as elsewhere"}


def test_of_colours_places_have_the_relevance_of_all_channels(colours):
    card = summarize_items(colours)["anomalies"][0]
    told = {reason["name"]: reason["relevance"] for reason in card["reasons"]}
    assert told["upper left"] == pytest.approx(colours.top(1).heatmap(0)[:7, :9].sum())
    assert pixels(card["item"]["picture"]).shape[-1] == 3


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (3, 1), (5, 4, 3)])
def test_places_lose_nothing_of_small_images(shape):
    heat = np.random.default_rng(0).random(shape)
    places = relevance_of_places(heat)
    assert len(places) == min(shape[0], 3) * min(shape[1], 3)
    assert sum(places.values()) == pytest.approx(heat.sum())


@pytest.mark.parametrize("kind", [np.uint8, np.float64, bool])
def test_one_pixel_is_an_image_too(kind):
    values = np.arange(6).reshape(6, 1, 1) % 2
    model = model_of(patch=(1, 1)).fit(list(values.astype(kind)))
    (card,) = summarize_items(model.explain([values[1].astype(kind)], exclude_self=False))["anomalies"]
    assert pixels(card["item"]["heatmap"]).shape == (320, 320, 3)
    assert card["reasons"][0]["name"] == "all of it"
    assert card["others"] is None


def test_pictures_of_noise_stay_together_under_3_mb():
    noise = np.random.default_rng(4).integers(0, 256, (3, 400, 300, 3), dtype=np.uint8)
    e = model_of(patch=(4, 4), stride=16, max_patches=100).fit(noise[0]).explain(noise[1:])
    items = [card["item"] for card in summarize_items(e[np.arange(12) % 2])["anomalies"]]
    assert len(items) == 12
    # As they are each would have 300 kB.
    assert sum(len(item["picture"]) + len(item["heatmap"]) for item in items) < 2_500_000
    assert (items[0]["width"], items[0]["height"]) == (240, 320)
    # Noise is the worst there is; of fifty such images pictures can still be seen.
    of_fifty = fitted(noise[1], room(50))
    assert len(of_fifty) < 2_500_000 / 100
    assert max(pixels(of_fifty).shape) >= 150


def test_hot_pixels_keep_their_colour_in_a_small_picture():
    picture = np.random.default_rng(5).integers(0, 256, (300, 300), dtype=np.uint8)
    heat = np.zeros((300, 300))
    heat[120:130, 50:60] = 1.0
    hot = overlay(picture, heat, 1.0)
    address = fitted(hot, 24_000)
    seen = np.array(Image.open(BytesIO(b64decode(address.split(",")[1]))).convert("RGB").resize((300, 300)))
    assert len(address) <= 24_000
    # Yellow: much more red than blue, unlike all of the grey around.
    assert seen[123:127, 53:57, 0].astype(int).min() - seen[123:127, 53:57, 2].max() > 80


def test_without_pillow_one_sentence_says_how_to_get_it(monkeypatch, images):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ModuleNotFoundError, match=r"whyodd\[plots\]"):
        summarize_items(images)


def test_a_series_keeps_its_spikes_and_its_relevance(series):
    item = summarize_items(series)["anomalies"][0]["item"]
    heat = series.heatmap(0)
    for channel in item["channels"]:
        c = series.channels.index(channel["name"])
        known = [value for value in channel["values"] if value is not None]
        assert len(channel["values"]) == len(channel["relevance"]) <= 400
        # Numbers of the page have five digits.
        values = series.data[0][:, c]
        assert (min(known), max(known)) == pytest.approx((np.nanmin(values), np.nanmax(values)), rel=1e-4)
        assert sum(channel["relevance"]) == pytest.approx(heat[:, c].sum(), rel=1e-4)
    assert [channel["name"] for channel in item["channels"]] == list(series.by_channel(0))


def test_a_spike_and_its_relevance_are_at_the_same_place(series):
    item = summarize_items(series)["anomalies"][0]["item"]
    heat = next(channel for channel in item["channels"] if channel["name"] == "heat")
    spike = heat["values"].index(50.0)
    assert abs(int(np.argmax(heat["relevance"])) - spike) <= 1


def test_gaps_and_jumps_of_a_series_have_no_values(series):
    item = summarize_items(series)["anomalies"][0]["item"]
    flow, heat = (
        next(channel for channel in item["channels"] if channel["name"] == name) for name in ("flow", "heat")
    )
    missing = [i for i, value in enumerate(heat["values"]) if value is None]
    # One jump in time, a bin of its own near 700 of 4,940 steps.
    assert len(missing) == 2
    assert missing[0] / len(heat["values"]) == pytest.approx(700 / 4940, abs=0.01)
    share = sum(value is None for value in flow["values"]) / len(flow["values"])
    assert share == pytest.approx(201 / 4940, abs=0.02)
    assert "1 jump in time" in item["caption"]


def test_a_series_has_its_times_and_its_channels_as_reasons(series):
    card = summarize_items(series)["anomalies"][0]
    assert (card["item"]["from"], card["item"]["to"]) == (
        "2024-03-01 00:00:00 (UTC)",
        "2024-03-04 11:19:00 (UTC)",
    )
    shares = {reason["name"]: reason["relevance"] for reason in card["reasons"]}
    assert shares == series.by_channel(0)
    assert card["reasons"][0]["value"].endswith(" to 50")
    assert card["id"] == card["name"] == "line 4"


def test_a_short_series_is_shown_step_by_step():
    random = np.random.default_rng(5)
    values = random.normal(size=(60, 2))
    e = model_of(patch=(3,)).fit(values).explain(values[:9] + 5.0)
    item = summarize_items(e)["anomalies"][0]["item"]
    assert (item["from"], item["to"]) == ("step 0", "step 8")
    by_name = {channel["name"]: channel for channel in item["channels"]}
    for c, name in enumerate(e.channels):
        assert by_name[name]["values"] == pytest.approx(e.data[0][:, c], rel=1e-4)
        assert by_name[name]["relevance"] == pytest.approx(e.heatmap(0)[:, c], rel=1e-4)


def test_one_step_is_a_series_too():
    e = model_of(patch=(1,)).fit(np.array([0.0, 1.0, 2.0, 1.0])).explain([np.array([9.0])])
    (card,) = summarize_items(e)["anomalies"]
    assert card["item"]["channels"][0]["values"] == [9.0]
    assert card["reasons"][0]["value"] == "9"


def test_a_series_of_gaps_has_nothing_to_say():
    values = np.sin(np.arange(50.0))
    e = model_of(patch=(4,)).fit(values).explain([np.array([1.0, np.nan, 2.0, np.nan, 1.0, np.nan])])
    (card,) = summarize_items(e)["anomalies"]
    assert card["reasons"] == []
    assert card["others"] is card["unexplained"] is None
    assert card["item"]["channels"][0]["values"] == [1.0, None, 2.0, None, 1.0, None]


def test_of_many_channels_those_with_the_most_relevance_are_shown():
    random = np.random.default_rng(6)
    e = model_of(patch=(3,)).fit(random.normal(size=(80, 20))).explain([random.normal(size=(30, 20))])
    (card,) = summarize_items(e)["anomalies"]
    shown = [channel["name"] for channel in card["item"]["channels"]]
    assert shown == [reason["name"] for reason in card["reasons"]] == list(e.by_channel(0))[:8]
    assert card["others"]["count"] == 12
    assert "8 channels of 20" in card["item"]["caption"]


def test_tokens_are_the_whole_message(messages):
    cards = {card["row"]: card for card in summarize_items(messages)["anomalies"]}
    for row, card in cards.items():
        text = "".join(token["text"] for token in card["item"]["tokens"])
        whole = messages.messages[row]
        assert text == (whole if len(whole) <= 5000 else whole[:5000] + "…")
        assert all(0 < len(token["text"]) <= 300 for token in card["item"]["tokens"])
    assert cards[2]["item"]["tokens"] == []
    assert cards[2]["item"]["caption"] == "The message is empty."
    assert "first 5,000 of 10,000" in cards[4]["item"]["caption"]


def test_strength_is_relative_to_the_most_relevant_word_of_the_page(messages):
    messages = messages[:5]  # Of the last one a word is in several tokens.
    cards = {card["row"]: card for card in summarize_items(messages)["anomalies"]}
    words = {(i, word.text): word.relevance for i in range(5) for word in messages.tokens(i)}
    largest = max(map(abs, words.values()))
    shaded = [
        (token["strength"], words[row, token["text"]] / largest)
        for row, card in cards.items()
        for token in card["item"]["tokens"]
        if token["strength"]
    ]
    assert max(strength for strength, _ in shaded) == 1.0
    assert all(strength == pytest.approx(expected, abs=5e-4) for strength, expected in shaded)


def test_terms_that_are_there_or_missing_are_reasons(messages):
    card = next(card for card in summarize_items(messages)["anomalies"] if card["row"] == 0)
    told = {term.term: term.relevance for term in [*messages.present(0), *messages.absent(0)]}
    assert all(reason["relevance"] == told[reason["name"]] for reason in card["reasons"])
    judgements = {reason["name"]: reason["judgement"] for reason in card["reasons"]}
    assert judgements["explod"] == "new word"
    assert judgements["run"] == "missing"
    absent = [(term["term"], term["share_text"]) for term in card["item"]["absent"]]
    expected = [(t.term, percent(t.relevance / messages.outlierness[0])) for t in messages.absent(0, 8)]
    assert absent == expected


def test_methods_in_other_units_have_shares_of_the_relevance(images):
    e = whyodd.explain(images.model, list(images.data), method="sensitivity")
    summary = summarize_items(e)
    assert not summary["is_additive"]
    card = summary["anomalies"][0]
    assert card["unexplained"] is None
    assert sum(part["share"] for part in [*card["reasons"], card["others"]]) == pytest.approx(1.0)


def test_a_reader_learns_what_numbers_depend_on(images):
    random = np.random.default_rng(7)
    first, second = random.random((16, 16)), random.random((16, 20))
    model = model_of(patch=(4, 4), prepare=np.sqrt).fit([first, second])
    notes = summarize_items(model.explain([first, second]), notes=["mine"])["notes"]
    assert notes[0] == "mine"
    assert any("differ in size" in note for note in notes)
    assert any("2 of the images were in the training data" in note for note in notes)
    assert any("prepares images first" in note for note in notes)
    assert summarize_items(images)["notes"] == []
    assert float(conservation_gap(images).max()) < 1e-6
