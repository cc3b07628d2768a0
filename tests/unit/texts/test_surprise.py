"""The default model of messages against plain loops over dictionaries, and the laws it keeps."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whyodd
from whyodd.texts.bags import Bags, terms_of
from whyodd.texts.length_scale import LengthScale
from whyodd.texts.surprise import Surprise
from whyodd.texts.tokens import Tokenizer
from whyodd.texts.usage import TermUsage
from whyodd.texts.vocabulary import Vocabulary
from whyodd.texts.writing import WRITINGS, writing_of

WORDS = ("the", "pump", "valve", "is", "open", "Open", "PUMP", "shut", "42", "v2", "and", "quiet", "Ünal")
NORMAL = [
    f"the {a} is {b} and the {c} is quiet"
    for a in ("pump", "valve", "engine", "filter")
    for b in ("open", "shut", "warm")
    for c in ("pump", "valve", "engine", "filter")
]
messages = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=12)


def bag(text):
    """Terms of a message, with how the first word of each is written."""
    found = {}
    for word in Tokenizer()(text):
        found.setdefault(word.term, writing_of(word.text))
    return found


def plain(learned, text, scale, own=False):
    """Outlierness, relevance by term, of what is missing and of the writing, in loops."""
    bags = [bag(one) for one in learned]
    pairs = Counter(pair for one in bags for pair in one.items())
    counts = Counter(term for one in bags for term in one)
    by_writing = Counter(writing for one in bags for writing in one.values())
    new_by_writing = Counter()
    for (term, writing), count in pairs.items():
        new_by_writing[writing] += count if counts[term] == 1 else 0
    n_all, here = sum(counts.values()), bag(text)
    total = n_all - (len(here) if own else 0)
    which, how = {}, 0.0
    for term, writing in here.items():
        k, k_w = counts[term] - own, pairs[term, writing] - own
        if k < 1:
            share = (new_by_writing[writing] + 0.5) / (by_writing[writing] + 1.0)
            a, b = max(math.log(len(counts)) - math.log(share), math.log(max(total, 1))), 0.0
        else:
            usual = (by_writing[writing] + 0.5) / (n_all + 0.5 * len(WRITINGS))
            joint = k / total * (k_w + usual) / (k + 1.0)
            a, b = max(-math.log(joint / usual), 0.0), -math.log((k_w + usual) / (k + 1.0))
        which[term] = a**4
        how += (a + b) ** 4 - a**4
    missing = {}
    for term, k in counts.items():
        alone = (1.0 - min(k / n_all, 1.0 - 1e-12)) ** len(here)
        if term not in here and alone < 0.5:
            missing[term] = (-math.log(alone)) ** 4
    whole = sum(which.values()) + how + sum(missing.values())
    if not here:
        return 0.0, {}, {}, 0.0
    o = math.exp(scale.log_outlierness(np.array([len(here)]), np.array([math.log(whole / len(here))]))[0])
    shared = {term: part * o / whole for term, part in which.items()}
    return o, shared, {term: part * o / whole for term, part in missing.items()}, how * o / whole


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-12)


@given(messages, messages, st.booleans())
@settings(max_examples=60, deadline=None)
def test_as_the_plain_loops(learned, judged, own):
    learned = [*learned, "the pump is open"]
    judged = learned if own else [*judged, "a Flub GRRR the pump"]
    model = whyodd.TextModel().fit(learned)
    e = model.explain(judged, exclude_self=own)
    for i, text in enumerate(judged):
        o, which, missing, how = plain(learned, text, model.surprise_.scale, own)
        assert (e.outlierness[i], e.unexplained[i]) == (close(o), close(how))
        assert {term.term: term.relevance for term in e.present(i)} == {t: close(r) for t, r in which.items()}
        assert {term.term: term.relevance for term in e.absent(i, 100)} == {
            t: close(r) for t, r in missing.items()
        }


@given(messages, messages, st.booleans())
@settings(max_examples=60, deadline=None)
def test_words_missing_terms_and_writing_add_up(learned, judged, subwords):
    model = whyodd.TextModel(subwords=subwords).fit([*learned, "the pump is open"])
    e = model.explain([*judged, "zzz Flub GRRR 17 the"])
    for i in range(len(e)):
        parts = [word.relevance for word in e.tokens(i)]
        assert min(parts, default=0.0) >= 0.0
        assert sum(parts) + e.absent_relevance[i] + e.unexplained[i] == close(e.outlierness[i])
        assert e.parts.present[[i]].sum() == close(sum(parts))
        marked = [word for word in e.marked(i) if word.relevance > 0.0]
        assert len({word.text for word in marked}) <= 5 * len(WRITINGS)
        assert e.why(i)
    np.testing.assert_allclose(e.outlierness, model.outlierness(e.messages), rtol=1e-12)


@pytest.mark.parametrize("known", ["pump", "open", "quiet"])
def test_a_word_never_seen_in_the_place_of_a_known_one_is_odder(known):
    model = whyodd.TextModel().fit(NORMAL)
    before, after = model.outlierness([NORMAL[0], NORMAL[0].replace(known, "flurb")])
    assert after > before


def test_a_word_never_seen_that_is_added_is_not_less_odd():
    model = whyodd.TextModel().fit(NORMAL)  # too few messages to tell lengths apart: one level for all
    grown = [" ".join(["the pump is open", *("zqa", "zqb", "zqc", "zqd")[:k]]) for k in range(5)]
    assert (np.diff(model.outlierness(grown)) > 0.0).all()


def test_length_does_not_decide():
    """Messages of words drawn alike are alike odd, however long."""
    random = np.random.default_rng(0)
    words = np.array([f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(600)])
    share = 1.0 / np.arange(1, 601)

    def drawn(n):
        lengths = random.integers(4, 60, n)
        return [" ".join(random.choice(words, k, p=share / share.sum())) for k in lengths]

    model, others = whyodd.TextModel(language=None).fit(drawn(2000)), drawn(1000)
    o, length = model.outlierness(others), np.array([len(set(text.split())) for text in others])
    assert abs(np.corrcoef(o.argsort().argsort(), length.argsort().argsort())[0, 1]) < 0.1
    assert np.median(o) == pytest.approx(1.0, abs=0.05)
    # About 1 % of 1,000, with three standard deviations of chance and as much for the threshold's own error.
    assert np.mean(o > model.threshold_) < 0.01 + 6 * math.sqrt(0.01 / 1000)


def test_threshold_and_p_values_are_of_messages_judged_without_themselves():
    model = whyodd.TextModel(false_alarms=0.1).fit(NORMAL)
    alone = model.explain(NORMAL).outlierness
    np.testing.assert_allclose(np.sort(alone), model.distribution_.scores, rtol=1e-12)
    assert model.threshold_ == model.distribution_.threshold(0.1)
    new = ["the pump is open and the valve is quiet", "flurb grumble"]
    np.testing.assert_allclose(model.p_values(new), model.distribution_.p_values(model.outlierness(new)))
    assert model.p_values(new)[1] < 0.05 < model.p_values(new)[0]
    assert model.predict(new).tolist() == [1, -1]


def test_few_words_carry_what_is_odd():
    e = (
        whyodd.TextModel()
        .fit(NORMAL)
        .explain(["the pump is open and the moron is quiet", "the pump is open and the valve is quiet"])
    )
    assert [word.text for word in e.marked(0) if word.relevance > 0.0] == ["moron"]
    assert e.why(0).startswith("'moron' (")
    assert "in none of 48 messages" in e.why(0)
    assert [word.text for word in e.marked(1) if word.relevance > 0.0] == []
    assert e.why(1) == "no word stands out"
    assert e.odd_words(1) == e.reasons(1) == []


def test_words_in_capitals_are_told():
    e = whyodd.TextModel().fit(NORMAL).explain(["THE PUMP IS OPEN AND THE VALVE IS QUIET"])
    assert e.outlierness[0] > e.threshold
    assert e.why(0).startswith("9 of 9 words are written in capitals (")
    assert e.reasons(0)[0].relevance == e.unexplained[0]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("the PUMP is open and the valve is quiet", "'PUMP' is written in capitals ("),
        ("the PUMP is OPEN and the valve is quiet", "'PUMP' and 'OPEN' are written in capitals ("),
        (
            "the PUMP is OPEN and the VALVE is quiet",
            "'PUMP', 'OPEN' and 1 more word are written in capitals (",
        ),
        ("the Pump is open and the valve is quiet", "'Pump' is written with a capital letter ("),
    ],
)
def test_words_that_are_written_alike_are_told_together(message, told):
    assert whyodd.TextModel().fit(NORMAL).explain([message]).why(0).startswith(told)


def test_words_of_hardly_any_share_are_not_marked():
    """Where nearly all of it is how words are written, no word stands out."""
    texts = [f"{NORMAL[0]} and the {word}" for word in ("lamp", "door", "roof", "wall")] * 20
    shouted = " ".join(texts[:4]).upper()
    e = whyodd.TextModel().fit(texts).explain([shouted])
    assert all(term.relevance >= 0.01 * e.outlierness[0] for term in e.odd_words(0))


def test_an_expected_word_that_is_missing_comes_last():
    log = [f"the pump is {word}" for word in ("open", "shut", "warm", "cold") for _ in range(20)]
    e = whyodd.TextModel().fit(log).explain(["a b c d e f g h i j k l"])
    lacking = {term.term for term in e.lacking(0)}
    assert lacking >= {"the", "pump", "is"}
    assert [reason.judged for reason in e.reasons(0)][-1] == "missing"
    assert "it lacks 'is' and 'pump'" in e.why(0)


def test_misspelled_words_are_known_by_their_parts():
    log = [f"the {word} is running" for word in ("compressor", "generator", "condenser") for _ in range(40)]
    whole, parts = (whyodd.TextModel(subwords=flag).fit(log) for flag in (False, True))
    slip, other = "the compresssor is running", "the blackbird is running"
    assert whole.outlierness([slip]) == pytest.approx(whole.outlierness([other]))
    assert parts.outlierness([slip])[0] < parts.outlierness([other])[0]
    assert max(parts.explain([slip]).tokens(0), key=lambda word: word.relevance).text == "compresssor"


@pytest.mark.parametrize(
    "text", ["", "   ", "!?", "🙂🙂 🙃", "the the the", "x" * 5000, "\x1b[31m\x00", "שלום"]
)
def test_odd_messages_are_judged(text):
    model = whyodd.TextModel().fit(NORMAL)
    e = model.explain([text])
    assert np.isfinite(e.outlierness[0])
    assert isinstance(e.why(0), str)
    assert (e.outlierness[0] == 0.0) == (not e.tokens(0))


def test_messages_without_words_are_not_odd():
    model = whyodd.TextModel().fit(["", "the pump", "the valve"])
    assert model.outlierness(["", "..."]).tolist() == [0.0, 0.0]
    assert model.explain([""]).why(0) == "the message has no words"
    with pytest.raises(ValueError, match="None of the 2 messages has a word: there is nothing to learn"):
        whyodd.TextModel().fit(["", "?!"])


def test_one_message_is_enough_to_fit():
    model = whyodd.TextModel().fit(["the pump"])
    assert np.isfinite(model.threshold_)
    assert np.isfinite(model.outlierness(["flurb", "the pump", ""])).all()


def test_a_megabyte_is_one_message():
    model = whyodd.TextModel().fit(NORMAL)
    long = model.outlierness(["the pump is open " * 60_000])
    assert long == pytest.approx(model.outlierness(["the pump is open"]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"false_alarms": 0.0}, "false_alarms=0.0: expected a share of the messages"),
        ({"min_df": 0}, "min_df=0: expected a whole number"),
        ({"min_df": 100}, "No term is in at least min_df=100 of the 48 messages"),
        ({"subwords": True, "paper": True}, "subwords does not work with the paper's model"),
    ],
)
def test_wrong_parameters_are_told(parameters, message):
    with pytest.raises(ValueError, match=message):
        whyodd.TextModel(**parameters).fit(NORMAL)


def test_what_belongs_to_the_other_model_is_told():
    model = whyodd.TextModel().fit(NORMAL)
    with pytest.raises(AttributeError, match="Only the paper's model has a network"):
        _ = model.network_
    with pytest.raises(ValueError, match="method='sensitivity' works only with the paper's model"):
        model.explain(NORMAL, method="sensitivity")
    with pytest.raises(AttributeError, match="p_values"):
        whyodd.TextModel(paper=True).fit(NORMAL).p_values(NORMAL)


def test_terms_that_few_messages_have_may_be_taken_for_new():
    learned = [*NORMAL, "the flurb is open"]
    e = whyodd.TextModel(min_df=2).fit(learned).explain(["the flurb is open"])
    assert [word.text for word in e.tokens(0) if word.is_new] == ["flurb"]


def test_scores_of_blocks_are_those_of_all(monkeypatch):
    model = whyodd.TextModel().fit(NORMAL)
    whole, seen = model.explain(NORMAL), []
    monkeypatch.setattr("whyodd.texts.model._BLOCK", 7)
    np.testing.assert_array_equal(
        model.score_messages(NORMAL, own=True, report=seen.append), whole.outlierness
    )
    parts = model.explain(NORMAL)
    np.testing.assert_array_equal(parts.outlierness, whole.outlierness)
    assert [parts.absent(i) for i in range(48)] == [whole.absent(i) for i in range(48)]
    assert seen == [7, 14, 21, 28, 35, 42, 48]


def test_bags_and_parts_of_words():
    words = Tokenizer(None)("No no 4x")
    found = Bags.of([words, []], Vocabulary(("4x", "no")))
    assert found.columns.tolist() == [1, 0]
    assert [WRITINGS[w] for w in found.writings] == ["with a capital letter", "with digits"]
    np.testing.assert_allclose(found.onto_words(np.array([4.0, 1.0])), [2.0, 2.0, 1.0])
    assert terms_of(words[0], subwords=True) == [" no "]


def test_usage_counts_messages():
    usage = TermUsage.of([Tokenizer()(text) for text in ("Pump pump", "the pump", "THE")], 1)
    assert (usage.count("pump"), usage.count("the"), usage.count("x")) == (2, 2, 0)
    assert usage.n_terms == 4
    assert usage.expected_share("pump", 0) == 0.0


def test_a_scale_takes_out_level_and_spread():
    random = np.random.default_rng(1)
    lengths = random.integers(2, 200, 20_000)
    scores = 3.0 - 0.2 * np.log(lengths) + random.normal(size=lengths.size) / np.sqrt(lengths)
    scale = LengthScale.of(lengths, scores)
    assert scale.slope == pytest.approx(-0.5, abs=0.03)
    short, long = (scale.log_outlierness(lengths, scores)[mask] for mask in (lengths < 20, lengths > 150))
    assert np.median(short) == pytest.approx(0.0, abs=0.02)
    assert np.quantile(short, 0.9) == pytest.approx(np.quantile(long, 0.9), rel=0.15)
    alike = LengthScale.of(np.full(500, 3), np.zeros(500))
    assert alike.slope == 0.0
    assert alike.log_outlierness(np.array([1, 900]), np.array([0.0, -np.inf])).tolist() == [0.0, -np.inf]


def test_messages_may_be_learned_some_at_a_time():
    tokens = [Tokenizer()(text) for text in NORMAL]
    learned, parts = (Surprise.of(lambda k=k: (tokens[:k], tokens[k:]), 1) for k in (48, 5))
    np.testing.assert_array_equal(parts.distribution.scores, learned.distribution.scores)
    np.testing.assert_array_equal(parts.usage.counts, learned.usage.counts)
    np.testing.assert_allclose(
        np.sort(learned.outlierness(tokens, own=True)), learned.distribution.scores, rtol=1e-12
    )
