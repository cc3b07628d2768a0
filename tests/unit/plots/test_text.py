"""A message is drawn as it is: all its words, as dark as their relevance, on lines that fit."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import whyodd
from unit.plots.boxes import hides
from whyodd.plots import PLOTS, text
from whyodd.plots.figures import drawable
from whyodd.plots.text import Piece, wrapped

mpl.use("Agg")
SENTENCE = "the meeting on monday is about our budget please send your figures to the office before noon"
HOSTILE = {
    "formula": r"$\frac{a}{b}$ and $x_1 {brace} %s \n",
    "markup": "<script>alert(1)</script> &amp; </style>",
    "control": "a\x00b\x1b[31mred\x07 \u202eback \ufeff",
    "long word": "x" * 10_000,
    "long": "please send the budget " * 1000,
    "right to left": "שלום עולם, please send your figures תודה רבה",
    "arabic": "مرحبا بالعالم budget",
    "ideographs": "会議は月曜日です budget report 予算の報告書を送ってください " * 20,
    "emoji": "👩‍👩‍👧 🎉 e\u0301 " * 9,
    "lines": "send\n\n\n\nthe\r\nbudget\u2028now\tplease",
    "empty": "",
    "space": " \n\t ",
}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(0)
    return whyodd.TextModel(min_df=2, paper=True).fit(
        [" ".join(random.choice(SENTENCE.split(), 12)) for _ in range(80)]
    )


@pytest.fixture(scope="module")
def odd(model):
    return model.explain(
        ["the meeting is on monday", "Please send the BUDGET now, you idiot! Wire $5000. " * 3]
    )


def drawn(ax):
    """Text of the message: that with the size of its letters."""
    return [piece for piece in ax.texts if piece.get_fontsize() == 11]


def opacity(piece):
    return piece.get_bbox_patch().get_facecolor()[3] if piece.get_bbox_patch() else 0.0


def told(ax):
    return " ".join(piece.get_text() for piece in ax.texts if piece.get_fontsize() == 9)


def text_boxes(ax):
    ax.figure.draw_without_rendering()
    texts = [*ax.texts, ax._left_title, *(ax.get_legend().get_texts() if ax.get_legend() else [])]
    return [piece.get_window_extent() for piece in texts if piece.get_text().strip()]


def cut(ax, boxes):
    width, height = ax.figure.get_size_inches() * ax.figure.dpi
    return [b for b in boxes if b.x0 < -1 or b.y0 < -1 or b.x1 > width + 1 or b.y1 > height + 1]


class TestShades:
    def test_words_are_as_dark_as_relevant(self, odd):
        ax = text(odd, 1)
        words = odd.tokens(1)
        limit = max(word.relevance for word in words)
        by_text = {piece.get_text(): opacity(piece) for piece in drawn(ax)}
        for word in words:
            strength = word.relevance / limit
            assert by_text[word.text] == pytest.approx(0.75 * strength if strength > 0.02 else 0.0)
        assert max(by_text.values()) == pytest.approx(0.75)

    def test_the_message_is_complete_and_in_order(self, odd):
        ax = text(odd, 1)
        letters = "".join(piece.get_text() for piece in drawn(ax))
        assert letters == "".join(odd.messages[1].split())

    def test_words_never_seen_are_underlined(self, odd):
        ax = text(odd, 1)
        new = [word.text for word in odd.tokens(1) if word.is_new]
        assert len(ax.lines) == len(new) > 0
        starts = {tuple(np.round(piece.get_position(), 6)) for piece in drawn(ax) if piece.get_text() in new}
        assert {round(line.get_xdata()[0], 6) for line in ax.lines} == {x for x, _ in starts}
        assert not text(odd, 0).lines

    def test_legend_tells_the_share_of_the_darkest(self, odd):
        legend = [entry.get_text() for entry in text(odd, 1).get_legend().get_texts()]
        share = max(word.relevance for word in odd.tokens(1)) / odd.outlierness[1]
        assert legend[0] == f"{100 * share:.0f} % of the outlierness"
        assert legend[-1] == "never seen in training"

    def test_missing_terms_and_the_rest_in_words(self, odd):
        ax = text(odd, 0)
        for term in odd.absent(0, 8):
            assert f"{term.term} {100 * term.relevance / odd.outlierness[0]:.0f} %" in told(ax)
        rest = 100 * odd.unexplained[0] / odd.outlierness[0]
        assert f"{rest:.0f} % belongs to no single word" in told(ax)
        assert ax._left_title.get_text().startswith("Message 0: outlierness ")


class TestHostile:
    @pytest.mark.parametrize("kind", HOSTILE)
    def test_drawn_without_warning_overlap_or_cut(self, model, kind):
        # A letter that the font does not have would be a warning, which is an error here.
        ax = text(model.explain([HOSTILE[kind]]))
        ax.figure.canvas.draw()
        boxes = text_boxes(ax)
        assert hides(boxes) == []
        assert cut(ax, boxes) == []
        assert not any(piece.get_parse_math() for piece in ax.texts)

    def test_letters_that_the_font_does_not_have(self, model):
        ax = text(model.explain([HOSTILE["ideographs"]]))
        assert "▯ stands for letters that the font lacks" in told(ax)
        assert "stands for" not in told(text(model.explain([HOSTILE["right to left"]])))
        assert drawable("a▯字\n") == "a▯▯ "

    def test_long_messages_end_with_dots(self, model):
        ax = text(model.explain([HOSTILE["long"]]))
        assert len({piece.get_position()[1] for piece in drawn(ax)}) <= 40
        assert drawn(ax)[-1].get_text().endswith("…")
        assert ax.figure.get_size_inches()[1] < 14

    def test_an_empty_message(self, model):
        assert "the message is empty" in told(text(model.explain([""])))

    def test_read_from_the_right(self, model):
        ax = text(model.explain([HOSTILE["right to left"]]))
        x = {piece.get_text(): piece.get_position()[0] for piece in drawn(ax)}
        assert (
            x["שלום"] > x["עולם"] > x["figures"] > x["your"] > x["send"] > x["please"] > x["תודה"] > x["רבה"]
        )


class TestWrapped:
    def lines(self, *parts, width=8):
        return [
            "".join(piece.text for _, piece in line)
            for line in wrapped([Piece(part) for part in parts], width, len)
        ]

    def test_what_belongs_together_stays_together(self):
        assert self.lines("to be, ", "or", "... not") == ["tobe,", "or...", "not"]

    def test_a_word_that_is_too_long_is_broken_from_a_new_line(self):
        assert self.lines("be ", "x" * 20) == ["be", "x" * 8, "x" * 8, "x" * 4]

    def test_lines_of_the_message(self):
        assert self.lines("a\nb\n\n\n\nc\r\nd") == ["a", "b", "", "c", "d"]

    def test_room_of_less_than_a_letter(self):
        assert self.lines("abc", width=0) == ["a", "b", "c"]


class TestCalls:
    def test_on_given_axes_only_what_has_room(self, model):
        figure = mpl.figure.Figure(figsize=(10, 3), layout="constrained")
        left, right = figure.subplots(1, 2)
        assert text(model.explain([HOSTILE["long"]]), ax=right) is right
        assert not left.has_data()
        assert plt.get_fignums() == []
        boxes = text_boxes(right)
        assert hides(boxes) == []
        assert min(box.x0 for box in boxes) > left.get_window_extent().x1
        assert cut(right, boxes) == []

    def test_axes_with_room_for_nothing(self, model):
        ax = mpl.figure.Figure(figsize=(5, 3)).add_axes((0.5, 0.5, 0.001, 0.001))
        text(model.explain(["x" * 5000]), ax=ax)
        assert [piece.get_text() for piece in drawn(ax)] == ["…"]

    def test_wrong_arguments(self, odd):
        with pytest.raises(IndexError, match="2: expected one of the 2 messages"):
            text(odd, 2)
        with pytest.raises(ValueError, match="there is nothing to draw"):
            text(odd[:0])
        with pytest.raises(TypeError, match=r"This picture expected .* explanation of messages, got list"):
            text([1])

    def test_found_by_name(self):
        assert PLOTS["text"] is text

    def test_without_matplotlib(self, odd, monkeypatch):
        for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'whyodd\[plots\]'"):
            text(odd)
