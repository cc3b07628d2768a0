"""
Where does "odd" begin?
=======================

A threshold of 2.5 means nothing to a doctor. "One healthy patient in a hundred will be called back" does.
whyodd sets thresholds by such promises. Does it keep them? We count.
"""

# %%
# Two promises
# ------------
#
# * ``false_alarms=0.01``: of a hundred *normal* rows, one is called odd.
# * ``fdr=0.1``: of ten rows that are *called odd*, one is normal.
#
# The first depends on normal rows alone. The second also depends on how many odd rows there are.
#
# The model learns two thirds of the benign tumours. It judges the other benign ones and ten malignant ones.
# All of this is done six times, with different tumours each time.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import whyodd

tumours = load_breast_cancer(as_frame=True)
benign, malignant = (tumours.data[tumours.target == target] for target in (1, 0))
promises = [{"false_alarms": rate} for rate in (0.01, 0.02, 0.05, 0.1)]
promises += [{"fdr": rate} for rate in (0.1, 0.2, 0.3, 0.5)]

counts = []
for seed in range(6):
    known, others = train_test_split(benign, test_size=1 / 3, random_state=seed)
    patients = pd.concat([others, malignant.sample(10, random_state=seed)], ignore_index=True)
    is_benign = np.arange(len(patients)) < len(others)
    model = whyodd.auto(known, trusted=True)
    for promise in promises:
        found = whyodd.find(patients, model=model, **promise)
        (kind, rate), is_odd = *promise.items(), found.is_odd
        counts.append((kind, rate, is_odd[is_benign].sum(), is_odd[~is_benign].sum(), is_benign.sum()))

# %%
# What was promised, what we got
# ------------------------------

table = pd.DataFrame(counts, columns=["promise", "rate", "benign odd", "malignant odd", "benign"])
table = table.groupby(["promise", "rate"]).sum()
table["false alarms"] = table["benign odd"] / table["benign"]
table["false discoveries"] = table["benign odd"] / (table["benign odd"] + table["malignant odd"])
print(table.drop(columns="benign").round(3).to_string())

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
for ax, kind, came in zip(axes, ("false_alarms", "fdr"), ("false alarms", "false discoveries"), strict=True):
    rates = table.loc[kind]
    ax.plot([0, rates.index.max()], [0, rates.index.max()], color="0.6", linestyle="--", label="as promised")
    ax.plot(rates.index, rates[came], "o", color="#0072B2", label="counted")
    ax.set(title=f"{kind}=", xlabel="promised", ylabel=came, xlim=(0, None), ylim=(0, None))
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.legend()

# %%
# The headline says which promise a threshold stands for.

for promise in ({"false_alarms": 0.05}, {"fdr": 0.2}):
    found = whyodd.find(patients, model=model, **promise)
    print(found.headline)
print(f"\nThe oddest one: {found.why(0, k=2)}.\nIt is {found.how_odd(0)}.")

# %%
# **What to do next:** choose ``false_alarms`` if each alarm costs a little and rows keep coming, and ``fdr``
# if you make one list and someone will check every line of it. Beware of rates that are far smaller than one
# over the number of normal rows: there the tail is extrapolated, and promises become estimates.
#
# These tumours are a friendly case. On tables with a clump of normal rows far out, such as ADBench's shuttle,
# small rates are exceeded several times over, and so is ``fdr``. Count on normal rows of your own before you
# rely on them.

plt.show()
