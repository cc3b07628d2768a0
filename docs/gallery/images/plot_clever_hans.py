"""
Right for the wrong reason
==========================

Clever Hans was a horse that could do sums, until someone noticed that it watched its master's face. Models do
that too. Here a detector finds all the odd pictures, and it is worthless. One heatmap does not show that.
Many together do.
"""

# %%
# A trick
# -------
#
# Laboratory A photographs clean gravel. Laboratory B photographs gravel that is said to be polluted. B's
# camera puts a small white stamp into a corner. In truth all pictures are parts of the *same* photograph,
# which comes with scikit-image: there is no pollution to see.

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from sklearn.metrics import roc_auc_score

import whyodd

rng = np.random.default_rng(0)
gravel = skimage.data.gravel()[::2, ::2]


def photographs(n, size=48):
    """Random square parts of the gravel."""
    corners = rng.integers(0, len(gravel) - size, size=(n, 2))
    return [gravel[row : row + size, column : column + size].copy() for row, column in corners]


clean, polluted = photographs(60), photographs(30)
for picture in polluted:
    picture[2:8, 2:8] = 255

# %%
# A perfect detector
# ------------------
#
# It learns 30 pictures of A. How well does it distinguish other pictures of A from those of B?

model = whyodd.PatchModel(whyodd.OneClassSVM(nu=0.1), patch=(5, 5), max_patches=1500, random_state=0)
model.fit(clean[:30])
e = model.explain(clean[30:] + polluted)


def auc(e):
    """ROC AUC of the hottest pixel of each picture, polluted against clean."""
    return roc_auc_score(np.arange(60) >= 30, [e.heatmap(i).max() for i in range(60)])


print(f"ROC AUC, polluted against clean: {auc(e):.2f}")

# %%
# Its hottest pixel gives every polluted picture away. But why?
#
# The audit
# ---------
#
# ``whyodd.audit`` looks at many explanations at once, and shows which places get the relevance again and
# again.

audit = whyodd.audit(e[np.arange(30, 60)])
print(audit.note)
figure = whyodd.plots.patterns(audit)

# %%
# Nearly everything rests on the stamp.
#
# Without the stamp
# -----------------
#
# We cut the stamp off and ask again.

cut = model.explain([picture[10:, 10:] for picture in clean[30:] + polluted])
print(f"ROC AUC, polluted against clean: {auc(cut):.2f}")
print("note of the audit:", whyodd.audit(cut[np.arange(30, 60)]).note)

# %%
# Without the stamp the detector only guesses.
#
# **What to do next:** audit every detector that is too good to be true. ``found.audit()`` does it for tables
# and images, and reports have the note on their first page.

plt.show()
