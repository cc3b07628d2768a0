"""What is told of odd images: sentences, tables, parts, and how they are shown."""

import base64
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import whyodd
from made_up.images import grain, scratched

HOSTILE = "<img src=x onerror=alert(1)>[bold]"


@pytest.fixture(scope="module")
def e():
    model = whyodd.ImageDetector("contrast", centers=200).fit([grain(seed) for seed in range(8)])
    return model.explain([grain(30), scratched(31), grain(32, (40, 90))], names=["calm", HOSTILE, "wide"])


def calm_one(e):
    """The least odd image, as one that has no odd region."""
    return replace(e[0], places=(np.full((64, 64), 0.5),))


def test_sentences(e):
    told = e.why(1)
    assert told.startswith("odd at row")
    assert "times as odd as a usual image's oddest place" in told
    assert "no region is odd by itself; the strangest place is at rows" in calm_one(e).why(0)
    assert not calm_one(e).mask(0).any()
    with pytest.raises(ValueError, match="reasons"):
        e.why(1, k=0)


def test_sentences_count_only_regions_that_are_left(e):
    n_regions = len(e.regions(1))
    for k in (n_regions, n_regions + 3):
        assert "more" not in e.why(1, k=k)


def test_reasons_are_the_regions_by_their_relevance(e):
    reasons, regions = e.reasons(1, 3), e.regions(1)
    assert [reason.name for reason in reasons] == [region.place for region in regions[:3]]
    assert [reason.relevance for reason in reasons] == [region.relevance for region in regions[:3]]
    assert reasons[0].share == pytest.approx(regions[0].relevance / e.outlierness[1])


def test_regions_hold_what_the_mask_holds(e):
    for i in range(3):
        odd = [region for region in e.regions(i) if region.is_odd]
        assert sum(region.n_pixels for region in odd) == e.mask(i).sum() == e.table()["odd_pixels"][i]
        assert len(odd) == e.table()["regions"][i]


def test_table_and_plain_dict(e):
    table = e.table()
    assert {len(values) for values in table.values()} == {3}
    assert table["item"] == ["calm", HOSTILE, "wide"]
    assert table["is_odd"] == e.is_odd.tolist()
    assert list(e.to_frame()["outlierness"]) == e.outlierness.tolist()
    plain = json.loads(json.dumps(e.to_dict()))
    assert plain["items"][1]["regions"][0]["peak"] == list(e.regions(1)[0].peak)


def test_parts(e):
    part = e[1:]
    assert part.names == (HOSTILE, "wide")
    assert part.regions(0) == e.regions(1)
    np.testing.assert_array_equal(part.heatmap(-1), e.relevance[2])
    assert len(e[np.array([True, False, True])]) == 2
    assert e[[2, 0]].rows.tolist() == [2, 0]
    np.testing.assert_array_equal(e.unexplained, np.zeros(3))
    with pytest.raises(IndexError):
        e.heatmap(3)


def test_names_stay_inert_in_a_notebook(e):
    page = e._repr_html_()
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
    assert page.count("data:image/png") == 2 * 3


def test_a_notebook_colours_the_relevance_of_the_oddest(e):
    """It is on the scale of relevance: on that of places it would have no colour at all."""
    first = re.findall(r"base64,([^']+)'", e._repr_html_())[1]
    drawn = np.asarray(Image.open(io.BytesIO(base64.b64decode(first))).convert("RGB")).astype(int)
    assert (drawn.max(axis=-1) - drawn.min(axis=-1) > 100).mean() > 0.01


def test_pictures_of_a_place_are_cut_at_the_border(e):
    corner = e.regions(2)[0].__class__((0, 0), (1, 1), (0, 89), 1.0, 1, 1.0)
    here, normal = e.nearest(2, corner)
    assert here.shape == normal.shape == (32, 32, 1)
    assert here[16, 16, 0] == e.data[2][0, 89]
    assert (here[:16, 16:] == e.data[2][0, 89]).all()  # beyond the corner
