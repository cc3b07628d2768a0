"""The built site as people meet it: links, search without a network, desktop and phone.

Build it first: ``sphinx-build -W --keep-going -b html docs build/site``.
"""

import os
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import whyodd

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("WHYODD_SITE", ROOT / "build" / "site"))
PARTS = ("index", "start", "guides/index", "how-it-works", "reference/index", "made/commands", "coming-from")
LOOKED_AT = (*PARTS, "leaderboard", "tasks", "glossary", "tables", "reference/generated/whyodd.find")
DESKTOP, PHONE = 1280, 390

pytestmark = pytest.mark.site


@pytest.fixture(scope="module", autouse=True)
def _built():
    """Nothing here may pass without a site."""
    if not (SITE / "index.html").exists():
        pytest.fail(
            f"There is no site in {SITE}. Build it: sphinx-build -W --keep-going -b html docs build/site"
        )


class _Page(HTMLParser):
    """Addresses that a page asks for, and places in it that can be addressed."""

    def __init__(self):
        super().__init__()
        self.places, self.links, self.loaded = set(), set(), set()

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.places |= {told[name] for name in ("id", "name") if told.get(name)}
        if tag == "a" and told.get("href"):
            self.links.add(told["href"])
        if tag in ("img", "script", "iframe") and told.get("src"):
            self.loaded.add(told["src"])
        # rel="canonical", "next" and the like are not loaded.
        if tag == "link" and told.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.add(told["href"])


@cache
def parsed(file):
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def pages():
    """All of them, without the theme's own templates."""
    return [file for file in sorted(SITE.rglob("*.html")) if "_static" not in file.parts]


def is_elsewhere(address):
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def broken(file, address):
    """What is wrong with an address of a page, if anything."""
    parts = urlsplit(address)
    there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    there = there / "index.html" if there.is_dir() else there
    if not there.is_file():
        return f"{file.relative_to(SITE)}: {address} leads nowhere"
    if parts.fragment and there.suffix == ".html" and unquote(parts.fragment) not in parsed(there).places:
        return f"{file.relative_to(SITE)}: {address} has no such place"
    return None


def test_no_link_is_broken():
    checked, found = 0, []
    for file in pages():
        for address in parsed(file).links | parsed(file).loaded:
            if not is_elsewhere(address):
                checked += 1
                found.append(broken(file, address))
    assert checked > 1_000
    assert [one for one in found if one] == []


def test_a_broken_link_would_be_noticed():
    file = SITE / "index.html"
    assert "leads nowhere" in broken(file, "no-such-page.html")
    assert "no such place" in broken(file, "start.html#no-such-place")
    assert broken(file, "start.html") is None


def test_nothing_is_loaded_from_elsewhere():
    assert {src for file in pages() for src in parsed(file).loaded if is_elsewhere(src)} == set()


def test_every_guide_is_a_page():
    for guide in (ROOT / "docs").glob("*.md"):
        assert (SITE / f"{guide.stem}.html").exists(), guide.name


def test_every_name_has_its_place():
    """The inventory of names is what other projects would link to."""
    from sphinx.util.inventory import InventoryFile

    data = InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="").data
    known = {name for kind, names in data.items() if kind.startswith("py:") for name in names}
    modules = {"dask", "evaluation", "explainers", "kernels", "mlflow", "onnx", "patches", "plots", "spark"}
    assert {f"whyodd.{name}" for name in whyodd.__all__ if name not in modules} <= known
    assert {"whyodd.evaluation.causes", "whyodd.plots.waterfall", "whyodd.dask.fit"} <= known


def test_every_example_of_the_gallery_ran():
    examples = sorted((ROOT / "docs" / "gallery").rglob("plot_*.py"))
    for example in examples:
        where = example.relative_to(ROOT / "docs" / "gallery").with_suffix(".html")
        page = SITE / "auto_gallery" / where
        assert page.exists(), example.name
        assert "sphx-glr-single-img" in page.read_text(encoding="utf-8"), f"{example.name} has no picture"
    assert len(examples) == len([page for page in pages() if page.stem.startswith("plot_")])


@pytest.fixture
def opened(browser):
    """A page without a network: anything that is asked for beyond the site's files is a failure."""
    contexts, troubles = [], []

    def open_page(name, width, query=""):
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"{name}: {error}"))
        context.on(
            "request", lambda asked: troubles.append(asked.url) if asked.url.startswith("http") else None
        )
        page.goto((SITE / f"{name}.html").as_uri() + query)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_pages_fit_the_screen(opened, width):
    for name in LOOKED_AT:
        page = opened(name, width)
        assert page.locator("h1").first.is_visible(), name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than {width}"
        sizes = page.locator("article img").evaluate_all("all => all.map(one => one.naturalWidth)")
        assert all(sizes), f"{name}: a picture is missing"


def test_formulas_are_shown(opened):
    page = opened("how-it-works", DESKTOP)
    formulas = page.locator("math")
    assert formulas.count() > 30
    boxes = [formulas.nth(place).bounding_box() for place in range(8)]
    assert all(box["height"] > 5 for box in boxes)


def test_a_formula_leads_to_its_line(opened):
    page = opened("how-it-works", DESKTOP)
    link = page.locator(".computed-place a").first
    told = int(re.search(r"line (\d+)$", link.inner_text()).group(1))
    line = page.locator(".computed .highlight").first.inner_text().strip()
    link.click()
    page.wait_for_load_state()
    assert page.url.endswith(f"#line-{told}")
    assert line in page.locator(".highlight").first.inner_text()
    assert page.locator(f"[id='line-{told}'], [name='line-{told}']").count() == 1


@pytest.mark.parametrize(
    ("words", "page"),
    [("false alarms", "tasks"), ("outlierness", "glossary"), ("waterfall", "whyodd.plots.waterfall")],
)
def test_the_search_works_without_a_network(opened, words, page):
    asked = opened("search", DESKTOP, f"?q={words.replace(' ', '+')}")
    asked.locator("#search-results li a").first.wait_for(timeout=20_000)
    asked.wait_for_function("document.querySelector('.search-summary')?.innerText.length > 0")
    found = asked.locator("#search-results li a").evaluate_all("all => all.map(one => one.href)")
    assert any(page in address for address in found), found


def test_a_phone_has_a_menu(opened):
    page = opened("index", PHONE)
    page.locator("button.pst-navbar-icon, .primary-toggle").first.click()
    assert page.get_by_role("link", name="Start here").locator("visible=true").count() >= 1
