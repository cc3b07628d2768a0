"""axe-core, which knows the rules of WCAG, finds nothing wrong with any page, by day and night."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from made_up.reports import table

OTHERS = ("images", "series", "events", "texts", "hostile", "nothing odd")
OPENED = 3  # cards, which are all alike: axe takes a second for each


def violations(page):
    """What axe-core finds, by rule, with the first places."""
    # The page forbids scripts that are not its own: axe is put in by the browser, which may.
    page.evaluate(
        """opened => Array.from(document.querySelectorAll("details")).forEach(
            each => { each.open = !each.closest("#list") || opened-- > 0; })""",
        OPENED,
    )
    found = Axe().run(page).response["violations"]
    return {each["id"]: [node["html"][:200] for node in each["nodes"][:3]] for each in found}


@pytest.mark.parametrize("kind", OTHERS)
def test_nothing_is_wrong(visit, kind):
    assert violations(visit(kind, bypass_csp=True)) == {}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_nothing_is_wrong_with_a_table_by_day_and_on_a_phone_at_night(visit, width, scheme):
    page = visit(table(OPENED, 5), width=width, color_scheme=scheme, bypass_csp=True)
    assert page.locator(".strip, .scatter, .common").count() > OPENED
    assert violations(page) == {}


def test_what_is_wrong_is_found(visit):
    page = visit("nothing odd", bypass_csp=True)
    page.evaluate("() => document.body.append(document.createElement('button'))")
    assert set(violations(page)) >= {"button-name"}
