"""
Four days of bad weather in Seattle
===================================

It rains in Seattle, and nobody is surprised. Were there days in 2015 that did surprise, compared with the
three years before? ``find_in_series`` tells *events*: from when to when, in which channels, and what was
different.
"""

# %%
# Four years of weather
# ---------------------
#
# The table has a row for each day and comes with ``vega_datasets``. The date column gives the time.

import matplotlib.pyplot as plt
import pandas as pd
from vega_datasets import local_data

import whyodd
from whyodd.findings.series import find_in_series

weather = pd.read_csv(local_data.seattle_weather.filepath, parse_dates=["date"]).drop(columns="weather")
known, new = weather[weather["date"] < "2015"], weather[weather["date"] >= "2015"]

# %%
# What was odd in 2015
# --------------------

found = find_in_series(new, known)
print(found.headline, "\n")
for i in range(found.n_events):
    print(f"{found.explanation.name(i)}: {found.why(i)}.\nIt is {found.how_odd(i)}.")
figure = whyodd.plots.events(found.explanation)

# %%
# In the middle of November 2015 a series of storms hit the Pacific Northwest. The one of the 17th cut off the
# power of many homes in Washington State. No single number of these days is a record in this table: rain,
# wind and temperature over several days make them odd together.

days = new[new["date"].between("2015-11-11", "2015-11-20")]
print(days.to_string(index=False))

# %%
# What is not odd
# ---------------
#
# Without the years before, whyodd would have to learn from 2015 itself, and it says what that means:

alone = find_in_series(new)
print(alone.headline, *alone.notes, sep="\n")

# %%
# **What to do next:** give a stretch of normal data to learn from, as long as you can get. Whole years are
# best if seasons matter.

plt.show()
