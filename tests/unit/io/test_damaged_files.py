"""Damaged and too large files: an answer or one sentence; ``benchmarks/fuzz_files.py`` has more."""

import gzip
import io
import zipfile

import pytest

import fuzz_files
from whyodd.io import tables, unpacking
from whyodd.io.tables import read_table


@pytest.mark.parametrize("kind", fuzz_files.SEEDS)
def test_damaged_files(kind):
    counts, failures = fuzz_files.fuzz(kind, 50)
    assert not failures
    assert counts[fuzz_files.ANSWER] + counts[fuzz_files.SENTENCE] == 50


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.csv"])
def test_packed_files_are_unpacked_up_to_a_limit(tmp_path, monkeypatch, name):
    from backports import zstd

    monkeypatch.setattr(unpacking, "LARGEST_UNPACKED", 1 << 20)
    pack = zstd.compress if "zst" in name else gzip.compress
    (tmp_path / name).write_bytes(pack(b"a,b\n" + b"1,2\n" * (1 << 19)))
    with pytest.raises(ValueError, match=r"unpacks to more than .* the limit for packed files"):
        read_table(tmp_path / name)


def workbook(sheet):
    """Bytes of a workbook that a program would not write."""
    import openpyxl

    buffer, changed = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, sheet if name.endswith("sheet1.xml") else old.read(name))
    return changed.getvalue()


SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
CELLS = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'


def test_a_cell_far_away_does_not_fill_the_memory(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(workbook(SHEET.format(CELLS)))
    with pytest.raises(ValueError, match="too large: the limit for workbooks is 50,000,000 cells"):
        read_table(tmp_path / "t.xlsx")


def test_repeated_cells_do_not_fill_the_memory(tmp_path):
    seed = zipfile.ZipFile(fuzz_files.TABLES / "libreoffice.ods")
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as new:
        for name in seed.namelist():
            content = seed.read(name)
            if name == "content.xml":
                content = content.replace(
                    b"<table:table-row>", b'<table:table-row table:number-rows-repeated="100000">'
                )
                content = content.replace(
                    b'"float" office:value="1008"',
                    b'"float" office:value="1" table:number-columns-repeated="10000"',
                )
            new.writestr(name, content)
    with pytest.raises(ValueError, match="too large: the limit for workbooks"):
        read_table(tmp_path / "t.ods")


def test_definitions_in_a_workbook_are_refused(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY b "bb">]>' + SHEET.format("")
    (tmp_path / "t.xlsx").write_bytes(workbook(bomb))
    with pytest.raises(ValueError, match="it defines XML entities, which no proper workbook does"):
        read_table(tmp_path / "t.xlsx")


def test_every_kind_of_file_is_damaged():
    """What is read is in the harness: each reader has files that it begins with."""
    from whyodd.io.table_kinds import ending_of, kind_of

    kinds = set()
    for names in fuzz_files.SEEDS.values():
        for name in names:
            content = unpacking.unpacked(content := fuzz_files.seed_file(name), content[:10], name)
            kinds.add(kind_of(content, ending_of(fuzz_files.TABLES / name), name))
    assert kinds | {"lines"} == set(tables.READERS)
