"""Settings of the site: ``sphinx-build -W --keep-going -b html docs build/site``.

Nothing is downloaded while it is built. What the guides do not hold themselves is made at the beginning of a
build: the pages of the repository (README, ARCHITECTURE, ...) and the reference of the command line.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
GALLERY = HERE / "gallery"
# What pages and examples import stands in folders of its own, for the processes that run examples too.
_FOLDERS = [str(HERE / "sitetools"), str(GALLERY)]
sys.path[:0] = _FOLDERS
os.environ["PYTHONPATH"] = os.pathsep.join([*_FOLDERS, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
# Examples run in processes of their own, which read this and not pytest's settings.
os.environ.setdefault("MPLBACKEND", "Agg")

import gallery_data  # noqa: E402 - they stand in the folders above
import site_commands  # noqa: E402
import site_docstrings  # noqa: E402
import site_formulas  # noqa: E402
import site_pages  # noqa: E402

import whyodd  # noqa: E402

project = "whyodd"
author = "The whyodd developers"
copyright = author  # noqa: A001 - the name is Sphinx's
version = release = whyodd.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "site_math",
    "sphinx_gallery.gen_gallery",
]
html_math_renderer = "mathml"
exclude_patterns = [
    "gallery/**",
    "sitetools/**",
    "auto_gallery/**/*.ipynb",
    "auto_gallery/**/*.py",
    "README.md",
]

# ---- Markdown. Headings get the addresses that GitHub gives them, so that links work in both places.
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
smartquotes = False  # two hyphens of an option must stay two
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions

# ---- Reference
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections tell the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = True
numpydoc_show_inherited_class_members = False
numpydoc_class_members_toctree = False
python_use_unqualified_type_names = True

# ---- Gallery
HAS_GALLERY = any(GALLERY.rglob("plot_*.py"))
if not HAS_GALLERY:
    extensions.remove("sphinx_gallery.gen_gallery")
sphinx_gallery_conf = {
    "examples_dirs": str(GALLERY),
    "gallery_dirs": "auto_gallery",
    # Examples whose data are not there are shown, and not run.
    "filename_pattern": gallery_data.filename_pattern(),
    "ignore_pattern": r"(__init__|gallery_data)\.py",
    "capture_repr": ("_repr_html_",),
    "parallel": 2,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "matplotlib_animations": False,
    "plot_gallery": True,
    "within_subsection_order": "FileNameSortKey",
    "reference_url": {},
    "default_thumb_file": str(HERE / "picture.png"),
}
# The compilation of loops is cached, and numba says so.
warnings.filterwarnings("ignore", category=UserWarning, module="numba")
for _name in ("matplotlib", "whyodd"):
    logging.getLogger(_name).setLevel(logging.ERROR)

# ---- Pages
html_theme = "pydata_sphinx_theme"
html_title = "whyodd"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
# Its texts would be fetched, which browsers refuse for pages that are opened as files.
html_show_search_summary = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without pages below them need no list of these.
html_sidebars = {page: [] for page in ("start", "how-it-works", "coming-from", "leaderboard")}


# The parts in the site's header. index.md is read on GitHub as well, so they do not stand there.
_PARTS = {
    "Start here": "start",
    "Guides": "guides/index",
    "Gallery": "auto_gallery/index",
    "How it works": "how-it-works",
    "Reference": "reference/index",
    "Coming from ...": "coming-from",
    "Leaderboard": "leaderboard",
    "Contribute": "contribute",
}


def _listed(pages: list[str]) -> str:
    """A hidden list of pages, to be put at the end of a page."""
    return "\n".join(["", "```{toctree}", ":hidden:", "", *pages, "```", ""])


def _parts() -> list[str]:
    """The parts of the site, without a gallery if there is none."""
    return [f"{name} <{page}>" for name, page in _PARTS.items() if HAS_GALLERY or "gallery" not in page]


linkcode_resolve = site_formulas.linkcode_resolve


def _site_links(app: object, docname: str, source: list[str]) -> None:  # noqa: ARG001 - Sphinx passes it
    """Links out of docs/ lead to the pages of these files; pages that were made have theirs already."""
    page = HERE / f"{docname}.md"
    if page.exists() and not docname.startswith("made/"):
        source[0] = site_pages.relinked(source[0], page, page)
    if docname == "index":
        source[0] += _listed(_parts())
    if docname == "contribute":
        source[0] += _listed([f"made/{page.stem}" for page in site_pages.project_pages().values()])


def setup(app: object) -> None:
    """Make what is made at the beginning of a build, and what formulas need."""
    site_pages.write_project_pages()
    site_commands.write_commands()
    app.connect("source-read", _site_links)  # type: ignore[attr-defined]
    app.connect("builder-inited", site_formulas.remember)  # type: ignore[attr-defined]
    app.connect("html-collect-pages", site_formulas.source_pages)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", site_docstrings.escape_formulas, priority=1)  # type: ignore[attr-defined]
    app.connect("autodoc-skip-member", site_docstrings.is_skipped)  # type: ignore[attr-defined]
    app.add_directive("computed", site_formulas.ComputedDirective)  # type: ignore[attr-defined]
