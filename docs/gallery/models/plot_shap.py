"""
shap and whyodd, side by side
=============================

shap explains any model. When the question is "why is this row odd?", does it give other answers than whyodd?
We ask both about the same rows, on two fitted detectors of scikit-learn: a forest, which shap can look into,
and a one-class SVM, which it cannot.
"""

# %%
# Two detectors that know benign tumours
# --------------------------------------

import time

import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.evaluation import rank_correlation

tumours = load_breast_cancer(as_frame=True)
is_benign = tumours.target == 1
scaler = StandardScaler().set_output(transform="pandas").fit(tumours.data[is_benign])
benign, malignant = scaler.transform(tumours.data[is_benign]), scaler.transform(tumours.data[~is_benign])
forest = IsolationForest(random_state=0).fit(benign)
svm = OneClassSVM(nu=0.1, gamma="scale").fit(benign)


def timed(explain, rows):
    """The relevance of each column, and the seconds it took. A first row loads or compiles what is needed."""
    explain(rows[:1])
    started = time.perf_counter()
    relevance = explain(rows)
    return relevance, time.perf_counter() - started


# %%
# A forest: the same numbers
# --------------------------
#
# The score of a forest is the mean length of a row's paths through the trees: the shorter, the odder. shap
# explains the length, whyodd how much shorter it is than the longest. So the signs differ.

trees = shap.TreeExplainer(forest)
by_shap, shap_seconds = timed(lambda rows: -trees.shap_values(rows), malignant)
by_whyodd, seconds = timed(lambda rows: whyodd.explain(forest, rows).relevance, malignant)
print(f"Largest difference between two values: {np.abs(by_shap - by_whyodd).max():.0e}")
print(f"shap takes {shap_seconds / seconds:.0f} times as long for {len(malignant)} tumours.")

# %%
# Both compute exact Shapley values, by different algorithms. whyodd does not add numbers, but what goes with
# them: the values in words, and where the trees cut.

e = whyodd.explain(forest, malignant)
print(e.top(1).why(0, k=2))

# %%
# A support vector machine: thousands of questions, or one formula
# ----------------------------------------------------------------
#
# shap knows nothing about this model. It replaces columns by those of background rows, over and over, and
# fits Shapley values to the answers. whyodd rewrites the model as a network of distances and takes that
# apart. Both explain the outlierness here.

network = whyodd.neuralize(svm)
few = malignant[:40].to_numpy()
sampler = shap.KernelExplainer(network.outlierness, shap.kmeans(benign.to_numpy(), 10))
by_shap, shap_seconds = timed(lambda rows: sampler.shap_values(rows, l1_reg=False, silent=True), few)
by_whyodd, seconds = timed(network.input_relevance, few)
same_first = np.mean(by_shap.argmax(axis=1) == by_whyodd.argmax(axis=1))
agreement = rank_correlation(by_shap, by_whyodd).mean()
print(f"The main reason is the same for {same_first:.0%} of {len(few)} tumours.")
print(f"Mean rank correlation of all 30 columns: {agreement:.2f}")
print(f"shap takes {shap_seconds / seconds:,.0f} times as long.")

# %%
# The two agree on what matters most and differ in the details, because they ask different questions. shap
# compares with ten typical rows, whichever tumour it explains. whyodd compares each tumour with the known
# rows that are most like it.

o = network.outlierness(few)[:, None]
first = (np.arange(len(few)), by_whyodd.argmax(axis=1))
figure, ax = plt.subplots(figsize=(5.6, 5.2), layout="constrained")
ax.axline((0, 0), slope=1, color="0.8", zorder=0)
ax.scatter(by_whyodd / o, by_shap / o, s=9, color="0.65", label="other columns")
ax.scatter((by_whyodd / o)[first], (by_shap / o)[first], s=26, color="#D55E00", label="main reason by whyodd")
ax.set(xlabel="share of the outlierness, whyodd", ylabel="share of the outlierness, shap")
for axis in (ax.xaxis, ax.yaxis):
    axis.set_major_formatter("{x:.0%}")
ax.legend(loc="lower right")

# %%
# **What to do next:** use shap for classifiers and regressors. For a detector of odd rows start with
# ``whyodd.explain``, and hand the result to shap's plots if you like them: ``e.to_shap()``.

plt.show()
