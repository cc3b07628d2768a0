"""Links that work on GitHub work on the site as well."""

import pytest
from site_pages import DOCS, MADE, ROOT, relinked

GUIDE = DOCS / "tables.md"


@pytest.mark.parametrize(
    ("link", "on_the_site"),
    [
        ("[a](../README.md#a-table-without-code)", "[a](made/readme.md#a-table-without-code)"),
        ("[a](changes.md)", "[a](changes.md)"),
        ("[a](#columns)", "[a](#columns)"),
        ("[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("![a](report.png)", "![a](report.png)"),
        ("the [licence](../LICENSE) of it", "the licence of it"),
    ],
)
def test_links_of_guides(link, on_the_site):
    assert relinked(link, GUIDE, GUIDE) == on_the_site


@pytest.mark.parametrize(
    ("link", "on_the_site"),
    [
        ("[a](docs/tables.md#columns)", "[a](../tables.md#columns)"),
        ("![a](docs/report.png)", "![a](../report.png)"),
        ("[a](CONTRIBUTING.md)", "[a](contributing.md)"),
    ],
)
def test_links_of_project_pages(link, on_the_site):
    assert relinked(link, ROOT / "README.md", MADE / "readme.md") == on_the_site


def test_code_stays_as_it_is():
    text = "`[a](../LICENSE)` and\n```sh\n[b](../LICENSE)\n```\n[c](../LICENSE)\n"
    assert relinked(text, GUIDE, GUIDE) == text.replace("[c](../LICENSE)", "c")


def test_every_guide_is_in_the_menu():
    menu = (DOCS / "guides" / "index.rst").read_text(encoding="utf-8")
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    for guide in DOCS.glob("*.md"):
        listed = f"../{guide.stem}\n" in menu or f'"{guide.stem}"' in settings
        assert listed or guide.stem == "index", guide.name
