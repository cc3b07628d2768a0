"""
54,540 bytes: a table in parts on a cluster
===========================================

Suppose a table is too large for one machine: logs of a web server, one file for each part of the day. We let
a Dask cluster learn from all files and judge every row where it is stored. The cluster here has two workers
on one computer. Nobody tells it which connections are attacks.
"""

# %%
# Files and workers
# -----------------
#
# The connections are those of the KDD Cup 1999 to web servers. For each there are three numbers: how long it
# took, and how many bytes went in and out. ``SubprocessCluster`` starts workers on this computer; for your
# own cluster pass the address of its scheduler to ``Client``.

import tempfile
from pathlib import Path

import dask.dataframe as dd
import gallery_data
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from dask.distributed import Client, SubprocessCluster
from sklearn.metrics import roc_auc_score

import whyodd.dask

archive = np.load(gallery_data.file("adbench/16_http.npz"))
# The archive holds logarithms, taken after 0.1 was added. Every sixth row is enough for this story.
numbers = np.exp(archive["X"][::6]) - 0.1
is_attack = archive["y"][::6] == 1
table = pd.DataFrame(numbers.round(), columns=["seconds", "bytes_in", "bytes_out"])
folder = Path(tempfile.mkdtemp())
for part, rows in enumerate(np.array_split(np.arange(len(table)), 8)):
    table.iloc[rows].to_parquet(folder / f"part-{part}.parquet")
print(f"{len(table):,} connections in 8 files. {is_attack.sum()} of them are attacks.")

# %%
# Learn and judge on the workers
# ------------------------------
#
# Each worker reads a file and sends back a short summary: a sample of its rows, and statistics of its
# columns. The model is learned from the merged summaries. Then it is sent to the workers, which judge the
# rows of each file and explain them.

workers = {"worker_class": "distributed.Worker", "worker_kwargs": {"nthreads": 1}}
with SubprocessCluster(n_workers=2, **workers) as cluster, Client(cluster) as client:
    frame = dd.read_parquet(folder)
    model = whyodd.dask.fit(frame)
    found = whyodd.dask.explain(model, frame, top=1).compute()

print(f"ROC AUC, attacks against all others: {roc_auc_score(is_attack, found['outlierness']):.4f}")

# %%
# One number gives them away
# --------------------------
#
# We take the oddest hundredth of the connections and count their main reasons, with the value.

oddest = found["outlierness"].nlargest(len(table) // 100).index
main = found.loc[oddest, "reasons"].map(lambda reasons: f"{reasons[0]['name']} = {reasons[0]['value']}")
print(main.value_counts().head(4).to_string())

# %%
# The first line stands out: hundreds of odd connections have the very same reason. Each sent exactly 54,540
# bytes to the server. That is the attack called *back*: always the same request, full of slashes, on which an
# old Apache server spends its time. The other odd ones are mostly large files, which people do fetch.

knot = oddest[main == "bytes_in = 54540"]
figure, ax = plt.subplots(layout="constrained")
for rows, size, color, label in (
    (table.index, 3, "0.75", "all connections"),
    (oddest.difference(knot), 8, "#0072B2", "odd for other reasons"),
    (knot, 26, "#D55E00", "odd, with 54,540 bytes in"),
):
    shown = table.loc[rows] + 1
    ax.scatter(shown["bytes_in"], shown["bytes_out"], s=size, color=color, label=label)
ax.set(xscale="log", yscale="log", xlabel="bytes in + 1", ylabel="bytes out + 1")
ax.legend(loc="upper left")
attacks = is_attack[table.index.get_indexer(knot)]
print(f"{len(knot)} of the oddest connections sent 54,540 bytes; {attacks.sum()} of these are attacks.")

# %%
# **What to do next:** write the reasons to files instead of collecting them:
# ``whyodd.dask.explain(model, frame).to_parquet("reasons/")``. Then group by the main reason, as here: odd
# rows that share a value are often one cause.

plt.show()
