"""
Why did the isolation forest flag this car?
===========================================

An isolation forest is fast and popular, but gives no reasons. Here it stands at the end of a scikit-learn
pipeline, behind an imputer, a scaler and an encoder of words. whyodd explains the whole pipeline in the
columns of the table.
"""

# %%
# A pipeline as in any project
# ----------------------------

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from vega_datasets import local_data

import whyodd

cars = pd.read_json(local_data.cars.filepath)
names = cars.pop("Name")
cars["Year"] = pd.to_datetime(cars["Year"]).dt.year
numbers = [column for column in cars if column != "Origin"]
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
    (OneHotEncoder(), ["Origin"]),
)
model = make_pipeline(columns, IsolationForest(contamination=0.02, random_state=0)).fit(cars)

# %%
# The reasons
# -----------
#
# The relevance of a column is its Shapley value: what it takes off the path of the row through the trees. It
# is exact, not sampled.

e = whyodd.explain(model, cars)
print("exactness:", e.exactness)
for one in e.top(3):
    print(f"\n{names[one.rows[0]]}: {one.why(0, k=2)}.")
ax = whyodd.plots.waterfall(e.top(1), k=6)

# %%
# The sentences say where the trees cut: beyond which value the car is alone. They also say something about
# the *pipeline*: one of the main reasons is the origin. Most cars are American, and the encoder turns that
# into three columns, which the trees cut again and again. Did we want that?
#
# All cars at a glance
# --------------------
#
# Which columns does the forest look at? Each dot is a car.

ax = whyodd.plots.beeswarm(e, k=7)

# %%
# Compare with what whyodd finds by itself in :ref:`sphx_glr_auto_gallery_tables_plot_cars.py`. The forest
# looks at one column after the other, and so it likes extreme values. Where is the wagon whose *combination*
# of weight and engine is impossible?

rank = (e.outlierness > e.outlierness[names == "buick estate wagon (sw)"][0]).sum() + 1
print(f"The forest ranks it {rank} of {len(cars)}.")

# %%
# **What to do next:** if the reasons of your detector do not convince you, try another detector. The
# explanation shows what the model looks at, not what it should look at.

plt.show()
