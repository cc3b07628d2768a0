"""
Rude words, without a list of rude words
========================================

A forum wants to know which comments to look at first. There is no list of bad words, and there are no labels
to learn from. whyodd learns how neutral comments use words, and marks the few words that make another comment
odd. (Be warned: the comments are real, and some are rude.)
"""

# %%
# Learn neutral comments
# ----------------------
#
# The comments are from the talk pages of Wikipedia.

import gallery_data
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import whyodd

neutral = pd.read_csv(gallery_data.file("wikipedia_toxicity/cat_large.tsv.gz"), sep="\t")
neutral = neutral[neutral["label"] == 0]["text"].iloc[:3000].tolist()
model = whyodd.TextModel().fit(neutral)

# %%
# Judge others
# ------------
#
# People have judged these comments as well, as toxic or not. The model does not know their judgement.

others = pd.read_csv(gallery_data.file("wikipedia_toxicity/jigsaw_balanced.tsv.gz"), sep="\t")
others = others[others["comment"].str.len().between(40, 300)].sample(1500, random_state=0, ignore_index=True)
found = whyodd.find(others["comment"].tolist(), model=model)
toxic = others["toxic"].to_numpy() == 1
print(found.headline)
print(f"ROC AUC, toxic against others: {roc_auc_score(toxic, found.outlierness):.2f}")
first = toxic[found.order[:20]].sum()
print(f"Of the 20 oddest comments {first} are toxic; of all comments {toxic.mean():.0%}.")

# %%
# The oddest comments are mostly rude, though the model has no idea what is rude: polite people just do not
# use such words. Over the whole list it is a weak judge. It finds what is *odd*, and not everything that is
# odd is toxic.
#
# Which words?
# ------------
#
# We show a comment that is odd, and harmless enough to print.

chosen = int(others.index[others["comment"].str.startswith("What makes and egg crack?")][0])
e = found.explain([chosen])
print(f"{e.why(0)}.")
ax = whyodd.plots.text(e)

# %%
# The first twenty and the rest
# -----------------------------

shares = [toxic[found.order[: int(n)]].mean() for n in (20, 50, 100, 200, 500, 1000, len(toxic))]
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.bar(np.arange(len(shares)), shares, color="#0072B2")
ax.set_xticks(np.arange(len(shares)), labels=["20", "50", "100", "200", "500", "1000", "all"])
ax.set(xlabel="the oddest so many comments", ylabel="are toxic", ylim=(0, 1))
ax.yaxis.set_major_formatter("{x:.0%}")

# %%
# **What to do next:** let moderators start at the top of the list, and stop when it is no longer worth their
# time. As soon as they have judged a few hundred comments, train a classifier on these: a list of odd
# comments is a good place to collect labels.

plt.show()
