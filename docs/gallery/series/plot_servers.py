"""
Which of 38 metrics explain an incident?
========================================

A server reports 38 metrics every minute. When something goes wrong, the person on duty wants to know two
things: when did it start, and where should I look? Experts have answered both for this server. We compare.
"""

# %%
# Two days of a server
# --------------------
#
# The data are from the Server Machine Dataset. The names of the metrics were not published, so they are
# numbered. We learn from 2,000 quiet minutes and judge two days.

import gallery_data
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import whyodd
from whyodd.findings.series import find_in_series

FIRST, LAST = 5700, 8700
with np.load(gallery_data.file("smd/machine-1-7.npz")) as server:
    quiet, judged = server["train"][-2000:], server["test"][FIRST:LAST]
    incidents, blamed = server["segments"] - FIRST, server["segment_dims"].astype(bool)

names = [f"metric {number}" for number in range(quiet.shape[1])]
quiet, judged = (pd.DataFrame(steps.astype(float), columns=names) for steps in (quiet, judged))
found = find_in_series(judged, quiet)
print(found.headline)

# %%
# The oddest events
# -----------------

is_here = (incidents[:, 0] >= 0) & (incidents[:, 1] <= len(judged))
for i, event in enumerate(found.explanation.events[:4]):
    known = [
        which
        for which in np.flatnonzero(is_here)
        if event.start < incidents[which, 1] and event.stop > incidents[which, 0]
    ]
    verdict = "a known incident" if known else "not known to the experts"
    print(f"{found.explanation.name(i)} ({verdict}): {found.why(i, k=2)}.\n")
figure = whyodd.plots.events(found.explanation, top=4)

# %%
# Where to look
# -------------
#
# For each incident of the experts, metrics are ranked by their relevance. If the experts blame k metrics, how
# many of these are among the first k?

relevance = found.to_frame()[names].to_numpy()
for start, stop, causes in zip(*incidents[is_here].T, blamed[is_here], strict=True):
    ranking = np.argsort(-relevance[start:stop].max(axis=0))
    hits, chance = causes[ranking[: causes.sum()]].sum(), causes.sum() * causes.mean()
    print(f"steps {start} to {stop}: {hits} of {causes.sum()} metrics (by chance {chance:.1f})")

# %%
# The largest incident, as the experts and whyodd see it. Dark cells have much relevance. Orange names are the
# metrics that the experts blame.

which = np.flatnonzero(is_here)[0]
start, stop = incidents[which]
around = slice(max(start - 30, 0), stop + 30)
order = np.argsort(-relevance[start:stop].max(axis=0))[:15]
figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
shown = np.log10(1 + relevance[around, :][:, order].T)
picture = ax.imshow(
    shown, aspect="auto", cmap="Greys", extent=(around.start, around.stop, len(order) - 0.5, -0.5)
)
ax.axvline(start, color="#D55E00", linestyle="--")
ax.axvline(stop, color="#D55E00", linestyle="--")
ax.set_yticks(range(len(order)), labels=[names[c] for c in order])
for label, c in zip(ax.get_yticklabels(), order, strict=True):
    label.set_color("#D55E00" if blamed[which, c] else "black")
ax.set(xlabel="minute; the incident is between the lines")
figure.colorbar(picture, label="relevance, log10(1 + R)")

# %%
# We chose this machine and these days because several incidents fall into them, and the oddest events match.
# On other machines that we tried, fewer of the oddest events were known incidents.
#
# **What to do next:** on the command line, ``whyodd series quiet.csv today.csv --report today.html`` writes
# all of this on one page for the person on duty.

plt.show()
