"""Attacks among comments: which terms make them odd, how well they are told, and time and memory.

Run: python benchmarks/texts.py

A TextModel learns neutral Wikipedia comments (``cat_large``). The attacks are the toxic comments of
``jigsaw_balanced``, beside as many neutral ones of it that were not learned; or those of the original
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
from typing import TYPE_CHECKING

import numpy as np
import sklearn.svm

from realdata import data_dir
from sidebyside import print_table
from spans import neutral_comments
from whyodd import TextModel
from whyodd.evaluation.localisation import roc_auc

if TYPE_CHECKING:
    from pathlib import Path

    from whyodd.texts import TextExplanation

MESSAGES, TERMS = 1_000, 15
PROMISED_MB = 2_048


def labelled_comments(folder: Path) -> tuple[list[str], np.ndarray]:
    """Comments of ``jigsaw_balanced``, and whether each is toxic."""
    path = folder / "wikipedia_toxicity" / "jigsaw_balanced.tsv.gz"
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


def detection(folder: Path) -> None:
    texts, toxic = attacks_and_others(folder)
    known = neutral_comments(folder)
    lines = []
    for normalize, sigma in ((False, 10.0), (True, "median")):
        model = TextModel(sigma=sigma, normalize=normalize).fit(known)
        e = model.explain(texts)
        auc = roc_auc([e.outlierness], [toxic])[0]
        length = np.array([len(set(words)) for words in e.all_tokens])
        lines.append(
            (f"{normalize}", f"{sigma}", f"{auc:.3f}", f"{np.corrcoef(e.outlierness, length)[0, 1]:.2f}")
        )
        if not normalize:
            attacks = e[np.flatnonzero(toxic)[:MESSAGES]]
            present, absent = map(largest, mean_relevance(attacks))
    columns = ("length normalised", "sigma", "ROC AUC of attacks", "correlation with length")
    print_table(f"{toxic.sum()} attacks among {toxic.size} comments", columns, lines)
    print_table(
        f"Mean share of the outlierness of {MESSAGES} attacks", ("there", "missing"),
        list(zip(present, absent, strict=True)),
    )  # fmt: skip


def training(folder: Path) -> None:
    lines = []
    for most in (6_000, None):
        known = neutral_comments(folder, most)
        model = TextModel()
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
        sklearn.svm.OneClassSVM(nu=model.nu, gamma=0.5 / model.sigma**2, cache_size=2000).fit(rows)
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
    detection(folder)
    training(folder)
    done = subprocess.run([sys.executable, __file__, "peak"], check=True, capture_output=True, text=True)
    print(f"\nPeak memory, all neutral comments and {MESSAGES} messages: {float(done.stdout):.0f} MB "
          f"(promised: {PROMISED_MB})")  # fmt: skip


if __name__ == "__main__":
    main()
