"""Words that make messages odd: two comments of Wikipedia's talk pages, and which terms they lack."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.experiments.page import OpenPoint, Outcome, Statement, Table
from whyodd.experiments.run import Experiment
from whyodd.experiments.shaded import message_pieces, plain_pieces, shaded_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.experiments.data import Messages, Source
    from whyodd.experiments.run import Run
    from whyodd.experiments.shaded import Piece
    from whyodd.texts import TextExplanation, TextModel

_HELD_OUT = 1_000  # neutral comments that are not learned, where the corpus has no others
_COMMON, _TOP = 100, 5  # most frequent terms, most relevant terms
_CLEARLY = 2.0  # times as much
_MADE_UP = tuple(f"zq{letter}xw" for letter in "abcdefgh")  # words that no comment has
_KINDS = {"attack": "an attack", "harmless": "a longer harmless one"}


def load(source: Source) -> Messages:
    """Comments."""
    return source.messages()


def perform(run: Run, messages: Messages) -> Outcome:
    """Learn neutral comments, explain others, and show two of them."""
    measured = run.step("messages", lambda: _measured(run, messages))
    shown = {kind: _of_kind(measured, kind) for kind in _KINDS}
    blocks = [block for kind, one in shown.items() for block in _blocks(kind, one)]
    picture = run.draw(
        "messages",
        shaded_figure(blocks),
        "An attack and a longer harmless comment, chosen by rule. The redder a word, the more relevance it "
        "has, on the scale of its message. Below: the terms with most relevance, there and missing, in "
        "shares of o.",
    )
    return Outcome(
        results={"corpus": messages.corpus, **_summary(measured), "messages": shown},
        statements=_statements(measured, shown),
        choices=_choices(run, messages),
        pictures=[picture],
        tables=[_table(shown)],
        notes=["The comments are real, and offensive. None was picked by hand."],
    )


def _measured(run: Run, messages: Messages) -> dict[str, Any]:
    from whyodd.texts import TextModel

    known, harmless = _parts(messages, run["n_train"])
    attacks = messages.attacks[: run["n_explained"]]
    harmless = harmless[: run["n_explained"]]
    model = TextModel(nu=run["nu"], sigma=run["sigma"], min_df=run["min_df"], paper=True).fit(known)
    explained = {"attack": model.explain(attacks), "harmless": model.explain(harmless)}
    counts = _document_counts(known)
    found: dict[str, Any] = {
        "n_neutral": len(known),
        "n_terms": len(model.vocabulary_),
        "n_centers": model.network_.n_centers,
        "auc": _auc(explained["attack"].outlierness, explained["harmless"].outlierness),
        **_common_and_rare(explained["attack"], counts),
    }
    for kind, e in explained.items():
        chosen = middle_one(e, run[f"words_{kind}"])
        found[f"{kind}-frequencies"] = [counts[term.term] / len(known) for term in e.present(chosen)]
        found |= {f"{kind}-{key}": value for key, value in _message(e, chosen, run["listed"]).items()}
    return found | {"growth": _growth(model, str(found["attack-text"]))}


def _parts(messages: Messages, n_train: int) -> tuple[list[str], list[str]]:
    """Comments to learn, and harmless ones that are not learned."""
    if messages.others:
        return messages.neutral[:n_train], messages.others
    return messages.neutral[:-_HELD_OUT][:n_train], messages.neutral[-_HELD_OUT:]


def middle_one(e: TextExplanation, words: Sequence[int]) -> int:
    """The message with the median outlierness among those with a number of words in a range: a typical one.

    The most outlying are in other languages, or rows of signs.
    """
    least, most = words
    counts = np.array([len(tokens) for tokens in e.all_tokens])
    allowed = np.flatnonzero((counts >= least) & (counts <= most))
    if allowed.size == 0:
        raise ValueError(f"no message has {least} to {most} words: pass other data.")
    return int(allowed[np.argsort(e.outlierness[allowed], kind="stable")[allowed.size // 2]])


def _message(e: TextExplanation, i: int, listed: int) -> dict[str, Any]:
    """Words, terms and numbers of one message."""
    words, there, missing = e.tokens(i), e.present(i, listed), e.absent(i, listed)
    o = float(e.outlierness[i])
    return {
        "text": e.messages[i],
        "outlierness": o,
        "share_there": float(e.relevance[[i]].sum()) / o,
        "share_missing": float(e.absent_relevance[i]) / o,
        "share_unexplained": float(e.unexplained[i]) / o,
        "starts": [word.start for word in words],
        "ends": [word.end for word in words],
        "relevance": [word.relevance for word in words],
        "there": [term.term for term in there],
        "there_shares": [term.relevance / o for term in there],
        "missing": [term.term for term in missing],
        "missing_shares": [term.relevance / o for term in missing],
    }


def _document_counts(texts: Sequence[str]) -> Counter[str]:
    """In how many texts each term is."""
    from whyodd.texts.tokens import Tokenizer

    cut = Tokenizer()
    return Counter(term for text in texts for term in {token.term for token in cut(text)})


def _common_and_rare(e: TextExplanation, counts: Counter[str]) -> dict[str, float]:
    """Mean share of o of terms in messages: of the most frequent hundred, and of all others."""
    common = {term for term, _ in counts.most_common(_COMMON)}
    shares: dict[bool, list[float]] = {True: [], False: []}
    for i, o in enumerate(e.outlierness):
        for term in e.present(i):
            shares[term.term in common].append(term.relevance / float(o))
    return {"share_common": float(np.mean(shares[True])), "share_rare": float(np.mean(shares[False]))}


def _growth(model: TextModel, text: str) -> NDArray[np.float64]:
    """Outlierness of a message to which words that no comment has are added one by one."""
    return model.outlierness([" ".join([text, *_MADE_UP[:k]]) for k in range(len(_MADE_UP) + 1)])


def _auc(attacks: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Share of all pairs in which the attack is the more outlying."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([attacks, others]))[: attacks.size].sum()
    return float((ranks - attacks.size * (attacks.size + 1) / 2) / (attacks.size * others.size))


def _of_kind(measured: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {key.partition("-")[2]: value for key, value in measured.items() if key.startswith(f"{kind}-")}


def _summary(measured: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in measured.items() if "-" not in key}


def _blocks(kind: str, one: Mapping[str, Any]) -> list[list[Piece]]:
    """Heading, shaded text, and the two lists of terms."""
    largest = max(float(np.max(one["relevance"])), 1e-300)
    places = zip(one["starts"], one["ends"], one["relevance"] / largest, strict=True)
    heading = (
        f"{_KINDS[kind].capitalize()}: outlierness {one['outlierness']:.2f}; {one['share_there']:.0%} on its "
        f"words, {one['share_missing']:.0%} on missing ones, {one['share_unexplained']:.0%} on none"
    )
    return [
        plain_pieces(heading, is_bold=True),
        message_pieces(one["text"], ((int(s), int(e), float(r)) for s, e, r in places)),
        [*plain_pieces("There:", is_bold=True), *plain_pieces(_listed(one, "there"))],
        [*plain_pieces("Missing:", is_bold=True), *plain_pieces(_listed(one, "missing"))],
    ]


def _listed(one: Mapping[str, Any], which: str) -> str:
    pairs = zip(one[which].tolist(), one[f"{which}_shares"].tolist(), strict=True)
    return ", ".join(f"{term} {share:.1%}" for term, share in pairs)


def _statements(measured: Mapping[str, Any], shown: Mapping[str, Mapping[str, Any]]) -> list[Statement]:
    common, rare = measured["share_common"], measured["share_rare"]
    growth = np.asarray(measured["growth"])
    is_growing = bool((np.diff(growth) > 0.0).all())
    missing = [float(one["share_missing"]) for one in shown.values()]
    return [
        Statement(
            "Common terms have no or low relevance in the document, and terms that would not be expected in "
            "a neutral message receive more.",
            f"Over all attacks, a term that is among the {_COMMON} most frequent has {common:.2%} of o in "
            f"the mean, any other {rare:.2%}: {rare / common:.1f} times as much.",
            "holds" if rare >= _CLEARLY * common else "holds in part" if rare > common else "does not hold",
        ),
        Statement(
            "Relevance will also be assigned to terms that do not appear in a document; these can be "
            "interpreted as being expected to appear in a typical example.",
            f"Missing terms have {' and '.join(f'{share:.0%}' for share in missing)} of o in the two "
            f"messages, in the attack led by {_first(shown['attack']['missing'])}.",
            "holds" if min(missing) > 0.0 else "does not hold",
        ),
        Statement(
            "Outlierness continues to grow if more rare events appear.",
            f"Adding {len(_MADE_UP)} made-up words to the attack one by one takes o from {growth[0]:.2f} to "
            f"{growth[-1]:.2f}, {'each' if is_growing else 'not each'} with an increase.",
            "holds" if is_growing else "does not hold",
        ),
        _rarity_statement(measured, shown),
    ]


def _rarity_statement(measured: Mapping[str, Any], shown: Mapping[str, Mapping[str, Any]]) -> Statement:
    """Whether the words with most relevance are those that are rare."""
    top, rest = zip(*(_frequencies(one) for one in shown.values()), strict=True)
    return Statement(
        "A term receives most relevance simply because it is not used frequently in neutral messages, not "
        "because irony was understood.",
        f"The {_TOP} terms with most relevance are in {_told(top)} of the neutral comments in the mean, the "
        f"other terms of the two messages in {_told(rest)}. Attacks are more outlying than harmless "
        f"comments in only {measured['auc']:.0%} of pairs: o grows with the number of terms, and attacks "
        "are shorter.",
        "holds" if all(a < b for a, b in zip(top, rest, strict=True)) else "does not hold",
    )


def _frequencies(one: Mapping[str, Any]) -> tuple[float, float]:
    """Mean share of neutral comments that have the most relevant terms, and the other terms."""
    frequencies = np.asarray(one["frequencies"])
    return float(frequencies[:_TOP].mean()), float(frequencies[_TOP:].mean())


def _told(shares: Sequence[float]) -> str:
    return " and ".join(f"{share:.1%}" for share in shares)


def _first(terms: NDArray[Any], k: int = 5) -> str:
    return ", ".join(f"'{term}'" for term in terms[:k].tolist())


def _choices(run: Run, messages: Messages) -> list[OpenPoint]:
    words = {kind: " to ".join(map(str, run[f"words_{kind}"])) for kind in _KINDS}
    rule = "the one in the middle by outlierness"
    return [
        OpenPoint(
            "the corpus",
            f"{messages.corpus}; neutral: {len(messages.neutral):,}, learned: the first of them.",
        ),
        OpenPoint(
            "which two messages",
            f"One of the first {run['n_explained']:,} attacks with {words['attack']} words: {rule}. "
            f"The other, chosen in the same way, is one of as many unseen harmless comments with "
            f"{words['harmless']} words.",
        ),
        OpenPoint(
            "the lists below the messages are of 'most frequent terms'",
            "Terms with most relevance: which of them are frequent is not what the explanation is about.",
        ),
        OpenPoint(
            "words that were never seen", "Each counts as a dimension on which all known messages are 0."
        ),
        OpenPoint(
            "a term that is in a message several times", "Its relevance is shared equally by its places."
        ),
    ]


def _table(shown: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = [
        (
            _KINDS[kind],
            f"{one['outlierness']:.2f}",
            *(f"{one[f'share_{part}']:.0%}" for part in ("there", "missing", "unexplained")),
        )
        for kind, one in shown.items()
    ]
    return Table("The messages", ("message", "o", "on its words", "on missing words", "unexplained"), rows)


EXPERIMENT = Experiment(
    title="Detox: which words make a message odd, and which are missing",
    parameters={
        "default": {
            "nu": 0.3,
            "sigma": 10.0,
            "min_df": 5,
            "n_train": 6_000,
            "n_explained": 2_000,
            "words_attack": (20, 60),
            "words_harmless": (60, 120),
            "listed": 10,
        },
        "quick": {"n_train": 1_500, "n_explained": 300},
        "full": {"n_train": 1_000_000, "n_explained": 1_000_000},
    },
    load=load,
    perform=perform,
    packages=("matplotlib", "regex", "snowballstemmer"),
)
