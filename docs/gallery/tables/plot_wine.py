"""
Which wines are unlike the others?
==================================

A laboratory has measured 13 properties of 178 Italian wines. Nobody says which of them are unusual. whyodd
learns from the wines themselves, ranks them, and gives the reasons in the units of the laboratory.
"""

# %%
# Find
# ----
#
# The wines come with scikit-learn. ``share=0.05`` asks for the oddest twentieth.

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import whyodd

wines = load_wine(as_frame=True).data
found = whyodd.find(wines, share=0.05)
print(found.headline, "\n")
for i in range(3):
    print(f"Wine {found.order[i]}: {found.why(i)}.\nIt is {found.how_odd(i)}.\n")

# %%
# Odd for the same reason
# -----------------------
#
# Single reasons are good, but reasons that many rows share are better: they may have one cause. Here most of
# the odd wines have too much magnesium.

for group in found.groups:
    reasons = ", ".join(f"{name} {how}" for name, how in zip(group.features, group.judgements, strict=True))
    print(f"{len(group.members)} wine(s): {reasons}")

alike = found.odd.rows[found.groups[0].members]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.hist(wines["magnesium"], bins=40, color="0.75", label="all wines")
ax.plot(wines["magnesium"][alike], [0.4] * len(alike), "v", color="#D55E00", label="odd for their magnesium")
ax.set(xlabel="magnesium", ylabel="wines")
ax.legend()

# %%
# The oddest wine
# ---------------
#
# Its shares add up to its score: nothing is hidden, and nothing is counted twice.

ax = whyodd.plots.waterfall(found.explanation, 0, k=6)

# %%
# How far to trust it
# -------------------
#
# If you always ask for the oddest twentieth, you always get it, whether or not anything is odd. whyodd says
# so:

print(*found.notes, sep="\n")

# %%
# **What to do next:** ask the laboratory about magnesium first. It concerns the most wines, and one
# instrument or one vineyard may explain them all.

plt.show()
