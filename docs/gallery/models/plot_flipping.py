"""
Which explanation knows what matters?
=====================================

There are many ways to explain a score, and they contradict each other. A simple test shows which is better:
remove the columns in the order in which an explanation ranks them. If it knew what mattered, the score falls
at once.
"""

# %%
# A model and its odd rows
# ------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import whyodd

tumours = load_breast_cancer(as_frame=True)
benign, malignant = (tumours.data[tumours.target == target] for target in (1, 0))
model = make_pipeline(StandardScaler(), OneClassSVM(nu=0.1, gamma="scale")).fit(benign)

# %%
# Five explanations
# -----------------
#
# ``dtd`` is deep Taylor decomposition, which whyodd uses. ``sensitivity`` is the squared gradient,
# ``nearest`` the squared difference from the nearest benign tumour, ``mean`` that from their mean. ``random``
# knows nothing.

methods = ["dtd", "nearest", "mean", "sensitivity", "random"]
explanations = {name: whyodd.explain(model, malignant, method=name, random_state=0) for name in methods}
curves = whyodd.evaluation.flip(model, malignant, explanations)
ax = whyodd.plots.flipping(curves)

# %%
# The area below a curve sums it up: less is better.

for name, curve in curves.items():
    print(f"{name:12} area {np.mean(whyodd.evaluation.area(curve)):.3f}")

# %%
# All but ``random`` know far more than chance. Apart from that the race is close: the benign tumours are one
# cloud, and then even the plain difference from their mean ranks the columns well. It wins by a hair. Where
# there are several clouds of normal rows, a mean is no good reference.
#
# Do they disagree?
# -----------------
#
# For the oddest tumour, the first reason of each:

oddest = int(np.argmax(explanations["dtd"].outlierness))
for name, e in explanations.items():
    print(f"{name:12} {e.why(oddest, k=1)}")

# %%
# All but ``random`` name the same column. The difference: only the parts of ``dtd`` add up to the
# outlierness, so only there a share is a share *of the outlierness*.
#
# **What to do next:** run ``whyodd.evaluation.compare(model, X)`` on your own model. It adds how stable the
# explanations are, and whether they add up to the score.

plt.show()
