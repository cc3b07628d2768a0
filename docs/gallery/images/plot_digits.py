"""
A digit that is not quite a zero
================================

A one-class SVM has learned handwritten zeros, and nothing else. It meets other digits. Which of them look
most and least like a zero, and which pixels say so?
"""

# %%
# Learn zeros
# -----------
#
# scikit-learn has 1,797 digits of 8 × 8 pixels. A row of the table is a digit, a column is a pixel.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

import whyodd

digits = load_digits()
X, y = digits.data, digits.target
zeros = X[y == 0]
model = OneClassSVM(nu=0.1, gamma=0.001).fit(zeros[:120])

# %%
# Explain the others
# ------------------
#
# ``whyodd.explain`` takes the fitted model as it is. Relevance adds up to the outlierness, pixel by pixel.

others = np.concatenate([zeros[120:], X[y > 0]])
label = np.concatenate([y[y == 0][120:], y[y > 0]])
e = whyodd.explain(model, others)
print(f"ROC AUC, other digits against zeros: {roc_auc_score(label > 0, e.outlierness):.3f}")
for digit in range(10):
    print(f"{digit}: mean outlierness {e.outlierness[label == digit].mean():.2f}")

# %%
# For each digit, the picture of median outlierness above, and its relevance below. The redder a pixel, the
# more it differs from what a zero has there.

typical = []
for digit in range(10):
    which = np.flatnonzero(label == digit)
    typical.append(which[np.argsort(e.outlierness[which])[len(which) // 2]])
limit = np.quantile(e.relevance[typical], 0.99)
figure, axes = plt.subplots(2, 10, figsize=(10, 2.4), layout="constrained")
for column, i in enumerate(typical):
    axes[0, column].imshow(others[i].reshape(8, 8), cmap="gray_r")
    axes[0, column].set_title(f"{e.outlierness[i]:.1f}", fontsize=9)
    axes[1, column].imshow(e.relevance[i].reshape(8, 8), cmap="Reds", vmin=0, vmax=limit)
for ax in axes.flat:
    ax.set_axis_off()

# %%
# A zero has a hole in the middle. Most other digits have ink there, and that is why they are odd. The zero
# itself has little relevance anywhere.
#
# In words
# --------
#
# Pixels have no names, so we give them places. One sentence for a one:

places = [f"row {row + 1}, column {column + 1}" for row in range(8) for column in range(8)]
one = pd.DataFrame(others[[typical[1]]], columns=places)
named = whyodd.explain(OneClassSVM(nu=0.1, gamma=0.001).fit(pd.DataFrame(zeros[:120], columns=places)), one)
print(f"{named.why(0)}.")

# %%
# **What to do next:** look at the zeros that are odd themselves. They are the ones that people, too, would
# ask about.

odd_zeros = e[np.flatnonzero(label == 0)].top(6)
figure, axes = plt.subplots(1, 6, figsize=(7, 1.6), layout="constrained")
for ax, zero, score in zip(axes, odd_zeros.data, odd_zeros.outlierness, strict=True):
    ax.imshow(zero.reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{score:.1f}", fontsize=9)
    ax.set_axis_off()

plt.show()
