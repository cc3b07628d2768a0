"""
Find the typing mistakes in a manual
====================================

A spelling checker knows a dictionary, but not your special words. A model of your own texts knows both. It
learns from texts that were proofread, judges runs of five letters rather than whole words, and so finds words
that are *written* in an odd way.
"""

# %%
# Texts that come with Python packages
# ------------------------------------
#
# The documentation of NumPy, SciPy and scikit-learn was proofread by many people. We cut it into sentences,
# in lower case.

import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np

import whyodd

MODULES = """
numpy.linalg scipy.stats scipy.signal scipy.optimize scipy.ndimage scipy.linalg sklearn.cluster
sklearn.decomposition sklearn.ensemble sklearn.linear_model sklearn.neighbors sklearn.svm
sklearn.metrics sklearn.preprocessing sklearn.model_selection
"""
modules = [importlib.import_module(name) for name in MODULES.split()]
documents = [
    inspect.getdoc(one) or "" for module in modules for _, one in inspect.getmembers(module, callable)
]
sentences = {" ".join(one.split()) for text in documents for one in re.split(r"(?<=[.:])\s+|\n\n", text)}
plain = re.compile(r"[A-Z][a-z ,'-]{40,160}\.")
sentences = sorted(one.lower() for one in sentences if plain.fullmatch(one))
rng = np.random.default_rng(0)
rng.shuffle(sentences)
known, new = sentences[:-100], sentences[-100:]
print(f"{len(known)} sentences to learn from, for instance:\n{known[0]}")

# %%
# Make mistakes
# -------------
#
# In every fourth of a hundred other sentences we swap two letters of a long word.


def misspell(word):
    """The word with its third and fourth letter swapped."""
    return word[:2] + word[3] + word[2] + word[4:]


mistakes = {}
for i in range(0, len(new), 4):
    long = [word for word in new[i].split(" ") if word.isalpha() and len(word) > 6 and word[2] != word[3]]
    if long:
        word = str(rng.choice(long))
        mistakes[i] = misspell(word)
        new[i] = new[i].replace(word, mistakes[i], 1)

# %%
# Find them
# ---------

model = whyodd.TextModel(subwords=True).fit(known)
found = whyodd.find(new, model=model)
first = found.order[: len(mistakes)]
hits = sum(int(i) in mistakes for i in first)
chance = len(mistakes) ** 2 / len(new)
print(f"{hits} of the {len(mistakes)} oddest sentences have a mistake (by chance {chance:.0f}).\n")
for rank in range(4):
    i = int(found.order[rank])
    print(f"{mistakes.get(i, 'no mistake')}: {found.why(rank, k=1)}.\n")
ax = whyodd.plots.text(found.explanation, 0)

# %%
# With whole words it is harder: a rare word and a misspelled one look the same, because neither was seen
# before.

whole = whyodd.find(new, model=whyodd.TextModel().fit(known))
ranks = {name: np.argsort(one.order) + 1 for name, one in (("subwords", found), ("whole words", whole))}
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for height, (name, rank) in enumerate(ranks.items()):
    at = [rank[i] for i in mistakes]
    ax.plot(at, np.full(len(at), height), "|", markersize=22, color=("#D55E00", "#0072B2")[height])
    print(f"{name}: sentences with a mistake have rank {np.mean(at):.0f} of {len(new)} on average")
ax.set_yticks([0, 1], labels=list(ranks))
ax.set(xlabel="rank of the sentences with a mistake, the oddest first", ylim=(-0.5, 1.5), xlim=(0, 101))

# %%
# **What to do next:** fit the model to your company's own manuals. It learns the names of your products from
# them, which no dictionary knows.

plt.show()
