"""
One heartbeat among fifty
=========================

A record of blood pressure has thousands of values, and in one place something happens that lasts for about a
hundredth of the record. The authors of this benchmark know where. Does whyodd find the place, and what does
it say about it?
"""

# %%
# The record
# ----------
#
# It is one of the "InternalBleeding" series of the UCR anomaly archive. The name of the file says where
# normal data end, and where the anomaly is.

import gallery_data
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import whyodd
from whyodd.findings.series import find_in_series

path = gallery_data.file("ucr_anomaly/136_UCR_Anomaly_InternalBleeding17_1600_3198_3309.txt.gz")
end, start, stop = (int(part) for part in path.name.split(".")[0].split("_")[-3:])
record = pd.DataFrame({"pressure": np.loadtxt(path)})
known, new = record[:end], record[end : end + 3000].reset_index(drop=True)

# %%
# Find the place
# --------------

found = find_in_series(new, known)
print(found.headline)
event = found.explanation.events[0]
print(f"{found.explanation.name(0)}: {found.why(0)}.")
print(f"The archive says: steps {start - end} to {stop - end}.")
figure = whyodd.plots.events(found.explanation)

# %%
# A closer look
# -------------
#
# The odd stretch in orange, and around it the beats as they should be.

around = slice(max(event.start - 300, 0), event.stop + 300)
figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
ax.plot(new["pressure"][around], color="#0072B2", linewidth=1.2)
ax.plot(new["pressure"][event.start : event.stop], color="#D55E00", linewidth=2, label="odd")
ax.set(xlabel="step", ylabel="pressure")
ax.legend()

# %%
# **What to do next:** nothing here was tuned to heartbeats: windows of 8, 32 and 128 steps are compared with
# normal ones. Try it on your own record, with as much normal data in front of it as you have.

plt.show()
