"""Words that make posts toxic: relevance against the spans that people marked.

Run: python benchmarks/spans.py [--full]

A TextModel is fitted to neutral Wikipedia comments (``cat_large``: the first 6,000, or all 19,790 with
--full). Every post of toxic_spans is explained, and the words inside the marked spans are told from the
others by their relevance alone: area under the ROC curve (AUC) inside each post that has both, and the mean
over posts. Beside it: parts of words (subwords), the paper's model, and of the latter's bags of terms, with
unseen words as columns: how rare a term is (idf), the difference from the nearest comment, sensitivity (the
squared derivative of o) and random numbers.
"""

from __future__ import annotations

import argparse
import ast
import csv
import gzip
from typing import TYPE_CHECKING

import numpy as np

from realdata import data_dir
from sidebyside import print_table
from whyodd import TextModel
from whyodd.evaluation.localisation import roc_auc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

N_TRAIN = 6_000
OURS, PAPER = "relevance", "the paper's model"


def neutral_comments(folder: Path, most: int | None = N_TRAIN) -> list[str]:
    """Comments that nobody found toxic."""
    with gzip.open(
        folder / "wikipedia_toxicity" / "cat_large.tsv.gz", "rt", encoding="utf-8", newline=""
    ) as file:
        comments = [row["text"] for row in csv.DictReader(file, delimiter="\t") if float(row["label"]) == 0.0]
    return comments[:most]


def marked_posts(folder: Path, part: str) -> list[tuple[str, set[int]]]:
    """Posts and the characters of each that make it toxic; those without a mark are left out."""
    with gzip.open(folder / "toxic_spans" / f"tsd_{part}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        posts = [(row["text"], set(ast.literal_eval(row["spans"]))) for row in csv.DictReader(file)]
    return [(text, marked) for text, marked in posts if marked]


def scores(models: dict[str, TextModel], texts: Sequence[str], seed: int = 0) -> dict[str, list[list[float]]]:
    """For each method a number for every word of every post; one of the models is that of the paper."""
    model = models[PAPER]
    e = model.explain(texts)
    rows = model._rows(texts)[1].toarray()
    network, columns = model.network_, model.vocabulary_.columns
    rarity = -np.asarray((model._rows(model.messages_)[1] != 0).sum(axis=0), dtype=float).ravel()
    nearest = network.centers[network.nearest(rows, 1)[0].ravel()].toarray()
    difference = (rows - nearest) ** 2
    slope = ((rows - network.expected(rows)) / network.kernel.sigma**2) ** 2
    random = np.random.default_rng(seed)

    def by_word(value: Callable[[int, int], float]) -> list[list[float]]:
        last = len(columns)
        return [
            [value(i, columns.get(word.term, last)) for word in words] for i, words in enumerate(e.all_tokens)
        ]

    # All unseen words together are one column with √k: a k-th of what is squared there is for each.
    new = np.maximum(rows[:, -1] ** 2, 1.0)
    last = len(columns)
    return {
        **{name: relevance_of_words(one, texts) for name, one in models.items()},
        "idf": by_word(lambda _, c: rarity[c] if c < last else 0.0),
        "nearest comment": by_word(lambda i, c: difference[i, c] / (new[i] if c == last else 1.0)),
        "sensitivity": by_word(lambda i, c: slope[i, c] / (new[i] if c == last else 1.0)),
        "random": [random.random(len(words)).tolist() for words in e.all_tokens],
    }


def relevance_of_words(model: TextModel, texts: Sequence[str]) -> list[list[float]]:
    e = model.explain(texts)
    return [_by_term(e, i) for i in range(len(e))]


def models_of(comments: Sequence[str]) -> dict[str, TextModel]:
    """The default, that of parts of words, and that of the paper."""
    kinds = {OURS: TextModel(), "subwords": TextModel(subwords=True), PAPER: TextModel(paper=True)}
    return {name: model.fit(comments) for name, model in kinds.items()}


def _by_term(e: object, i: int) -> list[float]:
    """Relevance of the term of each word: a word that comes twice is not half as odd."""
    relevance = {term.term: term.relevance for term in e.present(i)}
    return [relevance[word.term] for word in e.all_tokens[i]]


def areas(models: dict[str, TextModel], posts: Sequence[tuple[str, set[int]]]) -> dict[str, np.ndarray]:
    """Area under the ROC curve of each method inside each post that has words of both kinds."""
    told = scores(models, [text for text, _ in posts])
    words = models[OURS]._tokens([text for text, _ in posts])
    inside = [
        np.array([any(c in marked for c in range(w.start, w.end)) for w in some], dtype=bool)
        for some, (_, marked) in zip(words, posts, strict=True)
    ]
    used = [i for i, mask in enumerate(inside) if mask.any() and not mask.all()]
    return {
        method: roc_auc([np.array(values[i]) for i in used], [inside[i] for i in used])
        for method, values in told.items()
    }


def interval(values: np.ndarray, turns: int = 2000) -> tuple[float, float]:
    """95 % bootstrap interval of the mean over posts."""
    rng = np.random.default_rng(0)
    means = values[rng.integers(values.size, size=(turns, values.size))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--full", action="store_true", help="learn from all neutral comments")
    folder = data_dir()
    comments = neutral_comments(folder, None if parser.parse_args().full else N_TRAIN)
    models = models_of(comments)
    for part in ("trial", "train"):
        found = areas(models, marked_posts(folder, part))
        lines = []
        for method, values in found.items():
            low, high = interval(values)
            ahead = interval(found[OURS] - values)
            lines.append(
                (
                    method,
                    f"{values.mean():.3f}",
                    f"{low:.3f} to {high:.3f}",
                    f"{ahead[0]:+.3f} to {ahead[1]:+.3f}",
                )
            )
        columns = ("method", "AUC", "95 % interval", "relevance is ahead by")
        print_table(f"{part}: {found[OURS].size} posts, {len(comments)} comments", columns, lines)


if __name__ == "__main__":
    main()
