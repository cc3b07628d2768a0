"""What people read: no sentence over 35 words, the glossary's words, one way to say what was found."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main

from whyodd.cli.app import app

SOURCE = Path(__file__).parents[2] / "src" / "whyodd"
MOST_WORDS = 35
# Shorter strings are names, keys and labels.
FEWEST_WORDS = 4
PLACEHOLDER = "X"
# What not to write (a regular expression), and what to write instead. docs/glossary.md defines the words.
INSTEAD = {
    r"\b(anomaly|outlier|abnormality) scores?\b": "outlierness",
    r"\banomalousness\b": "outlierness",
    r"\battributions?\b|\bfeature importances?\b": "relevance",
    r"\bcontribution of\b": "share of the outlierness",
    r"\bcut-?off (score|value)\b": "threshold",
    r"\bp values?\b|\bpvalues?\b": "p-value",
    r"\bresidual relevance\b|\bleftover\b": "unexplained",
    r"\bbaseline values?\b": "expected value, or usual range",
    r"\bbut (an? |one |several )?\S+( \S+){0,3} came\b": "got ...",
    r"\bcame(\.|;|:| twice)": "got ...",
    r"\bexclude each other\b": "cannot be used with",
    r"\b(is|are|was|were) told\b|\btold (apart|to|of)\b": "is reported, is shown, is distinguished",
    r"\b(does|do|can) not tell\b|\btells\b": "shows, says",
    r"(?<!here )\b(is|are) no (?!longer\b|other\b|more\b|single\b)\w+": "is not a ...",
    r"\banew\b": "again",
    r"\bgoes on (there|with)\b|\bto go on\b": "continues",
    r"\ball the same(?! number)\b": "anyway",
    r"\bso that (none|no|any|that)\b": "so",
    r"\bnames of columns\b": "column names",
    r"\bcolumns? of (texts|numbers)\b": "text column, numeric column",
    r"\bas in [a-z'-]+[=,]": "for example",
    r"\b(may|can) come several times\b": "can be repeated",
    r"\bwhat is honest\b|\bhas no address\b|\bwho has what\b": "a plain statement",
    r"^Of (what|all|a|so) .*\.$": "a sentence with its subject",
}


class Text(NamedTuple):
    """A text that people see, and where it is."""

    place: str
    words: str


def _joined(node: ast.JoinedStr) -> str:
    """The text of an f-string, with one word for each placeholder."""
    return "".join(part.value if isinstance(part, ast.Constant) else PLACEHOLDER for part in node.values)


def _strings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string below ``node`` that is no docstring: messages, notes, headings, help texts."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.JoinedStr):
        yield node.lineno, _joined(node)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _strings(part.value)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.lineno, node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _strings(child)


def _is_prose(text: str) -> bool:
    """Whether it is neither SQL nor a pattern nor a style sheet."""
    is_code = re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|FROM) |default-src|from whyodd", text)
    return not is_code and len(text.split()) >= FEWEST_WORDS


def _without_markup(text: str) -> str:
    """HTML and Jinja taken out, with one word for each value that is filled in."""
    text = re.sub(r"<!--.*?-->|\{#.*?#\}|<(script|style)\b.*?</\1>", "\n", text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", PLACEHOLDER, text, flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}", "\n", text, flags=re.DOTALL)
    text = re.sub(
        r"</?(p|h\d|li|ul|ol|dt|dd|td|th|tr|div|section|summary|label|option|button|title)\b[^>]*>",
        "\n",
        text,
    )
    return re.sub(r"<[^>]*>", "", text)


def in_source(folder: Path = SOURCE) -> list[Text]:
    """What the code may print, raise or write into a page."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        for line, text in _strings(ast.parse(file.read_text(encoding="utf-8"))):
            if _is_prose(text):
                # A line break in a string is one on the screen; in a page it is a space.
                words = _without_markup(text).replace("\n", "\n\n")
                found.append(Text(f"{file.relative_to(folder)}:{line}", words))
    return found


def in_templates() -> list[Text]:
    """The visible text of the report and of the web page."""
    files = [*SOURCE.glob("report/templates/*.html"), *SOURCE.glob("web/templates/*.html")]
    return [
        Text(f"{file.relative_to(SOURCE)}", line)
        for file in sorted(files)
        for line in _without_markup(file.read_text(encoding="utf-8")).split("\n\n")
    ]


def in_help() -> list[Text]:
    """The help of every command, option and argument."""
    found = []
    commands = {"whyodd": (root := typer.main.get_command(app)), **root.commands}
    for name, command in commands.items():
        found.append(Text(f"{name} --help", command.help or ""))
        found.extend(
            Text(f"{name} --help, {parameter.name}", getattr(parameter, "help", None) or "")
            for parameter in command.params
        )
    return found


def sentences(text: str) -> list[str]:
    """Sentences, and lines that end without a full stop, as headings do."""
    parts = re.split(r"(?<=[.!?])[\"')]?\s+|\n\s*\n|\n\s*(?=[-*#|>])", text.strip())
    return [" ".join(part.split()) for part in parts if part.split()]


def count_words(sentence: str) -> int:
    """Words with a letter or a digit in them."""
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def too_long(texts: list[Text]) -> list[str]:
    """Every sentence with more words than people take in at once."""
    return [
        f"{place}: {count_words(sentence)} words: {sentence}"
        for place, words in texts
        for sentence in sentences(words)
        if count_words(sentence) > MOST_WORDS
    ]


def ill_worded(texts: list[Text]) -> list[str]:
    """Every sentence with words that the glossary replaces."""
    return [
        f"{place}: write {instead!r}: {sentence}"
        for place, words in texts
        for sentence in sentences(words)
        for pattern, instead in INSTEAD.items()
        if re.search(pattern, sentence)
    ]


EVERYTHING = {"source": in_source, "templates": in_templates, "help": in_help}


@pytest.mark.parametrize("where", EVERYTHING)
def test_no_sentence_is_longer_than_people_read_at_once(where):
    found = too_long(EVERYTHING[where]())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("where", EVERYTHING)
def test_messages_use_the_words_of_the_glossary(where):
    found = ill_worded(EVERYTHING[where]())
    assert not found, "\n".join(found)


def test_every_command_option_and_argument_has_a_help_text():
    silent = [
        text.place for text in in_help() if not text.words.strip() and not text.place.endswith(", help")
    ]
    assert not silent


def test_the_collectors_find_what_people_see():
    """If one of them went blind, the tests above would pass for nothing."""
    assert len(in_source()) > 1500
    assert len(in_help()) > 150
    assert any("oddest" in text.words for text in in_templates())


def test_a_long_sentence_and_a_raised_message_are_noticed(tmp_path):
    words = " ".join(["word"] * (MOST_WORDS - 1))
    (tmp_path / "made_up.py").write_text(
        f'def f(x):\n    """A docstring is not looked at, {words} {words}."""\n'
        f'    raise ValueError(f"{words} {{x}}. Short. "\n        f"{words} {{x}} more.")\n'
    )
    texts = in_source(tmp_path)
    assert [place for place, _ in texts] == ["made_up.py:3"]
    (found,) = too_long(texts)
    assert found.startswith(f"made_up.py:3: {MOST_WORDS + 1} words: word")


@pytest.mark.parametrize(
    "sentence",
    [
        "The anomaly score of the row is high.",
        "The attribution of a column is its part.",
        "Expected a list, but a TextModel came.",
        "normal came twice, by itself and in options.",
        "--train and --model exclude each other.",
        "Drift is told in a note.",
        "'a' is no kind of column.",
        "Of what is drawn at random.",
        "The model was learned anew.",
        "Some oddness has no address.",
        "Columns, as in a,b.",
    ],
)
def test_words_that_the_glossary_replaces_are_noticed(sentence):
    assert ill_worded([Text("here", sentence)])


@pytest.mark.parametrize(
    "sentence",
    [
        "Expected a list of messages, got one string. Pass [text].",
        "Its outlierness is 3.2, above the threshold 1.8.",
        "Relations no longer hold, and there is no row left.",
        "12 % of the outlierness is unexplained.",
    ],
)
def test_plain_sentences_pass(sentence):
    assert not ill_worded([Text("here", sentence)])
