"""What stands around a text table, and what only looks so."""

import polars as pl
import pytest

from whyodd.io.tables import read_table

ROWS = "".join(f"{i};x{i};{i}.5\n" for i in range(12))
# Content -> names of columns, number of rows, number of notes.
TEXTS = {
    "#;name;mass\n" + ROWS: (["#", "name", "mass"], 12, 0),
    "#id;name;mass\n" + ROWS: (["id", "name", "mass"], 12, 0),
    "\n\nid;name;mass\n" + ROWS: (["id", "name", "mass"], 12, 0),
    "id;name;mass\n" + ROWS + "\n\n": (["id", "name", "mass"], 12, 0),
    "id;name;mass\n" + ROWS + "12;Total;3.5\n": (["id", "name", "mass"], 13, 0),
    "id;name;mass\n" + ROWS + "Total;;3.5\n": (["id", "name", "mass"], 12, 1),
    "id;name;mass\n" + ROWS + "Total;x;3.5\n": (["id", "name", "mass"], 13, 0),
    "id;name;mass\n" + ROWS + "12\n": (["id", "name", "mass"], 13, 0),
    "Sales of 2024\n\nid;name;mass\n" + ROWS: (["id", "name", "mass"], 12, 1),
    "Sales;;\nid;name;mass\n" + ROWS: (["id", "name", "mass"], 12, 1),
    "SEP=;\nid;name;mass\n" + ROWS: (["id", "name", "mass"], 12, 0),
    "id;name;mass\n;;kg\n" + ROWS: (["id", "name", "mass (kg)"], 12, 1),
    "id;name;mass\n;;bad\n" + ROWS: (["id", "name", "mass"], 13, 0),
    "id;;mass;\n" + ROWS.replace("\n", ";\n"): (["id", "column 2", "mass"], 12, 0),
    "Land;2019;2020\n" + ROWS: (["Land", "2019", "2020"], 12, 0),
    "Report\n\nLand;2019;2020\n" + ROWS: (["Land", "2019", "2020"], 12, 1),
    "id;name;mass\n" + ROWS + "id;name;mass\n" + ROWS: (["id", "name", "mass"], 24, 1),
    f"id;{'long' * 100};mass\n" + ROWS: (["id", "long" * 50 + "…", "mass"], 12, 1),
    "a;a;a (2)\n" + ROWS: (["a", "a (3)", "a (2)"], 12, 1),
}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:20] + text[-20:]))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_names_rows_and_notes(tmp_path, text, end):
    names, count, told = TEXTS[text]
    (tmp_path / "t.csv").write_bytes(text.replace("\n", end).encode())
    notes = []
    frame = read_table(tmp_path / "t.csv", notes=notes)
    assert frame.columns == names
    assert frame.height == count
    assert len(notes) == told, notes


def test_lines_are_counted_as_the_file_has_them(tmp_path):
    (tmp_path / "t.csv").write_text("Sales of 2024\n\nid;name;mass\n" + ROWS + "1;2;3;4\n" + ROWS)
    with pytest.raises(ValueError, match=r"than there are column names \(line 16\)"):
        read_table(tmp_path / "t.csv")


def test_types_do_not_suffer_from_what_stands_around(tmp_path):
    (tmp_path / "t.csv").write_text("Sales of 2024\n\nid;name;mass\n" + ROWS + "\nTotal;;72\n* estimated\n")
    assert read_table(tmp_path / "t.csv").dtypes == [pl.Int64, pl.String, pl.Float64]
