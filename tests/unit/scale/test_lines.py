"""Bytes become the same lines and records however they come, and a bad line is only itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyodd.scale import lines
from whyodd.scale.lines import BadLineError, Line, LineCutter, LineReader

LONGEST = 20


def cut(parts, longest=LONGEST):
    cutter = LineCutter(longest)
    found = [line for part in parts for line in cutter.feed(part)]
    return found + cutter.rest()


def split_at(data, places):
    """The data in parts that end at these places."""
    ends = sorted({min(place, len(data)) for place in places})
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


@given(st.binary(max_size=200).map(lambda data: data.replace(b"\x00", b"\n")), st.lists(st.integers(0, 200)))
def test_lines_are_the_same_however_they_come(data, places):
    plain = [
        Line(number, content.removesuffix(b"\r"))
        if len(content) <= LONGEST
        else Line(number, content, is_whole=False)  # as long as what is kept of it, here all
        for number, content in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1)
    ]
    expected = [line for line in plain if line.content.strip() or not line.is_whole]
    assert cut(split_at(data, places)) == expected


def test_of_a_line_that_is_too_long_the_beginning_is_kept():
    data = b"a\n" + b"x" * 5_000 + b"\nb\n"
    for parts in ([data], split_at(data, range(0, 5_000, 7))):
        first, long, last = cut(parts)
        assert (first.content, last.content, last.number) == (b"a", b"b", 3)
        assert (long.content, long.is_whole) == (b"x" * 1_000, False)
    with pytest.raises(BadLineError, match="longer than"):
        LineReader("jsonl").record(long)


def records(text, **options):
    reader = LineReader(**options)
    return [reader.record(line) for line in cut([text], 10**6) if not reader.is_header(line)]


@pytest.fixture(params=["orjson", "json"])
def loads(request, monkeypatch):
    """With and without the package that is quicker."""
    if request.param == "orjson":
        pytest.importorskip("orjson")
    else:
        monkeypatch.setattr(lines, "_LOADS", lines._json_of_python)


@pytest.mark.usefixtures("loads")
@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.floats(allow_nan=False) | st.text()))
def test_json_comes_back(record):
    assert records(json.dumps(record).encode(), form="jsonl") == [record]


@pytest.mark.usefixtures("loads")
def test_json_of_python_may_hold_nan():
    (record,) = records(b'{"a": NaN, "b": -Infinity, "c": 123456789012345678901234567890}')
    assert record["a"] != record["a"]
    assert (record["b"], float(record["c"])) == (float("-inf"), 123456789012345678901234567890.0)


@pytest.mark.usefixtures("loads")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{'a': 1}", "it is not JSON"),
        (b'{"a": 1', "it is not JSON"),
        (b"[1, 2]", "expected an object in braces, got a list"),
        (b"3", "expected an object in braces, got a number"),
        (b"null", "expected an object in braces, got a value"),
        (b'{"a": "\xff"}', "byte 8 is not valid UTF-8"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply|it is not JSON"),
    ],
)
def test_what_is_no_record_is_told(line, told):
    with pytest.raises(BadLineError, match=told):
        records(line, form="jsonl")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_header_tells_what_separates(separator):
    text = (
        separator.join(["time", "load"]) + "\n" + separator.join(["x", " 1.5 "]) + "\n" + f"{separator}NA\n"
    )
    found = records(text.encode(), columns=["load"])
    assert found == [{"time": "x", "load": "1.5"}, {"time": None, "load": None}]


def test_cells_may_hold_what_separates():
    assert records(b'a,b\n"1,5","say ""x"""\n', columns=["a"]) == [{"a": "1,5", "b": 'say "x"'}]


def test_csv_without_a_header():
    assert records(b"1;2\n3;4\n", header=("a", "b")) == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


@pytest.mark.parametrize(
    ("line", "told"), [("1", "expected 2 cells, got 1"), ('"1,2', "quotation marks"), ("1,2,3", "got 3")]
)
def test_other_cells_than_the_header_are_told(line, told):
    with pytest.raises(BadLineError, match=told):
        records(f"a,b\n{line}\n".encode(), columns=["a", "b"])


@pytest.mark.parametrize(
    ("line", "told"),
    [(b"Hello, world", "--header a,b,c"), (b"a,a", "the same name twice"), (b"\xff,a", "not valid UTF-8")],
)
def test_a_first_line_that_is_no_header_ends_it(line, told):
    with pytest.raises(ValueError, match=told):
        records(line, columns=["a", "b"])


def test_the_first_line_tells_the_format():
    assert records(b'\xef\xbb\xbf{"a": 1}\n{"a": 2}') == [{"a": 1}, {"a": 2}]
    assert records(b"\n\na\n1\n", columns=["a"]) == [{"a": "1"}]
