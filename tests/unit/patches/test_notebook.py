"""The notebook's view of images and series: names escaped, pictures inside, one colour scale."""

import re
import sys
from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import whyodd

NAMES = ["<script>alert(1)</script>.png", "\"quoted'.png", "calm.png"]


class Tags(HTMLParser):
    """Counts elements, and checks that each that is opened is closed."""

    def __init__(self, html):
        super().__init__()
        self.opened, self.seen, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):  # noqa: ARG002
        self.seen.append(tag)
        if tag != "img":
            self.opened.append(tag)

    def handle_startendtag(self, tag, attributes):  # noqa: ARG002
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def explained():
    random = np.random.default_rng(0)
    stripes = np.tile([40, 40, 200, 200], (32, 8)) + random.integers(0, 9, (4, 32, 32))
    images = stripes.astype(np.uint8)
    images[1, 10:14, 5:20] = 255
    images[2, 20:22, 5:9] = 0
    model = whyodd.PatchModel(whyodd.OneClassSVM(sigma="median"), patch=(5, 5), random_state=0)
    return model.fit(images[:1]).explain(images[1:], names=NAMES)


def pictures(html):
    data = re.findall(r"src='data:image/png;base64,([^']+)'", html)
    return [np.asarray(Image.open(BytesIO(b64decode(part)))) for part in data]


def test_one_row_per_item_with_two_pictures(explained):
    html = explained._repr_html_()
    tags = Tags(html)
    assert not tags.opened
    assert tags.seen.count("tr") == 3
    assert tags.seen.count("img") == 6
    for i, name in enumerate(NAMES):
        assert name in tags.text  # after unescaping: as it was
        assert explained.why(i) in tags.text
    assert "Explanation of 3 images" in tags.text


def test_names_are_escaped(explained):
    html = explained._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.png" in html


def test_pictures_are_enlarged_and_on_one_scale(explained):
    drawn = pictures(explained._repr_html_())
    assert {picture.shape[:2] for picture in drawn} == {(192, 192)}  # 6 times 32: at most 200
    ranked = explained.top(3)
    np.testing.assert_array_equal(drawn[0][::6, ::6], ranked.data[0])
    colourful = [int((overlay.max(axis=-1) - overlay.min(axis=-1)).max()) for overlay in drawn[1::2]]
    assert colourful[0] > 120  # the large scratch
    assert colourful[2] < 60  # the calm one


def test_large_pictures_become_smaller():
    image = np.random.default_rng(0).integers(0, 255, (30, 640, 3), dtype=np.uint8)
    model = whyodd.PatchModel(whyodd.OneClassSVM(sigma="median"), max_patches=300, stride=8, random_state=0)
    drawn = pictures(model.fit([image]).explain([image])._repr_html_())
    assert [picture.shape for picture in drawn] == [(9, 200, 3)] * 2


def test_only_the_oddest_are_shown(explained):
    many = explained[[0, 1, 2, 0, 1, 2, 0]]
    tags = Tags(many._repr_html_())
    assert tags.seen.count("tr") == 5
    assert "the 5 oddest are shown" in tags.text


def test_nothing_to_show(explained):
    tags = Tags(explained[[]]._repr_html_())
    assert "0 images" in tags.text


def test_without_pillow_there_are_words(explained, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    tags = Tags(explained._repr_html_())
    assert "img" not in tags.seen
    assert explained.why(0) in tags.text
    assert "Run: pip install 'whyodd[plots]'" in tags.text


@pytest.mark.parametrize("shape", [(900, 2), (120,)])
def test_series_have_a_strip(shape):
    series = np.random.default_rng(0).normal(size=shape)
    odd = series.copy()
    odd[shape[0] // 3 : shape[0] // 3 + 5] += 30.0
    model = whyodd.PatchModel(whyodd.OneClassSVM(sigma="median"), patch=(8,), random_state=0).fit(series)
    html = model.explain([odd], names=["<pump>"])._repr_html_()
    tags = Tags(html)
    assert "&lt;pump&gt;" in html
    assert tags.seen.count("svg") == tags.seen.count("polygon") == 1
    points = re.search(r"points='([^']+)'", html).group(1).split()
    across, down = np.array([point.split(",") for point in points], dtype=float).T
    highest = across[down.argmin()]
    assert across.min() == 0.0
    assert across.max() == 400.0
    assert 400 / 3 - 5 < highest < 400 / 3 + 400 * 6 / shape[0] + 5
