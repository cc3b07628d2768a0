"""CSV that no spreadsheet takes for formulas."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from whyodd.web.csv_rows import as_csv, guarded

TEXTS = st.text(st.sampled_from("=+-@\t\r\n |%'\",;a1\u00a0＝"), max_size=6)


def read(text):
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


@given(name=TEXTS, why=TEXTS, note=TEXTS)
def test_no_cell_begins_like_a_formula_and_all_are_read_back(name, why, note):
    row = {"rank": 1, "row": 2, "id": name, "outlierness": -1.5, "why": why, "verdict": "fine", "note": note}
    (found,) = read(as_csv([row]))
    for key, value in (("id", name), ("why", why), ("note", note)):
        assert found[key].lstrip(" \u00a0")[:1] not in {*"=+-@\t\r\n|%＝＋－＠"}
        assert found[key] in (value, f"'{value}")
    assert found["outlierness"] == "-1.5"  # a number is none, and stays one


def test_texts_stay_as_they_are_otherwise():
    assert [guarded(text) for text in ("DE", "1=1", "", None, -3)] == ["DE", "1=1", "", None, -3]
    assert guarded(' =HYPERLINK("http://evil")') == '\' =HYPERLINK("http://evil")'
