"""What is found in images, and how it is told: as a dictionary and on a page."""

import json

import numpy as np
import pytest

import whyodd
from made_up.images import grain, scratched
from whyodd.findings.images import find_in_images

SMALL = (48, 48)
NORMAL = [grain(seed, SMALL) for seed in range(100, 119)]
NEW = [grain(20, SMALL), scratched(21, SMALL), grain(22, SMALL), scratched(23, SMALL)]
HOSTILE = "</script><img src=x onerror=alert(1)>"
NAMES = ["a", "b", "c", HOSTILE]


def detector(**settings):
    return whyodd.ImageDetector("contrast", **{"centers": 200, **settings})


@pytest.fixture(scope="module")
def model():
    return detector().fit(NORMAL)


@pytest.fixture(scope="module")
def found(model):
    return find_in_images(NEW, model=model, names=NAMES)


def test_which_are_odd(found, model):
    # Whether a calm image is odd is a matter of chance: see test_normal_images_are_seldom_odd.
    assert found.is_odd[[1, 3]].all()
    assert sorted(found.order[:2].tolist()) == [1, 3]
    np.testing.assert_array_equal(found.is_odd, found.outlierness > found.threshold)
    np.testing.assert_array_equal(found.outlierness, model.outlierness(NEW))
    np.testing.assert_array_equal(found.p_value, model.p_values(found.outlierness))
    assert found.threshold == model.threshold_
    assert found.n_normal == 19
    assert "5 % of normal images exceed it" in found.headline
    assert any("The model learned from 19 normal images" in note for note in found.notes)
    assert any(note.startswith("Learned from 19 images, by local contrast") for note in found.notes)


def test_explanations_are_of_the_oddest_in_their_order(found):
    e = found.explanation
    assert e.rows.tolist() == np.argsort(-found.outlierness, kind="stable").tolist()
    assert set(e.names[:2]) == {"b", HOSTILE}
    np.testing.assert_array_equal(e.outlierness, found.outlierness[e.rows])
    assert "times as odd as a usual image's oddest place" in found.why(0)


def test_audit(found):
    """Both scratches are at the same place."""
    audited = found.audit()
    assert "the middle" in str(audited)
    assert "2 images" in str(audited)


def test_as_a_dictionary(found):
    plain = json.loads(json.dumps(found.to_dict()))
    item = plain["anomalies"][0]["item"]
    assert item["type"] == "image"
    assert item["width"] == item["height"] >= 48
    assert [one["text"] for one in item["close"]] == [
        "its strangest place",
        "the normal place most like it",
        "the difference",
    ]
    for picture in (item["picture"], item["heatmap"], *(one["picture"] for one in item["close"])):
        assert picture.startswith("data:image/")


def test_on_a_page(found, tmp_path):
    found.report(tmp_path / "odd.html", 2)
    page = (tmp_path / "odd.html").read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "Odd regions are outlined" in page
    assert page.count("data:image/") == 2 * 5
    for told in ("its strangest place", "the normal place most like it", "the difference"):
        assert page.count(f">{told}<") == 2


@pytest.mark.parametrize("channels", [3, 4])
def test_colours_on_a_page(channels, tmp_path):
    def coloured(image):
        return np.stack([image] * channels, axis=-1)

    model = detector().fit([coloured(image) for image in NORMAL[:6]])
    find_in_images([coloured(image) for image in NEW], model=model).report(tmp_path / "odd.html", 2)
    assert (tmp_path / "odd.html").read_text(encoding="utf-8").count("data:image/") == 2 * 5


def test_without_normal_images_each_is_judged_by_the_others():
    images = [*NORMAL, NEW[1]]
    found = find_in_images(images, model=detector(centers=2000))
    assert int(found.order[0]) == 19
    assert found.model.n_learned_ == 20
    np.testing.assert_array_equal(found.outlierness, found.model.outlierness(images))


def test_limits(model):
    assert find_in_images(NEW, model=model, share=0.25).n_odd == 1
    strict = find_in_images(NEW, model=model, false_alarms=0.001)
    assert strict.threshold > model.threshold_
    assert strict.threshold == model.distribution_.threshold(0.001)
    with pytest.raises(ValueError, match="one threshold option, got share and false_alarms"):
        find_in_images(NEW, model=model, share=0.25, false_alarms=0.1)
    with pytest.raises(ValueError, match="train cannot be used with model"):
        find_in_images(NEW, NORMAL, model=model)


def test_few_normal_images_are_only_ranked(tmp_path):
    found = find_in_images(NEW, model=detector().fit(NORMAL[:3]))
    assert found.threshold is None
    assert found.p_value is None
    assert "too few normal images" in found.threshold_source
    found.report(tmp_path / "odd.html")
    assert json.dumps(found.to_dict())


def test_scores_that_are_known_are_not_made_again(model):
    found = find_in_images(NEW, model=model, scores=np.array([1.0, 2.0, 3.0, 4.0]), top=2)
    assert found.order.tolist() == [3, 2, 1, 0]
    assert len(found.explanation) >= 2


class TestMany:
    """Images that are read when asked for, and more than are held at a time."""

    class Drawn:
        def __init__(self, count):
            self.count, self.read = count, []

        def __len__(self):
            return self.count

        def __getitem__(self, i):
            self.read.append(i)
            return scratched(i, SMALL)

    def test_only_some_are_explained(self, model):
        images = self.Drawn(70)
        found = find_in_images(images, model=model, scores=np.arange(70) + 10.0)
        images.read.clear()
        assert found.n_odd == 70
        assert len(found.explanation) == 50
        assert sorted(images.read) == list(range(20, 70))
        assert any("Only the 50 oddest of 70" in note for note in found.notes)
