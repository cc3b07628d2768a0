"""
A machine that failed: did it give a warning?
=============================================

A large industrial machine has one temperature sensor, and a record of 79 days. Its engineers know that it was
shut down once as planned, and that it failed for good in February. We know nothing, and look at the record
alone.
"""

# %%
# No training data, no settings
# -----------------------------
#
# The series is part of the Numenta Anomaly Benchmark. whyodd learns from the series itself: each stretch is
# judged by all the others.

import json

import gallery_data
import matplotlib.pyplot as plt
import pandas as pd

import whyodd
from whyodd.findings.series import find_in_series

name = "machine_temperature_system_failure"
machine = pd.read_csv(gallery_data.file(f"nab/{name}.csv.gz"), parse_dates=["timestamp"])
machine = machine.rename(columns={"value": "temperature"})
found = find_in_series(machine)
print(found.headline, *found.notes, sep="\n")

# %%
# The oddest events
# -----------------

for i in range(3):
    print(f"{found.explanation.name(i)}: {found.why(i)}.\nIt is {found.how_odd(i)}.\n")
figure = whyodd.plots.events(found.explanation)

# %%
# What the engineers say
# ----------------------
#
# The benchmark has four windows in which something was wrong, according to the engineers.

windows = json.loads(gallery_data.file("nab/combined_windows.json").read_text())[f"realKnownCause/{name}.csv"]
times = machine["timestamp"]
for start, stop in windows:
    inside = times.between(start, stop).to_numpy()
    peak = found.outlierness[inside].max()
    verdict = "found" if found.is_odd[inside].any() else "missed"
    print(f"{start[:16]} to {stop[:16]}: {verdict}, outlierness up to {peak:.1f}")

# %%
# The two largest events are the planned shutdown and the failure at the end. The window in January is missed:
# what happened there is subtle, and stays just below the threshold. But five days before the failure, on 3
# February, there is a third large event that is in no window. Was it a warning? A closer look:

days = machine[times.between("2014-02-02", "2014-02-10")]
odd = days[found.is_odd[days.index]]
figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
ax.plot(days["timestamp"], days["temperature"], color="#0072B2", linewidth=1)
ax.plot(odd["timestamp"], odd["temperature"], ".", color="#D55E00", label="odd")
ax.set(ylabel="temperature")
ax.legend(loc="lower left")

# %%
# **What to do next:** ask the engineers about 3 February. And take the note about the clock seriously: the
# record has one hour twice, and sums and means over that hour are wrong.

plt.show()
