"""Models and explanations in files that never execute code."""

from __future__ import annotations

import json
import warnings
import zlib
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
import sklearn
from sklearn.exceptions import InconsistentVersionWarning

from whyodd.io.atomic import replacing
from whyodd.io.saved_comparison import difference
from whyodd.io.saved_estimators import check_estimators
from whyodd.io.saved_parts import TooLarge, archive, as_part, check_parts, check_sizes, plain, write_part
from whyodd.io.saved_types import (
    FORMAT,
    SEARCH_TREES,
    SPLINES,
    Refused,
    full_name,
    give_lasting_name,
    known_nodes,
    named_types,
    put_in_place,
)
from whyodd.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

_ABOUT, _SCHEMA = "whyodd.json", "schema.json"
# Where the arguments of their constructors are in the state of search trees (rows, leaf size, distance,
# weights) and of splines (knots, coefficients, degree, what is outside of the knots).
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(SEARCH_TREES, (0, 4, 11, 12)),
    **dict.fromkeys(SPLINES, ("t", "_t", "c", "_c", "k", "extrapolate")),
}
_TUPLE = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
# Errors of skops for objects that it does not know.
_UNSTORABLE = (AttributeError, RecursionError, TypeError, ValueError)
# Errors of reading a file that was tampered with.
_DAMAGE = (
    *(ArithmeticError, AttributeError, BadZipFile, EOFError, ImportError, LookupError, MemoryError),
    *(OSError, RuntimeError, TypeError, ValueError, zlib.error),
)


def save(model: Any, path: str | Path) -> None:
    """Save a model, a pipeline that ends in one, a network or an explanation; :func:`load` reads it.

    The file holds names of types of whyodd and scikit-learn, arrays and numbers: no code, and no pickle. It
    appears complete or not at all, and only after it was loaded and found to be the same: a process that is
    killed while it saves leaves an old file as it was, and may leave a hidden file
    ``.<process>.<...>.<name>`` beside it, which nothing reads and you may delete.

    Parameters
    ----------
    model : object
        A model of whyodd, a detector of scikit-learn that can be explained, or an ``IsolationForest``; a
        ``Pipeline`` of steps that :func:`whyodd.explain` traces back to columns, including that of
        :func:`whyodd.auto`; what :func:`whyodd.neuralize` or :func:`whyodd.explain` returns.
    path : str or path
        File to write; an existing one is replaced.

    Raises
    ------
    ValueError
        If a part cannot be saved, such as a function of your own, or cannot be read back.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib, whyodd
    >>> model = whyodd.Gaussian().fit([[0.0, 0.0], [0.1, 0.2], [0.2, 0.1], [0.1, 0.1]])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.whyodd"
    >>> whyodd.save(model, file)
    >>> bool((whyodd.load(file).outlierness([[1.0, 2.0]]) == model.outlierness([[1.0, 2.0]])).all())
    True
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, expected the name of a file to write.")
    with replacing(path) as draft:
        _write(model, draft)
        _check_written(model, draft)


def load(path: str | Path) -> Any:
    """Load a file that :func:`save` of this or an earlier version wrote; none of its code is executed.

    Before anything is looked up, the names in the file are compared with a list of known types. Before
    anything is read into memory, sizes are compared with that of the file, as nothing in it is compressed. A
    warning says if it was written with another version of scikit-learn, whose numbers may differ.

    Raises
    ------
    ValueError
        If the file was not written by :func:`save`, is damaged, names types that may not be loaded, or was
        written by a newer version of whyodd.
    OSError
        If there is no such file, or it cannot be read.
    """
    path = Path(path)
    _check_file(path)
    skops = _skops("load")
    with path.open("rb") as file:
        about = _about(file, path)
        _check_about(about, path)
        try:
            return _read(file, path.stat().st_size, about["format"], skops)
        except Refused as refused:
            raise ValueError(
                f"{path} contains {refused}, which whyodd refuses to load. Do not trust this file."
            ) from None
        except TooLarge:
            raise _too_large(path) from None
        except _DAMAGE as error:
            raise ValueError(f"{path} is damaged and cannot be loaded: {_first_line(error)}.") from error


def _skops(verb: str) -> Any:
    try:
        import skops.io
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"{verb}() needs skops. Run: pip install 'whyodd[saving]'") from None
    return skops.io


def _versions() -> dict[str, str]:
    return {"whyodd": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}


# ---- saving -----------------------------------------------------------------------------------------------


def _write(model: Any, draft: Path) -> None:
    stored = _stored(model)
    schema, names = _numbered(_portable(json.loads(stored.read(_SCHEMA))))
    places = {written: name for name, written in names.items()}  # without the insides of search trees
    defined: dict[str, bytes] = {}
    for node in _checked(schema, type(model).__name__):
        defined |= _defined(node, lambda written: stored.read(places[written]))
    with ZipFile(draft, "w") as file:
        write_part(file, _ABOUT, json.dumps({"format": FORMAT, **_versions()}).encode())
        for written, name in places.items():
            write_part(file, written, defined.get(written) or plain(stored.read(name)))
        write_part(file, _SCHEMA, json.dumps(schema).encode())


def _check_written(model: Any, draft: Path) -> None:
    """Raise a ``ValueError`` unless the content read back equals what was saved."""
    try:
        with draft.open("rb") as file:
            found = difference(model, _read(file, draft.stat().st_size, FORMAT, _skops("save")))
    except (*_DAMAGE, Refused, TooLarge) as error:
        if isinstance(error, (MemoryError, OSError)):  # the computer, not the model
            raise
        raise ValueError(
            f"save() cannot store this {type(model).__name__} in a way that can be loaded again: "
            f"{_first_line(error)}."
        ) from error
    if found is not None:
        raise ValueError(
            f"save() cannot store this {type(model).__name__} in a way that can be loaded again: {found} "
            "changes when it is read back."
        )


def _stored(model: Any) -> ZipFile:
    """The model as skops writes it, in memory."""
    skops = _skops("save")
    try:
        return ZipFile(BytesIO(skops.dumps(model)))
    except (*_UNSTORABLE, skops.exceptions.UnsupportedTypeException) as error:
        raise ValueError(f"save() cannot store this {type(model).__name__}: {_first_line(error)}.") from error


def _portable(node: Any) -> Any:
    """Schema that later versions can read: lasting names, and search trees as constructor arguments.

    The constructor of a search tree builds the same tree again.
    """
    if isinstance(node, list):
        return [_portable(part) for part in node]
    if not isinstance(node, dict):
        return node
    node = {key: _portable(part) for key, part in node.items()}
    if not isinstance(node.get("__loader__"), str):  # not a node, but the entries of a dictionary
        return node
    give_lasting_name(node)
    if node["__loader__"] == "ObjectNode" and (places := _ARGUMENTS.get(full_name(node))):
        state = node["content"]["content"]
        known = state if isinstance(state, dict) else dict(enumerate(state))
        arguments = [known[place] for place in places if place in known]
        node["__loader__"] = "ConstructorFromReduceNode"
        node["content"] = _TUPLE | {"__id__": node["content"]["__id__"], "content": arguments}
    return node


def _numbered(schema: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Schema with numbers instead of memory addresses, and the resulting names of its parts.

    A plain value needs no number; everything else that a model holds twice comes back as one thing.
    """
    done: dict[int, dict[str, Any]] = {}
    names: dict[str, str] = {}

    def number(node: Any) -> Any:
        if isinstance(node, list):
            return [number(part) for part in node]
        if not isinstance(node, dict):
            return node
        address = node.get("__id__")
        if not isinstance(address, int):  # not a node, but the entries of a dictionary
            return {key: number(part) for key, part in node.items()}
        if node["__loader__"] == "JsonNode":
            return {key: part for key, part in node.items() if key != "__id__"}
        if address not in done:
            done[address] = {}  # takes its number before what is inside
            place = len(done)
            fields = {key: number(part) for key, part in node.items()} | {"__id__": place}
            if isinstance(node.get("file"), str):
                fields["file"] = names[node["file"]] = f"{place}{Path(node['file']).suffix}"
            done[address] = fields
        return done[address]

    return number(schema), names


def _defined(node: dict[str, Any], read: Callable[[str], bytes]) -> dict[str, bytes]:
    """Parts of a node that scikit-learn leaves uninitialised, set right: ``_n_support`` of sparse rows."""
    if (
        full_name(node) != "sklearn.svm._classes.OneClassSVM"
        or "_n_support" not in node["content"]["content"]
    ):
        return {}
    state = node["content"]["content"]
    n = np.load(BytesIO(read(state["support_"]["file"]))).size
    return {state["_n_support"]["file"]: as_part(np.full(2, n, dtype=np.int32))}


def _checked(schema: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """All nodes of a schema, after a check that they may be saved."""
    try:
        return known_nodes(schema)
    except Refused as refused:
        if str(refused).startswith("pyod."):
            raise ValueError(
                f"save() cannot store {refused}, which belongs neither to whyodd nor to scikit-learn. Store "
                "the network that explains it instead: whyodd.save(whyodd.neuralize(model), path), or a "
                "pipeline with whyodd.neuralize(pipeline[-1]) as its last step."
            ) from None
        if str(refused) in _public_estimators():
            raise ValueError(
                f"save() cannot store {refused}. From scikit-learn, a file holds only the detectors that "
                "whyodd explains and the steps that it traces back to columns, because loading checks each "
                "of them. Take it out of the model (for a search, store its best_estimator_), or store it "
                "with skops."
            ) from None
        raise ValueError(
            f"save() cannot store {refused}: a file must not execute code. It holds only types from whyodd "
            "and scikit-learn, and NumPy functions such as np.log1p. Take it out of the model."
        ) from None
    except ValueError as error:
        raise ValueError(f"save() cannot store this {kind}: {error}.") from None


def _public_estimators() -> set[str]:
    from sklearn.utils import all_estimators

    return {f"{kind.__module__}.{kind.__name__}" for _, kind in all_estimators()}


# ---- loading ----------------------------------------------------------------------------------------------


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, expected a file written by whyodd.save().")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")


def _about(file: Any, path: Path) -> dict[str, Any]:
    """The file's description of itself."""
    try:
        if is_zipfile(file):
            with ZipFile(file) as parts:
                parts.getinfo(_ABOUT)  # any other archive is not ours, and not an error
                check_sizes(parts, path.stat().st_size)
                about = json.loads(parts.read(_ABOUT))
            if isinstance(about.get("format"), int):
                return dict(about)
    except TooLarge:
        raise _too_large(path) from None
    except _DAMAGE:
        pass
    raise ValueError(f"{path} was not written by whyodd.save(), or it was cut short. Get it again.")


def _check_about(about: dict[str, Any], path: Path) -> None:
    if about["format"] > FORMAT:
        raise ValueError(
            f"{path} was written by whyodd {about.get('whyodd')!s:.20} in format {about['format']}, but this "
            f"is whyodd {__version__}, which reads up to format {FORMAT}: update whyodd."
        )
    written = about.get("scikit-learn")
    if written != sklearn.__version__:
        warnings.warn(
            f"{path} was written with scikit-learn {written}, but {sklearn.__version__} is installed: "
            "numbers may differ.",
            stacklevel=3,
        )


def _read(file: Any, size: int, written_in: int, skops: Any) -> Any:
    """Content of a file of ``size`` bytes, after a check of everything in it."""
    parts, names = _loadable(file, size, written_in)
    with warnings.catch_warnings():
        # One warning is enough; scikit-learn would repeat it for each of its objects.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        loaded = skops.load(parts, trusted=sorted(names))
    check_estimators(loaded)
    return loaded


def _loadable(file: Any, size: int, written_in: int) -> tuple[BytesIO, set[str]]:
    """The file as skops reads it, and the type names in it, all known, after a check of the arrays."""
    with ZipFile(file) as parts:
        schema = json.loads(parts.read(_SCHEMA))
        nodes = known_nodes(schema, written_in)
        used = check_parts(nodes, parts, size)
        put_in_place(nodes, written_in)
        placed = json.dumps(schema | nodes[0]).encode()
        read = ((name, parts.read(name)) for name in sorted(used - {_SCHEMA}))
        return archive(chain(read, [(_SCHEMA, placed)])), named_types(nodes)


def _too_large(path: Path) -> ValueError:
    return ValueError(
        f"{path} would take more memory than any file of its size from whyodd.save(). Do not trust this file."
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
