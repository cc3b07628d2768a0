"""
What nobody noticed for sixty years
===================================

In 1931 and 1932 ten kinds of barley were grown on six farms in Minnesota. The table became a classic of
statistics. Only in 1993 did William Cleveland point out that one of the farms does not fit. Does
``whyodd.compare`` notice?
"""

# %%
# Compare the two years
# ---------------------

import matplotlib.pyplot as plt
import pandas as pd
from vega_datasets import local_data

import whyodd

barley = pd.read_json(local_data.barley.filepath)


def years(table):
    """Rows of 1931 and of 1932, without the year."""
    return [table[table["year"] == year].drop(columns="year") for year in (1931, 1932)]


changes = whyodd.compare(*years(barley))
for change in changes.changes:
    print("-", change.sentence)

# %%
# whyodd says that neither the yield itself nor any other column changed, but that yield and **site** are
# related differently. So some site has got better or worse than the others. Look at the sites one by one.

means = barley.groupby(["site", "year"])["yield"].mean().unstack()
print(means.round(1).to_string())
figure, ax = plt.subplots(layout="constrained")
for site, (before, after) in means.iterrows():
    color = "#D55E00" if after > before else "0.6"
    ax.plot([1931, 1932], [before, after], "o-", color=color)
    nudge = {"Waseca": 6, "Morris": -6}.get(site, 0)  # they end at nearly the same height
    ax.annotate(site, (1932, after), (8, nudge), textcoords="offset points", va="center", color=color)
ax.set(xticks=[1931, 1932], xlim=(1930.8, 1932.6), ylabel="mean yield (bushels per acre)")

# %%
# At five farms 1932 was the worse year. Only at **Morris** it was better, by about as much. Cleveland
# concluded that the two years were swapped at Morris. Others have since found that the weather may explain it
# (Wright, 2013). Either way, it is the first thing to ask about this table.
#
# What if they were swapped?
# --------------------------
#
# We swap them back and compare again.

is_morris = barley["site"] == "Morris"
repaired = barley.assign(year=barley["year"].where(~is_morris, 1931 + 1932 - barley["year"]))
for change in whyodd.compare(*years(repaired)).changes:
    print("-", change.sentence)

# %%
# Now the relation between yield and site is the same in both years, and a plain sentence is left: the yield
# fell.
#
# **What to do next:** if only a relation changed while every single column stayed the same, suspect the data
# before you suspect the world. Mixed-up labels look just like this.

plt.show()
