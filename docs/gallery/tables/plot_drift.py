"""
How cars changed in ten years
=============================

You have last year's table and this year's. What changed? ``whyodd.compare`` answers in sentences. Here the
tables are cars from 1970 to 1973 and cars from 1980 to 1982. In between were two oil crises.
"""

# %%
# Two tables
# ----------

import matplotlib.pyplot as plt
import pandas as pd
from vega_datasets import local_data

import whyodd

cars = pd.read_json(local_data.cars.filepath)
year = pd.to_datetime(cars["Year"]).dt.year
cars = cars.drop(columns=["Name", "Year"])
old, new = cars[year <= 1973], cars[year >= 1980]
print(f"{len(old)} old cars, {len(new)} new ones")

# %%
# What changed
# ------------
#
# Each change has a share of the whole distance between the tables. The shares may overlap: a group of rows
# that changed in one column has often changed in others as well.

changes = whyodd.compare(old, new)
for change in changes.changes:
    print("-", change.sentence)

# %%
# The words tell a story that everyone in Detroit knew: engines shrank, cars lost weight, and they went almost
# twice as far on a gallon. European cars, which had been small before, hardly changed.

parts = sorted(changes.columns, key=lambda part: part.part)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
names = [part.name for part in parts]
ax.barh(names, [part.own for part in parts], color="#0072B2", label="its own distribution")
rests = [max(part.rest, 0.0) for part in parts]
ax.barh(names, rests, left=[part.own for part in parts], color="#E69F00", label="relations with others")
ax.plot([part.chance for part in parts], names, "|", color="black", markersize=14, label="by chance")
ax.set(xlabel="part of the distance between the tables")
ax.legend(loc="lower right")

# %%
# Is it chance?
# -------------
#
# Two random halves of one table are not equal either. To see that nothing is made up, compare the old cars
# with themselves.

half = old.sample(frac=0.5, random_state=0)
print(whyodd.compare(half, old.drop(half.index)))

# %%
# Weight and engine, before and after:

figure, ax = plt.subplots(layout="constrained")
for table, color, name in ((old, "#999999", "1970 to 1973"), (new, "#D55E00", "1980 to 1982")):
    ax.scatter(table["Weight_in_lbs"], table["Miles_per_Gallon"], s=18, color=color, label=name, alpha=0.8)
ax.set(xlabel="weight (pounds)", ylabel="miles per gallon")
ax.legend()

# %%
# **What to do next:** before you use an old model on new rows, compare the rows. On the command line that is
# ``whyodd drift old.csv new.csv --report changes.html``.

plt.show()
