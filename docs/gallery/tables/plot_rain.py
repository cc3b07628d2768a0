"""
The year it stopped raining in Seattle
======================================

Daily weather in Seattle, as it comes with many plotting packages: precipitation, temperatures, wind, and a
word for the day. Is 2015 a year like 2012? If you train a model on one year and use it in the other, you
should know.
"""

# %%
# Two years of one table
# ----------------------

import matplotlib.pyplot as plt
import pandas as pd
from vega_datasets import local_data

import whyodd

weather = pd.read_csv(local_data.seattle_weather.filepath, parse_dates=["date"])
year = weather["date"].dt.year
days = weather.drop(columns="date")
before, after = days[year == 2012], days[year == 2015]

# %%
# What changed
# ------------

changes = whyodd.compare(before, after)
for change in changes.changes:
    print("-", change.sentence)

# %%
# It was warmer in 2015: the winter was mild, and the summer hot. But most of the change is elsewhere. On days
# with precipitation the word is no longer *rain*. Did it stop raining?
#
# Ask the instruments
# -------------------

wet = weather["precipitation"] > 0
by_year = pd.DataFrame(
    {
        "precipitation (mm)": weather.groupby(year)["precipitation"].sum().round(),
        "wet days": wet.groupby(year).sum(),
        "wet days called rain": (wet & (weather["weather"] == "rain")).groupby(year).sum(),
        "wet days called fog": (wet & (weather["weather"] == "fog")).groupby(year).sum(),
    }
)
print(by_year.to_string())

# %%
# Not at all: there was about as much water in both years. What changed is the *label*. In the spring of 2013,
# from one month to the next, wet days were no longer called rain but fog.

words = ["rain", "drizzle", "snow", "fog", "sun"]
colors = ["#0072B2", "#56B4E9", "#999999", "#E69F00", "#F0E442"]
month = weather["date"].dt.to_period("M").dt.to_timestamp()
shares = pd.crosstab(month[wet], weather.loc[wet, "weather"], normalize="index").reindex(columns=words)
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.stackplot(shares.index, shares.fillna(0.0).T, labels=words, colors=colors)
ax.set(ylabel="share of the wet days", ylim=(0, 1), xlim=(shares.index[0], shares.index[-1]))
ax.yaxis.set_major_formatter("{x:.0%}")
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

# %%
# **What to do next:** do not let a model learn the column ``weather`` from 2012 and judge 2015 by it. Compare
# two periods of every table before you use it, and look at the labels first: people change their habits more
# often than the weather does.

plt.show()
