"""Where data come from: folders, the cache, public originals, and what is said if they are nowhere."""

import gzip
import json
import threading
from hashlib import md5, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from whyodd.experiments.data import Source, cache_folder
from whyodd.experiments.originals import arranged

COMMENTS = b'rev_id\tcomment\n1\tGood NEWLINE_TOKENmorning\n2\tyou fool\n3\tperhaps\n4\t"quoted ""so"""\n'
VOTES = (
    b"rev_id\tworker_id\tattack\n1\t7\t0.0\n1\t8\t0\n2\t7\t1.0\n2\t8\t1\n3\t7\t1.0\n3\t8\t0.0\n4\t7\t0.0\n"
)


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    monkeypatch.delenv("WHYODD_DATA", raising=False)


def write_images(path, n=3):
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (28, 28) if path.parent.name == "mnist" else (32, 32, 3)
    arrays = {f"x_{part}": np.zeros((n, *shape)) for part in ("train", "test")}
    arrays |= {f"y_{part}": np.zeros(n) for part in ("train", "test")}
    np.savez(path, **arrays)
    return path


def test_order_of_folders(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    write_images(cache / "mnist" / "mnist.npz", 1)
    assert len(Source(None, cache).mnist()["x_train"]) == 1
    write_images(tmp_path / "named" / "mnist" / "mnist.npz", 2)
    monkeypatch.setenv("WHYODD_DATA", str(tmp_path / "named"))
    assert len(Source(None, cache).mnist()["x_train"]) == 2
    write_images(tmp_path / "given" / "mnist" / "mnist.npz", 3)
    assert len(Source(tmp_path / "given", cache).mnist()["x_train"]) == 3


def test_what_the_named_folder_lacks_is_looked_for_in_the_cache(tmp_path, monkeypatch):
    write_images(tmp_path / "cache" / "cifar10" / "cifar10.npz", 1)
    monkeypatch.setenv("WHYODD_DATA", str(tmp_path))
    assert len(Source(None, tmp_path / "cache").cifar10()["x_train"]) == 1


def test_checksum_is_that_of_the_file(tmp_path):
    file = write_images(tmp_path / "cifar10" / "cifar10_subset.npz")
    source = Source(tmp_path)
    source.cifar10()
    assert source.checksums == {"cifar10/cifar10_subset.npz": sha256(file.read_bytes()).hexdigest()}


def test_given_folder_is_never_completed_by_a_download(tmp_path):
    source = Source(tmp_path, tmp_path / "cache", figshare="http://127.0.0.1:1")
    with pytest.raises(
        FileNotFoundError, match=r"mnist has no mnist\.npz\. Put it there, or leave out --data"
    ):
        source.mnist()
    with pytest.raises(FileNotFoundError, match=r"attack_annotations\.tsv\. Put them there"):
        source.messages()
    assert not (tmp_path / "cache").exists()


def test_folders_that_are_not_there(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"\(--data\) is not a folder"):
        Source(tmp_path / "absent").mnist()
    monkeypatch.setenv("WHYODD_DATA", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=r"\(WHYODD_DATA\) is not a folder"):
        Source(None, tmp_path).mnist()


def test_images_of_another_shape(tmp_path):
    path = write_images(tmp_path / "cifar10" / "cifar10.npz")
    (tmp_path / "mnist").mkdir()
    path.rename(tmp_path / "mnist" / "mnist.npz")
    with pytest.raises(OSError, match=r"mnist\.npz: expected x_train \(n, 28, 28\) and y_train \(n,\), got"):
        Source(tmp_path).mnist()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut short"])
def test_broken_archive_is_told_in_one_sentence(tmp_path, content):
    path = write_images(tmp_path / "mnist" / "mnist.npz")
    path.write_bytes(content)
    with pytest.raises(OSError, match=r"cannot read .*mnist\.npz: expected a NumPy archive"):
        Source(tmp_path).mnist()


def test_archive_with_other_arrays_or_with_objects(tmp_path):
    (tmp_path / "mnist").mkdir()
    np.savez(tmp_path / "mnist" / "mnist.npz", x=np.zeros(3))
    with pytest.raises(OSError, match="with x_train, y_train"):
        Source(tmp_path).mnist()
    np.savez(tmp_path / "mnist" / "mnist.npz", x_train=np.array([{}], dtype=object))
    with pytest.raises(OSError, match="allow_pickle"):
        Source(tmp_path).mnist()


def test_rows_of_openml_become_images():
    values = np.arange(2 * 3 * 4).reshape(2, 12).astype(float)
    found = arranged(values, np.array(["3", "7"]), 1, (3, 2, 2))
    assert found["x_train"].shape == (1, 2, 2, 3)
    assert found["x_train"].dtype == np.uint8
    for channel in range(3):
        np.testing.assert_array_equal(
            found["x_train"][0, ..., channel].ravel(), values[0, 4 * channel : 4 * channel + 4]
        )
    assert found["y_test"].tolist() == [7]
    with pytest.raises(OSError, match="not the expected data set"):
        arranged(values, np.array(["3", "7"]), 1, (28, 28))


class Figshare(BaseHTTPRequestHandler):
    """Answers as figshare's interface does; ``spoiled`` says what is wrong."""

    spoiled = None

    def do_GET(self):
        files = {"attack_annotated_comments.tsv": COMMENTS, "attack_annotations.tsv": VOTES}
        name = self.path.rpartition("/")[2]
        self.send_response(404 if self.spoiled == "gone" else 200)
        self.end_headers()
        if name == "files":
            self.wfile.write(json.dumps([self.entry(*item) for item in files.items()]).encode())
        else:
            content = files[name]
            self.wfile.write(content[:-5] if self.spoiled == "short" else content)

    def entry(self, name, content):
        address = f"http://127.0.0.1:{self.server.server_port}/{name}"
        checksum = "0" * 32 if self.spoiled == "changed" else md5(content).hexdigest()
        return {"name": name, "size": len(content), "computed_md5": checksum, "download_url": address}

    def log_message(self, *arguments):
        pass


@pytest.fixture
def figshare():
    handler = type("Handler", (Figshare,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield handler, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_detox_is_fetched_once_and_read(figshare, tmp_path, capsys):
    handler, address = figshare
    found = Source(None, tmp_path, figshare=address).messages()
    assert found.neutral == ["Good \nmorning", 'quoted "so"']
    assert found.attacks == ["you fool"]
    assert "Downloading" in capsys.readouterr().err
    handler.spoiled = "gone"
    source = Source(None, tmp_path, figshare=address)
    assert source.messages() == found
    assert len(source.checksums) == 2


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        ("short", "bytes, expected .* as listed by figshare"),
        ("changed", "another MD5 checksum"),
        ("gone", "Not Found"),
    ],
)
def test_download_that_is_not_right_is_not_kept(figshare, tmp_path, spoiled, reason):
    figshare[0].spoiled = spoiled
    with pytest.raises(OSError, match=f"Could not download .*{reason}.*Put them into .*or pass --data DIR"):
        Source(None, tmp_path, figshare=figshare[1]).messages()
    assert list((tmp_path / "wikipedia_toxicity").iterdir()) == []


def test_server_that_is_not_there_and_address_that_is_not_secure(tmp_path):
    for address in ("http://127.0.0.1:1", "http://example.org", "file:///etc"):
        with pytest.raises(OSError, match="Could not download"):
            Source(None, tmp_path, figshare=address).messages()


def write_toxicity(folder, neutral, labelled):
    folder = folder / "wikipedia_toxicity"
    folder.mkdir(parents=True)
    for name, text in (("cat_large", neutral), ("jigsaw_balanced", labelled)):
        with gzip.open(folder / f"{name}.tsv.gz", "wt", encoding="utf-8") as file:
            file.write(text)
    return folder


def test_other_comments_of_the_same_kind(tmp_path):
    write_toxicity(tmp_path, "text\tlabel\na\t0.0\nb\t1.0\n", "comment\ttoxic\nc\t1\nd\t0\n")
    found = Source(tmp_path).messages()
    assert (found.neutral, found.attacks, found.others) == (["a"], ["c"], ["d"])


@pytest.mark.parametrize(
    ("neutral", "message"),
    [("words\tlabel\na\t0\n", "'text' is missing"), ("words\tlabel\n", "'text' is missing"),
     ("text\tlabel\na\tx\n", "expected a number"), ("text\tlabel\na\n", "expected a number")],
)  # fmt: skip
def test_tables_that_are_not_right(tmp_path, neutral, message):
    write_toxicity(tmp_path, neutral, "comment\ttoxic\nc\t1\n")
    with pytest.raises(OSError, match=f"cannot read .*cat_large.*{message}"):
        Source(tmp_path).messages()


def test_table_without_attacks(tmp_path):
    write_toxicity(tmp_path, "text\tlabel\na\t0\n", "comment\ttoxic\nc\t0\n")
    with pytest.raises(OSError, match="1 neutral comments and 0 attacks: expected some of both"):
        Source(tmp_path).messages()


def test_broken_table(tmp_path):
    folder = write_toxicity(tmp_path, "text\tlabel\na\t0\n", "comment\ttoxic\nc\t1\n")
    (folder / "cat_large.tsv.gz").write_bytes(b"no gzip")
    with pytest.raises(OSError, match=r"cannot read .*cat_large"):
        Source(tmp_path).messages()


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert cache_folder() == tmp_path / "whyodd"


@pytest.mark.data
def test_real_data_have_their_shapes(data_dir):
    source = Source(data_dir)
    assert source.mnist()["x_train"].shape == (60_000, 28, 28)
    assert source.cifar10()["x_test"].shape[1:] == (32, 32, 3)
    found = source.messages()
    assert min(map(len, (found.neutral, found.attacks))) > 1_000
