"""
Attacks on a network that nobody had seen before
================================================

A detector that has learned known attacks finds known attacks. whyodd learns *normal* connections only. We
then let it judge connections, some of which are new kinds of attacks, and read its reasons as an operator
would.
"""

# %%
# Learn normal connections
# ------------------------
#
# NSL-KDD describes each connection by 41 columns: numbers, counts, rates and words such as ``tcp`` or
# ``http``.

import gallery_data
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.metrics import roc_auc_score

import whyodd

train = pd.read_csv(gallery_data.file("nsl_kdd/train_20percent.csv.gz"))
test = pd.read_csv(gallery_data.file("nsl_kdd/test.csv.gz")).sample(2000, random_state=0, ignore_index=True)
attack = test["attack"]
is_new = ~attack.isin(train["attack"])
print(f"{(attack != 'normal').sum()} of {len(test)} connections are attacks, {is_new.sum()} of new kinds.")

labels = ["attack", "difficulty"]
normal = train[train["attack"] == "normal"].drop(columns=labels)
model = whyodd.auto(normal, trusted=True)

# %%
# Judge the others
# ----------------

found = whyodd.find(test.drop(columns=labels), model=model)
print(found.headline)
print(f"ROC AUC, attacks against normal: {roc_auc_score(attack != 'normal', found.outlierness):.3f}")
print(attack[found.is_odd].value_counts().to_string())

# %%
# The threshold is careful: nearly all connections above it are attacks, though most attacks stay below. To
# catch more, allow more false alarms.

for rate in (0.01, 0.02, 0.05):
    is_odd = found.p_value <= rate
    caught, false = is_odd[attack != "normal"].mean(), is_odd[attack == "normal"].mean()
    print(
        f"{rate:.0%} false alarms allowed: {caught:.0%} of the attacks, {false:.1%} of the normal connections"
    )

# %%
# Reasons
# -------

shown = ["warezmaster", "apache2", "processtable"]
for kind in shown:
    first = found.order[(attack[found.order] == kind).to_numpy()][:1]
    print(f"{kind}: {found.explain(first).why(0, k=2)}.\n")

# %%
# They fit what is known of these attacks. ``warezmaster`` moves files on a server, so many bytes go out.
# ``apache2`` and ``processtable`` keep a server busy with connections that stay open for long. On the map,
# connections with similar reasons are close together.

ax = whyodd.plots.reasons_map(found.odd)

# %%
# **What to do next:** the groups on the map are incidents rather than connections. Look at one connection of
# each group first, and block what they share.

plt.show()
