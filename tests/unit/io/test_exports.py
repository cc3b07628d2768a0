"""Files as common programs export them, and how each must be read; ``files/make.py`` tells of them."""

import io
import sys
from datetime import date, datetime
from pathlib import Path

import pytest

from whyodd.io.tables import read_table

FOLDER = Path(__file__).parents[2] / "files" / "tables"

# Name of the file -> names and types of its columns, its second row, and how notes on it begin.
READINGS = {
    "array.json": (
        "id: int64, day: date, city: string",
        (1002, date(2024, 3, 2), "München"),
        (),
    ),
    "bank-statement.csv": (
        "Buchungstag: string, Empfänger: string, Zweck: string, Betrag: float64, Währung: string",
        ("02.03.2024", "München GmbH", "Überweisung", 33.04, "EUR"),
        (
            "was read as cp1252. If letters look wrong, set",
            "left out 3 lines above the column names (",
            "left out 1 line below the rows, a total or a f",
        ),
    ),
    "browser.sqlite": (
        "id: int64, day: date, city: string, weight: float64, n: int64",
        (1002, date(2024, 3, 2), "München", 4.36, None),
        (),
    ),
    "curly-quotes.csv": (
        "id: int64, comment: string, weight: float64",
        (1002, "“München” – it’s 1 €", 4.36),
        ("was read as cp1252. If letters look wrong, set",),
    ),
    "excel-97.xls": (
        "id: int64, day: date, city: string, weight: float64, paid: boolean",
        (1002, date(2024, 3, 2), "München", 4.36, True),
        (),
    ),
    "excel-german.csv": (
        "Nr: int64, Datum: string, Stadt: string, Gewicht: float64, Preis: float64",
        (1002, "02.03.2024", "München", 4.36, 33.04),
        ("was read as cp1252. If letters look wrong, set",),
    ),
    "excel-mac.csv": (
        "Nr: int64, Stadt: string, Gewicht: float64",
        (1002, "München", 4.36),
        ("was read as mac_roman. If letters look wrong, ",),
    ),
    "excel-sep.csv": (
        "id: int64, city: string, weight: float64",
        (1002, "München", 4.36),
        ("was read as cp1252. If letters look wrong, set",),
    ),
    "excel-unicode.txt": (
        "id: int64, day: date, city: string, weight: float64, price: float64",
        (1002, date(2024, 3, 2), "München", 4.36, 33.04),
        ("was read as UTF-16.",),
    ),
    "excel-utf8.csv": (
        "id: int64, day: date, city: string, weight: float64, price: float64",
        (1002, date(2024, 3, 2), "München", 4.36, 33.04),
        (),
    ),
    "generated.csv": (
        "id: int64, city: string, weight: float64, price: float64",
        (1002, "München", 4.36, 33.04),
        ("left out 2 lines above the column names (",),
    ),
    "google-sheets.csv": (
        "id: int64, place: string, paid: boolean, weight: float64",
        (1002, "München, 1", False, 4.36),
        (),
    ),
    "instrument.dat": (
        "n: int64, mass (kg): float64, temp (°C): float64",
        (1, 4.36, 33.04),
        (
            "left out 2 lines of comments.",
            "the line below the names holds units, which a",
        ),
    ),
    "japanese.csv": (
        "番号: int64, しなもの: string, かず: int64",
        (1, "大阪のみかん", 3),
        ("was read as shift_jis. If letters look wrong, ",),
    ),
    "jira.csv": (
        "Summary: string, Issue key: string, Issue Type: string, Labels: string, "
        "Labels (2): string, Description: string",
        ("Fix München", "KEY-1002", "Task", "front", "back", "first line\nsecond, line"),
        ("has columns with the same name, now numbered: ",),
    ),
    "joined.csv": (
        "id: int64, city: string, weight: float64",
        (1002, "München", 4.36),
        ("the line of names is repeated 1 time; the rep",),
    ),
    "libreoffice.ods": (
        "id: int64, day: date, city: string, weight: float64",
        (1002, date(2024, 3, 2), "München", 4.36),
        (),
    ),
    "mongoexport.json": (
        "n: int64, city: string, w: float64",
        (1002, "München", None),
        (),
    ),
    "mysql.tsv": (
        "id: int64, city: string, weight: float64",
        (1002, "München", 4.36),
        (),
    ),
    "no-ending": (
        "id: int64, day: date, city: string, weight: float64, price: float64",
        (1002, date(2024, 3, 2), "München", 4.36, 33.04),
        (),
    ),
    "numpy-savetxt.csv": (
        "order: float64, weight: float64, price: float64",
        (1002.0, 4.36, 33.04),
        (),
    ),
    "orders.duckdb": (
        "id: int64, day: date, city: string, weight: float64",
        (1002, date(2024, 3, 2), "München", 4.36),
        (),
    ),
    "packed.csv.gz": (
        "id: int64, day: date, city: string, weight: float64, price: float64",
        (1002, date(2024, 3, 2), "München", 4.36, 33.04),
        (),
    ),
    "packed.jsonl.zst": (
        "n: int64, city: string, w: float64",
        (1002, "München", None),
        (),
    ),
    "pandas-index.csv": (
        "column 1: int64, order: int64, city: string, weight: float64",
        (1, 1002, "München", 4.36),
        (),
    ),
    "pandas.feather": (
        "id: int64, day: date, city: string, weight: float64, price: float64",
        (1002, date(2024, 3, 2), "München", 4.36, 33.04),
        (),
    ),
    "polish.csv": (
        "nr: int64, imię: string, ile: float64",
        (1, "Żaneta", 3.5),
        ("was read as cp1250. If letters look wrong, set",),
    ),
    "postgres-copy.csv": (
        "id: int64, created_at: datetime, city: string, weight: float64",
        (1002, datetime(2024, 3, 2, 12, 0), "München", 4.36),
        (),
    ),
    "psql.txt": (
        "id: int64, city: string, weight: float64",
        (1002, "München", 4.36),
        ("left out 1 line below the rows, a total or a f",),
    ),
    "r-write-csv.csv": (
        "column 1: int64, order: int64, city: string, weight: float64",
        (2, 1002, "München", 4.36),
        (),
    ),
    "r-write-table.txt": (
        "row name: string, order: int64, city: string, weight: float64",
        ("r2", 1002, "München", 4.36),
        ("has one column name too few: the first column",),
    ),
    "russian.csv": (
        "номер: int64, имя: string, сумма: float64",
        (1, "Ольга", 3.5),
        ("was read as cp1251. If letters look wrong, set",),
    ),
    "salesforce.csv": (
        "Opportunity: int64, Account Name: string, Amount: float64",
        (1002, "München AG", 33.04),
        ("left out 3 lines below the rows, a total or a",),
    ),
    "sap-list.txt": (
        "Order: int64, Plant: string, Weight: float64, Value: float64",
        (1002, "München", 4.36, 33.04),
        (
            "left out 2 lines above the column names (",
            "left out 1 line below the rows, a total or a f",
        ),
    ),
    "spark.parquet": (
        "id: int64, day: date, city: string, weight: float64, price: float64",
        (1002, date(2024, 3, 2), "München", 4.36, 33.04),
        (),
    ),
    "stream.arrow": (
        "id: int64, day: date, city: string, weight: float64, price: float64",
        (1002, date(2024, 3, 2), "München", 4.36, 33.04),
        (),
    ),
    "stripe.csv": (
        "id: string, Created (UTC): datetime, Amount: float64, Amount Refunded: float64, Currency: string, "
        "Description: string",
        ("ch_1002", datetime(2024, 3, 2, 8, 15), 33.04, 0.0, "eur", None),
        (),
    ),
    "tabs.xls": (
        "id: int64, city: string, weight: float64",
        (1002, "München", 4.36),
        ("was read as cp1252. If letters look wrong, set",),
    ),
    "totals.csv": (
        "City: string, Orders: int64, Weight: float64",
        ("München", 1002, 4.36),
        ("left out 2 lines below the rows, a total or a",),
    ),
    "trailing.csv": (
        "id: int64, city: string, weight: float64",
        (1002, "München", 4.36),
        (),
    ),
    "weather.txt": (
        "day: date, wind: float64, sun: float64",
        (date(2024, 3, 2), 4.36, 33.04),
        ("left out 2 lines of comments.",),
    ),
    "workbook.xlsx": (
        "id: int64, day: date, city: string, weight: float64",
        (1002, date(2024, 3, 2), "München", 4.36),
        (
            "left out 2 lines above the column names (",
            "left out 1 line below the rows, a total or a f",
        ),
    ),
}


@pytest.mark.parametrize("name", READINGS)
def test_a_file_reads_as_it_was_meant(name):
    columns, row, told = READINGS[name]
    notes = []
    frame = read_table(FOLDER / name, notes=notes)
    types = [f"{column}: {str(dtype).split('(')[0].lower()}" for column, dtype in frame.schema.items()]
    assert ", ".join(types) == columns
    assert frame.height == 12
    assert frame.row(1) == row
    assert len(notes) == len(told)
    for note, beginning in zip(notes, told, strict=True):
        assert note.removeprefix(str(FOLDER / name)).lstrip(": ").startswith(beginning)


def test_every_file_has_its_reading():
    assert {path.name for path in FOLDER.iterdir()} == {*READINGS, "two-sheets.xlsx"}


@pytest.mark.parametrize(("sheet", "weight"), [("2023", 7.76), ("2", 15.52), ("2024", 15.52)])
def test_a_sheet_by_name_or_number(sheet, weight):
    assert read_table(FOLDER / "two-sheets.xlsx", sheet=sheet)["weight"][0] == weight


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("two-sheets.xlsx", {}, "has 2 sheets: '2023', '2024'. Choose one with --sheet"),
        ("two-sheets.xlsx", {"sheet": "2025"}, "has no sheet '2025'. It has: '2023', '2024'"),
        ("browser.sqlite", {"table": "heavy"}, "has no table 'heavy'. It has: 'orders', 'log'"),
        ("browser.sqlite", {"table": "log"}, "has column names but no rows"),
        ("orders.duckdb", {"table": "7"}, "has no table '7'. It has: 'orders'"),
        (
            "excel-german.csv",
            {"encoding": "ascii"},
            "it is not ascii text after line 1. Choose another",
        ),
        ("excel-german.csv", {"encoding": "hex"}, "'hex' is not a known encoding"),
    ],
)
def test_what_cannot_be_chosen(name, options, message):
    with pytest.raises(ValueError, match=r".+") as caught:
        read_table(FOLDER / name, **options)
    assert message in str(caught.value)


def test_options_for_other_kinds_of_files_are_told():
    notes = []
    read_table(FOLDER / "spark.parquet", sheet="1", notes=notes)
    assert notes == [
        f"{FOLDER / 'spark.parquet'}: --sheet does not apply to this kind of file and was not used."
    ]


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [
        ("python_calamine", "workbook.xlsx", "files"),
        ("xlrd", "excel-97.xls", "files"),
        ("duckdb", "orders.duckdb", "duckdb"),
        ("backports", "packed.jsonl.zst", "files"),
        ("charset_normalizer", "japanese.csv", "files"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch, package, name, extra):
    if package == "backports" and sys.version_info >= (3, 14):
        pytest.skip("part of Python")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match="not installed") as caught:
        read_table(FOLDER / name)
    assert str(caught.value).endswith(f"pip install 'whyodd[{extra}]'")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["packed.csv.gz", "workbook.xlsx", "excel-97.xls", "browser.sqlite", "orders.duckdb"]
)
def test_every_kind_comes_through_a_pipe(monkeypatch, name):
    class Pipe:
        buffer = io.BytesIO((FOLDER / name).read_bytes())

    monkeypatch.setattr(sys, "stdin", Pipe)
    assert read_table("-").equals(read_table(FOLDER / name))


def test_files_are_only_read(tmp_path):
    """No journal, lock or cache appears beside them, and they stay as they are."""
    for name in ("browser.sqlite", "orders.duckdb", "workbook.xlsx"):
        content = (FOLDER / name).read_bytes()
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o400)
        read_table(tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 3
