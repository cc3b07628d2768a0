"""
"That one is fine, stop telling me"
===================================

An alarm that was checked is knowledge, and the model can keep it. We look for odd cars again, tell whyodd
that one of them is fine, and watch what else becomes normal, and what does not.
"""

# %%
# Eleven odd cars
# ---------------
#
# This time we allow three false alarms in a hundred cars.

import matplotlib.pyplot as plt
import pandas as pd
from vega_datasets import local_data

import whyodd

cars = pd.read_json(local_data.cars.filepath)
cars["Year"] = pd.to_datetime(cars["Year"]).dt.year
found = whyodd.find(cars, id_column="Name", false_alarms=0.03)
print(found.headline, "\n")
for i in range(found.n_odd):
    print(f"{cars['Name'][found.order[i]]}: {found.why(i, k=1)}.")

# %%
# Accept a car
# ------------
#
# The Pontiac Catalina has a huge engine. That was common in America before the oil crisis, so we accept it.

rank = list(cars["Name"][found.order]).index("pontiac catalina")
taught = found.accept(rank, note="big engines were common in 1970")
print(taught.effects[-1])

# %%
# Three more cars with huge engines have become normal: they are nearer to the accepted car than to all
# others. The wagon from :ref:`sphx_glr_auto_gallery_tables_plot_cars.py` has the same engine, and stays odd:
# its weight is still wrong. One accepted value does not excuse another.

wagon = int(found.order[0])
print(f"Before: {found.explain([wagon]).why(0, k=2)}.\n")
print(f"After:  {taught.explain([wagon]).why(0, k=2)}.")

# %%
names = cars["Name"][found.order[: found.n_odd]]
before, after = (which.outlierness[found.order[: found.n_odd]] for which in (found, taught))
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.hlines(names, after, before, color="0.7", linewidth=2)
ax.plot(before, names, "o", color="#D55E00", label="before")
ax.plot(after, names, "o", color="#0072B2", label="after")
ax.axvline(found.threshold, color="black", linestyle="--", linewidth=1, label="threshold")
ax.set(xlabel="outlierness")
ax.invert_yaxis()
ax.legend()

# %%
# Confirm a mistake
# -----------------
#
# The opposite is possible too: the weight of the wagon was checked, and it is wrong.

wagon_rank = list(taught.order).index(wagon)
taught = taught.reject(wagon_rank, note="weight is a typing mistake")
print(taught.effects[-1])
for one in whyodd.feedback(taught.model):
    print(one)

# %%
# **What to do next:** ``whyodd.save(taught.model, "cars.whyodd")`` keeps the model with all its feedback. You
# can list feedback and undo it at any time.

plt.show()
