"""A browser for the tests that look at pages as people do."""

import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

from made_up import hostile, items, reports
from whyodd.report.render import render

KINDS = {
    "table": reports.table,
    "images": items.images,
    "series": items.series,
    "events": items.events,
    "texts": items.texts,
    "hostile": hostile.hostile,
    "nothing odd": reports.nothing_odd,
}


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium; without one tests are skipped, but never where all tests have to run."""
    program = shutil.which("chromium")
    if program is None:
        why = "there is no chromium on the path: install it, with apt-get install chromium on Debian"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    with sync_playwright() as player:
        started = player.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def address_of(tmp_path_factory):
    """Address of the page of a report, or of one of the made-up reports by its name."""
    folder, known = tmp_path_factory.mktemp("pages"), {}

    def address(summary):
        if not isinstance(summary, str):
            return written(folder / f"own-{len(list(folder.iterdir()))}.html", summary)
        if summary not in known:
            known[summary] = written(folder / f"{summary}.html", KINDS[summary]())
        return known[summary]

    def written(path, summary):
        path.write_text(render(summary), encoding="utf-8")
        return path.as_uri()

    return address


@pytest.fixture
def visit(browser, address_of):
    """Open a page; at the end of the test nothing may have gone wrong and nothing been asked for."""
    contexts, troubles = [], []

    def opened(summary, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page, address = context.new_page(), address_of(summary)
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda line: troubles.append(f"console: {line.text}"))
        context.on("request", lambda request: _note_request(troubles, request.url, address))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def _note_request(troubles, asked, address):
    is_inside = asked.startswith(("data:", "blob:")) or asked.split("#")[0] == address
    if not is_inside:
        troubles.append(f"request: {asked}")
