"""
Explain a score that you cannot look into
=========================================

A scoring function is a black box: rows go in, numbers come out. whyodd can explain it anyway, from its
answers alone. It also says how far to trust the explanation.
"""

# %%
# A black box
# -----------
#
# For us it is a function. Inside is something whyodd has no formula for: the disagreement of a few hundred
# trees that were taught to distinguish real wines from shuffled ones.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd

wines = load_wine(as_frame=True).data
rng = np.random.default_rng(0)
shuffled = wines.apply(lambda column: rng.permutation(column.to_numpy()))
rows = np.concatenate([wines.to_numpy(), shuffled.to_numpy()])
forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0).fit(
    rows, np.arange(len(rows)) >= len(wines)
)


def black_box(X):
    """How much a row looks like a shuffled wine, 0 to 1."""
    return forest.predict_proba(np.asarray(X))[:, 1]


# %%
# Explain it by its answers
# -------------------------
#
# ``normal`` says what is normal. whyodd asks the function about many rows in between, and teaches a student
# that it can take apart. The fidelity says how well the student knows the function.

odd = wines.iloc[[121]].assign(flavanoids=0.5)
e = whyodd.explain(black_box, odd, normal=wines, random_state=0)
print(f"The black box says {black_box(odd)[0]:.2f}; a usual wine has {np.median(black_box(wines)):.2f}.")
print(f"{e.why(0, k=2)}.")
print(
    "exactness:",
    e.exactness,
    "| fidelity:",
    {name: round(value, 2) for name, value in (e.fidelity or {}).items()},
)
ax = whyodd.plots.bars(e, 0, k=6)

# %%
# A model of your own in units that people understand
# ---------------------------------------------------
#
# With models that whyodd knows, ``normal=`` does something else: it calibrates. The plain score of a
# one-class SVM means nothing by itself. After dividing by what is usual, an outlierness of 3 means three
# times as odd as a usual row.

mixed = wines.sample(frac=1, random_state=0)
known, normal, others = mixed[:90], mixed[90:130], mixed[130:]
model = make_pipeline(StandardScaler(), whyodd.OneClassSVM(nu=0.2)).fit(known)
plain = whyodd.explain(model, others)
calibrated = whyodd.explain(model, others, normal=normal)
before, after = (np.median(explanation.outlierness) for explanation in (plain, calibrated))
print(f"The median wine has {before:.2f} before and {after:.2f} after.")
figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, explanation, name in zip(
    axes, (plain, calibrated), ("plain score", "times as odd as usual"), strict=True
):
    ax.hist(explanation.outlierness, bins=20, color="#0072B2")
    ax.set(xlabel=name, ylabel="wines")

# %%
# **What to do next:** if the fidelity is low, believe the reasons less, and give the explanation a larger
# budget: ``options={"budget": 20_000}``.

plt.show()
