"""Take the README's pictures of a report, docs/report.png and docs/report-why.png, in Chromium.

Run it from anywhere, with whyodd, jinja2, pandas and playwright installed, and Chromium on the path:
``python docs/report.py``. Breast tumours, as in ``whyodd demo``: the benign ones are what is normal.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

import whyodd

PICTURES = Path(__file__).parent
WIDTH = 1000


def write_page(path: Path) -> None:
    """Report on all tumours."""
    data = load_breast_cancer(as_frame=True)
    pipeline = whyodd.auto(data.data[data.target == 1])
    e = whyodd.explain(pipeline, data.data)
    whyodd.write_report(e, path, title="Breast tumours", auto_report=pipeline.auto_report_)


def take_pictures(page_file: Path) -> None:
    """Pictures of the page's beginning, and of why one row is odd."""
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1300})
        page.goto(page_file.as_uri())
        page.screenshot(path=PICTURES / "report.png")
        # So tall that nothing scrolls below the head of the table, which stays in view.
        page.set_viewport_size({"width": WIDTH, "height": 6000})
        row = page.locator("tr#a31")
        row.locator("summary").click()
        page.mouse.move(0, 0)
        row.locator(".card").screenshot(path=PICTURES / "report-why.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_page(Path(folder) / "report.html")
        take_pictures(Path(folder) / "report.html")
