"""
Too many taxis for a Thursday at 3:30
=====================================

23,000 taxi passengers in half an hour are nothing special for New York, unless it is half past three in the
morning. What is odd often depends on the context. With ``given=`` whyodd compares rows with rows of the same
context.
"""

# %%
# Half a year of taxi rides
# -------------------------
#
# The table has the number of passengers in New York for every half hour from July 2014 to January 2015. It is
# part of the Numenta Anomaly Benchmark.

import gallery_data
import matplotlib.pyplot as plt
import pandas as pd

import whyodd

taxis = pd.read_csv(gallery_data.file("nab/nyc_taxi.csv.gz"), parse_dates=["timestamp"])
taxis = taxis.rename(columns={"timestamp": "time", "value": "passengers"})

# %%
# Without context: the hour that came twice
# -----------------------------------------

plain = whyodd.find(taxis)
for i in range(2):
    print(f"{taxis['time'][plain.order[i]]}: {plain.why(i, k=1)}.")

# %%
# The highest values of all are on 2 November between 1:00 and 2:00. No event did that. In that night the
# clocks went back, and the table has two hours in one. It is an error in the data, and good to know.
#
# With context: holidays and a storm
# ----------------------------------
#
# Now each half hour is compared with the same weekday at about the same time of day.

found = whyodd.find(taxis, given="time")
print(found.headline, "\n")
for i in (0, 8):
    print(f"{taxis['time'][found.order[i]]}: {found.why(i)}.\n")

# %%
# Days with many odd half hours:

days = taxis["time"][found.is_odd].dt.date.value_counts().head(6)
known = {
    "2015-01-27": "a blizzard, and a ban on driving",
    "2014-12-25": "Christmas",
    "2015-01-01": "New Year",
    "2015-01-26": "the blizzard comes",
    "2014-11-27": "Thanksgiving",
    "2014-09-01": "Labor Day",
    "2014-12-31": "New Year's Eve",
}
for day, count in days.items():
    print(f"{day}: {count:2} half hours ({known.get(str(day), 'unknown')})")

# %%
# The picture shows the last five weeks. The grey line is the median for each weekday and time of day.

usual = taxis.groupby([taxis["time"].dt.day_of_week, taxis["time"].dt.time])["passengers"].transform("median")
late = taxis["time"] >= "2014-12-22"
figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax.plot(taxis["time"][late], usual[late], color="0.75", linewidth=1, label="usual")
ax.plot(taxis["time"][late], taxis["passengers"][late], color="#0072B2", linewidth=1, label="passengers")
odd = late & found.is_odd
ax.plot(taxis["time"][odd], taxis["passengers"][odd], ".", color="#D55E00", label="odd")
ax.set(ylabel="passengers in half an hour", ylim=(0, 36_000))
ax.legend(ncols=3, loc="upper center")

# %%
# **What to do next:** think of what your rows depend on (a machine, a shop, a weekday) and name it in
# ``given=``, or ``--given machine,when`` on the command line. What you name is never blamed.

plt.show()
