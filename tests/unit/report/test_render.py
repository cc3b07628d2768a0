"""The page as text: complete, well formed, nothing but text from the data, never too large."""

import base64
import hashlib
import re
from collections import Counter
from importlib import resources

import pytest
from jinja2 import UndefinedError

from made_up.hostile import HARMFUL, hostile
from made_up.items import images, series, texts
from made_up.pages import Reader
from made_up.reports import column, nothing_odd, table
from whyodd.report.render import render

MADE = (table, images, series, texts, hostile, nothing_odd)
KINDS = {make.__name__: make for make in MADE}


def size(page):
    return len(page.encode("utf-8"))


def listed(page):
    return len(re.findall(r'<tr id="a\d+"', page))


def unlisted(page):
    found = re.search(r'id="unlisted">([\d,]+) more', page)
    return int(found[1].replace(",", "")) if found else 0


@pytest.mark.parametrize("kind", KINDS)
def test_is_well_formed_and_needs_nothing_else(kind):
    read = Reader(render(KINDS[kind]()))
    counts = Counter(tag for tag, _ in read.elements)
    assert counts["html"] == counts["style"] == counts["script"] == counts["h1"] == 1
    for tag, attributes in read.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert attributes.get("src", "data:").startswith("data:")
        assert attributes.get("href", "#").startswith(("#", "data:"))
        assert tag not in {"iframe", "object", "embed", "base", "form", "video", "audio"}


@pytest.mark.parametrize("kind", KINDS)
def test_names_each_element_once_and_labels_what_it_names(kind):
    read = Reader(render(KINDS[kind]()))
    names = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(names) == len(set(names))
    asked = {attributes.get("aria-labelledby", attributes.get("for")) for _, attributes in read.elements}
    links = {attributes["href"][1:] for tag, attributes in read.elements if tag == "a"}
    assert (asked - {None}) | links <= set(names)


def test_allows_only_its_own_style_and_script():
    page = render(table())
    for tag in ("style", "script"):
        text = re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page
    assert "unsafe" not in page


def test_script_writes_no_markup():
    script = resources.files("whyodd.report").joinpath("templates", "page.js").read_text("utf-8")
    assert not re.search("innerHTML|outerHTML|insertAdjacent|document.write|eval|Function\\(", script)


def test_harm_is_nothing_but_text():
    page = render(hostile())
    tags = {tag for tag, _ in Reader(page).elements}
    assert tags <= {tag for tag, _ in Reader(render(table())).elements} | {"mark", "blockquote", "figcaption"}
    assert "<script>alert" not in page
    assert "49" not in re.findall(r"<h1>.*</h1>", page)[0]
    text = "".join(Reader(page).texts)
    for harm in HARMFUL[:8]:
        assert text.count(harm) > 5, harm


def test_a_page_can_be_written_whatever_it_holds():
    render(hostile()).encode("utf-8")  # lone surrogates could not


@pytest.mark.parametrize(
    ("counts", "threshold", "expected"),
    [
        ((10_000, 42, 12), 3.0, "Of 10,000 rows, 42 are odd (under 1 %). The 12 oddest are explained below"),
        ((100, 5, 5), 3.0, "Of 100 rows, 5 are odd (5 %). Each is explained below."),
        ((100, 5, 1), 3.0, "Of 100 rows, 5 are odd (5 %). The oddest one is explained below"),
        ((100, 1, 1), 3.0, "Of 100 rows, 1 is odd (1 %). It is explained below."),
        ((100, 0, 10), 3.0, "None of 100 rows is odd. The 10 oddest are shown anyway."),
        ((1, 0, 0), 3.0, "None of 1 row is odd."),
        ((100, 0, 50), None, "100 rows ranked by how odd they are. The 50 oddest are explained below."),
        ((22, 0, 22), None, "22 rows ranked by how odd they are. Each is explained below."),
    ],
)  # fmt: skip
def test_says_in_a_sentence_what_was_found(counts, threshold, expected):
    summary = table(1, 0)
    summary["counts"] = dict(zip(("rows", "odd", "shown"), counts, strict=True))
    summary["threshold"]["value"] = threshold
    assert f'<p class="lead">{expected}' in render(summary)


def test_shows_all_that_a_card_tells():
    summary = table(1, 0)
    text = " ".join("".join(Reader(render(summary)).texts).split())
    row = summary["anomalies"][0]
    told = [
        row["name"],
        row["how_odd"],
        row["why"],
        row["how_odd"],
        row["outlierness_text"],
        "17 other variables",
        "6 %",
        "18 %",
        "2.1 to 48",
    ]
    told += [reason[key] for reason in row["reasons"] for key in ("name", "judgement", "value", "expected")]
    told += [neighbor["name"] for neighbor in row["neighbors"]] + ["counts for 41 %", "the same"]
    told += [row["change"]["sentence"], "12,400 → 310", "Outlierness then: 3.2"]
    assert [part for part in told if part not in text] == []


def test_hides_what_does_not_apply():
    text = "".join(Reader(render(texts())).texts)
    assert "Odd for the same reason" not in text
    assert "How it was made" not in text
    assert "times as odd" not in text
    assert "The nearest known" not in text
    assert "The smallest change" not in text.split("Anomalies")[-1]
    assert "all words" in text
    assert "as a usual row" not in text


def test_a_rest_of_nothing_is_no_line():
    summary = table(1, 0)
    assert "no single variable</th>" in render(summary)
    summary["anomalies"][0]["unexplained"] = {"share": 0.0, "share_text": "0 %"}
    assert "no single variable</th>" not in render(summary)


def test_the_legend_explains_what_there_is():
    summary = table(1, 0)
    assert "<b>no single variable</b>" in render(summary)
    assert "at odds with others" not in render(summary)
    summary["anomalies"][0]["unexplained"] = {"share": 0.0, "share_text": "0 %"}
    summary["anomalies"][0]["reasons"][0]["judgement"] = "at odds with others"
    page = render(summary)
    assert "<b>no single variable</b>" not in page
    assert "The shares of all variables make up 100 %." in page
    assert "<b>at odds with others</b>" in page


def test_says_why_there_is_no_change():
    summary = table(3, 0)
    assert summary["anomalies"][2]["change"] is None
    assert summary["anomalies"][2]["change_missing"] in render(summary)


def test_a_variable_without_a_measure_has_no_bar():
    summary = table(1, 0)
    summary["anomalies"][0]["reasons"][0].update(share=None, share_text="", judgement="new value")
    page = render(summary)
    assert page.count('<svg class="bar"') == 5  # 3 reasons, the others, the unexplained part
    assert "never varied before, so no share" in page


def test_bars_of_what_speaks_against_go_the_other_way():
    summary = table(1, 0)
    for reason, share in zip(summary["anomalies"][0]["reasons"], (0.75, -0.25, 0.0, 0.0), strict=True):
        reason["share"] = share
    page = render(summary)
    bars = re.findall(r'<rect class="(?:up|down|odd)" x="([\d.]+)%" width="([\d.]+)%"', page)
    assert bars[:2] == [("25", "75"), ("0", "25")]


def test_refuses_a_summary_that_lacks_something():
    summary = table()
    del summary["anomalies"][0]["why"]
    with pytest.raises((UndefinedError, KeyError)):
        render(summary)


@pytest.mark.full
def test_any_number_of_rows_fits():
    summary = table(20, 0)
    one = table(0, 1)["rest"][0]
    summary["rest"] = [{**one, "rank": rank} for rank in range(21, 200_021)]
    page = render(summary)
    assert 4_800_000 < size(page) <= 5_000_000
    assert page.count('<article class="card"') == 20
    assert listed(page) + unlisted(page) == 200_020


@pytest.mark.full
def test_any_number_of_cards_fits():
    one = table(1, 0)["anomalies"][0]
    summary = {**table(0, 50), "anomalies": [{**one, "rank": rank} for rank in range(1, 10_001)]}
    summary["rest"] = [{**row, "rank": 10_000 + row["rank"]} for row in summary["rest"]]
    page = render(summary)
    cards = page.count('<article class="card"')
    assert 100 < cards < 10_000
    assert f"{10_000 - cards:,} of them have no details" in page
    assert 4_800_000 < size(page) <= 5_000_000
    assert listed(page) + unlisted(page) == 10_050


def test_large_pictures_take_the_room_of_cards_not_of_the_page():
    summary = images(30)
    for row in summary["anomalies"]:
        row["item"]["picture"] = row["item"]["heatmap"] = "data:image/png;base64," + "A" * 400_000
    page = render(summary)
    assert size(page) <= 5_000_000
    assert page.count('<article class="card"') == 6
    assert listed(page) == 30


def test_a_picture_too_large_for_the_page_is_left_out():
    summary = images(2)
    summary["anomalies"][0]["item"]["picture"] = "data:image/png;base64," + "A" * 6_000_000
    page = render(summary)
    assert page.count("The picture is too large for this page.") == 1
    assert page.count("<img") == 3


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/x.png",
        "javascript:alert(1)",
        "data:text/html;base64,AAAA",
        'data:image/png;base64,"',
    ],
)
def test_only_pictures_that_are_on_the_page_are_shown(address):
    summary = images(1)
    summary["anomalies"][0]["item"]["picture"] = address
    assert render(summary).count("<img") == 1


def test_rows_are_left_out_before_cards():
    summary = table(10, 500)
    whole = size(render(summary))
    shorter = render(summary, limit=whole - 20_000)
    assert shorter.count('<article class="card"') == 10
    assert listed(shorter) < 510
    shortest = render(summary, limit=80_000)
    assert 0 < shortest.count('<article class="card"') < 10
    assert listed(shortest) + unlisted(shortest) == 510
    assert size(shortest) <= 80_000


def test_a_limit_that_nothing_fits_in_is_refused():
    with pytest.raises(ValueError, match=r"limit=1000: the page needs \d+ bytes"):
        render(table(), limit=1000)


def test_long_lists_of_columns_and_notes_are_cut():
    summary = table(1, 0)
    summary["columns"]["used"] = [column(f"c{k}", "number", "y" * 10_000) for k in range(9_000)]
    summary["notes"] = ["z" * 10_000] * 9_000
    page = render(summary)
    assert size(page) < 1_000_000
    assert "8,800 more columns not listed" in page
    assert "8960 more notes are not listed" in page
