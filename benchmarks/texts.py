"""Attacks among comments: which terms make them odd, how well they are told, and time and memory.

Run: python benchmarks/texts.py [even | odd]

A TextModel learns 6,000 neutral Wikipedia comments (``cat_large``), as ``whyodd text`` does by default, and
judges others beside simpler scores: their area under the ROC curve (AUC) for toxicity, over all pairs and
over those of like length, how far each follows the length, and how many of the 20 oddest are toxic. The
default was designed on the even rows; with ``even`` or ``odd`` there is nothing but that table.

The terms are those of the attacks: the toxic comments of ``jigsaw_balanced``; or those of the original
Wikipedia Detox release (figshare 4054689), if its files ``attack_annotated_comments.tsv`` and
``attack_annotations.tsv`` are in the folder ``wikipedia_toxicity`` of the data. Time is that of training on
the same CSR rows, beside scikit-learn's OneClassSVM to the same tolerance; memory is the peak of a process of
its own that reads, trains on all neutral comments and explains 1,000 messages.
"""

from __future__ import annotations

import csv
import gzip
import resource
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import sklearn.svm
from scipy.stats import spearmanr

from realdata import data_dir
from sidebyside import print_table
from spans import N_TRAIN, neutral_comments
from whyodd import TextModel
from whyodd.evaluation.localisation import roc_auc
from whyodd.texts.tokens import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from whyodd.texts import TextExplanation

MESSAGES, TERMS = 1_000, 15
PROMISED_MB = 2_048


def labelled_comments(folder: Path, name: str = "jigsaw_balanced") -> tuple[list[str], np.ndarray]:
    """Comments of a file, and whether each is toxic."""
    path = folder / "wikipedia_toxicity" / f"{name}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [(row["comment"], float(row["toxic"])) for row in csv.DictReader(file, delimiter="\t")]
    return [text for text, _ in rows], np.array([toxic > 0 for _, toxic in rows])


def detox_comments(folder: Path) -> tuple[list[str], np.ndarray]:
    """Comments of the Wikipedia Detox release, and whether most annotators found each an attack."""
    votes: dict[str, list[float]] = {}
    for row in _rows(folder / "attack_annotations.tsv"):
        votes.setdefault(row["rev_id"], []).append(float(row["attack"]))
    rows = _rows(folder / "attack_annotated_comments.tsv")
    texts = [row["comment"].replace("NEWLINE_TOKEN", "\n").replace("TAB_TOKEN", "\t") for row in rows]
    return texts, np.array([float(np.mean(votes[row["rev_id"]])) > 0.5 for row in rows])


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def attacks_and_others(folder: Path) -> tuple[list[str], np.ndarray]:
    """The original comments if they are there, else others of the same kind."""
    original = folder / "wikipedia_toxicity"
    if (original / "attack_annotated_comments.tsv").exists():
        return detox_comments(original)
    return labelled_comments(folder)


def mean_relevance(e: TextExplanation) -> tuple[dict[str, float], dict[str, float]]:
    """Share of outlierness of each term over all messages: where it is there, and where it is missing."""
    present: dict[str, float] = {}
    absent: dict[str, float] = {}
    for i in range(len(e)):
        for found, terms in ((present, e.present(i)), (absent, e.absent(i, 100))):
            for term in terms:
                found[term.term] = found.get(term.term, 0.0) + term.relevance / e.outlierness[i] / len(e)
    return present, absent


def largest(found: dict[str, float]) -> list[str]:
    ranked = sorted(found, key=lambda term: -found[term])[:TERMS]
    return [f"{term} {100 * found[term]:.2f} %" for term in ranked]


def judged_sets(folder: Path, half: str) -> dict[str, tuple[list[str], np.ndarray]]:
    """Comments and whether each is toxic: every second one, since the others were not to be looked at."""
    toxicity = folder / "wikipedia_toxicity"
    whole = {
        "jigsaw_balanced": labelled_comments(folder),
        "jigsaw_train_head3000": labelled_comments(folder, "jigsaw_train_head3000"),
        "detox_250": _detox_250(toxicity / "detox_250.tsv.gz"),
        "toxic_spans": voted_comments(folder / "toxic_spans"),
    }
    some = slice({"even": 0, "odd": 1}[half], None, 2)
    return {name: (texts[some], toxic[some]) for name, (texts, toxic) in whole.items()}


def _detox_250(path: Path) -> tuple[list[str], np.ndarray]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [(row["comment"], float(row["label"])) for row in csv.DictReader(file, delimiter="\t")]
    return [text for text, _ in rows], np.array([label > 0 for _, label in rows])


def voted_comments(folder: Path) -> tuple[list[str], np.ndarray]:
    """Comments of which all annotators say that they are toxic, or all that they are not."""
    votes: dict[str, list[bool]] = {}
    with gzip.open(folder / "annotations.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            votes.setdefault(row["comment_id"], []).append(row["not toxic"] != "True")
    with gzip.open(folder / "comments.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = [(row["comment_text"], votes.get(row["comment_id"], [])) for row in csv.DictReader(file)]
    agreed = [(text, given[0]) for text, given in rows if given and len(set(given)) == 1]
    return [text for text, _ in agreed], np.array([toxic for _, toxic in agreed])


def rivals(known: Sequence[str]) -> dict[str, Callable[[Sequence[str]], np.ndarray]]:
    """Scores of messages by name: ours as ``whyodd text`` has them by default, and what is simpler."""
    models = {
        "whyodd text": TextModel(),
        "whyodd text --subwords": TextModel(subwords=True),
        "whyodd text --paper": TextModel(paper=True),
        "whyodd text --paper --normalize": TextModel(sigma="median", normalize=True),
    }
    cut = Tokenizer()
    counts = Counter(term for text in known for term in {word.term for word in cut(text)})

    def by_idf(pooled: Callable[[list[float]], float], texts: Sequence[str]) -> np.ndarray:
        bags = ({word.term for word in cut(text)} for text in texts)
        rarity = ([-np.log((counts[term] + 0.5) / (len(known) + 1)) for term in bag] for bag in bags)
        return np.array([pooled(values or [0.0]) for values in rarity])

    return {
        **{name: model.fit(known).outlierness for name, model in models.items()},
        "mean idf": lambda texts: by_idf(np.mean, texts),
        "largest idf": lambda texts: by_idf(max, texts),
        "length alone": lengths,
        "shortness alone": lambda texts: -lengths(texts),
    }


def lengths(texts: Sequence[str]) -> np.ndarray:
    """Number of distinct terms of each message."""
    cut = Tokenizer()
    return np.array([len({word.term for word in cut(text)}) for text in texts], dtype=float)


def auc_at_like_length(scores: np.ndarray, toxic: np.ndarray, length: np.ndarray, groups: int = 10) -> float:
    """Share of the pairs of like length in which the toxic comment has the larger score."""
    group = np.searchsorted(np.quantile(length, np.linspace(0, 1, groups + 1)[1:-1]), length, side="right")
    inside = [group == i for i in range(groups)]
    inside = [mask for mask in inside if toxic[mask].any() and not toxic[mask].all()]
    pairs = [toxic[mask].sum() * (~toxic[mask]).sum() for mask in inside]
    areas = roc_auc([scores[mask] for mask in inside], [toxic[mask] for mask in inside])
    return float(np.average(areas, weights=pairs))


def detection(folder: Path, half: str) -> None:
    """How well toxic comments are told, and how far that is their length."""
    known = neutral_comments(folder, None)
    learned, others = known[:N_TRAIN], known[N_TRAIN : N_TRAIN + 3_000]
    others_length = lengths(others)
    told = rivals(learned)
    with_length = {name: spearmanr(score(others), others_length)[0] for name, score in told.items()}
    for title, (texts, toxic) in judged_sets(folder, half).items():
        length, lines = lengths(texts), []
        for name, score in told.items():
            scores = score(texts)
            oddest = np.argsort(-scores, kind="stable")[:20]
            lines.append(
                (
                    name,
                    f"{roc_auc([scores], [toxic])[0]:.3f}",
                    f"{auc_at_like_length(scores, toxic, length):.3f}",
                    f"{spearmanr(scores, length)[0]:+.2f}",
                    f"{with_length[name]:+.2f}",
                    f"{toxic[oddest].sum()}",
                )
            )
        columns = (
            *("score", "AUC", "AUC at like length", "rank correlation with length"),
            *("the same, 3,000 neutral ones", "toxic of the top 20"),
        )
        print_table(f"{title}, {half} rows: {toxic.sum()} toxic of {toxic.size}", columns, lines)


def alarms(folder: Path) -> None:
    """Neutral comments that were not learned, above the threshold for 1 %."""
    known = neutral_comments(folder, None)
    model = TextModel().fit(known[:N_TRAIN])
    others = known[N_TRAIN:]
    share = float(np.mean(model.outlierness(others) > model.threshold_))
    print(f"\n{len(others):,} neutral comments that were not learned: {share:.2%} are odd (allowed: 1 %)")


def relevant_terms(folder: Path) -> None:
    """Which terms the paper's model finds in attacks, and which it misses."""
    texts, toxic = attacks_and_others(folder)
    e = TextModel(paper=True).fit(neutral_comments(folder)).explain(texts)
    present, absent = map(largest, mean_relevance(e[np.flatnonzero(toxic)[:MESSAGES]]))
    print_table(
        f"Mean share of the outlierness of {MESSAGES} attacks, the paper's model", ("there", "missing"),
        list(zip(present, absent, strict=True)),
    )  # fmt: skip


def training(folder: Path) -> None:
    lines = []
    for most in (6_000, None):
        known = neutral_comments(folder, most)
        model = TextModel(paper=True)
        start = time.perf_counter()
        model.fit(known)
        whole = time.perf_counter() - start
        rows = model._scaled(
            model.vocabulary_.encode([[t.term for t in w] for w in model._tokens(known)], unseen=False)
        )
        start = time.perf_counter()
        model.model_.fit(rows)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        sklearn.svm.OneClassSVM(nu=model.model_.nu, gamma=0.5 / model.model_.sigma**2, cache_size=2000).fit(
            rows
        )
        theirs = time.perf_counter() - start
        lines.append(
            (
                f"{rows.shape[0]:,} x {rows.shape[1]:,}",
                f"{whole:.1f}",
                f"{ours:.1f}",
                f"{theirs:.1f}",
                f"{theirs / ours:.1f}",
            )
        )
    columns = ("rows", "fit from texts s", "fit from CSR s", "scikit-learn from CSR s", "ratio")
    print_table("Training", columns, lines)


def peak(folder: Path) -> None:
    """Read, train and explain; prints the peak memory of the process in MB."""
    model = TextModel().fit(neutral_comments(folder, None))
    model.explain(labelled_comments(folder)[0][:MESSAGES])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    folder = data_dir()
    if sys.argv[1:] == ["peak"]:
        peak(folder)
        return
    half = sys.argv[1] if sys.argv[1:] in (["even"], ["odd"]) else "even"
    detection(folder, half)
    if sys.argv[1:]:
        return
    alarms(folder)
    relevant_terms(folder)
    training(folder)
    done = subprocess.run([sys.executable, __file__, "peak"], check=True, capture_output=True, text=True)
    print(f"\nPeak memory, all neutral comments and {MESSAGES} messages: {float(done.stdout):.0f} MB "
          f"(promised: {PROMISED_MB})")  # fmt: skip


if __name__ == "__main__":
    main()
