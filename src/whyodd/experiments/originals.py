"""Public originals of the data: fetched once, checked, and kept in the cache."""

from __future__ import annotations

import json
from hashlib import md5
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import numpy as np

from whyodd.io.atomic import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = dict[str, Any]

FIGSHARE = "https://api.figshare.com/v2"
_ARTICLE = 4054689  # Wikipedia Talk Labels: Personal Attacks
_PATIENCE = 60.0  # seconds without an answer
# Name -> number at OpenML, how many rows are for training, and the shape of one.
_OPENML = {"mnist": (554, 60_000, (28, 28)), "cifar10": (40927, 50_000, (3, 32, 32))}


def fetch_images(name: str, path: Path) -> None:
    """Fetch "mnist" or "cifar10" from OpenML and keep it at ``path``, as a NumPy archive.

    Raises
    ------
    OSError
        If it cannot be reached, or is not what was expected.
    """
    number, n_train, shape = _OPENML[name]
    values, labels = _from_openml(number, path.parent)
    with replacing(path) as draft:
        np.savez_compressed(draft, **arranged(values, labels, n_train, shape))


def _from_openml(number: int, cache: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import fetch_openml

    # pandas reads these in a tenth of the time, but is optional.
    parser = "pandas" if find_spec("pandas") else "liac-arff"
    values, labels = fetch_openml(
        data_id=number, data_home=cache, as_frame=False, parser=parser, return_X_y=True, n_retries=1
    )
    return values, labels


def arranged(values: NDArray[Any], labels: NDArray[Any], n_train: int, shape: tuple[int, ...]) -> Arrays:
    """Rows of OpenML as images: the first ``n_train`` are for training; channels are last, not first."""
    if values.shape[1:] != (int(np.prod(shape)),) or len(values) <= n_train:
        raise OSError(f"OpenML sent an array of shape {values.shape}, which is not the expected data set")
    images = values.astype(np.uint8).reshape(-1, *shape)
    if len(shape) == 3:
        images = np.ascontiguousarray(np.moveaxis(images, 1, -1))
    classes = labels.astype(np.uint8)
    return {
        "x_train": images[:n_train],
        "y_train": classes[:n_train],
        "x_test": images[n_train:],
        "y_test": classes[n_train:],
    }


def fetch_detox(folder: Path, names: tuple[str, ...], base: str = FIGSHARE) -> None:
    """Fetch files of the personal attacks corpus from figshare, and check their sizes and MD5 sums.

    Parameters
    ----------
    folder : Path
        Where to keep them.
    names : tuple of str
    base : str
        Address of figshare's interface.

    Raises
    ------
    OSError
        If they cannot be reached, or what came is not what figshare says it is.
    """
    listed = {entry["name"]: entry for entry in _listing(f"{base}/articles/{_ARTICLE}/files")}
    for name in names:
        if name not in listed:
            raise OSError(f"figshare's article {_ARTICLE} has no file {name}")
        content = _checked(listed[name])
        with replacing(folder / name) as draft:
            draft.write_bytes(content)


def _listing(address: str) -> list[dict[str, Any]]:
    with _open(address) as answer:
        try:
            return list(json.load(answer))
        except ValueError:
            raise OSError(f"{address} did not answer with a list of files") from None


def _checked(entry: dict[str, Any]) -> bytes:
    """Content of a file, if it is what figshare says it is."""
    with _open(str(entry["download_url"])) as answer:
        content = bytes(answer.read())
    if len(content) != entry["size"]:
        raise OSError(
            f"{entry['name']} has {len(content):,} bytes, expected {entry['size']:,} as listed by figshare"
        )
    if md5(content, usedforsecurity=False).hexdigest() != entry["computed_md5"]:
        raise OSError(f"{entry['name']} has another MD5 checksum than figshare lists")
    return content


def _open(address: str) -> Any:
    if not address.startswith(("https://", "http://127.0.0.1:")):
        raise OSError(f"{address} is not an https address")
    return urlopen(address, timeout=_PATIENCE)
