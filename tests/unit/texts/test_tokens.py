"""Words of messages, their places, and the terms they count as."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyodd.texts.tokens import Tokenizer


def words(message, language="english"):
    return [token.text for token in Tokenizer(language)(message)]


@given(st.text())
def test_words_stand_where_they_say_in_any_text(message):
    end = 0
    for token in Tokenizer()(message):
        assert message[token.start : token.end] == token.text
        assert token.start >= end
        assert token.term
        end = token.end


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Don't panic, it's 42!", ["Don't", "panic", "it's", "42"]),
        ("<b>bold</b> & co", ["b", "bold", "b", "co"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("a_b  -- c", ["a", "b", "c"]),
        ("fun 😀👍🏽 end", ["fun", "😀", "👍🏽", "end"]),
        ("", []),
        ("  \t\n...", []),
    ],
)
def test_words(message, expected):
    assert words(message) == expected


def test_letters_with_marks_are_one_word_however_they_are_typed():
    message = "Café au lait"
    apart = unicodedata.normalize("NFD", message)
    assert len(apart) > len(message)
    one, other = Tokenizer()(message), Tokenizer()(apart)
    assert [token.term for token in one] == [token.term for token in other]
    assert other[0].text == unicodedata.normalize("NFD", "Café")


def test_stems_and_cases():
    terms = [token.term for token in Tokenizer()("Running RUNS run")]
    assert terms == ["run", "run", "run"]
    assert [token.term for token in Tokenizer(None)("Running")] == ["running"]
    assert [token.term for token in Tokenizer("german")("Häuser")] == ["haus"]


def test_unknown_language_is_told():
    with pytest.raises(ValueError, match=r"language='klingon': expected one of .*english.*, or None"):
        Tokenizer("klingon")("a")
