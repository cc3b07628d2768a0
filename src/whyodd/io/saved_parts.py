"""Parts of a saved file: arrays of the declared size, and nothing that unpacks to more than the file."""

from __future__ import annotations

import math
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whyodd.io.saved_types import Node

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class TooLarge(Exception):  # noqa: N818 - never leaves this package: load() makes a sentence of it
    """Parts would take more memory than the file that holds them."""


def write_part(file: ZipFile, name: str, data: bytes) -> None:
    """Add a part uncompressed and without the time, so that equal models make equal files."""
    file.writestr(ZipInfo(name), data)


def archive(parts: Iterable[tuple[str, bytes]]) -> BytesIO:
    """Parts by name as an archive in memory."""
    out = BytesIO()
    with ZipFile(out, "w") as file:
        for name, data in parts:
            write_part(file, name, data)
    return out


def as_part(array: np.ndarray[Any, Any]) -> bytes:
    """An array as a part."""
    out = BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def plain(data: bytes) -> bytes:
    """Archive of arrays, none of them compressed; other data as they are."""
    if not data.startswith(b"PK"):
        return data
    with ZipFile(BytesIO(data)) as packed:
        return archive((name, packed.read(name)) for name in packed.namelist()).getvalue()


def check_sizes(parts: ZipFile, size: int) -> None:
    """Raise ``TooLarge`` if an archive of ``size`` bytes would unpack to more than that.

    save() compresses nothing, so a model of any size passes, and loading one takes memory in proportion to
    its file.
    """
    entries = parts.infolist()
    if any(entry.compress_type != ZIP_STORED for entry in entries):
        raise TooLarge
    if sum(entry.file_size for entry in entries) > size:  # the same bytes under several names
        raise TooLarge


def check_parts(nodes: Iterable[Node], parts: ZipFile, size: int) -> set[str]:
    """Names of the parts that the nodes of a file of ``size`` bytes read.

    Raises
    ------
    ValueError, TooLarge
        If a part is not what its node says.
    """
    owners: dict[str, int] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    nodes = list(nodes)
    for node in nodes:
        if "file" not in node or node.get("type") == "json":
            continue
        # A part is read again for each node that names it, unless they have the same number.
        number = node.get("__id__")
        if not number or owners.get(node["file"], number) != number:
            raise TooLarge
        if node["file"] in owners:
            continue  # looked at before: the same node again
        owners[node["file"]] = number
        with parts.open(node["file"]) as stream:
            if node["__loader__"] == "NdArrayNode":
                shapes[node["file"]] = _check_array(stream, parts.getinfo(node["file"]).file_size, size)
            elif node["__loader__"] == "SparseMatrixNode":
                _check_sparse(stream, parts.getinfo(node["file"]).file_size)
    for node in nodes:
        if node["__loader__"] == "TreeNode":
            _check_tree(node, shapes)
    return set(owners)


def _check_tree(node: Node, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check that the arrays of a decision tree have lengths, which compiled code asks for unchecked."""
    state, (_, classes, _) = node["content"]["content"], node["__reduce__"]["args"]["content"]
    for array, n_axes in ((state["nodes"], 1), (state["values"], 3), (classes, 1)):
        if len(shapes[array["file"]]) != n_axes:
            raise ValueError("an array of a decision tree does not have the axes that it should have")


def _check_array(stream: IO[bytes], size: int, largest: int) -> tuple[int, ...]:
    """Shape of an array, checked because NumPy allocates whatever the header declares."""
    read_header: Any = _HEADERS[np.lib.format.read_magic(stream)]
    shape, _, dtype = read_header(stream)
    count = math.prod(shape)
    if count * dtype.itemsize != size - stream.tell():
        raise ValueError(f"an array of shape {shape} and type {dtype} does not have {size} bytes")
    if (count > 0 and dtype.itemsize == 0) or max(shape, default=0) > largest:
        raise TooLarge  # elements without bytes, or rows without elements
    return tuple(shape)


def _check_sparse(stream: IO[bytes], size: int) -> None:
    with ZipFile(stream) as arrays:
        check_sizes(arrays, size)
        for entry in arrays.infolist():
            with arrays.open(entry) as part:
                _check_array(part, entry.file_size, size)
    stream.seek(0)
    matrix = sparse.load_npz(stream)
    if matrix.format != "csr":
        raise ValueError(f"a sparse matrix in the layout {matrix.format}, expected csr")
    _check_ends(matrix.indptr, min(len(matrix.indices), len(matrix.data)))
    matrix.check_format()  # compiled code trusts the indices


def _check_ends(ends: np.ndarray[Any, Any], n: int) -> None:
    """Check where rows end, because SciPy compares differences that may overflow their type."""
    if ends[0] != 0 or ends.min() < 0 or ends.max() > n or np.any(ends[1:] < ends[:-1]):
        raise ValueError("the rows of a sparse matrix end beyond its values")
