"""The page of a comparison: complete, well formed, nothing but text from the data."""

import base64
import hashlib
import re

import numpy as np
import pytest
from jinja2 import UndefinedError

import whyodd
from made_up.hostile import HARMFUL
from made_up.pages import Reader
from whyodd.changes.comparison import Change, ColumnPart, Comparison
from whyodd.report.comparison import render_comparison


def comparison(names=("amount", "plan", "load", "heat"), label="'basic'", **more):
    """One of every kind of change and picture, with these names and values."""
    kinds = ("type", "column", "gaps", "group", "relation", "new kind", "vanished kind")
    changes = [Change(kind, (name,), f"{name} {label}", 0.01, 0.5) for kind in kinds for name in names]
    columns = [ColumnPart(name, "number", 1.0, 0.6, 0.2, 0.1, 0.25, 0.01) for name in names]
    half = [0.5] * 2
    pictures = [
        {
            "kind": "bins",
            "name": names[0],
            "old": half,
            "new": half,
            "medians": [0.2, None],
            "ticks": [label],
        },
        {"kind": "shares", "name": names[0], "labels": [label, label], "old": half, "new": half, "n_more": 3},
        {
            "kind": "pair",
            "name": names[0],
            "names": [label, names[0]],
            "ends": [[label, "1"]] * 2,
            "old": [[0.1, 0.2]],
            "new": [[0.3, 0.4]],
        },
    ]
    given = {"names": (label, names[0]), "notes": (label,), "made_by": f"whyodd drift {label}"}
    return Comparison(
        tuple(changes), tuple(columns), 4.0, 1.0, 0.01, 0.01, 0.05, 1_000, 900, 900, 300,
        **({"pictures": tuple(pictures)} | given | more),
    )  # fmt: skip


def test_is_well_formed_and_needs_nothing_else():
    page = render_comparison(comparison().to_dict())
    elements = Reader(page).elements
    for _, attributes in elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert attributes.get("href", "#").startswith(("#", "data:,"))
        assert "src" not in attributes
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in elements:
        assert attributes.get("href", "#").removeprefix("#") in ["", "data:,", *ids]


@pytest.mark.parametrize("text", HARMFUL, ids=range(len(HARMFUL)))
def test_harm_is_nothing_but_text(text):
    harmless = render_comparison(comparison().to_dict())
    page = render_comparison(comparison(names=(text,) * 4, label=text).to_dict())
    told, plain = Reader(page), Reader(harmless)
    assert [tag for tag, _ in told.elements] == [tag for tag, _ in plain.elements]
    assert not any(name.startswith("on") for _, attributes in told.elements for name in attributes)
    page.encode("utf-8")  # can be written


def test_shows_what_changed_and_where_the_distance_lies():
    texts = " ".join(Reader(render_comparison(comparison().to_dict())).texts)
    for words in (
        "amount 'basic'; that is 50 % of the change.",
        "whyodd drift 'basic'",
        "25 %",
        "group of rows",
    ):
        assert words in texts.replace("\u00a0", " ")


def test_nothing_changed():
    found = comparison(pictures=(), notes=())
    page = render_comparison(found.to_dict() | {"changes": [], "headline": "Nothing changed."})
    assert 'class="calm">Nothing changed.' in page
    assert "Before and after" not in page


def test_very_much_that_changed_fits():
    found = comparison(names=tuple("x" * 10_000 for _ in range(500)), label="y" * 10_000)
    page = render_comparison(found.to_dict())
    assert len(page.encode()) < 1_000_000
    assert "3,400 more changes not listed." in page
    assert "300 more columns not listed." in page


def test_refuses_a_summary_that_lacks_something():
    summary = comparison().to_dict()
    del summary["headline"]
    with pytest.raises(UndefinedError):
        render_comparison(summary)


def test_a_real_one_is_written(tmp_path):
    rng = np.random.default_rng(0)
    old, new = ({"<b>amount": rng.normal(size=40), "plan": rng.choice(["<i>", "b"], 40)} for _ in range(2))
    new["<b>amount"] += 3.0
    found = whyodd.compare(old, new, permutations=39, false_alarms=0.1)
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<b>amount" not in page
    assert "&lt;b&gt;amount rose from" in page
