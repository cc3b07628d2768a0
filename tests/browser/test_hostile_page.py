"""Whatever is in the data is shown as text."""

import re

import pytest

from made_up.hostile import HARMFUL, hostile

# Cut after 120 characters; signs for control characters and for what is half a character.
SHOWN = {
    "x" * 10_000: "x" * 119 + "…",
    "a\x00b\x07c\x1b[31m\x7f\x85d\re": "a␀b␇c␛[31m␡\ufffdd␍e",
    "👩‍👩‍👧 naïve 𝒳 \ud83d lone": "👩‍👩‍👧 naïve 𝒳 \ufffd lone",
}
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def page(visit):
    opened = visit("hostile")
    opened.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    return opened


def plain(text):
    """Without the signs that turn the direction of writing, which the page closes."""
    return TURNS.sub("", text)


def texts(page, selector):
    return [plain(text) for text in page.locator(selector).all_text_contents()]


def test_shows_it_as_it_is(page):
    # Where there is less room less of it is seen at once.
    room = {
        ".card h3 bdi": 120,
        ".reasons tr:first-child th bdi": 120,
        ".card .neighbors b bdi": 60,
        ".card .neighbors dt bdi": 40,
        ".card .neighbors dd bdi": 40,
        ".steps li > span:first-child bdi": 60,
    }
    for selector, longest in room.items():
        expected = [plain(SHOWN.get(text, text)) for text in HARMFUL]
        cut = [text if len(text) <= longest else text[: longest - 1] + "…" for text in expected]
        assert texts(page, selector) == cut, selector


def test_makes_no_elements(page):
    assert page.locator("script").count() == 1
    assert page.locator("style").count() == 1
    assert (
        page.locator("img, b b, iframe, object, [onmouseover], [onerror], a[href*=javascript]").count() == 0
    )
    assert page.evaluate("document.body.innerText").count("<script>alert(1)</script>") > 10


def test_title_and_groups_are_text(page):
    assert page.title().startswith("<script>alert(1)</script> </style><script>")
    assert texts(page, "h1 bdi")[0].startswith("<script>alert(1)</script> </style><script>")
    assert texts(page, ".group .label") == [plain(text) for text in HARMFUL[:4]]


def test_the_start_of_a_long_text_appears_on_hovering(page):
    place = 1 + HARMFUL.index("x" * 10_000)
    name = page.locator(f"#a{place} .card h3 bdi")
    assert name.get_attribute("title") == "x" * 299 + "…"


def test_direction_does_not_leave_its_text(page):
    place = 1 + next(place for place, text in enumerate(HARMFUL) if "\u202e" in text)
    line = page.locator(f"#a{place} .neighbors p")
    lefts = line.evaluate(
        """line => {
            const word = line.querySelector("small").firstChild, range = document.createRange();
            return Array.from("weight", (_, at) => {
                range.setStart(word, at);
                range.setEnd(word, at + 1);
                return range.getBoundingClientRect().left;
            });
        }"""
    )
    assert lefts == sorted(lefts)
    assert line.locator("b").bounding_box()["x"] < lefts[0]


def test_sorts_and_filters_it(page):
    for key in ("name", "why", "score", "rank"):
        page.locator(f"th.{key} button").click()
    page.get_by_label("Find").fill("<script>alert(1)</script>")
    found = page.locator("#list > tbody > tr:not([hidden])").evaluate_all("all => all.map(each => each.id)")
    count = len(HARMFUL)
    with_script = [place for place, text in enumerate(HARMFUL, 1) if "<script>alert(1)</script>" in text]
    assert found == [f"a{place}" for place in (*with_script, *(place + count for place in with_script))]


def test_a_file_name_of_markup_opens(visit):
    page = visit({**hostile(), "title": '"><script>alert(1)</script>.csv'})
    assert page.locator("h1").text_content() == '"><script>alert(1)</script>.csv'
