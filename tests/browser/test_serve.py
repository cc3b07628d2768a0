"""``whyodd serve`` as people use it: by mouse, by keyboard, on a phone, at night, two at once."""

import re
import signal

import polars as pl
import psutil
import pytest
from axe_playwright_python.sync_playwright import Axe

from made_up.orders import orders
from made_up.serving import PATIENCE, Server, until
from whyodd.web.pages import page as filled

MILLISECONDS = 1000 * PATIENCE


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The orders of two days, the second with one that is odd."""
    folder = tmp_path_factory.mktemp("tables")
    orders().write_csv(folder / "monday.csv")
    orders(60, seed=1).write_csv(folder / "tuesday.csv")
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory, tables):
    started = Server(tmp_path_factory.mktemp("serve") / "store", tables)
    yield started
    started.kill()


@pytest.fixture
def come(browser):
    """Come to a server with a browser of one's own; nothing may go wrong on its pages."""
    contexts, troubles = [], []

    def came(server, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(MILLISECONDS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        context.on("request", lambda request: _note_request(troubles, request.url))
        page.goto(server.address)
        return page

    yield came
    for context in contexts:
        context.close()
    assert troubles == []


def _note_request(troubles, address):
    if not address.startswith(("http://127.0.0.1:", "data:")):
        troubles.append(f"request: {address}")


@pytest.fixture(scope="module")
def findings(server, tables, browser):
    """Address of what was found in the orders of Monday, by somebody who came before."""
    context = browser.new_context()
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    page.goto(server.address)
    upload(page, tables / "monday.csv")
    address = find(page)
    context.close()
    return address


@pytest.fixture(scope="module")
def comparison(server, tables, tmp_path_factory, browser):
    """Address of what changed from the orders of Monday to later ones."""
    later = tmp_path_factory.mktemp("later") / "later.csv"
    orders(200, seed=2).with_columns(pl.col("amount") + 5 * pl.col("items")).write_csv(later)
    context = browser.new_context()
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    page.goto(server.address)
    upload(page, tables / "monday.csv")
    monday = page.url.rpartition("/")[2]
    page.goto(server.origin)
    upload(page, later)
    page.get_by_label("The other file").select_option(monday)
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="What changed, the main change first").wait_for()
    assert "amount" in page.locator(".changes li").first.inner_text()
    with page.expect_download() as report:
        page.get_by_role("link", name="Report (one file)").click()
    assert "<title>monday.csv → later.csv</title>" in report.value.path().read_text("utf-8")
    address = page.url
    context.close()
    return address


def upload(page, path):
    page.set_input_files("#file", path)
    page.get_by_role("button", name="Check its columns").click()
    page.get_by_role("heading", name="Columns", exact=True).wait_for()


def find(page):
    """The address of the findings."""
    page.get_by_role("button", name="Find what is odd").click()
    page.get_by_role("heading", name="Anomalies").wait_for()
    return page.url


def names(page):
    return page.locator(".found tbody .name a").all_inner_texts()


def keeps_nobody_out(page):
    """Axe finds nothing on a page, and it is not wider than the window."""
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= page.viewport_size["width"]


def status(page):
    return page.locator("#mark [role=status]").inner_text()


def test_from_a_file_to_findings_to_marks_to_the_next_file(come, server, tables, tmp_path):
    page = come(server)
    upload(page, tables / "monday.csv")
    # The column of names was found; another kind can be said.
    assert page.get_by_label("order").input_value() == "names rows"
    page.get_by_label("items").select_option("number")
    address = find(page)
    assert names(page) == ["A-0007", "A-0020", "A-0033"]
    page.get_by_role("link", name="A-0007").click()
    assert page.locator(".card .sentence").inner_text().startswith("amount is too high")
    page.get_by_label("Note").fill("=a gift")
    page.get_by_role("button", name="It is fine").click()
    page.get_by_text("Marked as").wait_for()
    assert "fine" in status(page)
    page.get_by_role("link", name="Next →").click()
    page.get_by_role("button", name="It is odd").click()
    page.get_by_text("Marked as").wait_for()
    assert "confirmed odd" in status(page)
    page.goto(address)
    assert page.locator(".found .tag").all_inner_texts() == ["✓ fine", "! confirmed odd"]
    with page.expect_download() as table:
        page.get_by_role("link", name=re.compile("as CSV")).click()
    kept = pl.read_csv(table.value.path())
    assert kept["id"].to_list() == ["A-0007", "A-0020", "A-0033"]
    assert kept["mark"].to_list() == ["fine", "confirmed", None]
    assert kept["note"][0] == "'=a gift"
    for link, name in (("Report (one file)", "report.html"), ("Model", "model.whyodd")):
        with page.expect_download() as file:
            page.get_by_role("link", name=link, exact=True).click()
        assert file.value.suggested_filename == name
        file.value.save_as(tmp_path / name)
    assert "A-0007" in (tmp_path / "report.html").read_text()
    page.set_input_files("#file", tables / "tuesday.csv")
    page.get_by_role("button", name="Judge it").click()
    page.get_by_role("heading", name="tuesday.csv").wait_for()
    page.get_by_role("heading", name="Anomalies").wait_for()
    assert set(names(page)) >= {"A-0020", "A-0033"}
    assert page.locator("#marks").inner_text().startswith("2 marks were taken along (1 fine, 1 confirmed)")
    assert page.locator(".found .tag").count() == 0


def test_the_same_with_the_keyboard_alone(come, server, tables):
    page = come(server)
    chosen = iter(["monday.csv", "tuesday.csv"])
    # All the time: a listener that comes only now and then may come too late.
    page.on("filechooser", lambda chooser: chooser.set_files(tables / next(chosen)))
    press(page, "#file")
    until(lambda: page.locator("#file").evaluate("each => each.files.length"), "the file")
    press(page, "button.go")
    page.get_by_role("heading", name="Columns", exact=True).wait_for()
    tab_to(page, "[name=c4]")
    page.keyboard.type("ignore")
    assert page.locator("[name=c4]").input_value() == "ignore"
    press(page, "button.go")
    page.get_by_role("heading", name="Anomalies").wait_for()
    tab_to(page, "#q")
    page.keyboard.type("atlantis")
    page.keyboard.press("Enter")
    page.get_by_text("1 match").wait_for()
    press(page, ".found tbody a")
    tab_to(page, "#note")
    page.keyboard.type("no such place")
    press(page, "button[value=confirmed]")
    page.get_by_text("Marked as").wait_for()
    assert page.locator("#note").input_value() == "no such place"
    press(page, ".trail a[href^='/findings']")
    page.locator(".found .tag").wait_for()
    press(page, "#file")
    until(lambda: page.locator("#file").evaluate("each => each.files.length"), "the file")
    press(page, "#next button.go")
    page.get_by_role("heading", name="tuesday.csv").wait_for()
    page.get_by_role("heading", name="Anomalies").wait_for()


def tab_to(page, selector):
    """Press Tab until the first of these has the focus, which must be seen."""
    wanted = page.locator(selector).first.element_handle()
    for _ in range(80):
        page.keyboard.press("Tab")
        if wanted.evaluate("each => each === document.activeElement"):
            style = wanted.evaluate("each => getComputedStyle(each).outlineStyle")
            assert style != "none"
            return
    raise AssertionError(f"{selector} is not reached with the keyboard")


def press(page, selector):
    tab_to(page, selector)
    page.keyboard.press("Enter")


def test_a_state_is_an_address(come, server, findings):
    page = come(server)
    page.goto(f"{findings}?q=a-00&sort=name&way=down")
    assert names(page) == ["A-0033", "A-0020", "A-0007"]
    assert page.locator("#q").input_value() == "a-00"
    page.locator("#mark").select_option("none")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="items too high").click()
    page.wait_for_url("**reason=1**")
    again = come(server)
    again.goto(page.url)
    assert names(again) == names(page) == ["A-0020"]


def test_a_file_of_the_folder(come, server):
    page = come(server)
    page.get_by_role("button", name="tuesday.csv").click()
    page.get_by_role("heading", name="Columns", exact=True).wait_for()
    assert "60 rows" in page.locator(".lead").inner_text()


def test_without_scripts_everything_is_there(come, server, findings):
    page = come(server, java_script_enabled=False)
    page.goto(findings)
    page.get_by_role("link", name="A-0020").click()
    page.get_by_role("button", name="It is fine").click()
    assert "fine" in status(page)
    page.get_by_role("button", name="Remove the mark").click()
    assert status(page) == "Not marked yet."


def test_two_at_once(come, server, findings):
    anna, bert = come(server), come(server)
    for page in (anna, bert):
        page.goto(f"{findings}/rows/33")
    anna.get_by_label("Note").fill("checked by Anna")
    anna.get_by_role("button", name="It is fine").click()
    anna.get_by_text("Marked as").wait_for()
    bert.get_by_role("button", name="It is odd").click()
    bert.get_by_role("alert").wait_for()
    assert "Somebody else" in bert.get_by_role("alert").inner_text()
    assert bert.get_by_label("Note").input_value() == "checked by Anna"
    bert.get_by_role("button", name="It is odd").click()
    bert.get_by_text("confirmed odd").wait_for()
    anna.reload()
    assert "confirmed odd" in status(anna)


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")], ids=["light", "dark", "phone"]
)
def test_nothing_keeps_anybody_out(come, server, findings, comparison, width, scheme):
    page = come(server, width, color_scheme=scheme)
    page.get_by_role("button", name="monday.csv").click()
    page.get_by_role("heading", name="Columns", exact=True).wait_for()
    setup = page.url
    of_findings = (findings, f"{findings}/rows/7", f"{findings}/about", f"{findings}/no")
    for path in (server.origin, setup, *of_findings, comparison):
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        keeps_nobody_out(page)
    page.goto(server.origin)
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", dark))) < 200) == (scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_who_is_asked_for_a_password_can_read_it(browser, scheme):
    context = browser.new_context(viewport={"width": 390, "height": 900}, color_scheme=scheme)
    asking = context.new_page()
    asking.set_content(filled("login.html", 403, mistake="The password is wrong.").body.decode())
    keeps_nobody_out(asking)
    context.close()


def test_a_crash_loses_nothing(come, tables, tmp_path):
    """Work is seen after a reload; after SIGKILL marks are there, work begins again, nothing else runs."""
    first = Server(tmp_path / "store")
    page = come(first)
    upload(page, tables / "monday.csv")
    setup = page.url.removeprefix(first.origin)
    findings = find(page).removeprefix(first.origin)
    child = first.child()
    child.send_signal(signal.SIGSTOP)  # from here on all work takes for ever
    page.goto(first.origin + setup)
    page.get_by_role("button", name="Find what is odd").click()
    page.locator("progress").wait_for()
    page.reload()
    page.locator("progress").wait_for()
    work = page.url.removeprefix(first.origin)
    # A second one waits for its turn, and pages are there meanwhile.
    second = come(first)
    second.set_input_files("#file", tables / "tuesday.csv")
    second.get_by_role("button", name="Check its columns").click()
    second.get_by_text("1 other first").wait_for()
    second.goto(f"{first.origin}{findings}/rows/7")
    second.get_by_role("button", name="It is fine").click()
    second.get_by_text("Marked as").wait_for()
    first.kill()
    page.get_by_text("does not answer").wait_for()
    child.send_signal(signal.SIGCONT)
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, "the child to end")
    again = Server(tmp_path / "store")
    page.goto(again.origin + work)  # a cookie is for all ports: who was in still is
    page.get_by_role("heading", name="Anomalies").wait_for()
    page.goto(f"{again.origin}{findings}/rows/7")
    assert "fine" in status(page)
    page.goto(again.origin)
    page.get_by_role("link", name="tuesday.csv").wait_for()
    again.kill()


def test_work_can_be_stopped_and_tried_again(come, server, tables, findings):
    page = come(server)
    page.goto(findings)  # there is somebody to do the work
    page.goto(server.origin)
    child = server.child()
    child.send_signal(signal.SIGSTOP)
    page.set_input_files("#file", tables / "tuesday.csv")
    page.get_by_role("button", name="Check its columns").click()
    page.locator("progress").wait_for()
    keeps_nobody_out(page)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("alert").wait_for()
    keeps_nobody_out(page)
    assert "stopped" in page.get_by_role("alert").inner_text()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, "the child to end")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="Columns", exact=True).wait_for()
    page.get_by_text("Delete this file").click()
    page.get_by_role("button", name="Delete it all").click()
    page.get_by_role("heading", name="Find what is odd").wait_for()
