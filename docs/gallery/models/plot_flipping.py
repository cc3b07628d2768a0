"""
Which explanation knows what matters?
=====================================

There are many ways to explain a score, and they contradict each other. A simple test tells them apart: take
the columns away in the order in which an explanation ranks them. If it knew what mattered, the score falls at
once.
"""

# %%
# A model and its odd rows
# ------------------------
#
# A one-class SVM learns the handwritten digits 0 to 4. Digits 5 to 9 are odd for it. The columns are 64
# pixels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import OneClassSVM

import whyodd

digits = load_digits()
X, y = digits.data, digits.target
model = OneClassSVM(nu=0.1, gamma=0.002).fit(X[y < 5][:400])
odd = X[y >= 5][:200]

# %%
# Five explanations
# -----------------
#
# ``dtd`` is deep Taylor decomposition, which whyodd uses. ``sensitivity`` is the squared gradient,
# ``nearest`` the squared difference from the nearest known digit, ``mean`` that from their mean. ``random``
# knows nothing.

methods = ["dtd", "nearest", "mean", "sensitivity", "random"]
explanations = {name: whyodd.explain(model, odd, method=name, random_state=0) for name in methods}
curves = whyodd.evaluation.flip(model, odd, explanations)
ax = whyodd.plots.flipping(curves)

# %%
# The area below a curve sums it up: less is better.

for name, curve in curves.items():
    print(f"{name:12} area {np.mean(whyodd.evaluation.area(curve)):.3f}")

# %%
# Do they disagree?
# -----------------
#
# The same digit, and where each explanation sees the reason:

oddest = int(np.argmax(explanations["dtd"].outlierness))
figure, axes = plt.subplots(1, 6, figsize=(10, 2), layout="constrained")
axes[0].imshow(odd[oddest].reshape(8, 8), cmap="gray_r")
axes[0].set_title("the digit", fontsize=9)
for ax, (name, e) in zip(axes[1:], explanations.items(), strict=True):
    ax.imshow(e.relevance[oddest].reshape(8, 8), cmap="Reds", vmin=0)
    ax.set_title(name, fontsize=9)
for ax in axes:
    ax.set_axis_off()
print(f"The first reason of dtd: {explanations['dtd'].why(oddest, k=1)}.")

# %%
# **What to do next:** run ``whyodd.evaluation.compare(model, X)`` on your own model. It adds how stable the
# explanations are, and whether they add up to the score.

plt.show()
