"""Files that are made to do harm: refused in a sentence, or served like any other."""

import gzip
import io
import re
import sqlite3
import zipfile

import numpy as np
import polars as pl
import pytest

from made_up.orders import orders
from made_up.serving import House, columns_of, findings_of
from whyodd.web.files import files_in
from whyodd.web.limits import Limits

LIMITS = Limits(megabytes=50, rows=2_000_000, columns=1_000, memory_megabytes=1_200)
SCRIPT = "<script>alert(1)</script>"
NAMES = {"a": f"{SCRIPT}", "b": '"><img src=x onerror=alert(2)>', "c": "{{ 7 * 7 }}"}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with House(tmp_path_factory.mktemp("store") / "store", LIMITS).at_work() as house:
        yield house


@pytest.fixture(scope="module")
def visitor(house):
    return house.visitor()


def error_of(house, visitor, name, content):
    work = columns_of(house, visitor, name, content)
    assert work["state"] == "failed"
    page = visitor.get(f"/work/{work['id']}").text
    assert 'role="alert"' in page
    assert str(house.folder) not in page  # where files are kept is nobody's business
    return work["error"]


def parquet(frame):
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def constant(rows, columns):
    """A table that takes little room only as long as it is packed."""
    return parquet(pl.DataFrame({f"c{i}": pl.repeat(i, rows, eager=True) for i in range(columns)}))


class TestNames:
    @pytest.mark.parametrize(
        "name", ["../../../../tmp/evil.csv", "/etc/passwd", "..\\\\..\\\\evil.csv", "..", ".csv", "a" * 900]
    )
    def test_of_files_are_no_paths(self, tmp_path, name):
        house = House(tmp_path / "store")
        answer = house.visitor().post("/files", {}, (name, b"a\n1\n"))
        (kept,) = (house.folder / "files").iterdir()
        assert re.fullmatch(r"[0-9a-f]{16}(\.csv)?", kept.name)
        shown = house.store.file(answer.headers["location"].rpartition("/")[2])["name"]
        assert "/" not in shown
        assert {path.name for path in tmp_path.iterdir()} == {"store"}

    @pytest.mark.parametrize(
        "path",
        [
            "/files/../whyodd.sqlite", "/findings/../../whyodd.sqlite", "/findings/x/model.whyodd",
            "/findings/../files/model.whyodd", "/findings/x/..%2f..%2fwhyodd.sqlite", "/whyodd.sqlite",
            "/work/../state", "/findings/x/rows/1", "/findings/x/rows/99999999999999999999999",
        ],
    )  # fmt: skip
    def test_in_addresses_are_no_paths(self, visitor, path):
        answer = visitor.get(path)
        assert answer.status == 404
        assert "SQLite" not in answer.text

    def test_of_the_folder_are_those_that_are_listed(self, tmp_path):
        data = tmp_path / "data"
        data.mkdir()
        (tmp_path / "secret.csv").write_text("a\n1\n")
        for name in ("orders.csv", ".hidden.csv", "notes.md", "base.sqlite"):
            (data / name).write_text("a\n1\n")
        (data / "link.csv").symlink_to(tmp_path / "secret.csv")
        assert [path.name for path in files_in(data)] == ["orders.csv"]
        visitor = House(tmp_path / "store", data=data).visitor()
        for name in ("../secret.csv", "link.csv", str(tmp_path / "secret.csv"), ""):
            assert visitor.post("/folder", {"name": name}).status == 404
        assert visitor.post("/folder", {"name": "orders.csv"}).status == 303


class TestSizes:
    def test_ten_thousand_columns_are_refused(self, house, visitor):
        content = ",".join(f"c{i}" for i in range(10_000)) + "\n" + ",".join("1" * 10_000) + "\n"
        assert "10,000 columns, expected at most 1,000" in error_of(
            house, visitor, "wide.csv", content.encode()
        )

    def test_a_parquet_file_of_many_rows_is_refused_unread(self, house, visitor):
        content = constant(3_000_000, 2)
        assert len(content) < 100_000
        assert "3,000,000 rows, expected at most 2,000,000" in error_of(
            house, visitor, "bomb.parquet", content
        )

    def test_one_cell_far_away_in_a_workbook_is_refused(self, house, visitor):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("xl/worksheets/sheet1.xml", '<sheetData><c r="XFD1048576"/></sheetData>')
        assert "too large: the limit for workbooks" in error_of(
            house, visitor, "bomb.xlsx", content.getvalue()
        )

    def test_very_many_categories_are_served(self, house, visitor):
        rng = np.random.default_rng(0)
        n = 5_000
        frame = pl.DataFrame({"id": [f"x{i % (n - 1)}" for i in range(n)], "v": rng.normal(size=n)})
        assert findings_of(house, visitor, "many.parquet", parquet(frame))["state"] == "done"


class TestContents:
    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("empty.csv", b"", "is empty"),
            ("noise.parquet", b"PAR1" + bytes(range(256)), "cannot be read"),
            ("noise.xlsx", b"PK\x03\x04" + bytes(range(256)), "cannot be read"),
            ("array.csv", b"\x93NUMPY\x01\x00", "got a file of array"),
        ],
    )
    def test_what_is_no_table_is_told(self, house, visitor, name, content, words):
        error = error_of(house, visitor, name, content)
        assert words in error
        assert error.startswith(name)

    def test_a_database_is_not_opened(self, house, visitor, tmp_path):
        connection = sqlite3.connect(tmp_path / "a.db")
        connection.execute("CREATE TABLE t (a)")
        connection.close()
        error = error_of(house, visitor, "a.csv", (tmp_path / "a.db").read_bytes())
        assert "got a file of sqlite" in error

    def test_scripts_in_every_field_are_texts(self, house, visitor):
        rng = np.random.default_rng(0)
        values = [*NAMES.values(), "=cmd|' /C calc'!A0"]
        frame = pl.DataFrame(
            {
                NAMES["a"]: [f"{SCRIPT}{i}" for i in range(100)],
                NAMES["b"]: rng.choice(values, 100, p=[0.5, 0.3, 0.19, 0.01]).tolist(),
                NAMES["c"]: [*rng.normal(size=99).tolist(), 50.0],
            }
        )
        name = "<img src=x onerror=alert(3)>.parquet"
        work = findings_of(house, visitor, name, parquet(frame), c0="names rows")
        assert work["state"] == "done", work["error"]
        row = house.store.rows(work["id"], "1", [], "rows.rank", 1, 0)[0][0]["row"]
        marked = {"verdict": "fine", "note": f"=1+1 {SCRIPT}", "version": "0"}
        address = f"/findings/{work['id']}"
        assert visitor.post(f"{address}/rows/{row}/mark", marked).status == 303
        pages = ["/", f"/files/{work['file']}", address, f"{address}?q={SCRIPT}", f"{address}/about"]
        for path in [*pages, f"{address}/rows/{row}", f"{address}/report.html"]:
            text = visitor.get(path).text
            assert "alert(" in text
            assert "<script>alert" not in text
            assert "<img" not in text
        report = visitor.get(f"{address}/report.html")
        assert report.headers["content-disposition"].startswith("attachment")
        table = visitor.get(f"{address}/findings.csv")
        assert table.headers["content-type"] == "text/csv; charset=utf-8"
        assert f"'=1+1 {SCRIPT}" in table.text


class TestTrusted:
    def test_normal_is_what_another_file_says(self, house, visitor):
        """A workbook of normal rows, and a file half of which is odd beside them."""
        normal = io.BytesIO()
        orders(120).filter(pl.col("amount") < 100).to_pandas().to_excel(normal, index=False)
        trusted = columns_of(house, visitor, "normal.xlsx", normal.getvalue())
        assert trusted["state"] == "done", trusted["error"]
        moved = orders(40, seed=1).with_columns(pl.col("amount") + pl.Series([0.0, 200.0] * 20))
        fields = {"c0": "names rows", "trusted": trusted["file"]}
        work = findings_of(house, visitor, "new.csv", moved.write_csv().encode(), **fields)
        assert work["state"] == "done", work["error"]
        rows, _ = house.store.rows(work["id"], "1", [], "rows.rank", 1000, 0)
        assert {row["row"] for row in rows} >= set(range(1, 40, 2))

    def test_a_file_that_lacks_a_column_is_told(self, house, visitor):
        work = findings_of(house, visitor, "a.csv", orders(60).write_csv().encode())
        less = orders(60).drop("items").write_csv().encode()
        answer = visitor.post("/files", {"model": work["id"]}, ("less.csv", less))
        judged = house.ended(answer.headers["location"].rpartition("/")[2])
        assert judged["error"].startswith("less.csv lacks columns that the model was fitted on: 'items'")

    def test_a_mistake_in_the_form_is_told_and_what_was_chosen_is_kept(self, house, visitor):
        work = columns_of(house, visitor, "a.csv", orders(60).write_csv().encode())
        mistakes = {
            "Only one column can name the rows": {"c0": "names rows", "c1": "names rows"},
            "No column is left": {f"c{i}": "ignore" for i in range(5)},
            "is not a kind of column": {"c0": "spaceship", "c1": "ignore"},
        }
        for words, fields in mistakes.items():
            answer = visitor.post(f"/files/{work['file']}/find", fields)
            assert answer.status == 422
            assert words in answer.text
            assert answer.text.count(" selected") == sum(kind != "spaceship" for kind in fields.values())


class TestMemory:
    """Last: what gets no memory ends the process that does the work, and a new one takes its place."""

    def test_a_parquet_file_that_unpacks_to_gigabytes_is_refused(self, house, visitor):
        content = constant(2_000_000, 150)  # 2.4 GB of numbers
        assert len(content) < 1_000_000
        assert "more memory than the server allows" in error_of(house, visitor, "bomb.parquet", content)

    def test_a_packed_text_too(self, house, visitor):
        content = gzip.compress(b"a,b\n" + b"0" * 10_000_000) * 150
        error = error_of(house, visitor, "bomb.csv.gz", content)
        assert "more memory than the server allows" in error

    def test_the_next_file_is_served(self, house, visitor):
        assert columns_of(house, visitor, "fine.csv", b"a,b\n1,2\n2,3\n3,5\n")["state"] == "done"


def test_work_that_takes_too_long_is_ended(tmp_path):
    with House(tmp_path / "store", Limits(work_seconds=0.01)).at_work() as house:
        error = error_of(house, house.visitor(), "slow.csv", b"a,b\n1,2\n")
        assert "took longer" in error
        assert house.worker.process_id is None
