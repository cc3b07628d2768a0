"""Names that a saved file may use: nothing outside these lists is looked up or called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.io.saved_estimators import CHECKS
from whyodd.io.saved_names import FORMAT_1, PLACES
from whyodd.io.saved_values import check_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Node = dict[str, Any]

FORMAT = 2
# Format -> its names for the types of whyodd, and the lasting names.
_OWN_NAMES: dict[int, dict[str, str]] = {1: FORMAT_1, 2: {name: name for name in PLACES}}
_OWN_CONSTRUCTORS = {
    "whyodd.metrics.Component",
    "whyodd.metrics.Linear",
    "whyodd.networks.DenseLayer",
    "whyodd.networks.DenseStack",
    "whyodd.networks.Standardizing",
    "whyodd.pipelines.LinearMap",
    "whyodd.poolings.LearnedMean",
    "whyodd.poolings.LearnedScore",
    "whyodd.poolings.LocalReach",
}
_OWN_FUNCTIONS = {
    "whyodd.auto.from_log_scale",
    "whyodd.auto.to_log_scale",
    "whyodd.patches.local_contrast",
}
_OWN_METHODS = {"whyodd.pipelines.Trace.decode"}
_OWN_TYPES = PLACES.keys() - _OWN_CONSTRUCTORS - _OWN_FUNCTIONS - _OWN_METHODS
# Distances of scikit-learn's search trees; none of them calls foreign code.
_DISTANCES = {
    f"sklearn.metrics._dist_metrics.{name}Distance64"
    for name in (
        *("BrayCurtis", "Canberra", "Chebyshev", "Euclidean", "Hamming", "Haversine", "Manhattan"),
        *("Minkowski", "SEuclidean"),
    )
}
# Search trees are rebuilt from their rows: a manipulated tree would make compiled code read and write outside
# of its memory.
SEARCH_TREES = {"sklearn.neighbors._ball_tree.BallTree", "sklearn.neighbors._kd_tree.KDTree"}
# Splines as well.
SPLINES = {"scipy.interpolate._bsplines.BSpline"}
_NUMBERS = {
    f"numpy.{name}"
    for name in (
        *("bool", "bool_", "str_", "datetime64", "timedelta64", "float16", "float32", "float64"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    )
}
_KEYS = {"builtins.bool", "builtins.float", "builtins.int", "builtins.str"}
# Functions of one number each, and what the package itself prepares columns and images with.
_FUNCTIONS = {
    *(f"numpy.{name}" for name in ("absolute", "arcsinh", "arctan", "cbrt", "exp", "exp2", "expm1", "log")),
    *(f"numpy.{name}" for name in ("log10", "log1p", "log2", "negative", "reciprocal", "sinh", "sqrt")),
    *(f"numpy.{name}" for name in ("square", "tanh")),
    # What scikit-learn's steps pool columns with, and choose them by.
    *(f"numpy.{name}" for name in ("amax", "amin", "max", "mean", "median", "min")),
    *(
        f"sklearn.feature_selection._univariate_selection.{name}"
        for name in ("chi2", "f_classif", "f_regression", "r_regression")
    ),
    *(
        f"sklearn.feature_selection._mutual_info.{name}"
        for name in ("mutual_info_classif", "mutual_info_regression")
    ),
    *(f"scipy.special._special_ufuncs.{name}" for name in ("expit", "logit")),
    *(f"scipy.special._ufuncs.{name}" for name in ("expit", "logit")),
    *_OWN_FUNCTIONS,
}
_CONSTRUCTORS = {
    *SEARCH_TREES,
    *SPLINES,
    "builtins.frozenset",
    "datetime.date",
    "datetime.datetime",
    "datetime.time",
    "datetime.timedelta",
    "datetime.timezone",
    "zoneinfo.ZoneInfo",
    *_OWN_CONSTRUCTORS,
}
_NAMES: dict[str, set[str]] = {
    "BytesNode": {"builtins.bytes"},
    "ConstructorFromReduceNode": _CONSTRUCTORS,
    "DTypeNode": {"numpy.dtype"},
    "DictNode": {"builtins.dict", "collections.OrderedDict"},
    "FunctionNode": _FUNCTIONS,
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "LossNode": {"sklearn.linear_model._sgd_fast.Hinge"},
    "MethodNode": _OWN_METHODS,
    "NdArrayNode": {"numpy.ndarray", *_NUMBERS},
    "ObjectNode": _OWN_TYPES | _DISTANCES | CHECKS.keys(),
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "SparseMatrixNode": {"scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"},
    "TreeNode": {"sklearn.tree._tree.Tree"},
    "TupleNode": {"builtins.tuple", "sklearn.impute._iterative._ImputerTriplet"},
    "TypeNode": _KEYS | _NUMBERS,
}
_LASTING = {place: name for name, place in PLACES.items()}
_COMMON = {"__class__", "__module__", "__loader__", "__id__"}
_ROOT = {"protocol", "_skops_version"}


class Refused(Exception):  # noqa: N818 - never leaves this package: save() and load() make a sentence of it
    """A name that is on no list."""


def known_nodes(schema: Node, written_in: int = FORMAT) -> list[Node]:
    """All nodes of a skops schema, itself first, with only known names; nothing is imported or called.

    Parameters
    ----------
    schema : dict
    written_in : int
        Format whose names the types of whyodd have.

    Raises
    ------
    Refused
        With the first name that is on no list.
    ValueError, KeyError, TypeError, AttributeError
        If it is no schema of skops, or none that save() writes.
    """
    names = _OWN_NAMES[written_in]
    nodes = []
    waiting = [{key: value for key, value in schema.items() if key not in _ROOT}]
    while waiting:
        node = waiting.pop()
        _check_names(node, names)
        nodes.append(node)
        waiting.extend(_children(node))
    _check_numbers(nodes)
    check_values(nodes)
    return nodes


def put_in_place(nodes: Iterable[Node], written_in: int) -> None:
    """Give whyodd's types in known nodes their present module paths, which skops looks up."""
    names = _OWN_NAMES[written_in]
    for node in nodes:
        if (name := full_name(node)) in names:
            _give_name(node, PLACES[names[name]])


def give_lasting_name(node: Node) -> None:
    """Give a node of skops its name in files, if it belongs to whyodd and is known."""
    if (place := full_name(node)) in _LASTING:
        _give_name(node, _LASTING[place])


def named_types(nodes: Iterable[Node]) -> set[str]:
    """All names that skops would look up for nodes with present paths."""
    return set(map(full_name, nodes))


def _check_names(node: Node, own_names: Mapping[str, str]) -> None:
    name, loader = full_name(node), node["__loader__"]
    if not _is_known(own_names.get(name, "") if name.startswith("whyodd.") else name, loader):
        raise Refused(name)
    if loader == "NdArrayNode" and node["type"] == "json" and len(node["shape"]["content"]) != 1:
        # NumPy would look into its members, and those of their members, for what the shape may be.
        raise Refused(f"{name} of objects in several dimensions")
    if name in _DISTANCES and not _is_tuple_of(node["content"], 3):
        # Compiled code takes them out of it without a look at how many there are.
        raise Refused(f"{name} without its three numbers")


def _is_tuple_of(node: Node, n: int) -> bool:
    return node["__loader__"] == "TupleNode" and len(node["content"]) == n


def _check_numbers(nodes: Iterable[Node]) -> None:
    """Check that nodes with the same number are equal, because skops uses only the first."""
    first: dict[int, Node] = {}
    for node in nodes:
        number = node.get("__id__")
        if number is not None and first.setdefault(number, node) != node:
            raise Refused(f"{full_name(node)} with the number of something else")


def full_name(node: Node) -> str:
    """Module and name of a node's type; for a method, those of its type and its own."""
    name = f"{node['__module__']}.{node['__class__']}"
    return f"{name}.{node['content']['func']}" if node["__loader__"] == "MethodNode" else name


def _give_name(node: Node, name: str) -> None:
    if node["__loader__"] == "MethodNode":
        name, _, node["content"]["func"] = name.rpartition(".")
    node["__module__"], _, node["__class__"] = name.rpartition(".")


def _is_known(name: str, loader: str) -> bool:
    return name in _NAMES.get(loader, ())


def _children(node: Node) -> Iterator[Node]:
    """Nodes inside a node; an error if it holds anything else that its loader might use."""
    fields, inside = _FIELDS[node["__loader__"]]
    if unknown := node.keys() - _COMMON - fields:
        raise Refused(f"{full_name(node)} with {min(unknown)!r}")
    yield from inside(node)


def _none(node: Node) -> list[Node]:  # noqa: ARG001
    return []


def _content(node: Node) -> list[Node]:
    return [] if node.get("content") is None else [node["content"]]


def _members(node: Node) -> list[Node]:
    return list(node["content"])


def _entries(node: Node) -> list[Node]:
    return [node["key_types"], *node["content"].values()]


def _array(node: Node) -> list[Node]:
    return [*node["content"], node["shape"]] if node["type"] == "json" else []


def _reduced(node: Node) -> list[Node]:
    return [node["content"], node["__reduce__"]["args"]]


def _owner(node: Node) -> list[Node]:
    return [node["content"]["obj"]]


# Loader -> what its nodes hold, and which of that are nodes again.
_FIELDS: dict[str, tuple[set[str], Callable[[Node], list[Node]]]] = {
    "BytesNode": ({"file"}, _none),
    "ConstructorFromReduceNode": ({"content"}, _content),
    "DTypeNode": ({"content"}, _content),
    "DictNode": ({"content", "key_types"}, _entries),
    "FunctionNode": (set(), _none),
    "JsonNode": ({"content", "is_json"}, _none),
    "ListNode": ({"content"}, _members),
    "LossNode": ({"content", "__reduce__"}, _reduced),
    "MethodNode": ({"content"}, _owner),
    "NdArrayNode": ({"content", "shape", "type", "file"}, _array),
    "ObjectNode": ({"content"}, _content),
    "RandomStateNode": ({"content"}, _content),
    "SetNode": ({"content"}, _members),
    "SliceNode": ({"content"}, _none),
    "SparseMatrixNode": ({"type", "file"}, _none),
    "TreeNode": ({"content", "__reduce__"}, _reduced),
    "TupleNode": ({"content"}, _members),
    "TypeNode": (set(), _none),
}
