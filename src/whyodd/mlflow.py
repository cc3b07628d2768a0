"""Models in MLflow: logged in whyodd's own safe format, scored and explained by ``mlflow.pyfunc``.

The flavour follows MLflow's convention: :func:`save_model`, :func:`log_model`, :func:`load_model`. For each
row ``mlflow.pyfunc.load_model(uri).predict(frame)`` gives these columns, and ``mlflow.pyfunc.spark_udf`` a
struct of them:

- ``outlierness``: how odd the row is;
- ``p_value``: how rare that is among normal rows, NaN if the model does not know;
- ``is_odd``: whether it is above the model's threshold, null if it has none;
- ``unexplained``: the part of the outlierness that belongs to no variable;
- ``reason_1``, ``share_1``, ``value_1``, ``expected_1``: the variable that counts most, its share of the
  outlierness, and as texts its value and what is usual for rows like it; then ``reason_2`` and so on. Where
  there are fewer reasons, texts are empty and shares 0.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn

from whyodd.io.saving import load, save
from whyodd.scale.batches import BatchExplainer
from whyodd.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

FLAVOR_NAME = "whyodd"
# Folder in which MLflow puts its content.
_FILE, _FOLDER = "model.whyodd", "data"
_SCORES = {"outlierness": "double", "p_value": "double", "is_odd": "boolean", "unexplained": "double"}
# Columns for each reason: their types, and what they are called in an Arrow batch.
_OF_REASON = {
    "reason": ("string", "name"),
    "share": ("double", "share"),
    "value": ("string", "value"),
    "expected": ("string", "expected"),
}


def save_model(
    model: Any,
    path: str | Path,
    *,
    top: int = 3,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    extra_pip_requirements: Sequence[str] | None = None,
    **options: Any,
) -> None:
    """Save a fitted model as an MLflow model in a folder.

    Parameters
    ----------
    model : fitted model or pipeline
        What :func:`whyodd.explain` takes for tables and :func:`whyodd.save` can save.
    path : str or path
        Folder to write, new or empty.
    top : int, default 3
        How many reasons are given for each row.
    mlflow_model : mlflow.models.Model, optional
        What the flavour is added to; for MLflow itself.
    signature : mlflow.models.ModelSignature, optional
        Columns in and out. By default those of ``input_example``, with their types; without one those of
        training, of any type.
    input_example : pandas data frame, optional
        A few rows like those to score, stored beside the model.
    extra_pip_requirements : sequence of str, optional
        What scoring needs besides whyodd and scikit-learn, which are required in their current versions.
    **options
        Those of ``mlflow.pyfunc.save_model``, such as ``metadata``, or ``pip_requirements`` to replace the
        default.
    """
    mlflow = _mlflow()
    explainer = _RowExplainer(model, top)  # refuses a model that cannot be explained, before any writing
    described = mlflow.models.Model() if mlflow_model is None else mlflow_model
    described.add_flavor(FLAVOR_NAME, whyodd_version=__version__, data=f"{_FOLDER}/{_FILE}")
    if {"pip_requirements", "conda_env"} & options.keys():
        options["extra_pip_requirements"] = extra_pip_requirements
    else:
        options["pip_requirements"] = [*get_default_pip_requirements(), *(extra_pip_requirements or ())]
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / _FILE
        save(model, stored)
        mlflow.pyfunc.save_model(
            str(path),
            loader_module=__name__,
            data_path=str(stored),
            mlflow_model=described,
            signature=signature or explainer.signature(input_example),
            input_example=input_example,
            model_config={"top": top},
            **options,
        )


def log_model(model: Any, name: str = "model", **options: Any) -> Any:
    """Log a fitted model as an artifact of the active run, or of a new one.

    Parameters
    ----------
    model : fitted model or pipeline
    name : str, default "model"
        Name of the artifact.
    **options
        Those of :func:`save_model`, such as ``top`` and ``input_example``, and those of
        ``mlflow.models.Model.log``, such as ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` is what :func:`load_model`, ``mlflow.pyfunc.load_model`` and
        ``mlflow.pyfunc.spark_udf`` take.
    """
    flavor = sys.modules[__name__]
    return _mlflow().models.Model.log(artifact_path=None, name=name, flavor=flavor, model=model, **options)


def load_model(model_uri: str) -> Any:
    """Load a logged or saved model as fitted, for :func:`whyodd.explain`; none of its code is executed.

    Parameters
    ----------
    model_uri : str
        Such as ``runs:/<run>/model``, ``models:/<name>/<version>`` or a folder.
    """
    mlflow = _mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    flavors = mlflow.models.Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise ValueError(
            f"{model_uri} was not logged by whyodd.mlflow, but as {', '.join(map(repr, flavors))}: load it "
            "with the flavour that logged it."
        )
    return load(folder / flavors[FLAVOR_NAME]["data"])


def get_default_pip_requirements() -> list[str]:
    """The packages that an environment needs to score a model like the present one."""
    return [f"whyodd[mlflow]=={__version__}", f"scikit-learn=={sklearn.__version__}"]


def _load_pyfunc(path: str, model_config: dict[str, Any]) -> _RowExplainer:
    """Entry point of ``mlflow.pyfunc.load_model``, with the path of the stored file."""
    return _RowExplainer(load(path), model_config["top"])


class _RowExplainer:
    """The object that ``mlflow.pyfunc`` calls to score rows."""

    def __init__(self, model: Any, top: int) -> None:
        self.explainer = BatchExplainer(model, top=top)

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Data frame with a line for each row."""
        import pandas as pd

        del params  # there are none
        frame = model_input
        if not isinstance(frame, pd.DataFrame):  # an array, of columns in the order of training
            values = np.asarray(model_input)
            frame = pd.DataFrame(values, columns=self._columns() or [f"x{i}" for i in range(values.shape[1])])
        explained = self.explainer(frame.reset_index(drop=True))
        scores = {name: explained[name].to_pandas() for name in _SCORES}
        told = pd.DataFrame(scores | _reason_columns(explained["reasons"], self.explainer.top))
        return told.set_axis(frame.index)

    def signature(self, example: Any = None) -> Any:
        """Columns in and out, for MLflow."""
        mlflow = _mlflow()
        kinds = mlflow.types.schema
        out = list(_SCORES.items())
        for rank in range(1, self.explainer.top + 1):
            out += [(f"{name}_{rank}", kind) for name, (kind, _) in _OF_REASON.items()]
        columns = self._columns()
        if example is not None:
            inputs = mlflow.models.infer_signature(example).inputs
        elif columns is not None:
            inputs = kinds.Schema([kinds.ColSpec(kinds.AnyType(), name) for name in columns])
        else:
            inputs = None
        outputs = kinds.Schema([kinds.ColSpec(kind, name) for name, kind in out])
        return mlflow.models.ModelSignature(inputs, outputs)

    def _columns(self) -> list[str] | None:
        """Raw columns that the model was fitted on, if it knows their names."""
        names = getattr(self.explainer.model, "feature_names_in_", None)
        return None if names is None else list(map(str, names))


def _reason_columns(reasons: Any, top: int) -> dict[str, Any]:
    """Columns of the first reason, of the second, ... of an Arrow array of lists of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    starts, counts = reasons.offsets.to_numpy()[:-1], np.diff(reasons.offsets.to_numpy())
    columns = {}
    for rank in range(top):
        # Not null for a missing reason, which Spark would turn into the text "None".
        ranked = reasons.values.take(pa.array(starts + rank, mask=counts <= rank))
        for name, (kind, field) in _OF_REASON.items():
            told = pc.fill_null(pc.struct_field(ranked, field), "" if kind == "string" else 0.0)
            columns[f"{name}_{rank + 1}"] = told.to_pandas()
    return columns


def _mlflow() -> Any:
    try:
        import mlflow
        import mlflow.artifacts
        import mlflow.models
        import mlflow.pyfunc
        import mlflow.types.schema
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"whyodd.mlflow needs MLflow ({error}). Run: pip install 'whyodd[mlflow]'"
        ) from error
    return mlflow
