"""
Three detectors, one tumour, three opinions
===========================================

PyOD has dozens of detectors. They disagree, and it is hard to see why. We fit three of them, all on benign
tumours, and let whyodd explain the same malignant one by each.
"""

# %%
# Fit
# ---

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pyod.models.ecod import ECOD
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

import whyodd

tumours = load_breast_cancer(as_frame=True)
is_benign = tumours.target == 1
scaler = StandardScaler().set_output(transform="pandas").fit(tumours.data[is_benign])
benign, malignant = scaler.transform(tumours.data[is_benign]), scaler.transform(tumours.data[~is_benign])
known, others = benign[:240], benign[240:]
detectors = {"ECOD": ECOD(), "KNN": KNN(n_neighbors=10), "LOF": LOF(n_neighbors=20, novelty=True)}

# %%
# Explain
# -------
#
# ``whyodd.explain`` knows how each of them computes its score, and takes that score apart.

judged = pd.concat([others, malignant])
is_malignant = np.arange(len(judged)) >= len(others)
explanations = {}
for name, detector in detectors.items():
    detector.fit(known)
    explanations[name] = e = whyodd.explain(detector, judged)
    print(f"{name}: ROC AUC {roc_auc_score(is_malignant, e.outlierness):.3f}, {e.exactness}")

# %%
# The same tumour
# ---------------
#
# Values are in standard deviations of benign tumours.

tumour = int(np.argmax(explanations["KNN"].outlierness))
for name, e in explanations.items():
    print(f"{name}: {e.why(tumour, k=2)}.\n")

# %%
shares = pd.DataFrame(
    {
        name: pd.Series(e.relevance[tumour] / e.outlierness[tumour], known.columns)
        for name, e in explanations.items()
    }
)
top = shares.loc[shares.max(axis=1).nlargest(8).index]
ax = top[::-1].plot.barh(figsize=(8, 4.4), color=["#0072B2", "#D55E00", "#009E73"], width=0.75)
ax.set(xlabel="share of the score", ylabel="")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.figure.set_layout_engine("constrained")

# %%
# ECOD looks at each column by itself and counts how rare a value is: it does not matter how far a value is
# beyond the rarest one, so nearly all columns have the same share. KNN and LOF measure distances, so the
# columns that are farthest out decide.
#
# **What to do next:** choose the detector whose reasons make sense for your data, and not only the one with
# the best number. ``whyodd models`` lists which detectors are explained, and how exactly.

plt.show()
