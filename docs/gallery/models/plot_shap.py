"""
Side by side with shap
======================

shap explains any model. For kernel models whyodd knows a shorter way. Do both come to the same reasons, and
what does each cost? We ask both about the same tumours and the same one-class SVM.
"""

# %%
# The model
# ---------

import time

import matplotlib.pyplot as plt
import numpy as np
import shap
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import whyodd

tumours = load_breast_cancer(as_frame=True)
benign, malignant = (tumours.data[tumours.target == target] for target in (1, 0))
model = make_pipeline(StandardScaler(), OneClassSVM(nu=0.1, gamma="scale")).fit(benign)
patients = malignant[:10]
whyodd.explain(model, patients)  # compiles once

# %%
# Both explain ten tumours
# ------------------------
#
# shap needs background rows, and asks the model thousands of times. whyodd needs neither. To explain the same
# score, shap gets whyodd's outlierness as its function.

start = time.perf_counter()
e = whyodd.explain(model, patients)
ours = time.perf_counter() - start

network, prepare = e.network, model[:-1]
background = shap.sample(benign, 30, random_state=0)
np.random.seed(0)  # noqa: NPY002  # shap draws from there
explainer = shap.PermutationExplainer(
    lambda X: network.outlierness(prepare.transform(X)), background.to_numpy()
)
start = time.perf_counter()
theirs = explainer(patients.to_numpy(), max_evals=610, silent=True)
seconds = time.perf_counter() - start
print(f"shap took {seconds / ours:.0f} times as long as whyodd.")

# %%
# Do they agree?
# --------------

agreement = [spearmanr(a, b).statistic for a, b in zip(e.relevance, theirs.values, strict=True)]
print(f"rank correlation of the columns, on average: {np.mean(agreement):.2f}")
tumour = int(np.argmax(e.outlierness))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, values, name in ((left, e.relevance[tumour], "whyodd"), (right, theirs.values[tumour], "shap")):
    order = np.argsort(values)[-8:]
    ax.barh([tumours.feature_names[c] for c in order], values[order], color="#0072B2")
    ax.set(title=name, xlabel="part of the outlierness")

# %%
# The words
# ---------
#
# A shap value is a number. whyodd also tells the value and what would be expected instead.

print(f"{e.why(tumour, k=2)}.")

# %%
# Use both
# --------
#
# ``to_shap`` hands an explanation to the plots of shap.

shap.plots.bar(e.to_shap()[tumour], max_display=8, show=False)
plt.gcf().set_size_inches(8, 4)
plt.tight_layout()

# %%
# **What to do next:** use shap for classifiers and regressors, which whyodd does not explain. Use whyodd for
# what is odd.

plt.show()
