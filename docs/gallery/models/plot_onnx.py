"""
Reasons on a machine without Python
===================================

The model was made in a notebook, but it must run in a factory: in C++, without whyodd. An ONNX file can hold
the score *and* the reasons. We export a model, run it with onnxruntime, and check that both agree.
"""

# %%
# Train and export
# ----------------

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd

wines = load_wine(as_frame=True).data
model = make_pipeline(StandardScaler(), whyodd.OneClassSVM(nu=0.2)).fit(wines)
file = Path(tempfile.mkdtemp()) / "wine.onnx"
whyodd.onnx.export(model, file)
print(f"{file.stat().st_size / 1000:.0f} kB")

# %%
# Run it elsewhere
# ----------------
#
# From here on nothing needs whyodd. Somebody has typed 300 in place of 100.

session = onnxruntime.InferenceSession(file)
columns = json.loads(session.get_modelmeta().custom_metadata_map["columns"])
typo = wines.iloc[[0]].assign(magnesium=300.0)
inputs = {"X": typo.to_numpy(dtype=np.float32)}
outlierness, relevance, is_odd = session.run(["outlierness", "relevance", "is_odd"], inputs)
first = int(np.argmax(relevance[0]))
share = relevance[0, first] / outlierness[0]
print(f"odd: {bool(is_odd[0])}; first reason: {columns[first]}, {share:.0%} of the outlierness")

# %%
# Is it the same?
# ---------------
#
# All wines, once by whyodd and once by the file:

e = whyodd.explain(model, wines, exclude_self=False)
exported = session.run(["relevance"], {"X": wines.to_numpy(dtype=np.float32)})[0]
deviation = np.abs(exported - e.relevance).max() / np.abs(e.relevance).max()
print(f"largest deviation: {deviation:.0e} of the largest relevance")
print(f"whyodd says: {whyodd.explain(model, typo).why(0, k=1)}.")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(1.3, 1), layout="constrained")
order = np.argsort(relevance[0])[-6:]
left.barh([columns[c] for c in order], relevance[0, order], color="#0072B2")
left.set(xlabel="relevance, by the ONNX file", title="the mistyped wine")
right.plot(e.relevance.ravel(), exported.ravel(), ".", color="#0072B2", markersize=3)
right.set(xlabel="relevance by whyodd", ylabel="by the ONNX file", title="all wines, all columns")

# %%
# **What to do next:** see the guide on production for what can be exported. Committees and forests cannot;
# for these there are MLflow, Dask and Spark.

plt.show()
