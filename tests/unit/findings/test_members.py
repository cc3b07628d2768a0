"""What knows no centers goes all the way: sentences, the plain dict, JSON and the page."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import whyodd
from made_up.members import SumOfSquares
from whyodd.findings.findings import Findings

X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["speed", "load", "heat"])
X.loc[7, "load"] = 9.0


@pytest.fixture(scope="module")
def found():
    return whyodd.find(X, model=SumOfSquares())


def test_the_oddest_row_is_found_and_told(found):
    assert found.explanation.rows[0] == 7
    np.testing.assert_allclose(found.outlierness, (X**2).sum(axis=1))
    reason = found.explanation.reasons(0)[0]
    assert (reason.name, reason.value) == ("load", 9.0)
    assert reason.share == pytest.approx(81.0 / found.outlierness[7])
    assert found.why(0, k=1).startswith("load is unusual (9): ")
    assert "expected" not in found.why(0)


def test_the_plain_dict_leaves_out_what_is_not_known(found):
    told = json.loads(json.dumps(found.to_dict(top=3), allow_nan=False))
    card = told["anomalies"][0]
    assert card["neighbors"] == []
    assert card["change"] is None
    assert "keeps no normal rows" in card["change_missing"]
    assert {panel["title"] for panel in told["trust"]["panels"]} == {
        "Parts add up",
        "Explained by single reasons",
        "Few reasons",
        "What the detection rests on",
    }
    assert told["threshold"]["source"] == "The threshold: the 5 % oddest exceed it, since the model has none."


def test_the_page_is_written(found, tmp_path):
    found.report(tmp_path / "report.html", top=3)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count('<article class="card"') == 3
    assert re.search(r"load is unusual", page)
    assert "nan" not in re.sub("<style>.*?</style>|<script>.*?</script>", "", page, flags=re.S).lower()


def test_an_explanation_of_it_becomes_findings(tmp_path):
    e = whyodd.explain(SumOfSquares(), X)
    assert Findings.of(e).to_dict(top=2)["anomalies"][0]["row"] == 7
    whyodd.write_report(e, tmp_path / "report.html")
