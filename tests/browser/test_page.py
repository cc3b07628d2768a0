"""What a reader does with the page: sort, filter, open, print; on a phone, at night, without JavaScript."""

import csv
import io
from pathlib import Path

import pytest

from made_up.hostile import hostile
from made_up.reports import GROUPS, table

KINDS_OF = {"table": table, "hostile": hostile}
KINDS = ("table", "images", "series", "events", "texts", "hostile", "nothing odd")


def ranks(page):
    """Ranks of the rows that are seen, from top to bottom."""
    seen = "rows => rows.filter(row => row.checkVisibility()).map(row => Number(row.id.slice(1)))"
    return page.locator("#list > tbody > tr").evaluate_all(seen)


def opened(page):
    """Ranks of the rows whose cards are seen."""
    seen = (
        "cards => cards.filter(card => card.checkVisibility()).map(card => +card.closest('tr').id.slice(1))"
    )
    return page.locator(".card").evaluate_all(seen)


@pytest.fixture
def numbered():
    """A report whose rows have no ids, and names that sort as numbers."""
    summary = table()
    for row in [*summary["anomalies"], *summary["rest"]]:
        row.update(id=None, name=f"row {row['row']}")
    return summary


@pytest.mark.parametrize("kind", KINDS)
def test_no_page_is_wider_than_the_window(visit, kind):
    page = visit(kind)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for width in (320, 360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        # Nor is anything cut off at the right edge, which would not count as scrolling.
        edges = "all => Math.max(...all.map(each => each.getBoundingClientRect().right))"
        assert page.locator(".card *, .panel *, h1, .group").evaluate_all(edges) <= width


@pytest.mark.parametrize("kind", ["table", "hostile"])
def test_no_cell_overflows(visit, kind):
    summary = KINDS_OF[kind]()
    for row in summary["anomalies"]:
        row["reasons"][1]["share_text"] = row["others"]["share_text"] = "under 1 %"
    page = visit(summary)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    wider = """cells => cells.filter(each => each.scrollWidth > each.clientWidth + 1)
        .map(each => `${each.className}: ${each.textContent.trim()}`)"""
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator("td, .reasons th, .card li, .card p, .card dd").evaluate_all(wider) == []


def test_sorts_by_each_column(visit, numbered):
    page, rows = visit(numbered), [*numbered["anomalies"], *numbered["rest"]]
    by = {
        "rank": lambda row: row["rank"],
        "name": lambda row: row["row"],  # "row 9" before "row 10"
        "score": lambda row: row["outlierness"],
    }
    for key, value in by.items():
        for way in ("ascending", "descending"):
            _sort(page, key, way)
            expected = sorted(rows, key=value, reverse=way == "descending")
            assert ranks(page) == [row["rank"] for row in expected]
            assert page.locator("[aria-sort]").evaluate_all("all => all.map(each => each.ariaSort)") == [way]


def test_sorts_by_reason_then_rank(visit):
    page, summary = visit("table"), table()
    _sort(page, "why", "descending")
    # The first reason of a card is told like the group of the rows without one, or begins like it.
    firsts = [GROUPS[row["group"]][1][0] for row in [*summary["anomalies"], *summary["rest"]]]
    shown = [firsts[rank - 1] for rank in ranks(page)]
    assert shown == sorted(firsts, reverse=True)
    assert ranks(page) != sorted(ranks(page))


def _sort(page, key, way):
    """Click until the column is sorted in this way."""
    heading = page.locator(f"th.{key}")
    for _ in range(2):
        if heading.get_attribute("aria-sort") != way:
            heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == way


def test_first_click_sorts_names_up_and_scores_down(visit):
    page = visit("table")
    page.locator("th.score button").click()
    assert page.locator("th.score").get_attribute("aria-sort") == "descending"
    page.locator("th.name button").click()
    assert page.locator("th.name").get_attribute("aria-sort") == "ascending"


def test_filters_by_name_id_and_reason(visit):
    page, summary = visit("table"), table()
    rows = [*summary["anomalies"], *summary["rest"]]
    box = page.get_by_label("Find")
    box.fill(rows[3]["name"].upper())
    assert ranks(page) == [4]
    box.fill("service unusual")
    assert ranks(page) == [row["rank"] for row in rows if row["group"] == 2]
    assert page.get_by_role("status").text_content() == "10 of 42 match"
    box.fill("hour_of_day")  # a reason that only cards tell
    assert ranks(page) == [row["rank"] for row in summary["anomalies"]]
    box.fill("no such thing")
    assert ranks(page) == []
    assert page.get_by_role("status").text_content() == "None matches"
    box.fill("")
    assert len(ranks(page)) == 42


def test_a_group_shows_only_its_rows(visit):
    page, summary = visit("table"), table()
    for place, group in enumerate(summary["groups"]):
        button = page.locator(".group").nth(place)
        button.click()
        assert ranks(page) == group["ranks"]
        assert page.locator(".group[aria-pressed=true]").count() == 1
    page.get_by_label("Find").fill("conn-00866")  # within the group only
    assert ranks(page) == []
    page.get_by_label("Find").fill("")
    button.click()
    assert len(ranks(page)) == 42


def test_a_row_opens_and_closes_its_card(visit):
    page = visit("table")
    assert opened(page) == []
    page.locator("#a2 td.name").click(force=True)  # anywhere in the row
    assert opened(page) == [2]
    page.locator("#a2 summary").focus()
    page.keyboard.press("Enter")
    assert opened(page) == []


def test_expand_all_opens_what_matches(visit):
    page = visit("table")
    page.get_by_label("Find").fill("service unusual")
    button = page.locator("#expand")
    button.click()
    page.get_by_label("Find").fill("")
    assert opened(page) == [3, 7, 11]
    button.click()
    assert opened(page) == list(range(1, 13))
    assert button.text_content() == "Collapse all"
    button.click()
    assert opened(page) == []


def test_long_lists_come_in_parts(visit):
    page = visit(table(2, 448))
    assert ranks(page) == list(range(1, 201))
    page.get_by_role("button", name="Show 200 more").click()
    page.get_by_role("button", name="Show 50 more").click()
    assert ranks(page) == list(range(1, 451))
    assert not page.locator("#more").is_visible()


def test_print_shows_everything_and_no_controls(visit):
    page = visit(table(12, 300))
    page.emulate_media(media="print")
    assert len(ranks(page)) == 312
    assert opened(page) == list(range(1, 13))
    heights = "all => Math.min(...all.map(each => each.getBoundingClientRect().height))"
    assert page.locator(".card").evaluate_all(heights) > 200
    assert page.get_by_text("A model has learned what is normal").is_visible()
    assert not any(each.is_visible() for each in page.locator("#filter, #expand, #more, nav").all())


def test_printing_leaves_cards_as_they_were(visit):
    page = visit(table(3, 0))
    page.locator("#a1 summary").click()
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert opened(page) == [1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_by_day_and_night(visit, scheme):
    page = visit("table", color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    behind = {name: _luminance(page, f"var(--{name})") for name in ("page", "sheet")}
    assert (behind["page"] > 0.5) == (scheme == "light")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == _colour(
        page, "var(--page)"
    )
    for name in ("text", "soft", "up-text", "down-text", "odd-text", "link", "good"):
        letters = _luminance(page, f"var(--{name})")
        # 4.5 is what WCAG 2.2 asks for body text.
        assert all(_contrast(letters, ground) >= 4.5 for ground in behind.values()), name


def _colour(page, value):
    """A colour as the browser computes it: "rgb(1, 2, 3)"."""
    return page.evaluate(
        """value => {
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.color = value;
            const found = getComputedStyle(probe).color;
            probe.remove();
            return found;
        }""",
        value,
    )


def _luminance(page, value):
    parts = [int(part) / 255 for part in _colour(page, value)[4:-1].split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one, other):
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_without_javascript_all_is_there(visit):
    page = visit("table", java_script_enabled=False)
    assert page.locator("#list > tbody > tr").count() == 42
    assert page.locator("#a42").is_visible()
    assert not page.locator("#filter").is_visible()
    page.locator("#a1 summary").click()
    assert page.locator("#a1 .card").is_visible()


def test_an_address_opens_its_card(visit, address_of):
    page = visit("table")
    page.goto(f"{address_of('table')}#a5")
    page.locator("#a5 .card").wait_for(state="visible")
    assert opened(page) == [5]


def test_nothing_can_be_loaded_even_by_a_script(browser, address_of):
    page = browser.new_page()
    page.goto(address_of("table"))
    tried = page.evaluate("fetch('data:,x').then(() => 'loaded', () => 'refused')")
    page.close()
    assert tried == "refused"


def test_pictures_are_drawn_beside_each_other(visit):
    page = visit("images")
    page.locator("#a1 summary").click()
    sizes = page.locator("#a1 img").evaluate_all(
        "all => all.map(each => [each.naturalWidth, each.naturalHeight])"
    )
    assert sizes == [[64, 64], [64, 64]]
    first, second = page.locator("#a1 img").all()
    assert first.bounding_box()["x"] < second.bounding_box()["x"]


def test_says_kindly_that_nothing_is_odd(visit):
    page = visit("nothing odd")
    assert page.get_by_text("Nothing odd was found").is_visible()
    assert page.locator("#list").count() == 0


def shown_part(page):
    """Start and size of the part of the timeline that is drawn, of 1000."""
    boxes = page.locator(".timeline svg").evaluate_all("all => all.map(each => each.getAttribute('viewBox'))")
    assert len(set(boxes)) == 1  # all channels show the same time
    start, _, size, _ = map(float, boxes[0].split())
    return round(start, 3), round(size, 3)


def test_zooms_the_timeline_by_mouse_and_by_keys(visit):
    page = visit("events")
    assert shown_part(page) == (0, 1000)
    page.get_by_role("button", name="Zoom in").click()
    assert shown_part(page) == (250, 500)
    page.locator(".timeline").focus()
    for key, part in (
        ("ArrowRight", (500, 500)),
        ("+", (625, 250)),
        ("ArrowLeft", (500, 250)),
        ("0", (0, 1000)),
    ):
        page.keyboard.press(key)
        assert shown_part(page) == part
    page.get_by_label("Event", exact=True).select_option(index=2)
    start, size = shown_part(page)
    assert start < 400 < 430 < start + size < 500
    assert page.locator("#range").text_content() == "step 370 to step 460"


def test_a_link_opens_the_row_it_names_even_if_it_was_filtered_out(visit):
    page = visit(table(2, 448))
    page.locator("#a1 summary").click()
    page.get_by_label("Find").fill("conn-07919")
    assert ranks(page) == [1]
    page.locator("#a1 .similar a").nth(1).click()
    assert page.url.endswith("#a9")
    page.locator("#a9").wait_for(state="visible")
    page.evaluate("location.hash = '#a450'")  # further down than what is listed at first
    page.wait_for_function("document.getElementById('a450').checkVisibility()")


def test_a_known_row_links_back_to_what_it_is_nearest_to(visit):
    page = visit("table")
    page.locator("#a1 summary").click()
    page.locator("#a1 .neighbors a").first.click()
    assert page.url.endswith("#u17")
    page.locator("#u17").wait_for(state="visible")
    page.locator("#u17 a").nth(2).click()
    page.locator("#a3 .card").wait_for(state="visible")
    assert opened(page) == [1, 3]


def downloaded(page):
    """Rows of the CSV that the page makes."""
    with page.expect_download() as started:
        page.get_by_role("button", name="Download CSV").click()
    assert started.value.suggested_filename == "anomalies.csv"
    text = Path(started.value.path()).read_bytes().decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_the_rows_that_are_listed_can_be_downloaded(visit):
    page, summary = visit("table"), table()
    head, *rows = downloaded(page)
    assert head == ["rank", "row", "place", "outlierness", "why"]
    known = [*summary["anomalies"], *summary["rest"]]
    assert [row[:2] for row in rows] == [[str(row["rank"]), row["name"]] for row in known]
    assert [float(row[3]) for row in rows] == [row["outlierness"] for row in known]
    assert rows[0][4].replace("\u00a0", " ") == known[0]["why"]
    assert rows[-1][4] == known[-1]["main"]
    page.get_by_label("Find").fill("conn-00866")
    assert len(downloaded(page)) == 2


def test_no_cell_of_the_download_is_a_formula(visit):
    summary = table(3, 4)
    cells = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x","y"), a\nb']
    for row, text in zip([*summary["anomalies"], *summary["rest"]], cells, strict=True):
        row.update(name=text, id=text, why=text, main=text)
    _, *rows = downloaded(visit(summary))
    assert len(rows) == len(cells)
    for row, text in zip(rows, cells, strict=True):
        # Of a carriage return the page has a sign.
        assert {row[1][0], row[4][0]} <= {"'", "\u240d"}, text
        assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for cell in row)
    assert rows[6][1].replace("\n", " ") == "'" + cells[6].replace("\n", " ")
