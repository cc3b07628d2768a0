"""Saved files that were tampered with, loaded *and used*: no crash, no hang, not all memory, no code run.

A small thing of every kind that can be saved (``tests/unit/io/saved_examples.py``, made from the registries)
is saved, and single leaves of its file are changed: numbers, texts, lengths, types, arrays and sparse parts.
What loads is then used: explained, scored, transformed, fitted anew, saved again. All of it happens in a
child process with limits of memory and time, which notes if anything of the system is called.

    python benchmarks/fuzz_saved.py --count 25000
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    # A process of one thread can be forked. NumPy reads these when it is imported.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import argparse
import copy
import io
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter, defaultdict
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

# What a child may use: bytes of memory beyond what it has when it begins, and seconds of work for a file; and
# how long it is waited for.
MEMORY, SECONDS, WAITED = 4 << 30, 10.0, 90.0
# A child is replaced after so many files: what some of them leave behind is not held against the next.
MOST_FILES = 200
# Ways to use a thing that must do, for it to count as used; repr() is one.
LEAST_USES = 4
REFUSED, USED, ERROR = "refused", "used", "error"
CRASH, HANG, ALL_MEMORY, CODE, SENTENCE = "crash", "hang", "memory", "code", "no sentence"
FINE, FINDINGS = (REFUSED, USED, ERROR), (CRASH, HANG, ALL_MEMORY, CODE, SENTENCE)
# Calls of Python that reading and using a model has no need of.
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "subprocess.Popen",
    "socket.connect",
)
FORBIDDEN += ("pickle.find_class", "os.mkdir", "os.remove", "os.rename", "shutil.rmtree", "webbrowser.open")
CALLS = (("os", "system"), ("builtins", "eval"), ("subprocess", "Popen"), ("pickle", "loads"))
CALLS += (("numpy", "load"), ("joblib", "load"), ("whyodd.io.atomic", "make_folder"))


# ---- changes ----------------------------------------------------------------------------------------------

NUMBERS = (
    0,
    -1,
    1,
    2,
    1000,
    10**9,
    2**31,
    2**63,
    -(2**63),
    10**30,
    0.5,
    -0.5,
    1e308,
    float("nan"),
    float("inf"),
)
TEXTS = (
    "",
    "a",
    "os.system",
    "__import__('os').system('touch hacked')",
    "/tmp/hacked",
    "precomputed",
    "x" * 10_000,
)
PLAIN = [json.dumps(value) for value in (*NUMBERS, *TEXTS, None, True, [], {}, [[1]], {"a": [1]})]
LOADERS = (
    "ObjectNode",
    "DictNode",
    "ListNode",
    "TupleNode",
    "SetNode",
    "NdArrayNode",
    "JsonNode",
    "FunctionNode",
)
LOADERS += ("ConstructorFromReduceNode", "RandomStateNode", "SparseMatrixNode", "PartialNode", "TreeNode")
DTYPES = ("f4", "f8", "i4", "i8", "u1", "?", "c16", "U3", "M8[s]", ">f8", "f2")
CELLS = (0, -1, 1, 10**9, 2**31 - 1, 2**62, float("nan"), float("inf"), float("-inf"), 1e308, 1e-308)
COLLIDING = 30_000
MOST_BYTES = 3_000_000


def is_node(part):
    return isinstance(part, dict) and isinstance(part.get("__loader__"), str)


def places(part, path=()):
    """Paths of all nodes."""
    if is_node(part):
        yield path
    inside = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in inside:
        yield from places(value, (*path, key))


def at(schema, path):
    for key in path:
        schema = schema[key]
    return schema


def changes(parts):
    """All changes of a file, as tuples: what to do, where, and how."""
    schema = json.loads(parts["schema.json"])
    paths = list(places(schema))
    for path in paths:
        node = at(schema, path)
        loader = node["__loader__"]
        yield from (("field", (*path, "__loader__"), other) for other in LOADERS if other != loader)
        yield from (("named", path, call) for call in CALLS)
        yield from (("called", path, call) for call in CALLS)
        yield from (("swapped", path, share) for share in (0.1, 0.4, 0.6, 0.9))
        yield ("plain", path, "null")
        yield ("number", path, None)
        if loader == "JsonNode":
            yield from (("field", (*path, "content"), value) for value in PLAIN)
        elif loader in ("ListNode", "TupleNode", "SetNode") or node.get("type") == "json":
            yield from (("list", path, how) for how in LISTS)
        elif loader == "DictNode":
            yield from (("dict", path, (how, key)) for key in node["content"] for how in DICTS)
            yield ("dict", path, ("collide", ""))
        elif loader == "SliceNode":
            yield from (("slice", path, (end, value)) for end in node["content"] for value in NUMBERS)
        if loader == "NdArrayNode" and node.get("type") == "numpy":
            yield from (("array", path, how) for how in ARRAYS)
        elif loader == "SparseMatrixNode":
            fields = ("data", "indices", "indptr", "shape")
            yield from (("sparse", path, (name, how)) for name in fields for how in ARRAYS)


def changed(parts, change, rng):
    """Parts of a file after a change; the change may find that it cannot be made, and leaves them."""
    parts = dict(parts)
    schema = json.loads(parts["schema.json"])
    what, path, how = change
    try:
        if what in ("array", "sparse"):
            name = at(schema, path)["file"]
            parts[name] = CHANGES[what](parts[name], how)
        else:
            CHANGES[what](schema, path, how, rng)
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError):
        return None
    parts["schema.json"] = json.dumps(schema).encode()
    return parts


def set_field(schema, path, value, rng):  # noqa: ARG001
    at(schema, path[:-1])[path[-1]] = value


def name_it(schema, path, call, rng):  # noqa: ARG001
    at(schema, path).update({"__module__": call[0], "__class__": call[1]})


def call_it(schema, path, call, rng):
    """A function that somebody else wrote, called with a text."""
    text = {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": '"touch hacked"',
    }
    node = {"__module__": call[0], "__class__": call[1], "__loader__": "ConstructorFromReduceNode"}
    replace(schema, path, {**node, "content": {**text, "__loader__": "TupleNode", "content": [text]}}, rng)


def replace(schema, path, node, rng):  # noqa: ARG001
    if path:
        at(schema, path[:-1])[path[-1]] = node
    else:
        kept = {key: schema[key] for key in ("protocol", "_skops_version")}
        schema.clear()
        schema.update(kept | node)


def swap(schema, path, share, rng):
    """Another node of the same file in its place."""
    paths = list(places(schema))
    other = copy.deepcopy(at(schema, paths[int(share * len(paths))]))
    replace(schema, path, other, rng)


def put_plain(schema, path, value, rng):
    text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": value}
    replace(schema, path, text, rng)


def renumber(schema, path, how, rng):  # noqa: ARG001
    at(schema, path)["__id__"] = rng.choice([None, 0, 1, 2, 3, -1, 10**9, "1"])


LISTS = {
    "drop": lambda content: content[1:],
    "empty": lambda _: [],
    "double": lambda content: content[:1] + content,
    "turn": lambda content: content[::-1],
    "repeat": lambda content: content * 1000,
    "many": lambda content: content[:1] * 20_000,
}


def change_list(schema, path, how, rng):  # noqa: ARG001
    node = at(schema, path)
    repeated = LISTS[how](node["content"])
    # What a file takes in time and memory may grow with its size: it stays a small file.
    if len(json.dumps(node["content"])) * len(repeated) > MOST_BYTES * max(1, len(node["content"])):
        raise ValueError
    node["content"] = repeated


DICTS = ("delete", "rename", "type int", "type float", "none")


def change_dict(schema, path, how, rng):  # noqa: ARG001
    node, (what, key) = at(schema, path), how
    if what == "delete":
        del node["content"][key]
    elif what == "rename":
        node["content"]["renamed"] = node["content"].pop(key)
    elif what == "none":
        node["key_types"]["content"] = []
    elif what == "collide":
        text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "1"}
        kind = {"__class__": "int", "__module__": "builtins", "__loader__": "TypeNode"}
        node["content"] = {str(place * (2**61 - 1)): text for place in range(COLLIDING)}
        node["key_types"]["content"] = [kind] * COLLIDING
    else:
        place = list(node["content"]).index(key)
        node["key_types"]["content"][place]["__class__"] = what.removeprefix("type ")


def change_slice(schema, path, how, rng):  # noqa: ARG001
    at(schema, path)["content"][how[0]] = how[1]


def filled(value):
    def fill(array):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.full_like(array, value)

    return fill


def with_cell(value, place):
    def set_cell(array):
        out = array.copy()
        with np.errstate(all="ignore"):
            if out.dtype.names:
                name = out.dtype.names[int(abs(place) * 7) % len(out.dtype.names)]
                out[name].flat[place] = np.array(value).astype(out[name].dtype)
            else:
                out.flat[place] = np.array(value).astype(out.dtype) if out.dtype.kind in "iufb" else value
        return out

    return set_cell


ARRAYS = {
    **{f"all {value}": filled(value) for value in CELLS},
    **{f"cell {place} {value}": with_cell(value, place) for place in (0, 1, 2, -1) for value in CELLS},
    **{f"type {dtype}": lambda array, dtype=dtype: array.astype(dtype) for dtype in DTYPES},
    "empty": lambda array: array[:0],
    "first": lambda array: array[:1],
    "half": lambda array: array[: len(array) // 2],
    "columns": lambda array: array[:, :1],
    "no columns": lambda array: array[:, :0],
    "turned": lambda array: array[::-1],
    "transposed": lambda array: array.T,
    "flat": lambda array: array.ravel(),
    "deeper": lambda array: array[None],
    "single": lambda array: array.ravel()[0],
    "doubled": lambda array: np.concatenate([array, array]),
    "wider": lambda array: np.concatenate([array, array], axis=1),
    "long": lambda array: np.concatenate([array.ravel()] * 200),
}


def change_array(data, how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return npy(ARRAYS[how](np.load(io.BytesIO(data))))


def change_sparse(data, how):
    name, change = how
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        arrays = {entry: packed.read(entry) for entry in packed.namelist()}
    arrays[f"{name}.npy"] = change_array(arrays[f"{name}.npy"], change)
    return packed_up(arrays)


def npy(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def packed_up(parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return out.getvalue()


CHANGES = {
    "array": change_array,
    "called": call_it,
    "dict": change_dict,
    "field": set_field,
    "list": change_list,
    "named": name_it,
    "number": renumber,
    "plain": put_plain,
    "slice": change_slice,
    "sparse": change_sparse,
    "swapped": swap,
}


def cases(files, count, rng):
    """Name, changes and file: as many for each thing, one in eight of them with two changes.

    First comes each file as it is: it must do, or nothing is learned from the others.
    """
    share = -(-count // len(files))
    for name, content in files.items():
        yield name, [], content
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            parts = {entry: file.read(entry) for entry in file.namelist()}
        every = by_kind(changes(parts))
        made = 0
        while made < share:
            some = [rng.choice(rng.choice(every)) for _ in range(1 + (rng.random() < 0.125))]
            new = parts
            for change in some:
                new = changed(new, change, rng) if new is not None else None
            if new is not None and new != parts:
                made += 1
                yield name, some, packed_up(new)


def by_kind(found):
    """Changes by what they do: those of arrays are as likely as the many of names, which are all refused."""
    kinds = defaultdict(list)
    for change in found:
        kinds[change[0]].append(change)
    often = ("array", "field", "sparse", "dict", "list")
    return [kind for name, kind in kinds.items() for _ in range(3 if name in often else 1)]


# ---- use --------------------------------------------------------------------------------------------------


def uses(thing, rows, folder):
    """Everything that is done with what was loaded, one by one."""
    from sklearn.base import clone

    import whyodd
    from unit.io.saved_examples import is_estimator
    from whyodd.explainers.explaining import explained_by

    def ask(name):
        return lambda: getattr(thing, name)

    def call(name, *arguments):
        return lambda: getattr(thing, name)(*arguments)

    yield lambda: repr(thing)
    if hasattr(type(thing), "relevance") or "relevance" in getattr(thing, "__dict__", ()):
        names = ("expected", "direction", "is_odd", "summed_relevance", "whole", "per_window", "n_windows")
        yield from (ask(name) for name in names)
        yield from (call(name) for name in ("to_frame", "to_dict", "to_shap", "_repr_html_"))
        names = ("why", "heatmap", "tokens", "absent", "present", "strangest", "by_channel", "__getitem__")
        yield from (call(name, 0) for name in names)
        yield from (call(name, 2) for name in ("neighbors", "top"))
        yield lambda: explained_by(thing, "sensitivity")
    else:
        names = ("outlierness", "score_samples", "decision_function", "predict", "transform", "p_values")
        yield from (call(name, rows.new) for name in names)
        names = ("kneighbors", "mahalanobis", "decompose", "score_map", "predict_proba", "explain")
        yield from (call(name, rows.new) for name in names)
        yield lambda: thing.inverse_transform(thing.transform(rows.new))
        yield call("get_feature_names_out")
        yield lambda: whyodd.explain(thing, rows.new).why(0)
        yield lambda: traced(thing, rows)
    if is_estimator(thing):
        yield lambda: clone(thing).fit(rows.fit, **rows.targets)
        yield lambda: thing.partial_fit(rows.fit)
    yield lambda: whyodd.save(thing, folder / "again")


def traced(thing, rows):
    """A step in a pipeline, explained."""
    from sklearn.pipeline import make_pipeline

    import whyodd

    model = whyodd.KernelDensity(sigma=1.0).fit(thing.transform(rows.fit))
    whyodd.explain(make_pipeline(thing, model), rows.new)


def judge(path, rows):
    """What becomes of a file: (one of the outcomes, what happened)."""
    import whyodd

    try:
        thing = whyodd.load(path)
    except ValueError as error:
        return (REFUSED, "") if is_sentence(str(error)) else (SENTENCE, str(error))
    except Exception:  # noqa: BLE001 - whatever it is, it is no sentence
        return SENTENCE, traceback.format_exc(limit=-3, chain=False)
    good, told = 0, ""
    for use in uses(thing, rows, path.parent):
        try:
            use()
            good += 1
        except MemoryError:
            return ALL_MEMORY, traceback.format_exc(limit=-4, chain=False)
        except AttributeError as error:  # most things have only some of these methods
            told = told or f"{type(error).__name__}: {error!s:.100}"
        except Exception as error:  # noqa: BLE001 - an ordinary error is what a changed number may end in
            told = f"{type(error).__name__}: {error!s:.100}"
    return (USED if good >= LEAST_USES else ERROR), told


def is_sentence(text):
    return "model.whyodd" in text and text.endswith(".") and "\n" not in text


# ---- children ---------------------------------------------------------------------------------------------


def serve(connection, rows, usual):
    """Judge files until there are none; all that is printed goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    called = []
    listen(called)
    used = 4096 * int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.whyodd")
        while (case := connection.recv()) is not None:
            name, content = case
            path.write_bytes(content)
            called.clear()
            outcome, told = judge(path, rows[name])
            bad = [call for call in called if call not in usual and not any(folder in part for part in call)]
            connection.send((CODE, f"{bad[0]}") if bad else (outcome, told))


def listen(called):
    """Note all calls of the system from now on, as tuples of what and of whom."""

    def note(event, arguments):
        if event.startswith(FORBIDDEN) and not is_of_numba(sys._getframe()):
            called.append((event, *map(str, arguments[:2])))

    sys.addaudithook(note)


def is_of_numba(frame):
    """Whether numba keeps a compiled function, or reads one, which is a pickle of its own."""
    while frame is not None and "/numba/" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def seconds_of(process):
    """What a process has worked, which another that is busy does not change."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Child:
    """A process that judges files, one after the other."""

    def __init__(self, *knows):
        self.knows = knows
        self.start()

    def start(self):
        """Begin with a new process."""
        context = multiprocessing.get_context("fork")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, *self.knows), daemon=True)
        self.process.start()
        other.close()
        self.n_given = 0

    def give(self, case):
        """Let it judge a file."""
        if self.n_given == MOST_FILES or not self.process.is_alive():
            self.end()
            self.start()
        self.n_given += 1
        self.case, self.since, self.worked = case, time.monotonic(), seconds_of(self.process.pid)
        try:
            self.connection.send((case[0], case[2]))
        except BrokenPipeError:  # it ended after its last answer
            self.end()
            self.start()
            self.connection.send((case[0], case[2]))

    def answer(self):
        """What became of the last file; None as long as it is at work."""
        try:
            if self.connection.poll(0):
                return self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            return CRASH, f"ended with {self.process.exitcode}"
        worked, waited = seconds_of(self.process.pid) - self.worked, time.monotonic() - self.since
        if worked < SECONDS and waited < WAITED:
            return None
        self.end()
        return HANG, f"{worked:.0f} s of work, {waited:.0f} s in all"

    def end(self):
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def fuzz(files, rows, usual, count, *, seed=0, children=2, keep=None, tell=lambda *_: None, progress=False):
    """Judge so many changes: outcomes by name, and findings."""
    rng = random.Random(seed)
    waiting = cases(files, count, rng)
    counts, findings = defaultdict(Counter), []
    busy, once_more = [], None
    for child in [Child(rows, usual) for _ in range(children)]:
        if (case := next(waiting, None)) is not None:
            child.give(case)
            busy.append(child)
    while busy:
        wait([child.connection for child in busy], timeout=0.5)
        for child in list(busy):
            if (told := child.answer()) is None:
                continue
            name, some, content = child.case
            if told[0] == HANG and child.case is not once_more:
                # A process that is forked may wait for a thread that it has not: a bad file hangs twice.
                once_more = child.case
                child.give(once_more)
                continue
            if some:
                counts[name][told[0]] += 1
            elif progress:
                print(f"{time.strftime('%X')} {name}", flush=True)
            if told[0] in FINDINGS or (not some and told[0] != USED):
                findings.append((name, some, *told))
                tell(name, some, *told)
                if keep is not None:
                    (keep / f"{len(findings)} {name}.whyodd").write_bytes(content)
            if (case := next(waiting, None)) is None:
                child.end()
                busy.remove(child)
            else:
                child.give(case)
    return counts, findings


def saved_things(only=""):
    """Files of all examples, the rows to use them on, and what is called by that.

    They are made in a child, as this process has one thread.
    """
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("fork")
        connection, other = context.Pipe()
        maker = context.Process(target=make_things, args=(Path(folder), other, only))
        maker.start()
        other.close()
        rows, usual = connection.recv()
        maker.join()
        return {name: Path(folder, name).read_bytes() for name in rows}, rows, usual


def make_things(folder, connection, only):
    import whyodd
    from unit.io.saved_examples import examples

    warnings.simplefilter("ignore")
    rows, called = {}, []
    listen(called)
    for name, thing, its_rows in examples(only):
        whyodd.save(thing, folder / name)
        rows[name] = its_rows
        for use in uses(thing, its_rows, folder):  # compiles what it needs, which is kept on disk
            with suppress(Exception):
                use()
    connection.send((rows, set(called)))


def tell(name, some, outcome, told):
    """Print a finding at once."""
    print(f"!! {outcome}: {name}: {some!s:.300}\n   {told}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=25_000, help="changes in all")
    parser.add_argument("--only", default="", help="things whose names hold this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--children", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder for files that fail")
    parser.add_argument("--progress", action="store_true", help="print the name of each thing as it begins")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(exist_ok=True)
    import whyodd.io.saving  # noqa: F401 - imported once, before the children begin

    start = time.monotonic()
    files, *known = saved_things(options.only)
    print(f"{len(files)} things in {time.monotonic() - start:.0f} s")
    start = time.monotonic()
    counts, findings = fuzz(
        *(files, *known, options.count),
        seed=options.seed, children=options.children, keep=options.keep, tell=tell, progress=options.progress,
    )  # fmt: skip
    columns = ("changes", *FINE, *FINDINGS)
    print(f"{'':44s}" + "".join(f"{column:>12s}" for column in columns))
    for name, count in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        numbers = [count.total(), *(count[column] for column in columns[1:])]
        print(f"{name:44s}" + "".join(f"{number:12,d}" for number in numbers))
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
