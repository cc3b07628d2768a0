"""Files of earlier releases load, with the same numbers."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import whyodd
from unit.io.saved_files import NUMBERS, numbers
from whyodd.io.saved_names import FORMAT_1

# The release that made them may have had another scikit-learn.
pytestmark = pytest.mark.filterwarnings("ignore:.* was written with scikit-learn:UserWarning")
FOLDERS = sorted(Path(__file__).parent.glob("saved_by_*"))
FILES = [file for folder in FOLDERS for file in sorted(folder.glob("*.whyodd.gz"))]
# On the list of 0.1.0, but no part of anything it saved.
NEVER_SAVED = {"whyodd.texts.tokens.Tokenizer"}


def unpacked(file, folder):
    path = folder / file.name.removesuffix(".gz")
    path.write_bytes(gzip.decompress(file.read_bytes()))
    return path


# Local contrast is in single precision, whose last bit is 1.2e-7: machines with wider vectors add in another
# order.
SINGLE_PRECISION = {"patches-images": 1e-6}


def names_in(node):
    """Names of whyodd's own types in a schema."""
    if isinstance(node, dict):
        if str(node.get("__module__")).startswith("whyodd"):
            name = f"{node['__module__']}.{node['__class__']}"
            yield f"{name}.{node['content']['func']}" if node["__loader__"] == "MethodNode" else name
        node = list(node.values())
    for part in node if isinstance(node, list) else []:
        yield from names_in(part)


def schema_of(path):
    with zipfile.ZipFile(path) as parts:
        return json.loads(parts.read("schema.json"))


def check_numbers(name, thing, known):
    found = numbers(name, thing)
    assert found.keys() == known.keys()
    for part, values in known.items():
        for one, other in zip(np.atleast_1d(found[part]).tolist(), values, strict=True):
            # What matrix products on another machine may change; on the same one they are equal.
            rounding = SINGLE_PRECISION.get(name, 1e-9)
            np.testing.assert_allclose(one, other, rtol=rounding, atol=rounding * np.abs(other).max())


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name} {file.name}")
def test_earlier_files_give_the_same_numbers(file, tmp_path):
    name = file.name.removesuffix(".whyodd.gz")
    known = json.loads((file.parent / NUMBERS).read_text())[name]
    loaded = whyodd.load(unpacked(file, tmp_path))
    check_numbers(name, loaded, known)
    if isinstance(loaded, BaseEstimator):
        clone(loaded)  # reads every parameter, also those that were added since
    whyodd.save(loaded, tmp_path / "again")
    check_numbers(name, whyodd.load(tmp_path / "again"), known)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_all_numbers_have_a_file(folder):
    known = json.loads((folder / NUMBERS).read_text())
    assert {f"{name}.whyodd.gz" for name in known} == {file.name for file in FILES if file.parent == folder}


def test_files_of_0_1_0_hold_every_type_that_it_could_save(tmp_path):
    files = [file for file in FILES if file.parent.name == "saved_by_0_1_0"]
    found = {name for file in files for name in names_in(schema_of(unpacked(file, tmp_path)))}
    assert found == FORMAT_1.keys() - NEVER_SAVED


# ---- names and fields of other versions -------------------------------------------------------------------


def rewritten(path, change, **about):
    with zipfile.ZipFile(path) as parts:
        content = {name: parts.read(name) for name in parts.namelist()}
    content["schema.json"] = json.dumps(change(json.loads(content["schema.json"]))).encode()
    content["whyodd.json"] = json.dumps(json.loads(content["whyodd.json"]) | about).encode()
    with zipfile.ZipFile(path, "w") as parts:
        for name, data in content.items():
            parts.writestr(name, data)


@pytest.mark.parametrize("written_in", [1, True])
def test_names_of_one_format_are_none_of_another(written_in, tmp_path):
    path = tmp_path / "model.whyodd"
    whyodd.save(whyodd.Gaussian(), path)
    rewritten(path, lambda schema: schema, format=written_in)
    with pytest.raises(ValueError, match=r"contains whyodd\.Gaussian, which whyodd refuses to load"):
        whyodd.load(path)


@pytest.mark.parametrize("written_in", [0, -1])
def test_formats_that_never_were(written_in, tmp_path):
    path = tmp_path / "model.whyodd"
    whyodd.save(whyodd.Gaussian(), path)
    rewritten(path, lambda schema: schema, format=written_in)
    with pytest.raises(ValueError, match="is damaged and cannot be loaded"):
        whyodd.load(path)


def without(*fields):
    """A file by a version that did not know some fields yet."""

    def change(schema):
        for name in fields:
            del schema["content"]["content"][name]
        kept = schema["content"]["key_types"]["content"]
        schema["content"]["key_types"]["content"] = kept[: len(kept) - len(fields)]
        return schema

    return change


def test_fields_of_an_explanation_that_came_later_have_their_defaults(tmp_path):
    path = tmp_path / "explanation.whyodd"
    model = whyodd.Gaussian().fit([[0.0, 0.0], [0.1, 0.2], [0.2, 0.1], [0.1, 0.1]])
    explanation = whyodd.explain(model, [[1.0, 2.0]], method="sensitivity")
    whyodd.save(explanation, path)
    rewritten(path, without("method", "threshold"))
    loaded = whyodd.load(path)
    assert (loaded.method, loaded.threshold) == ("dtd", None)
    assert loaded.relevance.tobytes() == explanation.relevance.tobytes()


def test_parameters_of_a_model_that_came_later_have_their_defaults(tmp_path):
    path = tmp_path / "model.whyodd"
    whyodd.save(whyodd.OneClassSVM(nu=0.25, a=3.0, warm_start=True), path)
    rewritten(path, without("a", "warm_start"))
    assert repr(whyodd.load(path)) == "OneClassSVM(nu=0.25)"
