"""
A typing mistake in a famous table
==================================

The table of 406 cars from 1970 to 1982 is in countless courses and tutorials. Has anyone checked it? We let
whyodd look for rows that do not fit the others. It knows nothing about cars: it learns from the rows
themselves what is usual. One of the odd rows turns out to be a mistake, and another one a real exception.
"""

# %%
# The table
# ---------
#
# The cars come with the package ``vega_datasets``. We keep the names apart, because every car has its own.

import matplotlib.pyplot as plt
import pandas as pd
from vega_datasets import local_data

import whyodd

cars = pd.read_json(local_data.cars.filepath)
cars["Year"] = pd.to_datetime(cars["Year"]).dt.year
cars.head(3)

# %%
# Four odd cars
# -------------
#
# ``whyodd.find`` judges each row by all the others. The column ``Name`` only says what to call a row.

found = whyodd.find(cars, id_column="Name")
print(found.headline, "\n")
for i in range(found.n_odd):
    print(f"{cars['Name'][found.order[i]]}: {found.why(i)}.\n")

# %%
# The big engines of 1970 are odd, but there is nothing wrong with them. The first car is different: it is odd
# because it is **light**. 3,086 pounds is not odd in itself, since half of the cars are lighter. It is odd
# for a car like this one, a full-size station wagon with an engine of 455 cubic inches.

ax = whyodd.plots.bars(found.explanation, 0, k=5)

# %%
# Look at the pair
# ----------------
#
# A scatter plot of the two columns shows it at once. All other cars with such an engine weigh over 4,000
# pounds. The weight of the wagon is almost certainly a typing mistake.

wagon, diesel = (cars.loc[found.order[i]] for i in (0, 3))
figure, ax = plt.subplots(layout="constrained")
ax.scatter(cars["Displacement"], cars["Weight_in_lbs"], s=14, color="0.65")
for car, color, label_at in ((wagon, "#D55E00", (440, 2500)), (diesel, "#0072B2", (330, 2000))):
    at = (car["Displacement"], car["Weight_in_lbs"])
    arrow = {"arrowstyle": "->", "color": color}
    ax.scatter(*at, s=60, color=color, zorder=3)
    ax.annotate(car["Name"], at, label_at, ha="right", color=color, arrowprops=arrow)
ax.set(xlabel="displacement (cubic inches)", ylabel="weight (pounds)")

# %%
# The car in blue is no mistake. Its large engine gets 38 miles per gallon: it is a diesel, one of very few in
# this table. No column says so, but its name does.
#
# **What to do next:** correct the weight of the wagon, or leave it out, before you fit a regression to this
# table. Then call ``found.report("cars.html")`` for a page to send to the owner of the data.

plt.show()
