"""Bad input to the commands for tables: one sentence, the designed exit code, and nothing written."""

import datetime as dt
import gzip
import io
import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from made_up.orders import orders
from whyodd.cli.app import app

GOOD = orders(60).write_csv().encode()
PLAIN = orders(60).drop("order")
OUTPUTS = {
    "explain": (("--out", "reasons.csv"), ("--report", "report.html")),
    "fit": (("--out", "model.whyodd"),),
    "score": (("--out", "scores.parquet"),),
    "evaluate": (),
}


def parquet(columns):
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def rows(template, count=30):
    return "".join(template.format(i=i, j=i * 7 % 13, k=i % 3) for i in range(count))


def run(command, *arguments, **options):
    runner = CliRunner(env={"COLUMNS": "200"})
    return runner.invoke(app, [command, *map(str, arguments), "--quiet"], **options)


def outputs(command, folder):
    """Options that name files in a folder, where older ones are."""
    folder.mkdir(exist_ok=True)
    for _, name in OUTPUTS[command]:
        (folder / name).write_text("old")
    return [part for option, name in OUTPUTS[command] for part in (option, folder / name)]


def contents(folder):
    """All that is in a folder, hidden drafts as well."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_error(done, message, *names):
    assert done.exit_code == 1, (done.output, done.exception)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(".\n")
    assert message in done.stderr
    for name in names:
        assert name in done.stderr


# Name of the file -> content, and what is said of it.
BROKEN = {
    "empty.csv": ("", "is empty"),
    "blank.csv": ("  \n \n", "is empty"),
    "mark.csv": (b"\xef\xbb\xbf", "is empty"),
    "packed-nothing.csv.gz": (gzip.compress(b""), "is empty"),
    "header.csv": ("a,b\n", "has column names but no rows"),
    "header.tsv": ("a\tb", "has column names but no rows"),
    "norows.parquet": (parquet({"a": np.empty(0)}), "has column names but no rows"),
    "nothing.parquet": (parquet({}), "has no columns"),
    "nothing.jsonl": ("{}\n{}\n", "has no columns"),
    "nothing.json": ("[]", "has no columns"),
    "spaces.csv": ("a b c\n" + rows("{j} {k} {i}\n"), "seems to separate its values with spaces, expected"),
    "colons.csv": ("a:b\n" + rows("{j}:{k}\n"), "seems to separate its values with colons"),
    "carets.txt": ("a^b\n" + rows("{j}^{k}\n"), "seems to separate its values with carets"),
    "two.csv": ("a,b;c\n" + rows("{j},{k};{i}\n"), "fits commas and semicolons as the separator"),
    "ragged.csv": ("a,b\n" + rows("{j},{k}\n") + "1,2,3\n", "than there are column names (line 32)"),
    "zeros-at-the-end.csv": (GOOD + bytes(512), "zero bytes, so it is not text, or damaged"),
    "workbook.csv": (b"PK\x03\x04" + bytes(100), "it is a damaged or incomplete workbook or ZIP archive"),
    "login.csv": ("<!DOCTYPE html><html><body>Sign in</body></html>", "it is a web page"),
    "long-line.csv": (b"a" * (1 << 25), "its first line is too long for column names. Add them"),
    "numbers.csv": (rows("{j},{j},{k}\n"), "holds numbers, expected column names. Add them"),
    "no-names.csv": (",,\n" + rows("{j},{k},{i}\n"), "holds numbers, expected column names. Add them"),
    "constant.csv": ("a,b\n" + "1,x\n" * 30, "no column can be used ('a': it is always 1; 'b': "),
    "only-gaps.csv": ("a,b\n" + ",NA\n" * 30, "no column can be used ('a': it has no values at all"),
    "one-row.csv": ("a,b\n1,2\n", "it has one row, expected at least two"),
    "open-quote.csv": (GOOD + b'"a,b,c,d,e\n1,2,3,4,5\n', "a quotation mark is never closed, or"),
    "inches.csv": ('size,b\n5" pipe,1\n6,2\n', "stands inside a value (line 2)"),
    "cut.csv.gz": (gzip.compress(GOOD)[:-30], "it is damaged or cut short. Get it again"),
    "wrong-sum.csv.gz": (gzip.compress(GOOD)[:-8] + b"12345678", "it is damaged or cut short"),
    "junk-behind.csv.gz": (gzip.compress(GOOD) + b"junk", "it is damaged or cut short"),
    "cut.parquet": (parquet({"a": [1, 2]})[:-20], "not a Parquet file, or it is damaged or cut short"),
    "text.parquet": (GOOD, "not a Parquet file, or it is damaged or cut short"),
    "only-objects.parquet": (parquet({"s": [{"p": 1}] * 30}), "'s': its cells hold values of type dict"),
    "only-bytes.parquet": (parquet({"s": [b"\xff"] * 30}), "'s': its cells hold values of type bytes"),
    "half.jsonl": ('{"a": 1}\n\n{"a":\n', "line 3 is not a JSON object, such as"),
    "lists.jsonl": ("[1, 2]\n[3, 4]\n", "line 1 is not a JSON object"),
    "not-a-number.jsonl": ('{"a": 1}\n{"a": NaN}\n', "line 2 is not a JSON object"),
    "half.json": ('[{"a": 1},\n {"a":', "it is not valid JSON (line 2)"),
    "numbers.json": ("[1, 2, 3]", "it is not an array of objects"),
    "deep.json": ("[" * 100_000, "it is not an array of objects"),
    "deep.jsonl": ('{"a":' * 20_000 + "1" + "}" * 20_000, "line 1 is not a JSON object"),
    "infinite.csv": ("a,b\n" + rows("{j},{k}\n") + "-inf,2\n", "Column 'a' holds -inf in row 30"),
    "1e308.csv": ("a,b\n" + rows("{j},{k}\n") + "1e308,2\n", "holds 1e+308 in row 30, expected"),
    "table.xlsx": (b"PK\0", "it is not a workbook, or it is damaged or locked by a password"),
    "folder.csv": (None, "folder, expected"),
    "line\nbreak [red].csv": ("", "line?break [red].csv is empty"),
}  # fmt: skip


# What the commands share reads the tables: of those that read alike all but one see some only.
SOME = (
    *("empty.csv", "header.csv", "spaces.csv", "ragged.csv", "numbers.csv", "open-quote.csv", "constant.csv"),
    *("cut.csv.gz", "cut.parquet", "half.jsonl", "infinite.csv", "one-row.csv", "folder.csv"),
)
READS = [
    pytest.param(command, name, id=f"{command} {name!a}")
    for command in OUTPUTS
    for name in (BROKEN if command == "explain" else SOME)
]


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    for name, (content, _) in BROKEN.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.mark.parametrize(("command", "name"), READS)
def test_broken_tables(broken, tmp_path, command, name):
    options = outputs(command, tmp_path / "out")
    before = contents(tmp_path / "out")
    done = run(command, broken / name, *options)
    check_error(done, BROKEN[name][1], name.replace("\n", "?"))
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("command", OUTPUTS)
def test_no_file(tmp_path, command):
    options = outputs(command, tmp_path / "out")
    before = contents(tmp_path / "out")
    check_error(run(command, tmp_path / "none.csv", *options), "There is no file", "none.csv")
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("command", OUTPUTS)
def test_nothing_from_standard_input(command):
    check_error(run(command, "-", input=b""), "Standard input is empty")


@pytest.mark.full
def test_a_column_of_a_million_distinct_texts(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name\n" + "\n".join(np.arange(10**6).astype("U8")).replace("\n", "\nn"))
    options = outputs("explain", tmp_path / "out")
    done = run("explain", path, *options)
    check_error(done, "no column can be used ('name': nearly every row has a different value", "names.csv")
    assert set(contents(tmp_path / "out").values()) == {b"old"}


# Name of the file -> content, and how many columns are used. Unusual, but nothing is wrong with them.
UNUSUAL = {
    "mark.csv": (b"\xef\xbb\xbf" + PLAIN.write_csv().encode(), 4),
    "windows.csv": (PLAIN.write_csv().replace("\n", "\r\n"), 4),
    "one-column.csv": ("a\n" + rows("{j}\n"), 1),
    "two-rows.csv": ("a,b\n1,2\n3,4\n", 2),
    "no-name.csv": (",a,b,\n" + rows("{i},{j},{k},\n"), 3),
    "old-mac.csv": (PLAIN.write_csv().replace("\n", "\r"), 4),
    "table.parquet.csv": (parquet({"a": [1, 2], "b": [2, 1]}), 2),
    "packed.csv": (gzip.compress(PLAIN.write_csv().encode()), 4),
    "objects.csv": ('[{"a": 1}, {"a": 2}]', 1),
    "line-breaks.csv": ('"a\nb",c\n' + rows('{j},"{k}\n"\n'), 2),
    "not-packed.csv.gz": (PLAIN.write_csv(), 4),
    "renamed.csv": ("a,a_duplicated_0\n" + rows("{j},{k}\n"), 2),
    "mark.jsonl": ('\ufeff{"a": 1, "b": 2}\n{"a": 5, "b": 2}\n{"a": 1, "b": 3}\n', 2),
    "other-keys.jsonl": ('{"a": 1, "b": 2}\n{"a": 2}\n{"c": "x", "a": 3}\n{"a": 4, "b": 3}\n', 3),
    "objects.jsonl": (rows('{{"a": {j}, "o": {{"p": [{i}]}}}}\n'), 2),
    "mixed.csv": ("a,b\n" + rows("{j},{k}\n") + "word,3\n2024-01-01,4\n", 2),
    "beyond-64-bits.csv": ("a,b\n" + rows("{j}9999999999999999999999,{k}\n"), 2),
    "dates.csv": ("d,a\n" + rows("2024-01-01T0{k}:00:00,{j}\n") + "9999-12-31T00:00:00,1\n", 2),
    "types.parquet": (
        parquet(
            {
                "x": np.arange(30.0) ** 2,
                "large": pl.Series([2**100 + i % 7 for i in range(30)], dtype=pl.Int128),
                "decimal": [Decimal(i % 7) / 4 for i in range(30)],
                "length": [dt.timedelta(seconds=i % 9) for i in range(30)],
                "bytes": [b"\xff", b"x"] * 15,
                "object": [{"p": i} for i in range(30)],
                "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31)] * 15,
            }
        ),
        7,
    ),
    "100% [x] \u202e'\".csv": (PLAIN.write_csv(), 4),
    "-x.csv": (PLAIN.write_csv(), 4),
}  # fmt: skip


# Name of the file -> content, and what is told of how it was read.
TOLD = {
    "comment.csv": ("# made by hand\na,b\n" + rows("{j},{k}\n"), "left out 1 line of comments"),
    "latin-1.csv": (("a,b\n" + rows("{j},é{k}\n")).encode("latin-1"), "was read as cp1252. If letters"),
    "latin-1-name.csv": (("größe,b\n" + rows("{j},{k}\n")).encode("latin-1"), "was read as cp1252"),
    "latin-1.jsonl": (rows('{{"a": {j}, "b": "café{k}"}}\n').encode("latin-1"), "read as cp1252"),
    "utf-16.csv": (PLAIN.write_csv().encode("utf-16"), "was read as UTF-16."),
    "utf-16-without-mark.csv": (PLAIN.write_csv().encode("utf-16-le"), "was read as UTF-16-LE."),
    "twice.csv": ("a,b, a\n" + rows("{j},{k},{i}\n"), "with the same name, now numbered: 'a (2)'"),
}


@pytest.mark.parametrize("command", OUTPUTS)
@pytest.mark.parametrize("name", TOLD)
def test_what_is_told_of_a_file(tmp_path, command, name):
    content, note = TOLD[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run(command, tmp_path / name, *outputs(command, tmp_path / "out"))
    assert done.exit_code == 0, done.exception
    (line,) = [line for line in done.stderr.splitlines() if name in line and "chance" not in line]
    assert line.startswith("Note: ")
    assert note in line


@pytest.mark.parametrize("name", UNUSUAL, ids=[ascii(name) for name in UNUSUAL])
def test_unusual_tables_are_read(tmp_path, name):
    content, n_columns = UNUSUAL[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("score", tmp_path / name, "--out", tmp_path / "scores.csv")
    assert done.exit_code == 0, done.exception
    # That few rows are odd by chance may be told, and nothing else.
    assert [line for line in done.stderr.splitlines() if "chance alone gives" not in line] == []
    assert f"{n_columns} column{'s' if n_columns > 1 else ''}.\n" in done.stdout
    assert "\u202e" not in done.stdout
    assert pl.read_csv(tmp_path / "scores.csv")["outlierness"].is_finite().all()


def test_names_of_files_that_are_no_letters(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")
    Path(path).write_bytes(PLAIN.write_csv().encode())
    report = tmp_path / "report.html"
    done = run("explain", path, "--report", report)
    assert (done.exit_code, done.stderr) == (0, ""), done.exception
    assert "caf\ufffd.csv" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize("ids", [["007", "7", "+7"], ["18446744073709551616", "18446744073709551617", ""]])
def test_ids_are_shown_as_they_are_written(tmp_path, ids):
    values = rows("{j}\n", 27).splitlines()
    names = [*ids, *(f"{i}" for i in range(100, 124))]
    lines = [f"{name},{value}\n" for name, value in zip(names, values, strict=True)]
    (tmp_path / "t.csv").write_text("id,a\n" + "".join(lines))
    done = run("score", tmp_path / "t.csv", "--id-column", "id", "--out", tmp_path / "s.csv", "--top", 27)
    assert done.exit_code == 0, done.stderr
    written = [line.split(",")[1] for line in (tmp_path / "s.csv").read_text().splitlines()[1:]]
    assert written == names
    assert set(done.stdout.split()) >= set(filter(None, names))
