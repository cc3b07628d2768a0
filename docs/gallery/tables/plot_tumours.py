"""
What makes a tumour look malignant?
===================================

A hospital knows what benign tumours look like under the microscope. Can a model that has **never seen a
malignant one** recognise them, and say by what? It learns from benign tumours alone and judges the rest.
"""

# %%
# Learn benign tumours
# --------------------
#
# The measurements of 569 tumours come with scikit-learn. We set a third of the benign ones aside, to see how
# many false alarms there are.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import whyodd

tumours = load_breast_cancer(as_frame=True)
benign, malignant = (tumours.data[tumours.target == target] for target in (1, 0))
known, others = train_test_split(benign, test_size=1 / 3, random_state=0)
model = whyodd.auto(known, trusted=True)

# %%
# Judge the others
# ----------------

patients = pd.concat([others, malignant], ignore_index=True)
is_malignant = np.arange(len(patients)) >= len(others)
found = whyodd.find(patients, model=model)
print(found.headline)
print(f"called odd: {found.is_odd[is_malignant].mean():.0%} of the malignant tumours,", end=" ")
print(f"{found.is_odd[~is_malignant].mean():.1%} of the benign ones")
print(f"ROC AUC: {roc_auc_score(is_malignant, found.outlierness):.3f}")

# %%
figure, ax = plt.subplots(layout="constrained")
bins = np.geomspace(found.outlierness.min(), found.outlierness.max(), 40)
ax.hist(found.outlierness[~is_malignant], bins, color="#0072B2", alpha=0.75, label="benign, not seen before")
ax.hist(found.outlierness[is_malignant], bins, color="#D55E00", alpha=0.75, label="malignant")
ax.axvline(found.threshold, color="black", linestyle="--", label="threshold")
ax.set(xscale="log", xlabel="outlierness (1 is usual)", ylabel="tumours")
ax.legend()

# %%
# Why?
# ----
#
# The sentences use the columns of the laboratory. "Worst" is the mean over the three largest cells.

for i in range(3):
    print(f"{found.why(i, k=2)}.\n")
ax = whyodd.plots.beeswarm(found.odd, k=8)

# %%
# Each dot is a tumour. Some columns decide for a few tumours only, others for nearly all. Doctors look at the
# same things: size, and how ragged the outline of the cells is.
#
# **What to do next:** look at the malignant tumours that were *not* called odd. They resemble benign ones in
# every column, so no threshold on these columns will find them.

missed = np.flatnonzero(is_malignant & ~found.is_odd)
print(f"{len(missed)} malignant tumours stay below the threshold.")
plt.show()
