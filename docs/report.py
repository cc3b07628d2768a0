"""Take the pictures of a report in README.md and docs/tables.md, report.png and report-why.png, in Chromium.

Run it from anywhere, with whyodd, jinja2, pandas and playwright installed, and Chromium on the path:
``python docs/report.py``. Breast tumours, as in ``whyodd demo``: 70 % of the benign ones are what is normal.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import whyodd

PICTURES = Path(__file__).parent
WIDTH = 1000


def write_page(path: Path) -> None:
    """Report on all tumours but those that were learned."""
    data = load_breast_cancer(as_frame=True)
    is_benign = data.target == 1
    known, held_out = train_test_split(data.data[is_benign], test_size=0.3, random_state=0)
    found = whyodd.find(pd.concat([held_out, data.data[~is_benign]]), train=known)
    replace(found, title="Breast tumours").report(path)


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
