"""From an explanation to a file."""

import sys

import numpy as np
import pytest

import whyodd
from whyodd.findings.findings import write_report


@pytest.fixture(scope="module")
def explanation():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    rows[0] = 6.0
    return whyodd.explain(whyodd.KernelDensity().fit(rows), rows)


def test_writes_a_page_of_a_table(explanation, tmp_path):
    path = tmp_path / "report.html"
    write_report(explanation, str(path), title="Three <numbers>", top=4)
    page = path.read_text("utf-8")
    assert "<h1><bdi>Three &lt;numbers&gt;</bdi></h1>" in page
    assert page.count('<article class="card"') == min(4, page.count('<tr id="a'))
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_writes_a_page_of_series(tmp_path):
    series = [np.sin(np.arange(60) / 4 + shift) for shift in range(6)]
    series[3][30:34] = 5.0
    model = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(8,), random_state=0).fit(series)
    write_report(model.explain(series), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert '<figure class="item series">' in page
    assert "series 3" in page


def test_the_old_page_stays_if_there_is_no_new_one(explanation, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(TypeError, match="colour"):
        write_report(explanation, path, colour="red")
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_not_there_is_told(explanation, tmp_path):
    with pytest.raises(OSError, match="cannot write"):
        write_report(explanation, tmp_path / "no" / "report.html")


def test_says_what_to_install(explanation, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs jinja2. Run: pip install 'whyodd\[report\]'"):
        write_report(explanation, tmp_path / "report.html")


def test_of_what_is_no_explanation(tmp_path):
    with pytest.raises(TypeError, match=r"got list. Call whyodd.explain first"):
        whyodd.write_report([1.0], tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
