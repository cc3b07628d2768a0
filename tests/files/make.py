"""Writes small files as common programs export them: ``python tests/files/make.py``.

Each function names the program and its conventions. The files are kept in the repository, so that tests need
none of the writers.
"""

import datetime as dt
import gzip
import io
import random
import sqlite3
from pathlib import Path

FOLDER = Path(__file__).parent / "tables"
CITIES = ("Köln", "München", "Düsseldorf", "Gießen", "Zürich")


def lines(*texts, end="\n"):
    return "".join(f"{text}{end}" for text in texts)


def rows(count=12):
    """Orders: number, day, city, weight, price."""
    rng = random.Random(0)
    for i in range(count):
        day = dt.date(2024, 3, 1) + dt.timedelta(days=i)
        yield 1001 + i, day, CITIES[i % 5], round(rng.uniform(1, 9), 2), round(rng.uniform(10, 99), 2)


def german(number):
    return str(number).replace(".", ",")


def excel_german():
    """Excel, German settings, "CSV (Trennzeichen-getrennt)": semicolons, decimal commas, cp1252, CRLF."""
    body = [f"{n};{d:%d.%m.%Y};{c};{german(w)};{german(p)}" for n, d, c, w, p in rows()]
    return lines("Nr;Datum;Stadt;Gewicht;Preis", *body, end="\r\n").encode("cp1252")


def excel_utf8():
    """Excel, "CSV UTF-8": a mark, commas, CRLF."""
    body = [f"{n},{d},{c},{w},{p}" for n, d, c, w, p in rows()]
    return lines("id,day,city,weight,price", *body, end="\r\n").encode("utf-8-sig")


def excel_unicode_text():
    """Excel, "Unicode Text": UTF-16 with a mark, tabs, CRLF."""
    body = [f"{n}\t{d}\t{c}\t{w}\t{p}" for n, d, c, w, p in rows()]
    return lines("id\tday\tcity\tweight\tprice", *body, end="\r\n").encode("utf-16")


def excel_mac():
    """Excel for Mac, "CSV (Macintosh)": mac-roman, lines end with a carriage return."""
    body = [f"{n};{c};{german(w)}" for n, _, c, w, _ in rows()]
    return lines("Nr;Stadt;Gewicht", *body, end="\r").encode("mac_roman")


def excel_sep():
    """CSV made for Excel by other programs: the first line says what separates values."""
    body = [f"{n};{c};{w}" for n, _, c, w, _ in rows()]
    return lines("sep=;", "id;city;weight", *body, end="\r\n").encode("cp1252")


def curly_quotes():
    """Comments typed into Windows programs: curly quotes, dashes and the euro sign of cp1252."""
    body = [f"{n},“{c}” – it’s {i} €,{w}" for i, (n, _, c, w, _) in enumerate(rows())]
    return lines("id,comment,weight", *body).encode("cp1252")


def polish():
    """Polish Windows programs: cp1250."""
    names = ("Łukasz", "Żaneta", "Małgorzata", "Paweł", "Świętosława")
    body = [f"{i};{names[i % 5]};{i * 3 % 7},5" for i in range(12)]
    return lines("nr;imię;ile", *body, end="\r\n").encode("cp1250")


def russian():
    """1C and other Russian programs: cp1251."""
    names = ("Иван", "Ольга", "Наталья", "Сергей", "Дмитрий")
    body = [f"{i};{names[i % 5]};{i * 3 % 7},5" for i in range(12)]
    return lines("номер;имя;сумма", *body, end="\r\n").encode("cp1251")


def japanese():
    """Japanese Excel: Shift-JIS."""
    names = ("東京のりんご", "大阪のみかん", "京都のおちゃ")
    body = [f"{i},{names[i % 3]},{i * 3 % 7}" for i in range(12)]
    return lines("番号,しなもの,かず", *body, end="\r\n").encode("shift_jis")


def sap_list():
    """SAP, list saved as "text with tabs": title lines, an empty line, tabs, a total at the end."""
    body = [f"{n}\t{c}\t{w}\t{p}" for n, _, c, w, p in rows()]
    total = f"Total\t\t\t{sum(p for *_, p in rows()):.2f}"
    title = ("Material list", "Plant 1000, user SMITH, 02.04.2024", "")
    return lines(*title, "Order\tPlant\tWeight\tValue", *body, "", total, end="\r\n").encode()


def bank_statement():
    """German bank: key and value lines above the table, all lines padded, cp1252, a footnote."""
    body = [f"{d:%d.%m.%Y};{c} GmbH;Überweisung;{german(p)};EUR" for _, d, c, _, p in rows()]
    above = ("Kontoauszug;;;;", "Kontonummer:;DE12 3456;;;", "Zeitraum:;01.03.2024 - 31.03.2024;;;", ";;;;")
    names = "Buchungstag;Empfänger;Zweck;Betrag;Währung"
    return lines(*above, names, *body, ";;;;", "* vorgemerkt;;;;", end="\r\n").encode("cp1252")


def r_write_csv():
    """R, write.csv: row names in a first column without a name, NA."""
    body = [f'"{i + 1}",{n},"{c}",{w if i != 3 else "NA"}' for i, (n, _, c, w, _) in enumerate(rows())]
    return lines('"","order","city","weight"', *body).encode()


def r_write_table():
    """R, write.table(sep = "\\t"): one name less than columns."""
    body = [f'"r{i + 1}"\t{n}\t"{c}"\t{w}' for i, (n, _, c, w, _) in enumerate(rows())]
    return lines('"order"\t"city"\t"weight"', *body).encode()


def pandas_index():
    """pandas, to_csv: the index in a first column without a name."""
    body = [f"{i},{n},{c},{w}" for i, (n, _, c, w, _) in enumerate(rows())]
    return lines(",order,city,weight", *body).encode()


def numpy_savetxt():
    """NumPy, savetxt(header="a,b,c"): names behind a #."""
    body = [f"{n:.3e},{w:.3e},{p:.3e}" for n, _, _, w, p in rows()]
    return lines("# order,weight,price", *body).encode()


def mysql_batch():
    r"""MySQL, SELECT INTO OUTFILE with names: tabs, \N where there is no value."""
    body = [f"{n}\t{c}\t{w if i % 4 else chr(92) + 'N'}" for i, (n, _, c, w, _) in enumerate(rows())]
    return lines("id\tcity\tweight", *body).encode()


def postgres_copy():
    """PostgreSQL, COPY WITH CSV HEADER: nothing where there is no value, times with a zone."""
    body = [f"{n},{d} 12:00:00,{c},{w if i % 4 else ''}" for i, (n, d, c, w, _) in enumerate(rows())]
    return lines("id,created_at,city,weight", *body).encode()


def psql_unaligned():
    """PostgreSQL, psql -A: bars, and the number of rows below."""
    body = [f"{n}|{c}|{w}" for n, _, c, w, _ in rows()]
    return lines("id|city|weight", *body, "(12 rows)").encode()


def google_sheets():
    """Google Sheets, CSV: quotes where needed, TRUE and FALSE, CRLF but for the last line."""
    body = [f'{n},"{c}, {i}",{str(i % 3 == 0).upper()},{w}' for i, (n, _, c, w, _) in enumerate(rows())]
    return lines("id,place,paid,weight", *body, end="\r\n").rstrip().encode()


def salesforce():
    """Salesforce report, CSV: all in quotes, title and copyright lines below."""
    body = [f'"{n}","{c} AG","{p}"' for n, _, c, _, p in rows()]
    below = (
        '"Grand Totals (12 records)"',
        "",
        '"Orders by city"',
        '"Copyright (c) 2000-2024 salesforce.com"',
    )
    return lines('"Opportunity","Account Name","Amount"', *body, "", *below).encode()


def stripe():
    """Stripe, payments: names with blanks and units, many gaps."""
    names = "id,Created (UTC),Amount,Amount Refunded,Currency,Description"
    body = [f"ch_{n},{d} 08:15,{p},0.00,eur,{'' if i % 3 else c}" for i, (n, d, c, _, p) in enumerate(rows())]
    return lines(names, *body).encode()


def jira():
    """Jira, CSV: several columns of the same name, texts over several lines."""
    body = [
        f'Fix {c},KEY-{n},Task,front,{"back" if i % 2 else ""},"first line\nsecond, line"'
        for i, (n, _, c, _, _) in enumerate(rows())
    ]
    return lines("Summary,Issue key,Issue Type,Labels,Labels,Description", *body).encode()


def instrument():
    """Measuring instrument: units in a second line, comments with # above."""
    body = [f"{i};{w};{p}" for i, (_, _, _, w, p) in enumerate(rows())]
    return lines(
        "# Logger 5, firmware 1.2", "# started 2024-03-01", "n;mass;temp", ";[kg];[°C]", *body
    ).encode()


def weather_station():
    """Weather service: bars, comment lines between the rows."""
    body = [f"{d}|{w}|{p}" for _, d, _, w, p in rows()]
    body.insert(5, "# sensor cleaned")
    return lines("# station 10410", "day|wind|sun", *body).encode()


def joined_exports():
    """Several exports joined with cat: the names come again."""
    body = [f"{n},{c},{w}" for n, _, c, w, _ in rows()]
    return lines("id,city,weight", *body[:6], "id,city,weight", *body[6:]).encode()


def trailing_separators():
    """Old reporting tools: a separator at the end of each row, not of the names."""
    body = [f"{n},{c},{w}," for n, _, c, w, _ in rows()]
    return lines("id,city,weight", *body).encode()


def generated_report():
    """Web shops: a title and "Generated: ...", an empty line, then the table."""
    body = [f"{n},{c},{w},{p}" for n, _, c, w, p in rows()]
    return lines(
        "Orders, all shops", "Generated: 2024-04-02 10:15", "", "id,city,weight,price", *body
    ).encode()


def report_with_totals():
    """Business intelligence tools: subtotal and total below."""
    body = [f"{c};{n};{w}" for n, _, c, w, _ in rows()]
    return lines("City;Orders;Weight", *body, "Subtotal;;33.5", "Grand Total;;67.1").encode()


def tabs_called_xls():
    """Many web applications: a text with tabs, called .xls."""
    return lines("id\tcity\tweight", *(f"{n}\t{c}\t{w}" for n, _, c, w, _ in rows())).encode("cp1252")


def json_array():
    """Web services: an array of objects."""
    body = ",\n ".join(f'{{"id": {n}, "day": "{d}", "city": "{c}"}}' for n, d, c, _, _ in rows())
    return f"[{body}]".encode()


def mongoexport():
    """MongoDB, mongoexport: an object per line, some keys missing."""
    body = [f'{{"n":{n},"city":"{c}"' + (f',"w":{w}}}' if n % 3 else "}") for n, _, c, w, _ in rows()]
    return lines(*body).encode()


def packed_csv():
    """gzip of a CSV."""
    return gzip.compress(excel_utf8(), mtime=0)


def packed_lines():
    """zstd of JSON lines."""
    from backports import zstd

    return zstd.compress(mongoexport())


def frame():
    import polars as pl

    return pl.DataFrame(list(rows()), schema=["id", "day", "city", "weight", "price"], orient="row")


def pandas_feather():
    """pandas, to_feather: a file of Arrow, packed with LZ4."""
    buffer = io.BytesIO()
    frame().write_ipc(buffer, compression="lz4")
    return buffer.getvalue()


def arrow_stream():
    """Arrow as services send it: a stream."""
    buffer = io.BytesIO()
    frame().write_ipc_stream(buffer)
    return buffer.getvalue()


def parquet():
    """Spark and others: Parquet."""
    buffer = io.BytesIO()
    frame().write_parquet(buffer)
    return buffer.getvalue()


def sqlite_browser():
    """DB Browser for SQLite: one table with rows, one without, a view."""
    file = sqlite3.connect(":memory:")
    file.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, day TEXT, city TEXT, weight REAL, n)")
    file.execute("CREATE TABLE log (what TEXT)")
    file.execute("CREATE VIEW heavy AS SELECT * FROM orders WHERE weight > 5")
    body = [(n, str(d), c, w, n % 3 or None) for n, d, c, w, _ in rows()]
    file.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", body)
    file.commit()
    return file.serialize()


def duckdb_file():
    """DuckDB: one table."""
    import tempfile

    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as file:
            file.execute("CREATE TABLE orders (id INTEGER, day DATE, city VARCHAR, weight DOUBLE)")
            file.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", [row[:4] for row in rows()])
        return path.read_bytes()


def excel_workbook():
    """Excel: a merged title, an empty first column, a total, a second sheet without a table."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Orders"
    sheet["B1"] = "Orders of March"
    sheet.merge_cells("B1:E1")
    sheet.append([])
    sheet.append([None, "id", "day", "city", "weight"])
    for row in rows():
        sheet.append([None, *row[:4]])
    sheet.append([None, "Total", None, None, sum(row[3] for row in rows())])
    book.create_sheet("Notes")["A1"] = "made by hand"
    return saved(book)


def excel_sheets():
    """Excel: two sheets with tables."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "2023"
    other = book.create_sheet("2024")
    for factor, sheet in ((1, book.active), (2, other)):
        sheet.append(["id", "weight"])
        for n, _, _, w, _ in rows():
            sheet.append([n, factor * w])
    return saved(book)


def saved(book):
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def excel_97():
    """Excel 97: .xls, dates, truth values, a gap."""
    import xlwt

    book = xlwt.Workbook()
    sheet = book.add_sheet("Tabelle1")
    style = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for c, name in enumerate(("id", "day", "city", "weight", "paid")):
        sheet.write(0, c, name)
    for r, (n, d, city, w, _) in enumerate(rows(), start=1):
        for c, cell in enumerate((n, d, city, w, n % 2 == 0)):
            if (r, c) != (3, 3):
                sheet.write(r, c, cell, style if c == 1 else xlwt.Style.default_style)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def libreoffice():
    """LibreOffice Calc: .ods, dates, decimal numbers."""
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    book = OpenDocumentSpreadsheet()
    table = Table(name="Sheet1")
    kinds = ("float", "date", "string", "float")
    body = [[("string", name) for name in ("id", "day", "city", "weight")]]
    body += [list(zip(kinds, row[:4], strict=True)) for row in rows()]
    for record in body:
        line = TableRow()
        for kind, value in record:
            key = {"float": "value", "date": "datevalue", "string": "stringvalue"}[kind]
            cell = TableCell(valuetype=kind, **{key: str(value)})
            cell.addElement(P(text=str(value)))
            line.addElement(cell)
        table.addElement(line)
    book.spreadsheet.addElement(table)
    buffer = io.BytesIO()
    book.write(buffer)
    return buffer.getvalue()


# Name of the file -> what writes it.
FILES = {
    "excel-german.csv": excel_german,
    "excel-utf8.csv": excel_utf8,
    "excel-unicode.txt": excel_unicode_text,
    "excel-mac.csv": excel_mac,
    "excel-sep.csv": excel_sep,
    "curly-quotes.csv": curly_quotes,
    "polish.csv": polish,
    "russian.csv": russian,
    "japanese.csv": japanese,
    "sap-list.txt": sap_list,
    "bank-statement.csv": bank_statement,
    "r-write-csv.csv": r_write_csv,
    "r-write-table.txt": r_write_table,
    "pandas-index.csv": pandas_index,
    "numpy-savetxt.csv": numpy_savetxt,
    "mysql.tsv": mysql_batch,
    "postgres-copy.csv": postgres_copy,
    "psql.txt": psql_unaligned,
    "google-sheets.csv": google_sheets,
    "salesforce.csv": salesforce,
    "stripe.csv": stripe,
    "jira.csv": jira,
    "instrument.dat": instrument,
    "weather.txt": weather_station,
    "joined.csv": joined_exports,
    "trailing.csv": trailing_separators,
    "generated.csv": generated_report,
    "totals.csv": report_with_totals,
    "tabs.xls": tabs_called_xls,
    "array.json": json_array,
    "mongoexport.json": mongoexport,
    "packed.csv.gz": packed_csv,
    "packed.jsonl.zst": packed_lines,
    "pandas.feather": pandas_feather,
    "stream.arrow": arrow_stream,
    "spark.parquet": parquet,
    "no-ending": parquet,
    "browser.sqlite": sqlite_browser,
    "orders.duckdb": duckdb_file,
    "workbook.xlsx": excel_workbook,
    "two-sheets.xlsx": excel_sheets,
    "excel-97.xls": excel_97,
    "libreoffice.ods": libreoffice,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, write in FILES.items():
        (FOLDER / name).write_bytes(write())
